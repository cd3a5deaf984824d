"""Golden questions in the console: made of a result and of a record, taken over, let go; and the settings beside the search."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from console_door import Browser, Seen, console
from governed_door import key


@pytest.fixture
def place(tmp_path: Path) -> Iterator[tuple[str, Any]]:
    with console(tmp_path) as (url, library):
        yield url, library


def fields_of(seen: Seen) -> dict[str, str]:
    """What the first form for a golden question would send."""
    form = seen.tree.css_first("form[action='/console/golden']")
    assert form is not None
    return {str(one.attributes["name"]): one.attributes["value"] or "" for one in form.css("input")}


@pytest.mark.parametrize(("language", "told"), [("en", "Kept as a golden question"), ("zh", "已设为标准问题")])
def test_a_result_becomes_a_golden_question(place: tuple[str, Any], language: str, told: str) -> None:
    """The page comes back with the same question and says so; the evaluation page lists it, and it can be forgotten."""
    browser = Browser(place[0], language)
    answer = browser.post("/console/golden", fields_of(browser.get("/console/search", q="客户投诉", limit="5")))
    assert answer.status == 303 and "limit=5" in answer.location
    assert told in browser.send("GET", answer.location).text(".notice.good")
    (kept,) = place[1].golden_desk.golden_questions()
    assert kept.question == "客户投诉"
    assert "客户投诉" in browser.get("/console/evaluation").text("#golden li")
    browser.post(f"/console/golden/{kept.digest}/remove", {})
    assert browser.get("/console/evaluation").count("#golden li") == 0


def test_a_record_becomes_a_golden_question(place: tuple[str, Any]) -> None:
    """Each passage of a recorded answer can be named as the right one; a record that gave nothing has no such form."""
    browser, found = Browser(place[0]), place[1].search("客户投诉")
    seen = browser.get(f"/console/audit/{found.audit_id}")
    assert seen.count("form[action='/console/golden']") == len(found.hits)
    answer = browser.post("/console/golden", fields_of(seen))
    assert "Kept as a golden question" in browser.send("GET", answer.location).text(".notice.good")
    assert [one.question for one in place[1].golden_desk.golden_questions()] == ["客户投诉"]
    nothing = place[1].search("龘靐齉")
    assert browser.get(f"/console/audit/{nothing.audit_id}").count("form[action='/console/golden']") == 0


def test_what_was_called_right_is_taken_over(place: tuple[str, Any]) -> None:
    """The page says how many, and asks them all when told to."""
    browser, found = Browser(place[0], "zh"), place[1].search("客户投诉")
    place[1].give_feedback(found.audit_id, good=["1"])
    answer = browser.post("/console/golden/liked", {})
    assert "已收入 1 个问题" in browser.send("GET", answer.location).text(".notice.good")
    assert browser.post("/console/evaluation", {"kept": "yes"}).status == 303
    assert place[1].evaluations()[0].questions == 1


def test_who_may_not_keep_them_sees_no_form(tmp_path: Path) -> None:
    """A key that may search alone has thumbs, and no golden questions."""
    with console(tmp_path, needs_keys=True) as (url, library):
        browser = Browser(url)
        browser.post("/console/sign-in", {"key": key(library, "search", "retrieve")})
        seen = browser.get("/console/search", q="客户投诉")
        assert seen.count("form[action='/console/feedback']") > 0
        assert seen.count("form[action='/console/golden']") == 0


def test_a_search_is_narrowed_to_a_source(place: tuple[str, Any]) -> None:
    """What is found is of the source that was chosen, and the choice stays chosen."""
    browser = Browser(place[0])
    every = {one.attributes["href"] for one in browser.get("/console/search", q="客户投诉").tree.css(".hit h3 a")}
    assert "/console/sources/wiki" in every
    seen = browser.get("/console/search", q="客户投诉", source="wiki")
    assert {one.attributes["href"] for one in seen.tree.css(".hit h3 a")} == {"/console/sources/wiki"}
    assert seen.text("select[name=source] option[selected]") == "wiki"
    assert "source_id" in seen.text(".copies")


@pytest.mark.parametrize(("language", "told"), [("en", ("off", "answers")), ("zh", ("不拒答", "作答"))])
def test_each_strictness_is_shown_with_what_it_would_do(
    place: tuple[str, Any], language: str, told: tuple[str, str]
) -> None:
    """By the probability that there is an answer, in the order of strictness: none answers that asks for more."""
    seen = Browser(place[0], language).get("/console/search", q="客户投诉 响应")
    shown = [one.text() for one in seen.tree.css("#strictness .state")]
    assert len(shown) == 4 and all(word in shown[0] for word in told)
    given = ["ok" in (one.attributes["class"] or "") for one in seen.tree.css("#strictness .state")]
    assert given == sorted(given, reverse=True)
