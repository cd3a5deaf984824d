"""The closed filter tree: the only way in which a condition reaches an engine. Every engine compiles it
with bound values; `matches` is the reference that their tests compare with.

Fields are ``source_id``, ``document_id``, ``language``, ``collection`` and ``metadata.<facet>``. What belongs
to a source as a whole (domain, trust, validity of the source) is resolved to source ids in `Scope`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date

from wenyuan.core.errors import Fault, InvalidRequest, msg
from wenyuan.core.hidden_documents import HiddenDocuments
from wenyuan.core.model import Facet, IndexRow

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
    """What a request may search: sources, day, filter and readers. A required argument of every engine call.

    Attributes:
        sources: Ids of the sources that are allowed, trusted enough and in force on `as_of`.
        as_of: The day for which passages must be in force.
        filter: The request's own narrowing, if any.
        hidden: The documents that the caller may not see; None where there are none.
        shared_statistics: Whether frequencies and means are those of the whole library, hidden documents included.
    """

    sources: frozenset[str]
    as_of: date
    filter: Filter | None = None
    hidden: HiddenDocuments | None = None
    shared_statistics: bool = False

    @property
    def uncounted(self) -> HiddenDocuments | None:
        """The documents that frequencies and means leave out; None where they leave out none."""
        return None if self.shared_statistics else self.hidden

    @property
    def day(self) -> int:
        return self.as_of.toordinal()

    def allows(self, row: IndexRow) -> bool:
        """Reference semantics of a scope on a row."""
        return (
            self.covers(row.source_id, row.valid_from, row.valid_until)
            and not self.hides(row.document_id)
            and (self.filter is None or matches(self.filter, row))
        )

    def hides(self, document_id: int) -> bool:
        """Whether the caller may not see a document."""
        return self.hidden is not None and self.hidden.hides(document_id)

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
