"""The collections of one index: three of each library and generation, made once, checked at every start.

::

    …_passages   id, source, document, validity, facets (see `engines.milvus.search`), the change that added it; its terms as a
                 sparse vector of BM25 weights, with the length and the mean length that they were made with; its vector
    …_words      a term's digest → its number, and how many passages hold it: now, and before the last change
    …_marks      how far the index has come (see `Mark`)
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from wenyuan.core.errors import ConfigError, IndexCorrupt, IndexMismatch, msg
from wenyuan.core.ports import IndexSpec
from wenyuan.core.slices import parts
from wenyuan.engines.index_mark import Mark
from wenyuan.engines.milvus.sessions import Session, seconds

# Milvus has no transactions, so the newest checkpoint record counts.
#
# A mark is a row that is only ever added, so there is one at every moment; older ones are removed afterwards. The keys of rows
# that it names as gone stand in rows of their own, with numbers below 0, that are written before it.


_KEPT = 8
"""Marks that stay: a server that reads while it writes may give the older ones alone, never none."""
_BODY = (
    "library", "generation", "watermark", "swept", "stamp", "passages", "length", "vectors", "chinese", "terms", "least",
    "open",
)  # fmt: skip
_GONE_AT_ONCE = 4_000  # keys in one row: a field of JSON holds 64 kB
_OF_ONE = 2**20  # numbers below 0 for the rows of one mark


def newest(session: Session, collection: str) -> Mark | None:
    """The newest checkpoint record; None in a collection without any."""
    rows = session.rows(collection, "step >= 0", ["step", "body", "total"])
    if not rows:
        return None
    row = max(rows, key=lambda row: int(row["step"]))
    try:
        step, body = int(row["step"]), _read(row["body"])
        gone = _gone(session, collection, step, int(body.get("gone_rows", 0)))
        return Mark(step=step, gone=gone, total=np.array(row["total"], np.float32), **{n: body[n] for n in _BODY})
    except (KeyError, TypeError, ValueError) as error:
        raise IndexCorrupt(
            msg("its mark cannot be read ({kind})", kind=type(error).__name__),
            component=session.component,
            hint="drop the index's collections; they are built again from the catalog",
        ) from error


def _gone(session: Session, collection: str, step: int, count: int) -> tuple[int, ...]:
    if not count:
        return ()
    rows = session.rows(collection, f"step <= {-step * _OF_ONE} and step > {-(step + 1) * _OF_ONE}", ["body"])
    if len(rows) != count:
        raise ValueError("rows of it are missing")
    return tuple(int(key) for row in rows for key in _read(row["body"])["gone"])


def _read(body: Any) -> Any:
    """What a field of JSON holds, which some servers give as text; ValueError where it is none, or nested too deeply."""
    try:
        return json.loads(body) if isinstance(body, (str, bytes)) else body
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


def add_mark(session: Session, collection: str, mark: Mark) -> Mark:
    """Make `mark`, under the next number, the one that counts; returns it."""
    made = replace(mark, step=mark.step + 1)
    some = list(parts(made.gone, _GONE_AT_ONCE))
    nothing = np.zeros_like(made.total).tolist()
    session.put(
        collection,
        [
            {"step": -made.step * _OF_ONE - number, "body": {"gone": list(keys)}, "total": nothing}
            for number, keys in enumerate(some)
        ],
    )
    body = {name: getattr(made, name) for name in _BODY} | {"gone_rows": len(some)}
    session.put(collection, [{"step": made.step, "body": body, "total": made.total.tolist()}])
    last = made.step - _KEPT
    session.drop_where(collection, f"(step >= 0 and step < {last}) or (step < 0 and step > {-last * _OF_ONE})")
    return made


FORMAT = "milvus/2"
"""Changes with the fields below; another format is another generation."""
OLDEST_SERVER = (2, 4)
"""The first that has sparse vectors."""
MOST_DIMENSIONS = 16_384  # half of what a field takes, since two sums stand in one
MOST_TOKENS = 4_096
_LITE = "milvus_lite"


@dataclass(frozen=True, slots=True)
class CollectionNames:
    """The collections of one index.

    Attributes:
        vectors: Dimension of the vectors; 0 for an index without.
    """

    base: str
    library: str
    generation: str
    vectors: int

    @classmethod
    def of(cls, prefix: str, library_id: str, spec: IndexSpec) -> CollectionNames:
        generation = f"{spec.key}/{FORMAT}"
        own = hashlib.sha256(f"{library_id}/{generation}".encode()).hexdigest()
        return cls(f"{prefix}_{own[:16]}", library_id, generation, spec.encoder.dimension if spec.encoder else 0)

    @property
    def copied(self) -> str:
        """What to do when the catalog is not the one that the index follows."""
        return msg(
            "the catalog was restored or copied, and has changed since: drop the collections {base}_…", base=self.base
        )

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
        msg(
            "the server is Milvus {version}; at least {oldest_server}.{oldest_server2} is needed",
            version=version,
            oldest_server=OLDEST_SERVER[0],
            oldest_server2=OLDEST_SERVER[1],
        ),
        component=session.component,
        hint="upgrade the server, or name another in milvus.uri",
    )


def find(session: Session, names: CollectionNames) -> Mark | None:
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


def make(session: Session, names: CollectionNames, index: str) -> Mark:
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
        msg("collection {name} is not this library's index, or is one of another version", name=repr(name)),
        component=session.component,
        hint="choose another milvus.prefix, or drop that collection if nobody needs it",
    )


Shape = tuple[str, str, int]  # name, kind, dimension


def _shape(field: Mapping[str, Any]) -> Shape:
    return field["name"], getattr(field["type"], "name", ""), int(field.get("params", {}).get("dim", 0))


def _fields(names: CollectionNames) -> Mapping[str, tuple[Shape, ...]]:
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
    for number, (column, kind, dimension) in enumerate(fields):
        more: dict[str, Any] = {"dim": dimension} if dimension else {}
        if kind == "VARCHAR":
            more = {"max_length": 64}
        elif kind == "ARRAY":
            more = {"element_type": DataType.VARCHAR, "max_length": 64, "max_capacity": MOST_TOKENS}
        schema.add_field(column, DataType[kind], is_primary=number == 0, **more)
        if kind == "SPARSE_FLOAT_VECTOR":
            indexes.add_index(column, index_type="SPARSE_INVERTED_INDEX", metric_type="IP")
        elif kind == "FLOAT_VECTOR":
            kind_of = index if column == "vector" else "FLAT"
            indexes.add_index(column, index_type=kind_of, metric_type="IP", params=_built(kind_of))
        elif column in _INDEXED:
            indexes.add_index(column, index_type="INVERTED")
    client, told = session.client, seconds(session.deadline)
    client.create_collection(name, schema=schema, consistency_level="Strong", timeout=told)
    client.create_index(name, indexes, timeout=told, sync=False)  # there is nothing yet to wait for


def _built(index: str) -> dict[str, int]:
    return {"M": 32, "efConstruction": 200} if index == "HNSW" else {}
