"""The console's page of what was asked and not answered well, in both languages, with and without rights."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from console_door import Browser, console
from governed_door import key
from wenyuan.core.gaps import digest_of
from wenyuan.core.model import Source

ASKED = "客户投诉 <b>几天</b>响应"


@pytest.fixture
def place(tmp_path: Path) -> Iterator[tuple[str, Any]]:
    """A server whose audit knows a question to which nothing was given."""
    with console(tmp_path) as (url, library):
        assert not library.search(ASKED).hits
        yield url, library


def test_a_gap_is_shown_with_its_question_and_reason(place: tuple[str, Any]) -> None:
    """The question stands there as text, whatever is in it; the menu leads to the page; nothing is missing in Chinese."""
    seen = Browser(place[0]).get("/console/gaps")
    assert (seen.status, seen.count("main b"), seen.count("li.card")) == (200, 0, 1)
    assert ASKED in seen.text("li.card") and "nothing given" in seen.text("li.card")
    assert seen.count('nav a[href="/console/gaps"]') == 1
    chinese = Browser(place[0], "zh").get("/console/gaps", days="7")
    assert "没有作答" in chinese.text("li.card") and "没有答好" in chinese.text("h1")


def test_a_decision_moves_it_and_can_be_taken_back(place: tuple[str, Any]) -> None:
    """Out of scope with a note: it is not open any more, and stands among the others with the note."""
    browser = Browser(place[0])
    said = {"decision": "out_of_scope", "note": "not ours", "days": "30"}
    assert (
        browser.post(f"/console/gaps/{digest_of(ASKED)}", said).location
        == "/console/gaps?days=30&decided=out_of_scope"
    )
    assert browser.get("/console/gaps").count("li.card") == 0
    assert "not ours" in browser.get("/console/gaps", state="out_of_scope").text("li.card")
    browser.post(f"/console/gaps/{digest_of(ASKED)}", {"decision": "open", "days": "30"})
    assert browser.get("/console/gaps").count("li.card") == 1


def test_asking_again_says_what_closed(place: tuple[str, Any], tmp_path: Path) -> None:
    """As long as the library lacks it, nothing closes; with a document that says it, the gap closes and is named."""
    browser, library = Browser(place[0]), place[1]
    assert browser.post("/console/gaps", {"days": "30"}).text("[role=status]").startswith("0 gaps closed")
    (tmp_path / "new").mkdir()
    (tmp_path / "new" / "answer.md").write_text("# 客户投诉几天响应\n\n客户投诉几天响应：两天之内响应。\n", "utf-8")
    library.add(Source(source_id="new", path=str(tmp_path / "new"), trust=5))
    seen = browser.post("/console/gaps", {"days": "30"})
    assert ASKED in seen.text("[role=status]")
    assert seen.count("li.card") == 0


def test_odd_choices_and_unknown_gaps_do_no_harm(place: tuple[str, Any]) -> None:
    """What the page does not offer falls back to what it does; a gap that is none is 404, a decision that is none refused."""
    browser = Browser(place[0])
    assert browser.get("/console/gaps", days="nan", state="x").status == 200
    assert browser.post("/console/gaps/unknown", {"decision": "later"}).status == 404
    assert browser.post(f"/console/gaps/{digest_of(ASKED)}", {"decision": "solved"}).status == 400


def test_a_key_without_the_right_sees_neither_page_nor_menu(tmp_path: Path) -> None:
    """Gaps are everybody's questions: they need the right ``audit``."""
    with console(tmp_path, needs_keys=True) as (url, library):
        browser = Browser(url)
        browser.sign_in(key(library, "search", "retrieve"))
        assert browser.get("/console/gaps").status == 403
        assert browser.get("/console/search").count('nav a[href="/console/gaps"]') == 0


def test_a_gap_is_answered_on_the_page(place: tuple[str, Any]) -> None:
    """What is typed is written; the page says that the question is answered now, and by what; the gap is gone."""
    browser = Browser(place[0], "zh")
    at = f"/console/gaps/{digest_of(ASKED)}/settle"
    refused = browser.post(at, {"way": "answer", "answer": "两天之内响应。", "beside": "nowhere", "days": "30"})
    assert refused.status == 400
    assert "两天之内响应。" in refused.text("textarea") and refused.count("li.card details[open]") == 1
    seen = browser.post(at, {"way": "answer", "answer": "两天之内响应。", "author": "李伟", "days": "30"})
    assert "现在能答好了" in seen.text("[role=status]") and ASKED in seen.text("[role=status]")
    assert seen.count("li.card") == 0
    assert browser.post(at, {"way": "answer", "answer": "三天", "days": "30"}).status == 409
    assert ASKED in browser.get("/console/gaps").text("details.card")


def test_an_owner_finds_the_page_in_the_menu(tmp_path: Path) -> None:
    """Who keeps sources sees what concerns these, without the right to read the audit."""
    with console(tmp_path, needs_keys=True) as (url, library):
        browser = Browser(url)
        rights = frozenset({"retrieve", "search", "ingest", "registry"})
        browser.sign_in(str(library.catalog.create_key(None, rights, None, user="user:li")[1]))
        assert browser.get("/console/gaps").status == 200
        assert browser.get("/console/search").count('nav a[href="/console/gaps"]') == 1


def test_a_passage_is_pointed_to_by_a_click_in_the_search(place: tuple[str, Any]) -> None:
    """The gap leads to its question; beside each passage that is found stands that it answers it, which settles the gap."""
    url, library = place
    asked = "客户投诉几天响应"
    library.give_feedback(library.search(asked).audit_id, bad=["1"])
    browser = Browser(url, "zh")
    link = f"/console/search?q={asked}&gap={digest_of(asked)}"
    hits = browser.get(link)
    form = hits.tree.css_first('form[action$="/settle"]')
    assert form is not None and "这一段就是答案" in hits.text("#answer")
    fields = {one.attributes["name"]: one.attributes["value"] or "" for one in form.css("input")}
    told = browser.post(str(form.attributes["action"]), fields)
    assert told.status == 200 and asked in told.text(".notice")
    page = browser.get("/console/corrections")
    assert "有人问过而没有找到" in page.text("main") and "asked and not found" not in page.text("main")
    assert browser.get("/console/search", q=asked).count('form[action$="/settle"]') == 0
