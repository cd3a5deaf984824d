"""Compares a claim with a text: verbatim, stitched from pieces, or with a changed number, unit, date, negation or
obligation.

A claim and a text are compared by tokens: words, Chinese characters, numbers and quantities, each in one form (``24 小时`` =
``二十四小时`` = ``24 hours``); marks do not count. In this order:

1. The claim stands in the text token by token: *verbatim*, unless a negation or a sign stands right before it (``must not | be
   open``), or it is a part of a sentence whose rest governs it (`core.quotation`): *part*.
2. It is aligned with the sentences that share most of its tokens. Where it has `LIKE` of its tokens from there, what differs
   tells: a number, a unit, a date, a negation, or who must and who may. What differs otherwise is a paraphrase.
3. Most of it is found in pieces at several places: *stitched*.

A paraphrase is not judged to be right here; that needs a judge. A reported change was found in the words themselves.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from wenyuan.core.bound_differences import FEW
from wenyuan.core.denials import denial_around, turned_round
from wenyuan.core.differences import DIFFERENCES, changed
from wenyuan.core.exchanged_parts import exchanged
from wenyuan.core.figure_differences import another_thing
from wenyuan.core.places import AlignedPair, ClaimDifference, TokenSpan, display_change, span_of, words_of
from wenyuan.core.quotation import governs, left_out, whole
from wenyuan.core.text.alignment import aligned
from wenyuan.core.text.modality import relation
from wenyuan.core.tokens import BETWEEN, Tokens, folded_places, tokens_of

Kind = Literal[
    "verbatim", "part", "stitched", "number_changed", "unit_changed", "date_changed", "negation_changed", "modality_changed",
    "relation_changed", "paraphrase",
]  # fmt: skip

_OF_DUTIES = ("modality_changed", "negation_changed", "relation_changed")

LIKE = 0.7
"""Share of a claim's tokens that a text must have in their order to be what it was made of."""
_LIKE_BACK = 0.65  # share of the text's tokens there that the claim must have, for its duties to be those of the text
_PLACES = 32  # places that are looked at
_PIECE = 5  # tokens of a piece at least
_PIECES = 5  # pieces of a claim at most
_LONG = 8  # tokens that each of more than two pieces has on average
_WORD = 6  # tokens of a word, or of a name, that may be another one
_STITCHED = 0.9  # share of the claim that its pieces make up


@dataclass(frozen=True, slots=True)
class Comparison:
    """The relation of a claim to a text.

    Attributes:
        spans: Where the text says it (offsets); several where the claim is made of pieces.
        changes: What differs; of a paraphrase, where it is but one place.
        share: Of the claim's tokens, how many the text has there, 0..1.
    """

    kind: Kind
    spans: tuple[tuple[int, int], ...]
    changes: tuple[ClaimDifference, ...] = ()
    share: float = 1.0


_STRUCK = re.compile("~~|<(?:del|s|strike)(?:[ >])|[\u0335-\u0338\u20dd-\u20e4]", re.IGNORECASE)
"""Words that are struck out: what a claim says with them is not what they say."""
_SIGNS = frozenset("<>≥≤")


def compared_with(claim: Tokens, text: str) -> Comparison | None:
    """Compare a claim with a text; None where they share too little."""
    if not claim.tokens or _STRUCK.search(claim.text):
        return None
    like = _most_held(claim, [text]) >= LIKE * len(claim.tokens)
    found = _verbatim(claim, tokens_of(text)) if like else None
    return found or _denied(claim, text) or (_aligned(claim, tokens_of(text)) if like else None)


def _denied(claim: Tokens, text: str) -> Comparison | None:
    """A claim that says of a whole sentence of the text that it is not so; None for any other."""
    if (frame := denial_around(claim.text)) is None:
        return None
    said = tokens_of(claim.text[slice(*frame.said)])
    if not said.tokens or _most_held(said, [text]) < len(said.tokens):
        return None
    found = _verbatim(said, tokens_of(text))
    if found is None or found.kind != "verbatim":
        return None
    return Comparison("negation_changed", found.spans, (ClaimDifference("", frame.words),))


def _most_held(claim: Tokens, texts: Iterable[str]) -> int:
    """Upper bound on the number of a claim's tokens in these texts, by substring search.

    It is cheap, and excludes most texts without tokenising them.
    """
    written = BETWEEN.join(folded_places(text)[0] for text in texts)
    return sum(token.kind != "word" or token.value in written for token in claim.tokens)


def stitched(claim: Tokens, texts: Sequence[str]) -> list[tuple[int, tuple[int, int]]]:
    """The pieces of texts that a claim is made of: index of the text and token range; empty where it is not stitched.

    A piece has `_PIECE` tokens at least, and is as long as can be; at least two are of different sentences. Sentences that
    follow one another, joined by *and it* or 并且, are not stitched.
    """
    if _most_held(claim, texts) < _STITCHED * len(claim.tokens):
        return []
    read = [tokens_of(text) for text in texts]
    values, pieces, at, covered = claim.values, list[tuple[int, tuple[int, int]]](), 0, 0
    homes: set[tuple[int, int]] = set()
    ranges: list[tuple[int, int, int]] = []
    while at + _PIECE <= len(values) and len(pieces) <= _PIECES:
        best, of, where = 0, 0, -1
        for number, text in enumerate(read):
            length = max(best + 1, _PIECE)
            while at + length <= len(values) and (place := text.joined.find(_run(values[at : at + length]))) >= 0:
                best, of, where = length, number, place
                length += 1
        if not best:
            at += 1
            continue
        first = read[of].joined.count(BETWEEN, 0, where)
        pieces.append((of, span_of(read[of], first, first + best)))
        ranges.append((of, first, first + best))
        homes.add((of, sum(token.after == "sentence" for token in read[of].tokens[1 : first + 1])))
        covered += best
        at += best
    if (
        len(homes) < 2
        or len(pieces) > min(_PIECES, max(2, len(values) // _LONG))
        or covered < _STITCHED * len(values)
        or _in_turn(read, ranges)
    ):
        return []
    return pieces


def _in_turn(read: Sequence[Tokens], ranges: Sequence[tuple[int, int, int]]) -> bool:
    """Whether pieces, ranges of tokens of these texts, follow one another there and each begins a sentence but the first one."""
    return all(
        of == other and 0 <= begin - end <= 1 and "sentence" in {t.after for t in read[of].tokens[end : begin + 1]}
        for (of, _, end), (other, begin, _) in pairwise(ranges)
    )


def _run(values: Iterable[str]) -> str:
    return BETWEEN + BETWEEN.join(values) + BETWEEN


def _verbatim(claim: Tokens, text: Tokens) -> Comparison | None:
    place = text.joined.find(claim.joined)
    if place < 0:
        return None
    first = text.joined.count(BETWEEN, 0, place)
    end = first + len(claim.tokens)
    span = span_of(text, first, end)
    if text.tokens[first].after == "":
        for duty in text.duties:
            if duty.name in ("not", "must not", "need not") and duty.first < first <= duty.end:
                was = words_of(text, duty.first, max(first + 1, duty.end))
                said = words_of(text, first, max(first + 1, duty.end))
                return Comparison("negation_changed", (span,), (ClaimDifference(was, said),))
    before = text.tokens[first - 1] if first else None
    if before is not None and before.value in _SIGNS and not text.text[before.end : span[0]].strip():
        return Comparison(
            "number_changed", (span,), (ClaimDifference(text.text[before.start : span[1]], claim.text.strip()),)
        )
    if _asks(claim.text) and not _asks(text.text[: whole(text.text, *span)[1]]):
        return Comparison("paraphrase", (span,))
    if rest := left_out(text.text, *span):
        return Comparison("part", (span,), (ClaimDifference(rest, ""),))
    return Comparison("verbatim", (span,))


def _asks(text: str) -> bool:
    """Whether a text ends as a question does; what asks for something does not say it."""
    return text.rstrip(" \t\r\n\"'”’」』）)").endswith(("?", "？"))


def _aligned(claim: Tokens, text: Tokens) -> Comparison | None:
    window = _window(claim, text)
    if window is None:
        return None
    low, high = window
    said, values = claim.values, text.values[low:high]
    blocks = aligned(said, values).get_opcodes()
    share = sum(b - a for tag, a, b, _, _ in blocks if tag == "equal") / len(said)
    whole_window = AlignedPair(claim, text, low, high, _places(blocks, low), False)
    outer = [n for n, block in enumerate(blocks) if block[0] != "insert"]
    lead = blocks[0] if outer[0] else None
    blocks = blocks[outer[0] : outer[-1] + 1]
    apart, first, last = _places(blocks, low), low + blocks[0][3], low + blocks[-1][4]
    alone = len(apart) == 1 and _begins(text, low, first) and _ends(text, last, high)
    every = AlignedPair(claim, text, first, last, apart, alone)
    if swapped := exchanged(whole_window) or exchanged(every):
        return Comparison("relation_changed", (span_of(text, low, high),), swapped, share)
    if share < LIKE:
        return None
    pair = every._replace(low=low, high=high, places=apart[:_PLACES])
    spans = (span_of(text, low + blocks[0][3], low + blocks[-1][4]),)
    same = sum(b - a for tag, a, b, _, _ in blocks if tag == "equal")
    like = same >= _LIKE_BACK * (blocks[-1][4] - blocks[0][3])
    if differs := _differs(pair, like):
        return Comparison(differs[0], spans, differs[1], share)
    paraphrase = Comparison("paraphrase", spans, _other_word(pair), share)
    if share < _STITCHED:
        return paraphrase
    if lead is not None and lead[4] - lead[3] <= FEW and "only" in relation(values[lead[3] : lead[4]]):
        dropped = words_of(text, low + lead[3], low + lead[4])
        return Comparison("relation_changed", spans, (ClaimDifference(dropped, ""),), share)
    return _with_gaps(text, blocks, low, share) or paraphrase


def _other_word(pair: AlignedPair) -> tuple[ClaimDifference, ...]:
    """The words of both where a claim is a sentence but for one place: another name, or another word for the same."""
    place = pair.places[0] if pair.alone and pair.places else None
    if place is None or not 0 < place.b - place.a <= _WORD or not 0 < place.d - place.c <= _WORD:
        return ()
    return (display_change(pair, place),)


def _begins(text: Tokens, low: int, first: int) -> bool:
    """Whether a sentence begins at a token, maybe behind the number of its paragraph."""
    return (
        first == low
        or text.tokens[first].after == "sentence"
        or (first == low + 1 and text.tokens[low].kind == "number")
    )


def _ends(text: Tokens, end: int, high: int) -> bool:
    return end == high or text.tokens[end].after == "sentence"


def _differs(pair: AlignedPair, like: bool) -> tuple[Kind, tuple[ClaimDifference, ...]] | None:
    """The gravest kind of change of a claim, and where it is; None without any.

    Args:
        like: Most of the sentence is in the claim, so that what both say of duties can be compared.
    """
    found: dict[Kind, list[ClaimDifference]] = {}
    for place in pair.places:
        if kind := changed(pair, place):
            found.setdefault(kind, []).append(display_change(pair, place))
    figures = sum(len(found.get(kind, ())) for kind in ("number_changed", "unit_changed", "date_changed"))
    if figures and another_thing(pair, figures):
        return None
    same = turned_round(pair.claim.text, pair.text.text[slice(*span_of(pair.text, pair.low, pair.high))])
    for kind in DIFFERENCES:
        if kind in found and ((like and not same) or kind not in _OF_DUTIES):
            return kind, tuple(found[kind])
    return None


_Block = tuple[str, int, int, int, int]


def _places(blocks: Iterable[_Block], low: int) -> tuple[TokenSpan, ...]:
    return tuple(TokenSpan(a, b, low + c, low + d) for tag, a, b, c, d in blocks if tag != "equal")


def _with_gaps(text: Tokens, blocks: Sequence[_Block], low: int, share: float) -> Comparison | None:
    """A claim that leaves out more than a few words: of one sentence, *part* where these govern the rest; else *stitched*."""
    pieces = tuple(_pieces(text, blocks, low))
    for tag, _, _, c, d in blocks:
        if tag != "insert" or d - c <= FEW:
            continue
        if any(t.after == "sentence" for t in text.tokens[low + c : low + d + 1]):
            return Comparison("stitched", pieces, (), share)
        missing = text.text[text.tokens[low + c].start : text.tokens[low + d].start]
        if governs(missing):
            return Comparison("part", pieces, (ClaimDifference(missing.strip(), ""),), share)
    return None


def _pieces(text: Tokens, blocks: Sequence[_Block], low: int) -> Iterator[tuple[int, int]]:
    """The ranges of the text used by a claim, without the omitted parts."""
    begun: int | None = None
    end = 0
    for tag, _, _, c, d in blocks:
        if tag == "insert" and d - c > 0 and begun is not None:
            yield span_of(text, low + begun, low + end)
            begun = None
        elif c < d:
            begun, end = (c if begun is None else begun), d
    if begun is not None:
        yield span_of(text, low + begun, low + end)


def _window(claim: Tokens, text: Tokens) -> tuple[int, int] | None:
    """The token range of the sentence that shares most tokens with a claim, with its neighbours; None when too few
    are shared.
    """
    wanted, values = Counter(claim.values), text.values
    starts = [0, *(n for n, token in enumerate(text.tokens) if n and token.after == "sentence"), len(values)]
    held = [sum((wanted & Counter(values[a:b])).values()) for a, b in pairwise(starts)]
    best = max(range(len(held)), key=lambda n: held[n])
    first, last = max(0, best - 1), min(len(held), best + 2)
    low, high = starts[first], starts[last]
    together = sum((wanted & Counter(values[low:high])).values())
    if held[best] >= LIKE * len(claim.tokens):
        return starts[best], starts[best + 1]
    return (low, high) if together >= LIKE * len(claim.tokens) else None
