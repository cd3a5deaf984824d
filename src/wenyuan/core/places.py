"""A claim beside the text that it is aligned with, and the places where both differ."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from wenyuan.core.tokens import Tokens


@dataclass(frozen=True, slots=True)
class ClaimDifference:
    """What the evidence says, and what the claim says in its place.

    Attributes:
        was, said: Their words; ``""`` for none.
    """

    was: str
    said: str


class TokenSpan(NamedTuple):
    """Tokens ``a:b`` of the claim that stand for tokens ``c:d`` of the text; one of both may be empty."""

    a: int
    b: int
    c: int
    d: int


class AlignedPair(NamedTuple):
    """A claim and the text that it is aligned with: tokens ``low:high``, which differ at these places.

    Attributes:
        alone: There is one place alone, and nothing of the text before and behind the claim.
    """

    claim: Tokens
    text: Tokens
    low: int
    high: int
    places: tuple[TokenSpan, ...]
    alone: bool


def span_of(text: Tokens, first: int, end: int) -> tuple[int, int]:
    """Where a range of tokens begins and ends."""
    return text.tokens[first].start, text.tokens[end - 1].end


def words_of(text: Tokens, first: int, end: int) -> str:
    """The words of a range of tokens; ``""`` of none."""
    if first >= end:
        return ""
    start, stop = span_of(text, first, end)
    return text.text[start:stop]


def display_change(pair: AlignedPair, place: TokenSpan) -> ClaimDifference:
    """A change for display; where one side is empty, neighbouring words are added on both."""
    a, b, c, d = place
    claim, text = pair.claim, pair.text
    if a == b or c == d:
        before, after = int(a > 0 and c > 0), int(b < len(claim.tokens) and d < len(text.tokens))
        a, b, c, d = a - before, b + after, c - before, d + after
    return ClaimDifference(words_of(text, c, d), words_of(claim, a, b))
