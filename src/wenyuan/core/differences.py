"""What differs between a claim and the sentence that it is aligned with, place by place: a number, a unit, a date, a negation,
what must or may be, order and extent, or two parts in each other's place.

What a claim says at a place counts as changed only where the sentence does not say the same in other words or elsewhere: *five
years or more* is *at least five years*, and *severity 2 … within 4 hours* may stand behind *severity 1 … within 15 minutes*.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from wenyuan.core.bound_differences import FEW, at_most, bound_changed, bounds_at, duty_changed
from wenyuan.core.difference_kind import DifferenceKind
from wenyuan.core.figure_differences import figure_changed, of_money, period, same_frequency, unit
from wenyuan.core.places import AlignedPair, TokenSpan
from wenyuan.core.text.modality import EXCEPTION, relation, relation_changed
from wenyuan.core.tokens import Tokens

DIFFERENCES: tuple[DifferenceKind, ...] = (
    "number_changed", "unit_changed", "date_changed", "modality_changed", "negation_changed", "relation_changed",
)  # fmt: skip
"""Gravest first."""


def changed(pair: AlignedPair, place: TokenSpan) -> DifferenceKind | None:
    """The kind of change at a place; None for a change of wording."""
    claim, text = pair.claim, pair.text
    a, b, c, d = place
    if pair.alone and _first_for_last(claim.values[a:b], text.values[c:d]):
        return "relation_changed"
    if kind := figure_changed(pair, place):
        return None if kind == "elsewhere" else kind
    if same_frequency(pair, place):
        return None
    units: tuple[Callable[[Tokens, int, int], object], ...] = (unit, of_money)
    if any((one := of(claim, a, b)) and (other := of(text, c, d)) and one != other for of in units):
        return "unit_changed"
    said, was = period(claim, a, b), period(text, c, d)
    if said and was and said != was:
        return "unit_changed"
    few = b - a <= FEW and d - c <= FEW and not _only_as_bound(pair, place)
    alone = pair.alone
    ordered = relation_changed(relation(claim.values[a:b]), relation(text.values[c:d]), alone=alone)
    if few and ordered and (alone or not _related(pair)) and (alone or not _only_among_others(pair, place)):
        return "relation_changed"
    return bound_changed(pair, place) or duty_changed(pair, place)


_LAST = frozenset(("last", "final", "最 后", "最 后 一", "最 末", "末"))
_PLACE = re.compile(r"第(?: \d+)?|\d+|首")


def _first_for_last(said: list[str], was: list[str]) -> bool:
    """Whether one side says *last* where the other says a place in order."""
    one, other = " ".join(said), " ".join(was)
    return (one in _LAST and _PLACE.fullmatch(other) is not None) or (
        other in _LAST and _PLACE.fullmatch(one) is not None
    )


def _only_among_others(pair: AlignedPair, place: TokenSpan) -> bool:
    """Whether an *only* of one side stands among other words that differ: it may be said by these."""
    said = relation(pair.claim.values[place.a : place.b]) ^ relation(pair.text.values[place.c : place.d])
    return said == {"only"} and place.b - place.a + place.d - place.c > FEW


def _only_as_bound(pair: AlignedPair, place: TokenSpan) -> bool:
    """Whether *only* or 仅限 stands here before a number of which the other side says that it is the most."""
    here = bounds_at(pair.claim, place.a, place.b) | bounds_at(pair.text, place.c, place.d)
    return "at most" in here and at_most(pair)


def _related(pair: AlignedPair) -> bool:
    """Whether claim and sentence have the same words of order and extent in all, or one an exception for the other's *only*."""
    values = pair.text.values[pair.low : pair.high]
    there = relation(values)
    if (EXCEPTION.search(" ".join(pair.claim.values)) is None) != (EXCEPTION.search(" ".join(values)) is None):
        return True
    return not relation_changed(relation(pair.claim.values), there, alone=False)
