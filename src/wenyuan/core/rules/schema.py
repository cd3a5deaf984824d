"""The schema of rules: kinds, relations, parameters and paths."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any, Literal, TypeVar

from wenyuan.core.errors import Fault, InvalidRequest, listed, msg

# Which kinds of things and which relations there are, and which paths through them are rules: data, not code.
#
# A schema comes from a pack as a tree of plain values (YAML or JSON), which `parse_schema` reads;
# `Schema.to_tree` gives the same tree back.
# Packs are laid over one another with `merged`: what two of them say of one name has to agree.


ParameterType = Literal["number", "integer", "string", "boolean"]
Labels = Mapping[str, str]
DEFAULT_DEPTH = 3
T = TypeVar("T", "Kind", "Relation", "Parameter", "Pattern")


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of node; ``labels`` by language; ``aliases`` are other names in files and questions.

    Attributes:
        asks: Further words by which questions ask for nodes of this kind (``手续``, ``permit``); it is not called so.
    """

    id: str
    labels: Labels = field(default_factory=dict, hash=False)
    aliases: tuple[str, ...] = ()
    asks: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """All names: id, labels, aliases."""
        return (self.id, *self.labels.values(), *self.aliases)


@dataclass(frozen=True, slots=True)
class Relation:
    """A relation from nodes of the kinds `sources` to nodes of the kinds `targets`; empty means any kind.

    Attributes:
        sentence: Templates by language, with ``{src}`` and ``{dst}`` where the two names go.
        aliases: What other people's files and questions call it.
        asks: Further words by which questions ask for what it leads to.
    """

    id: str
    labels: Labels = field(default_factory=dict, hash=False)
    sources: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()
    sentence: Mapping[str, str] = field(default_factory=dict, hash=False)
    aliases: tuple[str, ...] = ()
    asks: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """All names: id, labels, aliases."""
        return (self.id, *self.labels.values(), *self.aliases)

    def allows(self, src_kind: str, dst_kind: str) -> bool:
        """Whether a statement may connect these two kinds."""
        return (not self.sources or src_kind in self.sources) and (not self.targets or dst_kind in self.targets)


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of requests (``depth_m: 6``), and of conditions.

    Attributes:
        aliases: What people call it beside its labels (``深度``), or say where they tell its value (``花了``).
    """

    name: str
    type: ParameterType
    unit: str = ""
    labels: Labels = field(default_factory=dict, hash=False)
    aliases: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """All names: name, labels, aliases."""
        return (self.name, *self.labels.values(), *self.aliases)


@dataclass(frozen=True, slots=True)
class Inherit:
    """Inheritance: the rules of a node reached by one of `via` in at most `max_depth` steps hold for the start, too."""

    via: tuple[str, ...]
    max_depth: int = DEFAULT_DEPTH


@dataclass(frozen=True, slots=True)
class Pattern:
    """The paths from nodes of kind `start` that make up rules: chains of relations, by group."""

    name: str
    start: str
    inherit: Inherit | None = None
    collect: Mapping[str, tuple[str, ...]] = field(default_factory=dict, hash=False)


@dataclass(frozen=True, slots=True)
class InferenceLimits:
    """Bounds of one inference: paths per relation and step, and statements returned."""

    max_frontier: int = 2000
    max_results: int = 500


@dataclass(frozen=True, slots=True)
class Schema:
    """A schema: kinds, relations, parameters and patterns by name.

    Attributes:
        scope_kind: The kind whose nodes limit others (``engineering_type``); ``""``: nothing is limited.
    """

    kinds: Mapping[str, Kind] = field(default_factory=dict)
    relations: Mapping[str, Relation] = field(default_factory=dict)
    parameters: Mapping[str, Parameter] = field(default_factory=dict)
    patterns: Mapping[str, Pattern] = field(default_factory=dict)
    scope_kind: str = ""
    limits: InferenceLimits = field(default_factory=InferenceLimits)

    def group_labels(self, language: str) -> Mapping[str, str]:
        """The label of each group of the patterns: that of the kind it collects, or of its relation.

        Groups that would be called alike have the relation's name besides.
        """
        last = {
            group: self.relations[chain[-1]] for p in self.patterns.values() for group, chain in p.collect.items()
        }
        kinds = {g: self.kinds[r.targets[0]] if len(r.targets) == 1 else r for g, r in last.items()}
        names = {group: thing.labels.get(language) or thing.id for group, thing in kinds.items()}
        alike = {name for name, count in Counter(names.values()).items() if count > 1}
        return {
            group: f"{name} · {last[group].labels.get(language) or last[group].id}" if name in alike else name
            for group, name in names.items()
        }

    def to_tree(self) -> dict[str, Any]:
        """As plain values, the inverse of `parse_schema`; empty parts are omitted."""
        tree: dict[str, Any] = {
            "scope_kind": self.scope_kind,
            "kinds": {k.id: _named_tree(k) for k in self.kinds.values()},
            "relations": {r.id: _relation_tree(r) for r in self.relations.values()},
            "parameters": {p.name: _parameter_tree(p) for p in self.parameters.values()},
            "patterns": {p.name: _pattern_tree(p) for p in self.patterns.values()},
            "limits": asdict(self.limits) if self.limits != InferenceLimits() else {},
        }
        return {key: value for key, value in tree.items() if value}


def _named_tree(thing: Kind | Relation) -> dict[str, Any]:
    return {**thing.labels, **_words_tree("aliases", thing.aliases), **_words_tree("asks", thing.asks)}


def _words_tree(key: str, words: tuple[str, ...]) -> dict[str, Any]:
    return {key: list(words)} if words else {}


def _relation_tree(relation: Relation) -> dict[str, Any]:
    tree = {"from": list(relation.sources), "to": list(relation.targets), "sentence": dict(relation.sentence)}
    return {**_named_tree(relation), **{key: value for key, value in tree.items() if value}}


def _parameter_tree(parameter: Parameter) -> dict[str, Any]:
    unit = {"unit": parameter.unit} if parameter.unit else {}
    return {**parameter.labels, "type": parameter.type, **unit, **_words_tree("aliases", parameter.aliases)}


def _pattern_tree(pattern: Pattern) -> dict[str, Any]:
    tree: dict[str, Any] = {"start": pattern.start}
    if pattern.inherit:
        tree["inherit"] = {"via": list(pattern.inherit.via), "max_depth": pattern.inherit.max_depth}
    return {**tree, "collect": {group: list(chain) for group, chain in pattern.collect.items()}}


def label_in(labels: Labels, language: str, otherwise: str) -> str:
    """The label in `language` (``zh-Hant`` falls back to ``zh``), else in English, else any, else `otherwise`."""
    for tag in (language, language.split("-", maxsplit=1)[0], "en"):
        if labels.get(tag):
            return labels[tag]
    return next((label for label in labels.values() if label), otherwise)


def merged(a: Schema, b: Schema) -> Schema:
    """The union of two schemas. Aliases, and labels and sentences in further languages, are merged.

    Raises:
        InvalidRequest: they say different things of one name; all such names are listed.
    """
    faults: list[Fault] = []
    result = Schema(
        kinds=_united("kinds", a.kinds, b.kinds, faults),
        relations=_united("relations", a.relations, b.relations, faults),
        parameters=_united("parameters", a.parameters, b.parameters, faults),
        patterns=_united("patterns", a.patterns, b.patterns, faults),
        scope_kind=a.scope_kind or b.scope_kind,
        limits=a.limits if b.limits == InferenceLimits() else b.limits,
    )
    if a.scope_kind and b.scope_kind and a.scope_kind != b.scope_kind:
        faults.append(
            Fault(
                "scope_kind",
                msg(
                    "is {x} here and {y} there",
                    x=repr(a.scope_kind),
                    y=repr(b.scope_kind),
                ),
            )
        )
    if a.limits != b.limits and InferenceLimits() not in (a.limits, b.limits):
        faults.append(Fault("limits", msg("are {x} here and {y} there", x=a.limits, y=b.limits)))
    if faults:
        message = msg("two schemas contradict one another: {faults}", faults=listed(faults))
        raise InvalidRequest(message, faults=tuple(faults))
    return result


_ADDING = ("labels", "sentence")
WORDS = ("aliases", "asks")


def _united(part: str, a: Mapping[str, T], b: Mapping[str, T], faults: list[Fault]) -> dict[str, T]:
    result = dict(a)
    for name, new in b.items():
        old = result.get(name)
        result[name] = new if old is None else _both(old, new, f"{part}.{name}", faults)
    return result


def _both(old: T, new: T, path: str, faults: list[Fault]) -> T:
    adding: dict[str, Any] = {}
    for each in fields(old):
        x: Any = getattr(old, each.name)
        y: Any = getattr(new, each.name)
        if each.name in WORDS:
            adding[each.name] = tuple(dict.fromkeys((*x, *y)))
        elif each.name in _ADDING:
            adding[each.name] = {**y, **x}
            faults += [
                Fault(f"{path}.{each.name}.{tag}", msg("is {x} here and {y} there", x=repr(x[tag]), y=repr(y[tag])))
                for tag in x.keys() & y.keys()
                if x[tag] != y[tag]
            ]
        elif x != y:
            faults.append(
                Fault(f"{path}.{each.name}", msg("is {x} here and {y} there", x=_value_text(x), y=_value_text(y)))
            )
    # Which fields a value has is known to `fields`, not to the type checker.
    return replace(old, **adding)


def _value_text(value: object) -> str:
    return "[" + ", ".join(value) + "]" if isinstance(value, tuple) else repr(value)
