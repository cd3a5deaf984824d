"""Parts of a sentence that stand in each other's place in a claim."""

from __future__ import annotations

from collections.abc import Sequence

from wenyuan.core.places import AlignedPair, ClaimDifference, TokenSpan, display_change
from wenyuan.core.tokens import Token

_SYMMETRIC = frozenset(("and", "or", "和", "与", "及", "或", "以 及", "/"))
"""Words whose two sides may stand in either order."""


_LONGEST = 6  # tokens of a part that stands in another's place


def exchanged(pair: AlignedPair) -> tuple[ClaimDifference, ...]:
    """Two parts of a sentence that a claim has in each other's place, where nothing else differs; none otherwise."""
    said, was = pair.claim.values, pair.text.values[pair.low : pair.high]
    if len(said) == len(was):
        apart = [n for n, (one, other) in enumerate(zip(said, was, strict=True)) if one != other]
        if len(apart) > 1 and len({(said[n], was[n]) for n in apart} | {(was[n], said[n]) for n in apart}) == 2:
            at = pair.low
            return tuple(display_change(pair, TokenSpan(n, n + 1, at + n, at + n + 1)) for n in apart)
    places = pair.places
    if len(places) > 1 and all(a < b and c < d for a, b, c, d in places):
        swaps = {(tuple(pair.claim.values[a:b]), tuple(pair.text.values[c:d])) for a, b, c, d in places}
        if len(swaps) == 2 and {(one, other) for other, one in swaps} == swaps:
            return tuple(display_change(pair, place) for place in places)
    return _crossed(pair)


def _crossed(pair: AlignedPair) -> tuple[ClaimDifference, ...]:
    """Two short parts on either side of the same words, in each other's place: *in the hall, not in the yard*."""
    said, was = pair.claim.values, pair.text.values[pair.low : pair.high]
    if sorted(said) != sorted(was) or said == was:
        return ()
    first = next(n for n, (one, other) in enumerate(zip(said, was, strict=True)) if one != other)
    end = len(said) - next(
        n for n, (one, other) in enumerate(zip(reversed(said), reversed(was), strict=True)) if one != other
    )
    part, there = said[first:end], was[first:end]
    for one in range(1, min(_LONGEST, len(part) - 1) + 1):  # the part that the text has first
        for other in range(1, min(_LONGEST, len(part) - one) + 1):
            middle = there[one : len(there) - other]
            if (
                middle and " ".join(middle) not in _SYMMETRIC
                and part == [*there[len(there) - other :], *middle, *there[:one]]
                and not any(t.after for t in _inner(pair, first, one, other, end))
            ):  # fmt: skip
                a, c = first, pair.low + first
                begin, stop = (
                    TokenSpan(a, a + other, c, c + one),
                    TokenSpan(end - one, end, pair.low + end - other, pair.low + end),
                )
                return display_change(pair, begin), display_change(pair, stop)
    return ()


def _inner(pair: AlignedPair, first: int, one: int, other: int, end: int) -> Sequence[Token]:
    """The tokens of both parts but their first ones: a part that has a clause's end within is a clause that was moved."""
    low = pair.low
    return (
        *pair.text.tokens[low + first + 1 : low + first + one],
        *pair.text.tokens[low + end - other + 1 : low + end],
    )
