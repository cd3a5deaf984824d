"""What a claim in other words says of what must or may be, of bounds, and of order and extent, against what its sentence says.

Nothing is aligned here: the claim has (nearly) the words of the sentence, in another order or form. So only what is said once on
either side is compared, and only opposites count: *must* against *may*, the most against the least of one number, *before* against
*after* the same.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from wenyuan.core.bound_differences import bounds_of, of_bounds
from wenyuan.core.denials import only_granted, turned_round, unless
from wenyuan.core.difference_kind import DifferenceKind
from wenyuan.core.places import ClaimDifference
from wenyuan.core.quotation import conditional
from wenyuan.core.text.content import content_of, same_stem, share_of
from wenyuan.core.text.folding import has_han
from wenyuan.core.text.modality import BOUNDING, DEONTIC, EXCEPTION, Duty, relation
from wenyuan.core.tokens import Tokens, tokens_of

_ALIKE = 0.8
"""Share of the words of a clause, and of those of the other one, that both have."""
_CLAUSES = re.compile(r"[，,；;：:]")
_ORDER = re.compile(r"(?<![a-z])(before|after|prior to)(?![a-z])|[之以]?([前后])(?![往台勤方者续果])", re.IGNORECASE)
_EXTENT = re.compile(
    r"(?<![a-z])(all|every|each|some|several)(?![a-z])|(所有|全部|全体|部分|某些|有些|个别)", re.IGNORECASE
)
_LESS_THAN_ALL = frozenset(("some", "several", "部分", "某些", "有些", "个别"))
_ANCHOR = 2  # Chinese characters beside a word of order or extent that tell what it is about


class Opposite(NamedTuple):
    """What a claim says that its sentence does not, in words of both."""

    kind: DifferenceKind
    change: ClaimDifference


def opposite(claim: str, sentence: str) -> Opposite | None:
    """What a reworded claim turns into its opposite; None where nothing is seen, or it may be said in another way.

    Args:
        claim: It has nearly all words and all figures of the sentence.
    """
    if unless(claim, sentence) or turned_round(claim, sentence) or conditional(claim) != conditional(sentence):
        return None
    if EXCEPTION.search(claim) or EXCEPTION.search(sentence) or only_granted(claim) or only_granted(sentence):
        return None
    if found := _order(claim, sentence) or _extent(claim, sentence):
        return found
    both = ((_duty(said, there) or _bound(said, there)) for said, there in _clauses(claim, sentence))
    return next(filter(None, both), None)


def _clauses(claim: str, sentence: str) -> Iterator[tuple[str, str]]:
    """The whole of both, then clauses of both that say the same but for that."""
    yield from _alike(claim, (sentence,))
    parts = [part for part in _CLAUSES.split(sentence) if part.strip()]
    own = [part for part in _CLAUSES.split(claim) if part.strip()]
    if len(parts) > 1 or len(own) > 1:
        for said in own if len(own) > 1 else (claim,):
            yield from _alike(said, parts)


def _alike(said: str, parts: Sequence[str]) -> Iterator[tuple[str, str]]:
    words = tuple(content_of(said))
    for part in parts:
        there = tuple(content_of(part))
        if words and there and min(share_of(words, there), share_of(there, words)) >= _ALIKE:
            yield said, part


def _duty(claim: str, sentence: str) -> Opposite | None:
    """Another one of must, may, must not and need not, where each says one of them and denies nothing else.

    What *must not be more* than a number *may be* so much *at most*.
    """
    said, was = tokens_of(claim), tokens_of(sentence)
    one, other = _single(said), _single(was)
    if one is None or other is None or one.name == other.name:
        return None
    turned = bool(of_bounds(said) or of_bounds(was))
    if turned != (_opposite_bounds(said, was) is not None):
        return None
    denying = {one.name, other.name} & {"must not", "need not"}
    kind: DifferenceKind = "negation_changed" if denying else "modality_changed"
    return Opposite(kind, ClaimDifference(_words(was, other), _words(said, one)))


def _single(text: Tokens) -> Duty | None:
    found = [duty for duty in text.duties if duty.name not in BOUNDING]
    return found[0] if len(found) == 1 and found[0].name in DEONTIC else None


def _words(text: Tokens, duty: Duty) -> str:
    return text.text[text.tokens[duty.first].start : text.tokens[duty.end - 1].end]


def _bound(claim: str, sentence: str) -> Opposite | None:
    """The most of a number where the sentence has the least; *no later than a day before* is *at least a day before*."""
    said, was = tokens_of(claim), tokens_of(sentence)
    if {"before"} & (relation(said.values) | relation(was.values)) or "提前" in claim + sentence:
        return None
    value = _opposite_bounds(said, was)
    if value is None or _denials(said) != _denials(was):
        return None
    return Opposite("number_changed", ClaimDifference(_bounded(was, value), _bounded(said, value)))


def _opposite_bounds(said: Tokens, was: Tokens) -> str | None:
    """A number of which one text says that it is the most, and the other that it is the least."""
    own, there = bounds_of(said), bounds_of(was)
    values = (
        value for value in own if len(own[value]) == len(there.get(value, ())) == 1 and own[value] != there[value]
    )
    return next(values, None)


def _denials(text: Tokens) -> int:
    return sum(duty.name in ("must not", "not") for duty in text.duties)


def _bounded(text: Tokens, value: str) -> str:
    """A number with the words of its bound beside it."""
    at = text.values.index(value)
    first, end = at, at + 1
    for duty in text.duties:
        if duty.name in BOUNDING and abs(duty.first - at) <= _FAR:
            first, end = min(first, duty.first), max(end, duty.end)
    return text.text[text.tokens[first].start : text.tokens[end - 1].end]


_FAR = 4  # tokens between a bound and its number


def _order(claim: str, sentence: str) -> Opposite | None:
    """*Before* against *after* of the same."""
    said, was = list(_ORDER.finditer(claim)), list(_ORDER.finditer(sentence))
    if len(said) != 1 or len(was) != 1 or _early(said[0]) == _early(was[0]):
        return None
    return _about_the_same("relation_changed", claim, said[0], sentence, was[0])


def _early(match: re.Match[str]) -> bool:
    return match[0].lower() in ("before", "prior to") or match[0].endswith("前")


def _extent(claim: str, sentence: str) -> Opposite | None:
    """*Some* against *all* of the same."""
    said, was = list(_EXTENT.finditer(claim)), list(_EXTENT.finditer(sentence))
    if len(said) != 1 or len(was) != 1 or _part(said[0]) == _part(was[0]):
        return None
    return _about_the_same("relation_changed", claim, said[0], sentence, was[0])


def _part(match: re.Match[str]) -> bool:
    return match[0].lower() in _LESS_THAN_ALL


def _about_the_same(
    kind: DifferenceKind, claim: str, said: re.Match[str], sentence: str, was: re.Match[str]
) -> Opposite | None:
    behind = _anchors(claim, said), _anchors(sentence, was)
    if not behind[0] or not any(same_stem(one, other) for one in behind[0] for other in behind[1]):
        return None
    return Opposite(kind, ClaimDifference(was[0], said[0]))


def _anchors(text: str, match: re.Match[str]) -> tuple[str, ...]:
    """What a word of order or extent is said of: what follows it, and of Chinese 前 and 后 what stands before them."""
    if has_han(match[0]) and match[0][-1] in "前后":
        return tuple(content_of(text[: match.start()]))[-_ANCHOR:]
    return tuple(content_of(text[match.end() :]))[: _ANCHOR if has_han(match[0]) else 1]
