"""Where the engine on Milvus must refuse: at its start, when the server fails or dawdles, and when time is up."""

from __future__ import annotations

import inspect
import socket
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import milvus_server
import wenyuan
from engine_laws import SPEC, World, document, same, unit
from milvus_engine import opened
from patience import in_time
from server_engine_laws import ServerEngineRefusals, six
from wenyuan.core.errors import (
    ConfigError,
    EngineError,
    EngineTimeout,
    EngineUnavailable,
    IndexCorrupt,
    IndexMismatch,
    KnowledgeError,
)
from wenyuan.core.filters import In, Not, Range, Scope
from wenyuan.core.ports import Deadline
from wenyuan.core.text.analysis import query_terms
from wenyuan.engines.index_mark import Mark
from wenyuan.engines.milvus import collections
from wenyuan.engines.milvus import engine as milvus_engine_module
from wenyuan.engines.milvus.engine import MilvusEngine
from wenyuan.engines.milvus.expressions import condition
from wenyuan.engines.milvus.search import frequency
from wenyuan.engines.milvus.sessions import ServerAddress, failure
from wenyuan.engines.term_statistics import norm, weighed
from wenyuan.engines.value_digests import compared, token
from wenyuan.runtime.installation import install_command

TOKEN = "root:Geheim-4711"
ID = "x" * 32


@pytest.fixture
def world(tmp_path: Path, milvus: str) -> Iterator[World]:
    with six(tmp_path, lambda _, catalog: opened(milvus, catalog)) as made:
        yield made


def refused(uri: str, kind: type[KnowledgeError], **changes: Any) -> KnowledgeError:
    """What opening raises; no secret is in it, or in what it was raised from."""
    with pytest.raises(kind) as caught:
        MilvusEngine(
            ServerAddress(uri=uri, token=TOKEN), changes.pop("spec", SPEC), library_id=ID, exclusive=never,
            prefix=changes.pop("prefix", milvus_server.PREFIX),
        )  # fmt: skip
    assert "Geheim" not in "".join(traceback.format_exception(caught.value))
    return caught.value


@contextmanager
def never(**_: Any) -> Iterator[None]:
    """A lock that nobody else wants."""
    yield


# --- at the start -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("uri", ["./local.db", "milvus:19530", "tcp://h:1", "file:///etc/passwd"])
def test_no_address(uri: str) -> None:
    """An address that is none, or a file, is named by its setting: nothing is opened on this machine."""
    assert "milvus.uri is no address" in str(refused(uri, ConfigError))


def test_unset(tmp_path: Path) -> None:
    """The engine without an address is a wrong setting."""
    with pytest.raises(ConfigError, match=r"milvus\.uri is not set"):
        wenyuan.open(tmp_path, create=True, engine="milvus", encoder={"kind": "hashing"})


def test_driver_that_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the driver, the message says which extra brings it."""
    monkeypatch.setitem(sys.modules, "pymilvus", None)
    assert refused("http://127.0.0.1:1", ConfigError).hint == install_command("milvus")


def test_nobody_there(monkeypatch: pytest.MonkeyPatch) -> None:
    """A port where nobody listens, and a server that says nothing, end in time."""

    pytest.importorskip("pymilvus")  # loading it takes seconds on a busy machine
    monkeypatch.setattr(milvus_engine_module, "_TO_OPEN", 1.0)
    with in_time(), socket.create_server(("127.0.0.1", 0)) as silent:
        refused("http://127.0.0.1:1", EngineError)
        refused(f"http://127.0.0.1:{silent.getsockname()[1]}", EngineError)


@pytest.mark.parametrize("told", ["2.3.5", "v2.3.21", "unknown"])
def test_old_server(milvus: str, told: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server without sparse vectors is named with its version, and with the one that is needed."""
    from pymilvus import MilvusClient

    monkeypatch.setattr(MilvusClient, "get_server_version", lambda *_, **__: told)
    assert f"the server is Milvus {told}; at least 2.4 is needed" in str(refused(milvus, ConfigError))


@pytest.mark.parametrize("told", ["2.4.0", "v2.6.19-dev", "3.0.0"])
def test_new_server(milvus: str, told: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Newer servers are taken, however they spell their version."""
    from pymilvus import MilvusClient

    monkeypatch.setattr(MilvusClient, "get_server_version", lambda *_, **__: told)
    engine = MilvusEngine(
        ServerAddress(uri=milvus), SPEC, library_id="n" * 32, exclusive=never, prefix=milvus_server.PREFIX
    )
    assert engine.status().passages == 0
    engine.close()


@pytest.mark.parametrize("which", ["passages", "words", "marks"])
def test_collections_of_something_else(milvus: str, which: str) -> None:
    """A collection of the index's name that is not the index is left alone, and named."""
    prefix = f"{milvus_server.PREFIX}_{which}"
    names = collections.CollectionNames.of(prefix, ID, SPEC)
    client = milvus_server.client(milvus)
    client.create_collection(getattr(names, which), dimension=3, timeout=30)
    error = refused(milvus, IndexMismatch, prefix=prefix)
    assert getattr(names, which) in str(error)
    assert "milvus.prefix" in error.hint
    assert client.has_collection(getattr(names, which))
    client.close()


def test_marks_of_another_library(milvus: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Collections that say that they are another library's are not used."""
    prefix = f"{milvus_server.PREFIX}_two"
    same_names = collections.CollectionNames.of(prefix, ID, SPEC)
    foreign = replace(same_names, library="somebody else's")
    monkeypatch.setattr(collections.CollectionNames, "of", lambda *_: foreign)
    MilvusEngine(ServerAddress(uri=milvus), SPEC, library_id=ID, exclusive=never, prefix=prefix).close()
    monkeypatch.setattr(collections.CollectionNames, "of", lambda *_: same_names)
    assert "is not this library's index" in str(refused(milvus, IndexMismatch, prefix=prefix))


def test_vectors_too_long(milvus: str) -> None:
    """More dimensions than Milvus takes are refused at the start."""
    assert SPEC.encoder is not None
    spec = replace(SPEC, encoder=replace(SPEC.encoder, dimension=16_385))
    assert "16384" in str(refused(milvus, ConfigError, spec=spec))


def test_without_an_encoder(tmp_path: Path, milvus: str) -> None:
    """An index without vectors answers to words, and refuses vectors."""
    spec = replace(SPEC, encoder=None)
    world = World(
        tmp_path,
        lambda _, c: MilvusEngine(
            ServerAddress(uri=milvus),
            spec,
            library_id=c.library_id(),
            exclusive=c.writing,
            prefix=milvus_server.PREFIX,
        ),
    )
    world.put(*(document(n) for n in range(6)))
    world.sync()
    same(world.keyword("连接池"), world.keyword("连接池", engine=world.reference))
    for ask in (lambda: world.vector(unit(1)), lambda: world.engine.mean_cosine(unit(1))):
        with pytest.raises(EngineError, match="without an encoder"):
            ask()
    assert world.engine.status().vectors == 0
    world.close()


# --- while it runs ------------------------------------------------------------------------------------------------


def calls(world: World) -> list[Callable[[Deadline], Any]]:
    engine, scope = world.engine, world.scope()
    return [
        lambda d: engine.keyword(query_terms("连接池"), scope=scope, limit=5, deadline=d),
        lambda d: engine.vector(unit(1), scope=scope, limit=5, deadline=d),
        lambda d: engine.keyword_scores(query_terms("连接池"), [1, 2], deadline=d),
        lambda d: engine.cosines(unit(1), [1, 2], deadline=d),
        lambda d: engine.sync(world.catalog, deadline=d),
    ]


@pytest.mark.skipif(bool(milvus_server.GIVEN), reason="not run: the proxy stands before a milvus-lite")
def test_a_server_that_stalls_or_goes_away(tmp_path: Path, milvus: str) -> None:
    """Every call fails at its deadline, and none is empty; afterwards all answer again."""
    proxy = milvus_server.Proxy(int(milvus.rpartition(":")[2]))
    world = World(tmp_path, lambda _, catalog: opened(proxy.uri, catalog))
    world.put(*(document(n) for n in range(6)))
    world.sync()
    expected = list(world.keyword("连接池"))
    assert expected
    for stalled in (True, False):
        proxy.flowing.clear() if stalled else proxy.end()
        for call in calls(world):
            with in_time(), pytest.raises((EngineTimeout, EngineUnavailable)):
                call(world.deadline(0.5))
        if stalled:
            proxy.flowing.set()
            assert list(world.keyword("连接池")) == expected
    world.close()


class TestMilvusRefusals(ServerEngineRefusals):
    """Every refusal, on a real server."""

    busy = (16, "calls", "milvus.calls")


@pytest.mark.parametrize("harm", ["drop_collection", "release_collection"])
@pytest.mark.parametrize("which", ["passages", "words", "marks"])
def test_collections_that_are_gone(world: World, milvus: str, harm: str, which: str) -> None:
    """A collection that is dropped or released is an error, never an empty answer."""
    engine: Any = world.engine
    client = milvus_server.client(milvus)
    getattr(client, harm)(getattr(engine._names, which))
    client.close()
    asking = {"passages": (0, 1, 2, 3), "words": (0, 2), "marks": (0, 1, 2, 3, 4)}[which]
    for call in (calls(world)[number] for number in asking):
        with pytest.raises(IndexCorrupt, match="not there, or not loaded"):
            call(world.deadline())


def test_marks_that_are_gone(world: World, milvus: str) -> None:
    """An index without its marks, or with one that cannot be read, answers nothing."""
    engine: Any = world.engine
    client = milvus_server.client(milvus)
    client.upsert(engine._names.marks, [{"step": 10_000, "body": {"library": "?"}, "total": [0.0] * 32}])
    with pytest.raises(IndexCorrupt, match="cannot be read"):
        world.keyword("连接池")
    client.delete(engine._names.marks, filter="step >= 0")
    with pytest.raises(IndexCorrupt, match="its marks are gone"):
        world.keyword("连接池")
    client.close()


# --- translation, expressions, weights -----------------------------------------------------------------------------


def test_every_exception_of_the_driver_is_translated() -> None:
    """Each of pymilvus's exceptions, and those of gRPC and of Python, becomes one of ours, without its text."""
    exceptions = pytest.importorskip("pymilvus.exceptions")
    grpc = pytest.importorskip("grpc")
    kinds = [kind for kind in vars(exceptions).values() if inspect.isclass(kind) and issubclass(kind, Exception)]
    assert len(kinds) > 20
    raised = [kind(message="http://u:Geheim@h") for kind in kinds]
    raised += [grpc.RpcError("Geheim"), OSError("Geheim"), ValueError("Geheim"), KeyError("Geheim")]
    for error in raised:
        found = failure(error, "engine milvus")
        assert isinstance(found, EngineUnavailable | EngineTimeout | IndexCorrupt)
        assert "Geheim" not in f"{found} {found.hint}"


@pytest.mark.parametrize(
    ("text", "kind", "says"),
    [
        ("<_InactiveRpcError: StatusCode.UNAVAILABLE, failed to connect>", EngineUnavailable, "cannot be reached"),
        ("Retry timeout: 2s, deadline exceeded", EngineTimeout, "in time"),
        ("auth check failure, please check username", EngineUnavailable, "user, password or right"),
        ("collection not found[database=default][collection=x]", IndexCorrupt, "not there, or not loaded"),
        ("collection not loaded", IndexCorrupt, "not there, or not loaded"),
        ("something else", EngineUnavailable, "the server failed"),
    ],
)
def test_the_message_says_what_to_look_at(text: str, kind: type[EngineError], says: str) -> None:
    """What is late is a timeout, what is lost is to be built again, the rest says what refused."""
    from pymilvus.exceptions import MilvusException

    with pytest.raises(kind, match=says):
        raise failure(MilvusException(message=text), "engine milvus")


hostile = st.text() | st.sampled_from(
    ["x' OR '1'='1", '"] or passage_id >= 0 or source in ["', "\\", "\ud800", "{x}", "\x00"]
)


@settings(max_examples=300)
@given(hostile, hostile, hostile)
def test_no_text_of_anybodys_stands_in_an_expression(name: str, value: str, other: str) -> None:
    """Whatever sources, facets and values are called, an expression holds nothing but our own words and digits."""
    from datetime import date

    try:
        leaves = [In(f"metadata.{name}", (value, 1.5, True)), Range(f"metadata.{name}", ge=value, le=other)]
    except KnowledgeError:
        leaves = [In("collection", (value,)), Range("language", ge=value, le=other)]
    ours = r"[a-z_]+|[<>=]=|\d+(\.\d+)?|\"[0-9a-f]{32}\"|\"x([0-9a-f]{2})*\"|compared\[\"k[0-9a-f]{32}\"\]|[\[\](), ]"
    import re

    for leaf in (*leaves, Not(leaves[0])):
        written = condition(
            Scope(sources=frozenset([value]), as_of=date(2026, 6, 1), filter=leaf),
            Mark(library="", generation="", watermark=7, total=None),
        )
        assert re.fullmatch(f"({ours})*", written), written


@settings(max_examples=300)
@given(st.text(max_size=33), st.text(max_size=33))
def test_texts_sort_as_they_are_stored(a: str, b: str) -> None:
    """Stored texts have the order of the texts, and differ exactly when these do."""
    from engine_laws import DAY
    from wenyuan.core.model import IndexRow

    def stored(text: str) -> str:
        row = IndexRow(
            passage_id=1, source_id="s", document_id=1, heading_text="", text="", language="", collection="",
            facets={"t": text}, valid_from=0, valid_until=DAY.toordinal(),
        )  # fmt: skip
        (found,) = (v for k, v in compared(row).items() if k == next(iter(set(compared(row)) - plain)))
        return str(found)

    empty = IndexRow(
        passage_id=1, source_id="s", document_id=1, heading_text="", text="", language="", collection="",
        facets={}, valid_from=0, valid_until=1,
    )  # fmt: skip
    plain = set(compared(empty))
    if all(len(text.encode("utf-8", "surrogatepass")) <= 100 for text in (a, b)):
        assert (stored(a) < stored(b)) == (a < b)
        assert (stored(a) == stored(b)) == (a == b)


def test_kinds_are_told_apart() -> None:
    """A text, a number and a flag that look alike are three values; equal numbers are one."""
    assert len({token("f", value) for value in ("1", 1, True, "True", "1.0")}) == 5
    assert token("f", 1) == token("f", 1.0)
    assert token("f", 0.0) == token("f", -0.0)
    assert token("f", 1) != token("g", 1)


@settings(max_examples=500)
@given(st.integers(1, 5_000), st.integers(0, 60_000), st.floats(1, 900))
def test_how_often_a_term_occurs_is_in_its_weight(often: int, more: int, mean: float) -> None:
    """The count of a term comes back from its weight, though the server keeps only single precision."""
    import numpy as np

    length = often + more
    kept = float(np.float32(weighed(often, length, mean)))
    assert frequency(kept, norm(length, mean)) == often
