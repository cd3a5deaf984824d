"""Who may read which document, as the catalog keeps and follows it."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from catalog_parts import BOTH, again, dropped, new_catalog, on_server
from engine_laws import document
from wenyuan.catalog import Catalog
from wenyuan.catalog.database import StoragePlace
from wenyuan.core.errors import InvalidRequest, NotFound
from wenyuan.core.hidden_documents import HiddenDocuments
from wenyuan.core.model import Source
from wenyuan.core.principals import EVERYONE, NOBODY, AccessList, Sight, parse_access_list, reading_as

HR, WORKS = AccessList(readers=frozenset({"group:hr"})), AccessList(readers=frozenset({"group:works"}))
NOT_LI = AccessList(deny=frozenset({"user:li"}))


@pytest.fixture
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path | StoragePlace]:
    if getattr(request, "param", "files") == "files":
        yield tmp_path / "library"
        return
    made = on_server(request.getfixturevalue("database"), tmp_path / "library")
    yield made
    dropped(made)


@pytest.fixture
def catalog(place: Path | StoragePlace) -> Iterator[Catalog]:
    with new_catalog(place) as made:
        yield made


def put(catalog: Catalog, number: int, source: str = "s1", access: AccessList | None = None) -> int:
    made, vectors = document(number, source=source)
    catalog.commit_documents([replace(made, access=access)], vectors)
    return catalog.live_documents(source)[uri(number, source)][0]


def uri(number: int, source: str = "s1") -> str:
    return f"urn:t:{source}:{number}"


def hidden(catalog: Catalog, *names: str) -> HiddenDocuments | None:
    with reading_as(Sight.of(names)):
        return catalog.hidden()


def seen(catalog: Catalog, *names: str) -> set[int]:
    """The live documents that somebody sees."""
    gone = hidden(catalog, *names)
    live = {number for s in ("s1", "s2") for number, _ in catalog.live_documents(s).values()}
    return {number for number in live if gone is None or not gone.hides(number)}


@BOTH
def test_lists_of_all_origins_count(catalog: Catalog) -> None:
    """Each list that stands for a document must let its reader in; a change counts at once; nothing is indexed anew."""
    one, two, three = put(catalog, 1), put(catalog, 2), put(catalog, 3, access=HR)
    assert seen(catalog, "user:li") == {one, two}
    assert seen(catalog, "group:hr") == {one, two, three}
    catalog.set_document_access("s1", uri(1), WORKS, "key")
    catalog.set_document_access("s1", uri(3), NOT_LI, "key")
    assert seen(catalog, "group:hr") == {two, three}
    assert seen(catalog, "group:hr", "user:li") == {two}
    assert seen(catalog, "group:works", "user:li") == {one, two}
    catalog.set_document_access("s1", uri(1), None, "key")
    assert seen(catalog, "group:hr") == {one, two, three}
    assert hidden(catalog, "group:hr") is None
    assert [(a.origin, a.access) for a in catalog.document_access("s1", uri(3))] == [
        ("document", HR),
        ("set", NOT_LI),
    ]
    assert catalog.hidden() is None, "whoever has all rights sees all"


@BOTH
def test_patterns_count_for_what_is_there_and_what_comes(catalog: Catalog) -> None:
    """A source's patterns stand for held documents as soon as it is registered so, and for new ones from their commit on."""
    one = put(catalog, 1)
    rule: dict[str, Any] = {"readers": {"documents": [{"path": "urn:t:s1:*", "readers": ["group:hr"]}]}}
    catalog.put_source(Source(source_id="s1", settings=rule))
    two, other = put(catalog, 2), put(catalog, 1, "s2")
    assert seen(catalog, "user:li") == {other}
    assert seen(catalog, "group:hr") == {one, two, other}
    again_one = put(catalog, 1)
    assert again_one != one
    assert seen(catalog, "user:li") == {other}
    never = {"readers": {"documents": [*rule["readers"]["documents"], {"path": "gone/**", "readers": ["group:hr"]}]}}
    catalog.put_source(source := Source(source_id="s1", settings=never))
    assert catalog.unmatched_patterns(source) == ("gone/**",)
    catalog.put_source(Source(source_id="s1"))
    assert seen(catalog, "user:li") == {again_one, two, other}


@BOTH
def test_a_source_that_enforces_readers_is_closed(catalog: Catalog) -> None:
    """A document without readers is seen by nobody but administrators, and counted; a list of denied ones says no readers."""
    one, two, three, other = (
        put(catalog, 1),
        put(catalog, 2, access=HR),
        put(catalog, 3, access=NOT_LI),
        put(catalog, 1, "s2"),
    )
    catalog.put_source(Source(source_id="s1", settings={"readers": {"enforce": True}}))
    assert seen(catalog, "group:hr") == {two, other}
    assert seen(catalog, "user:wu") == {other}
    assert catalog.access_counts() == {"s1": {"readers": 1, "unread": 2, "unreadable": 0}}
    gone = hidden(catalog, "user:wu")
    assert gone is not None
    assert gone.hides_address("s1", uri(9)), "what is not there yet is hidden, too"
    assert not gone.hides_address("s2", uri(9))
    assert gone.sources == {"s1"}
    catalog.set_document_access("s1", uri(1), AccessList(readers=frozenset({EVERYONE})), "key")
    assert seen(catalog, "user:wu") == {one, other}
    assert three not in seen(catalog, "user:wu")


@BOTH
def test_who_acts_for_somebody_sees_what_both_see(catalog: Catalog) -> None:
    """Acting for others never shows more than one may see oneself."""
    one, two, three = put(catalog, 1, access=HR), put(catalog, 2, access=WORKS), put(catalog, 3)
    with reading_as(Sight.of(("group:hr", "group:works"), ("group:hr",))):
        gone = catalog.hidden()
    assert gone is not None and [gone.hides(n) for n in (one, two, three)] == [False, True, False]
    with reading_as(Sight.of(("group:hr",), ("group:works",))):
        gone = catalog.hidden()
    assert gone is not None and [gone.hides(n) for n in (one, two, three)] == [True, True, False]


@BOTH
def test_what_was_read_replaces_what_was_read_before(catalog: Catalog) -> None:
    """Lists of files are taken back where they were not found again, and those that could not be read let nobody in."""
    one, two = put(catalog, 1), put(catalog, 2)
    found = {uri(1): {"sidecar/0": (HR, ""), "sidecar/1": (NOT_LI, "")}, uri(2): {"sidecar/0": (HR, "")}}
    assert catalog.keep_access("s1", found, ("sidecar/",)) == 2
    before = catalog.seq()
    assert catalog.keep_access("s1", found, ("sidecar/",)) == 0
    assert catalog.seq() == before, "what is as before is no change"
    assert seen(catalog, "user:li", "group:hr") == {two}
    catalog.keep_access("s1", {uri(1): {}, uri(2): {"sidecar/0": (NOBODY, "it cannot be read")}}, ("sidecar/",))
    assert seen(catalog, "user:li", "group:hr") == {one}
    assert catalog.access_counts()["s1"]["unreadable"] == 1
    assert catalog.document_access("s1", uri(2))[0].note == "it cannot be read"
    catalog.move_access("s1", {uri(2): uri(3)})
    three = put(catalog, 3)
    assert seen(catalog, "user:li", "group:hr") == {one}
    assert three not in seen(catalog, "group:hr")


@BOTH
def test_a_source_that_was_removed_and_comes_again_has_no_lists(catalog: Catalog) -> None:
    """Nothing is left of them, in this process and in another."""
    put(catalog, 1, access=HR)
    assert seen(catalog, "user:li") == set()
    catalog.remove_source("s1")
    catalog.put_source(Source(source_id="s1"))
    one = put(catalog, 1)
    assert seen(catalog, "user:li") == {one}
    assert catalog.document_access("s1", uri(1)) == ()


@BOTH
def test_every_process_sees_the_same(catalog: Catalog, place: Path | StoragePlace) -> None:
    """Whatever is written, in which order, each process follows it, and one that begins anew reads the same; as the lists
    say, which are asked one by one.
    """
    drawn, names = random.Random(42), ["user:a", "user:b", "group:x", "group:y", "group:z"]
    lists: list[AccessList | None] = [None, NOBODY]
    lists += [
        parse_access_list({"readers": drawn.sample(names, drawn.randint(1, 3)), "deny": drawn.sample(names, drawn.randint(0, 1))})
        for _ in range(5)
    ]  # fmt: skip
    lists.append(parse_access_list({"deny": ["user:b"]}))
    closed = {"s1": False, "s2": False}
    held: dict[tuple[str, int], int] = {}
    with closing(Catalog.open(again(place))) as follower:
        for step in range(60):
            source, number = drawn.choice(["s1", "s2"]), drawn.randint(1, 6)
            match drawn.randint(0, 4):
                case 0 | 1:
                    held[source, number] = put(catalog, number, source, drawn.choice(lists))
                case 2 if (source, number) in held:
                    catalog.set_document_access(source, uri(number, source), drawn.choice(lists), "key")
                case 3:
                    closed[source] = not closed[source]
                    catalog.put_source(Source(source_id=source, settings={"readers": {"enforce": closed[source]}}))
                case _:
                    catalog.keep_access(
                        source, {uri(number, source): {"sidecar/0": (drawn.choice(lists) or HR, "")}}, ("sidecar/",)
                    )
            if step % 3:
                continue
            access = {
                key: [one.access for one in catalog.document_access(key[0], uri(key[1], key[0]))] for key in held
            }
            for _ in range(4):
                sight = Sight.of(*(drawn.sample(names, drawn.randint(0, 3)) for _ in range(drawn.randint(1, 2))))
                expected = {
                    key
                    for key, found in access.items()
                    if not all(map(sight.admitted_by, found))
                    or (closed[key[0]] and not any(one.readers is not None for one in found))
                }
                with reading_as(sight), closing(Catalog.open(again(place))) as fresh:
                    for each in (catalog, follower, fresh):
                        gone = each.hidden()
                        assert {
                            k for k, number in held.items() if gone is not None and gone.hides(number)
                        } == expected
                        assert {
                            k for k in held if gone is not None and gone.hides_address(k[0], uri(k[1], k[0]))
                        } == expected
                        if gone is not None:
                            assert {k for k, number in held.items() if number in set(gone.documents())} == expected
                            assert gone.sources >= {source for source, _ in expected}


def test_lists_of_what_is_not_there_are_refused(catalog: Catalog) -> None:
    """Who may read a document is said of one that is held."""
    with pytest.raises(NotFound):
        catalog.set_document_access("s1", uri(1), HR, "key")


@BOTH
def test_keys_have_names(catalog: Catalog) -> None:
    """A key reads with the eyes that it was given; others count for the next request; what is no name is refused."""
    key, token = catalog.create_key(
        None, frozenset({"search"}), None, "Li", user="User:Li", groups=["HR", "group:works"]
    )
    assert (key.user, key.groups) == ("user:li", {"group:hr", "group:works"})
    assert catalog.key_of_token(token) == key == catalog.keys()[0]
    changed = catalog.change_key(key.key_id, user="user:li", groups=[])
    assert catalog.key_of_token(token) == changed == replace(key, groups=frozenset())
    plain, _ = catalog.create_key(None, frozenset({"search"}), None)
    assert (plain.user, plain.groups) == ("", frozenset())
    for user, groups in (("group:hr", []), ("user:li", [5]), ("li", []), ("", ["a b"])):
        with pytest.raises(InvalidRequest):
            catalog.create_key(None, frozenset({"search"}), None, user=user, groups=groups)  # type: ignore[arg-type]
    with pytest.raises(NotFound):
        catalog.change_key("nothing", user="", groups=())
