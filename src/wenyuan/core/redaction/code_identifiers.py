"""Rules for codes of letters and digits: passports, permits, number plates, IBAN."""

from __future__ import annotations

import re

from wenyuan.core.redaction import checks
from wenyuan.core.redaction.identifiers import above, span
from wenyuan.core.redaction.matching import IN_DIGITS, Rule, Span, adjacent, cue_before, plain_number
from wenyuan.core.redaction.text_view import TextView

_PASSPORT_CUE = re.compile(r"护照|旅行证|证件号|passport")
_PASSPORT_NUMBER = re.compile(
    r"(?<![0-9a-z])(?:[a-z][ \-]?[a-z0-9]?[ \-]?[0-9](?:[ \-]?[0-9]){5,7}|[0-9]{9})(?![0-9a-z])"
)
_PASSPORT_WORDS = ("护照", "旅行证", "证件号", "passport")


def _passport(view: TextView, match: re.Match[str]) -> Span | None:
    if not cue_before(view, match.start(), _PASSPORT_CUE) and not above(view, match.start(), _PASSPORT_SAID):
        return None
    return match.start(), match.end(), plain_number(match[0])


# Of other countries: letters and digits mixed, right after the word, or right before it (持…号护照).
_PASSPORT_SAID = adjacent(r"护照(?:号码?)?|passport(?: number| no\.?| #)?")
_PASSPORT_MIXED = re.compile(
    r"[a-z0-9](?<![0-9a-z].)(?=[a-z0-9]*[a-z])(?=(?:[a-z]*[0-9]){4})[a-z0-9]{7,9}(?![0-9a-z])"
)
_BEFORE_PASSPORT = re.compile(r"(?P<number>[a-z](?<![0-9a-z].)[a-z]?[0-9]{6,9})(?=\s?号?的?\s?(?:护照|passport))")
_BEFORE_PERMIT = re.compile(
    r"(?P<number>[hmcwtl](?<![0-9a-z].)[0-9]{8,10})(?=\s?号?的?\s?(?:回乡证|台胞证|通行证|港澳|来往|home return))"
)


def _passport_said(view: TextView, match: re.Match[str]) -> Span | None:
    return span(match) if cue_before(view, match.start(), _PASSPORT_SAID, 24) else None


def _before_its_name(view: TextView, match: re.Match[str]) -> Span | None:
    return span(match)


_PERMIT_CUE = re.compile(r"通行证|回乡证|台胞证|来往内地|往来港澳|来往大陆|往来台湾|居住证|permit")
_PERMIT_SAID = adjacent(_PERMIT_CUE.pattern)
_PERMIT_NUMBER = re.compile(
    r"(?<![0-9a-z])(?:[hmcwtl][ \-]?[a-z]?[ \-]?[0-9](?:[ \-]?[0-9]){6,9}|[0-9]{8}(?:[0-9]{2}(?:\([a-z]\))?)?)(?![0-9a-z])"
)
_DAY = re.compile(r"(?:19|20)[0-9]{2}(?:0[1-9]|1[0-2])(?:0[1-9]|[12][0-9]|3[01])")


def _permit(view: TextView, match: re.Match[str]) -> Span | None:
    if not (
        cue_before(view, match.start(), _PERMIT_CUE) or above(view, match.start(), _PERMIT_SAID)
    ) or _DAY.fullmatch(match[0]):
        return None
    return match.start(), match.end(), plain_number(match[0])


_HONG_KONG = re.compile(r"[a-z](?<![0-9a-z].)([a-z]?)[ ]?([0-9]{6})[ ]?\(([0-9a])\)")


def _hong_kong(view: TextView, match: re.Match[str]) -> Span | None:
    letters = (view.lower[match.start()] + match[1]).upper()
    if not checks.hk_id(letters, match[2], match[3].upper()):
        return None
    return match.start(), match.end(), plain_number(match[0])


_TAIWAN = re.compile(r"[a-z](?<![0-9a-z].)[1289][0-9]{8}(?![0-9a-z])")
_TAIWAN_CUE = re.compile(r"身[份分]证|统一编号|统一证号|台湾")


def _taiwan(view: TextView, match: re.Match[str]) -> Span | None:
    number = match[0].upper()
    if not checks.tw_id(number) or not cue_before(view, match.start(), _TAIWAN_CUE):
        return None
    return match.start(), match.end(), number


_PROVINCE = "京津沪渝冀豫云辽黑湘皖鲁新苏浙赣鄂桂甘晋蒙陕吉闽贵粤青藏川宁琼"
_BODY = "a-hj-np-z0-9"
_PLATE = re.compile(
    rf"[{_PROVINCE}][a-hj-np-z][ .\-·]?"
    rf"(?:[df][ \-]?[{_BODY}][ \-]?(?:[0-9][ \-]?){{3}}[0-9]|(?:[0-9][ \-]?){{5}}[df]"
    rf"|(?:[{_BODY}][ \-]?){{4}}[{_BODY}挂学警港澳])(?![a-z0-9])"
)
# 更新A1234…, 阿里云B…: the last character of a word, not a province.
_WORD = re.compile(r"(?:[更最创全重刷翻崭]新|[里讯为度]云|[南西辽]宁)\Z")
_PLATE_CUE = re.compile(r"车|牌|驾驶|plate|vehicle")


def _plate(view: TextView, match: re.Match[str]) -> Span | None:
    start, end = match.span()
    code = plain_number(match[0])
    if sum(c.isdigit() for c in code) < 2 and not cue_before(view, start, _PLATE_CUE, 8):
        return None
    if _WORD.search(view.lower, max(0, start - 1), start + 1) and not cue_before(view, start, _PLATE_CUE, 8):
        return None
    return start, end, code


_IBAN = re.compile(r"[a-z](?<![0-9a-z].)[a-z][ \-]?[0-9][ \-]?[0-9](?:[ \-]?[0-9a-z]){11,30}")
_ALNUM = re.compile(r"[0-9a-z]")


def _iban(view: TextView, match: re.Match[str]) -> Span | None:
    length = checks.iban(plain_number(match[0]))
    if not length:
        return None
    end = match.start() + [m.end() for m in _ALNUM.finditer(match[0])][length - 1]
    if view.lower[end : end + 1].isalnum() and view.lower[end : end + 1].isascii():
        return None
    return match.start(), end, plain_number(view.lower[match.start() : end])


RULES = (
    Rule("passport", _PASSPORT_NUMBER, _passport, needs=_PASSPORT_WORDS),
    Rule("passport", _PASSPORT_MIXED, _passport_said, needs=("护照", "passport")),
    Rule("passport", _BEFORE_PASSPORT, _before_its_name, needs=("护照", "passport")),
    Rule("hmt_permit", _BEFORE_PERMIT, _before_its_name, needs=("回乡证", "台胞证", "通行证", "港澳", "来往", "home return")),
    Rule("hmt_permit", _PERMIT_NUMBER, _permit,
         needs=("通行证", "回乡证", "台胞证", "来往", "往来", "居住证", "permit")),
    Rule("hmt_permit", _HONG_KONG, _hong_kong, needs=("(",), signs=IN_DIGITS),
    Rule("hmt_permit", _TAIWAN, _taiwan, signs=IN_DIGITS),
    Rule("plate", _PLATE, _plate),
    Rule("iban", _IBAN, _iban, signs=IN_DIGITS),
)  # fmt: skip
