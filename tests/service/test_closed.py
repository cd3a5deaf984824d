"""What was closed says so, by whatever it is asked: never an empty answer, a time-out or an error of something else."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx2
import pytest

import wenyuan
from wenyuan.client import AgentClient, Client
from wenyuan.core.errors import Closed
from wenyuan.core.model import Source
from wenyuan.knowledge_retriever import KGRetriever, KnowledgeRetriever, VectorRetriever

Make = Callable[[Path], Any]


def a_library(folder: Path) -> wenyuan.Library:
    return wenyuan.open(folder, create=True, encoder={"kind": "none"})


def a_client(folder: Path) -> Client:
    return Client("http://127.0.0.1:9", transport=httpx2.MockTransport(lambda _: httpx2.Response(200, json={})))


MADE: dict[str, Make] = {
    "Library": a_library,
    "KnowledgeRetriever": lambda folder: KnowledgeRetriever(VectorRetriever(a_library(folder))),
    "KnowledgeRetriever of a folder": lambda folder: (
        a_library(folder).close(),
        KnowledgeRetriever.from_storage(folder, encoder={"kind": "none"}),
    )[1],
    "VectorRetriever": lambda folder: VectorRetriever(a_library(folder)),
    "KGRetriever": lambda folder: KGRetriever(a_library(folder)),
    "Client": a_client,
    "AgentClient": lambda folder: AgentClient(a_client(folder), "support"),
}


def asked(kind: type) -> list[str]:
    """Every public method and property, and what `with` calls."""
    return [
        name
        for name in dir(kind)
        if (not name.startswith("_") or name == "__enter__")
        and name not in ("close", "retrieve_fragments" if issubclass(kind, wenyuan.Library) else "")
        and (inspect.isfunction(found := inspect.getattr_static(kind, name)) or isinstance(found, property))
    ]


def ask(thing: Any, name: str) -> Any:
    """Ask it with arguments that are none: whether it is closed comes before what is asked."""
    if isinstance(inspect.getattr_static(type(thing), name), property):
        return getattr(thing, name)
    needed = [
        one
        for one in inspect.signature(getattr(thing, name)).parameters.values()
        if one.default is one.empty and one.kind in (one.POSITIONAL_OR_KEYWORD, one.KEYWORD_ONLY)
    ]
    first = [None for one in needed if one.kind is one.POSITIONAL_OR_KEYWORD]
    return getattr(thing, name)(*first, **{one.name: None for one in needed if one.kind is one.KEYWORD_ONLY})


@pytest.mark.parametrize("make", MADE.values(), ids=MADE)
def test_whatever_is_asked_of_what_was_closed_says_closed(tmp_path: Path, make: Make) -> None:
    """One error, of every public method and property; closing it again is no error."""
    thing = make(tmp_path / "library")
    thing.close()
    thing.close()
    names = asked(type(thing))
    assert len(names) >= 2
    for name in names:
        with pytest.raises(Closed, match="is closed"):
            ask(thing, name)


def test_the_contract_says_failed_for_a_closed_library(tmp_path: Path) -> None:
    """At once, and why: its one method never raises what is no fault of the request."""
    library = a_library(tmp_path / "library")
    library.close()
    answer = library.retrieve_fragments(wenyuan.RetrievalRequest(query="pay", max_results=1))
    assert (answer.status, answer.fragments) == ("FAILED", ()) and "is closed" in (answer.error_message or "")


def test_what_was_taken_from_a_library_says_closed_too(tmp_path: Path) -> None:
    """Its rules, its audit and its catalog open nothing anew behind its back."""
    (tmp_path / "a.md").write_text("# Pay\n\nPaid on the last day.\n", "utf-8")
    library = a_library(tmp_path / "library")
    library.add(Source(source_id="pay", path=str(tmp_path / "a.md")))
    rules, audit, catalog = library.rules, library.audit, library.catalog
    assert library.search("paid").hits
    library.close()
    taken: dict[str, Callable[[], Any]] = {
        "schema": rules.schema, "packs": rules.packs, "list": audit.list, "verify": audit.verify,
        "seq": catalog.seq, "sources": catalog.sources, "counts": catalog.counts,
        "set_value": lambda: catalog.set_value("a", 1), "remove": lambda: catalog.remove_source("pay"),
    }  # fmt: skip
    for call in taken.values():
        with pytest.raises(Closed, match="is closed"):
            call()


def test_an_engine_that_is_closed_leaves_the_library_of_others_open(tmp_path: Path) -> None:
    """Only what was opened here is closed here."""
    with a_library(tmp_path / "library") as library:
        with KnowledgeRetriever(VectorRetriever(library), KGRetriever(library)):
            pass
        assert library.sources() == ()
        with VectorRetriever(library) as engine:
            assert engine.get_collection_stats() == {}
        assert library.sources() == ()


def test_a_client_that_is_shared_outlives_an_agent(tmp_path: Path) -> None:
    """The agent is closed, the client is not."""
    client = a_client(tmp_path)
    AgentClient(client, "support").close()
    with pytest.raises(Exception) as told:  # the reply is none
        client.retrieve_fragments("a")
    assert not isinstance(told.value, Closed)
    client.close()
