"""Thumbs beside the passages of an answer: what is said is kept with the answer, and nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from console_door import Browser, Seen, console


@pytest.fixture
def place(tmp_path: Path) -> Iterator[tuple[str, Any]]:
    with console(tmp_path) as (url, library):
        yield url, library


def fields_of(seen: Seen, said: str) -> dict[str, str]:
    """What the first thumb of a page would send."""
    form = seen.tree.css_first("form[action='/console/feedback']")
    assert form is not None
    return {str(one.attributes["name"]): one.attributes["value"] or "" for one in form.css("input")} | {"said": said}


@pytest.mark.parametrize(
    ("language", "said", "told"), [("en", "good", "answers the question"), ("zh", "bad", "没有答上")]
)
def test_a_thumb_is_kept_with_its_answer(place: tuple[str, Any], language: str, said: str, told: str) -> None:
    """It is recorded as feedback on that passage, and the page comes back with the same question and says so."""
    browser = Browser(place[0], language)
    sent = fields_of(browser.get("/console/search", q="客户投诉", limit="5"), said)
    answer = browser.post("/console/feedback", sent)
    assert answer.status == 303
    back = browser.send("GET", answer.location)
    assert told in back.text(".notice.good") and "limit=5" in answer.location
    [record] = place[1].audit.list(kind="feedback")
    assert sent["audit_id"] in str(record.record) and sent["ref"] in str(record.record)


def test_odd_thumbs_are_refused(place: tuple[str, Any]) -> None:
    """Another word, another answer, a passage that was not given, or a way back elsewhere changes nothing."""
    browser = Browser(place[0])
    sent = fields_of(browser.get("/console/search", q="客户投诉"), "good")
    for wrong in ({"said": "maybe"}, {"audit_id": "a-none"}, {"ref": "wiki#999"}):
        assert browser.post("/console/feedback", {**sent, **wrong}).status in (400, 404)
    assert place[1].audit.list(kind="feedback") == ()
    assert browser.post("/console/feedback", {**sent, "next": "https://example.org/"}).location.startswith(
        "/console/search"
    )


def test_what_was_refused_has_no_thumbs(place: tuple[str, Any]) -> None:
    """Where nothing was given there is nothing to say of it."""
    assert Browser(place[0]).get("/console/search", q="龘靐齉").count("form[action='/console/feedback']") == 0
