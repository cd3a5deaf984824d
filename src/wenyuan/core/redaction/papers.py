"""Rules for codes of letters and digits: passports, permits, number plates, IBAN."""

from __future__ import annotations

import re

from wenyuan.core.redaction import checks
from wenyuan.core.redaction.rule import Rule, Span, near, plain_number
from wenyuan.core.redaction.view import View

__all__ = ["RULES"]

_PASSPORT_CUE = re.compile(r"护照|旅行证|证件号|passport")
_PASSPORT_NUMBER = re.compile(
    r"(?<![0-9a-z])(?:[a-z][ \-]?[a-z0-9]?[ \-]?[0-9](?:[ \-]?[0-9]){5,7}|[0-9]{9})(?![0-9a-z])"
)
_PASSPORT_WORDS = ("护照", "旅行证", "证件号", "passport")


def _passport(view: View, match: re.Match[str]) -> Span | None:
    if not near(view, match.start(), _PASSPORT_CUE):
        return None
    return match.start(), match.end(), plain_number(match[0])


_PERMIT_CUE = re.compile(r"通行证|回乡证|台胞证|来往内地|往来港澳|来往大陆|往来台湾|居住证|permit")
_PERMIT_NUMBER = re.compile(
    r"(?<![0-9a-z])(?:[hmcwtl][ \-]?[a-z]?[ \-]?[0-9](?:[ \-]?[0-9]){6,9}|[0-9]{8}(?:[0-9]{2}(?:\([a-z]\))?)?)(?![0-9a-z])"
)
_DAY = re.compile(r"(?:19|20)[0-9]{2}(?:0[1-9]|1[0-2])(?:0[1-9]|[12][0-9]|3[01])")


def _permit(view: View, match: re.Match[str]) -> Span | None:
    if not near(view, match.start(), _PERMIT_CUE) or _DAY.fullmatch(match[0]):
        return None
    return match.start(), match.end(), plain_number(match[0])


_HONG_KONG = re.compile(r"[a-z](?<![0-9a-z].)([a-z]?)[ ]?([0-9]{6})[ ]?\(([0-9a])\)")


def _hong_kong(view: View, match: re.Match[str]) -> Span | None:
    letters = (view.lower[match.start()] + match[1]).upper()
    if not checks.hk_id(letters, match[2], match[3].upper()):
        return None
    return match.start(), match.end(), plain_number(match[0])


_TAIWAN = re.compile(r"[a-z](?<![0-9a-z].)[1289][0-9]{8}(?![0-9a-z])")
_TAIWAN_CUE = re.compile(r"身[份分]证|统一编号|统一证号|台湾")


def _taiwan(view: View, match: re.Match[str]) -> Span | None:
    number = match[0].upper()
    if not checks.tw_id(number) or not near(view, match.start(), _TAIWAN_CUE):
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
_WORD = re.compile(r"(?:[更最创全重刷翻崭]新|[里讯为度]云|[南西辽]宁)$")
_PLATE_CUE = re.compile(r"车|牌|驾驶|plate|vehicle")


def _plate(view: View, match: re.Match[str]) -> Span | None:
    start, end = match.span()
    code = plain_number(match[0])
    if sum(c.isdigit() for c in code) < 2 and not near(view, start, _PLATE_CUE, 8):
        return None
    if _WORD.search(view.lower, max(0, start - 1), start + 1) and not near(view, start, _PLATE_CUE, 8):
        return None
    return start, end, code


_IBAN = re.compile(r"[a-z](?<![0-9a-z].)[a-z][0-9]{2}(?:[ \-]?[0-9a-z]){11,30}")
_ALNUM = re.compile(r"[0-9a-z]")


def _iban(view: View, match: re.Match[str]) -> Span | None:
    length = checks.iban(plain_number(match[0]))
    if not length:
        return None
    end = match.start() + [m.end() for m in _ALNUM.finditer(match[0])][length - 1]
    if view.lower[end : end + 1].isalnum() and view.lower[end : end + 1].isascii():
        return None
    return match.start(), end, plain_number(view.lower[match.start() : end])


RULES = (
    Rule("passport", _PASSPORT_NUMBER, _passport, needs=_PASSPORT_WORDS),
    Rule("hmt_permit", _PERMIT_NUMBER, _permit,
         needs=("通行证", "回乡证", "台胞证", "来往", "往来", "居住证", "permit")),
    Rule("hmt_permit", _HONG_KONG, _hong_kong),
    Rule("hmt_permit", _TAIWAN, _taiwan),
    Rule("plate", _PLATE, _plate),
    Rule("iban", _IBAN, _iban),
)  # fmt: skip
