"""Knowledge graphs as GraphML and JSON, in LightRAG's formats."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from typing import IO, Any
from urllib.parse import quote
from xml.parsers import expat

from wenyuan.core.addresses import with_fragment
from wenyuan.core.errors import DocumentRejected, did_you_mean, msg
from wenyuan.core.rules import Book, Direction, Place
from wenyuan.core.text import language_of
from wenyuan.readers.decoding import decode
from wenyuan.readers.rulebooks.entries import Tree, Writing, json_tree

# What programs extract from texts, as LightRAG writes it: entities with a type, relationships with keywords.


SEPARATOR = "<SEP>"
_UNKNOWN = frozenset({"", "UNKNOWN", "unknown_source", "no_file_path"})
_MAX_EVIDENCES = 200
_EXTRACTED_MAX_TEXT = 10_000


def _parts(text: str) -> list[str]:
    return [p for p in (part.strip() for part in text.split(SEPARATOR)) if p not in _UNKNOWN]


def _bare(name: str) -> str:
    """A name without surrounding quotation marks, which some models add to every name."""
    name = name.strip()
    return name[1:-1].strip() if len(name) > 2 and name[0] == name[-1] == '"' else name


def take_entity(
    fields: Mapping[str, str],
    place: Place,
    writing: Writing,
    *,
    aliases: list[object] | None = None,
    attributes: Mapping[str, object] | None = None,
) -> None:
    """Add an entity: ``name``, ``type``, and ``description``, which becomes an attribute.

    An ``id`` becomes an alias, by which relations name it, in other files too. It is no key: the same thing comes from
    other graphs without it, or with another one.
    """
    described = "\n".join(_parts(fields.get("description", "")))[:_EXTRACTED_MAX_TEXT]
    more = {"description": described, "engineering_type": fields.get("engineering_type", "")}
    tree: dict[str, object] = {
        "kind": _bare(fields.get("type", "")),
        "name": _bare(fields["name"]),
        "aliases": [*(aliases or []), *([{"text": fields["id"], "type": "code"}] if fields.get("id") else [])],
        "attributes": {**(attributes or {}), **{key: value for key, value in more.items() if value}},
    }
    writing.node({key: value for key, value in tree.items() if value or key in ("kind", "name")}, place)


def take_relationship(fields: Mapping[str, str], place: Place, writing: Writing, direction: Direction) -> None:
    """Add a relationship: ``src``, ``dst``, ``keywords`` (the relation's label), ``description``, ``weight``.

    A weight above 1 counts as 1: in such graphs it is a number of mentions. Its evidences are the pieces of text
    (``source_id``) that it was found in, addressed inside the file they come from (``file_path``).
    """
    described = "\n".join(_parts(fields.get("description", "")))[:_EXTRACTED_MAX_TEXT]
    tree: dict[str, object] = {
        "src": _bare(fields.get("src", "")),
        "rel": fields.get("keywords", ""),
        "dst": _bare(fields.get("dst", "")),
        "weight": _weight(fields.get("weight", "")),
    }
    if described:
        tree["sentence"] = {language_of(described) or "und": described}
    tree["evidence"] = [{"uri": uri} for uri in _addresses(fields)]
    writing.statement(tree, place, direction=direction)


def _weight(written: str) -> float | str:
    """The weight, at most 1; a value that is no number is returned unchanged, to be refused with its text."""
    if not written.strip():
        return 1.0
    try:
        weight = float(written)
    except ValueError:  # then it is refused as an entry, with the place
        return written
    return min(weight, 1.0) if math.isfinite(weight) else written


def _addresses(fields: Mapping[str, str]) -> Iterable[str]:
    chunks, files = _parts(fields.get("source_id", "")), _parts(fields.get("file_path", ""))
    if len(files) == 1:
        return [with_fragment(files[0], chunk) for chunk in chunks[:_MAX_EVIDENCES]] or files
    if files and not chunks:
        return files[:_MAX_EVIDENCES]
    return [f"urn:chunk:{quote(chunk)}" for chunk in chunks[:_MAX_EVIDENCES]]


# GraphML, as networkx and LightRAG write it: read as a stream, without document types and entities.
#
# The kind of a node is its ``entity_type``; the relation of an edge its ``keywords``. An undirected graph does not
# know which end is the subject: the kinds decide (see `core.rules.checking`).


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
        self.place = Place(writing.file)
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
            self.item, self.place = dict(attributes), Place(self.writing.file, self.line())
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


# Graphs as JSON: what LightRAG's ``insert_custom_kg`` takes, and lists of entities and relations with ids.
#
# One file has both lists (``knowledge_graph.json``), or each has a file of its own (``entities.json``,
# ``relations.json``): then the folder is read, and the ends of relations are ids of the other file.


_RELATIONS = ("relationships", "relations")
_PARTS = ("entities", *_RELATIONS, "chunks", "metadata")
_ENTITY = {
    "entity_name": "name", "name": "name", "entity_type": "type", "type": "type", "description": "description",
    "id": "id", "engineering_type": "engineering_type",
}  # fmt: skip
_RELATIONSHIP = {
    "src_id": "src", "source_entity_id": "src", "tgt_id": "dst", "target_entity_id": "dst", "keywords": "keywords",
    "relation_type": "keywords", "description": "description", "evidence": "description", "weight": "weight",
    "confidence": "weight", "source_id": "source_id", "file_path": "file_path", "source_doc": "file_path",
}  # fmt: skip
_ENDS = ("src_id", "source_entity_id", "tgt_id", "target_entity_id")
_NAMES = ("entity_name", "name")
_NOT_READ = {
    "entities": {"source_id", "file_path", "created_at", "entity_id", "source", "confidence"},
    "relations": {"created_at", "chunk_order_index", "relationship_id", "id"},
}
_NONE = "it has neither entities nor relations, as LightRAG's insert_custom_kg and graphs in JSON have them"


def read_graph_json(content: bytes, *, file: str, pack: str) -> Book:
    """Read a JSON graph; its statements are proposals, and the order of their ends is a hint (see `Direction`).

    Raises:
        DocumentRejected: it is not JSON, or has neither of the two lists.
    """
    tree = json_tree(decode(content).text)
    reading = _Reading(Writing(pack, file, machine=True))
    if isinstance(tree, list):
        reading.bare(tree)
        return reading.writing.book()
    if not isinstance(tree, Tree) or not any(part in tree for part in _PARTS[:-1]):
        raise DocumentRejected(_NONE)
    for key, value in tree.items():
        reading.part(key, value)
    for key, _, _ in tree.doubled:
        reading.writing.fault(
            "duplicate_key", msg("the key {key} stands twice at the top", key=repr(key)), Place(file)
        )
    return reading.writing.book()


class _Reading:
    def __init__(self, writing: Writing) -> None:
        self.writing = writing

    def bare(self, items: list[Any]) -> None:
        """Read a list without a name; its first entry shows whether it has nodes or edges."""
        first = next((item for item in items if isinstance(item, Mapping)), {})
        part = next((part for part, keys in (("relations", _ENDS), ("entities", _NAMES)) if {*keys} & {*first}), "")
        if not part:
            raise DocumentRejected(_NONE)
        for number, item in enumerate(items):
            self._item(part, item, Place(self.writing.file, cell=f"[{number}]"))

    def part(self, key: str, value: Any) -> None:
        top = Place(self.writing.file, cell=key)
        if key not in _PARTS:
            self.writing.fault(
                "unknown_key", msg("no such key: {key}{near}", key=repr(key), near=did_you_mean(key, _PARTS)), top
            )
        elif key in ("chunks", "metadata"):  # texts are documents of the library, not rules
            return
        elif not isinstance(value, list):
            self.writing.fault("bad_value", msg("{key} must be a list", key=key), top)
        else:
            part = "relations" if key in _RELATIONS else key
            for number, item in enumerate(value):
                self._item(part, item, Place(self.writing.file, cell=f"{key}[{number}]"))

    def _item(self, part: str, item: Any, place: Place) -> None:
        entity = part == "entities"
        counts = {"nodes": 1} if entity else {"statements": 1}
        if not isinstance(item, Mapping):
            self.writing.refuse("bad_value", f"an entry is an object, not {item!r:.80}", place, **counts)
            return
        wanted = _ENTITY if entity else _RELATIONSHIP
        more = {"aliases": list, "attributes": Mapping} if entity else {}
        plain = (str, int, float, type(None))
        unknown = [key for key in item if key not in wanted and key not in more and key not in _NOT_READ[part]]
        wrong = [key for key, value in item.items() if not isinstance(value, more.get(key, plain))]
        if unknown:
            hint = did_you_mean(unknown[0], (*wanted, *more))
            self.writing.refuse(
                "unknown_key",
                msg("no such key: {unknown}{hint}", unknown=repr(unknown[0]), hint=hint),
                place,
                **counts,
            )
        elif wrong:
            form = {"aliases": "a list", "attributes": "an object"}.get(wrong[0], "text or a number")
            message = msg(
                "{wrong} is {item}; it must be {form}", wrong=wrong[0], item=f"{item[wrong[0]]!r:.80}", form=form
            )
            self.writing.refuse("bad_value", message, place, **counts)
        else:
            self._take(part, item, wanted, place)

    def _take(self, part: str, item: Mapping[str, Any], wanted: Mapping[str, str], place: Place) -> None:
        fields: dict[str, str] = {}
        for key in wanted:  # where two keys mean one, the first one counts
            if item.get(key) is not None:
                fields.setdefault(wanted[key], str(item[key]))
        if part == "relations":
            take_relationship(fields, place, self.writing, "likely")
            return
        fields.setdefault("name", "")
        take_entity(fields, place, self.writing, aliases=item.get("aliases"), attributes=item.get("attributes"))
