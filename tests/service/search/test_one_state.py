"""A search over several domains is answered as of one state of the library, also while somebody writes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import wenyuan
from wenyuan.service.search.retriever import Retriever
from wenyuan.service.search.searcher import DomainScope, SearchRequest

DOMAINS = ("first", "second")


@pytest.fixture
def world(tmp_path: Path) -> Any:
    """A library with a document in each of two domains."""
    with wenyuan.open(
        tmp_path / "library", create=True, engine="memory", search={"floor": 0.0, "deadline": 20}
    ) as made:
        for name in DOMAINS:
            write(tmp_path, name, 1)
            made.add(wenyuan.Source(source_id=name, path=str(tmp_path / name), domain=name))
        yield made


def write(folder: Path, name: str, version: int) -> None:
    (folder / name).mkdir(exist_ok=True)
    (folder / name / "desk.md").write_text(f"# Desk\n\nThe complaint desk of {name}, version{version}.\n", "utf-8")


def versions(library: wenyuan.Library) -> tuple[list[str], float]:
    asked = SearchRequest(
        query="complaint desk", knowledge_scope=tuple(DomainScope(domain=name, top_k=5) for name in DOMAINS)
    )
    found = library.find(asked)
    return sorted(one.passage.text.rpartition("version")[2][:1] for one in found.passages), found.stale_by


@pytest.mark.parametrize("changes", [1, 100])
def test_both_domains_are_of_one_state(
    world: wenyuan.Library, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, changes: int
) -> None:
    """Both documents change after the first domain was asked: it is asked again. Where they change each time, the answer says that it
    is behind.
    """
    plain, done = Retriever.retrieve, [1]

    def retrieve(self: Retriever, *given: Any, **named: Any) -> Any:
        answer = plain(self, *given, **named)
        if done[0] <= changes:
            done[0] += 1
            for name in DOMAINS:
                write(tmp_path, name, done[0] % 10)
                world.ingest(name)
        return answer

    monkeypatch.setattr(Retriever, "retrieve", retrieve)
    found, stale_by = versions(world)
    assert len(found) == 2
    if changes == 1:
        assert (found, stale_by) == (["2", "2"], 0.0)
    else:
        assert stale_by > 0
