"""Redaction rules for identity numbers, bank cards, telephones, passports and number plates."""

from __future__ import annotations

import re
from collections.abc import Sequence

from wenyuan.core.redaction import checks
from wenyuan.core.redaction.matching import (
    IN_DIGITS,
    Rule,
    Span,
    adjacent,
    cue_before,
    in_a_column,
    plain_number,
    serial,
)
from wenyuan.core.redaction.text_view import TextView


def above(view: TextView, start: int, cue: re.Pattern[str]) -> bool:
    """Whether a label ends the line before the one that begins at `start`."""
    return cue.search(view.lower, max(0, start - 24), start) is not None


# Rules for numbers: identity cards, company codes, bank cards, telephones.


_ID_CUE = re.compile(r"身份证|身份号|证件号|身份证件|公民身份|id card|id no|id number|sfz")
_CARD_CUE = re.compile(
    r"卡号|银行卡|信用卡|储蓄卡|借记卡|账号|账户|帐号|帐户|打入|开户|card|account|iban|(?<![a-z])cc(?![a-z])"
)
_ACCOUNT_CUE = adjacent(r"卡号|银行卡|信用卡|储蓄卡|借记卡|银行账[号户]|账[号户]|帐[号户]|card|account")
_PHONE_WORDS = (
    "电话|手机|座机|固话|传真|联系方式|拨打|telephone|tele?|cellphone|phone|mobile|mob|cell|fax|office|desk|answering at"
    "|(?:call|ring|text|dial|reach) me (?:on|at)|call|dial|messages to"
)
_PHONE_NEEDS = tuple(
    "电话 手机 座机 固话 传真 联系方式 拨打 tel phone mob cell fax office desk answering call ring text dial reach messages".split()
)
_PHONE_CUE = adjacent(_PHONE_WORDS)
_WORD_BEFORE = re.compile(
    r"(?<![a-z])(?:tele?|telephone|phone|mobile|mob|cell|m|t|p|call|fax|wechat|vx|wx|qq|id|no|hp|v|contact)[\-#]?\Z"
)
_LETTER_BEFORE = re.compile(r"[a-z]-?\Z")
_UUID = re.compile(r"[0-9a-f]{4}-[0-9a-f]{4}-\Z")


def _spaced(*atoms: str, gap: str) -> str:
    return gap.join(atoms)


def _joined_to_word(view: TextView, start: int) -> bool:
    """Whether the number is the rest of a code (``SF138…``, ``HT-138…``, a UUID), not of ``Tel138…``."""
    low = max(0, start - 12)
    if _UUID.search(view.lower, low, start):
        return True
    if not _LETTER_BEFORE.search(view.lower, low, start):
        return False
    return _WORD_BEFORE.search(view.lower, low, start) is None


_AFTER = re.compile(r"[a-df-wyz]|-[0-9a-z]")  # but not x12, ext 12


def _joined_after(view: TextView, end: int) -> bool:
    return _AFTER.match(view.lower, end) is not None


_ID18 = re.compile(
    _spaced(
        r"[1-9](?<![0-9].)", *["[0-9]"] * 5, "[12]", "[09]", *["[0-9]"] * 2, "[01]", "[0-9]", "[0-3]", "[0-9]",
        *["[0-9]"] * 3, "[0-9x×](?![0-9])", gap=r"[ .\-·_\n]{0,3}",
    )
)  # fmt: skip


def _id18(view: TextView, match: re.Match[str]) -> Span | None:
    number = plain_number(match[0]).replace("×", "X")
    if not checks.id_body(number):
        return None
    if not checks.id_check(number) and not cue_before(view, match.start(), _ID_CUE, 16):
        return None
    return match.start(), match.end(), number


_ID15 = re.compile(r"[1-9](?<![0-9].)[0-9]{5}([ \-]?)[0-9]{2}[01][0-9][0-3][0-9]\1[0-9]{3}(?![0-9])")


def _id15(view: TextView, match: re.Match[str]) -> Span | None:
    number, (start, end) = plain_number(match[0]), match.span()
    if not checks.id_body(number):
        return None
    if cue_before(view, start, _ID_CUE, 16):
        return start, end, number
    if serial(view, start, end) or _joined_to_word(view, start) or _joined_after(view, end):
        return None
    return start, end, number


_USCC = re.compile(
    r"[1-9any](?<![0-9a-z].)[ \-]?[1-59][ \-]?(?:[0-9][ \-]?){6}"
    r"(?:[0-9a-hj-npqrtuwxy][ \-]?){9}[0-9a-hj-npqrtuwxy](?![0-9a-z])"
)


_USCC_CUE = re.compile(r"信用代码|税号|纳税人|uscc|credit code|tax")
_USCC_OFFICES = frozenset(  # who registered it, and as what (GB 32100-2015, annex A)
    "11 12 13 19 21 29 31 32 33 34 35 39 41 49 51 52 53 54 59 61 62 69 71 72 79 81 89 91 92 93 A1 A9 N1 N2 N3 N9 Y1".split()
)


def _uscc(view: TextView, match: re.Match[str]) -> Span | None:
    code, start = plain_number(match[0]), match.start()
    if code[:2] not in _USCC_OFFICES or not checks.uscc(code):
        return None
    if code.isdigit() and not cue_before(view, start, _USCC_CUE):  # could be any number: one in 31 passes the check
        groups = _GROUP.findall(match[0])
        if any(len(group) < 4 for group in groups[:-1]) or serial(view, start, match.end()):
            return None
    return start, match.end(), code


_LINE_END = r"[ \-]?\n[ ]{0,3}"
_CARD = re.compile(rf"[1-9](?<![0-9].)[0-9]{{3}}(?:(?:[ \-]{{0,3}}|{_LINE_END})[0-9]){{8,15}}(?![0-9])")
_GROUP = re.compile(r"[0-9]+")


def _card(view: TextView, match: re.Match[str]) -> Span | None:
    """The longest beginning of the digit groups that is a card number."""
    start = match.start()
    groups = [(group.end(), len(group[0])) for group in _GROUP.finditer(match[0])]
    number = plain_number(match[0])
    length = len(number)
    for i in range(len(groups) - 1, -1, -1):
        if length < 12:
            break
        if checks.luhn(number[:length]) and all(size >= 3 for _, size in groups[:i]):
            end = start + groups[i][0]
            if _is_card(view, start, end, number[:length]):
                return start, end, number[:length]
        length -= groups[i][1]
    if len(number) >= 15 and cue_before(view, start, _ACCOUNT_CUE, 12):
        return start, match.end(), number  # the word right before vouches for it: a slip of the pen
    return None


def _is_card(view: TextView, start: int, end: int, number: str) -> bool:
    if cue_before(view, start, _CARD_CUE):
        return True
    if in_a_column(view, start, end):
        return above(view, start, _ACCOUNT_CUE)
    if not checks.card_issuer(number) or serial(view, start, end):
        return False
    return not (_joined_to_word(view, start) or _joined_after(view, end))


_SSN = re.compile(r"[0-8](?<![0-9\-].)[0-9]{2}(?:([ \-])[0-9]{2}\1[0-9]{4}|[0-9]{6})(?![0-9]|-[0-9])")
_SSN_CUE = re.compile(r"ssn|social\s+security|社会安全号|社保号|社会安全码")


def _ssn(view: TextView, match: re.Match[str]) -> Span | None:
    if match[1] != "-" and not cue_before(view, match.start(), _SSN_CUE, 32):
        return None
    return _ssn_number(view, match)


def _ssn_number(view: TextView, match: re.Match[str]) -> Span | None:
    number, (start, end) = plain_number(match[0]), match.span()
    if number[:3] in {"000", "666"} or number[3:5] == "00" or number[5:] == "0000":
        return None
    return None if _joined_after(view, end) else (start, end, number)


_SSN_APART = re.compile(r"[0-8](?<![0-9\-].)(?:[ .\-]{0,3}[0-9]){8}(?![0-9]|-[0-9])")
"""With spaces within its groups, too, where a word right before says what it is."""
_SSN_SAID = adjacent(r"ssn|social\s+security(?:\s+(?:number|no\.?))?|社会安全号码?|社会安全码")


def _ssn_apart(view: TextView, match: re.Match[str]) -> Span | None:
    return _ssn_number(view, match) if cue_before(view, match.start(), _SSN_SAID, 40) else None


_MOBILE = re.compile(rf"1(?:{_LINE_END})?[3-9](?:(?:[ .\-·_]{{0,3}}|{_LINE_END})[0-9]){{9}}(?![0-9])")
_CHINA = re.compile(r"(?:\(?(?<![0-9])(?:\+ ?|00)?86\)?|\(?\+?86\)|(?<![0-9])0)[ .\-·_]{0,3}\Z")


def _mobile(view: TextView, match: re.Match[str]) -> Span | None:
    start, end = match.span()
    groups = _GROUP.findall(re.sub(_LINE_END, "", match[0]))
    if in_a_column(view, start, end) and not above(view, start, _PHONE_CUE):
        return None
    if any(len(group) < 3 for group in groups) or _fractions(match[0], groups):
        return None  # a row of small numbers, or of fractions
    prefix = _CHINA.search(view.lower, max(0, start - 10), start)
    if prefix:
        start = prefix.start()
    elif view.lower[start - 1 : start].isdigit():
        return None
    if _joined_to_word(view, start) or _joined_after(view, end) or serial(view, start, end):
        return None
    return start, end, plain_number(match[0])


def _fractions(written: str, groups: Sequence[str]) -> bool:
    """Whether a dot parts a number in two, or stands beside spaces where no telephone number has either."""
    if "." not in written:
        return False
    return len(groups) == 2 or (" " in written and [len(group) for group in groups] != [3, 4, 4])


_EXTENSION = r"(?:[ ,]?(?:转|ext\.?|x)[ ]?[0-9]{1,6}|-[0-9]{1,5}(?![0-9\-]))?"
_LANDLINE = re.compile(
    rf"0(?<![0-9].)(?:10|2[0-9]|[3-9][0-9]{{2}})(?P<gap>\)?[ .\-·_]{{0,3}})[2-8][0-9]{{2,3}}[ \-]?[0-9]{{4}}(?![0-9])"
    rf"{_EXTENSION}"
)


def _landline(view: TextView, match: re.Match[str]) -> Span | None:
    start, end = match.span()
    if match["gap"] in {"", "."} and not cue_before(view, start, _PHONE_CUE, 16):
        return None
    if _joined_to_word(view, start) or _joined_after(view, end) or serial(view, start, end):
        return None
    if match["gap"].startswith(")") and view.lower[start - 1 : start] == "(":
        start -= 1
    return start, end, plain_number(match[0])


_LAND_DIGITS = re.compile(r"(?:86|0)(?:10|2[0-9]|[3-9][0-9]{2})[2-8][0-9]{6,7}")
_LOCAL = re.compile(r"[2-8][0-9]{2,3}[ \-]?[0-9]{4}")
_OFFICE = re.compile(
    r"应急|报警|消防|火警|急救|救援|抢修|值班|热线|总机|前台|保卫|医务|投诉|举报|服务|监督|emergency|switchboard|reception|front desk|hotline|duty"
)
_EXTENDED = re.compile(rf"{_EXTENSION[:-1]}\Z")


def _of_a_line(view: TextView, number: str, start: int) -> bool:
    """Whether a telephone number is that of a landline in China: with its area code, or, where a word says whose it is (an
    office for emergencies, say), without.
    """
    own = _EXTENDED.sub("", number)
    digits = "".join(c for c in own if c.isdecimal())
    if _LAND_DIGITS.fullmatch(digits):
        return own.startswith("+86") or digits[0] == "0"
    return bool(_LOCAL.fullmatch(own)) and cue_before(view, start, _OFFICE, 16)


_PLUS = re.compile(rf"\+[1-9](?:[ .\-()]{{0,3}}[0-9]){{6,14}}(?![0-9]){_EXTENSION}")
_AMERICAN = re.compile(
    rf"[2-9(](?<![0-9\-].)(?:[0-9]{{2}}([\-.])[0-9]{{3}}\1|(?<=\()[2-9][0-9]{{2}}\)[ \-]?[0-9]{{3}}-)"
    rf"[0-9]{{4}}(?![0-9]|-[0-9]){_EXTENSION}"
)
_REST = r"(?:[ .\-()]{0,2}[0-9]){6,14}(?![0-9])"
_SAID = re.compile(
    rf"(?:{_PHONE_WORDS})(?:号码?|number|no\.?|s)?(?:是|为| is|\*\*)?[\s:#\-]{{0,3}}(?P<number>[+(]?[0-9]{_REST}{_EXTENSION})"
)
_SAID_AFTER = re.compile(
    rf"[0-9(+](?<![0-9+(.\-].)(?<![0-9] .){_REST}(?=[ \-]{{0,2}}(?:{_PHONE_WORDS}|home|work)(?![a-z]))"
)
_DATE = re.compile(r"(?:19|20)[0-9]{2}[.\-][0-9]{1,2}[.\-][0-9]{1,2}(?![0-9])")
_AFTER_LETTER = re.compile("[a-z]")
_FREE_CALL = re.compile(r"[48]00[ \-]?[0-9]")


def _plus(view: TextView, match: re.Match[str]) -> Span | None:
    return None if _of_a_line(view, match[0], match.start()) else _dialled(view, match)


def _plus_land(view: TextView, match: re.Match[str]) -> Span | None:
    return _dialled(view, match) if _of_a_line(view, match[0], match.start()) else None


def _dialled(view: TextView, match: re.Match[str]) -> Span | None:
    before = view.lower[match.start() - 1 : match.start()]
    if (before.isascii() and before.isalnum()) or serial(view, match.start(), match.end()):
        return None
    return span(match)


def span(match: re.Match[str]) -> Span:
    return match.start(), match.end(), plain_number(match[0])


def _american(view: TextView, match: re.Match[str]) -> Span | None:
    if _FREE_CALL.match(match[0]) or _joined_to_word(view, match.start()):
        return None
    return span(match)


def _named_phone(view: TextView, match: re.Match[str]) -> Span | None:
    """A number that a word calls a telephone number; company hotlines are not personal."""
    if _LETTER_BEFORE.search(view.lower, max(0, match.start() - 1), match.start()) and match[0][0].isascii():
        return None  # hotel 1234567
    if _of_a_line(view, match["number"], match.start("number")):
        return None
    return _call_name(view, match["number"], match.start("number"))


def _said_land(view: TextView, match: re.Match[str]) -> Span | None:
    if not _of_a_line(view, match["number"], match.start("number")):
        return None
    return _call_name(view, match["number"], match.start("number"))


def _said_after(view: TextView, match: re.Match[str]) -> Span | None:
    return None if _of_a_line(view, match[0], match.start()) else _call_name(view, match[0], match.start())


def _call_name(view: TextView, number: str, start: int) -> Span | None:
    if _DATE.match(number) or _FREE_CALL.match(number) or _AFTER_LETTER.match(view.lower, start + len(number)):
        return None
    return start, start + len(number), plain_number(number)


NUMBER_RULES = (
    Rule("cn_id", _ID18, _id18, signs=IN_DIGITS),
    Rule("cn_id", _ID15, _id15, signs=IN_DIGITS),
    Rule("cn_uscc", _USCC, _uscc, signs=IN_DIGITS),
    Rule("bank_card", _CARD, _card, signs=IN_DIGITS),
    Rule("us_ssn", _SSN, _ssn, signs=IN_DIGITS),
    Rule("us_ssn", _SSN_APART, _ssn_apart, needs=("ssn", "social", "社会安全")),
    Rule("cn_mobile", _MOBILE, _mobile, signs=IN_DIGITS),
    Rule("cn_landline", _LANDLINE, _landline, signs=IN_DIGITS),
    Rule("cn_landline", _PLUS, _plus_land, needs=("+",)),
    Rule("cn_landline", _SAID, _said_land, needs=_PHONE_NEEDS, signs=IN_DIGITS),
    Rule("phone", _PLUS, _plus, needs=("+",)),
    Rule("phone", _AMERICAN, _american, signs=IN_DIGITS),
    Rule("phone", _SAID, _named_phone, needs=_PHONE_NEEDS, signs=IN_DIGITS),
    Rule("phone", _SAID_AFTER, _said_after, needs=(*_PHONE_NEEDS, "home", "work")),
)
