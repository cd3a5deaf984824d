"""The console's forms that correct what was read: each does what the API does, and can be undone."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import wenyuan
from console_door import Browser, Seen, console
from governed_door import key
from wenyuan.console import corrections, documents
from wenyuan.console.corrections import splits_of
from wenyuan.service.ingest.corrections import CorrectionRequest

Opened = tuple[str, Any]
TEXT = "# 退款\n\n退款在 3 天内到账。到账以银行通知为准。\n\n## 换货\n\n换货需要 7 天。\n"


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Opened]:
    with console(tmp_path) as found:
        (tmp_path / "refunds").mkdir()
        (tmp_path / "refunds" / "a.md").write_text(TEXT, encoding="utf-8")
        found[1].add(wenyuan.Source(source_id="refunds", path=str(tmp_path / "refunds"), trust=5))
        yield found


def document(opened: Opened) -> str:
    [(number, _)] = opened[1].catalog.live_documents("refunds").values()
    return f"/console/documents/{number}"


def sent(browser: Browser, page: Seen, action: str, **fields: str) -> Seen:
    """The form of an action at the first passage that has one, filled in and sent; what is shown then."""
    form = next(f for f in page.tree.css("form[action='/console/corrections']") if f.css_first(f"input[name=action][value={action}]"))  # fmt: skip
    given = {str(i.attributes["name"]): str(i.attributes["value"]) for i in form.css("input[type=hidden]")}
    after = browser.post("/console/corrections", {**given, **fields})
    assert after.status == 303, after.text()
    return followed(browser, after)


def followed(browser: Browser, after: Seen) -> Seen:
    while after.status == 303:
        after = browser.send("GET", after.location.partition("#")[0])
    return after


def undone(browser: Browser, page: Seen) -> Seen:
    """The first button that undoes something, pressed."""
    form = page.tree.css_first("form[action$='/undo']")
    given = {str(i.attributes["name"]): str(i.attributes["value"]) for i in form.css("input[type=hidden]")}  # type: ignore[union-attr]
    return followed(browser, browser.post(str(form.attributes["action"]), given))  # type: ignore[union-attr]


def test_a_text_is_corrected_and_undone(opened: Opened) -> None:
    """The next search has it, who corrected it is named, the words that were read stay in sight; undone, they are back."""
    browser = Browser(opened[0], "zh")
    page = sent(browser, browser.get(document(opened)), "text", text="退款在 5 天内到账。", reason="新规定")
    assert "退款在 5 天内到账" in page.text("li.chosen")
    assert "由 本机 更正" in page.text("li.chosen .badge")
    assert "3 天内到账" in page.text("#corrections blockquote")
    assert "新规定" in page.text("#corrected")
    assert "5 天内到账" in browser.get("/console/search", q="退款几天到账").text(".hit .text")
    page = undone(browser, page)
    assert "3 天内到账" in page.text(".passages")
    found = browser.get("/console/search", q="退款几天到账").text(".hit .text")
    assert "3 天内到账" in found
    assert "5 天内到账" not in found


def test_a_heading_is_corrected_and_undone(opened: Opened) -> None:
    """The form has the heading above the passage; what is typed stands there, and the former one is back when undone."""
    browser = Browser(opened[0], "zh")
    folder = Path(next(one for one in opened[1].sources() if one.source_id == "refunds").path)
    (folder / "a.md").write_text("# 退款\n\n## 合同专用章\n\n退款在 3 天内到账。\n", encoding="utf-8")
    opened[1].ingest("refunds")
    page = sent(browser, browser.get(document(opened)), "heading", text="到账时间")
    assert "合同专用章" not in page.text(".passages li.passage")
    assert "## 到账时间" in page.text(".passages")
    assert "已更正标题" in page.text("#corrections")
    assert "## 合同专用章" in undone(browser, page).text(".passages")


def test_a_passage_is_excluded_split_joined_and_given_questions(opened: Opened) -> None:
    """Each form of a passage, one after the other, each undone."""
    browser = Browser(opened[0])
    where = document(opened)
    count = browser.get(where).count("li.passage")
    page = sent(browser, browser.get(where), "questions", questions="钱什么时候回来\r\n\r\n多久退钱")
    assert page.text("li.passage.chosen ul") == "钱什么时候回来多久退钱"
    assert "3 天内到账" in browser.get("/console/search", q="钱什么时候回来").text(".hit .text")
    undone(browser, page)
    page = browser.get(where)
    offset = str(page.tree.css_first("select[name=at] option").attributes["value"])  # type: ignore[union-attr]
    page = sent(browser, page, "split", at=offset)
    assert page.count("li.passage") == count + 1
    page = sent(browser, page, "join")
    assert page.count("li.passage") == count
    page = undone(browser, undone(browser, page))
    assert page.count("li.passage") == count
    page = sent(browser, page, "exclude")
    assert page.count("li.passage") == count - 1
    assert page.count("#corrected") == 1
    assert "3 天内到账" not in browser.get("/console/search", q="退款几天到账").text(".hit .text")
    assert undone(browser, page).count("li.passage") == count


def test_a_document_is_excluded(opened: Opened) -> None:
    """Its page and its source's list say so, and it is one step back."""
    browser = Browser(opened[0])
    page = browser.get(document(opened))
    form = next(
        f for f in page.tree.css("form[action='/console/corrections']") if f.css_first("input[name=document_id]")
    )
    fields = {str(i.attributes["name"]): str(i.attributes["value"]) for i in form.css("input[type=hidden]")}
    page = followed(browser, browser.post("/console/corrections", fields))
    assert "excluded from answers" in page.text(".notice.degraded")
    assert page.count("li.passage") == 0
    assert "excluded" in browser.get("/console/sources/refunds/documents").text("tbody .state.failed")
    undone(browser, browser.get("/console/corrections"))
    assert browser.get(document(opened)).count("li.passage") > 0
    assert "undone" in browser.get("/console/corrections").text("li.card .state")


def test_what_cannot_be_corrected_is_said(opened: Opened) -> None:
    """A passage that is gone, a text that is the same, and a key that may not; nothing of a form is shown to that one."""
    browser = Browser(opened[0])
    gone = browser.post("/console/corrections", {"action": "exclude", "ref": "refunds#99999"})
    assert gone.status == 404
    page = browser.get(document(opened))
    area = page.tree.css_first("textarea[name=text]")
    ref = str(page.tree.css_first("input[name=ref]").attributes["value"])  # type: ignore[union-attr]
    same = browser.post("/console/corrections", {"action": "text", "ref": ref, "text": area.text()})  # type: ignore[union-attr]
    assert same.status == 400
    assert "its text already" in same.text("main")


def test_who_may_not_correct_sees_no_form(tmp_path: Path) -> None:
    """A key without the right ``ingest`` reads the passages."""
    with console(tmp_path, needs_keys=True) as (url, library):
        browser = Browser(url)
        browser.sign_in(key(library, "search", "registry"))
        number = next(iter(library.catalog.live_documents("wiki").values()))[0]
        page = browser.get(f"/console/documents/{number}")
        assert page.count("li.passage") >= 1
        assert page.count("details.correct") == page.count("#corrections") == 0
        assert browser.get("/console/corrections").status == 403


def test_where_a_passage_may_be_split() -> None:
    """After sentences and lines in both languages; never behind the last words."""
    assert splits_of("甲。乙！丙") == [(2, "乙！丙"), (4, "丙")]
    assert splits_of("One. Two\nThree.") == [(5, "Two\nThree."), (9, "Three.")]
    assert splits_of("only one") == splits_of("") == []


def test_many_corrections_are_counted_and_an_old_one_can_be_undone(
    opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    """How many count is told of all of them, and beside a passage is what corrected it, however many came after."""
    monkeypatch.setattr(corrections, "LISTED", 3)
    monkeypatch.setattr(documents, "_MOST_AT_ONCE", 2)
    library, at = opened[1], document(opened)
    number = int(at.rpartition("/")[2])
    first, second = (one["ref"] for one in library.document_passages(number).passages)
    library.correct(CorrectionRequest(action="text", ref=second, text="换货需要 9 天。"))
    for one in range(6):
        library.correct(CorrectionRequest(action="questions", ref=first, questions=(f"问题 {one}？",)))
        first = library.document_passages(number).passages[0]["ref"]
    page = Browser(opened[0], "en").get(at)
    assert "Corrections (7)" in page.text("#corrections summary")
    assert page.count(
        f"form[action='/console/corrections/1/undo'] input[name=start][value='{TEXT.index('## 换货')}']"
    )
