"""Names of readers, access lists, and patterns of paths."""

from __future__ import annotations

import fnmatch
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wenyuan.core.access import RIGHTS, Principal
from wenyuan.core.errors import ConfigError, InvalidRequest
from wenyuan.core.model import Source
from wenyuan.core.path_patterns import fits, parse_pattern
from wenyuan.core.principals import (
    EVERYONE,
    MAX_NAMES,
    NOBODY,
    AccessList,
    Sight,
    parse_access_list,
    parse_groups,
    parse_name,
    parse_user,
    reading_as,
    sight_now,
)
from wenyuan.core.source_entries import parse_source
from wenyuan.core.source_readers import parse_source_readers, path_within, readers_of


@pytest.mark.parametrize(
    "value",
    [5, None, True, "", "hr", "group:", "group: hr", "group:a,b", "team:hr", "group:a\nb", "user:" + "x" * 129, ["group:hr"],
     "group:" + "x" * 1_000_000, "group:\u200b", 1.5, {}],
)  # fmt: skip
def test_what_is_no_name_is_refused(value: Any) -> None:
    """A number, a name without its kind, one with spaces or commas, and one of a megabyte are no readers."""
    with pytest.raises(InvalidRequest):
        parse_name(value)


def test_names_are_compared_in_one_form() -> None:
    """Capital and full-width letters are the plain ones; Chinese names stay."""
    assert parse_name("Group:ＨＲ") == "group:hr"
    assert parse_name("user:李雷") == "user:李雷"
    assert parse_name("Everyone") == EVERYONE
    assert parse_groups(["HR", "group:works"]) == {"group:hr", "group:works"}
    assert parse_user("user:Li@example.org") == "user:li@example.org"


@pytest.mark.parametrize("value", [5, "hr", [5], ["user:li"], ["a b"], ["x"] * (MAX_NAMES + 1), None])
def test_groups_that_are_none_are_refused(value: Any) -> None:
    """A number is no group, nor is somebody, and a text is no list."""
    with pytest.raises(InvalidRequest):
        parse_groups(value)


@pytest.mark.parametrize("value", ["group:hr", "li", 5, "everyone"])
def test_who_is_nobody_is_refused(value: Any) -> None:
    """A key reads with somebody's eyes, not with a group's."""
    with pytest.raises(InvalidRequest):
        parse_user(value)


@pytest.mark.parametrize(
    "value",
    ["group:hr", 5, ["group:hr"], {"readers": "group:hr"}, {"readers": [5]}, {"deny": {"user:li": 1}}, {"reader": []},
     {"readers": ["group:hr"] * (MAX_NAMES + 1)}, {"readers": ["x" * 1_000_000]}],
)  # fmt: skip
def test_lists_that_are_none_are_refused(value: Any) -> None:
    """What is no access list is an error with its place, never a list that is read otherwise."""
    with pytest.raises(InvalidRequest) as refused:
        parse_access_list(value, "here")
    assert refused.value.faults
    assert len(str(refused.value)) < 2_000


NAMES = st.sampled_from(["user:a", "user:b", "group:x", "group:y", EVERYONE])


@given(st.none() | st.frozensets(NAMES), st.frozensets(NAMES), st.frozensets(NAMES), st.frozensets(NAMES))
def test_deny_beats_allow_and_nobody_widens(
    readers: frozenset[str] | None, deny: frozenset[str], one: frozenset[str], other: frozenset[str]
) -> None:
    """Who is denied may not read; who acts for somebody may read what both may; a list is written and read alike."""
    access = AccessList(readers=readers, deny=deny)
    own, both = Sight.of(one), Sight.of(one, other)
    names = one | {EVERYONE}
    assert own.admitted_by(access) == (not deny & names and (readers is None or bool(readers & names)))
    assert both.admitted_by(access) == (own.admitted_by(access) and Sight.of(other).admitted_by(access))
    assert parse_access_list(access.written()) == access
    assert not own.admitted_by(NOBODY)


def test_absent_readers_are_not_empty_readers() -> None:
    """A list that says no readers lets whoever is not denied read; one of no readers lets nobody."""
    somebody = Sight.of({"user:li"})
    assert somebody.admitted_by(parse_access_list({"deny": ["user:wu"]}))
    assert not somebody.admitted_by(parse_access_list({"readers": []}))
    assert parse_access_list({"readers": None}).readers is None


def test_an_administrator_sees_all() -> None:
    """Only the right to administer reads with all rights; a key without a name has the names of nobody."""
    assert Principal().sight is None
    plain = Principal(rights=frozenset(RIGHTS) - {"admin"})
    assert plain.sight is not None and plain.sight.all_of == (frozenset({EVERYONE}),)
    named = Principal(rights=frozenset({"search"}), user="user:li", groups=frozenset({"group:hr"}))
    assert named.sight is not None and named.sight.all_of == (frozenset({"user:li", "group:hr", EVERYONE}),)
    assert named.sight.digest != plain.sight.digest


def test_whose_eyes_a_thread_has() -> None:
    """They hold within their context alone."""
    assert sight_now() is None
    with reading_as(Sight.of({"user:li"})):
        assert sight_now() == Sight.of({"user:li"})
        with reading_as(None):
            assert sight_now() is None
    assert sight_now() is None


@pytest.mark.parametrize(
    ("pattern", "path", "expected"),
    [
        ("hr/**", "hr/a.md", True), ("hr/**", "hr/x/y/a.md", True), ("hr/**", "hrx/a.md", False), ("hr/*", "hr/x/a.md", False),
        ("**/pay*.md", "pay.md", True), ("**/pay*.md", "x/y/payroll.md", True), ("**", "a", True), ("*.md", "a/b.md", False),
        ("人事/**", "人事/薪酬.md", True), ("a*b*c", "aXbYc", True), ("a*b*c", "acb", False), ("hr", "hr/a.md", False),
        ("/hr/a.md", "hr/a.md", True), ("**/secret/**", "secret/a", True), ("**/secret/**", "x/secret/y/a", True),
        ("[hr]/*", "h/a", False), ("é/*", "e\u0301/a", True),
    ],
)  # fmt: skip
def test_patterns(pattern: str, path: str, expected: bool) -> None:
    """One star stays within a folder, two go across any number; nothing else means anything."""
    assert fits(parse_pattern(pattern), path) is expected


@given(st.text("ab*", min_size=1, max_size=8), st.text("ab", max_size=8))
def test_patterns_within_a_segment_are_those_of_the_shell(pattern: str, text: str) -> None:
    """Within one folder a star means what it means to the shell."""
    if "**" not in pattern and text:
        assert fits(pattern, text) == fnmatch.fnmatchcase(text, pattern)


@given(
    st.lists(st.sampled_from(["a", "b", "**", "*"]), min_size=1, max_size=6),
    st.lists(st.sampled_from("ab"), min_size=1, max_size=6),
)
def test_patterns_across_folders(pattern: list[str], path: list[str]) -> None:
    """Two stars stand for any number of folders, none included."""
    written = "".join({"**": "(?:[ab]/)*", "*": "[ab]/"}.get(part, f"{part}/") for part in pattern)
    assert fits("/".join(pattern), "/".join(path)) == bool(
        re.fullmatch(written, "".join(f"{part}/" for part in path))
    )


def test_patterns_take_linear_time() -> None:
    """A pattern of stars against a path that nearly fits takes no time that grows with the number of ways."""
    assert not fits("**/" * 30 + "b", "a/" * 300 + "a")
    assert not fits("*a" * 100 + "b", "a" * 5_000)


@pytest.mark.parametrize(
    "value",
    [5, [], {"enforced": True}, {"enforce": 1}, {"from": ["feishu"]}, {"from": "permissions"}, {"documents": {}},
     {"documents": [{"path": "hr/**"}]}, {"documents": [{"path": 5, "readers": []}]}, {"documents": [{"readers": []}]},
     {"documents": [{"path": "", "readers": []}]}, {"documents": [{"path": "a", "readers": [5]}]}],
)  # fmt: skip
def test_settings_that_say_nothing_are_refused(value: Any) -> None:
    """What a source says of readers is refused with its place where it cannot be applied; stored, it fails the question."""
    with pytest.raises(InvalidRequest) as refused:
        parse_source({"source_id": "s", "settings": {"readers": value}})
    assert all(fault.path.startswith("settings.readers") for fault in refused.value.faults)
    with pytest.raises(ConfigError):
        readers_of(Source(source_id="s", settings={"readers": value}))


@pytest.mark.parametrize("kind", ["api", "vector_index"])
def test_sources_elsewhere_have_no_readers(kind: str) -> None:
    """What lies elsewhere is not filtered by document, so that a source of that kind cannot be told to."""
    with pytest.raises(InvalidRequest, match=r"settings\.readers"):
        parse_source(
            {"source_id": "s", "type": kind, "settings": {"url": "http://127.0.0.1", "readers": {"enforce": True}}}
        )


def test_the_first_pattern_counts() -> None:
    """So an exception stands before the rule."""
    told = parse_source_readers(
        {
            "documents": [
                {"path": "hr/canteen.md", "readers": ["everyone"]},
                {"path": "hr/**", "readers": ["group:hr"]},
            ]
        }
    )
    assert told.of("hr/canteen.md") == AccessList(readers=frozenset({EVERYONE}))
    assert told.of("hr/pay.md") == AccessList(readers=frozenset({"group:hr"}))
    assert told.of("works/a.md") is None


@pytest.mark.parametrize(
    ("path", "uri", "expected"),
    [
        ("/data/docs", "file:///data/docs/hr/a%20b.md", "hr/a b.md"), ("/data/docs", "file:///data/docsx/a.md", "file:///data/docsx/a.md"),
        ("/data/docs/a.md", "file:///data/docs/a.md", "a.md"), ("/data/docs", "file:///data/docs/a.zip?part=hr/b.md", "a.zip"),
        ("https://w.example/kb/", "https://w.example/kb/hr?id=3", "hr?id=3"), ("/data/文档", "file:///data/文档/人事/a.md", "人事/a.md"),
    ],
)  # fmt: skip
def test_paths_within_a_source(path: str, uri: str, expected: str) -> None:
    """Patterns are compared with paths from the source's own folder on; the parts of a file have the file's."""
    assert path_within(Source(source_id="s", path=path), uri) == expected
