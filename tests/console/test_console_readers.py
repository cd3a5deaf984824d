"""Readers, keys with names and groups in the console, and what somebody else would find."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import console_door
from governed_door import key
from reader_library import LI, WU, small, texts


@pytest.fixture
def library(tmp_path: Path) -> Iterator[Any]:
    with small(tmp_path) as made:
        yield made


@pytest.fixture
def browser(library: Any) -> Iterator[console_door.Browser]:
    with console_door.served(library, needs_keys=True, rate_per_key=0) as url:
        made = console_door.Browser(url)
        made.sign_in(key(library, "admin"))
        yield made


def number(library: Any, letter: str) -> int:
    return int(next(one.document_id for one in library.documents() if one.title.endswith(letter)))


def test_a_document_is_given_readers(library: Any, browser: console_door.Browser) -> None:
    """Shown with where each list comes from, set, refused with its place, closed to all, and taken back."""
    at = f"/console/documents/{number(library, 'a')}/readers"
    assert "whoever may ask" in browser.get(at).body
    assert browser.post(at, {"readers": "Group:HR，user:zhao", "deny": "user:li"}).status == 303
    assert "group:hr, user:zhao" in browser.get(at).body
    assert (texts(library, WU), texts(library, LI)) == ({"c"}, {"b", "c"})
    refused = browser.post(at, {"readers": "hr", "deny": ""})
    assert (refused.status, "Readers, entry 1" in refused.body, 'value="hr"' in refused.body) == (400, True, True)
    browser.post(at, {"readers": "", "nobody": "yes"})
    assert texts(library, LI) == {"b", "c"}
    browser.post(at, {"clear": "yes"})
    assert texts(library, WU) == {"a", "c"}
    assert "a pattern of the source" in browser.get(f"/console/documents/{number(library, 'b')}/readers").body


def test_a_source_says_readers(library: Any, browser: console_door.Browser) -> None:
    """Its patterns come as lines, are changed and refused as such, its other settings stay, and what nobody sees is counted."""
    at = "/console/sources/docs/readers"
    assert "b.md | group:hr" in browser.get(at).body
    lines = "b.md | group:hr, user:zhao | user:li\n\nc.md | nobody\ngone/** | - | user:wu"
    assert browser.post(at, {"documents": lines, "enforce": "yes", "from": ["front_matter"]}).status == 303
    assert library.catalog.source("docs").settings["readers"] == {
        "enforce": True, "from": ["front_matter"],
        "documents": [
            {"path": "b.md", "readers": ["group:hr", "user:zhao"], "deny": ["user:li"]},
            {"path": "c.md", "readers": []}, {"path": "gone/**", "deny": ["user:wu"]},
        ],
    }  # fmt: skip
    page = browser.get(at)
    assert [one.text(strip=True) for one in page.tree.css("dl.facts dd")] == ["1", "2", "0", "gone/**"]
    assert "c.md | nobody" in page.body and "gone/** | - | user:wu" in page.body
    for wrong in ("b.md | hr", "b.md", "a | user:li | user:wu | user:x"):
        refused = browser.post(at, {"documents": wrong})
        assert (refused.status, wrong in refused.body) == (400, True), wrong
    browser.post(at, {"documents": ""})
    assert "readers" not in library.catalog.source("docs").settings


def test_keys_have_names_and_groups(library: Any, browser: console_door.Browser) -> None:
    """Given when it is made, changed afterwards, shown; a name that is none is refused, and what was typed stays."""
    fields = {"name": "desk", "right": ["search"], "expires": "", "user": "User:Li", "groups": "hr, works"}
    assert browser.post("/console/people/keys", fields).status == 200
    made = next(one for one in list(library.catalog.keys()) if one.name == "desk")
    assert (made.user, made.groups) == ("user:li", {"group:hr", "group:works"})
    assert "user:li, group:hr, group:works" in browser.get("/console/people").body
    browser.post("/console/people/keys/change", {"key_id": made.key_id, "user": "", "groups": "works"})
    held = next(one for one in list(library.catalog.keys()) if one.key_id == made.key_id)
    assert (held.user, held.groups) == ("", {"group:works"})
    refused = browser.post("/console/people/keys", {**fields, "user": "li"})
    assert (refused.status, 'value="li"' in refused.body) == (400, True)


def test_groups_are_made_and_removed(library: Any, browser: console_door.Browser) -> None:
    """One's members come back into the form; a group that would be in itself is refused."""
    assert browser.post("/console/people/groups", {"group": "hr", "members": "user:wu\ngroup:leads"}).status == 303
    assert texts(library, WU) == {"a", "b", "c"}
    page = browser.get("/console/people", group="group:hr")
    assert page.tree.css_first("textarea[name=members]").text().split() == ["group:leads", "user:wu"]
    refused = browser.post("/console/people/groups", {"group": "leads", "members": "group:hr"})
    assert (refused.status, "group:hr" in refused.body) == (400, True)
    browser.post("/console/people/groups/remove", {"group": "group:hr", "sure": "yes"})
    assert library.catalog.groups() == {}


def test_what_somebody_else_would_find(library: Any, browser: console_door.Browser) -> None:
    """Who may ask on behalf of others sees the answer with their eyes, and the audit has both; another key has no such field."""
    for names, shown in (("user:wu", False), ("user:li, group:hr", True), ("user:吴", False)):
        page = browser.get("/console/search", **{"q": "年假以外的薪酬方案机密", "as": names})
        assert page.status == 200, page.body
        assert (("年假 b" in page.body), names in page.body, "X-Wenyuan-On-Behalf-Of" in page.body) == (
            shown,
            True,
            True,
        )
    library.audit.flush()
    assert library.audit.list(kind="retrieval", limit=1)[0].record["on_behalf_of"] == "user:吴"
    assert browser.get("/console/search", **{"q": "年假", "as": "hr"}).status == 400
    plain = console_door.Browser(browser.url)
    plain.sign_in(key(library, "search", "retrieve"))
    assert 'name="as"' not in plain.get("/console/search").body
    assert plain.get("/console/search", **{"q": "年假", "as": "user:li"}).status == 403
    trusted = console_door.Browser(browser.url)
    trusted.sign_in(key(library, "search", "on_behalf_of"))
    assert 'name="as"' in trusted.get("/console/search").body


@pytest.mark.parametrize("language", ["zh", "en"])
def test_pages_are_in_both_languages(library: Any, browser: console_door.Browser, language: str) -> None:
    """Each page of readers, whole."""
    browser.post("/console/choose", {"language": language, "next": "/console/search"})
    word = {"zh": "读者", "en": "Readers"}[language]
    for page in (f"/console/documents/{number(library, 'b')}/readers", "/console/sources/docs/readers"):
        assert word in browser.get(page).body
    assert {"zh": "新建组", "en": "New group"}[language] in browser.get("/console/people").body
