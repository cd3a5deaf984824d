"""Rule packs as YAML, and books of rules as JSON lines.

YAML packs: what people write and keep under version control.

Beside ``nodes`` and ``statements`` in full there are two short forms: a list of nodes under the name of their
kind (``process: [{name: …}]``), and statements below what they are about: an entry ``about: 深基坑开挖`` with the key
``produces_hazard``, whose items may have ``evidence`` and statements of their own (``mitigated_by``), which are about the
item.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from wenyuan.core.errors import did_you_mean, msg
from wenyuan.core.rules.book import Book
from wenyuan.core.rules.model import EntryPlace
from wenyuan.readers.decoding import clean, decode
from wenyuan.readers.rulebooks.entries import STATEMENT_KEYS, Writing
from wenyuan.readers.rulebooks.form import is_misspelling, place_in
from wenyuan.readers.rulebooks.trees import LocatedList, Tree, yaml_tree

_LISTS = ("sources", "nodes", "statements")
_ABOUT_THE_PACK = ("title", "description", "version", "license")
_TOP = ("pack", "schema", *_LISTS, *_ABOUT_THE_PACK)
_BELOW = tuple(key for key in STATEMENT_KEYS if key not in ("src", "rel", "dst"))


def read_yaml(content: bytes, *, file: str, pack: str) -> Book:
    """Read a YAML pack.

    Args:
        pack: Its pack's name, where it does not say one itself.

    Raises:
        DocumentRejected: it cannot be read as a whole.
    """
    decoded = decode(content)
    text, cleaned = clean(decoded.text)
    reading = _Reading(Writing(pack, file))
    for remark in (*decoded.notes, *cleaned):
        reading.writing.note("cleaned", remark, EntryPlace(file))
    reading.file(yaml_tree(text))
    return reading.writing.book()


class _Reading:
    def __init__(self, writing: Writing) -> None:
        self.writing = writing
        self.relations: frozenset[str] = frozenset()

    def file(self, tree: Any) -> None:
        top = EntryPlace(self.writing.file)
        if not isinstance(tree, Tree):
            what = "it is empty" if tree is None else "its outermost value is no mapping"
            self.writing.fault(
                "bad_file", msg("{what}; a pack has keys such as nodes and statements", what=what), top
            )
            return
        for key, line, value in tree.doubled:
            message = f"the key {key!r} stands twice at the top: put all of it under the first one"
            self._lost(key, value, "duplicate_key", message, EntryPlace(top.file, line))
        schema = tree.get("schema")
        kinds = _names(schema, "kinds")
        self.relations = _names(schema, "relations")
        for key, value in tree.items():
            self._part(key, value, EntryPlace(top.file, tree.lines.get(key)), kinds)

    def _part(self, key: str, value: Any, place: EntryPlace, kinds: frozenset[str]) -> None:
        if key == "pack":
            self._pack(value, place)
        elif key == "schema":
            if value is not None:
                self.writing.schema(value, place)
        elif key in _ABOUT_THE_PACK:
            return
        elif key not in _TOP and key not in kinds and is_misspelling(key, _TOP):
            self._lost(
                key,
                value,
                "unknown_key",
                msg("no such key: {key}{near}", key=repr(key), near=did_you_mean(key, _TOP)),
                place,
            )
        elif value is None:
            return
        elif isinstance(value, LocatedList):
            self._items(key, value, place)
        elif key in _TOP:
            self.writing.fault("bad_value", msg("{key} must be a list", key=key), place)
        else:
            message = msg(
                "no such key: {key}{near}; the nodes of a kind would be a list",
                key=repr(key),
                near=did_you_mean(key, _TOP),
            )
            self.writing.fault("unknown_key", message, place)

    def _lost(self, key: str, value: Any, code: str, message: str, place: EntryPlace) -> None:
        """Record a part that is refused as a whole; its entries are counted by their most likely kind."""
        count = len(value) if isinstance(value, list) else 0
        if is_misspelling(key, ("statements",)):
            self.writing.refuse(code, message, place, statements=_count_statements(value))
        elif is_misspelling(key, ("nodes",)) or (key not in _TOP and not is_misspelling(key, _TOP)):
            self.writing.refuse(code, message, place, nodes=count)
        else:
            self.writing.fault(code, message, place)

    def _pack(self, value: Any, place: EntryPlace) -> None:
        if isinstance(value, str) and value.strip():
            self.writing.pack = value.strip()
        else:
            self.writing.fault("bad_value", f"pack is {value!r:.80}; it must be a name", place)

    def _items(self, key: str, items: LocatedList, place: EntryPlace) -> None:
        for item, line in zip(items, items.lines, strict=True):
            at = EntryPlace(place.file, line)
            if key == "sources":
                self.writing.source(item, at)
            elif key == "statements":
                self._statement(item, at)
            else:
                self.writing.node(item, at, "" if key == "nodes" else key)

    def _statement(self, item: Any, place: EntryPlace) -> None:
        if not isinstance(item, Tree) or "about" not in item:
            self.writing.statement(item, place)
            return
        subject = item["about"]
        if not isinstance(subject, str) or not subject.strip():
            message = f"about is {subject!r:.80}; it must be a node's name"
            self.writing.refuse("bad_value", message, place_in(item, place), statements=_count_below(item, {"about"}))
            return
        self._doubled(item, place)
        self._below(item, {"about"}, subject, place, under="")

    def _doubled(self, item: Tree, place: EntryPlace) -> None:
        for key, line, value in item.doubled:
            message = msg(
                "the key {key} stands twice below {about}",
                key=repr(key),
                about=repr(item.get("about", item.get("to"))),
            )
            lost = 0 if key in ("about", "to", *_BELOW) else _count(value)
            self.writing.refuse("duplicate_key", message, EntryPlace(place.file, line), statements=lost)

    def _below(self, item: Tree, own: set[str], subject: str, place: EntryPlace, *, under: str) -> None:
        """Read the statements nested under `subject`: every key of `item` not in `own` is a relation."""
        for relation, value in item.items():
            if relation in own:
                continue
            at = EntryPlace(place.file, item.lines.get(relation))
            items = value if isinstance(value, LocatedList) else LocatedList(at.line)
            if items is not value and value is not None:
                items.append(value)
                items.lines.append(at.line or 0)
            for entry, line in zip(items, items.lines, strict=True):
                self._object(subject, relation, entry, EntryPlace(at.file, line), under)

    def _object(self, subject: str, relation: str, entry: Any, place: EntryPlace, under: str) -> None:
        if isinstance(entry, str):
            entry = _with(place.line, to=entry)
        if not isinstance(entry, Tree):
            message = f"what {relation} leads to is a name or a mapping with 'to', not {entry!r:.80}"
            self.writing.refuse("bad_value", message, place, statements=1)
            return
        own = {"to", *_BELOW}
        unknown = (key for key in entry if key not in own and key not in self.relations)
        own |= {key for key in unknown if is_misspelling(key, own)}  # misspelled, and no relation
        flat = _with(entry.line, src=subject, rel=relation)
        for key in entry:
            if key in own:
                flat.add("dst" if key == "to" else key, entry[key], entry.lines.get(key))
        flat.doubled.extend(d for d in entry.doubled if d[0] in own)
        rest = Tree(entry.line)
        rest["to"] = entry.get("to")
        rest.doubled.extend(d for d in entry.doubled if d[0] not in own)
        self._doubled(rest, place)
        target = entry.get("to")
        if not isinstance(target, str) or not target.strip():
            message = f"an entry below {relation} has no 'to'"
            self.writing.refuse("bad_value", message, place_in(entry, place), statements=1 + _count_below(entry, own))
            return
        self.writing.statement(flat, place, under=under)
        self._below(entry, own, target, place, under=relation)


def _with(line: int | None, **values: Any) -> Tree:
    tree = Tree(line)
    for key, value in values.items():
        tree.add(key, value, line)
    return tree


def _names(schema: Any, part: str) -> frozenset[str]:
    named = schema.get(part) if isinstance(schema, Mapping) else None
    return frozenset(named) if isinstance(named, Mapping) else frozenset()


def _count(value: Any) -> int:
    """Number of statements that a refused value would have held, including nested ones."""
    items = value if isinstance(value, list) else [] if value is None else [value]
    below = {"to", *_BELOW}
    return sum(1 + (_count_below(item, below) if isinstance(item, Tree) else 0) for item in items)


def _count_statements(value: Any) -> int:
    items = value if isinstance(value, list) else []
    return sum(_count_below(i, {"about"}) if isinstance(i, Tree) and "about" in i else 1 for i in items)


def _count_below(item: Tree, own: set[str]) -> int:
    return sum(_count(value) for key, value in item.items() if key not in own)
