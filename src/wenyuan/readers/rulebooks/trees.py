"""YAML and JSON as trees whose every value knows its line."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, NoReturn

import yaml

from wenyuan.core.errors import DocumentRejected, msg

# Plain values with line numbers: YAML and JSON files before their fields are interpreted.
#
# YAML is read from the parser's events, so that nothing is built that was not looked at: no aliases (a few of
# them unfold to gigabytes), no tags, no key twice, bounded nesting. Plain scalars follow the JSON-like part of
# YAML: ``no`` and ``2018-06-01`` are text, numbers are numbers.


_MAX_DEPTH = 32
_INT = re.compile(r"[-+]?(?:0|[1-9][0-9]{0,17})")
_FLOAT = re.compile(r"[-+]?[0-9]{1,18}\.[0-9]{0,24}(?:[eE][-+][0-9]{1,3})?")
_WORDS: dict[str, bool | None] = {"": None, "~": None, "null": None, "Null": None, "NULL": None}
_WORDS |= dict.fromkeys(("true", "True", "TRUE"), True) | dict.fromkeys(("false", "False", "FALSE"), False)


class Tree(dict[str, Any]):
    """A mapping with its line, the line of each key, and the values of duplicate keys."""

    def __init__(self, line: int | None = None) -> None:
        super().__init__()
        self.line = line
        self.lines: dict[str, int] = {}
        self.doubled: list[tuple[str, int | None, Any]] = []

    def add(self, key: str, value: Any, line: int | None) -> None:
        """Add a pair; for a duplicate key the first value stays, and the duplicate is recorded."""
        if key in self:
            self.doubled.append((key, line, value))
            return
        self[key] = value
        if line is not None:
            self.lines[key] = line


class LocatedList(list[Any]):
    """A sequence with its line, and the line of each item."""

    def __init__(self, line: int | None = None) -> None:
        super().__init__()
        self.line = line
        self.lines: list[int] = []


def doubled_keys(value: object) -> Iterator[tuple[str, int | None]]:
    """Every duplicate key in a tree, with the line of its second occurrence."""
    if isinstance(value, Tree):
        yield from ((key, line) for key, line, _ in value.doubled)
    if isinstance(value, (Tree, LocatedList, list)):
        for inner in value.values() if isinstance(value, Tree) else value:
            yield from doubled_keys(inner)


def _refuse(what: str, mark: Any) -> NoReturn:
    raise DocumentRejected(msg("line {line}: {fault}", line=mark.line + 1, fault=what))


class _Builder:
    """Builds a value from parser events."""

    def __init__(self) -> None:
        self.stack: list[Tree | LocatedList] = []
        self.keys: list[tuple[str, int] | None] = []
        self.root: Any = None

    def take(self, event: Any) -> None:
        if isinstance(event, yaml.AliasEvent):
            _refuse(f"the alias *{event.anchor} is not read: write out what it stands for", event.start_mark)
        if isinstance(event, yaml.NodeEvent):
            self._node(event)
        elif isinstance(event, yaml.CollectionEndEvent):
            self.stack.pop()
            self.keys.pop()

    def _node(self, event: Any) -> None:
        if event.tag not in (None, "!", "tag:yaml.org,2002:str"):
            _refuse(msg("the tag {tag} is not read", tag=repr(event.tag)), event.start_mark)
        line = event.start_mark.line + 1
        if isinstance(event, yaml.ScalarEvent):
            self._put(_scalar(event), line, event)
            return
        if len(self.stack) >= _MAX_DEPTH:
            _refuse(f"it is nested deeper than {_MAX_DEPTH} levels", event.start_mark)
        value = Tree(line) if isinstance(event, yaml.MappingStartEvent) else LocatedList(line)
        self._put(value, line, event)
        self.stack.append(value)
        self.keys.append(None)

    def _put(self, value: Any, line: int, event: Any) -> None:
        if not self.stack:
            self.root = value
            return
        parent = self.stack[-1]
        if isinstance(parent, LocatedList):
            parent.append(value)
            parent.lines.append(line)
            return
        key = self.keys[-1]
        if key is None:
            if not isinstance(event, yaml.ScalarEvent):
                _refuse("a key must be text", event.start_mark)
            self.keys[-1] = (event.value, line)
            return
        parent.add(key[0], value, key[1])
        self.keys[-1] = None


def _scalar(event: Any) -> str | int | float | bool | None:
    text: str = event.value
    if event.tag is not None or not event.implicit[0]:  # said to be text, quoted, or a block
        return text
    if text in _WORDS:
        return _WORDS[text]
    if _INT.fullmatch(text):
        return int(text)
    return float(text) if _FLOAT.fullmatch(text) else text


def yaml_tree(text: str) -> Any:
    """The value of a YAML file of one document; mappings are `Tree`, sequences `LocatedList`.

    Raises:
        DocumentRejected: it is not well-formed, has aliases, tags or several documents, or is nested too deeply.
    """
    builder, documents = _Builder(), 0
    try:
        for event in yaml.parse(text, yaml.CSafeLoader):
            documents += isinstance(event, yaml.DocumentStartEvent)
            if documents > 1:
                _refuse("one YAML document a file is read, and here a second one begins", event.start_mark)
            builder.take(event)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        fault = msg("it is not well-formed YAML: {error}", error=error.problem or error.context)
        raise DocumentRejected(
            msg("line {line}: {fault}", line=mark.line + 1, fault=fault) if mark else fault
        ) from error
    except yaml.YAMLError as error:
        raise DocumentRejected(msg("it is not well-formed YAML: {error}", error=error)) from error
    return builder.root


def json_tree(text: str, line: int | None = None) -> Any:
    """The value of a JSON text; objects are `Tree` at the given line.

    Raises:
        DocumentRejected: it is not JSON, has NaN or infinity, or is nested too deeply.
    """

    def tree(pairs: list[tuple[str, Any]]) -> Tree:
        made = Tree(line)
        for key, value in pairs:
            made.add(key, value, line)
        return made

    def constant(name: str) -> NoReturn:
        raise ValueError(f"{name} is no number in JSON")

    try:
        return json.loads(text, object_pairs_hook=tree, parse_constant=constant)
    except RecursionError as error:
        raise DocumentRejected("it is nested too deeply") from error
    except ValueError as error:
        raise DocumentRejected(msg("it is not well-formed JSON: {error}", error=error)) from error
