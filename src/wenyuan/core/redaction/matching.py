"""How redaction rules find values: a normalised view of the text, patterns, check digits, spelled digits."""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from ipaddress import AddressValueError, IPv6Address
from typing import NamedTuple

from wenyuan.core import text as analyser
from wenyuan.core.redaction.checks import card_issuer, id_body, luhn
from wenyuan.core.redaction.policy import LABELS

# How digits are spelled and parted: 一三八…, one three eight …, 1 3 8, 6222.0275.… become plain digits and dashes.
#
# Nothing here finds a value: a text is brought into the form that rules read, and each of its characters keeps the place
# that it came from.


class Spelled(NamedTuple):
    """A folded text with the way back, as in `View`; `offsets` is None where nothing moved."""

    text: str
    offsets: list[int] | None
    long: dict[int, int]


# What may stand between the digits of one number. Lists, cells and lines are parted by some of it, too: _LISTED.
_JOINT = r"[^\w\s⟦⟧\ufffc*,、;|。]"
_LISTED = r",、;|。\t\n\r\f\v"
# What vouches that a list is one number.
_CUE = re.compile(
    r"(?:[卡账帐]号|银行卡|信用卡|手机|电话|身份证|证件号|card|account|phone|mobile|cell|call|id)(?:号码?|是|为| is| no\.?| number)*[\s:#=*(]{0,4}\Z",
    re.IGNORECASE,
)

_DIGITS = {
    c: str(digit)
    for digit, row in enumerate("零〇○◯洞 一壹幺弌 二贰两弍 三叁参弎 四肆 五伍 六陆 七柒拐 八捌 九玖勾".split())
    for c in row
}
_HAN = "".join(_DIGITS)
_HAN_DIGIT = re.compile(f"[{_HAN}]")
_TO_DIGITS = str.maketrans(_DIGITS)
# At least seven digits in a row, numerals among them; what parts them is left to `parted`.
_ROW = re.compile(
    rf"[{_HAN}0-9](?:(?:{_JOINT}|[ _{_LISTED}]){{0,3}}[{_HAN}0-9]){{6,}}(?:(?:{_JOINT}|[ _]){{0,3}}[xX](?![0-9A-Za-z]))?"
)
_WORDS = dict(zip("zero oh one two three four five six seven eight nine".split(), "00123456789", strict=True))
_WORD = re.compile("|".join(_WORDS))
_WORD_ROW = re.compile(rf"(?:{_WORD.pattern})(?:[ ,.\-]{{1,3}}(?:{_WORD.pattern})){{6,}}(?![a-z])")


class _Edit(NamedTuple):
    """What stands for ``text[start:end]``: characters, and for each the first and the last place that it stands for."""

    start: int
    end: int
    new: str
    places: Sequence[tuple[int, int]]


def spellings(text: Spelled) -> Iterator[Spelled]:
    """A text as it is; then, where numerals or English words for digits stand in a row, its surroundings with these in digits.

    A word may begin or end with a numeral (``一三八…一直没人接``), so each row is given twice: all of it in digits, and what in it
    may be a value.
    """
    yield text
    if _HAN_DIGIT.search(text.text):
        rows = [row for row in _ROW.finditer(text.text) if _HAN_DIGIT.search(row[0])]
        for write in (_all_digits, _value_digits):
            yield from _windows(text, [_by_character(row, write(row)) for row in rows])
    edits = [
        _by_character(row, row[0].translate(_ALIKE))
        for row in _ALIKE_ROW.finditer(text.text)
        if _mostly_digits(row[0])
    ]
    if "@" in text.text and _FOREIGN.search(text.text):
        edits += [
            _by_character(row, row[0].translate(_LATIN))
            for row in _MAIL.finditer(text.text)
            if _FOREIGN.search(row[0])
        ]
    yield from _windows(text, sorted(edits))
    lower = text.text.lower()
    if sum(word in lower for word in _WORDS) >= _FEWEST_WORDS:
        yield from _windows(text, list(map(_by_word, _WORD_ROW.finditer(lower))))


# Letters that look like digits, and letters of other scripts that look like Latin ones.
_ALIKE = str.maketrans("OoIlQ", "00110")
_ALIKE_ROW = re.compile(
    r"[0-9OoIl](?<![0-9A-Za-z].)(?=[0-9 \-]{0,21}[OoIl])(?:[ \-]?[0-9OoIl]){8,18}[xX]?(?![0-9A-Za-z])"
)
_FOREIGN = re.compile("[\u0370-\u03ff\u0400-\u052f]")
_LATIN = str.maketrans("аеорсухіјѕԁһкмтнвАЕОРСУХІЈЅКМТНВαορνικ", "aeopcyxijsdhkmthbAEOPCYXIJSKMTHBaopvik")
_MAIL = re.compile(r"[^\W]{1,1}(?<![\w.].)[\w.+\-]{0,63}@[\w.\-]{3,80}")


def _mostly_digits(row: str) -> bool:
    digits, letters = sum(c.isdigit() for c in row), sum(c.isalpha() and c not in "xX" for c in row)
    return digits >= _FEWEST_OF_A_NUMBER and 0 < letters <= 2 * digits


_FEWEST_OF_A_NUMBER = 4
_FEWEST_WORDS = 2  # a number has more digits than one
_AROUND = 64  # characters; more than a cue stands away


def _windows(text: Spelled, edits: Sequence[_Edit]) -> Iterator[Spelled]:
    """The surroundings of edits with these made; neighbours share theirs."""
    near: list[_Edit] = []
    for edit in edits:
        if near and edit.start - near[-1].end > 2 * _AROUND:
            yield _window(text, near)
            near = []
        near.append(edit)
    if near:
        yield _window(text, near)


def _window(text: Spelled, edits: Sequence[_Edit]) -> Spelled:
    pieces: list[str] = []
    kept: list[int] = []
    long = dict(text.long)
    origin = range(len(text.text)) if text.offsets is None else text.offsets
    at = max(0, edits[0].start - _AROUND)
    for edit in edits:
        pieces += (text.text[at : edit.start], edit.new)
        kept.extend(origin[at : edit.start])
        for first, last in edit.places:
            kept.append(origin[first])
            if last > first:
                long[origin[first]] = long.get(origin[last], origin[last] + 1)
        at = edit.end
    end = edits[-1].end + _AROUND
    return Spelled("".join((*pieces, text.text[at:end])), [*kept, *origin[at:end]], long)


def _by_character(row: re.Match[str], new: str) -> _Edit:
    return _Edit(row.start(), row.end(), new, [(at, at) for at in range(row.start(), row.end())])


def _by_word(row: re.Match[str]) -> _Edit:
    words = list(_WORD.finditer(row.string, row.start(), row.end()))
    new = "".join(_WORDS[word[0]] for word in words)
    return _Edit(row.start(), row.end(), new, [(word.start(), word.end() - 1) for word in words])


def _all_digits(row: re.Match[str]) -> str:
    """A row in digits; a numeral beside a number in digits is a word's."""
    return row[0] if _BESIDE.fullmatch(row[0]) else row[0].translate(_TO_DIGITS)


_BESIDE = re.compile(rf"[{_HAN}]{{0,3}}[0-9][^{_HAN}]{{5,}}[0-9][{_HAN}]{{0,3}}")


def _value_digits(row: re.Match[str]) -> str:
    written = row[0]
    places = [at for at, c in enumerate(written) if c.isalnum()]
    number = "".join(written[at] for at in places).translate(_TO_DIGITS)
    begin, end = next(_values(number, written, places), (0, 0))
    if begin == end:
        return written
    low, high = places[begin], places[end - 1] + 1
    return written[:low] + written[low:high].translate(_TO_DIGITS) + written[high:]


def _values(number: str, written: str, places: list[int]) -> Iterator[tuple[int, int]]:
    """Where in a row of digits an identity card, a bank card or a mobile number may stand: those of most digits first.

    Words that end in a numeral may stand right before a number: check digits tell where it begins, else what parts it.
    """
    scripts = [written[at].isascii() for at in places]
    first = range(min(len(number), _MOST_BEFORE))
    parts = [at for at in first if at == 0 or places[at] - places[at - 1] > 1 or scripts[at] != scripts[at - 1]]
    for length in (18, 19, 17, 16, 15):
        yield from ((at, at + length) for at in first if _has_check(number[at : at + length], length))
    last = len(number) - _MOBILE
    starts = (*parts, *([last] if 0 < last < _MOST_BEFORE else ()))
    yield from ((at, at + _MOBILE) for at in starts if _MOBILE_BEGINS.match(number, at) and at <= last)


_MOST_BEFORE = 8
_MOBILE = 11
_MOBILE_BEGINS = re.compile("1[3-9]")


def _has_check(number: str, length: int) -> bool:
    if len(number) < length:
        return False
    return (length == 18 and id_body(number)) or (number.isdigit() and luhn(number) and card_issuer(number))


def _through(kept: list[int], offsets: list[int] | None) -> list[int]:
    return kept if offsets is None else [offsets[at] for at in kept]


# Single characters with one and the same separator between them, or single digits with several: 1 3 8 0 0 1 3 8 0 0 0.
_ONE_BY_ONE = re.compile(
    rf"[0-9A-Za-z](?<![0-9A-Za-z].)(?:( ?{_JOINT} ?|[ _]| ?[{_LISTED}] ?)[0-9A-Za-z](?:\1[0-9A-Za-z]){{6,}}"
    rf"|(?<=[0-9])(?:[ .\-·_]{{1,3}}[0-9]){{10,}})(?![0-9A-Za-z])"
)
_FEWEST_DIGITS = 5  # else it is an alphabet
# Groups as cards, mobile numbers and identity cards have them, whatever stands between: 6222.0275.4124.3409.
_BETWEEN = rf"(?:{_JOINT}|[ _{_LISTED}]){{1,3}}"
_GROUPS = re.compile(
    rf"[0-9](?:(?<![0-9].)|(?<=861))(?:[0-9]{{3}}{_BETWEEN}(?:[0-9]{{4}}{_BETWEEN}[0-9]{{4}}(?:{_BETWEEN}[0-9]{{1,4}}(?:{_BETWEEN}[0-9]{{1,3}})?)?"
    rf"|[0-9]{{6}}{_BETWEEN}[0-9]{{4,5}})"
    rf"|(?<=1)[3-9][0-9]{_BETWEEN}[0-9]{{4}}{_BETWEEN}[0-9]{{4}}"
    rf"|[0-9]{{5}}{_BETWEEN}(?:[0-9]{{10}}(?:[0-9]{{3}})?|[0-9]{{8}}{_BETWEEN}[0-9]{{3}}[0-9xX]))(?![0-9])"
)
_PARTING = re.compile(r"[^0-9xX]")
_LIST = re.compile(f"[{_LISTED}]")


def parted(text: Spelled) -> Spelled:
    """Without what parts the characters of one number, and with dashes between its groups."""
    joined = _GROUPS.sub(_dashed, text.text)
    pieces: list[str] = []
    kept: list[int] = []
    at = 0
    for match in _ONE_BY_ONE.finditer(joined):
        start, end = match.span()
        if sum(map(str.isdigit, match[0])) < _FEWEST_DIGITS or _only_a_list(match):
            continue
        own = [i for i in range(start, end) if joined[i].isalnum()]
        pieces += (joined[at:start], *(joined[i] for i in own))
        kept.extend(range(at, start))
        kept.extend(own)
        at = end
    if not pieces:
        return text._replace(text=joined)
    pieces.append(joined[at:])
    kept.extend(range(at, len(joined)))
    return Spelled("".join(pieces), _through(kept, text.offsets), text.long)


def _dashed(match: re.Match[str]) -> str:
    return match[0] if _only_a_list(match) or _in_an_address(match) else _PARTING.sub("-", match[0])


def _in_an_address(match: re.Match[str]) -> bool:
    """Whether the groups are a part of an IPv6 address: 2001:db8:1040:1230::1440."""
    if ":" not in match[0]:
        return False
    start = match.start()
    before = _HEX_BEFORE.search(match.string, max(0, start - 40), start)
    told = _HEX.match(match.string, start if before is None else before.start())
    written = told[0] if told else ""
    written = _COLON_AROUND.sub("", written)  # punctuation, as in "IP:2001:db8::1:"
    try:
        IPv6Address(written)
    except AddressValueError:
        return False
    return True


_COLON_AROUND = re.compile(r"^:(?!:)|(?<!:):\Z")
_HEX, _HEX_BEFORE = re.compile(r"[0-9A-Fa-f:]{1,40}"), re.compile(r"[0-9A-Fa-f:]+\Z")


def _only_a_list(match: re.Match[str]) -> bool:
    """Whether numbers are parted as those of a list, a row or a column are, and no word says that they are one."""
    start = match.start()
    return _LIST.search(match[0]) is not None and _CUE.search(match.string, max(0, start - 24), start) is None


# A folded view of a text, with the way back: where rules look, and where the original is changed.
#
# People write one number in many ways: full-width, as character references, with invisible characters in it. The view
# undoes that, character by character, and remembers for each of its characters where it came from. How digits are spelled
# and parted is undone by `spellings` and `parted`.


HAN = "\u3400-\u4dbf\u4e00-\u9fff\U00020000-\U0003ffff"
"""Han characters, as the inside of a character class."""

MARK = re.compile(rf"⟦(?:{'|'.join(LABELS.values())})(?::[A-Z2-7]{{10}})?⟧")
"""What an earlier redaction wrote. It is told strictly, so that nobody hides a number between the brackets."""

OPAQUE = "\ufffc"
"""Stands for a whole mark in the view; no rule matches it."""

_SAME = {**dict.fromkeys("‐‑‒–—―−⁃﹘", "-"), **dict.fromkeys("·•‧∙⋅・", "·"), **{c: c for c in "\t\n\r\f\v"}}
_BY_CATEGORY = {"Cf": "", "Mn": "", "Me": "", "Cc": "", "Zs": " ", "Zl": "\n", "Zp": "\n"}
_INVISIBLE_LETTERS = frozenset("\u115f\u1160\u3164\uffa0")  # Hangul fillers: letters without a shape
# A character by its number or name, as HTML writes it: &#64; &#x31; &commat; &nbsp;
_REFERENCE = r"&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|commat|period|num|nbsp|shy|hyphen|dash|ensp|emsp|zwnj|zwj);"
# Escapes as programs write them, and what makes a part of a number bold: \\u0031, %31, \\@, 138**0013**8000, 138<b>0013</b>8000.
_ESCAPE = r"\\u00[2-7][0-9a-fA-F]|\\x[2-7][0-9a-fA-F]|%(?:3[0-9]|40|2[bBeE]|[46][1-9a-fA-F]|[57][0-9aA])|\\(?=[@.])"
_BOLD = r"(?<=[0-9\uff10-\uff19])(?:(?:\*\*|__)(?:[ ](?:\*\*|__))?(?![*_])|</?[a-z]{1,8}>){1,2}(?=[0-9\uff10-\uff19])"
_LONG = re.compile(f"{MARK.pattern}|{_REFERENCE}|{_ESCAPE}|{_BOLD}")
_HIDES = re.compile(f"{_ESCAPE}|{_BOLD}")
_NAMED = {"&hyphen;": "-", "&dash;": "-"}
_HANGZHOU = {chr(0x3021 + i): str(i + 1) for i in range(9)}  # 〡〢〣, the numerals of merchants


@lru_cache(maxsize=16_384)
def _fold(c: str) -> str:
    """One character as rules see it: ``""`` when it is invisible."""
    category = unicodedata.category(c)
    if c in _SAME:
        return _SAME[c]
    if category in _BY_CATEGORY or c in _INVISIBLE_LETTERS:
        return _BY_CATEGORY.get(category, "")
    if category in {"Nd", "No"} and (digit := unicodedata.digit(c, None)) is not None:
        return str(digit)  # also ❶
    if c in _HANGZHOU:
        return _HANGZHOU[c]
    if category == "Lo":
        return analyser.fold(c)  # Traditional Chinese as Simplified
    plain = "".join(d for d in unicodedata.normalize("NFKD", c) if not unicodedata.combining(d))
    return unicodedata.normalize("NFKC", plain) or c


@dataclass(frozen=True, slots=True)
class View:
    """A text as rules see it.

    Attributes:
        text: The folded text.
        lower: The same in lower case, character for character.
        offsets: For each character of `text`, the index of its character in the original; None when they are equal.
        long: Where in the original something begins of which one character was made: its end.
    """

    text: str
    lower: str
    offsets: tuple[int, ...] | None
    long: Mapping[int, int] = field(default_factory=dict)

    def original(self, start: int, end: int) -> tuple[int, int]:
        """The span of the original that ``text[start:end]`` stands for."""
        if self.offsets is None:
            return start, end
        last = self.offsets[end - 1]
        return self.offsets[start], self.long.get(last, last + 1)


class _Folds(dict[int, str]):
    """`_fold` by code point, for `str.translate`; `_MOVES` for a character that vanishes or grows."""

    def __missing__(self, code: int) -> str:
        folded = _fold(chr(code))
        if len(self) >= _MOST_FOLDS:
            self.clear()
        self[code] = found = folded if len(folded) == 1 else _MOVES
        return found


_MOVES = "\uffff"  # no character; who writes it all the same is looked at more closely
# What may be something else when it is folded, Traditional characters aside.
_FOLDING = re.compile("[^\t\n -~、。《》〈〉【】「」“”‘’\u4e00-\u9fff]")
_MOST_FOLDS = 32_768  # more than any language has
_FOLDS = _Folds()


def view_of(text: str) -> View:
    """The view of a text in which numerals are left as they are."""
    return views_of(text)[0]


def views_of(text: str) -> tuple[View, ...]:
    """The view of a text, and where numbers are written in words others with these in digits; linear in its length.

    All count: in ``13800138000一直`` the numeral is no digit, in ``一三八〇〇一三八〇〇〇`` it is.
    """
    folded, offsets = analyser.narrowed(text), None
    long: dict[int, int] = {}
    if _FOLDING.search(folded) or analyser.has_traditional(folded):  # to translate takes ten times as long
        folded = text.translate(_FOLDS)
    hides = ("\\" in text or "%" in text or "**" in text or "__" in text or "<" in text) and _HIDES.search(text)
    if hides or _MOVES in folded or "⟦" in text or "&" in text:
        folded, offsets, long = _moved(text)
    return tuple(map(_view, spellings(Spelled(folded, offsets, long))))


def _view(read: Spelled) -> View:
    read = parted(read)
    return View(read.text, read.text.lower(), None if read.offsets is None else tuple(read.offsets), read.long)


def _moved(text: str) -> tuple[str, list[int], dict[int, int]]:
    """The folded text, its offsets and what is long, where characters vanish, grow, or belong to a mark or a reference."""
    folds = {c: _fold(c) for c in set(text)}
    moving = "".join(c for c, folded in folds.items() if len(folded) != 1)
    pieces: list[str] = []
    offsets: list[int] = []
    long: dict[int, int] = {}
    at = 0
    odd = re.compile(f"{_LONG.pattern}|[{re.escape(moving)}]" if moving else _LONG.pattern)
    for match in odd.finditer(text):
        start, written = match.start(), match[0]
        new = folds[written] if len(written) == 1 and written != "\\" else _told(written)
        if len(written) > 1:
            long[start] = match.end()
        pieces += (text[at:start].translate(_FOLDS), new)
        offsets.extend(range(at, start))
        offsets.extend([start] * len(new))
        at = match.end()
    pieces.append(text[at:].translate(_FOLDS))
    offsets.extend(range(at, len(text)))
    return "".join(pieces), offsets, long


def _told(token: str) -> str:
    """What stands for a mark or a character reference."""
    if token.startswith("⟦"):
        return OPAQUE
    if token[0] in "\\%":
        return chr(int(token.lstrip("\\ux%"), 16)) if len(token) > 1 else ""
    if token[0] != "&":
        return ""
    return "".join(map(_fold, _NAMED.get(token) or html.unescape(token)))


# How a rule looks for values: a pattern that proposes, a check that decides.


Span = tuple[int, int, str]
"""Start and end in the view, and the value in its one normal form."""


class Finding(NamedTuple):
    """A value of a kind at ``[start:end]`` of a view, or of the text that it views; `value` is its normal form, equal for all ways to write it."""

    start: int
    end: int
    kind: str
    value: str


@dataclass(frozen=True, slots=True)
class Rule:
    """One way in which a kind of value shows.

    Patterns are linear: no repetition in a repetition that could split a text in two ways, every repetition
    bounded. They begin with a character class and look behind *after* it, as ``[1-9](?<![0-9].)``: the matcher
    then skips to the class instead of stopping at each character.

    Attributes:
        check: The span and value of what the pattern proposes, or None; the search then goes on one character later.
        needs: When given, one of these must be in the text (in lower case), or the pattern is not tried.
        cased: Whether the pattern reads the text as it is; else in lower case.
        signs: Names of `SIGNS`, each of which must be in the text, or the pattern is not tried.
    """

    kind: str
    pattern: re.Pattern[str]
    check: Callable[[View, re.Match[str]], Span | None]
    needs: tuple[str, ...] = ()
    cased: bool = False
    signs: frozenset[str] = frozenset()


SIGNS = {
    "han": re.compile(f"[{HAN}]"), "digit": re.compile("[0-9]"), "capital": re.compile(r"[^\W\d_a-z\u3400-\u9fff]"),
}  # fmt: skip
"""What many patterns cannot do without, as `View.text` has it."""
IN_HAN, IN_DIGITS, IN_CAPITALS = frozenset({"han"}), frozenset({"digit"}), frozenset({"capital"})


def find(rule: Rule, view: View) -> Iterator[Finding]:
    """What a rule finds, in order, not overlapping, in a text that it may be in."""
    text = view.text if rule.cased else view.lower
    at = 0
    while match := rule.pattern.search(text, at):
        span = rule.check(view, match)
        if span is None:
            at = match.start() + 1
        else:
            yield Finding(span[0], span[1], rule.kind, span[2])
            at = max(span[1], match.start() + 1)


def near(view: View, start: int, cue: re.Pattern[str], width: int = 24) -> bool:
    """Whether a cue word stands in the `width` characters before `start`, on the same line."""
    low = max(0, start - width, view.lower.rfind("\n", max(0, start - width), start) + 1)
    return cue.search(view.lower, low, start) is not None


_FILLER = r"(?:[\s:=#*_\"'“「【(\[]|号码|号|为|是|is|no\.?|number|码){0,4}\Z"


def adjacent(words: str) -> re.Pattern[str]:
    """A cue that stands right before the value, but for a colon, quotes and the like; for `near`."""
    return re.compile(f"(?:{words}){_FILLER}")


_SERIAL = adjacent(
    "(?:订单|运单|快递|物流|流水|批次|检验批|发票|合同|工单|单据|序列|档案|凭证|交易|报价|图纸|设备|物料|产品|文|学|案|工)"
    "编?号码?|编号|单号|货号|批号|批次|金额|时间戳"
    r"|order|serial|invoice|tracking|isbn|sku|ticket|order_?id|timestamp|¥|\$|€|£|rmb|cny|usd"
)
_UNIT = re.compile(r"\.[0-9]{1,2}(?![0-9])|\s?(?:元|%|吨|美元|港币|人民币|字节|bytes|usd|rmb|cny)")


def serial(view: View, start: int, end: int) -> bool:
    """Whether the text says that ``[start:end]`` is an order number, an amount or the like."""
    return near(view, start, _SERIAL, 12) or _UNIT.match(view.lower, end) is not None


def in_a_column(view: View, start: int, end: int) -> bool:
    """Whether ``[start:end]`` goes over several lines, and fills those or cells of them: two numbers, not one."""
    if "\n" not in view.lower[start:end]:
        return False
    return bool(_EDGE_BEFORE.search(view.lower, max(0, start - 3), start) and _EDGE_AFTER.match(view.lower, end))


_EDGE_BEFORE, _EDGE_AFTER = re.compile(r"(?:^|[\n|;\t]) {0,2}\Z"), re.compile(r" {0,2}(?:\Z|[\n|;\t])")


_SEPARATORS = re.compile(r"[\s.\-·_()]+")


def plain_number(written: str) -> str:
    """A number without its separators, in upper case."""
    return _SEPARATORS.sub("", written).upper()
