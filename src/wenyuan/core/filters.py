"""The closed filter tree: the only way in which a condition reaches an engine. Every engine compiles it
with bound values; `matches` is the reference that their tests compare with.

Fields are ``source_id``, ``document_id``, ``language``, ``collection`` and ``metadata.<facet>``. What belongs
to a source as a whole (domain, trust, validity of the source) is resolved to source ids in `Scope`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Literal

from wenyuan.core.errors import Fault, InvalidRequest, did_you_mean, msg
from wenyuan.core.model import Facet, IndexRow, Source

_FIELD = re.compile(r"source_id|document_id|language|collection|metadata\.[^\x00-\x1f]{1,128}")
MAX_VALUES = 10_000
MAX_NUMBER = 2**53  # beyond, a JSON number is not the same everywhere (RFC 7493, section 2.2)
MAX_DEPTH = 8


def _check_field(name: str) -> None:
    if not _FIELD.fullmatch(name):
        raise InvalidRequest(
            msg("no such filter field: {name}", name=repr(name)),
            hint="fields: source_id, document_id, language, collection, metadata.<facet>",
        )


def _check_numbers(name: str, values: Iterable[Facet | None]) -> None:
    for value in values:
        if isinstance(value, (int, float)) and not abs(value) <= MAX_NUMBER:  # NaN is not within either
            raise InvalidRequest(msg("filter on {name}: a number must be finite and within ±2^53", name=repr(name)))


@dataclass(frozen=True, slots=True)
class In:
    """The field equals one of these values (strictly: ``"1"`` is not ``1``, ``True`` is not ``1``)."""

    field: str
    values: tuple[Facet, ...]

    def __post_init__(self) -> None:
        _check_field(self.field)
        if not 1 <= len(self.values) <= MAX_VALUES:
            raise InvalidRequest(
                msg(
                    "filter on {field}: 1 to {max_values} values, not {count}",
                    field=repr(self.field),
                    max_values=MAX_VALUES,
                    count=len(self.values),
                )
            )
        _check_numbers(self.field, self.values)


@dataclass(frozen=True, slots=True)
class Range:
    """The field is a number (or a string, compared as text) with ``ge <= value <= le``; either may be None."""

    field: str
    ge: float | str | None = None
    le: float | str | None = None

    def __post_init__(self) -> None:
        _check_field(self.field)
        if self.ge is None and self.le is None:
            raise InvalidRequest(msg("range filter on {field} has no bound", field=repr(self.field)))
        _check_numbers(self.field, (self.ge, self.le))


@dataclass(frozen=True, slots=True)
class And:
    parts: tuple[Filter, ...]


@dataclass(frozen=True, slots=True)
class Or:
    parts: tuple[Filter, ...]


@dataclass(frozen=True, slots=True)
class Not:
    part: Filter


Filter = In | Range | And | Or | Not


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """What a request may search: sources, day and filter. A required argument of every engine call.

    Attributes:
        sources: Ids of the sources that are allowed, trusted enough and in force on `as_of`.
        as_of: The day for which passages must be in force.
        filter: The request's own narrowing, if any.
    """

    sources: frozenset[str]
    as_of: date
    filter: Filter | None = None

    @property
    def day(self) -> int:
        return self.as_of.toordinal()

    def allows(self, row: IndexRow) -> bool:
        """Reference semantics of a scope on a row."""
        return self.covers(row.source_id, row.valid_from, row.valid_until) and (
            self.filter is None or matches(self.filter, row)
        )

    def covers(self, source_id: str, valid_from: int, valid_until: int) -> bool:
        """Whether a source is in it, and its day between two (proleptic ordinals, both included)."""
        return source_id in self.sources and valid_from <= self.as_of.toordinal() <= valid_until


def field_value(name: str, row: IndexRow) -> Facet | None:
    if name.startswith("metadata."):
        return row.facets.get(name[len("metadata.") :])
    value: Facet = getattr(row, name)
    return value


def _same(a: Facet, b: Facet) -> bool:
    if isinstance(a, bool) or isinstance(b, bool) or isinstance(a, str) or isinstance(b, str):
        return type(a) is type(b) and a == b
    return float(a) == float(b)


def _within(value: Facet | None, test: Range) -> bool:
    if value is None or isinstance(value, bool):
        return False
    for bound, low in ((test.ge, True), (test.le, False)):
        if bound is None:
            continue
        if isinstance(bound, str) != isinstance(value, str):
            return False
        if (value < bound) if low else (value > bound):  # type: ignore[operator]
            return False
    return True


def matches(test: Filter, row: IndexRow) -> bool:
    """Reference semantics of a filter on a row."""
    match test:
        case In():
            value = field_value(test.field, row)
            return value is not None and any(_same(value, v) for v in test.values)
        case Range():
            return _within(field_value(test.field, row), test)
        case And():
            return all(matches(p, row) for p in test.parts)
        case Or():
            return any(matches(p, row) for p in test.parts)
        case Not():
            return not matches(test.part, row)


def parse_filter(tree: Mapping[str, object], place: str = "filters") -> Filter:
    """Parse a filter: ``{"field": value | [values] | {"ge":…, "le":…}}`` joined by AND, with ``{"and": [...]}``,
    ``{"or": [...]}``, ``{"not": {...}}``.

    Args:
        place: Where it stands in the request, for the paths of faults.

    Raises:
        InvalidRequest: unknown field, operator or value type, or too deep.
    """
    return _parse(tree, place, 0)


def _bad(path: str, message: str) -> InvalidRequest:
    return InvalidRequest(msg("{place} {fault}", place=path, fault=message), faults=(Fault(path, message),))


def _parse(tree: object, path: str, depth: int) -> Filter:
    if depth > MAX_DEPTH:
        raise _bad(path, f"is nested deeper than {MAX_DEPTH}")
    if not isinstance(tree, Mapping) or not tree:
        raise _bad(path, "must be a non-empty object")
    parts = [_parse_entry(str(key), value, f"{path}.{key}", depth) for key, value in tree.items()]
    return parts[0] if len(parts) == 1 else And(tuple(parts))


def _parse_entry(key: str, value: object, path: str, depth: int) -> Filter:
    if key in ("and", "or"):
        if not isinstance(value, list) or not value:
            raise _bad(path, "must be a non-empty array")
        parts = tuple(_parse(v, f"{path}[{i}]", depth + 1) for i, v in enumerate(value))
        return And(parts) if key == "and" else Or(parts)
    if key == "not":
        return Not(_parse(value, path, depth + 1))
    try:
        return _leaf(key, value, path)
    except InvalidRequest as error:
        if error.faults:
            raise
        raise InvalidRequest(error.message, faults=(Fault(path, error.message),), hint=error.hint) from error


def _leaf(key: str, value: object, path: str) -> Filter:
    _check_field(key)
    if isinstance(value, Mapping):
        unknown = set(value) - {"ge", "le"}
        bounds: list[float | str | None] = [value.get("ge"), value.get("le")]
        if unknown or not all(
            b is None or (isinstance(b, (int, float, str)) and not isinstance(b, bool)) for b in bounds
        ):
            raise _bad(path, "takes a value, an array of values, or {ge, le} with numbers or strings")
        return Range(key, *bounds)
    values = value if isinstance(value, list) else [value]
    allowed = tuple(v for v in values if isinstance(v, (str, int, float, bool)))
    if not allowed or len(allowed) != len(values):
        raise _bad(path, "takes strings, numbers or booleans")
    return In(key, allowed)


# Conditions as other protocols write them, compiled to our closed filter.
#
# They may name any field that documents have, and ask for parts of words. Both are settled with what the library
# holds: a condition becomes the set of those values of its field that meet it, so every engine can apply it exactly,
# and a field that no document has, or that holds nothing that could be compared, is an error, not an empty answer.


Test = Literal[
    "eq", "ne", "in", "nin", "gt", "gte", "lt", "lte", "contains", "lacks", "starts", "ends", "empty", "given"
]

Known = Mapping[str, Sequence[tuple[Facet, In]]]
"""Field → each value that it has somewhere, with the filter that finds exactly what has it."""

_MOST_PARTS = 64
_ORDERS = ("gt", "gte", "lt", "lte")
_KINDS = {"truth": "true or false", "text": "text", "number": "numbers"}
_NEGATED: Mapping[str, str] = {"ne": "eq", "nin": "in", "lacks": "contains", "given": "empty"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """A comparison of one field.

    Attributes:
        values: What it is compared with; with several, one that is met is enough. None for ``empty`` and ``given``.
        path: Where it stands in the request, for messages.
    """

    field: str
    test: Test
    values: tuple[Facet, ...] = ()
    path: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Conditions:
    """A conjunction or disjunction of conditions."""

    join: Literal["and", "or"]
    parts: tuple[Condition | Conditions, ...]


def of_sources(sources: Sequence[Source], held: Mapping[str, Mapping[str, Sequence[Facet]]]) -> Known:
    """The filterable fields of some sources: document metadata, and fields of the registry.

    Args:
        held: By source, the fields that its documents have (as `core.filters` names them) with their values.
    """
    found: dict[str, list[tuple[Facet, In]]] = {"language": [], "collection": []}
    for source in sources:
        for field, values in held.get(source.source_id, {}).items():
            found.setdefault(field, []).extend((value, In(field, (value,))) for value in values)
    for name in ("source_id", "domain", "trust"):
        found[name] = [(getattr(source, name), In("source_id", (source.source_id,))) for source in sources]
    return found


def compiled(wanted: Condition | Conditions, known: Known) -> Filter:
    """The filter for conditions in another protocol's form.

    Raises:
        InvalidRequest: no document has such a field, none has a value of it that is more or less than the given one,
            too many conditions, or a condition that is met by more values than a filter may hold.
    """
    if isinstance(wanted, Condition):
        return _compiled(wanted, known)
    if not 1 <= len(wanted.parts) <= _MOST_PARTS:
        raise InvalidRequest(
            msg("conditions must be 1 to {most_parts}, not {count}", most_parts=_MOST_PARTS, count=len(wanted.parts))
        )
    parts = tuple(compiled(part, known) for part in wanted.parts)
    return parts[0] if len(parts) == 1 else (And(parts) if wanted.join == "and" else Or(parts))


def _compiled(wanted: Condition, known: Known) -> Filter:
    values = _values(wanted, known)
    _check_order(wanted, values)
    if wanted.test in _NEGATED:
        return Not(_met(wanted, _NEGATED[wanted.test], values))
    return _met(wanted, wanted.test, values)


def _values(wanted: Condition, known: Known) -> Sequence[tuple[Facet, In]]:
    for name in (wanted.field, f"metadata.{wanted.field}"):
        if name in known:
            return known[name]
    plain = [name.removeprefix("metadata.") for name in known]
    near = did_you_mean(wanted.field, plain)
    why = msg("names {field}, a field that no document has{near}", field=repr(wanted.field[:64]), near=near)
    hint = f"fields here: {', '.join(sorted(plain)[:20])}"
    raise InvalidRequest(
        msg("{place} {fault}", place=wanted.path, fault=why), faults=(Fault(wanted.path, why),), hint=hint
    )


def _check_order(wanted: Condition, values: Sequence[tuple[Facet, In]]) -> None:
    """Refuse an order comparison of text with a number."""
    held, given = {_kind(value) for value, _ in values}, {_kind(value) for value in wanted.values}
    if wanted.test in _ORDERS and held and not held & given:
        has, other = (" and ".join(_KINDS[kind] for kind in sorted(kinds)) for kinds in (held, given))
        why = msg(
            "names {field}, which holds {has}: it cannot be more or less than {other}",
            field=repr(wanted.field[:64]),
            has=has,
            other=other,
        )
        raise InvalidRequest(msg("{place} {fault}", place=wanted.path, fault=why), faults=(Fault(wanted.path, why),))


def _met(wanted: Condition, test: str, values: Sequence[tuple[Facet, In]]) -> Filter:
    if test == "empty":
        return Not(_any_of([single for value, single in values if value != ""]))
    holds = _HOLDS[test]
    return _any_of([single for value, single in values if any(holds(value, given) for given in wanted.values)])


def _any_of(met: Sequence[In]) -> Filter:
    """A filter for any of several values of a field; without values it matches nothing."""
    if not met:
        nobody = In("source_id", ("",))
        return And((nobody, Not(nobody)))
    apart = {(isinstance(value, bool), value): value for single in met for value in single.values}  # True is not 1
    return In(met[0].field, tuple(apart.values()))


def _kind(value: Facet) -> str:
    return "truth" if isinstance(value, bool) else "text" if isinstance(value, str) else "number"


def _alike(compare: Callable[[Facet, Facet], bool]) -> Callable[[Facet, Facet], bool]:
    """A comparison restricted to one type; across types it is false: ``"1"`` is not ``1``."""
    return lambda value, given: _kind(value) == _kind(given) and compare(value, given)


def _in_text(find: Callable[[str, str], bool]) -> Callable[[Facet, Facet], bool]:
    return lambda value, given: isinstance(value, str) and isinstance(given, str) and find(value, given)


_HOLDS: Mapping[str, Callable[[Facet, Facet], bool]] = {
    "eq": _alike(lambda value, given: value == given),
    "in": _alike(lambda value, given: value == given),
    "gt": _alike(lambda value, given: value > given),  # type: ignore[operator]
    "gte": _alike(lambda value, given: value >= given),  # type: ignore[operator]
    "lt": _alike(lambda value, given: value < given),  # type: ignore[operator]
    "lte": _alike(lambda value, given: value <= given),  # type: ignore[operator]
    "contains": _in_text(lambda value, given: given in value),
    "starts": _in_text(str.startswith),
    "ends": _in_text(str.endswith),
}
