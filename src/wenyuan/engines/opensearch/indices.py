"""The indices of one library and generation, checked at every start.

::

    …_marks            how far the index has come (`marks`): one document
    …_passages_MADE    id, source, document, validity, facets (see `conditions`), the change that added it; its terms as
                       features that carry BM25 weights, with their counts; its vector, for the graph and as it is
    …_words_MADE       a term's digest → its number, and how many passages hold it: now, and before the last change

MADE is drawn when indices are made, and stands in the mark: what somebody deletes and makes again is not taken for them.
Writes go through aliases, …_w, so that no write makes an index that is gone.
"""

from __future__ import annotations

import hashlib
import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from wenyuan.core.errors import ConfigError, EngineUnavailable, IndexMismatch, msg
from wenyuan.core.ports import IndexSpec
from wenyuan.engines.opensearch.marks import ClusterMark, newest, put_mark
from wenyuan.engines.opensearch.sessions import ClusterSession

FORMAT = "opensearch/1"
"""Changes with the fields below; another format is another generation."""
OLDEST_CLUSTER = (2, 16)
MOST_DIMENSIONS = 16_000
_GRAPH = {"m": 16, "ef_construction": 128}
_QUANTISED: Mapping[str, Any] = {"encoder": {"name": "sq", "parameters": {"bits": 7, "confidence_interval": 0}}}


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexShape:
    """How indices are laid out when they are made; of those that are there, the cluster's own settings count.

    Attributes:
        shards: Parts of an index, each with a graph of its own.
        replicas: Further copies of each.
        quantised: Whether graphs hold a byte for a dimension instead of four.
    """

    shards: int = 1
    replicas: int = 1
    quantised: bool = False


@dataclass(frozen=True, slots=True)
class IndexNames:
    """The indices of one library.

    Attributes:
        vectors: Dimension of the vectors; 0 for an index without.
    """

    base: str
    library: str
    generation: str
    vectors: int

    @classmethod
    def of(cls, prefix: str, library_id: str, spec: IndexSpec) -> IndexNames:
        generation = f"{spec.key}/{FORMAT}"
        own = hashlib.sha256(f"{library_id}/{generation}".encode()).hexdigest()
        return cls(f"{prefix}_{own[:16]}", library_id, generation, spec.encoder.dimension if spec.encoder else 0)

    @property
    def marks(self) -> str:
        return f"{self.base}_marks"

    def passages(self, mark: ClusterMark) -> str:
        return f"{self.base}_passages_{mark.made}"

    def words(self, mark: ClusterMark) -> str:
        return f"{self.base}_words_{mark.made}"


def check_cluster(session: ClusterSession) -> None:
    """ConfigError for what is no OpenSearch, or too old a one."""
    found = session.ask("GET", "/")
    version = found.get("version", {}) if isinstance(found, Mapping) else {}
    number = str(version.get("number", ""))
    parts = re.match(r"(\d+)\.(\d+)", number)
    if version.get("distribution") != "opensearch" or parts is None:
        raise ConfigError(
            "the server is no OpenSearch", component=session.component, hint="name another in opensearch.urls"
        )
    if (int(parts[1]), int(parts[2])) < OLDEST_CLUSTER:
        raise ConfigError(
            msg(
                "the server is OpenSearch {version}; at least {major}.{minor} is needed",
                version=number,
                major=OLDEST_CLUSTER[0],
                minor=OLDEST_CLUSTER[1],
            ),
            component=session.component,
            hint="upgrade the cluster, or name another in opensearch.urls",
        )


def find(session: ClusterSession, names: IndexNames) -> ClusterMark | None:
    """The index's mark; None when there is something to be made.

    Raises:
        IndexMismatch: there are indices of its names that are not this library's index, or that were changed by hand.
    """
    if not _is_ours(session, names, names.marks, _marks_fields()):
        return None
    mark = newest(session, names.marks)
    if mark is None:
        return None
    if (mark.library, mark.generation) != (names.library, names.generation):
        raise _foreign(session, names.marks)
    for name, fields in ((names.passages(mark), _passage_fields(names)), (names.words(mark), _word_fields())):
        if not _is_ours(session, names, name, fields):
            return None
    return mark


def make(session: ClusterSession, names: IndexNames, shape: IndexShape) -> ClusterMark:
    """Make what is missing; the caller holds the library's lock."""
    found = find(session, names)
    if found is not None:
        return found
    if session.ask("GET", f"/{names.marks}", ignore=(404,)).get(names.marks) is None:
        _create(session, names, names.marks, _marks_fields(), replace(shape, shards=1))
    before = newest(session, names.marks)
    zero = np.zeros(max(2, 2 * names.vectors), np.float32)
    mark = ClusterMark(
        step=before.step if before else 0, library=names.library, generation=names.generation,
        made=secrets.token_hex(4), total=zero,
    )  # fmt: skip
    _create(session, names, names.passages(mark), _passage_fields(names, quantised=shape.quantised), shape)
    _create(session, names, names.words(mark), _word_fields(), shape)
    made = put_mark(session, names.marks, mark)
    kept = (names.marks, names.passages(made), names.words(made))
    left = session.ask("GET", f"/{names.base}_*")
    for name, told in left.items():  # of an index that was partly deleted
        if name not in kept and told["mappings"].get("_meta") == _meta(names):
            session.change("DELETE", f"/{name}", ignore=(404,))
    return made


def _is_ours(session: ClusterSession, names: IndexNames, name: str, fields: Mapping[str, Any]) -> bool:
    """Whether an index is there; IndexMismatch for another's."""
    found = session.ask("GET", f"/{name}", ignore=(404,))
    if "error" in found:
        return False
    mappings = found[name]["mappings"] if name in found else {}  # an alias of this name is somebody else's
    if mappings.get("_meta") != _meta(names) or f"{name}_w" not in found[name].get("aliases", {}):
        raise _foreign(session, name)
    if mappings.get("dynamic") != "strict" or _shape(mappings) != _shape({"properties": fields}):
        raise IndexMismatch(
            msg("index {name} was changed by hand: it has other fields than it was made with", name=repr(name)),
            component=session.component,
            hint=msg("delete the indices {base}_*; they are built again from the catalog", base=names.base),
        )
    return True


def _shape(mappings: Mapping[str, Any]) -> Mapping[str, tuple[str, int]]:
    properties = mappings.get("properties", {})
    return {field: (told.get("type", "object"), int(told.get("dimension", 0))) for field, told in properties.items()}


def _foreign(session: ClusterSession, name: str) -> IndexMismatch:
    return IndexMismatch(
        msg("index {name} is not this library's index, or is one of another version", name=repr(name)),
        component=session.component,
        hint="choose another opensearch.prefix, or delete that index if nobody needs it",
    )


def _meta(names: IndexNames) -> Mapping[str, str]:
    return {"library": names.library, "generation": names.generation}


def _marks_fields() -> Mapping[str, Any]:
    return {"body": {"type": "object", "enabled": False}}


def _word_fields() -> Mapping[str, Any]:
    return {name: {"type": "long"} for name in ("number", "held", "at", "before")}


def _passage_fields(names: IndexNames, *, quantised: bool = False) -> Mapping[str, Any]:
    kept = {"type": "binary", "doc_values": True}
    method: dict[str, Any] = {
        "name": "hnsw", "engine": "lucene", "space_type": "innerproduct",
        "parameters": {**_GRAPH, **(_QUANTISED if quantised else {})},
    }  # fmt: skip
    vector = {
        "vector": {"type": "knn_vector", "dimension": names.vectors, "method": method},
        "exact": kept,
    }
    return {
        "passage_id": {"type": "long"},
        "source": {"type": "keyword"},
        "document_id": {"type": "long"},
        "tokens": {"type": "keyword"},
        "ordered": {"type": "keyword"},
        "valid_from": {"type": "integer"},
        "valid_until": {"type": "integer"},
        "seq": {"type": "long"},
        "length": {"type": "long"},
        "mean": {"type": "double"},
        "embedded": {"type": "boolean"},
        "words": {"type": "rank_features"},
        "counts": kept,
        **(vector if names.vectors else {}),
    }


def _create(
    session: ClusterSession, names: IndexNames, name: str, fields: Mapping[str, Any], shape: IndexShape
) -> None:
    passages = "words" in fields
    index: dict[str, Any] = {
        "number_of_shards": shape.shards, "number_of_replicas": shape.replicas, "refresh_interval": "-1",
        "merge.policy.expunge_deletes_allowed": 0,  # what was removed is to leave the files, when that is asked for
    }  # fmt: skip
    if passages and names.vectors:
        index["knn"] = True
    mappings: dict[str, Any] = {"dynamic": "strict", "_meta": _meta(names), "properties": fields}
    if passages:
        mappings["_source"] = {
            "enabled": False
        }  # all of it stands in fields; vectors as text would be three times as large
    body = {"settings": {"index": index}, "mappings": mappings, "aliases": {f"{name}_w": {}}}
    told = session.change("PUT", f"/{name}", body, ignore=(400,), timeout="30s")
    if "error" in told:
        kind = str(told["error"].get("type", ""))
        if kind == "resource_already_exists_exception":  # a reply was lost, and it was tried again
            return
        if kind in ("mapper_parsing_exception", "illegal_argument_exception", "settings_exception") and passages:
            raise ConfigError(
                "the cluster takes no vectors or features: its k-NN plugin or a module is missing",
                component=session.component,
                hint="install the plugin opensearch-knn on all nodes; the usual distribution has it",
            )
        raise EngineUnavailable(
            msg("the cluster makes no index ({kind})", kind=kind[:80]), component=session.component
        )
