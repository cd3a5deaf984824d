"""Differences between a claim and a sentence in bounds, and in what must, may and must not be."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from typing import Literal

from wenyuan.core.denials import (
    NOBODY,
    alike_duties,
    as_often,
    duties_at,
    for_free,
    of_list,
    of_nobody,
    other_words,
    polar,
    said_there,
    unless,
)
from wenyuan.core.difference_kind import DifferenceKind
from wenyuan.core.places import AlignedPair, TokenSpan
from wenyuan.core.text.modality import BOUNDING, DEONTIC, Duty, DutyName, negated_bound
from wenyuan.core.tokens import Tokens, tokens_of

FEW = 3
"""Tokens that one of both may have more at a place where what must or may be is compared."""


def at_most(pair: AlignedPair) -> bool:
    """Whether claim and sentence say of the same number that it is the most."""
    said, was = bounds_of(pair.claim), bounds_of(pair.text, pair.low, pair.high)
    return any("at most" in said[value] and "at most" in was[value] for value in said.keys() & was.keys())


def bounds_of(text: Tokens, first: int = 0, end: int | None = None) -> Mapping[str, frozenset[DutyName]]:
    """By number, quantity or date of a text, whether it is said to be the most or the least."""
    end = len(text.tokens) if end is None else end
    found: dict[str, set[DutyName]] = {t.value: set() for t in text.tokens[first:end] if t.kind != "word"}
    bounded: set[int] = set()
    for duty in _with_turned(text):
        if duty.name in BOUNDING and first <= duty.first and duty.end <= end:
            at = _bounded_number(text, duty, first, end)
            if at is not None:
                found[text.tokens[at].value].add(duty.name)
                bounded.add(at)
    free = {t.value for n, t in enumerate(text.tokens[first:end], first) if t.kind != "word" and n not in bounded}
    both = frozenset[DutyName](("at most", "at least"))
    return {value: both if names and value in free else frozenset(names) for value, names in found.items()}


def _with_turned(text: Tokens) -> list[Duty]:
    """Modal expressions of a text, a *not* and the bound that it turns as one: *no flat may have more than two*, too."""
    found: list[Duty] = []
    for duty in text.duties:
        last = found[-1] if found else None
        nobody = (
            len(found) > 1 and last is not None and last.name in DEONTIC and found[-2].name == "not"
            and text.values[found[-2].first] in NOBODY and last.first - found[-2].end <= FEW
        )  # fmt: skip
        denied = Duty("must not", found[-2].first, last.end) if nobody and last is not None else last
        one = None if denied is None else negated_bound(denied, duty)
        if one is None or denied is None or any(t.after for t in text.tokens[denied.end : duty.first + 1]):
            found.append(duty)
        else:
            del found[-2 if nobody else -1 :]
            found.append(one)
    return found


def bounds_at(text: Tokens, first: int, end: int) -> set[DutyName]:
    """The bounds whose words are among these tokens, as a *not* before them turns them."""
    here = {duty.end for duty in duties_at(text, first, end) if duty.name in BOUNDING}
    return {duty.name for duty in _with_turned(text) if duty.name in BOUNDING and duty.end in here}


def of_bounds(text: Tokens) -> set[int]:
    """Where the *not* of a turned bound begins."""
    ends = {duty.first: duty.end for duty in text.duties}
    return {duty.first for duty in _with_turned(text) if duty.end != ends[duty.first]}


def _bounded_number(text: Tokens, duty: Duty, first: int, end: int) -> int | None:
    """The number that a bound belongs to: right behind it, else right before it, else the next one."""
    after = next((n for n in range(duty.end, min(end, duty.end + 6)) if text.tokens[n].kind != "word"), None)
    if after == duty.end:
        return after
    if duty.first > first and text.tokens[duty.first - 1].kind != "word":
        return duty.first - 1
    if after is None and duty.first > first + 1 and text.tokens[duty.first - 2].kind != "word":
        return duty.first - 2  # 以5本为限
    return after


def bound_changed(pair: AlignedPair, place: TokenSpan) -> Literal["number_changed"] | None:
    """Whether a number has another bound in the claim; one that is left out counts where nothing else differs."""
    claimed, meant = bounds_at(pair.claim, place.a, place.b), bounds_at(pair.text, place.c, place.d)
    if claimed == meant:
        return None
    said, was = bounds_of(pair.claim), bounds_of(pair.text, pair.low, pair.high)
    common = said.keys() & was.keys()
    alone = pair.alone
    if claimed ^ meant == {"at most"} and any(duty.name == "may" for duty in (*pair.claim.duties, *pair.text.duties)):
        return None  # who may borrow five may borrow up to five
    if any(_differ(said[value], was[value], alone=alone) for value in common):
        return "number_changed"
    few = place.b - place.a <= FEW and place.d - place.c <= FEW
    loose = claimed and meant and few and not any(said.values()) and not any(was.values())
    return "number_changed" if loose else None


def _same_bounds(pair: AlignedPair) -> bool:
    """Whether no number has another bound in the claim."""
    said, was = bounds_of(pair.claim), bounds_of(pair.text, pair.low, pair.high)
    return all(said[value] == was[value] for value in said.keys() & was.keys())


def _differ(said: Set[DutyName], was: Set[DutyName], *, alone: bool) -> bool:
    """Whether a number has another bound; a sentence may name it twice, with both."""
    return said != was and (alone or bool(said and was and not said < was))


def duty_changed(pair: AlignedPair, place: TokenSpan) -> DifferenceKind | None:
    """The kind of a change of what must, may or must not be; see `changed`."""
    a, b, c, d = place
    claimed, meant = _duties_of(pair, place)
    same = [polar(duty) for duty in claimed] == [polar(duty) for duty in meant]
    if same or _says_so_here(pair, place, claimed, meant) or _says_so_elsewhere(pair, claimed, meant):
        return None
    if abs((b - a) - (d - c)) > FEW or (not pair.alone and _of_another_clause(pair, place)):
        return None  # a clause that one of both has, and the other has not or has elsewhere, says its own
    names = {duty.name for duty in (*claimed, *meant)}
    only = [t.value for t in (*pair.claim.tokens[a:b], *pair.text.tokens[c:d])]
    negating = all(any(d.name == "not" for d in tokens_of(value).duties) for value in only)
    return "negation_changed" if negating or names <= {"not"} or _negated(only) else "modality_changed"


def _duties_of(pair: AlignedPair, place: TokenSpan) -> tuple[list[Duty], list[Duty]]:
    """What claim and text say here of what must, may and must not be."""
    claimed = [duty for duty in duties_at(pair.claim, place.a, place.b) if duty.name not in BOUNDING]
    meant = [duty for duty in duties_at(pair.text, place.c, place.d) if duty.name not in BOUNDING]
    if _same_bounds(pair):
        own, there = of_bounds(pair.claim), of_bounds(pair.text)
        claimed = [duty for duty in claimed if duty.first not in own]
        meant = [duty for duty in meant if duty.first not in there]
    if not {duty.name for duty in claimed} & DEONTIC:
        meant = [duty for duty in meant if duty.name != "must"]  # "is reported" says what "shall be reported" says
    if not {duty.name for duty in meant} & DEONTIC:
        claimed = [duty for duty in claimed if duty.name != "must"]
    return claimed, meant


def _says_so_here(pair: AlignedPair, place: TokenSpan, claimed: Sequence[Duty], meant: Sequence[Duty]) -> bool:
    """Whether these words of both say the same, or deny different things: *closed* is *not open*."""
    a, b, c, d = place
    names = {duty.name for duty in (*claimed, *meant)}
    beside = (a == b and _beside(meant, pair.claim, a)) or (c == d and _beside(claimed, pair.text, c))
    return (
        beside  # one word of the same: 无需, 不需要
        or names == {"not", "need not"}  # who does not pay need not pay
        or (names == {"may"} and not (claimed and meant) and at_most(pair))  # *at most two are allowed*: two may be
        or for_free(pair, place)
        or other_words(pair, place)
        or of_list(pair, claimed, meant)
    )


def _says_so_elsewhere(pair: AlignedPair, claimed: Sequence[Duty], meant: Sequence[Duty]) -> bool:
    """Whether claim and sentence as wholes deny, forbid and allow the same."""
    if alike_duties(pair) and (not pair.alone or of_nobody(pair)):
        return True
    free = [duty.name for duty in claimed or meant] == ["may"] and not (claimed and meant)
    return not pair.alone and (
        free  # *cancel free of charge* says that one can cancel
        or as_often(pair, {duty.name for duty in (*claimed, *meant)})
        or unless(" ".join(pair.claim.values), said_there(pair))
        or (bool(claimed) and all(_said_so(pair, duty) for duty in claimed))
    )


def _of_another_clause(pair: AlignedPair, place: TokenSpan) -> bool:
    """Whether a clause begins here in one of both alone."""
    if place.a == place.b or place.c == place.d or not place.a or place.c == pair.low:
        return False
    return (pair.claim.tokens[place.a].after == "") != (pair.text.tokens[place.c].after == "")


def _said_so(pair: AlignedPair, duty: Duty) -> bool:
    """Whether the sentence has the same modal expression before the same words."""
    behind = pair.claim.values[duty.end : duty.end + 2]
    return len(behind) == 2 and any(
        polar(one) == polar(duty) and pair.text.values[one.end : one.end + 2] == behind
        for one in pair.text.duties
        if one.name not in BOUNDING
    )


def _negated(words: Sequence[str]) -> bool:
    """Whether one of two words is the other's negation: can, cannot."""
    return len(words) == 2 and words[1].removesuffix("not") == words[0].removesuffix("not")


def _beside(duties: Sequence[Duty], text: Tokens, at: int) -> bool:
    """Whether all these are said right at a place of a text, too."""
    said = {duty.name for duty in duties_at(text, at - 1, at + 1)}
    whole = {duty.name for duty in duties} <= said
    longer = all(duty.end - duty.first > 1 for duty in duties)  # of 不能 and 不 one has the other's token
    return whole or (
        longer and {polar(duty) for duty in duties} <= {"not"} & {polar(d) for d in duties_at(text, at - 1, at + 1)}
    )
