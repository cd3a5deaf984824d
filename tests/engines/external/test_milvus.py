"""A source of type vector_index on Milvus, against the real gRPC server of milvus-lite."""

from __future__ import annotations

import inspect
import os
import socket
import time
import traceback
from collections.abc import Callable, Iterator
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import milvus_server
from patience import in_time
from wenyuan.core.errors import ConfigError, EngineError, EngineTimeout, EngineUnavailable, VectorRejected
from wenyuan.core.model import EncoderFingerprint, Source
from wenyuan.core.ports import Deadline, OutsideHit
from wenyuan.engines.external.milvus import MilvusCollection, condition, open_milvus
from wenyuan.engines.milvus.sessions import translated

HOSTILE = ["涉密", 'x" or 1 == 1 or "', "a\\", "it's", "%", "\u200b", "{kind}", "' or '1'=='1"]
FIELDS = {"id": "id", "text": "body", "vector": "v", "title": "title", "uri": "uri", "metadata": "meta"}
QUERY = np.array([1, 0, 0], np.float32)
COLLECTION = f"wenyuan_test_{os.getpid()}"
Open = Callable[..., MilvusCollection]


@pytest.fixture(scope="module")
def server(milvus: str) -> Iterator[tuple[str, Any]]:
    """Address and client of a server that holds the collection."""
    client = milvus_server.client(milvus)
    fill(client)
    yield milvus, client
    client.drop_collection(COLLECTION)
    client.close()


def fill(client: Any) -> None:
    from pymilvus import DataType

    schema = client.create_schema(auto_id=False, enable_dynamic_field=False)
    schema.add_field("id", DataType.VARCHAR, is_primary=True, max_length=64)
    for name in ("body", "title", "uri", "kind"):
        schema.add_field(name, DataType.VARCHAR, max_length=1_000)
    schema.add_field("n", DataType.INT64)
    schema.add_field("meta", DataType.JSON, nullable=True)
    schema.add_field("v", DataType.FLOAT_VECTOR, dim=3)
    index = client.prepare_index_params()
    index.add_index("v", index_type="FLAT", metric_type="COSINE")
    client.create_collection(COLLECTION, schema=schema, index_params=index, timeout=60)
    rows = [
        {"id": "a-1", "body": "报销须在三十日内提交", "v": [1, 0, 0], "title": "财务", "uri": "https://kb.example/x#y", "n": 1,
         "kind": "k", "meta": {"部门": "财务", "year": 2024, "deep": {"x": 1}}},
        {"id": "a-2", "body": "Expenses within 30 days", "v": [0.8, 0.6, 0], "title": "", "uri": "", "n": 2, "kind": "k", "meta": None},
        {"id": "a-3", "body": "報銷憑證應妥善保存", "v": [0, 3, 0], "title": "", "uri": "", "n": 2, "kind": "k", "meta": None},
        {"id": "a-4", "body": "", "v": [1, 0, 0], "title": "no text", "uri": "", "n": 2, "kind": "k", "meta": None},
    ]  # fmt: skip
    rows += [
        {"id": f"h-{n}", "body": f"hostile {n}", "v": [-1, 0.1, 0], "title": "", "uri": "", "n": 7, "kind": kind, "meta": None}
        for n, kind in enumerate(HOSTILE)
    ]  # fmt: skip
    client.insert(COLLECTION, rows, timeout=60)


@pytest.fixture
def opened(server: tuple[str, Any], monkeypatch: pytest.MonkeyPatch) -> Iterator[Open]:
    """Opens the collection as a source; closed at the end."""
    monkeypatch.setenv("WENYUAN_KB", server[0])
    made: list[MilvusCollection] = []

    def open_one(*, lazy: bool = False, scale: tuple[float, float] = (0.0, 1.0), **changes: Any) -> MilvusCollection:
        made.append(open_milvus(source(**changes), lazy=lazy, scale=scale))
        return made[-1]

    yield open_one
    for collection in made:
        collection.close()


def source(**changes: Any) -> Source:
    given = {
        "uri_env": "WENYUAN_KB", "collection": COLLECTION, "fields": FIELDS, "encoder": "bge-m3", "dimension": 3,
        "timeout": 30.0, **changes,
    }  # fmt: skip
    return Source(source_id="kb-1", type="vector_index", settings=given)


def ask(
    collection: MilvusCollection, *, vector: Any = QUERY, limit: int = 20, seconds: float = 30.0
) -> list[OutsideHit]:
    deadline = Deadline(time.monotonic() + seconds, time.monotonic)
    return list(collection.ask("如何报销？", vector=vector, limit=limit, as_of=date(2026, 6, 1), deadline=deadline))


def test_rows_come_nearest_first_with_what_their_fields_say(opened: Open) -> None:
    """Key, text, title, address, facets and the cosine as score; rows without text are no candidates."""
    hits = ask(opened(filter={"kind": "k"}))
    assert [(h.key, round(h.score, 6)) for h in hits] == [("a-1", 1.0), ("a-2", 0.8), ("a-3", 0.0)]
    first, second = hits[:2]
    assert (first.uri, first.title, first.content) == ("https://kb.example/x#y", "财务", "报销须在三十日内提交")
    assert first.facets == {"部门": "财务", "year": 2024}
    assert second.uri == f"source:kb-1/{COLLECTION}#a-2"


def test_limit_and_scale(opened: Open) -> None:
    """A limit cuts the ranking, and the encoder's scale makes scores of cosines."""
    collection = opened(filter={"kind": "k"}, scale=(0.6, 1.0))
    assert [(h.key, round(h.score, 4)) for h in ask(collection, limit=2)] == [("a-1", 1.0), ("a-2", 0.5)]


@pytest.mark.parametrize("number", range(len(HOSTILE)))
def test_filter_values_are_only_values(opened: Open, number: int) -> None:
    """Whatever a text holds, a filter finds the rows that have it and no others."""
    assert [h.key for h in ask(opened(filter={"kind": HOSTILE[number]}))] == [f"h-{number}"]


def test_filters_join(opened: Open) -> None:
    """Several fields, texts and numbers, must all fit."""
    assert [h.key for h in ask(opened(filter={"kind": "k", "n": 2}))] == ["a-2", "a-3"]


@pytest.mark.parametrize("value", ["a\x00b", "a\nb", "\ud800", float("nan"), float("inf")])
def test_what_cannot_be_written_is_refused(value: str | float) -> None:
    """A text with control characters or a number that is none is a wrong setting."""
    with pytest.raises(ConfigError, match="filter on 'kind'"):
        condition({"kind": value}, "source x")


def test_written_is_found_at_once(opened: Open, server: tuple[str, Any]) -> None:
    """Consistency is strong: a row that was written is in the next answer, one that was deleted is not."""
    collection, client = opened(filter={"n": 99}), server[1]
    row = {"id": "late", "body": "x", "v": [1, 0, 0], "title": "", "uri": "", "n": 99, "kind": "", "meta": None}
    assert ask(collection) == []
    client.insert(COLLECTION, [row])
    assert [h.key for h in ask(collection)] == ["late"]
    client.delete(COLLECTION, ids=["late"])
    assert ask(collection) == []


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"collection": "no_such"}, "no collection 'no_such'"),
        ({"dimension": 4}, "3 dimensions, the settings say 4"),
        ({"fields": {**FIELDS, "text": "txt"}}, "no field 'txt'; it has "),
        ({"fields": {**FIELDS, "id": "kind"}}, "not the primary key"),
        ({"fields": {**FIELDS, "vector": "n"}}, "not a dense vector"),
        ({"filter": {"zz": 1}}, "no field 'zz'"),
        ({"fields": {**FIELDS, "text": "a b"}}, "fields.text"),
        ({"scale": (1.0, 0.5)}, "rising cosines"),
        ({"token": "Geheim"}, "there is no such setting"),
    ],
)
def test_wrong_settings(opened: Open, changes: dict[str, Any], says: str) -> None:
    """What is wrong is named when the source is opened."""
    with pytest.raises(ConfigError, match=says):
        opened(**changes)


def test_another_encoder(server: tuple[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Vectors of another encoder cannot be compared."""
    monkeypatch.setenv("WENYUAN_KB", server[0])
    with pytest.raises(ConfigError, match="cannot be compared"):
        open_milvus(source(), encoder=EncoderFingerprint(id="e5", sha256="0", dimension=3), lazy=True)


def test_a_vector_of_another_dimension(opened: Open) -> None:
    """A question of another dimension is refused before anybody is asked."""
    with pytest.raises(VectorRejected):
        ask(opened(lazy=True), vector=np.ones(4, np.float32))


def test_collection_that_is_dropped(opened: Open, server: tuple[str, Any]) -> None:
    """A collection that goes away while it is used is an error, never an empty answer."""
    client, name = server[1], f"{COLLECTION}_2"
    client.create_collection(name, dimension=3, metric_type="COSINE", id_type="string", max_length=9, timeout=60)
    client.insert(name, [{"id": "1", "vector": [1, 0, 0]}])
    collection = opened(collection=name, fields={"id": "id", "text": "id", "vector": "vector"})
    assert len(ask(collection)) == 1
    client.drop_collection(name)
    for _ in range(2):
        with pytest.raises(EngineUnavailable):
            ask(collection)


def test_nobody_there(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that is not there, or says nothing, fails in time, and no secret is told."""
    monkeypatch.setenv("WENYUAN_TOKEN", "root:Geheim")
    monkeypatch.setenv("WENYUAN_KB", "http://127.0.0.1:1")
    with pytest.raises(EngineError) as caught:
        open_milvus(source(token_env="WENYUAN_TOKEN", timeout=3.0))
    assert "Geheim" not in "".join(traceback.format_exception(caught.value))
    with socket.create_server(("127.0.0.1", 0)) as silent:
        monkeypatch.setenv("WENYUAN_KB", f"http://127.0.0.1:{silent.getsockname()[1]}")
        with in_time(), pytest.raises((EngineTimeout, EngineUnavailable)):
            open_milvus(source(timeout=1.0))


def test_no_address(monkeypatch: pytest.MonkeyPatch) -> None:
    """An address that is none, or a file, is refused: nothing is opened on this machine."""
    monkeypatch.setenv("WENYUAN_KB", "./local.db")
    with pytest.raises(ConfigError, match="WENYUAN_KB holds is no address"):
        open_milvus(source())


def test_closed(opened: Open) -> None:
    """A closed source answers nothing."""
    collection = opened()
    collection.close()
    with pytest.raises(EngineUnavailable, match="is closed"):
        ask(collection)


def test_every_exception_of_the_driver_is_translated() -> None:
    """Each of pymilvus's exceptions becomes one of ours, without its text."""
    exceptions = pytest.importorskip("pymilvus.exceptions")
    kinds = [kind for kind in vars(exceptions).values() if inspect.isclass(kind) and issubclass(kind, Exception)]
    assert len(kinds) > 20
    for kind in kinds:
        failure = translated(kind(message="http://u:Geheim@h"), "source kb-1")
        assert isinstance(failure, EngineUnavailable | EngineTimeout)
        assert "Geheim" not in str(failure)


def test_a_library_asks_it(server: tuple[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A library with such a source answers with its rows; when the collection is not there, the answer is FAILED."""
    import wenyuan
    from wenyuan.core.model import RetrievalRequest

    monkeypatch.setenv("WENYUAN_KB", server[0])
    monkeypatch.setenv("WENYUAN_MILVUS_TOKEN", "root:Geheim")
    client, name, text = server[1], f"{COLLECTION}_3", "报销须在三十日内提交"
    hashing = {"kind": "hashing", "dimension": 64}
    with wenyuan.open(tmp_path, create=True, encoder=hashing, search={"deadline": 30, "floor": 0.0}) as library:
        assert library.encoder is not None
        client.create_collection(
            name, dimension=64, metric_type="COSINE", id_type="string", max_length=99, timeout=60
        )
        client.insert(name, [{"id": text, "vector": library.encoder.encode_passages([text])[0].tolist()}])
        changes: dict[str, Any] = {
            "fields": {"id": "id", "text": "id", "vector": "vector"}, "dimension": 64, "collection": name,
            "encoder": library.encoder.fingerprint.id, "token_env": "WENYUAN_MILVUS_TOKEN",
        }  # fmt: skip
        library.catalog.put_source(source(**changes))
        answer = library.retrieve_fragments(RetrievalRequest(query=text, max_results=3))
        assert (answer.status, [f.content for f in answer.fragments]) == ("SUCCESS", [text]), answer.error_message
        client.drop_collection(name)
        answer = library.retrieve_fragments(RetrievalRequest(query=text, max_results=3))
        assert answer.status == "FAILED"
        assert "kb-1" in str(answer.error_message)
