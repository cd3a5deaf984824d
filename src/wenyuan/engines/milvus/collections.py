"""The collections of one index: three of each library and generation, made once, checked at every start.

::

    …_passages   id, source, document, validity, facets (see `conditions`), the change that added it; its terms as a
                 sparse vector of BM25 weights, with the length and the mean length that they were made with; its vector
    …_words      a term's digest → its number, and how many passages hold it: now, and before the last change
    …_marks      how far the index has come (see `marks`)
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from wenyuan.core.errors import ConfigError, IndexMismatch
from wenyuan.core.ports import IndexSpec
from wenyuan.engines.milvus.marks import Mark, add_mark, newest
from wenyuan.engines.milvus.sessions import Session
from wenyuan.engines.milvus_calls import seconds

__all__ = ["MOST_DIMENSIONS", "Names", "check_server", "find", "make"]

FORMAT = "milvus/2"
"""Changes with the fields below; another format is another generation."""
OLDEST_SERVER = (2, 4)
"""The first that has sparse vectors."""
MOST_DIMENSIONS = 16_384  # half of what a field takes, since two sums stand in one
MOST_TOKENS = 4_096
_LITE = "milvus_lite"


@dataclass(frozen=True, slots=True)
class Names:
    """The collections of one index.

    Attributes:
        vectors: Dimension of the vectors; 0 for an index without.
    """

    base: str
    library: str
    generation: str
    vectors: int

    @classmethod
    def of(cls, prefix: str, library_id: str, spec: IndexSpec) -> Names:
        generation = f"{spec.key}/{FORMAT}"
        own = hashlib.sha256(f"{library_id}/{generation}".encode()).hexdigest()
        return cls(f"{prefix}_{own[:16]}", library_id, generation, spec.encoder.dimension if spec.encoder else 0)

    @property
    def passages(self) -> str:
        return f"{self.base}_passages"

    @property
    def words(self) -> str:
        return f"{self.base}_words"

    @property
    def marks(self) -> str:
        return f"{self.base}_marks"


def check_server(session: Session) -> None:
    """ConfigError for a server that has no sparse vectors."""
    version = str(session.client.get_server_version(timeout=seconds(session.deadline)))
    if version.startswith(_LITE):
        return
    found = re.match(r"v?(\d+)\.(\d+)", version)
    if found is not None and (int(found[1]), int(found[2])) >= OLDEST_SERVER:
        return
    raise ConfigError(
        f"the server is Milvus {version}; at least {OLDEST_SERVER[0]}.{OLDEST_SERVER[1]} is needed",
        component=session.component,
        hint="upgrade the server, or name another in milvus.uri",
    )


def find(session: Session, names: Names) -> Mark | None:
    """The index's mark, its collections loaded; None when they are yet to be made.

    Raises:
        IndexMismatch: there are collections of its names that are not this library's index.
    """
    for name, fields in _fields(names).items():
        if not session.client.has_collection(name, timeout=seconds(session.deadline)):
            return None
        told = session.client.describe_collection(name, timeout=seconds(session.deadline))
        if {_shape(field) for field in told["fields"]} != set(fields):
            raise _foreign(session, name)
        session.client.load_collection(name, timeout=seconds(session.deadline))
    mark = newest(session, names.marks)
    if mark is not None and (mark.library, mark.generation) != (names.library, names.generation):
        raise _foreign(session, names.marks)
    return mark


def make(session: Session, names: Names, index: str) -> Mark:
    """Make what is missing; the caller holds the library's lock."""
    for name, fields in _fields(names).items():
        if not session.client.has_collection(name, timeout=seconds(session.deadline)):
            _create(session, name, fields, index)
    found = find(session, names)
    if found is not None:
        return found
    zero = np.zeros(max(2, 2 * names.vectors), np.float32)
    return add_mark(session, names.marks, Mark(library=names.library, generation=names.generation, total=zero))


def _foreign(session: Session, name: str) -> IndexMismatch:
    return IndexMismatch(
        f"collection {name!r} is not this library's index, or is one of another version",
        component=session.component,
        hint="choose another milvus.prefix, or drop that collection if nobody needs it",
    )


Shape = tuple[str, str, int]  # name, kind, dimension


def _shape(field: Mapping[str, Any]) -> Shape:
    return field["name"], getattr(field["type"], "name", ""), int(field.get("params", {}).get("dim", 0))


def _fields(names: Names) -> Mapping[str, tuple[Shape, ...]]:
    """By collection; the first field is the key."""
    vector: tuple[Shape, ...] = (("vector", "FLOAT_VECTOR", names.vectors),) if names.vectors else ()
    return {
        names.passages: (
            ("passage_id", "INT64", 0),
            ("source", "VARCHAR", 0),
            ("document_id", "INT64", 0),
            ("tokens", "ARRAY", 0),
            ("compared", "JSON", 0),
            ("valid_from", "INT64", 0),
            ("valid_until", "INT64", 0),
            ("seq", "INT64", 0),
            ("length", "INT64", 0),
            ("mean", "DOUBLE", 0),
            ("embedded", "BOOL", 0),
            ("words", "SPARSE_FLOAT_VECTOR", 0),
            *vector,
        ),
        names.words: (
            ("term", "VARCHAR", 0),
            ("number", "INT64", 0),
            ("held", "INT64", 0),
            ("at", "INT64", 0),
            ("before", "INT64", 0),
            ("nothing", "FLOAT_VECTOR", 2),  # a collection must have a vector
        ),
        names.marks: (
            ("step", "INT64", 0),
            ("body", "JSON", 0),
            ("total", "FLOAT_VECTOR", max(2, 2 * names.vectors)),
        ),
    }


_INDEXED = ("source", "document_id", "seq", "number", "at")


def _create(session: Session, name: str, fields: tuple[Shape, ...], index: str) -> None:
    from pymilvus import DataType, MilvusClient

    schema = MilvusClient.create_schema(auto_id=False, enable_dynamic_field=False)
    indexes = MilvusClient.prepare_index_params()
    for number, (field, kind, dimension) in enumerate(fields):
        more: dict[str, Any] = {"dim": dimension} if dimension else {}
        if kind == "VARCHAR":
            more = {"max_length": 64}
        elif kind == "ARRAY":
            more = {"element_type": DataType.VARCHAR, "max_length": 64, "max_capacity": MOST_TOKENS}
        schema.add_field(field, DataType[kind], is_primary=number == 0, **more)
        if kind == "SPARSE_FLOAT_VECTOR":
            indexes.add_index(field, index_type="SPARSE_INVERTED_INDEX", metric_type="IP")
        elif kind == "FLOAT_VECTOR":
            kind_of = index if field == "vector" else "FLAT"
            indexes.add_index(field, index_type=kind_of, metric_type="IP", params=_built(kind_of))
        elif field in _INDEXED:
            indexes.add_index(field, index_type="INVERTED")
    client, told = session.client, seconds(session.deadline)
    client.create_collection(name, schema=schema, consistency_level="Strong", timeout=told)
    client.create_index(name, indexes, timeout=told, sync=False)  # there is nothing yet to wait for


def _built(index: str) -> dict[str, int]:
    return {"M": 32, "efConstruction": 200} if index == "HNSW" else {}
