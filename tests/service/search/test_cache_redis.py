"""Answers kept in Redis: shared between processes, the same as fresh ones, and no failure of Redis is one of ours."""

from __future__ import annotations

import logging
import shutil
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import pytest
import redis

import wenyuan
from listening import free_port
from patience import in_time
from wenyuan.core.errors import ConfigError
from wenyuan.core.filters import And, In, Not, Or, Range
from wenyuan.service.search.answer_cache import AnswerCache
from wenyuan.service.search.cache_redis import RedisStore, open_redis, result_from_json, result_to_json
from wenyuan.service.search.searcher import SearchRequest

REQUEST = SearchRequest(
    query="客户投诉多久响应 complaint",
    filter=And(
        (In("language", ("zh", "en")), Not(In("metadata.draft", (True,))), Or((Range("metadata.n", 1, None),) * 2))
    ),
    as_of=date(2026, 6, 1),
)
PLAIN = SearchRequest(query="客户投诉多久响应 complaint")


class Server:
    """A real Redis (or Valkey) on a loopback port, without any file."""

    def __init__(self, binary: str) -> None:
        self.port = free_port()
        self.url = f"redis://127.0.0.1:{self.port}/0"
        self._binary = binary
        self.start()

    def start(self) -> None:
        command = [self._binary, "--port", str(self.port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"]
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for _ in range(200):
            with redis.Redis.from_url(self.url) as client:
                try:
                    client.ping()
                    return
                except redis.ConnectionError:
                    time.sleep(0.02)
        raise AssertionError("the server does not start")

    def stop(self) -> None:
        self.process.kill()
        self.process.wait()


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    binary = shutil.which("redis-server") or shutil.which("valkey-server")
    if binary is None:
        pytest.skip("no redis-server here: the contract with a real one was not checked")
    made = Server(binary)
    yield made
    made.stop()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A library with a few passages."""
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.md").write_text("---\nn: 3\n---\n# 投诉\n\n客户投诉 complaint 需在 24 小时内响应。\n")
    with opened(tmp_path, "") as library:
        library.add(wenyuan.Source(source_id="p", path=str(tmp_path / "docs"), trust=4))
    return tmp_path


def opened(folder: Path, url: str, **cache: Any) -> wenyuan.Library:
    return wenyuan.open(
        folder / "library", create=True, encoder={"kind": "hashing", "dimension": 64}, search={"floor": 0},
        cache={"url": url} | cache,
    )  # fmt: skip


def kept(url: str) -> list[bytes]:
    with redis.Redis.from_url(url) as client:
        return list(client.scan_iter("wenyuan:*"))


def store(url: str, **more: Any) -> RedisStore[str]:
    settings: dict[str, Any] = {
        "prefix": "t",
        "seconds": 60,
        "max_bytes": 100,
        "write": str.encode,
        "read": bytes.decode,
    }
    return RedisStore(open_redis(url), **settings | more)


def test_an_answer_as_json(folder: Path) -> None:
    """An answer with all that it is made of but the question's words is the same after it was written and read."""
    with opened(folder, "") as library:
        for request in (REQUEST, PLAIN):
            result = library.find(request)
            assert result.passages
            asked = tuple((replace(query, text=""), answer) for query, answer in result.answers)
            assert request.query.encode() not in result_to_json(result)
            result = replace(result, answers=asked)
            again = result_from_json(result_to_json(result))
            assert repr(again) == repr(result)
            assert replace(again, answers=()) == replace(result, answers=())
            assert again.answers[0][1].scope == result.answers[0][1].scope
            assert list(again.answers[0][1].hits) == list(result.answers[0][1].hits)


@pytest.mark.parametrize(
    "written",
    [b"", b"[]", b"{}", b'{"$":"Popen","args":"id"}', b'{"$":"Hit","passage_id":1,"score":2,"x":1}', b"\xff"],
)
def test_what_is_no_answer(written: bytes) -> None:
    """What was not written here is refused, and no class but ours is made of it."""
    with pytest.raises(ValueError, match="no kept answer"):
        result_from_json(written)


def test_two_processes_share(server: Server, folder: Path) -> None:
    """What one library object computed another one of the same library is given, until anything changes."""
    with opened(folder, server.url) as one, opened(folder, server.url) as two:
        fresh = one.find(PLAIN)
        assert not fresh.cache_hit
        shared = two.find(PLAIN)
        assert shared.cache_hit
        assert repr(shared.passages) == repr(fresh.passages)
        assert shared.audit_ids
        one.catalog.put_source(replace(one.catalog.source("p"), trust=3))
        again = two.find(PLAIN)
        assert not again.cache_hit
        assert again.passages[0].passage.trust == 3
    with opened(folder, server.url, seconds=60) as other:
        assert other.find(PLAIN).cache_hit


def test_libraries_are_apart(server: Server, folder: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    """A copy of a library, or other settings, are given nothing of it."""
    copy = tmp_path_factory.mktemp("copy")
    shutil.copytree(folder / "library", copy / "library")
    with opened(folder, server.url) as library:
        library.find(PLAIN)
        assert library.find(PLAIN).cache_hit
    with opened(copy, server.url) as library:
        assert not library.find(PLAIN).cache_hit
    for changed in ({"search": {"floor": 0, "vector_weight": 0.1}}, {"judge": {"required": True}}):
        chosen: dict[str, Any] = {"search": {"floor": 0}, **changed}
        other = wenyuan.open(
            folder / "library", encoder={"kind": "hashing", "dimension": 64}, cache={"url": server.url}, **chosen
        )
        with other as library:
            assert not library.find(PLAIN).cache_hit


def test_time_to_live(server: Server) -> None:
    """Redis lets go of a value by itself, and its age counts from when it was computed."""
    at = [1000.0]
    made = store(server.url, clock=lambda: at[0], prefix="ttl")
    made.put("k", "投诉")
    at[0] += 59.5
    assert made.get("k") == ("投诉", 59.5)
    at[0] += 0.5
    assert made.get("k") is None
    quick = store(server.url, seconds=0.05, prefix="quick")
    quick.put("k", "x")
    with redis.Redis.from_url(server.url) as client:
        name = quick._name("k")
        for _ in range(100):
            if not client.exists(name):
                break
            time.sleep(0.01)
        assert not client.exists(name)
    for opened_store in (made, quick):
        opened_store.close()


def test_keys_and_sizes(server: Server) -> None:
    """Keys and prefixes are apart, no key tells its question, and what is too large is not kept."""
    one, other = store(server.url), store(server.url, prefix="u")
    one.put(("客户投诉", 1), "one")
    assert one.get(("客户投诉", 1)) is not None
    assert one.get(("客户投诉", 2)) is other.get(("客户投诉", 1)) is None
    one.put("large", "x" * 101)
    assert one.get("large") is None
    assert all("投诉" not in name.decode() for name in kept(server.url))
    one.close()
    other.close()


def test_what_others_wrote(server: Server, folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A value that is none of ours is a miss that is logged, and is written over."""
    with opened(folder, server.url) as library:
        before = set(kept(server.url))
        library.find(PLAIN)
        [name] = set(kept(server.url)) - before
        with redis.Redis.from_url(server.url) as client:
            for wrong in (
                b"x",
                b'{"at": 1e9999}\n{}',
                b'{"at": 1}',
                b'{"at": 32503680000}\n{"$":"date","at":"2026-01-01"}',
            ):
                client.set(name, wrong)
                assert not library.find(PLAIN).cache_hit
                assert library.find(PLAIN).cache_hit
            client.delete(name)
            client.lpush(name, "of another type")
        assert library.find(PLAIN).passages
    assert "is no answer" in caplog.text


def test_a_redis_that_dies(server: Server, folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    """While Redis is down every answer is computed and right; that is said once, and afterwards it is used again."""
    caplog.set_level(logging.INFO, "wenyuan.service.search.cache_redis")
    with opened(folder, server.url) as library:
        right = library.find(PLAIN)
        server.stop()
        try:
            for _ in range(5):
                found = library.find(PLAIN)
                assert not found.cache_hit
                assert repr(found.passages) == repr(right.passages)
        finally:
            server.start()
        [warning] = [record for record in caplog.records if record.levelno == logging.WARNING]
        assert "does not answer" in warning.getMessage()
        library._searcher._cache._store._down_until = 0.0
        assert not library.find(PLAIN).cache_hit
        assert library.find(PLAIN).cache_hit
        assert "answers again" in caplog.text


def test_a_redis_that_hangs(folder: Path) -> None:
    """A server that takes connections and says nothing costs a fraction of a second, once."""
    with socket.socket() as mute:
        mute.bind(("127.0.0.1", 0))
        mute.listen(8)
        with opened(folder, f"redis://127.0.0.1:{mute.getsockname()[1]}/0") as library, in_time():
            assert all(library.find(PLAIN).passages for _ in range(3))


def test_one_computes_for_all(server: Server) -> None:
    """Of several who ask one process at once one looks and computes; all get its value."""
    cache = AnswerCache(store(server.url, prefix="flight"), keep=lambda *_: True)
    computed, gate = [], threading.Event()

    def compute() -> str:
        computed.append(1)
        assert gate.wait(60)
        return "v"

    found: list[str] = []
    threads = [threading.Thread(target=lambda: found.append(cache.get("k", compute).value)) for _ in range(8)]
    for thread in threads:
        thread.start()
    gate.set()
    for thread in threads:
        thread.join(60)
    assert (found, computed) == (["v"] * 8, [1])
    assert cache.get("k", compute).hit
    cache._store.close()


@pytest.mark.parametrize("url", ["http://localhost", "localhost:6379", "redis://h:port/0"])
def test_a_url_that_is_none(folder: Path, url: str) -> None:
    """A URL that cannot be used is refused when the library is opened, and is not repeated: it may hold a password."""
    with pytest.raises(ConfigError, match=r"cache\.url") as caught:
        opened(folder, url)
    assert url not in str(caught.value)


def test_off_needs_no_redis(folder: Path) -> None:
    """With a cache of 0 seconds a URL is not looked at."""
    with opened(folder, "redis://127.0.0.1:1/0", seconds=0) as library:
        assert not library.find(PLAIN).cache_hit
        assert library.find(PLAIN).passages
