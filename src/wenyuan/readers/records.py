"""JSON and YAML that hold text, to `Document` values: entries as of JSON Lines, or keys as headings with what stands below them.

Files of settings, of measurements or of identifiers hold data: they are told apart by how much of them is written in words, and
left out.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from wenyuan.core.errors import NoDocument, msg
from wenyuan.core.model import Document
from wenyuan.readers.assemble import Original, assemble, rejected
from wenyuan.readers.jsonl import read_jsonl
from wenyuan.readers.markup import Spanning
from wenyuan.readers.outline import Outline
from wenyuan.readers.text import measured, readable

_MAX_DEPTH = 40
_MAX_VALUES = 300_000
_HEADINGS = 3  # levels of keys that are headings
_LEAST_SHARE = 0.3  # of the characters of keys and values, in words
_MOST_COLUMNS = 12
_TITLES = ("title", "name", "标题", "名称")
_TEXTS = frozenset(("text", "content", "page_content", "answer"))
_WORDS = re.compile(r"(?<![^\W\d_])[^\W\d_]{2,40}[,;:'’)]?(?:[ \t\n]+[(\"'“]?[^\W\d_]{1,40}[,.;:!?'’\")]{0,3}){3}")
_WIDE = re.compile(r"[\u4e00-\u9fff\u3040-\u30ff，。；：、！？]{6,}")


@dataclass(slots=True)
class RecordValue:
    """A value of a file: a text as it is written, a list, or keys with values.

    Attributes:
        value: A text, a list of entries, or a list of pairs.
        line: Where it begins, where that is known.
    """

    value: str | list[RecordValue] | list[tuple[str, RecordValue]]
    line: int | None = None
    keys: bool = False

    @property
    def pairs(self) -> list[tuple[str, RecordValue]]:
        """The keys with their values; empty for others."""
        return self.value if self.keys else []  # type: ignore[return-value]

    @property
    def items(self) -> list[RecordValue]:
        """The entries of a list; empty for others."""
        return [] if self.keys or isinstance(self.value, str) else self.value  # type: ignore[return-value]

    @property
    def text(self) -> str | None:
        """The text; None for lists and keys."""
        return self.value if isinstance(self.value, str) else None


def read_json(content: bytes, *, uri: str, name: str) -> tuple[Document, ...]:
    """Read JSON: a list of entries with ``text``, ``content`` or ``answer`` as JSON Lines, all else by its keys.

    Raises:
        NoDocument: it holds data, not text.
        DocumentRejected: it is not well-formed.
    """
    text, notes = readable(content, name)
    try:
        found = json.loads(text, parse_float=_Number, parse_int=_Number, parse_constant=_no_constant)
    except RecursionError as error:
        raise rejected("it is nested too deeply", name) from error
    except ValueError as error:
        raise rejected(msg("it is not well-formed JSON: {error}", error=error), name) from error
    if isinstance(found, list) and found and all(isinstance(each, dict) and _TEXTS & each.keys() for each in found):
        lines = json.loads(text)
        whole = "\n".join(json.dumps(each, ensure_ascii=False) for each in lines)
        return read_jsonl(whole.encode("utf-8", "replace"), uri=uri, name=name)
    return _read(_of_json(found, 0), text, Original(content, uri, name), "application/json", notes)


class _Number(str):
    """A number as it is written."""

    __slots__ = ()


def _no_constant(constant: str) -> NoReturn:
    raise ValueError(msg("{constant} is not JSON", constant=constant))


def _of_json(value: Any, depth: int) -> RecordValue:
    if depth > _MAX_DEPTH:
        return RecordValue(json.dumps(value, ensure_ascii=False))
    if isinstance(value, dict):
        return RecordValue([(key, _of_json(each, depth + 1)) for key, each in value.items()], keys=True)
    if isinstance(value, list):
        return RecordValue([_of_json(each, depth + 1) for each in value])
    return RecordValue(value if isinstance(value, str) else json.dumps(value))


def read_yaml(content: bytes, *, uri: str, name: str) -> tuple[Document, ...]:
    """Read YAML by its keys, values as they are written; a reference to another value is given by its name.

    Raises:
        NoDocument: it holds data, not text.
        DocumentRejected: it is not well-formed.
    """
    import yaml

    text, notes = readable(content, name)
    try:
        roots = list(_of_yaml(text))
    except yaml.YAMLError as error:
        reason = " ".join(str(getattr(error, "problem", None) or error).split())
        mark = getattr(error, "problem_mark", None)
        at = msg(" in line {number}", number=mark.line + 1) if mark is not None else ""
        raise rejected(msg("it is not valid YAML: {reason}{at}", reason=reason, at=at), name) from error
    root = roots[0] if len(roots) == 1 else RecordValue(roots)
    return _read(root, text, Original(content, uri, name), "application/yaml", notes)


def _of_yaml(text: str) -> Iterator[RecordValue]:
    """The documents of a file, made of its events: nothing that stands once is repeated."""
    import yaml

    stack: list[tuple[RecordValue, list[RecordValue]]] = []
    for count, event in enumerate(yaml.parse(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))):
        line = event.start_mark.line + 1 if event.start_mark else None
        if count > _MAX_VALUES:
            raise yaml.YAMLError(f"more than {_MAX_VALUES:,} values")
        done: RecordValue | None = None
        if isinstance(event, (yaml.MappingStartEvent, yaml.SequenceStartEvent)):
            if len(stack) > _MAX_DEPTH:
                raise yaml.YAMLError("nested too deeply")
            opened = RecordValue([], line, keys=isinstance(event, yaml.MappingStartEvent))
            stack.append((opened, []))
        elif isinstance(event, (yaml.MappingEndEvent, yaml.SequenceEndEvent)):
            done, inner = stack.pop()
            keys = [entry.text if entry.text is not None else "…" for entry in inner[::2]]
            done.value = list(zip(keys, inner[1::2], strict=False)) if done.keys else inner
        elif isinstance(event, yaml.ScalarEvent):
            done = RecordValue(event.value, line)
        elif isinstance(event, yaml.AliasEvent):
            done = RecordValue(f"*{event.anchor}", line)
        if done is not None:
            if stack:
                stack[-1][1].append(done)
            else:
                yield done


def _read(
    root: RecordValue, text: str, original: Original, media_type: str, notes: Sequence[str]
) -> tuple[Document, ...]:
    values = list(_texts(root))
    total = sum(map(len, values))
    if total == 0 or _in_words(values) < _LEAST_SHARE * total:
        raise NoDocument("it holds data, and hardly any text", component=original.name)
    outline = Outline()
    holder = next((entry for key, entry in root.pairs if key.lower() == "info" and entry.keys), root)
    stated = next(((key, entry) for key, entry in holder.pairs if key.lower() in _TITLES and entry.text), None)
    title = stated[1].text or "" if stated else ""
    if stated:
        outline.heading(title, 1, stated[1].line)
        holder.pairs.remove(stated)
        outline.added.append(title)
    _write(root, outline, 1 + bool(title), 0)
    outline.end()
    document = assemble(outline.pieces, original, title=title, media_type=media_type, notes=notes)
    return (measured(document, [*_texts(root)], added=outline.added),)


def _in_words(values: Sequence[str]) -> int:
    """Characters of values that are sentences or parts of them."""
    found = 0
    for value in values:
        head = value[:4_000]
        if "\x00" not in head and (_WORDS.search(head) or _WIDE.search(head)):
            found += len(value)
    return found


def _texts(root: RecordValue) -> Iterator[str]:
    """Keys and values, in order."""
    stack: list[RecordValue | str] = [root]
    while stack:
        entry = stack.pop()
        if isinstance(entry, str):
            yield entry
        elif entry.text is not None:
            yield entry.text
        elif entry.keys:
            for key, value in reversed(entry.pairs):
                stack += [value, key]
        else:
            stack += reversed(entry.items)


def _write(entry: RecordValue, outline: Outline, level: int, depth: int) -> None:
    """Write an entry: keys of the first levels are headings, deeper ones stand before their values."""
    if entry.text is not None:
        outline.text(entry.text, entry.line)
        return
    if entry.keys:
        for key, value in entry.pairs:
            if value.text is None and (value.pairs or value.items) and level <= _HEADINGS and depth < _HEADINGS:
                outline.heading(key, level, value.line)
                _write(value, outline, level + 1, depth + 1)
            else:
                _keyed(key, value, outline, depth)
        return
    rows = _rows(entry)
    if rows:
        outline.table(rows, entry.line)
        return
    for each in entry.items:
        if each.text is not None:
            with outline.item("-"):
                outline.text(each.text, each.line)
        elif depth < _MAX_DEPTH:
            outline.leave()
            _write_entry(each, outline, depth + 1)
    outline.leave()


def _write_entry(entry: RecordValue, outline: Outline, depth: int) -> None:
    """An entry of a list as a paragraph of its own, a line for each key; what is nested below it."""
    short = [(key, value.text) for key, value in entry.pairs if value.text is not None]
    outline.text("\n".join(f"{key}: {text}" for key, text in short), entry.line)
    outline.added += [": "] * len(short)
    for key, value in entry.pairs:
        if value.text is None:
            _keyed(key, value, outline, depth)
    if not entry.keys:
        _write(entry, outline, _HEADINGS + 1, depth)


def _keyed(key: str, value: RecordValue, outline: Outline, depth: int) -> None:
    outline.term(key, value.line)
    if depth >= _MAX_DEPTH:
        outline.text(" ".join(_texts(value)), value.line)
    elif value.text is None and not value.keys and all(each.text is not None for each in value.items):
        outline.text(", ".join(each.text or "" for each in value.items), value.line)
        outline.added += [","] * max(0, len(value.items) - 1)
    else:
        _write(value, outline, _HEADINGS + 1, depth + 1)
    outline.end_term()


def _rows(entry: RecordValue) -> list[list[Spanning]]:
    """A list of entries with the same short values as a table; empty for others."""
    if len(entry.items) < 2 or not all(each.keys and len(each.pairs) > 1 for each in entry.items):
        return []
    names = [key for key, _ in entry.items[0].pairs]
    if len(names) > _MOST_COLUMNS:
        return []
    for each in entry.items:
        if [key for key, _ in each.pairs] != names:
            return []
        if any(value.text is None or "\n" in value.text.strip() or len(value.text) > 200 for _, value in each.pairs):
            return []
    rows = [[Spanning(name) for name in names]]
    rows += [[Spanning(value.text or "") for _, value in each.pairs] for each in entry.items]
    return rows
