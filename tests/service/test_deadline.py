"""One request has one deadline, however many domains and queries it has; what may hang takes no time from what must not."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import wenyuan
from wenyuan.core.access import Agent, DomainScope, Principal
from wenyuan.core.errors import EngineTimeout
from wenyuan.core.model import Source
from wenyuan.core.ports import Deadline
from wenyuan.service.context import ContextRequest
from wenyuan.service.search.searcher import SearchRequest

SECONDS = 2.0
BOUND = Principal(key_id="k", agent_id="all")
HANGING = ("d0", "d1", "d2", "d3")


@pytest.fixture
def silence() -> Iterator[str]:
    """The URL of a server that takes connections and says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"http://127.0.0.1:{server.getsockname()[1]}"


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Callable[..., wenyuan.Library]]:
    """Opens a library with two domains of its own, which an agent asks first and last, and some between them."""
    made: list[wenyuan.Library] = []

    def opening(between: tuple[Source, ...] = (), **settings: Any) -> wenyuan.Library:
        search = {"deadline": SECONDS, **settings.pop("search", {})}
        library = wenyuan.open(
            tmp_path / "library", create=True, engine="memory", encoder={"kind": "hashing"}, search=search,
            **{"cache": {"seconds": 0}, **settings},
        )  # fmt: skip
        made.append(library)
        for name in ("first", "last"):
            (tmp_path / name).mkdir()
            (tmp_path / name / "a.md").write_text(f"# 差旅 {name}\n\n差旅报销须在三十日内提交。\n", encoding="utf-8")
            library.add(Source(source_id=name, path=str(tmp_path / name), domain=name))
        for source in between:
            library.catalog.put_source(source)
        names = ("first", *(source.domain for source in between), "last")
        scope = tuple(DomainScope(domain=name, top_k=3) for name in names)
        library.catalog.put_agent(Agent(agent_id="all", knowledge_scope=scope))  # type: ignore[attr-defined]
        return library

    yield opening
    for library in made:
        library.close()


def outside(url: str, *, required: bool = False) -> tuple[Source, ...]:
    settings = {"url": url, "required": required, "allow_private": True}
    return tuple(Source(source_id=f"api-{d}", type="api", domain=d, settings=settings) for d in HANGING)


def ask(library: wenyuan.Library, queries: int) -> tuple[set[str], set[str]]:
    """The domains that gave something, and the legs that failed, for that many queries."""
    if queries == 1:
        found = library.find(SearchRequest(query="差旅报销"), BOUND)
        return {one.domain for one in found.passages}, set(found.degraded)
    extra = tuple(f"差旅报销 第{number}问" for number in range(1, queries))
    context = library.get_context(ContextRequest(retrieval_query="差旅报销", extra_queries=extra), BOUND)
    assert all({one.domain for one in result.passages} == {"first", "last"} for result in context.results)
    return {one.source.partition("#")[0] for one in context.build.snippets}, set(context.degraded)


@pytest.mark.parametrize("queries", [1, 3])
@pytest.mark.parametrize("threads", [2, 16])
def test_optional_sources_that_hang_cost_one_deadline(
    opened: Callable[..., wenyuan.Library], silence: str, queries: int, threads: int
) -> None:
    """All are reported, and the library's own domains answer: with fewer threads than there are sources that hang, too."""
    library = opened(outside(silence), search={"threads": threads})
    begun = time.monotonic()
    domains, failed = ask(library, queries)
    assert time.monotonic() - begun < SECONDS * 1.9
    assert (domains, failed) == ({"first", "last"}, {f"source api-{d}" for d in HANGING})


@pytest.mark.parametrize("queries", [1, 3])
def test_a_required_source_that_hangs_fails_at_the_deadline(
    opened: Callable[..., wenyuan.Library], silence: str, queries: int
) -> None:
    """There is no smaller answer, and the failure is recorded once."""
    library = opened(outside(silence, required=True))
    begun = time.monotonic()
    with pytest.raises(EngineTimeout, match="source api-d0"):
        ask(library, queries)
    assert time.monotonic() - begun < SECONDS * 1.9
    assert [one.record["status"] for one in library.audit.list(kind="retrieval")] == ["FAILED"]


@pytest.mark.parametrize("queries", [1, 3])
def test_a_reranker_that_hangs_costs_no_domain_its_answer(
    opened: Callable[..., wenyuan.Library], silence: str, queries: int
) -> None:
    """An optional one is reported, for every domain within the same deadline."""
    reranker = {"kind": "http", "url": silence, "model": "m", "timeout": 60, "required": False}
    library = opened(reranker=reranker)
    begun = time.monotonic()
    domains, failed = ask(library, queries)
    assert time.monotonic() - begun < SECONDS * 1.9
    assert (domains, failed) == ({"first", "last"}, {"reranker"})


def test_whoever_has_time_left_asks_again(
    opened: Callable[..., wenyuan.Library], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who joins a request that has little time left fails at no deadline but its own."""
    library: Any = opened(cache={"seconds": 60})
    real, begun = library.engine.keyword, threading.Event()

    def slow(*args: Any, **more: Any) -> Any:
        begun.set()
        time.sleep(SECONDS * 0.3)
        return real(*args, **more)

    monkeypatch.setattr(library.engine, "keyword", slow)
    question, searcher = SearchRequest(query="差旅报销"), library._searcher
    short = Deadline(time.monotonic() + SECONDS * 0.2, time.monotonic)
    with ThreadPoolExecutor(1) as pool:
        hurried = pool.submit(searcher.search, question, BOUND, short)
        assert begun.wait(SECONDS)
        assert {one.domain for one in library.find(question, BOUND).passages} == {"first", "last"}
        with pytest.raises(EngineTimeout):
            hurried.result()


def test_a_slow_index_is_slow_for_the_whole_request(
    opened: Callable[..., wenyuan.Library], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What our own index takes for one query counts for the next: the request fails at its deadline."""
    library = opened()
    real = library.engine.keyword

    def slow(*args: Any, **more: Any) -> Any:
        time.sleep(SECONDS * 0.4)
        return real(*args, **more)

    monkeypatch.setattr(library.engine, "keyword", slow)
    assert ask(library, 1)[0] == {"first", "last"}
    begun = time.monotonic()
    with pytest.raises(EngineTimeout):
        ask(library, 3)
    assert time.monotonic() - begun < SECONDS * 1.9
