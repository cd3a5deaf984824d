"""Imports that meet other changes of the library."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from threading import Barrier, Thread
from typing import Any

import pytest

import wenyuan
from wenyuan.core.errors import InvalidRequest
from wenyuan.core.rules.book import Book
from wenyuan.core.rules.checking import CheckedBook
from wenyuan.i18n.translation import translated
from wenyuan.readers.rulebooks.selection import read_book
from wenyuan.service.rules.rulebook import Rulebook
from wenyuan.service.rules.unified import RuleQuestion

PACK = """\
pack: {n}
schema:
  kinds: {{process: {{zh: 工序}}, thing_{n}: {{zh: 物}}}}
  relations: {{needs_{n}: {{zh: 需要, from: [process], to: [thing_{n}]}}}}
  parameters: {{floors_{n}: {{type: integer, zh: 层数}}}}
  patterns: {{of_{n}: {{start: process, collect: {{things_{n}: [needs_{n}]}}}}}}
sources: [{{id: source_{n}, title: 规范, uri: "urn:{n}", trust: 5, domain: construction}}]
nodes: [{{kind: process, name: 深基坑开挖}}, {{kind: thing_{n}, name: 东西{n}}}]
statements:
  - {{src: 深基坑开挖, rel: needs_{n}, dst: 东西{n}, when: floors_{n} >= 3, evidence: [{{source: source_{n}, clause: 一}}]}}
"""
KEYS = {"encoder": {"kind": "none"}, "cache": {"seconds": 0}}


def pack(folder: Path, name: str) -> Book:
    (folder / f"{name}.yaml").write_text(PACK.format(n=name), encoding="utf-8")
    return read_book(folder / f"{name}.yaml")


def served(library: Any) -> set[str]:
    items = library.infer_rules(RuleQuestion(text="深基坑开挖")).items
    return {item.metadata["name"] for item in items}


def test_packs_that_are_imported_at_once_are_all_there(tmp_path: Path) -> None:
    """Of packs that come in at the same moment, each keeps its schema, and its rules are served."""
    names = ("a", "b", "c", "d")
    books = [pack(tmp_path, name) for name in names]
    with wenyuan.open(tmp_path / "library", create=True, **KEYS) as library:
        ready = Barrier(len(books))

        def take(book: Book) -> None:
            ready.wait()
            library.rules.take(book)

        threads = [Thread(target=take, args=(book,)) for book in books]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert library.rules.packs() == names
        assert served(library) == {f"东西{name}" for name in names}


class Interrupted(Rulebook):
    """Something else happens to the library while a book is checked for the first time."""

    meanwhile: Callable[[], object] | None = None

    def _verified(self, checked: CheckedBook) -> Any:
        done, self.meanwhile = self.meanwhile, None
        if done is not None:
            done()
        return super()._verified(checked)


def test_an_import_is_checked_again_where_the_library_has_changed_meanwhile(tmp_path: Path) -> None:
    """A pack that came, or went, while another one was checked has come, or gone, afterwards, too."""
    with wenyuan.open(tmp_path / "library", create=True, **KEYS) as library:
        rules = Interrupted(library.catalog, lambda *_: None)
        rules.meanwhile = lambda: library.rules.take(pack(tmp_path, "a"))
        assert rules.take(pack(tmp_path, "b")).diff.added
        assert library.rules.packs() == ("a", "b")
        rules.meanwhile = lambda: library.rules.retire_pack("a")
        assert not rules.take(pack(tmp_path, "c")).errors
        assert library.rules.packs() == ("b", "c")
        assert served(library) == {"东西b", "东西c"}


GUEST = """\
pack: guest
process: [高支模]
statements:
  - {src: 高支模, rel: needs_a, dst: 东西a, evidence: [{source: source_a, clause: 二}]}
  - {src: 高支模, rel: needs_a, dst: 东西a, when: floors_a >= 9, evidence: [{source: source_a, clause: 三}]}
"""


def test_a_schema_goes_no_further_than_other_packs_can_do_without(tmp_path: Path) -> None:
    """A relation, a kind or a parameter that another pack's rules need is not taken from under them."""
    with wenyuan.open(tmp_path / "library", create=True, **KEYS) as library:
        own = pack(tmp_path, "a")
        library.rules.take(own)
        (tmp_path / "guest.yaml").write_text(GUEST, encoding="utf-8")
        assert not library.rules.take(read_book(tmp_path / "guest.yaml")).errors
        with pytest.raises(InvalidRequest, match=r"builds on the schema of a: the pack 'guest' needs the") as caught:
            library.rules.retire_pack("a")
        assert "规则包 'guest' 需要" in translated(caught.value.message)
        text = PACK.format(n="a").replace("needs_a", "wants_a")
        (tmp_path / "a.yaml").write_text(text, encoding="utf-8")
        with pytest.raises(InvalidRequest, match="the pack 'guest' needs the relation 'needs_a'"):
            library.rules.take(read_book(tmp_path / "a.yaml"))
        text = PACK.format(n="a").replace("integer", "string").replace("floors_a >= 3", "floors_a == '3'")
        (tmp_path / "a.yaml").write_text(text, encoding="utf-8")
        with pytest.raises(InvalidRequest, match=r"builds on the schema of a: condition"):
            library.rules.take(read_book(tmp_path / "a.yaml"))
        assert library.infer_rules(RuleQuestion(text="高支模")).items
        library.rules.retire_pack("guest")
        library.rules.retire_pack("a")
        assert library.rules.packs() == ()


def test_packs_whose_schema_was_lost_can_be_imported_again(tmp_path: Path) -> None:
    """What the schema does not allow already keeps nobody from importing the pack that declares it."""
    with wenyuan.open(tmp_path / "library", create=True, **KEYS) as library:
        for name in ("a", "b"):
            library.rules.take(pack(tmp_path, name))
        library.catalog.set_value("rules/schema", {"packs": {}})
        for name in ("a", "b"):
            assert not library.rules.take(pack(tmp_path, name)).errors
        assert served(library) == {"东西a", "东西b"}


def test_a_pack_can_be_imported_again_though_another_builds_on_its_schema(tmp_path: Path) -> None:
    """What builds on it is read after it: nothing is damaged, and its rules are served as before."""
    with wenyuan.open(tmp_path / "library", create=True, **KEYS) as library:
        library.rules.take(pack(tmp_path, "a"))
        above = PACK.format(n="b").replace("process: {zh: 工序}, ", "")
        (tmp_path / "b.yaml").write_text(above, encoding="utf-8")
        library.rules.take(read_book(tmp_path / "b.yaml"))
        for name in ("a", "b", "a"):
            library.rules.take(read_book(tmp_path / f"{name}.yaml"))
            assert served(library) == {"东西a", "东西b"}
