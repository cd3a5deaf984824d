"""Comparing in a thread of its own; whose conflicts are whose; and what readers of contexts and fragments are told."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import wenyuan
from wenyuan.core.access import Agent, DomainScope, Principal
from wenyuan.core.errors import KnowledgeError, NotFound
from wenyuan.core.model import RetrievalRequest, Source
from wenyuan.service.conflicts.task import ComparisonTask
from wenyuan.service.context import ContextRequest
from wenyuan.wire.contract import response_from_wire, response_to_wire

POLICY = "# 客户服务\n\n## 投诉\n\n客户投诉应当在 24 小时内回复客户并登记。\n"
QUESTIONS = POLICY.replace("24", "48")
OWNER = frozenset({"retrieve", "search", "ingest", "registry"})


def made(folder: Path, **search: Any) -> Any:
    """A library of two sources that contradict one another, the second of which is trusted less."""
    library = wenyuan.create(folder / "library", encoder={"kind": "hashing"}, search=search)
    for name, text, trust, owner in (("policy", POLICY, 5, "li"), ("faq", QUESTIONS, 2, "wu")):
        (folder / name).mkdir()
        (folder / name / f"{name}.md").write_text(text, "utf-8")
        library.add(Source(source_id=name, path=str(folder / name), trust=trust, owner=owner, domain="service"))
    return library


@pytest.fixture
def house(tmp_path: Path) -> Iterator[Any]:
    with made(tmp_path) as library:
        yield library


def test_who_waits_gets_the_end_and_who_does_not_sees_how_far_it_is(house: Any) -> None:
    """A second one is not begun meanwhile; the end says what was found."""
    begun, go = threading.Event(), threading.Event()

    class Slow:
        def find(self, *, anew: bool, progress: Any) -> Any:
            begun.set()
            progress(1, 2)
            go.wait(60)
            return house.conflicts.find(anew=anew, progress=progress)

    task = ComparisonTask(Slow())  # type: ignore[arg-type]
    task.compare(anew=True)
    begun.wait(60)
    state = task.compare()
    while not state.passages:
        state = task.state
    assert (state.running, state.passages, state.total) == (True, 1, 2)
    go.set()
    ended = task.compare(wait=60)
    assert (ended.running, ended.passages, ended.conflicts, ended.failure) == (False, 2, 1, "")


def test_a_failure_is_raised_to_who_waits_and_told_later(house: Any) -> None:
    """It is never taken for an end."""

    class Broken:
        def find(self, **_: Any) -> Any:
            raise KnowledgeError("the disk is gone")

    task = ComparisonTask(Broken())  # type: ignore[arg-type]
    with pytest.raises(KnowledgeError, match="disk"):
        task.compare(wait=60)
    assert (task.state.running, task.state.failure) == (False, "the disk is gone")


def test_closing_ends_a_comparison() -> None:
    """After the passages that it is at, and the state says so."""

    class Endless:
        def find(self, *, anew: bool, progress: Any) -> Any:
            while True:
                progress(1, 2)

    task = ComparisonTask(Endless())  # type: ignore[arg-type]
    task.compare()
    task.stop()
    assert (task.state.running, task.state.failure) == (False, "the library was closed")


def test_an_owner_sees_the_conflicts_of_his_sources(house: Any) -> None:
    """One statement of his is enough; whoever owns none of both finds nothing, and decides nothing."""
    house.conflicts.find()
    (one,) = house.conflicts.listed()
    for user, count in (("user:li", 1), ("user:wu", 1), ("user:no", 0)):
        principal = Principal(key_id="k", rights=OWNER, user=user)
        assert len(house.conflicts.listed(principal=principal)) == count
    with pytest.raises(NotFound):
        house.conflicts.decide(
            one.conflict_id, "first", principal=Principal(key_id="k", rights=OWNER, user="user:no")
        )
    assert len(house.conflicts.listed(principal=Principal(key_id="k", rights=OWNER))) == 1


def test_a_snippet_that_is_in_dispute_is_marked(house: Any) -> None:
    """The one that does not hold; the one that does is not."""
    house.conflicts.find()
    house.catalog.put_agent(
        Agent(agent_id="desk", allow_low_trust=True, knowledge_scope=(DomainScope(domain="service", top_k=5),))
    )
    told = house.get_context(ContextRequest(agent_id="desk", retrieval_query="客户投诉多久回复"))
    flags = {one.source.partition("#")[0]: "disputed" in one.flags for one in told.build.snippets}
    assert flags == {"policy": False, "faq": True}


def test_where_all_that_was_found_is_withheld_the_reason_is_given(tmp_path: Path) -> None:
    """Over the wire and back; an answer with fragments, and an empty one for another reason, have none."""
    with made(tmp_path, withhold_disputed=True) as library:
        library.conflicts.find()
        asked = {"query": "客户投诉多久回复", "max_results": 5}
        given = library.retrieve_fragments(RetrievalRequest(**asked))
        assert given.fragments and given.reason is None
        left = library.retrieve_fragments(RetrievalRequest(query="客户投诉应当在 48 小时内回复客户", max_results=1))
        assert left.status == "SUCCESS" and not left.fragments and "withhold_disputed" in left.reason
        assert response_from_wire(response_to_wire(left)) == left
