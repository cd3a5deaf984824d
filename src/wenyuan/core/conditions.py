"""Conditions as other protocols write them, compiled to our closed filter.

They may name any field that documents have, and ask for parts of words. Both are settled with what the library
holds: a condition becomes the set of those values of its field that meet it, so every engine can apply it exactly,
and a field that no document has, or that holds nothing that could be compared, is an error, not an empty answer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from wenyuan.core.errors import Fault, InvalidRequest, did_you_mean, msg
from wenyuan.core.filters import And, Filter, In, Not, Or
from wenyuan.core.model import Facet, Source

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
class FieldComparison:
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
    parts: tuple[FieldComparison | Conditions, ...]


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


def compiled(wanted: FieldComparison | Conditions, known: Known) -> Filter:
    """The filter for conditions in another protocol's form.

    Raises:
        InvalidRequest: no document has such a field, none has a value of it that is more or less than the given one,
            too many conditions, or a condition that is met by more values than a filter may hold.
    """
    if isinstance(wanted, FieldComparison):
        return _compiled(wanted, known)
    if not 1 <= len(wanted.parts) <= _MOST_PARTS:
        raise InvalidRequest(
            msg("conditions must be 1 to {most_parts}, not {count}", most_parts=_MOST_PARTS, count=len(wanted.parts))
        )
    parts = tuple(compiled(part, known) for part in wanted.parts)
    return parts[0] if len(parts) == 1 else (And(parts) if wanted.join == "and" else Or(parts))


def _compiled(wanted: FieldComparison, known: Known) -> Filter:
    values = _values(wanted, known)
    _check_order(wanted, values)
    if wanted.test in _NEGATED:
        return Not(_met(wanted, _NEGATED[wanted.test], values))
    return _met(wanted, wanted.test, values)


def _values(wanted: FieldComparison, known: Known) -> Sequence[tuple[Facet, In]]:
    for name in (wanted.field, f"metadata.{wanted.field}"):
        if name in known:
            return known[name]
    plain = [name.removeprefix("metadata.") for name in known]
    near = did_you_mean(wanted.field, plain)
    why = msg("names {field}, a field that no document has{near}", field=repr(wanted.field[:64]), near=near)
    hint = msg("fields here: {fields}", fields=", ".join(sorted(plain)[:20]))
    raise InvalidRequest(
        msg("{place} {fault}", place=wanted.path, fault=why), faults=(Fault(wanted.path, why),), hint=hint
    )


def _check_order(wanted: FieldComparison, values: Sequence[tuple[Facet, In]]) -> None:
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


def _met(wanted: FieldComparison, test: str, values: Sequence[tuple[Facet, In]]) -> Filter:
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


def _same_type(compare: Callable[[Facet, Facet], bool]) -> Callable[[Facet, Facet], bool]:
    """A comparison restricted to one type; across types it is false: ``"1"`` is not ``1``."""
    return lambda value, given: _kind(value) == _kind(given) and compare(value, given)


def _in_text(find: Callable[[str, str], bool]) -> Callable[[Facet, Facet], bool]:
    return lambda value, given: isinstance(value, str) and isinstance(given, str) and find(value, given)


_HOLDS: Mapping[str, Callable[[Facet, Facet], bool]] = {
    "eq": _same_type(lambda value, given: value == given),
    "in": _same_type(lambda value, given: value == given),
    "gt": _same_type(lambda value, given: value > given),  # type: ignore[operator]
    "gte": _same_type(lambda value, given: value >= given),  # type: ignore[operator]
    "lt": _same_type(lambda value, given: value < given),  # type: ignore[operator]
    "lte": _same_type(lambda value, given: value <= given),  # type: ignore[operator]
    "contains": _in_text(lambda value, given: given in value),
    "starts": _in_text(str.startswith),
    "ends": _in_text(str.endswith),
}
