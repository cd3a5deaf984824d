"""Libraries that name one another as sources: a question that comes round is refused, and the circle is named."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import wenyuan
from http_door import JSON, assert_problem, call
from wenyuan.core.model import RetrievalRequest
from wenyuan.engines.external.question_path import JOURNEY, MOST_HOPS, VIA, arrived
from wenyuan.server.app import create_app
from wenyuan.server.running import start_in_thread
from wenyuan.service.search.leg_execution import LegExecutor
from wenyuan.settings import ServerSettings

BODY = {"query": "客户投诉 complaint deadline", "max_results": 3}


class House:
    """A library of one document behind a server that counts what it is asked."""

    def __init__(self, folder: Path, **settings: Any) -> None:
        self.library: Any = wenyuan.open(folder / "library", create=True, encoder={"kind": "hashing"})
        (folder / "docs").mkdir()
        (folder / "docs" / "a.md").write_text("# 投诉\n\n客户投诉 complaint deadline 须在三天内答复。\n")
        self.library.add(wenyuan.Source(source_id="docs", path=str(folder / "docs")))
        self.asked = 0
        answer = self.library.retrieve_fragments

        def counted(*args: Any) -> Any:
            self.asked += 1
            return answer(*args)

        self.library.retrieve_fragments = counted
        self.id = self.library.catalog.library_id()
        self.url, self.stop = start_in_thread(create_app(self.library, settings=ServerSettings(**settings)), grace=1)

    def names(self, other: House, **more: Any) -> None:
        settings = {"url": other.url, "allow_private": True, **more}
        source = wenyuan.Source(source_id=f"to_{other.id[:4]}", type="api", settings=settings)
        self.library.catalog.put_source(source)

    def answer(self, **headers: str) -> Any:
        return call(self.url, body=BODY, headers={**JSON, **headers})


@contextlib.contextmanager
def houses(folder: Path, number: int, **settings: Any) -> Iterator[list[House]]:
    made: list[House] = []
    try:
        for n in range(number):
            (folder / str(n)).mkdir()
            made.append(House(folder / str(n), **settings))
        yield made
    finally:
        for house in made:
            house.stop()
            house.library.close()


@pytest.mark.parametrize("failed_http_status", [200, 503])
def test_two_that_name_each_other(tmp_path: Path, failed_http_status: int) -> None:
    """The answer is a FAILED that names the circle, after each library was asked no more than once."""
    with houses(tmp_path, 2, failed_http_status=failed_http_status) as (a, b):
        a.names(b)
        b.names(a)
        answer = a.answer()
        assert (answer.status, answer.json["status"], answer.json["fragments"]) == (failed_http_status, "FAILED", [])
        circle = f"{a.id} → {b.id} → {a.id}"
        assert f"in a circle: {circle}" in answer.json["error_message"]
        assert answer.headers[VIA] == circle.replace(" → ", ",")
        assert (a.asked, b.asked) == (1, 1)
        assert [r.record["status"] for r in a.library.audit.list(kind="retrieval")] == ["FAILED"]


def test_a_library_that_names_itself(tmp_path: Path) -> None:
    """It is asked once, and says that the circle is its own."""
    with houses(tmp_path, 1) as (a,):
        a.names(a)
        assert f"{a.id} → {a.id}" in a.answer().json["error_message"]
        assert a.asked == 1


def test_without_the_source_that_may_fail_there_is_an_answer(tmp_path: Path) -> None:
    """Where the way back is not required, the circle is cut there, and said to be."""
    with houses(tmp_path, 2) as (a, b):
        a.names(b)
        b.names(a, required=False)
        answer = a.answer()
        assert answer.json["status"] == "SUCCESS"
        told = [f["metadata"] for f in answer.json["fragments"]]
        named = {m["source_id"] for m in told} | {c["source_id"] for m in told for c in m.get("also_in", ())}
        assert named == {"docs", f"to_{b.id[:4]}"}
        assert VIA not in answer.headers
        assert (a.asked, b.asked) == (1, 1)


def test_a_chain_that_is_too_long(tmp_path: Path) -> None:
    """A question passes four libraries; the fifth that would have to ask further makes all of them fail."""
    with houses(tmp_path, MOST_HOPS + 2) as chain:
        for one, other in pairwise(chain[:-1]):
            one.names(other)
        assert chain[0].answer().json["status"] == "SUCCESS"
        chain[-2].names(chain[-1])
        answer = chain[0].answer()
        assert answer.json["status"] == "FAILED"
        assert f"passed {MOST_HOPS} libraries" in answer.json["error_message"]
        assert chain[-1].asked == 0


@pytest.mark.parametrize(("path", "body"), [
    ("/v1/retrieve_fragments", BODY), ("/v1/search", {"query": "投诉"}), ("/v1/context", {"retrieval_query": "投诉"}),
])  # fmt: skip
def test_every_question_is_looked_at(tmp_path: Path, path: str, body: Any) -> None:
    """One that has passed here, or too many, is not executed; a header that is none is a malformed request."""
    with houses(tmp_path, 1) as (a,):
        for way in (f"x,{a.id}", "a,b,c,d,e"):
            answer = call(a.url, "POST", path, body, {**JSON, VIA: way})
            assert answer.json["status"] == "FAILED"
            assert way.replace(",", " → ") in answer.json["error_message"]
        assert call(a.url, "POST", path, body, {**JSON, VIA: "a,b,c,d"}).json["status"] == "SUCCESS"
        assert_problem(call(a.url, "POST", path, body, {**JSON, VIA: "a b"}), 400, "invalid_request")


def test_a_leg_knows_of_the_question_it_works_for() -> None:
    """What a door sets for its own thread reaches the legs, and what a leg learns reaches the door."""
    executor = LegExecutor(1)
    try:
        for way in ("a", "b"):
            JOURNEY.set(journey := arrived("me", way))
            leg = executor.begin(JOURNEY.get)
            assert leg.result(5) is journey
    finally:
        executor.close()
        JOURNEY.set(None)


def test_a_library_asks_others_when_no_server_is_there(tmp_path: Path) -> None:
    """Asked from Python, a library sends its own id alone."""
    with houses(tmp_path, 2) as (a, b):
        a.names(b)
        response = a.library.retrieve_fragments(RetrievalRequest(query="投诉", max_results=3))
        assert response.status == "SUCCESS"
