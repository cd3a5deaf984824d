"""Parses entries of rule files into a `Book`: fields are validated, and each fault has its line."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date
from difflib import get_close_matches
from typing import Any, NoReturn, cast

import yaml

from wenyuan.core.errors import DocumentRejected, InvalidRequest, did_you_mean, msg
from wenyuan.core.model import Source
from wenyuan.core.rules import (
    Alias,
    AliasType,
    Book,
    BookFault,
    DeclaredSource,
    Direction,
    Node,
    Place,
    RawEvidence,
    RawStatement,
    StatementStatus,
    Strength,
    Tally,
)
from wenyuan.core.rules.names import folded
from wenyuan.core.text import language_of

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


class Items(list[Any]):
    """A sequence with its line, and the line of each item."""

    def __init__(self, line: int | None = None) -> None:
        super().__init__()
        self.line = line
        self.lines: list[int] = []


def doubled_keys(value: object) -> Iterator[tuple[str, int | None]]:
    """Every duplicate key in a tree, with the line of its second occurrence."""
    if isinstance(value, Tree):
        yield from ((key, line) for key, line, _ in value.doubled)
    if isinstance(value, (Tree, Items, list)):
        for inner in value.values() if isinstance(value, Tree) else value:
            yield from doubled_keys(inner)


def _refuse(what: str, mark: Any) -> NoReturn:
    raise DocumentRejected(msg("line {line}: {fault}", line=mark.line + 1, fault=what))


class _Builder:
    """Builds a value from parser events."""

    def __init__(self) -> None:
        self.stack: list[Tree | Items] = []
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
        value = Tree(line) if isinstance(event, yaml.MappingStartEvent) else Items(line)
        self._put(value, line, event)
        self.stack.append(value)
        self.keys.append(None)

    def _put(self, value: Any, line: int, event: Any) -> None:
        if not self.stack:
            self.root = value
            return
        parent = self.stack[-1]
        if isinstance(parent, Items):
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
    """The value of a YAML file of one document; mappings are `Tree`, sequences `Items`.

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


# One written entry, field by field: values are checked, and what was not asked for is a fault.


_DAY = re.compile(r"([0-9]{4})[-/.年]([0-9]{1,2})[-/.月]([0-9]{1,2})日?")
_NUMBER = re.compile(r"[-+]?[0-9]{1,15}(?:\.[0-9]{1,24})?(?:[eE][-+]?[0-9]{1,3})?")
_LANGUAGE = re.compile(r"[a-z]{2,3}(?:-[A-Za-z0-9]{2,8}){0,3}")
_MAX_TEXT = 20_000


def near(key: str, known: Collection[str]) -> bool:
    """Whether a key is most likely a misspelling of a known one, rather than another word."""
    close = get_close_matches(key[:64].lower(), known, n=1, cutoff=0.75)
    return bool(close) and abs(len(close[0]) - len(key)) <= 1


def place_in(tree: object, outer: Place) -> Place:
    """The place of a tree inside a file; `outer` where the tree has no line."""
    line = getattr(tree, "line", None)
    return outer if line is None or outer.cell else Place(outer.file, line)


def _is_scalar(value: object) -> bool:
    return isinstance(value, (str, int)) or (isinstance(value, float) and math.isfinite(value))


class Form:
    """The fields of one entry, each read once with validation.

    Args:
        known: The fields that this kind of entry may have: any other one is an ``unknown_key``.
    """

    def __init__(
        self, tree: Mapping[str, Any], place: Place, faults: list[BookFault], known: Collection[str]
    ) -> None:
        self.tree = tree
        self.place = place_in(tree, place)
        self.faults = faults
        self.sound = True
        for key, line, _ in tree.doubled if isinstance(tree, Tree) else ():
            self.fault("duplicate_key", msg("the key {key} stands twice in one entry", key=repr(key)), self._at(line))
        for key in tree:
            if key not in known:
                self.fault(
                    "unknown_key",
                    msg("no such key: {key}{near}", key=repr(key), near=did_you_mean(key, known)),
                    self.at(key),
                )

    def at(self, key: str) -> Place:
        """The place of one field."""
        return self._at(self.tree.lines.get(key)) if isinstance(self.tree, Tree) else self.place

    def _at(self, line: int | None) -> Place:
        return self.place if line is None or self.place.cell else Place(self.place.file, line)

    def fault(self, code: str, message: str, place: Place | None = None) -> None:
        """Record a fault: the entry is refused."""
        self.sound = False
        self.faults.append(BookFault(code, message, place or self.place))

    def wrong(self, key: str, wanted: str, code: str = "bad_value") -> None:
        """Record a field whose value has the wrong type."""
        self.fault(
            code,
            msg("{key} is {tree}; it must be {wanted}", key=key, tree=f"{self.tree[key]!r:.80}", wanted=wanted),
            self.at(key),
        )

    def text(self, key: str, *, required: bool = False) -> str:
        """A text, stripped; a number is taken as written."""
        value = self.tree.get(key)
        if isinstance(value, bool) or not isinstance(value, (str, int, float, type(None))):
            self.wrong(key, "text")
            return ""
        text = "" if value is None else str(value).strip()
        if len(text) > _MAX_TEXT:
            self.fault(
                "bad_value", f"{key} has {len(text):,} characters; at most {_MAX_TEXT:,} are read", self.at(key)
            )
        if required and not text:
            self.fault("bad_value", msg("{key} is missing", key=key), self.at(key))
        return text

    def word(self, key: str, words: Mapping[str, str], default: str) -> str:
        """One of a few keywords, in any spelling that `words` (folded) contains."""
        written = self.text(key)
        if not written:
            return default
        found = words.get(folded(written))
        if found is None:
            hint = did_you_mean(written, words)
            self.wrong(key, f"one of {', '.join(dict.fromkeys(words.values()))}{hint}")
        return found or default

    def number(self, key: str, default: float, low: float, high: float) -> float:
        """A number from `low` to `high`."""
        value = self.tree.get(key)
        if value is None or value == "":
            return default
        if isinstance(value, str) and _NUMBER.fullmatch(value.strip()):
            value = float(value)
        if type(value) not in (int, float) or math.isnan(value) or not low <= value <= high:
            self.wrong(key, msg("a number from {low} to {high}", low=f"{low:g}", high=f"{high:g}"))
            return default
        return float(value)

    def trust(self, key: str = "trust") -> int | None:
        """A trust level, 1 to 5; None without the field."""
        value = self.tree.get(key)
        if value is None or value == "":
            return None
        number = int(value) if isinstance(value, str) and value.strip() in {"1", "2", "3", "4", "5"} else value
        if type(number) is not int or not 1 <= number <= 5:
            self.wrong(key, "an integer from 1 to 5", "bad_trust")
            return None
        return number

    def day(self, key: str) -> date | None:
        """A day: ``2018-06-01``, ``2018/6/1`` or ``2018年6月1日``."""
        written = self.text(key)
        if not written:
            return None
        match = _DAY.fullmatch(folded(written))
        try:
            if match:
                return date(int(match[1]), int(match[2]), int(match[3]))
        except ValueError:  # an impossible date; reported below like any other invalid one
            pass
        self.wrong(key, "a day such as 2018-06-01", "bad_date")
        return None

    def texts(self, key: str) -> tuple[str, ...]:
        """A list of texts; a single text is a list of one."""
        value = self.tree.get(key)
        if value is None:
            return ()
        items = value if isinstance(value, list) else [value]
        if not all(isinstance(i, (str, int, float)) and not isinstance(i, bool) for i in items):
            self.wrong(key, "a list of texts")
            return ()
        return tuple(dict.fromkeys(t for t in (str(i).strip() for i in items) if t))

    def languages(self, key: str) -> dict[str, str]:
        """Texts by language; a plain text is stored under its detected language."""
        value = self.tree.get(key)
        if isinstance(value, str):
            text = value.strip()
            return {language_of(text) or "und": text} if text else {}
        written = self.table(key)
        made = {tag: text.strip() for tag, text in written.items() if isinstance(text, str)}
        if len(made) < len(written) or not all(_LANGUAGE.fullmatch(tag) for tag in made):
            self.wrong(key, "texts by language, e.g. {zh: …, en: …}")
            return {}
        return {tag: text for tag, text in made.items() if text}

    def table(self, key: str) -> dict[str, str | int | float | bool]:
        """Scalar values by name."""
        value = self.tree.get(key)
        if value is None:
            return {}
        if not isinstance(value, Mapping) or not all(map(_is_scalar, value.values())):
            self.wrong(key, "names with one value each")
            return {}
        for doubled, line, _ in value.doubled if isinstance(value, Tree) else ():
            self.fault("duplicate_key", f"the key {doubled!r} stands twice in {key}", self._at(line))
        return dict(value)

    def entries(self, key: str) -> Sequence[Mapping[str, Any]]:
        """A list of mappings; a single one is a list of one."""
        value = self.tree.get(key)
        if value is None:
            return ()
        items = value if isinstance(value, list) else [value]
        if not all(isinstance(item, Mapping) for item in items):
            self.wrong(key, "a list of entries")
            return ()
        return items


# The entries that every format is brought to: a node, a statement, a source, each a mapping with known keys.


LANGUAGES = ("zh", "en", "zh-Hant", "zh-Hans", "ja", "ko", "fr", "de", "es", "pt", "it", "ru", "ar", "vi", "th")
"""The tags that a node may have among its keys; any other language goes under ``labels``."""

NODE_KEYS = ("kind", "name", "key", "labels", "aliases", "scope", "codes", "attributes", *LANGUAGES)
STATEMENT_KEYS = (
    "src", "rel", "dst", "when", "strength", "sentence", "valid_from", "valid_until", "weight", "status", "evidence",
)  # fmt: skip
EVIDENCE_KEYS = ("source", "clause", "uri", "quote", "trust", "reviewer")
SOURCE_KEYS = (
    "id", "title", "uri", "trust", "domain", "collection", "language", "copyright", "owner", "status",
    "effective_from", "effective_until",
)  # fmt: skip

STRENGTHS: Mapping[str, str] = {
    **dict.fromkeys(("mandatory", "强制", "强制性", "必须", "应", "严禁", "must", "shall"), "mandatory"),
    **dict.fromkeys(("recommended", "推荐", "推荐性", "建议", "宜", "should"), "recommended"),
    **dict.fromkeys(("informative", "参考", "提示", "可", "may"), "informative"),
}
STATUSES: Mapping[str, str] = {
    **dict.fromkeys(("proposed", "待审", "待审核", "建议稿"), "proposed"),
    **dict.fromkeys(("approved", "已批准", "批准", "通过"), "approved"),
    **dict.fromkeys(("rejected", "已驳回", "驳回"), "rejected"),
    **dict.fromkeys(("retired", "已停用", "停用", "废止"), "retired"),
}
ALIAS_TYPES: Mapping[str, str] = {t: t for t in ("pref", "alt", "abbr", "typo", "code")}
_IN_FORCE: Mapping[str, str] = {t: t for t in ("in_force", "draft", "retired")}


class Writing:
    """Collects the entries of one file into a `Book`."""

    def __init__(self, pack: str, file: str, *, machine: bool = False) -> None:
        self.pack = pack
        self.file = file
        self.machine = machine
        self.schema_tree: Mapping[str, Any] | None = None
        self.sources: list[DeclaredSource] = []
        self.nodes: list[Node] = []
        self.links: list[RawStatement] = []
        self.faults: list[BookFault] = []
        self.refused = Tally()

    def fault(self, code: str, message: str, place: Place) -> None:
        self.faults.append(BookFault(code, message, place))

    def note(self, code: str, message: str, place: Place) -> None:
        self.faults.append(BookFault(code, message, place, "note"))

    def refuse(self, code: str, message: str, place: Place, *, nodes: int = 0, statements: int = 0) -> None:
        """Record an entry that cannot be read at all."""
        self.fault(code, message, place)
        self.refused += Tally(nodes, statements)

    def node(self, tree: object, place: Place, kind: str = "") -> None:
        """Add a node: a mapping, or a bare name where the context gives its kind."""
        if kind and isinstance(tree, (str, int, float)) and not isinstance(tree, bool):
            tree = {"name": tree}
        if not isinstance(tree, Mapping):
            self.refuse("bad_value", f"a node is a mapping of keys to values, not {tree!r:.80}", place, nodes=1)
            return
        form = Form(tree, place, self.faults, NODE_KEYS)
        name, of = form.text("name", required=True), form.text("kind", required=not kind) or kind
        labels = form.languages("labels") | {tag: form.text(tag) for tag in LANGUAGES if tag in tree}
        labels = {tag: text for tag, text in labels.items() if text}
        if language := language_of(name):
            labels.setdefault(language, name)
        values = {
            "key": form.text("key") or f"{of}/{name}",
            "labels": labels,
            "aliases": self._aliases(form),
            "codes": {scheme: str(code) for scheme, code in form.table("codes").items()},
            "scope": form.texts("scope"),
            "attributes": form.table("attributes"),
        }
        if form.sound:
            self.nodes.append(Node(kind=of, name=name, place=form.place, **values))  # type: ignore[arg-type]
        else:
            self.refused += Tally(nodes=1)

    def _aliases(self, form: Form) -> tuple[Alias, ...]:
        written = form.tree.get("aliases")
        items = written if isinstance(written, list) else [] if written is None else [written]
        found: dict[str, Alias] = {}
        for item in items:
            tree = item if isinstance(item, Mapping) else {"text": item}
            part = Form(tree, form.place, self.faults, ("text", "language", "type", "weight"))
            text = part.text("text", required=True)
            language = part.text("language") if "language" in tree else language_of(text)
            kind = cast("AliasType", part.word("type", ALIAS_TYPES, "alt"))
            weight = part.number("weight", 1.0, 0.01, 1.0)
            form.sound = form.sound and part.sound
            found.setdefault(text, Alias(text=text, language=language, type=kind, weight=weight))
        return tuple(found.values())

    def statement(
        self, tree: object, place: Place, *, under: str = "", direction: Direction = "stated"
    ) -> RawStatement | None:
        """Add a statement; None when it is refused."""
        if not isinstance(tree, Mapping):
            self.refuse(
                "bad_value", f"a statement is a mapping of keys to values, not {tree!r:.80}", place, statements=1
            )
            return None
        form = Form(tree, place, self.faults, STATEMENT_KEYS)
        values: dict[str, Any] = {
            "src": form.text("src", required=True),
            "rel": form.text("rel", required=True),
            "dst": form.text("dst", required=True),
            "condition": form.text("when"),
            "strength": cast("Strength", form.word("strength", STRENGTHS, "mandatory")),
            "sentence": form.languages("sentence"),
            "valid_from": form.day("valid_from"),
            "valid_until": form.day("valid_until"),
            "weight": form.number("weight", 1.0, 0.0, 1.0),
            "status": cast("StatementStatus | None", form.word("status", STATUSES, "") or None),
            "evidences": self._evidences(form),
        }
        first, last = values["valid_from"], values["valid_until"]
        if first and last and last < first:
            form.wrong("valid_until", msg("no earlier than valid_from, {first}", first=first), "bad_date")
        if not form.sound:
            self.refused += Tally(statements=1)
            return None
        made = RawStatement(under=under, direction=direction, place=form.place, **values)
        self.links.append(made)
        return made

    def _evidences(self, form: Form) -> tuple[RawEvidence, ...]:
        found = []
        for tree in form.entries("evidence"):
            part = Form(tree, form.place, self.faults, EVIDENCE_KEYS)
            texts = {key: part.text(key) for key in EVIDENCE_KEYS if key != "trust"}
            found.append(RawEvidence(**texts, trust=part.trust(), place=part.place))
            form.sound = form.sound and part.sound
        return tuple(found)

    def source(self, tree: object, place: Place) -> None:
        """Add a source declaration."""
        if not isinstance(tree, Mapping):
            self.fault("bad_value", f"a source is a mapping of keys to values, not {tree!r:.80}", place)
            return
        form = Form(tree, place, self.faults, SOURCE_KEYS)
        texts = {k: form.text(k) for k in ("title", "domain", "collection", "language", "copyright", "owner")}
        trust, status = form.trust(), form.word("status", _IN_FORCE, "in_force")
        days = {key: form.day(key) for key in ("effective_from", "effective_until")}
        source_id, uri = form.text("id", required=True), form.text("uri")
        if not form.sound:
            return
        try:
            source = Source(
                source_id=source_id,
                status=status,  # type: ignore[arg-type]
                **({} if trust is None else {"trust": trust}),  # type: ignore[arg-type]
                **texts,  # type: ignore[arg-type]
                **days,  # type: ignore[arg-type]
            )
        except InvalidRequest as error:
            self.fault("bad_value", error.message, form.place)
            return
        if any(s.source.source_id == source_id for s in self.sources):
            self.fault("duplicate_source", f"source {source_id!r} is declared already in this file", form.place)
            return
        self.sources.append(DeclaredSource(source=source, uri=uri, place=form.place))

    def schema(self, tree: object, place: Place) -> None:
        """Add the pack's schema, as a tree."""
        if not isinstance(tree, Mapping):
            self.fault("bad_value", f"the schema is a mapping of keys to values, not {tree!r:.80}", place)
        elif self.schema_tree is not None:
            self.fault("duplicate_schema", "the schema is declared already in this file", place_in(tree, place))
        else:
            self.schema_tree = tree
            for key, line in doubled_keys(tree):
                at = place if line is None or place.cell else replace(place, line=line)
                self.fault("duplicate_key", f"the key {key!r} stands twice in one part of the schema", at)

    def book(self) -> Book:
        """The book of all entries added."""
        return Book(
            pack=self.pack,
            schema_tree=self.schema_tree,
            sources=tuple(self.sources),
            nodes=tuple(self.nodes),
            links=tuple(self.links),
            faults=tuple(self.faults),
            refused=self.refused,
            machine_files=frozenset({self.file} if self.machine else ()),
        )
