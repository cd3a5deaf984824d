"""What differs between a claim and the sentence that it is aligned with, place by place: a number, a unit, a date, a negation,
what must or may be, order and extent, or two parts in each other's place.

What a claim says at a place counts as changed only where the sentence does not say the same in other words or elsewhere: *five
years or more* is *at least five years*, and *severity 2 … within 4 hours* may stand behind *severity 1 … within 15 minutes*.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence, Set
from functools import lru_cache
from itertools import pairwise
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
from wenyuan.core.places import Change, Pair, Place, shown, words_of
from wenyuan.core.text import fold
from wenyuan.core.text.amounts import Frequency, frequencies
from wenyuan.core.text.content import GLUE, content_of, share_of
from wenyuan.core.text.modality import (
    BOUNDING,
    DEONTIC,
    EXCEPTION,
    Duty,
    DutyName,
    relation,
    relation_changed,
    turned,
)
from wenyuan.core.text.numbers import HAN_NUMERALS, unit_of
from wenyuan.core.text.signs import CURRENCIES
from wenyuan.core.tokens import BETWEEN, Token, Tokens, folded_places, tokens_of

DifferenceKind = Literal[
    "number_changed", "unit_changed", "date_changed", "negation_changed", "modality_changed", "relation_changed"
]
DIFFERENCES: tuple[DifferenceKind, ...] = (
    "number_changed", "unit_changed", "date_changed", "modality_changed", "negation_changed", "relation_changed",
)  # fmt: skip
"""Gravest first."""

FEW = 3
"""Tokens that one of both may have more at a place where what must or may be is compared."""
_FIGURES = re.compile(rf"[\d.,:/-]+|[{HAN_NUMERALS}]+|[a-z]+")
_SHARE = re.compile("[百千]分之")
_EACH = frozenset("每 per every each a an".split())
_PERIODS = {
    word: name
    for name, words in {
        "year": "年 year years annually yearly", "month": "月 month months monthly", "week": "周 week weeks weekly",
        "day": "天 日 day days daily", "hour": "时 hour hours hourly",
    }.items()
    for word in words.split()
}  # fmt: skip
"""After how long something is done again."""
_SYMMETRIC = frozenset(("and", "or", "和", "与", "及", "或", "以 及", "/"))
"""Words whose two sides may stand in either order."""
_LONGEST = 6  # tokens of a part that stands in another's place
_OTHER = 0.25  # share of a claim's words that may stand for other words where a number differs
_ANY_SCALE = frozenset("度 degree degrees c f".split())
_EITHER_ORDER = re.compile(r"(?:0?[1-9]|1[0-2])[/.](?:0?[1-9]|1[0-2])[/.](?:19|20)\d\d\Z")
_NAME = re.compile(r"[A-Za-z]\w*(?:[_.]\w+)+")
_SECONDS = {"=day": 86_400.0, "=second": 1.0}
_AMOUNT = re.compile(r"=(-?[\d.e+]+)(day|second)")


def changed(pair: Pair, place: Place) -> DifferenceKind | None:
    """The kind of change at a place; None for a change of wording."""
    if kind := _figure_changed(pair, place):
        return None if kind == "elsewhere" else kind
    claim, text = pair.claim, pair.text
    a, b, c, d = place
    if _same_frequency(pair, place):
        return None
    units: tuple[Callable[[Tokens, int, int], object], ...] = (_unit, _of_money)
    if any((one := of(claim, a, b)) and (other := of(text, c, d)) and one != other for of in units):
        return "unit_changed"
    said, was = _period(claim, a, b), _period(text, c, d)
    if said and was and said != was:
        return "unit_changed"
    few = b - a <= FEW and d - c <= FEW and not _only_as_bound(pair, place)
    alone = pair.alone
    ordered = relation_changed(relation(claim.values[a:b]), relation(text.values[c:d]), alone=alone)
    if few and ordered and (alone or not _related(pair)) and (alone or not _only_among_others(pair, place)):
        return "relation_changed"
    return _bound_changed(pair, place) or _duty_changed(pair, place)


def _only_among_others(pair: Pair, place: Place) -> bool:
    """Whether an *only* of one side stands among other words that differ: it may be said by these."""
    said = relation(pair.claim.values[place.a : place.b]) ^ relation(pair.text.values[place.c : place.d])
    return said == {"only"} and place.b - place.a + place.d - place.c > FEW


def _only_as_bound(pair: Pair, place: Place) -> bool:
    """Whether *only* or 仅限 stands here before a number of which the other side says that it is the most."""
    here = _bounds_at(pair.claim, place.a, place.b) | _bounds_at(pair.text, place.c, place.d)
    return "at most" in here and _at_most(pair)


def _at_most(pair: Pair) -> bool:
    """Whether claim and sentence say of the same number that it is the most."""
    said, was = bounds_of(pair.claim), bounds_of(pair.text, pair.low, pair.high)
    return any("at most" in said[value] and "at most" in was[value] for value in said.keys() & was.keys())


def _related(pair: Pair) -> bool:
    """Whether claim and sentence have the same words of order and extent in all, or one an exception for the other's *only*."""
    values = pair.text.values[pair.low : pair.high]
    there = relation(values)
    if (EXCEPTION.search(" ".join(pair.claim.values)) is None) != (EXCEPTION.search(" ".join(values)) is None):
        return True
    return not relation_changed(relation(pair.claim.values), there, alone=False)


# -- numbers, quantities, dates ---------------------------------------------------------------------------


def _figure_changed(pair: Pair, place: Place) -> DifferenceKind | Literal["elsewhere", ""]:
    """The kind of a number, quantity or date of the claim that is missing at this place of the text; ``elsewhere``: the
    sentence has it, in another unit or at another place, or has no number to compare it with.
    """
    claim, text = pair.claim, pair.text
    said = [t for t in claim.tokens[place.a : place.b] if t.kind != "word"]
    was = [t for t in text.tokens[place.c : place.d] if t.kind != "word"]
    if not {t.value for t in said} - {t.value for t in was}:
        return ""
    if (
        not was
        or _durations(said) == _durations(was) != []
        or _same_frequency(pair, place)
        or _same_digits(said, was)
    ):
        return "elsewhere"
    if (not pair.alone and _stands(pair, place)) or ({t.kind for t in said} & {"date"}) - {t.kind for t in was}:
        return "elsewhere"
    if any(t.kind == "date" for t in (*said, *was)):
        return "date_changed"
    clock = any(":" in t.value for t in (*said, *was))
    same = not clock and _figures(claim, said) == _figures(text, was) and _signs(said) == _signs(was)
    if {t.kind for t in said}.isdisjoint(t.kind for t in was):  # *40 total hours* has its unit further on
        strange = same and (_counts_something(claim, place.a, place.b) or _counts_something(text, place.c, place.d))
        return "unit_changed" if strange else "elsewhere"
    return "unit_changed" if same else "number_changed"


def _same_digits(said: Sequence[Token], was: Sequence[Token]) -> bool:
    """Whether a time of day may be written as a number, or a date with its day and month in another order."""
    if any(_EITHER_ORDER.match(t.value) for t in (*said, *was)):
        return True
    if not any(":" in t.value for t in (*said, *was)):
        return False
    return [t.value.replace(".", ":") for t in said] == [t.value.replace(".", ":") for t in was]


def _same_frequency(pair: Pair, place: Place) -> bool:
    """Whether all figures of the claim here say how often something is done, and the sentence says so in other words."""
    said = [one for one in _frequencies(pair.claim.text) if _touches(pair.claim, one, place.a, place.b)]
    if not said:
        return False
    was = {one.every for one in _frequencies(pair.text.text) if _touches(pair.text, one, pair.low, pair.high)}
    figures = [t for t in pair.claim.tokens[place.a : place.b] if t.kind != "word"]
    return {one.every for one in said} <= was and all(
        any(one.start <= t.start and t.end <= one.end for one in said) for t in figures
    )


@lru_cache(maxsize=1_024)
def _frequencies(text: str) -> tuple[Frequency, ...]:
    """How often things are done in a text, with places of the text itself."""
    folded, places = folded_places(text)
    return tuple(Frequency(every, places[a], places[b - 1] + 1) for every, a, b in frequencies(folded))


def _touches(text: Tokens, one: Frequency, first: int, end: int) -> bool:
    """Whether a frequency has a token of this range, or stands right beside it."""
    near = text.tokens[max(0, first - 1) : end + 1] if first == end else text.tokens[first:end]
    return any(one.start < t.end and t.start < one.end for t in near)


def another_thing(pair: Pair, numbers: int) -> bool:
    """Whether a claim speaks of another thing, which has other numbers: too many of its words stand in the place of other words, or
    a name does, or a plain number that names it (severity 2).

    Args:
        numbers: How many numbers, units and dates differ.
    """
    named = numbers > 1 and any(
        b - a == d - c == 1
        and pair.claim.tokens[a].kind == pair.text.tokens[c].kind == "number"
        and a > 0 and pair.claim.tokens[a - 1].kind == "word"
        for a, b, c, d in pair.places
    )  # fmt: skip
    said, there = pair.claim.text, words_of(pair.text, pair.low, pair.high)
    own, was = tuple(dict.fromkeys(content_of(said))), tuple(dict.fromkeys(content_of(there)))
    other = [
        stem
        for a, b, c, d in pair.places
        if share_of(list(content_of(words_of(pair.text, c, d))), own) < 1
        for stem in content_of(" ".join(t.value for t in pair.claim.tokens[a:b] if t.kind == "word"))
        if share_of([stem], was) < 1
    ]
    names, known = set(_NAME.findall(said)), set(_NAME.findall(there))
    return named or len(other) > _OTHER * len(own) or bool(names - known and known - names)


def _counts_something(text: Tokens, first: int, end: int) -> bool:
    """Whether a plain number is followed by a word here: by a unit that is not known, but no degrees of a scale that is not named."""
    tokens = text.tokens[first:end]
    return any(
        one.kind == "number" and other.kind == "word" and other.value not in GLUE and other.value not in _ANY_SCALE
        for one, other in pairwise(tokens)
    )


def _durations(tokens: Sequence[Token]) -> list[float]:
    """The spans of time in days, hours and less, in seconds: 48 hours may be meant by two days."""
    found = [_AMOUNT.fullmatch(token.value) for token in tokens]
    return [float(match[1]) * _SECONDS[f"={match[2]}"] for match in found if match is not None]


def _stands(pair: Pair, place: Place) -> bool:
    """Whether the claim's words here, with those beside them, stand elsewhere in the sentence."""
    a, b = max(0, place.a - 1), min(len(pair.claim.tokens), place.b + 1)
    while b - a < 3 and b < len(pair.claim.tokens):
        b += 1
    wanted = BETWEEN + BETWEEN.join(pair.claim.values[a:b]) + BETWEEN
    return b - a >= 3 and wanted in BETWEEN + BETWEEN.join(pair.text.values[pair.low : pair.high]) + BETWEEN


def _figures(text: Tokens, tokens: Sequence[Token]) -> list[str]:
    """The digits or numerals in tokens, without what makes them a share."""
    said = (_SHARE.sub("", fold(text.text[t.start : t.end])) for t in tokens)
    return [match[0] for one in said if (match := _FIGURES.search(one))]


def _signs(tokens: Sequence[Token]) -> list[str]:
    """What of numbers is no digit: their sign and power, and all of a code."""
    return [t.value if t.value[:1].isalpha() else "".join(c for c in t.value if c in "-±^") for t in tokens]


def _unit(text: Tokens, first: int, end: int) -> object:
    """The unit that these tokens are after a number that does not form a quantity: 4x100 米."""
    if not (0 < first < end and text.tokens[first - 1].kind == "number"):
        return None
    return unit_of("".join(text.values[first:end]))


def _of_money(text: Tokens, first: int, end: int) -> object:
    return text.tokens[first].value if end - first == 1 and text.tokens[first].value in CURRENCIES else None


def _period(text: Tokens, first: int, end: int) -> str:
    """The period that these tokens say after *every*, *a* or 每; ``""`` for none."""
    if end - first != 1 or (name := _PERIODS.get(text.values[first])) is None:
        return ""
    before = text.values[first - 1] if first else ""
    return name if before in _EACH or text.values[first].endswith("ly") else ""


# -- bounds -----------------------------------------------------------------------------------------------


def bounds_of(text: Tokens, first: int = 0, end: int | None = None) -> Mapping[str, frozenset[DutyName]]:
    """By number, quantity or date of a text, whether it is said to be the most or the least."""
    end = len(text.tokens) if end is None else end
    found: dict[str, set[DutyName]] = {t.value: set() for t in text.tokens[first:end] if t.kind != "word"}
    bounded: set[int] = set()
    for duty in _with_turned(text):
        if duty.name in BOUNDING and first <= duty.first and duty.end <= end:
            at = _bounded(text, duty, first, end)
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
        one = None if denied is None else turned(denied, duty)
        if one is None or denied is None or any(t.after for t in text.tokens[denied.end : duty.first + 1]):
            found.append(duty)
        else:
            del found[-2 if nobody else -1 :]
            found.append(one)
    return found


def _bounds_at(text: Tokens, first: int, end: int) -> set[DutyName]:
    """The bounds whose words are among these tokens, as a *not* before them turns them."""
    here = {duty.end for duty in duties_at(text, first, end) if duty.name in BOUNDING}
    return {duty.name for duty in _with_turned(text) if duty.name in BOUNDING and duty.end in here}


def _of_bounds(text: Tokens) -> set[int]:
    """Where the *not* of a turned bound begins."""
    ends = {duty.first: duty.end for duty in text.duties}
    return {duty.first for duty in _with_turned(text) if duty.end != ends[duty.first]}


def _bounded(text: Tokens, duty: Duty, first: int, end: int) -> int | None:
    """The number that a bound belongs to: right behind it, else right before it, else the next one."""
    after = next((n for n in range(duty.end, min(end, duty.end + 6)) if text.tokens[n].kind != "word"), None)
    if after == duty.end:
        return after
    if duty.first > first and text.tokens[duty.first - 1].kind != "word":
        return duty.first - 1
    if after is None and duty.first > first + 1 and text.tokens[duty.first - 2].kind != "word":
        return duty.first - 2  # 以5本为限
    return after


def _bound_changed(pair: Pair, place: Place) -> Literal["number_changed"] | None:
    """Whether a number has another bound in the claim; one that is left out counts where nothing else differs."""
    claimed, meant = _bounds_at(pair.claim, place.a, place.b), _bounds_at(pair.text, place.c, place.d)
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


# -- what must, may and must not be -----------------------------------------------------------------------


def _same_bounds(pair: Pair) -> bool:
    """Whether no number has another bound in the claim."""
    said, was = bounds_of(pair.claim), bounds_of(pair.text, pair.low, pair.high)
    return all(said[value] == was[value] for value in said.keys() & was.keys())


def _differ(said: Set[DutyName], was: Set[DutyName], *, alone: bool) -> bool:
    """Whether a number has another bound; a sentence may name it twice, with both."""
    return said != was and (alone or bool(said and was and not said < was))


def _duty_changed(pair: Pair, place: Place) -> DifferenceKind | None:
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


def _duties_of(pair: Pair, place: Place) -> tuple[list[Duty], list[Duty]]:
    """What claim and text say here of what must, may and must not be."""
    claimed = [duty for duty in duties_at(pair.claim, place.a, place.b) if duty.name not in BOUNDING]
    meant = [duty for duty in duties_at(pair.text, place.c, place.d) if duty.name not in BOUNDING]
    if _same_bounds(pair):
        own, there = _of_bounds(pair.claim), _of_bounds(pair.text)
        claimed = [duty for duty in claimed if duty.first not in own]
        meant = [duty for duty in meant if duty.first not in there]
    if not {duty.name for duty in claimed} & DEONTIC:
        meant = [duty for duty in meant if duty.name != "must"]  # "is reported" says what "shall be reported" says
    if not {duty.name for duty in meant} & DEONTIC:
        claimed = [duty for duty in claimed if duty.name != "must"]
    return claimed, meant


def _says_so_here(pair: Pair, place: Place, claimed: Sequence[Duty], meant: Sequence[Duty]) -> bool:
    """Whether these words of both say the same, or deny different things: *closed* is *not open*."""
    a, b, c, d = place
    names = {duty.name for duty in (*claimed, *meant)}
    beside = (a == b and _beside(meant, pair.claim, a)) or (c == d and _beside(claimed, pair.text, c))
    return (
        beside  # one word of the same: 无需, 不需要
        or names == {"not", "need not"}  # who does not pay need not pay
        or (names == {"may"} and not (claimed and meant) and _at_most(pair))  # *at most two are allowed*: two may be
        or for_free(pair, place)
        or other_words(pair, place)
        or of_list(pair, claimed, meant)
    )


def _says_so_elsewhere(pair: Pair, claimed: Sequence[Duty], meant: Sequence[Duty]) -> bool:
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


def _of_another_clause(pair: Pair, place: Place) -> bool:
    """Whether a clause begins here in one of both alone."""
    if place.a == place.b or place.c == place.d or not place.a or place.c == pair.low:
        return False
    return (pair.claim.tokens[place.a].after == "") != (pair.text.tokens[place.c].after == "")


def _said_so(pair: Pair, duty: Duty) -> bool:
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


# -- parts in each other's place --------------------------------------------------------------------------


def exchanged(pair: Pair) -> tuple[Change, ...]:
    """Two parts of a sentence that a claim has in each other's place, where nothing else differs; none otherwise."""
    said, was = pair.claim.values, pair.text.values[pair.low : pair.high]
    if len(said) == len(was):
        apart = [n for n, (one, other) in enumerate(zip(said, was, strict=True)) if one != other]
        if len(apart) > 1 and len({(said[n], was[n]) for n in apart} | {(was[n], said[n]) for n in apart}) == 2:
            at = pair.low
            return tuple(shown(pair, Place(n, n + 1, at + n, at + n + 1)) for n in apart)
    places = pair.places
    if len(places) > 1 and all(a < b and c < d for a, b, c, d in places):
        swaps = {(tuple(pair.claim.values[a:b]), tuple(pair.text.values[c:d])) for a, b, c, d in places}
        if len(swaps) == 2 and {(one, other) for other, one in swaps} == swaps:
            return tuple(shown(pair, place) for place in places)
    return _crossed(pair)


def _crossed(pair: Pair) -> tuple[Change, ...]:
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
                    Place(a, a + other, c, c + one),
                    Place(end - one, end, pair.low + end - other, pair.low + end),
                )
                return shown(pair, begin), shown(pair, stop)
    return ()


def _inner(pair: Pair, first: int, one: int, other: int, end: int) -> Sequence[Token]:
    """The tokens of both parts but their first ones: a part that has a clause's end within is a clause that was moved."""
    low = pair.low
    return (
        *pair.text.tokens[low + first + 1 : low + first + one],
        *pair.text.tokens[low + end - other + 1 : low + end],
    )
