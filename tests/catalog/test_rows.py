"""What the catalog remembers of itself between two commits, and that no commit of anybody goes unseen."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import wenyuan
from catalog_parts import BOTH, again, put, raw, script
from wenyuan.catalog import Catalog
from wenyuan.catalog.library_folder import Files
from wenyuan.catalog.rows import ReadCache
from wenyuan.core.access import Agent, DomainScope
from wenyuan.core.errors import CatalogUnavailable, NotPermitted
from wenyuan.core.model import Source
from wenyuan.service.search.searcher import SearchRequest

AGENT = Agent(agent_id="clerk", knowledge_scope=(DomainScope(domain="客服", top_k=3),))


class Reading:
    """Reads ``value``, and counts how often."""

    def __init__(self) -> None:
        self.times = 0

    def __call__(self) -> int:
        self.times += 1
        return self.times


@BOTH
def test_read_once_while_nobody_writes(catalog: Catalog) -> None:
    """A value is read once, however often it is asked for, while nothing is committed."""
    memory, reading = ReadCache(catalog.database.place.version), Reading()
    assert [memory.get("k", reading) for _ in range(5)] == [1] * 5


@BOTH
def test_read_anew_after_a_commit_of_this_process(catalog: Catalog) -> None:
    """A commit of this process drops what was remembered."""
    memory, reading = ReadCache(catalog.database.place.version), Reading()
    memory.get("k", reading)
    put(catalog, 1)
    assert memory.get("k", reading) == 2


def test_a_failed_reading_is_not_remembered(catalog: Catalog) -> None:
    """What raises is read again by the next who asks."""
    memory = ReadCache(catalog.database.place.version)
    with pytest.raises(ZeroDivisionError):
        memory.get("k", lambda: 1 // 0)
    assert memory.get("k", lambda: 7) == 7


def test_many_keys_are_bound(catalog: Catalog) -> None:
    """However many keys are asked for, by whomever, only so many values are remembered."""
    memory = ReadCache(catalog.database.place.version)
    for number in range(2_500):
        memory.get(number, Reading())
    assert len(memory._values) <= 1_000


def test_a_database_that_is_none_is_said(tmp_path: Path) -> None:
    """A file that is no database is the library's failure, not the driver's."""
    file = tmp_path / "catalog.db"
    file.write_bytes(b"no database at all " * 100)
    with pytest.raises(CatalogUnavailable, match=r"not a database|written over"):
        ReadCache(Files(tmp_path).version).get("k", Reading())


def test_what_is_given_may_be_changed(catalog: Catalog) -> None:
    """Who changes a value that it was given changes nobody else's."""
    catalog.set_value("floor", {"hybrid": {"han": {"score": 0.3}}})
    catalog.value("floor")["hybrid"]["han"]["score"] = 0.9
    assert catalog.value("floor") == {"hybrid": {"han": {"score": 0.3}}}


CHANGES: dict[str, tuple[Callable[[Catalog], Any], Callable[[Catalog], Any], Any]] = {
    "change number": (lambda c: put(c, 1), lambda c: c.seq(), 3),
    "value": (lambda c: c.set_value("floor", {"a": 1}), lambda c: c.value("floor"), {"a": 1}),
    "floor": (lambda c: c.set_value("floor", {"m": {"han": {}}}), lambda c: c.floor("m"), {"han": {}}),
    "agent": (lambda c: c.put_agent(AGENT), lambda c: c.agent("clerk"), AGENT),
}


@BOTH
@pytest.mark.parametrize("what", CHANGES)
def test_another_connection_is_seen_at_once(catalog: Catalog, what: str) -> None:
    """What somebody else commits counts for the very next question."""
    change, ask, then = CHANGES[what]
    if what != "agent":
        ask(catalog)
    else:
        with pytest.raises(NotPermitted):
            ask(catalog)
    other = Catalog.open(again(catalog.database.place))
    change(other)
    other.close()
    assert ask(catalog) == then


@BOTH
def test_a_revoked_key_ends_at_once(catalog: Catalog) -> None:
    """A key that another connection revokes is revoked for the next request, and no other key's secret fits it."""
    key, token = catalog.create_key(None, frozenset({"search"}), None)
    assert catalog.key_of_token(token) == key
    assert catalog.key_of_token(token[:-1] + "!") is None
    other = Catalog.open(again(catalog.database.place))
    other.revoke_key(key.key_id)
    other.close()
    now = catalog.key_of_token(token)
    assert now is not None
    assert now.revoked_at is not None


def test_a_writer_without_our_code_is_seen(catalog: Catalog) -> None:
    """A row that another program writes into the database counts, too."""
    before = catalog.seq()
    with raw(catalog) as connection:
        connection.execute("INSERT INTO commits (at, source_id) VALUES (0, 's1')")
    assert catalog.seq() == before + 1


WRITER = """
import sys
from pathlib import Path
from wenyuan.catalog import Catalog
catalog = Catalog.open(Path(sys.argv[1]))
for line in sys.stdin:
    catalog.set_value("turn", int(line))
    print(catalog.seq(), flush=True)
"""


def test_another_process_is_seen_at_once(catalog: Catalog) -> None:
    """A hundred times another process commits and says so: each time the next question has it."""
    child = script(WRITER, catalog.folder)
    assert child.stdin is not None
    assert child.stdout is not None
    try:
        for turn in range(100):
            child.stdin.write(f"{turn}\n")
            child.stdin.flush()
            child.stdout.readline()
            assert catalog.value("turn") == turn
    finally:
        child.stdin.close()
        child.wait(60)
        child.stdout.close()


@BOTH
def test_threads_never_see_less_than_was_committed(catalog: Catalog) -> None:
    """While one thread commits, others that ask afterwards never get what was before."""
    reached, stop, behind = [0], threading.Event(), list[tuple[int, int]]()

    def ask() -> None:
        while not stop.is_set():
            least = reached[0]
            if (got := catalog.seq()) < least:
                behind.append((least, got))

    threads = [threading.Thread(target=ask, daemon=True) for _ in range(4)]
    for thread in threads:
        thread.start()
    for number in range(60):
        reached[0] = put(catalog, number)
    stop.set()
    for thread in threads:
        thread.join(60)
    assert behind == []


def test_rights_taken_elsewhere_end_a_kept_answer(tmp_path: Path) -> None:
    """An agent whose scope another process narrows gets nothing kept of what it may not see any more."""
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "a.md").write_text("# 投诉\n\n投诉应当在七个工作日内办结。\n", "utf-8")
    with wenyuan.open(tmp_path / "library", create=True, encoder={"kind": "hashing"}) as library:
        library.add(Source(source_id="a", path=str(docs), domain="客服", trust=3))
        catalog: Any = library.catalog
        catalog.put_agent(AGENT)
        request = SearchRequest(query="投诉 办结", agent_id="clerk")
        library.find(request)
        kept = library.find(request)
        assert kept.cache_hit
        assert kept.passages
        other = Catalog.open(tmp_path / "library")
        other.put_agent(Agent(agent_id="clerk", knowledge_scope=AGENT.knowledge_scope, min_trust=4))
        other.close()
        assert library.find(request).passages == ()
