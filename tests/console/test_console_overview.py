"""The console's first page: who is led to it, what it says, and that each number opens what it counts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest

import wenyuan
from console_door import HOSTILE, Browser, console
from governed_door import key
from wenyuan.console.day_bars import day_bars
from wenyuan.core.question_outcomes import OUTCOMES
from wenyuan.service.document_details import DetailsRequest
from wenyuan.service.search.searcher import SearchRequest
from wenyuan.service.uploads import Given


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Any]]:
    with console(tmp_path_factory.mktemp("overview")) as (url, library):
        for text in ("客户投诉", f"脚本注入测试 {HOSTILE}", "龘靐齉"):
            library.search(text)
        yield url, library


@pytest.fixture(scope="module")
def locked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Any]]:
    with console(tmp_path_factory.mktemp("locked"), needs_keys=True) as found:
        yield found


@pytest.mark.parametrize("language", ["en", "zh"])
def test_each_number_opens_what_it_counts(opened: tuple[str, Any], language: str) -> None:
    """Whatever is counted of questions, its link leads to a list of as many records."""
    browser = Browser(opened[0], language)
    seen = browser.get("/console/overview")
    assert seen.status == 200
    links = [one for one in seen.tree.css("main a") if (one.attributes["href"] or "").startswith("/console/audit?")]
    numbers = {one.attributes["href"]: one.text(strip=True) for one in links if one.text(strip=True).isdecimal()}
    assert len(numbers) >= 4
    for address, number in numbers.items():
        assert address is not None
        found = browser.get("/console/audit", **dict(parse_qsl(urlsplit(address).query)))
        assert found.count("tbody tr") == int(number)
    assert seen.count("main script") == 0
    gaps = [
        one.text(strip=True) for one in seen.tree.css("main a") if "/console/gaps" in (one.attributes["href"] or "")
    ]
    assert len(gaps) == 1 and not any(letter.isdecimal() for letter in gaps[0])


def test_an_odd_number_of_days_is_thirty(opened: tuple[str, Any]) -> None:
    """What is not among the choices is the usual choice; each of these draws at most as many bars as can be hit."""
    browser = Browser(opened[0])
    assert browser.get("/console/overview", days="-3").count("option[value='30'][selected]") == 1
    for days in ("7", "90", "365"):
        assert browser.get("/console/overview", days=days).count("svg.days a") == 1


def test_owners_are_led_to_it_and_others_to_the_search(locked: tuple[str, Any]) -> None:
    """Who may see what was asked begins with that; who may not begins with the search; a stranger signs in."""
    url, library = locked
    browser = Browser(url)
    assert browser.get("/").location == "/console/"
    assert "/console/sign-in?next=" in browser.get("/console/").location
    for rights, agent, first in (
        (("admin",), None, "overview"),
        (("audit",), None, "overview"),
        (("search",), None, "search"),
        (("audit", "search"), "support", "search"),
    ):
        one = Browser(url)
        one.sign_in(key(library, *rights, agent=agent))
        assert one.get("/console/").location == f"/console/{first}"


@pytest.mark.parametrize("count", [0, 1, 3, 7, 99, 123_456])
def test_bars_are_as_high_as_their_questions(count: int) -> None:
    """Whatever was asked, bars lie within the drawing, their pieces stand on one another, and add up to the number."""
    days = [
        {"name": f"2027-01-{day:02}", "questions": count * day, "outcomes": dict.fromkeys(OUTCOMES, 0) | {"weak": count, "failed": count * (day - 1)}}
        for day in range(1, 8)
    ]  # fmt: skip
    drawing = day_bars(days)
    assert [bar.questions for bar in drawing.bars] == [day["questions"] for day in days]
    assert 2 <= len(drawing.grid) <= 6
    for bar in drawing.bars:
        bottom = float(drawing.bottom)
        for _, top, height in bar.pieces:
            assert drawing.top - 0.01 <= top <= bottom
            assert top + height == pytest.approx(bottom)
            bottom = top


def test_many_days_share_bars() -> None:
    """A year is drawn as bars of some days each, of which none is lost."""
    days = [
        {"name": str(at), "questions": 1, "outcomes": dict.fromkeys(OUTCOMES, 0) | {"empty": 1}} for at in range(365)
    ]
    drawing = day_bars(days)
    assert len(drawing.bars) <= 31
    assert sum(bar.questions for bar in drawing.bars) == 365
    assert (drawing.bars[0].first, drawing.bars[-1].last) == ("0", "364")


def test_people_read_names_and_titles_and_not_numbers_and_paths(tmp_path: Path) -> None:
    """Who did what to which thing, in their language: a key by its name, a source by its title, a file by its own name, no path of
    this machine, no English word in the Chinese pages of changes.
    """
    with console(tmp_path) as (url, library):
        library.catalog.put_source(wenyuan.Source(source_id="jiage", title="价格与促销"))
        (tmp_path / "价目.md").write_text("# 价目\n\n吐司每只 22 元。\n", encoding="utf-8")
        library.upload("jiage", [Given(name="价目.md", path=tmp_path / "价目.md")])
        library.find(SearchRequest(query="吐司多少钱"))
        library.find(SearchRequest(query="量子纠缠的贝尔不等式怎么证明"))
        library.gaps.ask_again()
        (number,) = [one["document_id"] for one in library.list_documents(source="jiage").documents]
        library.details_desk.set_details(number, DetailsRequest(title="价目表"))
        browser = Browser(url, "zh")
        browser.sign_in(library.catalog.create_key(None, frozenset({"admin"}), None, name="老板")[1])
        browser.post("/console/people/synonyms", {"term": "吐司", "synonym": "面包", "direction": "both"})
        for path in ("/console/overview", "/console/audit"):
            shown = browser.get(path).text("main")
            assert "老板" in shown and "价目.md" in shown and "本机" in shown, path
            assert "file://" not in shown and "questions" not in shown and "asked" not in shown, path
            assert "details" not in shown, path
        assert "价格与促销" in browser.get("/console/overview").text("main")
        options = browser.get("/console/search").text("main form")
        assert "价格与促销" in options and "jiage" not in options
