"""What the engine on OpenSearch refuses, and what it does when the cluster, its operators or its credentials misbehave."""

from __future__ import annotations

import http.server
import json
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import opensearch_cluster
import wenyuan
from engine_laws import SPEC, TEXTS, World, document, same, unit
from listening import listening
from opensearch_cluster import called
from opensearch_engine import opened
from opensearch_proxy import certified, passing
from patience import in_time
from server_engine_laws import ServerEngineRefusals, six
from wenyuan.core.errors import ConfigError, EngineError, EngineUnavailable, IndexCorrupt, IndexMismatch
from wenyuan.core.model import Source
from wenyuan.core.ports import IndexSpec
from wenyuan.engines.opensearch.engine import OpenSearchEngine
from wenyuan.engines.opensearch.indices import IndexNames, IndexShape
from wenyuan.engines.opensearch.sessions import ClusterAddress
from wenyuan.runtime.installation import install_command

ID = "n" * 32


def never(**_: Any) -> AbstractContextManager[None]:
    return _nothing()


@contextmanager
def _nothing() -> Iterator[None]:
    yield


def made_at(
    urls: Sequence[str], *, prefix: str = opensearch_cluster.PREFIX, spec: IndexSpec = SPEC, **place: Any
) -> OpenSearchEngine:
    address = ClusterAddress(urls=urls, **place)
    shape = IndexShape(shards=1, replicas=1)
    return OpenSearchEngine(address, spec, library_id=ID, exclusive=never, prefix=prefix, shape=shape)


def refused(urls: Sequence[str], kind: type[EngineError] | type[ConfigError], **more: Any) -> Any:
    with pytest.raises(kind) as caught:
        made_at(urls, **more)
    return caught.value


@pytest.fixture
def world(tmp_path: Path, made: Sequence[str]) -> Iterator[World]:
    with six(tmp_path, lambda _, catalog: opened(made, catalog, place={"calls": 4})) as ready:
        yield ready


class TestOpenSearchEngineRefusals(ServerEngineRefusals):
    """Those of engines on servers."""

    busy = (4, "calls", "opensearch.calls")


# At the start.


@pytest.mark.parametrize(
    "url", ["./x", "cluster:9200", "tcp://h:1", "file:///etc/passwd", "http://", "http://h:x", "http://h?a=b"]
)
def test_no_address(url: str) -> None:
    """An address that is none is named by its setting."""
    assert "opensearch.urls has what is no address" in str(refused(["http://127.0.0.1:1", url], ConfigError))


def test_no_addresses(tmp_path: Path) -> None:
    """The engine without an address is a wrong setting."""
    refused([], ConfigError)
    with pytest.raises(ConfigError, match=r"opensearch\.urls is not set"):
        wenyuan.open(tmp_path, create=True, engine="opensearch", encoder={"kind": "hashing"})


def test_a_password_in_an_address() -> None:
    """It would be shown with the address: it belongs into its setting, and the message does not show it."""
    error = refused(["https://wenyuan:secret-0815@127.0.0.1:1"], ConfigError)
    assert "opensearch.password" in error.hint
    assert "0815" not in f"{error} {error.hint}"


def test_certificates_that_are_none(tmp_path: Path) -> None:
    """A file without certificates, and none at all, are named by the setting."""
    (tmp_path / "empty.pem").write_text("nothing", "ascii")
    for name in ("empty.pem", "missing.pem"):
        assert "opensearch.ca" in str(refused(["https://127.0.0.1:1"], ConfigError, ca=str(tmp_path / name)))


def test_driver_that_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the driver, the message says which extra brings it."""
    monkeypatch.setitem(sys.modules, "opensearchpy", None)
    monkeypatch.delitem(sys.modules, "wenyuan.engines.opensearch.bounded_http", raising=False)
    assert refused(["http://127.0.0.1:1"], ConfigError).hint == install_command("opensearch")


def test_nobody_there() -> None:
    """Ports where nobody listens end in time."""
    with in_time():
        assert "cannot be reached" in str(refused(["http://127.0.0.1:1", "http://127.0.0.1:2"], EngineError))


@pytest.mark.parametrize(
    ("version", "words"),
    [
        (
            {"number": "2.15.0", "distribution": "opensearch"},
            "the server is OpenSearch 2.15.0; at least 2.16 is needed",
        ),
        ({"number": "1.3.20", "distribution": "opensearch"}, "at least 2.16 is needed"),
        ({"number": "8.15.1"}, "is no OpenSearch"),
        ({"number": "?", "distribution": "opensearch"}, "is no OpenSearch"),
    ],
)
def test_another_cluster(made: Sequence[str], version: dict[str, str], words: str) -> None:
    """A cluster that is too old, or is none, is refused with what it says, and nothing is made there."""
    with passing(made) as (proxy, url):
        proxy.change = lambda _, path, reply: (
            (200, json.dumps({"version": version}).encode()) if path == "/" else reply
        )
        assert words in str(refused([url], ConfigError))
    assert called(made[0], "GET", f"/{opensearch_cluster.PREFIX}*") == {}


def test_newer_cluster(made: Sequence[str]) -> None:
    """A newer one is taken."""
    with passing(made) as (proxy, url):
        proxy.change = lambda _, path, reply: (200, reply[1].replace(b"2.19.1", b"3.4.0")) if path == "/" else reply
        engine = made_at([url])
        assert engine.status().passages == 0
        engine.close()


def test_an_index_of_something_else(made: Sequence[str]) -> None:
    """An index of the name that is not this library's is left alone, and named."""
    names = IndexNames.of(opensearch_cluster.PREFIX, ID, SPEC)
    called(made[0], "PUT", f"/{names.marks}", {"mappings": {"properties": {"a": {"type": "long"}}}})
    error = refused(made, IndexMismatch)
    assert names.marks in str(error)
    assert "opensearch.prefix" in error.hint
    assert list(called(made[0], "GET", f"/{names.base}*")) == [names.marks]


def test_an_index_of_another_library(made: Sequence[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Indices that say that they are another library's are not used."""
    own = IndexNames.of(opensearch_cluster.PREFIX, ID, SPEC)
    monkeypatch.setattr(IndexNames, "of", lambda *_: replace(own, library="somebody else's"))
    made_at(made).close()
    monkeypatch.setattr(IndexNames, "of", lambda *_: own)
    assert "is not this library's index" in str(refused(made, IndexMismatch))


@pytest.mark.parametrize("which", ["marks", "passages", "words"])
def test_fields_that_somebody_has_changed(made: Sequence[str], which: str) -> None:
    """An index that has other fields than it was made with is refused, and named."""
    engine = made_at(made)
    names, mark = engine._names, engine._mark
    engine.close()
    name = names.marks if which == "marks" else getattr(names, which)(mark)
    called(made[0], "PUT", f"/{name}/_mapping", {"properties": {"more": {"type": "keyword"}}})
    error = refused(made, IndexMismatch)
    assert "was changed by hand" in str(error)
    assert name in str(error)


def test_vectors_too_long(made: Sequence[str]) -> None:
    """More dimensions than OpenSearch takes are refused at the start."""
    assert SPEC.encoder is not None
    spec = replace(SPEC, encoder=replace(SPEC.encoder, dimension=16_001))
    assert "OpenSearch takes 16000" in str(refused(made, ConfigError, spec=spec))


def test_without_an_encoder(tmp_path: Path, made: Sequence[str]) -> None:
    """An index without vectors answers to words, and refuses vectors."""
    spec = replace(SPEC, encoder=None)
    place, prefix = ClusterAddress(urls=made), opensearch_cluster.PREFIX
    world = World(
        tmp_path,
        lambda _, c: OpenSearchEngine(place, spec, library_id=c.library_id(), exclusive=c.writing, prefix=prefix),
    )
    world.put(*(document(n) for n in range(6)))
    world.sync()
    same(world.keyword("连接池"), world.keyword("连接池", engine=world.reference))
    with pytest.raises(EngineError, match="without an encoder"):
        world.vector(unit(1))
    assert world.engine.status().vectors == 0
    world.close()


# While it runs.


@pytest.mark.parametrize("which", ["passages", "words", "marks", "all"])
def test_an_index_that_somebody_has_deleted(world: World, made: Sequence[str], which: str) -> None:
    """Questions are FAILED, never empty; the next sync builds it again, and answers are as before."""
    engine: Any = world.engine
    names, mark = engine._names, engine._mark
    chosen = {"passages": names.passages(mark), "words": names.words(mark), "marks": names.marks}
    for name in chosen.values() if which == "all" else [chosen[which]]:
        called(made[0], "DELETE", f"/{name}")
    with pytest.raises(IndexCorrupt, match="an index of it is gone"):
        world.keyword("连接池")
    world.sync()
    same(world.keyword("连接池"), world.keyword("连接池", engine=world.reference))
    same(world.vector(unit(2)), world.vector(unit(2), engine=world.reference))
    assert world.engine.status().passages == 6
    assert len(called(made[0], "GET", f"/{names.base}*")) == 3  # nothing is left of those before


def test_an_index_that_is_deleted_while_it_is_written_to(world: World, made: Sequence[str]) -> None:
    """No write makes it anew with fields of the cluster's own invention."""
    engine: Any = world.engine
    world.put(document(50))
    called(made[0], "DELETE", f"/{engine._names.passages(engine._mark)}")
    with pytest.raises(IndexCorrupt, match="an index of it is gone"):
        world.engine.sync(world.catalog, deadline=world.deadline())
    assert engine._names.passages(engine._mark) not in called(made[0], "GET", f"/{engine._names.base}*")
    world.sync()
    same(world.keyword("连接池"), world.keyword("连接池", engine=world.reference))


def test_writes_that_are_shut(world: World, made: Sequence[str]) -> None:
    """What a cluster does whose disks are full: the change waits and is said, questions go on, and then it is taken in."""
    index = f"/{opensearch_cluster.PREFIX}*/_settings"
    world.put(document(51, text="满盘 diskfull"))
    called(made[0], "PUT", index, {"index.blocks.read_only_allow_delete": True})
    with pytest.raises(EngineUnavailable, match="disks may be full"):
        world.engine.sync(world.catalog, deadline=world.deadline())
    assert len(world.keyword("连接池"))
    called(made[0], "PUT", index, {"index.blocks.read_only_allow_delete": None})
    world.sync()
    same(world.keyword("diskfull 连接池"), world.keyword("diskfull 连接池", engine=world.reference))


@pytest.mark.parametrize("lie", [
    {"timed_out": True}, {"_shards": {"total": 4, "successful": 3, "failed": 0, "skipped": 0}},
    {"_shards": {"total": 4, "successful": 4, "failed": 1, "skipped": 0}},
])  # fmt: skip
def test_a_part_that_did_not_answer(tmp_path: Path, made: Sequence[str], lie: dict[str, Any]) -> None:
    """A reply that is not of all parts is FAILED, whatever hits came with it."""
    with passing(made) as (proxy, url), six(tmp_path, lambda _, catalog: opened([url], catalog)) as world:
        proxy.change = lambda _, path, reply: (
            (200, json.dumps({**json.loads(reply[1]), **lie}).encode()) if "/_search" in path else reply
        )
        for ask in (lambda: world.keyword("连接池"), lambda: world.vector(unit(1))):
            with pytest.raises(EngineError, match="part"):
                ask()


def test_a_cluster_that_has_too_much_to_do(tmp_path: Path, made: Sequence[str]) -> None:
    """What it turns away is sent again, that alone; all of it is there in the end."""
    turned, sent = [], []

    def busy(_: str, path: str, reply: tuple[int, bytes]) -> tuple[int, bytes]:
        if "/_bulk" not in path:
            return reply
        told = json.loads(reply[1])
        sent.append(len(told["items"]))
        if len(turned) >= 6:
            return reply
        turned.append(path)
        if len(turned) % 2:
            return 429, b'{"error":{"type":"rejected_execution_exception"},"status":429}'
        for item in told["items"][1:]:
            item["index"] = {"status": 429, "error": {"type": "rejected_execution_exception"}}
        return 200, json.dumps({**told, "errors": len(told["items"]) > 1}).encode()

    with passing(made) as (proxy, url):
        proxy.change = busy
        with six(tmp_path, lambda _, catalog: opened([url], catalog)) as world:
            assert len(turned) == 6
            assert min(sent) < max(sent)
            assert world.engine.status().passages == 6
            same(world.keyword("连接池"), world.keyword("连接池", engine=world.reference))


def test_a_reply_that_has_no_end() -> None:
    """It is cut off at its bound and FAILED."""
    given = []

    class Endless(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.end_headers()
            while True:
                self.wfile.write(b" " * 1_000_000)
                given.append(1)

        def log_message(self, format: str, *args: Any) -> None:
            """Nothing."""

    with listening(http.server.ThreadingHTTPServer(("127.0.0.1", 0), Endless)) as url:
        assert "a reply is longer than it may be" in str(refused([url], EngineUnavailable))
    assert 130 < len(given) < 160


def test_tls(tmp_path: Path, made: Sequence[str]) -> None:
    """A certificate that is trusted and names the address is taken; one that does either not is FAILED by name."""
    for name in ("IP:127.0.0.1", "DNS:other.example"):
        certificate = certified(tmp_path, name)
        with passing(made, certificate) as (_, url):
            if name == "IP:127.0.0.1":
                engine = made_at([url], ca=str(certificate))
                assert engine.status().passages == 0
                engine.close()
                assert "a certificate that is not trusted" in str(refused([url], EngineUnavailable))
            else:
                error = refused([url], EngineUnavailable, ca=str(certificate))
                assert "a certificate that is not trusted, or that is of another name" in str(error)
                assert "opensearch.ca" in error.hint


@pytest.mark.parametrize(
    ("place", "header"),
    [({"user": "wenyuan", "password": "p:w"}, "Basic d2VueXVhbjpwOnc="), ({"key": "k-1"}, "ApiKey k-1")],
)
def test_credentials_that_expire(tmp_path: Path, made: Sequence[str], place: dict[str, str], header: str) -> None:
    """They go with every call; when they are refused that is FAILED, named, and over when they are taken again."""
    with passing(made) as (proxy, url):
        proxy.allowed = header
        with six(tmp_path, lambda _, catalog: opened([url], catalog, place=place)) as world:
            assert set(proxy.credentials) == {header}
            expected = list(world.keyword("连接池"))
            proxy.allowed = "Basic another"
            with pytest.raises(EngineUnavailable, match="refuses its user, password or right") as caught:
                world.keyword("连接池")
            assert "p:w" not in str(caught.value)
            proxy.allowed = header
            assert list(world.keyword("连接池")) == expected


def test_a_silent_cluster(tmp_path: Path, made: Sequence[str]) -> None:
    """An answer that does not come is FAILED at the deadline."""
    with passing(made) as (proxy, url), six(tmp_path, lambda _, catalog: opened([url], catalog)) as world:
        silent = [True]

        def slow(_: str, __: str, reply: tuple[int, bytes]) -> tuple[int, bytes]:
            while silent:
                time.sleep(0.05)
            return reply

        proxy.change = slow
        with in_time(), pytest.raises(EngineError):
            world.engine.vector(unit(1), scope=world.scope(), limit=3, deadline=world.deadline(0.5))
        silent.clear()
        assert len(world.vector(unit(1))) == 6


def test_every_setting_of_it(tmp_path: Path, made: Sequence[str]) -> None:
    """A library opens with all of them said, takes documents in, and is ready; the indices are laid out as told."""
    certificate = certified(tmp_path, "IP:127.0.0.1")
    (tmp_path / "docs").mkdir()
    for number, text in enumerate(TEXTS):
        (tmp_path / "docs" / f"{number}.md").write_text(f"# {number}\n\n{text}\n", "utf-8")
    with passing(made, certificate) as (_, url):
        told = {
            "urls": [url], "user": "wenyuan", "password": "p", "key": "", "ca": str(certificate),
            "prefix": f"{opensearch_cluster.PREFIX}_set", "shards": 2, "replicas": 0, "quantised": True, "calls": 4,
        }  # fmt: skip
        with wenyuan.open(
            tmp_path / "library", create=True, engine="opensearch", encoder={"kind": "hashing"}, opensearch=told,
            search={"deadline": 30},
        ) as library:  # fmt: skip
            library.add(Source(source_id="kb", path=str(tmp_path / "docs")))
            assert library.search("连接池").hits
            assert library.readiness().ready
            index = library.engine._names.passages(library.engine._mark)  # type: ignore[attr-defined]
        settings = called(made[0], "GET", f"/{index}/_settings")[index]["settings"]["index"]
        assert (settings["number_of_shards"], settings["number_of_replicas"]) == ("2", "0")
        fields = called(made[0], "GET", f"/{index}/_mapping")[index]["mappings"]["properties"]
        assert fields["vector"]["method"]["parameters"]["encoder"]["name"] == "sq"
