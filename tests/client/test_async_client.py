"""The client that is awaited: the same calls as the other one, made of it, and the same answers and refusals."""

from __future__ import annotations

import asyncio
import inspect
import json
import re
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from doors import broken, foreign_library, served
from patience import HANGS
from wenyuan import AsyncClient, Client, InvalidRequest, NotPermitted, RetrievalFailed
from wenyuan.client import AgentClient, AsyncAgentClient, async_client
from wenyuan.core.errors import Closed, ConfigError

HOME = Path(__file__).resolve().parents[2]
QUERY = "customer complaint 客户投诉"
PAIRS = [(Client, AsyncClient), (AgentClient, AsyncAgentClient)]


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with foreign_library(tmp_path_factory.mktemp("awaited")) as found:
        yield found


@pytest.fixture(scope="module")
def url(library: Any) -> Iterator[str]:
    with served(library) as address:
        yield address


def asked(url: str, call: Callable[[AsyncClient], Awaitable[Any]], **options: Any) -> Any:
    async def run() -> Any:
        async with AsyncClient(url, **options) as client:
            return await call(client)

    return asyncio.run(run())


def public(cls: type) -> dict[str, inspect.Signature]:
    return {
        name: inspect.signature(one)
        for name, one in inspect.getmembers(cls, inspect.isfunction)
        if not name.startswith("_")
    }


@pytest.mark.parametrize(("one", "other"), PAIRS)
def test_it_has_the_same_calls(one: type, other: type) -> None:
    """By name, with the same arguments and results; one that gives such a client gives its like."""
    assert {name: str(found).replace("Async", "") for name, found in public(one).items()} == {
        name: str(found).replace("Async", "") for name, found in public(other).items()
    }


def test_what_is_written_is_what_the_source_makes() -> None:
    """Whoever changes the one client makes the other anew."""
    script = HOME / "scripts" / "make_async_client.py"
    done = subprocess.run([sys.executable, str(script), "--check"], check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_it_gives_what_the_other_gives(url: str) -> None:
    """Fragments, passages, snippets, documents, verdicts; several at once."""

    async def together(client: AsyncClient) -> Any:
        return await asyncio.gather(
            client.retrieve_fragments(QUERY, domain="law"), client.search(QUERY), client.get_context(QUERY),
            client.documents(), client.verify("Complaints are answered. [1]", citations={"1": "policy#1"}),
        )  # fmt: skip

    fragments, passages, knowledge, documents, verdicts = asked(url, together)
    with Client(url) as client:
        alike = client.retrieve_fragments(QUERY, domain="law")
        assert [(f.source, f.retrieval_score) for f in fragments] == [(f.source, f.retrieval_score) for f in alike]
        assert {one["source"] for one in passages.passages} == {
            one["source"] for one in client.search(QUERY).passages
        }
        assert knowledge.context_data == client.get_context(QUERY).context_data
        assert documents == client.documents()
        assert len(verdicts["claims"]) == 1


def test_an_agent_asks(url: str) -> None:
    """Its snippets are those of its own domains."""

    async def run() -> Any:
        async with AsyncAgentClient(url, "support") as agent:
            return await agent.get_context(QUERY)

    with AgentClient(url, "support") as agent:
        assert asyncio.run(run()).context_data == agent.get_context(QUERY).context_data


def test_a_failure_is_raised(library: Any, url: str) -> None:
    """FAILED, a refusal, nobody there: as the other client says them."""
    with broken(library), pytest.raises(RetrievalFailed, match="the index is gone"):
        asked(url, lambda client: client.retrieve_fragments(QUERY))
    with pytest.raises(InvalidRequest, match="there is no domain"):
        asked(url, lambda client: client.retrieve_fragments(QUERY, domain="nowhere"))
    with pytest.raises(InvalidRequest, match="max_results"):
        asked(url, lambda client: client.retrieve_fragments(QUERY, max_results="3"))  # type: ignore[arg-type]
    with pytest.raises(RetrievalFailed, match="no answer"):
        asked("http://127.0.0.1:9", lambda client: client.retrieve_fragments(QUERY), retries=0)
    with served(library, needs_keys=True) as guarded, pytest.raises(NotPermitted):
        asked(guarded, lambda client: client.retrieve_fragments(QUERY))
    with pytest.raises(ConfigError):
        AsyncClient("ftp://x")


class Slow(httpx2.AsyncByteStream):
    """A body that comes byte by byte, and never ends."""

    async def __aiter__(self) -> Any:
        while True:
            await asyncio.sleep(0.01)
            yield b" "


def test_a_reply_that_trickles_in_is_cut_off() -> None:
    """At the deadline of the call, whatever still comes."""
    transport = httpx2.MockTransport(lambda _: httpx2.Response(200, stream=Slow()))
    began = time.monotonic()
    with pytest.raises(RetrievalFailed, match=r"no whole answer within 0\.2 s"):
        asked("http://slow", lambda client: client.retrieve_fragments(QUERY), transport=transport, timeout=0.2)
    assert time.monotonic() - began < HANGS


def test_a_busy_service_is_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """As often as is allowed, and after what it asked for."""
    waited: list[float] = []

    async def wait(seconds: float) -> None:
        waited.append(seconds)

    answers = [httpx2.Response(503, headers={"Retry-After": "2"}), httpx2.Response(429)]
    empty = json.dumps({"status": "SUCCESS", "fragments": []}).encode()
    transport = httpx2.MockTransport(lambda _: answers.pop(0) if answers else httpx2.Response(200, content=empty))
    monkeypatch.setattr(async_client, "sleep", wait)
    assert asked("http://busy", lambda client: client.retrieve_fragments(QUERY), transport=transport) == ()
    assert waited[0] == 2.0 and len(waited) == 2


def test_a_task_that_is_cancelled_ends() -> None:
    """Its cancellation is no failure of the service."""

    async def run() -> None:
        transport = httpx2.MockTransport(lambda _: httpx2.Response(200, stream=Slow()))
        async with AsyncClient("http://slow", transport=transport) as client:
            task = asyncio.create_task(client.retrieve_fragments(QUERY))
            await asyncio.sleep(0.05)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

    asyncio.run(run())


def test_closed_it_answers_nothing(url: str) -> None:
    """And says so; it may be closed twice."""

    async def run() -> None:
        client = AsyncClient(url)
        await client.close()
        await client.close()
        with pytest.raises(Closed):
            await client.retrieve_fragments(QUERY)

    asyncio.run(run())


def test_no_call_is_forgotten_in_its_own_source() -> None:
    """Whatever waits is awaited: no coroutine is dropped."""
    text = (HOME / "src" / "wenyuan" / "client" / "async_client.py").read_text(encoding="utf-8")
    assert not re.search(
        r"(?<!await )self\._(call|send|fetch|ask|reply|exchange)\(", re.sub(r"async def .*", "", text)
    )
