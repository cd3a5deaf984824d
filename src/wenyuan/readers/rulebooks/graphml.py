"""GraphML, as networkx and LightRAG write it: read as a stream, without document types and entities.

The kind of a node is its ``entity_type``; the relation of an edge its ``keywords``. An undirected graph does not
know which end is the subject: the kinds decide (see `core.rules.checking`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import IO
from xml.parsers import expat

from wenyuan.core.errors import DocumentRejected, msg
from wenyuan.core.rules.book import Book, Direction
from wenyuan.core.rules.model import EntryPlace
from wenyuan.readers.rulebooks.entries import Writing
from wenyuan.readers.rulebooks.lightrag import take_entity, take_relationship

_PIECE = 1 << 16
_MAX_TEXT = 1_000_000
_MAX_DEPTH = 32
_MAX_ITEMS = 1_000_000  # nodes and edges; ten times what a large graph of rules has
_NODE_FIELDS = {
    "entity_id": "name", "name": "name", "label": "name", "entity_type": "type", "type": "type", "kind": "type",
    "description": "description",
}  # fmt: skip
_EDGE_FIELDS = {
    "keywords": "keywords", "relation": "keywords", "rel": "keywords", "label": "keywords", "type": "keywords",
    "description": "description", "weight": "weight", "source_id": "source_id", "file_path": "file_path",
}  # fmt: skip
_BOOKKEEPING = frozenset({"created_at", "truncate", "source_id", "file_path", "id", "chunk_ids", "order", "rank"})


class _Stop(Exception):
    """Raised to stop parsing XML with unsupported content."""


def read_graphml(stream: IO[bytes], *, file: str, pack: str) -> Book:
    """Read a graph.

    Raises:
        DocumentRejected: it is not well-formed, declares a document type, or is no GraphML.
    """
    walk = _Walk(Writing(pack, file, machine=True))
    parser = expat.ParserCreate()
    parser.buffer_text = True
    parser.StartElementHandler = walk.start
    parser.EndElementHandler = walk.end
    parser.CharacterDataHandler = walk.text
    parser.StartDoctypeDeclHandler = walk.doctype
    walk.line = lambda: parser.CurrentLineNumber
    try:
        while piece := stream.read(_PIECE):
            parser.Parse(piece, False)
        parser.Parse(b"", True)
    except _Stop as error:
        raise DocumentRejected(msg("line {line}: {fault}", line=parser.CurrentLineNumber, fault=error)) from error
    except (expat.ExpatError, ValueError, LookupError) as error:  # the latter two: an encoding it does not know
        raise DocumentRejected(msg("it is not well-formed XML: {error}", error=error)) from error
    if not walk.graphs:
        raise DocumentRejected("it is XML, but has no graph: it is no GraphML")
    return walk.writing.book()


class _Walk:
    """Handles XML elements and passes nodes and edges to the `Writing`, one at a time."""

    def __init__(self, writing: Writing) -> None:
        self.writing = writing
        self.line: Callable[[], int] = lambda: 0
        self.graphs = 0
        self.count = 0
        self.depth = 0
        self.direction: Direction = "none"
        self.names: dict[str, str] = {}
        self.labels: dict[str, str] = {}
        self.item: dict[str, str] | None = None
        self.place = EntryPlace(writing.file)
        self.key = ""
        self.words: list[str] | None = None
        self.size = 0
        self.unread: set[str] = set()

    def doctype(self, *_: object) -> None:
        raise _Stop("it declares a document type (DTD), which may hide entities")

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        self.depth += 1
        if self.depth > _MAX_DEPTH:
            raise _Stop(f"it is nested deeper than {_MAX_DEPTH} levels")
        tag = tag.rpartition(":")[2]
        if tag == "key":
            self.names[attributes.get("id", "")] = attributes.get("attr.name", attributes.get("id", ""))
        elif tag == "graph":
            self.graphs += 1
            self.direction = "stated" if attributes.get("edgedefault") == "directed" else "none"
        elif tag in ("node", "edge"):
            if self.item is not None:
                raise _Stop("nodes with graphs inside them are not read")
            self.count += 1
            if self.count > _MAX_ITEMS:
                raise _Stop(msg("it has more than {max_items} nodes and edges", max_items=f"{_MAX_ITEMS:,}"))
            self.item, self.place = dict(attributes), EntryPlace(self.writing.file, self.line())
            self.key = ""
        elif tag == "data" and self.item is not None:
            self.key, self.words, self.size = attributes.get("key", ""), [], 0

    def text(self, words: str) -> None:
        if self.words is None:
            return
        self.size += len(words)
        if self.size > _MAX_TEXT:
            raise _Stop(f"a value has more than {_MAX_TEXT:,} characters")
        self.words.append(words)

    def end(self, tag: str) -> None:
        self.depth -= 1
        tag = tag.rpartition(":")[2]
        if tag == "data" and self.item is not None and self.words is not None:
            self.item[f"data {self.names.get(self.key, self.key)}"] = "".join(self.words)
            self.words = None
        elif tag == "node" and self.item is not None:
            self._node(self.item)
            self.item = None
        elif tag == "edge" and self.item is not None:
            self._edge(self.item)
            self.item = None

    def _fields(self, item: dict[str, str], wanted: dict[str, str]) -> dict[str, str]:
        """Values by our field names; where several attribute names map to one field, the first counts."""
        values = {name: item[f"data {name}"] for name in wanted if item.get(f"data {name}", "").strip()}
        for name in (key.removeprefix("data ") for key in item if key.startswith("data ")):
            if name not in wanted and name not in _BOOKKEEPING and name not in self.unread:
                self.unread.add(name)
                message = msg("the values of {name} are not read", name=repr(name))
                self.writing.note("unread_values", message, self.place)
        found: dict[str, str] = {}
        for name, value in values.items():
            found.setdefault(wanted[name], value)
        return found

    def _node(self, item: dict[str, str]) -> None:
        fields = self._fields(item, _NODE_FIELDS)
        fields.setdefault("name", item.get("id", ""))
        self.labels[item.get("id", "")] = fields["name"]
        take_entity(fields, self.place, self.writing)

    def _edge(self, item: dict[str, str]) -> None:
        fields = self._fields(item, _EDGE_FIELDS)
        for end, ours in (("source", "src"), ("target", "dst")):
            written = item.get(end, "")
            fields[ours] = self.labels.get(written, written)
        take_relationship(fields, self.place, self.writing, self.direction)
