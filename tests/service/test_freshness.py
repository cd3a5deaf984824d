"""How fresh an answer is: said with each fragment, passage and snippet, and in the list of sources."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import wenyuan
from governed_door import governed_server, key, send
from wenyuan.cli.root import app
from wenyuan.core.errors import CatalogUnavailable
from wenyuan.core.model import RetrievalRequest
from wenyuan.core.sources import SourceState
from wenyuan.service.context import ContextRequest
from wenyuan.service.operations.source_health import Freshness, healths
from wenyuan.service.search.searcher import SearchRequest
from wenyuan.wire.search_answers import context_to_wire, search_to_wire

HOUR, DAY = 3_600.0, 86_400.0
QUERY = "客户投诉 complaint"


@pytest.fixture
def shelf(tmp_path: Path) -> Iterator[Any]:
    """A library with one source that is read daily and was read two days ago, and one that never is."""
    with wenyuan.open(tmp_path / "library", create=True, encoder={"kind": "hashing"}) as library:
        for name, cycle in (("daily", "daily"), ("archive", "never")):
            (tmp_path / name).mkdir()
            (tmp_path / name / "a.md").write_text(f"# {name}\n\n客户投诉 complaint 须在三天内答复（{name}）。\n")
            library.add(wenyuan.Source(source_id=name, path=str(tmp_path / name), refresh_cycle=cycle, trust=4))
            read(library, name, time.time() - 2 * DAY)
        yield library


def read(library: Any, source_id: str, at: float, **more: Any) -> None:
    library.catalog.put_source_state(SourceState(source_id=source_id, last_success=at, **more))


def moment(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="seconds")


def test_every_view_of_a_passage_says_since_when_it_is_overdue(shelf: Any) -> None:
    """Fragments, passages, snippets and answers name the moment for the overdue source, and nothing for the other."""
    read(shelf, "daily", begun := time.time() - 2 * DAY)
    since = moment(begun + DAY)
    response = shelf.retrieve_fragments(RetrievalRequest(query=QUERY, max_results=5))
    told = [(f.metadata["source_id"], f.metadata.get("stale_since")) for f in response.fragments]
    assert sorted(told) == [("archive", None), ("daily", since)]
    passages = search_to_wire(shelf.find(SearchRequest(query=QUERY)))["passages"]
    assert {p["source_id"]: p.get("stale_since") for p in passages} == {"archive": None, "daily": since}
    context = context_to_wire(shelf.get_context(ContextRequest(retrieval_query=QUERY)))
    snippets = context["CONTEXT_DATA"]["knowledge_snippets"]
    assert {s["source"].partition("#")[0]: s.get("stale_since") for s in snippets} == {
        "archive": None,
        "daily": since,
    }
    assert shelf.search(QUERY).stale == {"daily": since}


def test_a_kept_answer_is_as_stale_as_it_is_now(tmp_path: Path, shelf: Any) -> None:
    """What the cache kept while a source was overdue no longer says so once the source was refreshed unchanged."""
    request = SearchRequest(query=QUERY)
    assert "daily" in shelf.find(request).stale
    read(shelf, "daily", time.time())
    deadline = time.monotonic() + 60
    while shelf.find(request).stale:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    again = shelf.find(request)
    assert again.cache_hit
    assert not any("stale_since" in passage for passage in search_to_wire(again)["passages"])


class Counting:
    """A catalog of one source, that counts how often it is asked."""

    def __init__(self) -> None:
        self.asked = 0
        self.broken = False
        self.state = SourceState(source_id="a", last_success=0.0)

    def sources(self) -> list[wenyuan.Source]:
        return [wenyuan.Source(source_id="a", refresh_cycle="PT1H")]

    def source_states(self) -> dict[str, SourceState]:
        self.asked += 1
        if self.broken:
            raise CatalogUnavailable("the disk is gone")
        return {"a": self.state}


def test_the_catalog_is_asked_once_a_second_at_most() -> None:
    """Requests within a second cost no query; after it, what has changed is seen."""
    catalog, ticks = Counting(), [0.0]
    fresh = Freshness(catalog, clock=lambda: 2 * HOUR, ticks=lambda: ticks[0])
    for _ in range(100):
        assert fresh.stale() == {"a": "1970-01-01T01:00:00+00:00"}
    assert catalog.asked == 1
    catalog.state = SourceState(source_id="a", last_success=2 * HOUR)
    ticks[0] = 0.99
    assert fresh.stale()
    ticks[0] = 1.0
    assert fresh.stale() == {}
    assert catalog.asked == 2


def test_a_catalog_that_fails_is_not_fresh() -> None:
    """That the state cannot be read is an error, not a source that is up to date."""
    catalog = Counting()
    catalog.broken = True
    with pytest.raises(CatalogUnavailable):
        Freshness(catalog).stale()


def test_who_is_due(shelf: Any) -> None:
    """A source is due when its time has come and nobody is at it; a cycle that says nothing is due, and not overdue."""
    now = time.time()
    catalog = shelf.catalog
    due = {h.source.source_id: h.due for h in healths(catalog, now)}
    assert due == {"daily": True, "archive": False}
    read(shelf, "daily", now - 2 * DAY, claimed_by="w", claimed_until=now + 60)
    assert not any(h.due for h in healths(catalog, now))
    assert any(h.due for h in healths(catalog, now + 61))
    read(shelf, "daily", now - 2 * DAY, failures=3, next_refresh=now + 60)
    assert [h.stale_since is not None for h in healths(catalog, now) if not h.due] == [False, True]
    catalog.put_source(wenyuan.Source(source_id="odd", type="api", refresh_cycle="sometimes"))
    (odd,) = (h for h in healths(catalog, now) if h.source.source_id == "odd")
    assert (odd.due, odd.stale_since) == (True, None)


LISTED = {"documents": 1, "passages": 1, "failures_in_a_row": 2, "reason": "文件夹不见了 gone"}


def overdue(library: Any, source_id: str) -> dict[str, Any]:
    """What the list says of a source whose refresh failed twice."""
    library.catalog.put_source(wenyuan.Source(**{**_plain(library, source_id), "refresh_cycle": "P1D"}))
    library.catalog.put_source_state(
        SourceState(
            source_id=source_id, last_success=HOUR, last_failure=3 * DAY, failure="文件夹不见了 gone", failures=2,
            next_refresh=4 * DAY,
        )
    )  # fmt: skip
    moments = {"last_success": HOUR, "last_failure": 3 * DAY, "next_refresh": 4 * DAY}
    return LISTED | {name: moment(at) for name, at in moments.items()} | {"refreshing": ""}


def _plain(library: Any, source_id: str) -> dict[str, Any]:
    source = library.catalog.source(source_id)
    return {name: getattr(source, name) for name in ("source_id", "title", "type", "domain", "trust", "path")}


def test_the_list_tells_how_fresh_each_source_is(shelf: Any) -> None:
    """Documents, passages, the last success and failure with its reason, when next, and since when overdue."""
    wanted = overdue(shelf, "daily")
    listed = {entry["source_id"]: entry for entry in shelf.list_sources()}
    assert wanted.items() <= listed["daily"].items()
    assert listed["daily"]["stale_since"].startswith("1970-01-02")
    assert listed["archive"]["stale_since"] is None
    assert shelf.catalog.counts_by_source()["daily"] == shelf.catalog.counts("daily")


def test_the_command_line_lists_it_too(shelf: Any) -> None:
    """`source list --json` has the same members; people see what is overdue, in both languages."""
    wanted = overdue(shelf, "daily")
    env = {"WENYUAN_LIBRARY": str(shelf.folder), "WENYUAN_ENCODER__KIND": "hashing", "COLUMNS": "100"}
    done = CliRunner().invoke(app, ["source", "list", "--json"], env=env)
    listed = {entry["source_id"]: entry for entry in json.loads(done.stdout)["sources"]}
    assert wanted.items() <= listed["daily"].items()
    for lang in ("zh", "en"):
        told = CliRunner().invoke(app, ["source", "list", "--lang", lang], env=env).output
        assert told.count("1970-01-02") == 1


def test_over_http_an_agent_is_not_told_why(tmp_path: Path) -> None:
    """The operator sees the reason and who refreshes; an agent's key sees when, and that it is overdue."""
    with governed_server(tmp_path) as (url, library):
        wanted = overdue(library, "crm_policy")
        operator = send(url, "GET", "/v1/sources", token=key(library, "registry")).json["sources"]
        (shown,) = (entry for entry in operator if entry["source_id"] == "crm_policy")
        assert wanted.items() <= shown.items()
        agents = send(url, "GET", "/v1/sources", token=key(library, "registry", agent="support")).json["sources"]
        (shown,) = (entry for entry in agents if entry["source_id"] == "crm_policy")
        assert shown["stale_since"]
        assert not {"reason", "refreshing", "path", "settings"} & set(shown)
