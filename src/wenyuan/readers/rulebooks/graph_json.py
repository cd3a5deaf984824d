"""Graphs as JSON: what LightRAG's ``insert_custom_kg`` takes, and lists of entities and relations with ids.

One file has both lists (``knowledge_graph.json``), or each has a file of its own (``entities.json``,
``relations.json``): then the folder is read, and the ends of relations are ids of the other file.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from wenyuan.core.errors import DocumentRejected, did_you_mean, msg
from wenyuan.core.rules.book import Book
from wenyuan.core.rules.model import EntryPlace
from wenyuan.readers.decoding import decode
from wenyuan.readers.rulebooks.entries import Writing
from wenyuan.readers.rulebooks.lightrag import take_entity, take_relationship
from wenyuan.readers.rulebooks.trees import Tree, json_tree

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
            "duplicate_key", msg("the key {key} stands twice at the top", key=repr(key)), EntryPlace(file)
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
            self._item(part, item, EntryPlace(self.writing.file, cell=f"[{number}]"))

    def part(self, key: str, value: Any) -> None:
        top = EntryPlace(self.writing.file, cell=key)
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
                self._item(part, item, EntryPlace(self.writing.file, cell=f"{key}[{number}]"))

    def _item(self, part: str, item: Any, place: EntryPlace) -> None:
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

    def _take(self, part: str, item: Mapping[str, Any], wanted: Mapping[str, str], place: EntryPlace) -> None:
        fields: dict[str, str] = {}
        for key in wanted:  # where two keys mean one, the first one counts
            if item.get(key) is not None:
                fields.setdefault(wanted[key], str(item[key]))
        if part == "relations":
            take_relationship(fields, place, self.writing, "likely")
            return
        fields.setdefault("name", "")
        take_entity(fields, place, self.writing, aliases=item.get("aliases"), attributes=item.get("attributes"))
