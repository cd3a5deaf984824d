"""What the console refuses is said by the name that stands in its forms, never by that of the API."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import wenyuan
from console_door import Browser, console
from governed_door import key
from wenyuan.console.field_labels import LABELS, label_of
from wenyuan.i18n.translation import texts

WRONG: tuple[tuple[str, dict[str, str], dict[str, str]], ...] = (
    ("/console/people/agents", {"agent_id": "a b"}, {"en": "Id", "zh": "编号"}),
    ("/console/people/keys", {"right": "search", "expires": "2001-01-01"}, {"en": "Expires", "zh": "到期"}),
    ("/console/people/keys", {"right": "search", "user": "li wei"}, {"en": "Person", "zh": "人"}),
    ("/console/people/keys", {"name": "x"}, {"en": "Rights", "zh": "权限"}),
    (
        "/console/people/groups",
        {"group": "hr", "members": "user:li Helen"},
        {"en": "Members, entry 2", "zh": "成员第 2 项"},
    ),
    ("/console/people/synonyms", {"term": "boss", "synonym": "boss"}, {"en": "What documents say", "zh": "同义词"}),
    ("/console/people/tasks", {"profile_id": "a b"}, {"en": "Id", "zh": "编号"}),
    ("/console/erasures", {"kind": "person", "values": "Helen Marsh", "do": "hold"}, {"en": "Reason", "zh": "理由"}),
)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_refusal_has_the_names_of_the_form(tmp_path: Path, language: str) -> None:
    """Whatever a form of people, keys, groups, words or erasures has wrong is named as the form names it."""
    with console(tmp_path) as (url, library):
        key(library, "admin")
        browser = Browser(url, language)
        browser.sign_in(key(library, "admin"))
        for action, fields, label in WRONG:
            seen = browser.post(action, fields)
            assert (seen.status, seen.count(".notice.bad li code")) == (400, 0), (action, fields)
            assert label[language] in seen.text(".notice.bad li"), (action, fields)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_every_label_is_a_text(language: str) -> None:
    """Each name of a field stands for a text of the console."""
    assert set(LABELS.values()) <= texts("console", language).keys()


@pytest.mark.parametrize("language", ["en", "zh"])
def test_every_door_that_is_recorded_has_a_name(language: str) -> None:
    """The audit says by which door something was asked or read; none of them stands there by its name in the program."""
    named = re.compile(r"""(?:door(?:: str = |=)|^DOOR = |^AGAIN = )"([a-z_]+)\"""", re.MULTILINE)
    package = Path(wenyuan.__file__).parent
    doors = {name for file in package.rglob("*.py") for name in named.findall(file.read_text("utf-8"))}
    assert {"page", "fs", "dify", "mcp"} <= doors
    assert {f"door_{name}" for name in doors} <= texts("console", language).keys()


def test_no_page_has_english_punctuation_of_its_own() -> None:
    """A colon, a comma and a full stop between values are texts: Chinese has others."""
    own = re.compile(r"""\}\}(?:</a>)?[:.;] |\{\{ ', ' if""")
    for page in (Path(wenyuan.__file__).parent / "console" / "templates").glob("*.html"):
        assert own.findall(page.read_text("utf-8")) == [], page.name


def test_the_place_in_a_list_is_counted_from_one() -> None:
    """The entry of a list has its number; what no form has, and what is no name, has no label."""
    assert label_of("members[0]") == ("group_members", 1)
    assert label_of("knowledge_scope[2].top_k") == ("field_knowledge_scope", 3)
    assert label_of("expires_at") == ("key_expires", 0)
    assert label_of("settings.retention") == label_of("body") == label_of("members[x]") == label_of("") == ("", 0)


def test_a_key_has_the_rights_that_were_chosen(tmp_path: Path) -> None:
    """Of a further key no right is ticked beforehand: an auditor's does not come to read all documents."""
    with console(tmp_path) as (url, library):
        key(library, "admin")
        browser = Browser(url)
        browser.sign_in(key(library, "admin"))
        assert (
            browser.get("/console/people").count("form[action='/console/people/keys'] input[name=right][checked]")
            == 0
        )
        browser.post("/console/people/keys", {"name": "Auditor", "role": "auditor"})
        assert [one.rights for one in tuple(library.catalog.keys()) if one.name == "Auditor"] == [
            frozenset(("audit",))
        ]


def test_the_first_key_is_an_administrator_s_unless_said_otherwise(tmp_path: Path) -> None:
    """Before there is a key, the right to make others is ticked: without it nobody could sign in to make them."""
    with console(tmp_path) as (url, _):
        ticked = "form[action='/console/people/keys'] input[name=right][checked]"
        assert Browser(url).get("/console/people").count(ticked) == 1
