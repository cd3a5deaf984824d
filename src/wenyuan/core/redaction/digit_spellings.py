"""How the digits of a number may be spelled and parted, and how they are read."""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterator, Sequence
from ipaddress import AddressValueError, IPv6Address
from typing import NamedTuple

from wenyuan.core.redaction.checks import card_issuer, id_body, luhn

# How digits are spelled and parted: 一三八…, one three eight …, 1 3 8, 6222.0275.… become plain digits and dashes.
#
# Nothing here finds a value: a text is brought into the form that rules read, and each of its characters keeps the place
# that it came from.


class Spelled(NamedTuple):
    """A folded text with the way back, as in `View`; `offsets` is None where nothing moved."""

    text: str
    offsets: array[int] | None
    long: dict[int, int]


OFFSET = "I"
"""Type of an array of places in a text: as a list of numbers they would take ten times as much space."""


# What may stand between the digits of one number. Lists, cells and lines are parted by some of it, too: _LISTED.
_JOINT = r"[^\w\s⟦⟧\ufffc*,、;|。]"
_LISTED = r",、;|。\t\n\r\f\v"
# What vouches that a list is one number.
_CUE = re.compile(
    r"(?:[卡账帐]号|银行卡|信用卡|手机|电话|身份证|身份号码?|证件号|card|account|phone|mobile|cell|call|id)(?:号码?|是|为| is| no\.?| number)*[\s:#=*(|]{0,4}\Z",
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
    kept = array(OFFSET)
    long: dict[int, int] = {}
    origin = range(len(text.text)) if text.offsets is None else text.offsets
    at = max(0, edits[0].start - _AROUND)
    for edit in edits:
        pieces += (text.text[at : edit.start], edit.new)
        kept.extend(origin[at : edit.start])
        for first, last in edit.places:
            kept.append(origin[first])
            if last > first:
                long[origin[first]] = text.long.get(origin[last], origin[last] + 1)
        at = edit.end
    end = edits[-1].end + _AROUND
    kept.extend(origin[at:end])
    long = {place: text.long[place] for place in kept if place in text.long} | long
    return Spelled("".join((*pieces, text.text[at:end])), kept, long)


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


def _through(kept: array[int], offsets: array[int] | None) -> array[int]:
    return kept if offsets is None else array(OFFSET, (offsets[at] for at in kept))


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
    kept = array(OFFSET)
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
