"""From plain values to a schema. Everything that is wrong is collected; nothing is guessed."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from typing import TypeVar, cast, get_args

from wenyuan.core.errors import Fault, InvalidRequest, did_you_mean, listed, msg
from wenyuan.core.rules.schema import (
    DEFAULT_DEPTH,
    WORDS,
    InferenceLimits,
    Inherit,
    Kind,
    Parameter,
    ParameterType,
    Pattern,
    Relation,
    Schema,
)

_PARTS = ("kinds", "relations", "parameters", "patterns", "scope_kind", "limits")
_ID = re.compile(r"[^\W\d][\w-]{0,63}")
_PARAMETER = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")
_LANGUAGE = re.compile(r"[a-z]{2,3}(-[A-Za-z0-9]{2,8})*")
_PLACE = re.compile(r"\{([^{}]*)\}")
_CEL_WORDS = frozenset(
    "as break const continue double else false for function if import in int let loop namespace null package"
    " return string true var void while".split()
)
# A kind's name is a key of a pack's file, a relation's name is a key of an entry: these have a meaning there already.
_FILE_WORDS = frozenset("pack schema sources nodes statements about".split())
_ENTRY_WORDS = frozenset(
    "about kind name to src rel dst when strength sentence valid_from valid_until weight status evidence".split()
)
MAX_DEPTH = 16
MAX_CHAIN = 8
SCHEMA_READING_T = TypeVar("SCHEMA_READING_T")


def parse_schema(tree: object, *, where: str = "schema", known: Schema | None = None) -> Schema:
    """Parse a schema.

    Args:
        tree: What a YAML or JSON file holds under ``schema``.
        where: Path that the faults' paths start with.
        known: A schema whose kinds and relations may be named too: what other packs have brought.

    Raises:
        InvalidRequest: with every fault, each at its path.
    """
    return _Reader(where, known or Schema()).read(tree)


class _Reader:
    """The state of one parse: faults so far, and known names."""

    def __init__(self, where: str, known: Schema) -> None:
        self.where = where
        self.faults: list[Fault] = []
        self.kinds: dict[str, Kind] = dict(known.kinds)
        self.relations: dict[str, Relation] = dict(known.relations)

    def read(self, tree: object) -> Schema:
        parts = self._object(tree, "", _PARTS)
        kinds = self._each(parts, "kinds", self._kind, taken=_FILE_WORDS)
        self.kinds |= kinds
        relations = self._each(parts, "relations", self._relation, taken=_ENTRY_WORDS)
        self.relations |= relations
        schema = Schema(
            kinds=kinds,
            relations=relations,
            parameters=self._each(parts, "parameters", self._parameter, form=_PARAMETER, taken=_CEL_WORDS),
            patterns=self._each(parts, "patterns", self._pattern),
            scope_kind=self._known_word(parts.get("scope_kind", ""), "scope_kind", self.kinds, "kind", empty=True),
            limits=self._limits(parts.get("limits")),
        )
        if self.faults:
            message = msg("the schema is wrong: {faults}", faults=listed(self.faults))
            raise InvalidRequest(message, faults=tuple(self.faults))
        return schema

    # What a schema is made of

    def _kind(self, name: str, tree: object, path: str) -> Kind:
        parts = self._object(tree, path, None)
        return Kind(name, self._labels(parts, path, WORDS), *(self._words(parts, key, path) for key in WORDS))

    def _relation(self, name: str, tree: object, path: str) -> Relation:
        own = ("from", "to", "sentence", *WORDS)
        parts = self._object(tree, path, None)
        sentence = self._object(parts.get("sentence"), f"{path}.sentence", None)
        for tag, text in sentence.items():
            wrong = [p for p in _PLACE.findall(str(text)) if p not in ("src", "dst")]
            if wrong:
                self._wrong(f"{path}.sentence.{tag}", f"has {{{wrong[0]}}}; only {{src}} and {{dst}} are filled in")
        return Relation(
            name,
            self._labels(parts, path, own),
            self._known_words(parts.get("from", []), f"{path}.from", self.kinds, "kind"),
            self._known_words(parts.get("to", []), f"{path}.to", self.kinds, "kind"),
            self._labels(sentence, f"{path}.sentence", ()),
            *(self._words(parts, key, path) for key in WORDS),
        )

    def _parameter(self, name: str, tree: object, path: str) -> Parameter:
        parts = self._object(tree, path, None)
        kind = parts.get("type")
        if kind not in get_args(ParameterType):
            near = did_you_mean(str(kind), get_args(ParameterType))
            self._wrong(
                f"{path}.type",
                msg(
                    "is {kind}; it must be one of {parametertype}{near}",
                    kind=repr(kind),
                    parametertype=", ".join(get_args(ParameterType)),
                    near=near,
                ),
            )
        unit = parts.get("unit", "")
        if not isinstance(unit, str):
            self._wrong(f"{path}.unit", "must be a string")
        labels = self._labels(parts, path, ("type", "unit", "aliases"))
        return Parameter(name, cast(ParameterType, kind), str(unit), labels, self._words(parts, "aliases", path))

    def _pattern(self, name: str, tree: object, path: str) -> Pattern:
        parts = self._object(tree, path, ("start", "inherit", "collect"))
        start = self._known_word(parts.get("start", ""), f"{path}.start", self.kinds, "kind")
        inherit = None
        if "inherit" in parts:
            inherit = self._inherit(parts["inherit"], f"{path}.inherit", start)
        collect = self._object(parts.get("collect"), f"{path}.collect", None)
        if not collect:
            self._wrong(f"{path}.collect", "names no group: it says which relations lead from the start to what")
        chains = {g: self._chain(chain, f"{path}.collect.{g}", start) for g, chain in collect.items()}
        return Pattern(name, start, inherit, chains)

    def _inherit(self, tree: object, path: str, start: str) -> Inherit:
        parts = self._object(tree, path, ("via", "max_depth"))
        via = self._known_words(parts.get("via", []), f"{path}.via", self.relations, "relation")
        if not via:
            self._wrong(f"{path}.via", "names no relation")
        for relation in via:
            self._leads_on(relation, (start,), f"{path}.via")
        depth = self._number(parts.get("max_depth", DEFAULT_DEPTH), f"{path}.max_depth", MAX_DEPTH)
        return Inherit(via, depth)

    def _chain(self, tree: object, path: str, start: str) -> tuple[str, ...]:
        chain = self._known_words(tree, path, self.relations, "relation")
        if not 1 <= len(chain) <= MAX_CHAIN:
            self._wrong(
                path, f"has {len(chain)} steps; 1 to {MAX_CHAIN} relations lead from the start to what is meant"
            )
        kinds: tuple[str, ...] = (start,)
        for i, relation in enumerate(chain):
            self._leads_on(relation, kinds, f"{path}[{i}]")
            kinds = self.relations[relation].targets if relation in self.relations else ()
        return chain

    def _leads_on(self, relation: str, kinds: tuple[str, ...], path: str) -> None:
        """Fault when nothing of `kinds` (empty: any) can be a source of `relation`. Unknown names have theirs already."""
        known = self.relations.get(relation)
        if known and known.sources and kinds and all(kinds) and not set(kinds) & set(known.sources):
            self._wrong(
                path,
                msg(
                    "{relation} leads from {sources}, never from {kinds}, which is what is reached before it",
                    relation=repr(relation),
                    sources=", ".join(known.sources),
                    kinds=", ".join(kinds),
                ),
            )

    def _limits(self, tree: object) -> InferenceLimits:
        parts = self._object(tree, "limits", ("max_frontier", "max_results"))
        frontier = self._number(
            parts.get("max_frontier", InferenceLimits().max_frontier), "limits.max_frontier", 100_000
        )
        results = self._number(parts.get("max_results", InferenceLimits().max_results), "limits.max_results", 10_000)
        return InferenceLimits(frontier, results)

    # What those are made of

    def _wrong(self, path: str, message: str) -> None:
        self.faults.append(Fault(f"{self.where}.{path}" if path else self.where, message))

    def _object(self, tree: object, path: str, allowed: Iterable[str] | None) -> dict[str, object]:
        """A mapping with keys of text; None is an empty one. ``allowed``: its keys; None or none: checked elsewhere."""
        if tree is None:
            return {}
        if not isinstance(tree, Mapping):
            self._wrong(path, f"must be an object, not {tree!r:.60}")
            return {}
        allowed = tuple(allowed or ())
        for key in tree:
            if not isinstance(key, str) or (allowed and key not in allowed):
                what = f"; it may hold {', '.join(allowed)}" if allowed else ""
                self._wrong(path, f"has the key {key!r}{did_you_mean(str(key), allowed)}{what}")
        return {key: value for key, value in tree.items() if isinstance(key, str)}

    def _each(
        self,
        parts: Mapping[str, object],
        part: str,
        make: Callable[[str, object, str], SCHEMA_READING_T],
        *,
        form: re.Pattern[str] = _ID,
        taken: frozenset[str] = frozenset(),
    ) -> dict[str, SCHEMA_READING_T]:
        made = {}
        for name, tree in self._object(parts.get(part), part, None).items():
            if not form.fullmatch(name):
                self._wrong(f"{part}.{name}", "is no name: a letter, then letters, digits, '_'")
            elif name in taken:
                self._wrong(f"{part}.{name}", "is a word with a meaning of its own here; take another")
            made[name] = make(name, tree, f"{part}.{name}")
        return made

    def _labels(self, parts: Mapping[str, object], path: str, own: tuple[str, ...]) -> dict[str, str]:
        """The entries of `parts` whose key is a language; every other one that is not its `own` is a fault."""
        labels = {}
        for key, value in parts.items():
            if key in own:
                continue
            mistaken = len(key) > 2 and get_close_matches(key, own, n=1, cutoff=0.6)
            if mistaken or not _LANGUAGE.fullmatch(key):
                self._wrong(f"{path}.{key}", f"is neither a field nor a language{did_you_mean(key, own)}")
            elif not isinstance(value, str) or not value.strip():
                self._wrong(f"{path}.{key}", "must be a text that is not blank")
            else:
                labels[key] = value
        return labels

    def _words(self, parts: Mapping[str, object], key: str, path: str) -> tuple[str, ...]:
        """What else something is called, or asked for with: a list of texts, each once."""
        words = parts.get(key) or []
        if not isinstance(words, list) or not all(isinstance(w, str) and w.strip() for w in words):
            self._wrong(f"{path}.{key}", f"must be a list of texts that are not blank, not {words!r:.60}")
            return ()
        return tuple(dict.fromkeys(w.strip() for w in words))

    def _known_word(
        self, word: object, path: str, known: Mapping[str, object], what: str, *, empty: bool = False
    ) -> str:
        if not isinstance(word, str):
            self._wrong(path, f"must be the name of a {what}, not {word!r:.60}")
            return ""
        if word not in known and not (empty and not word):
            self._wrong(path, f"names the {what} {word!r}, which is not there{did_you_mean(word, known)}")
        return word if word in known else ""

    def _known_words(self, tree: object, path: str, known: Mapping[str, object], what: str) -> tuple[str, ...]:
        words = [tree] if isinstance(tree, str) else tree
        if not isinstance(words, list):
            self._wrong(path, f"must be a list of names, not {tree!r:.60}")
            return ()
        for i, word in enumerate(words):
            self._known_word(word, f"{path}[{i}]", known, what)
        return tuple(str(word) for word in words)

    def _number(self, value: object, path: str, most: int) -> int:
        if type(value) is int and 1 <= value <= most:
            return value
        self._wrong(
            path, msg("is {value}; it must be an integer from 1 to {most}", value=f"{value!r:.60}", most=most)
        )
        return 1
