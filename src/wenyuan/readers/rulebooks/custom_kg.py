"""The JSON that LightRAG's ``insert_custom_kg`` takes: entities, relationships and the chunks they come from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from wenyuan.core.errors import DocumentRejected
from wenyuan.core.rules.book import Book
from wenyuan.core.rules.model import Place
from wenyuan.core.suggest import did_you_mean
from wenyuan.readers.decode import decode
from wenyuan.readers.rulebooks.entries import Writing
from wenyuan.readers.rulebooks.extracted import take_entity, take_relationship
from wenyuan.readers.rulebooks.tree import Tree, json_tree

__all__ = ["read_custom_kg"]

_PARTS = ("entities", "relationships", "chunks")
_ENTITY = {"entity_name": "name", "entity_type": "type", "description": "description"}
_RELATIONSHIP = {
    "src_id": "src", "tgt_id": "dst", "keywords": "keywords", "description": "description", "weight": "weight",
    "source_id": "source_id", "file_path": "file_path",
}  # fmt: skip
_NOT_READ = frozenset({"source_id", "file_path", "created_at", "chunk_order_index", "relationship_id", "entity_id"})


def read_custom_kg(content: bytes, *, file: str, pack: str) -> Book:
    """Read the file; its statements are proposals, and the order of their ends is a hint (see `Direction`).

    Raises:
        DocumentRejected: it is not JSON, or has none of the three lists.
    """
    tree = json_tree(decode(content).text)
    if not isinstance(tree, Tree) or not any(part in tree for part in _PARTS):
        raise DocumentRejected("it has neither entities nor relationships: it is no custom_kg file")
    reading = _Reading(Writing(pack, file, machine=True))
    for key, value in tree.items():
        reading.part(key, value)
    for key, _, _ in tree.doubled:
        reading.writing.fault("duplicate_key", f"the key {key!r} stands twice at the top", Place(file))
    return reading.writing.book()


class _Reading:
    def __init__(self, writing: Writing) -> None:
        self.writing = writing

    def part(self, key: str, value: Any) -> None:
        top = Place(self.writing.file, cell=key)
        if key not in _PARTS:
            self.writing.fault("unknown_key", f"no such key: {key!r}{did_you_mean(key, _PARTS)}", top)
        elif not isinstance(value, list):
            self.writing.fault("bad_value", f"{key} must be a list", top)
        elif key != "chunks":  # the texts themselves are documents of the library, not rules
            for number, item in enumerate(value):
                self._item(key, item, Place(self.writing.file, cell=f"{key}[{number}]"))

    def _item(self, part: str, item: Any, place: Place) -> None:
        entity = part == "entities"
        counts = {"nodes": 1} if entity else {"statements": 1}
        if not isinstance(item, Mapping):
            self.writing.refuse("bad_value", f"an entry is an object, not {item!r:.80}", place, **counts)
            return
        wanted = _ENTITY if entity else _RELATIONSHIP
        unknown = [key for key in item if key not in wanted and key not in _NOT_READ]
        wrong = [key for key, value in item.items() if not isinstance(value, (str, int, float, type(None)))]
        if unknown:
            hint = did_you_mean(unknown[0], wanted)
            self.writing.refuse("unknown_key", f"no such key: {unknown[0]!r}{hint}", place, **counts)
        elif wrong:
            message = f"{wrong[0]} is {item[wrong[0]]!r:.80}; it must be text or a number"
            self.writing.refuse("bad_value", message, place, **counts)
        else:
            fields = {wanted[key]: str(item[key]) for key in wanted if item.get(key) is not None}
            self._take(entity, fields, place)

    def _take(self, entity: bool, fields: dict[str, str], place: Place) -> None:
        if entity:
            fields.setdefault("name", "")
            take_entity(fields, place, self.writing)
        else:
            take_relationship(fields, place, self.writing, "likely")
