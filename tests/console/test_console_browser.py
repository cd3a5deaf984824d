"""The console in a real browser: Chromium, at the width of a desk and of a phone.

Where the machine has no Chromium these tests are not run, and their names are told.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from chromium import SIZES, Windows, assert_accessible, started
from console_door import HOSTILE, console
from rules_door import BOOK, PROPOSED
from wenyuan.core.learning_records import QuestionAddress
from wenyuan.readers.rulebooks.selection import read_book

pytestmark = [pytest.mark.browser, pytest.mark.integration]
PATHS = {
    "search": "/console/search?q=客户投诉",
    "search-empty": "/console/search",
    "search-hostile": f"/console/search?q=脚本注入测试 {HOSTILE}",
    "search-refused": "/console/search?q=x&trust=9",
    "context": "/console/context?q=客户投诉&agent=support",
    "answer": "/console/answer",
    "answer-extracts": "/console/answer",
    "verify": "/console/verify",
    "verify-answered": "/console/verify",
    "verify-refused": "/console/verify",
    "overview": "/console/overview",
    "documents-at-hand": "/console/documents",
    "overview-year": "/console/overview?days=365",
    "gaps": "/console/gaps",
    "impact": "/console/impact",
    "conflicts": "/console/conflicts",
    "erasures": "/console/erasures",
    "sources": "/console/sources",
    "source": "/console/sources/hostile",
    "documents": "/console/sources/hostile/documents",
    "document": "/console/passages/4?q=脚本注入测试",
    "source-new": "/console/sources/+new",
    "document-readers": "/console/documents/1/readers",
    "source-readers": "/console/sources/hostile/readers",
    "search-as": "/console/search?q=客户投诉&as=user:li",
    "rules": "/console/rules",
    "rules-node": "/console/rules/nodes/1",
    "rules-statement": "/console/rules/statements/1",
    "rules-import": "/console/rules/import",
    "review": "/console/review",
    "audit": "/console/audit",
    "evaluation": "/console/evaluation",
    "evaluation-run": "/console/evaluation/2?against=1",
    "people": "/console/people",
    "health": "/console/health",
    "model": "/console/model",
    "backups": "/console/backups",
    "sign-in": "/console/sign-in",
    "not-there": "/console/nothing",
}
REFUSED = {"search-refused": 400, "verify-refused": 400, "not-there": 404}
FILLED = {
    "answer-extracts": {"query": f"客户投诉 脚本注入测试 {HOSTILE}", "extract": "yes"},
    "verify-answered": {
        "answer": "客户投诉需在 48 小时内第一次响应 [1]。客户投诉需在 24 小时内第一次响应，并登记投诉编号。"
        f"客户投诉一般三天内响应就可以了【2】。脚本注入测试 {HOSTILE} [{'x' * 200}]。龘靐齉。",
        "citations": "1 = crm_policy\n2 = crm_policy",
    },
    "verify-refused": {"answer": "x", "citations": "x" * 200},
}
"""Forms that are sent before the page is looked at."""


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    with started() as browser:
        yield browser


@pytest.fixture(scope="module")
def windows(chromium: Any) -> Windows:
    return Windows(chromium)


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("browser")
    with console(folder) as (found, library):
        (folder / "book.yaml").write_text(BOOK + PROPOSED, encoding="utf-8")
        library.rules.take(read_book(folder / "book.yaml"))
        golden = [
            QuestionAddress(question="客户投诉几天答复", answer="crm_policy.md"),
            QuestionAddress(question=HOSTILE, answer="gone.md"),
        ]
        for _ in range(2):
            library.evaluate(golden, name="golden.csv")
        library.golden_desk.keep(HOSTILE, "crm_policy#1")
        yield found


@pytest.fixture
def visit(windows: Windows, url: str) -> Iterator[Any]:
    """Opens pages, and at the end says whether the browser complained of any."""
    refused: set[int] = set()

    def opened(name: str, *, language: str = "en") -> Any:
        page = windows.page(language)
        fields = FILLED.get(name)
        expected = REFUSED.get(name, 200)
        refused.update({expected} - {200})
        assert page.goto(url + PATHS.get(name, name)).status == (200 if fields else expected)
        if fields:
            for field, value in fields.items():
                box = page.locator(f"[name={field}]")
                box.check() if box.get_attribute("type") == "checkbox" else box.fill(value)
            page.click("main button.main")
            page.wait_for_selector("#answer > *")
        return page

    with windows.visited():
        yield opened
    told = [f"status of {status}" for status in refused]
    assert [(kind, words) for kind, words in windows.heard if not any(one in words for one in told)] == []


@pytest.mark.parametrize("language", ["zh-CN", "en"])
@pytest.mark.parametrize("width", [390, 760, 1000, 1280])
def test_every_page_is_in_the_menu_s_sight(visit: Any, language: str, width: int) -> None:
    """However wide the window, no entry of the menu is cut off."""
    page = visit("/", language=language)
    page.set_viewport_size({"width": width, "height": 800})
    shown = page.locator(".top nav a").evaluate_all("all => all.map((one) => one.getBoundingClientRect().right)")
    edge = page.locator(".top nav").evaluate("nav => nav.getBoundingClientRect().right")
    assert len(shown) >= 8
    assert max(shown) <= min(edge, width) + 1
    page.locator(".top nav a").last.click(trial=True)


@pytest.mark.parametrize("name", PATHS)
def test_every_page_is_seen_whole_and_by_all(visit: Any, name: str) -> None:
    """At both widths it fits its window and axe finds nothing: names, structure, contrast, this one in both lights."""
    page = visit(name, language="zh-CN")
    assert page.locator("html").get_attribute("lang") == "zh-CN"
    assert page.locator("h1").count() == 1
    assert_accessible(page)
    assert len(page.screenshot()) > 5_000  # it is painted


def test_an_answer_is_verified_by_keys_alone(visit: Any) -> None:
    """A slash goes to the field, Tab to the button; the verdicts are in sight, and the next Tab is among them."""
    page = visit("verify")
    page.set_viewport_size(SIZES["phone"])
    page.keyboard.press("/")
    page.keyboard.type("客户投诉需在 48 小时内第一次响应。")
    for _ in range(10):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.matches('main button.main')"):
            break
    page.keyboard.press("Enter")
    page.wait_for_selector(".hit .verdict.number_changed")
    top = page.locator(".summary").evaluate("one => one.getBoundingClientRect().top")
    assert 0 <= top < SIZES["phone"]["height"]
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.closest('#answer') !== null")


def test_a_search_by_keys_alone(visit: Any) -> None:
    """A slash goes to the field, Enter answers without a new page, the address can be shared, and back leads back."""
    page = visit("search-empty")
    page.evaluate("window.mark = 1")
    page.keyboard.press("/")
    page.keyboard.type("客户投诉")
    page.keyboard.press("Enter")
    page.wait_for_selector(".hit")
    assert page.evaluate("window.mark") == 1
    assert "q=%E5%AE%A2" in page.url
    assert page.evaluate("document.activeElement.id") == "q"
    page.go_back()
    page.wait_for_selector(".hit", state="detached")
    page.goto(page.url)
    assert page.locator(".hit").count() == 0


def test_a_page_works_without_scripts(chromium: Any, url: str) -> None:
    """Searching needs no script: the form is a form."""
    context = chromium.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{url}/console/search")
    page.fill("#q", "客户投诉")
    page.click("button.main")
    assert page.locator(".hit").count() >= 1
    context.close()


def test_light_and_language_are_switched(visit: Any) -> None:
    """The buttons at the top change what the page looks like and speaks, and stay on it."""
    page = visit("search")
    light = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.click("button[name=light]")
    page.wait_for_selector("html[data-light=dark]")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") != light
    page.click("button[name=language]")
    page.wait_for_selector("html[lang=zh-CN]")
    assert re.search(r"(?:找到|可能有用的) \d 条", page.inner_text(".summary h2"))


def test_reviewing_by_keys_alone(visit: Any) -> None:
    """The first one has the focus at once; j and k move, a approves and r rejects it; in a field they are letters."""
    page = visit("review")
    assert page.locator("[data-queue] > li").count() == 2
    first, second = (item.get_attribute("id") for item in page.locator("[data-queue] > li").all())
    assert page.evaluate("document.activeElement.id") == first
    page.keyboard.press("j")
    assert page.evaluate("document.activeElement.id") == second
    page.keyboard.press("k")
    page.locator(f"#{first} input[name=reason]").focus()
    page.keyboard.type("jar")
    assert page.locator(f"#{first} input[name=reason]").input_value() == "jar"
    page.keyboard.press("Escape")
    page.keyboard.press("j")
    page.keyboard.press("a")
    page.wait_for_selector(f"#{first}", state="detached")
    page.keyboard.press("r")  # the one that is left has it now
    page.wait_for_selector("[data-queue]", state="detached")


def test_a_refresh_is_seen_to_its_end(visit: Any) -> None:
    """The button begins it, and the page says how it ended."""
    page = visit("/console/sources/wiki")
    page.click("text=Refresh now")
    page.wait_for_selector("#live .notice.good")
    assert "1 file in" in page.inner_text("#live")


def test_a_golden_file_is_asked_in_the_browser(visit: Any, tmp_path: Path) -> None:
    """A chosen file is sent, the page follows the evaluation, and the new one heads the table."""
    (tmp_path / "mine.csv").write_text("问题,来源\n客户投诉几天答复,crm_policy.md\n", encoding="utf-8")
    page = visit("evaluation")
    page.set_input_files("input[type=file]", str(tmp_path / "mine.csv"))
    page.click("text=Evaluate")
    page.wait_for_selector("tbody td.first:has-text('mine.csv')")
    assert page.locator("svg.plot.square circle").count() >= 1
    page.select_option("select[name=set]", index=1)
    page.click("form.bounds button")
    page.wait_for_selector("svg.plot .dot.ndcg")
