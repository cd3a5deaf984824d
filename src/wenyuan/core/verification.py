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
from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import lru_cache
from itertools import pairwise
from typing import Literal, NamedTuple

from wenyuan.core.quotation import left_out
from wenyuan.core.text import CJK, fold, sentences
from wenyuan.core.text.numbers import HAN_NUMERALS, NUMBER_WORDS, chinese_number, measured, unit_of
from wenyuan.core.text.signs import (
    BOUND,
    CODE,
    CURRENCIES,
    NUMBER,
    bound,
    in_one_unit,
    moments,
    power_at,
    powers,
    sign_before,
)

Kind = Literal[
    "verbatim", "part", "stitched", "number_changed", "unit_changed", "date_changed", "negation_changed", "modality_changed",
    "relation_changed", "paraphrase",
]  # fmt: skip

_CHANGED: tuple[Kind, ...] = (
    "number_changed",
    "unit_changed",
    "date_changed",
    "modality_changed",
    "negation_changed",
    "relation_changed",
)

_OF_DUTIES = ("modality_changed", "negation_changed", "relation_changed")

_DEONTIC = frozenset(("must", "may", "must not", "need not"))

LIKE = 0.7
"""Share of a claim's tokens that a text must have in their order to be what it was made of."""
_LIKE_BACK = 0.65  # share of the text's tokens there that the claim must have, for its duties to be those of the text
_PIECE = 5  # tokens of a piece at least
_PIECES = 5  # pieces of a claim at most
_STITCHED = 0.9  # share of the claim that its pieces make up
_DROPPED = 3  # tokens that a claim may leave out of a sentence before it counts as made of pieces


TokenKind = Literal["word", "number", "quantity", "date"]
Parted = Literal["", "clause", "sentence"]
DutyName = Literal["must", "may", "must not", "need not", "not", "at most", "at least"]


class Token(NamedTuple):
    """A token of a text.

    Attributes:
        value: In one form; equal tokens say the same.
        kind: What it is.
        start, end: Where it stands.
        after: What separates it from the token before: nothing, the end of a clause, or the end of a sentence.
    """

    value: str
    kind: TokenKind
    start: int
    end: int
    after: Parted


_Raw = tuple[str, TokenKind, int, int]
"""Value, kind, and where it stands in the folded text."""


class Duty(NamedTuple):
    """A modal expression (may, must, must not …): its class and range of tokens."""

    name: DutyName
    first: int
    end: int


@dataclass(frozen=True, slots=True)
class Tokens:
    """A tokenised text.

    Attributes:
        duties: Its modal expressions, in order.
        joined: The values of all tokens, each between two `_BETWEEN`.
    """

    text: str
    tokens: tuple[Token, ...]
    duties: tuple[Duty, ...]
    joined: str

    @property
    def values(self) -> list[str]:
        return [token.value for token in self.tokens]


@dataclass(frozen=True, slots=True)
class Change:
    """A difference: the text's words and the claim's; ``""`` for none."""

    was: str
    said: str


@dataclass(frozen=True, slots=True)
class Comparison:
    """The relation of a claim to a text.

    Attributes:
        spans: Where the text says it (offsets); several where the claim is made of pieces.
        changes: What differs.
        share: Of the claim's tokens, how many the text has there, 0..1.
    """

    kind: Kind
    spans: tuple[tuple[int, int], ...]
    changes: tuple[Change, ...] = ()
    share: float = 1.0


_STRUCK = re.compile("~~|<(?:del|s|strike)(?:[ >])|[\u0335-\u0338]", re.IGNORECASE)
"""Words that are struck out: what a claim says with them is not what they say."""
_BETWEEN = "\0"
_SIGNS = frozenset("<>≥≤")
_MEASURES = "个個名种種项項条條款章节節级級类類件份批户戶家台套处處层層部篇页頁期届屆位所站座辆輛成元年月日天周岁人次"
_TOKEN = re.compile(
    rf"(?<=第)[{HAN_NUMERALS}]+|[{HAN_NUMERALS}]+(?=[{_MEASURES}])|[{CJK}]|{CODE}|{NUMBER}|{BOUND}|[^\W\d_{CJK}]+(?:['’][^\W\d_{CJK}]+)*"
)
_CLAUSE = re.compile(r"[，、：,:—()（）]")
_MONTHS = frozenset("january february march april may june july august september october november december".split())
_FIGURES = re.compile(rf"[\d.,:/-]+|[{HAN_NUMERALS}]+|[a-z]+")
_RELATIONS = tuple((name, re.compile(pattern)) for name, pattern in (
    ("before", r"之 前|以 前|^前$|(?<![a-z])(?:before|prior)(?![a-z])"),
    ("after", r"之 后|以 后|^后$|(?<![a-z])after(?![a-z])"),
    ("only", r"仅|只(?! 能)|唯 一|(?<![a-z])(?:only|solely|exclusively)(?![a-z])"),
    ("all", r"全 部|所 有|全 体|任 何|(?<![a-z])(?:all|every|always)(?![a-z])"),
    ("some", r"部 分|某 些|有 些|个 别|(?<![a-z])(?:some|sometimes|several|few)(?![a-z])"),
))  # fmt: skip
_NOT = re.compile("([a-z]+)n't")
_STEMS = {"ca": "can", "wo": "will", "sha": "shall"}
_DAY, _YEAR = re.compile(r"\d"), re.compile(r"(?:19|20)\d\d(?:[/.-]\d{1,2}){0,2}|(?:\d{1,2}[/.-]){1,2}(?:19|20)\d\d")
_DUTIES: tuple[tuple[DutyName, str], ...] = (
    ("must not", "不得|不准|不许|不許|禁止|严禁|不应当?|不可以?|不能够?|不予|must not|mustn['’]t|shall not|may not|can(?: ?not|['’]t)"
     "|should not|shouldn['’]t|prohibited|forbidden|not (?:be )?(?:permitted|allowed)"),
    ("need not", "不必|无需|无须|毋须|不需要?|不用|可以?不|need not|needn['’]t|(?:is|are|be) not required|not required|exempt"),
    ("at most", "[<≤≦⩽]=?|不超过|不高于|不大于|不多于|不迟于|不晚于|至多|最多|以下|以内|低于|少于|小于|早于|at most|(?:no|not) (?:more|greater|later) than"
     "|(?:less|fewer|earlier) than|up to|below|under|within|maximum"),
    ("at least", "[>≥≧⩾]=?|不少于|不低于|不小于|不早于|至少|最少|以上|超过|高于|多于|大于|晚于|迟于|at least|(?:no|not) (?:less|fewer|earlier) than"
     "|(?:more|greater|later) than|above|over|exceed(?:s|ing)?|minimum"),
    ("must", "应当|必须|务必|须|(?<![供反适相响效感对回呼照答报顺因])应(?![用急变聘邀答收付对])|需要?(?!求)|must|shall|should|required|obliged|ha(?:s|ve) to|mandatory|needs? to"),
    ("may", "可以|允许|准许|有权|可(?![能靠见行用])|may|might|can|could|allowed|permitted|optional|entitled"),
    ("not", "没有|不|未|无|沒|没|非(?!常)|勿|莫|not|no|never|without|neither|nor|none|[a-z]+n['’]t"),
)  # fmt: skip
_DUTY = re.compile("|".join(f"(?P<d{number}>{pattern})" for number, (_, pattern) in enumerate(_DUTIES)))


@lru_cache(maxsize=4_096)
def tokens_of(text: str) -> Tokens:
    """Tokenise a text."""
    folded, places = _folded(text)
    found: list[_Raw] = []
    at = 0
    for start, end, read in sorted([*_quantities(folded), *_moments(folded)]):
        if start < at:
            continue
        found += _words(folded, at, start)
        found += [(value, kind, start, end) for value, kind in read]
        at = end
    found += _words(folded, at, len(folded))
    clauses = [match.start() for match in _CLAUSE.finditer(folded)]
    begins = [start for start, _ in sentences(text)]
    tokens, clause, sentence = [], 0, 0
    for value, kind, start, end in found:
        known = clause, sentence
        while clause < len(clauses) and clauses[clause] < start:
            clause += 1
        place = places[start]
        while sentence < len(begins) and begins[sentence] <= place:
            sentence += 1
        after: Parted = "sentence" if sentence > known[1] else "clause" if clause > known[0] else ""
        tokens.append(Token(value, kind, place, places[end - 1] + 1, after))
        while clause < len(clauses) and clauses[clause] < end:  # within the token
            clause += 1
    joined = _BETWEEN + "".join([token.value + _BETWEEN for token in tokens])
    return Tokens(text, tuple(tokens), tuple(_duties(folded, found)), joined)


def _quantities(folded: str) -> Iterator[tuple[int, int, list[tuple[str, TokenKind]]]]:
    for quantity in measured(folded):
        date = quantity.unit in ("月", "号") or (quantity.unit == "year" and 1_000 <= quantity.value < 3_000)
        value, unit = (quantity.value, quantity.unit) if date else in_one_unit(quantity.value, quantity.unit)
        sign, start = ("", quantity.start) if date else sign_before(folded, quantity.start)
        yield start, quantity.end, [(f"={sign}{value:.10g}{unit}", "date" if date else "quantity")]


def _moments(folded: str) -> Iterator[tuple[int, int, list[tuple[str, TokenKind]]]]:
    for moment in moments(folded):
        kind: TokenKind = "date" if len(moment.values) > 1 else "number"
        yield moment.start, moment.end, [(value, kind) for value in moment.values]


def _folded(text: str) -> tuple[str, Sequence[int]]:
    """The folded text, and the original position of each of its characters."""
    folded = fold(powers(text))
    if len(folded) == len(text):
        return folded, range(len(text))
    each = [
        (at, fold(power_at(text, at))) for at in range(len(text))
    ]  # a ligature becomes two, a half-width pair one
    return "".join(of for _, of in each), [at for at, of in each for _ in of]


def _words(folded: str, start: int, end: int) -> Iterator[_Raw]:
    for match in _TOKEN.finditer(folded, start, end):
        first, last = match.span()
        word = match[0].replace("’", "'")
        if (stem := _NOT.fullmatch(word)) is not None:
            yield _STEMS.get(stem[1], stem[1]), "word", first, last
            yield "not", "word", first, last
        elif word == "cannot":
            yield "can", "word", first, last
            yield "not", "word", first, last
        elif word[0].isdigit():
            sign, begun = sign_before(folded, first)
            value, kind = _read_word(match)
            yield sign + value, ("number" if sign else kind), max(start, begun), last
        else:
            yield *_read_word(match), first, last


def _read_word(match: re.Match[str]) -> tuple[str, TokenKind]:
    """Normal form and kind of a word or number."""
    value = match[0].replace("’", "'")
    if value[0] in "<>≥≤≧≦⩾⩽":
        return bound(value), "word"
    if value[0].isascii() and value[0].isalpha() and value[-1:].isalnum() and any(map(str.isdigit, value)):
        return value, "number"
    if value in NUMBER_WORDS:
        return str(NUMBER_WORDS[value]), "number"
    if value[0] in HAN_NUMERALS:
        return (str(chinese_number(value)), "number") if _counts(match) else (value, "word")
    if not value[0].isdigit() and value not in _MONTHS:
        return value, "word"
    if value in _MONTHS and _DAY.search(match.string[max(0, match.start() - 9) : match.end() + 6]):
        return value, "date"
    if _YEAR.fullmatch(value):
        return value, "date"
    return value, "number" if value[0].isdigit() else "word"


def _counts(match: re.Match[str]) -> bool:
    """Whether Chinese numerals are a number (第十三条, 三种) and not part of a word (一般, 统一)."""
    before, after = match.string[match.start() - 1 : match.start()], match.string[match.end() : match.end() + 1]
    return before == "第" or (after in _MEASURES and (len(match[0]) > 1 or match[0] not in "一万千百"))


def _duties(folded: str, found: Sequence[_Raw]) -> Iterator[Duty]:
    starts = {start: number for number, (_, _, start, _) in enumerate(found)}
    ends = {end: number for number, (_, _, _, end) in enumerate(found)}
    for match in _DUTY.finditer(folded):
        first, last = starts.get(match.start()), ends.get(match.end())
        if first is not None and last is not None:  # not within a word: mustard
            yield Duty(_DUTIES[int((match.lastgroup or "d0")[1:])][0], first, last + 1)


def compared_with(claim: Tokens, text: str) -> Comparison | None:
    """Compare a claim with a text; None where they share too little."""
    if not claim.tokens or _STRUCK.search(claim.text) or _most_held(claim, [text]) < LIKE * len(claim.tokens):
        return None
    tokens = tokens_of(text)
    return _verbatim(claim, tokens) or _aligned(claim, tokens)


def _most_held(claim: Tokens, texts: Iterable[str]) -> int:
    """Upper bound on the number of a claim's tokens in these texts, by substring search.

    It is cheap, and excludes most texts without tokenising them.
    """
    written = _BETWEEN.join(_folded(text)[0] for text in texts)
    return sum(token.kind != "word" or token.value in written for token in claim.tokens)


def stitched(claim: Tokens, texts: Sequence[str]) -> list[tuple[int, tuple[int, int]]]:
    """The pieces of texts that a claim is made of: index of the text and token range; empty where it is not stitched.

    A piece has `_PIECE` tokens at least, and is as long as can be; at least two are of different sentences.
    """
    if _most_held(claim, texts) < _STITCHED * len(claim.tokens):
        return []
    read = [tokens_of(text) for text in texts]
    values, pieces, at, covered = claim.values, list[tuple[int, tuple[int, int]]](), 0, 0
    homes: set[tuple[int, int]] = set()
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
        first = read[of].joined.count(_BETWEEN, 0, where)
        pieces.append((of, _span(read[of], first, first + best)))
        homes.add((of, sum(token.after == "sentence" for token in read[of].tokens[1 : first + 1])))
        covered += best
        at += best
    return pieces if len(homes) > 1 and len(pieces) <= _PIECES and covered >= _STITCHED * len(values) else []


def _run(values: Iterable[str]) -> str:
    return _BETWEEN + _BETWEEN.join(values) + _BETWEEN


def _span(text: Tokens, first: int, end: int) -> tuple[int, int]:
    return text.tokens[first].start, text.tokens[end - 1].end


def _said(text: Tokens, first: int, end: int) -> str:
    if first >= end:
        return ""
    start, stop = _span(text, first, end)
    return text.text[start:stop]


def _verbatim(claim: Tokens, text: Tokens) -> Comparison | None:
    place = text.joined.find(claim.joined)
    if place < 0:
        return None
    first = text.joined.count(_BETWEEN, 0, place)
    end = first + len(claim.tokens)
    span = _span(text, first, end)
    if text.tokens[first].after == "":
        for duty in text.duties:
            if duty.name in ("not", "must not", "need not") and duty.first < first <= duty.end:
                was = _said(text, duty.first, max(first + 1, duty.end))
                said = _said(text, first, max(first + 1, duty.end))
                return Comparison("negation_changed", (span,), (Change(was, said),))
    before = text.tokens[first - 1] if first else None
    if before is not None and before.value in _SIGNS and not text.text[before.end : span[0]].strip():
        return Comparison("number_changed", (span,), (Change(text.text[before.start : span[1]], claim.text.strip()),))
    if rest := left_out(text.text, *span):
        return Comparison("part", (span,), (Change(rest, ""),))
    return Comparison("verbatim", (span,))


def _aligned(claim: Tokens, text: Tokens) -> Comparison | None:
    window = _window(claim, text)
    if window is None:
        return None
    low, high = window
    said, was = claim.values, text.values[low:high]
    blocks = SequenceMatcher(None, said, was, autojunk=False).get_opcodes()
    share = sum(b - a for tag, a, b, _, _ in blocks if tag == "equal") / len(said)
    if exchanged := _exchanged(claim, text, [block for block in blocks if block[0] != "equal"], low):
        return Comparison("relation_changed", (_span(text, low, high),), exchanged, share)
    if share < LIKE:
        return None
    outer = [n for n, block in enumerate(blocks) if block[0] != "insert"]
    blocks = blocks[outer[0] : outer[-1] + 1]
    apart = [block for block in blocks if block[0] != "equal"]
    only_said = {duty.name for _, a, b, c, d in apart if c == d for duty in _duties_at(claim, a, b)}
    only_was = {duty.name for _, a, b, c, d in apart if a == b for duty in _duties_at(text, low + c, low + d)}
    changes: dict[Kind, list[Change]] = {}
    for _, a, b, c, d in apart:
        if kind := _changed(claim, a, b, text, low + c, low + d, only_said & only_was):
            changes.setdefault(kind, []).append(_shown(claim, a, b, text, low + c, low + d))
    spans = (_span(text, low + blocks[0][3], low + blocks[-1][4]),)
    same = sum(b - a for tag, a, b, _, _ in blocks if tag == "equal")
    like = same >= _LIKE_BACK * (blocks[-1][4] - blocks[0][3])
    if len(changes.get("number_changed", ())) > 1 and _another_thing(claim, text, apart, low):
        return Comparison("paraphrase", spans, (), share)
    for kind in _CHANGED:
        if kind in changes and (like or kind not in _OF_DUTIES):
            return Comparison(kind, spans, tuple(changes[kind]), share)
    if share >= _STITCHED and any(_leaves_out(text, block, low) for block in blocks):
        return Comparison("stitched", tuple(_pieces(text, blocks, low)), (), share)
    return Comparison("paraphrase", spans, (), share)


def _another_thing(claim: Tokens, text: Tokens, apart: Sequence[tuple[str, int, int, int, int]], low: int) -> bool:
    """Whether a plain number differs that names what is spoken of (severity 2), beside another one: another thing has
    other numbers.
    """
    return any(
        tag == "replace" and b - a == d - c == 1
        and claim.tokens[a].kind == text.tokens[low + c].kind == "number"
        and a > 0 and claim.tokens[a - 1].kind == "word"
        for tag, a, b, c, d in apart
    )  # fmt: skip


def _leaves_out(text: Tokens, block: tuple[str, int, int, int, int], low: int) -> bool:
    """Whether the claim omits more at this place than a few words of one sentence."""
    tag, _, _, c, d = block
    return tag == "insert" and (
        d - c > _DROPPED or any(t.after == "sentence" for t in text.tokens[low + c : low + d + 1])
    )


def _pieces(text: Tokens, blocks: Sequence[tuple[str, int, int, int, int]], low: int) -> Iterator[tuple[int, int]]:
    """The ranges of the text used by a claim, without the omitted parts."""
    begun: int | None = None
    end = 0
    for tag, _, _, c, d in blocks:
        if tag == "insert" and d - c > 0 and begun is not None:
            yield _span(text, low + begun, low + end)
            begun = None
        elif c < d:
            begun, end = (c if begun is None else begun), d
    if begun is not None:
        yield _span(text, low + begun, low + end)


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


def _changed(claim: Tokens, a: int, b: int, text: Tokens, c: int, d: int, moved: Set[DutyName]) -> Kind | None:
    """The kind of change between ``tokens[a:b]`` of the claim and ``tokens[c:d]`` of the text; None for a change of
    wording.

    Args:
        moved: Duties that the claim has at one place and the text at another.
    """
    if kind := _figure_changed(claim, a, b, text, c, d):
        return None if kind == "moved" else kind
    if any(of(claim, a, b) and of(text, c, d) for of in (_unit, _of_money)):
        return "unit_changed"
    if b - a <= _DROPPED and d - c <= _DROPPED and _relation_changed(_relation(claim, a, b), _relation(text, c, d)):
        return "relation_changed"
    return _duty_changed(claim, a, b, text, c, d, moved)


def _duty_changed(claim: Tokens, a: int, b: int, text: Tokens, c: int, d: int, moved: Set[DutyName]) -> Kind | None:
    """The kind of a change of what must, may or must not be; see `_changed`."""
    claimed, meant = _duties_at(claim, a, b), _duties_at(text, c, d)
    if not {duty.name for duty in claimed} & _DEONTIC:
        meant = [duty for duty in meant if duty.name != "must"]  # "is reported" says what "shall be reported" says
    if not {duty.name for duty in meant} & _DEONTIC:
        claimed = [duty for duty in claimed if duty.name != "must"]
    if [duty.name for duty in claimed] == [duty.name for duty in meant]:
        return None
    if (a == b and _beside(meant, claim, a)) or (c == d and _beside(claimed, text, c)):
        return None  # one word of the same: 无需, 不需要
    if (c == d or a == b) and not moved.isdisjoint(duty.name for duty in claimed or meant):
        return None  # it says so elsewhere
    if abs((b - a) - (d - c)) > _DROPPED:
        return None  # a clause that one of both has, and the other has not or has elsewhere, says its own
    names = {duty.name for duty in (*claimed, *meant)}
    if names & {"at most", "at least"}:
        return "number_changed"
    only = [t.value for t in (*claim.tokens[a:b], *text.tokens[c:d])]
    negating = all(any(d.name == "not" for d in tokens_of(value).duties) for value in only)
    return "negation_changed" if negating or names <= {"not"} or _negated(only) else "modality_changed"


def _figure_changed(claim: Tokens, a: int, b: int, text: Tokens, c: int, d: int) -> Kind | Literal["moved", ""]:
    """The kind of a number, quantity or date in the claim that is missing at this place of the text; ``moved``: it is
    elsewhere in it.
    """
    said = [t for t in claim.tokens[a:b] if t.kind != "word"]
    was = [t for t in text.tokens[c:d] if t.kind != "word"]
    if not {t.value for t in said} - {t.value for t in was}:
        return ""
    if not was:
        return "moved"  # elsewhere in it, or there is no number in its place that was changed
    if any(t.kind == "date" for t in (*said, *was)):
        return "date_changed"
    same = _figures(claim, said) == _figures(text, was) and _signs(said) == _signs(was)
    return "unit_changed" if same else "number_changed"


def _signs(tokens: Sequence[Token]) -> list[str]:
    """What of numbers is no digit: their sign and power, and all of a code."""
    return [t.value if t.value[:1].isalpha() else "".join(c for c in t.value if c in "-±^") for t in tokens]


def _unit(text: Tokens, first: int, end: int) -> bool:
    """Whether these tokens are a unit after a number that does not form a quantity: 4x100 米."""
    return (
        0 < first < end
        and text.tokens[first - 1].kind == "number"
        and unit_of("".join(text.values[first:end])) is not None
    )


def _of_money(text: Tokens, first: int, end: int) -> bool:
    return end - first == 1 and text.tokens[first].value in CURRENCIES


def _relation(text: Tokens, first: int, end: int) -> set[str]:
    """What is said of order and extent in these tokens: before, after, only, all, some."""
    said = " ".join(text.values[first:end])
    return {name for name, pattern in _RELATIONS if pattern.search(said)}


def _relation_changed(said: Set[str], was: Set[str]) -> bool:
    """Whether order or extent differ; what holds of invoices holds of all invoices."""
    return said != was and said ^ was != {"all"}


def _exchanged(
    claim: Tokens, text: Tokens, apart: Sequence[tuple[str, int, int, int, int]], low: int
) -> tuple[Change, ...]:
    """Two parts of a sentence that a claim has in each other's place, where nothing else differs."""
    if len(apart) != 2 or any(tag != "replace" for tag, *_ in apart):
        return ()
    (_, a, b, c, d), (_, e, f, g, h) = apart
    there = text.values[low:]
    if claim.values[a:b] != there[g:h] or claim.values[e:f] != there[c:d]:
        return ()
    return _shown(claim, a, b, text, low + c, low + d), _shown(claim, e, f, text, low + g, low + h)


def _negated(words: Sequence[str]) -> bool:
    """Whether one of two words is the other's negation: can, cannot."""
    return len(words) == 2 and words[1].removesuffix("not") == words[0].removesuffix("not")


def _figures(text: Tokens, tokens: Sequence[Token]) -> list[str]:
    """The digits or numerals in tokens."""
    return [match[0] for t in tokens if (match := _FIGURES.search(fold(text.text[t.start : t.end])))]


def _duties_at(text: Tokens, first: int, end: int) -> list[Duty]:
    """The modal expressions that overlap a range of tokens."""
    return [duty for duty in text.duties if duty.first < end and first < duty.end]


def _beside(duties: Sequence[Duty], text: Tokens, at: int) -> bool:
    """Whether all these are said right at a place of a text, too."""
    return {duty.name for duty in duties} <= {duty.name for duty in _duties_at(text, at - 1, at + 1)}


def _shown(claim: Tokens, a: int, b: int, text: Tokens, c: int, d: int) -> Change:
    """A change for display; where one side is empty, neighbouring words are added on both."""
    if a == b or c == d:
        before, after = int(a > 0 and c > 0), int(b < len(claim.tokens) and d < len(text.tokens))
        a, b, c, d = a - before, b + after, c - before, d + after
    return Change(_said(text, c, d), _said(claim, a, b))
