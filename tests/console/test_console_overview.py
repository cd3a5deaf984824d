"""The console's first page: who is led to it, what it says, and that each number opens what it counts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest

from console_door import HOSTILE, Browser, console
from governed_door import key
from wenyuan.console.day_bars import day_bars
from wenyuan.core.question_outcomes import OUTCOMES


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
