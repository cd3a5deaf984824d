"""Redaction rules for licences, identity numbers of other countries, accounts without check digits and number plates: by the word beside them."""

from __future__ import annotations

import re

from wenyuan.core.redaction.matching import (
    IN_CAPITALS,
    IN_DIGITS,
    IN_HAN,
    Rule,
    Span,
    adjacent,
    cue_before,
    plain_number,
)
from wenyuan.core.redaction.text_view import TextView

_NEAR = 32  # characters before a number in which its word stands


def _span(match: re.Match[str]) -> Span:
    group = "value" if match.re.groups and "value" in match.re.groupindex else 0
    return match.start(group), match.end(group), plain_number(match[group])


def _take_match(_view: TextView, match: re.Match[str]) -> Span:
    return _span(match)


def _beside(cue: str, pattern: str, *needs: str) -> Rule:
    """An identity number with digits that has its word right before it."""
    told = adjacent(cue)

    def check(view: TextView, match: re.Match[str]) -> Span | None:
        above = told.search(view.lower, max(0, match.start() - _NEAR), match.start())
        return _span(match) if above or cue_before(view, match.start(), told, _NEAR) else None

    return Rule("id_number", re.compile(rf"{pattern}(?![0-9a-z])"), check, needs, signs=IN_DIGITS)


# Brazil's CPF has its form and two check digits, Italy's codice fiscale a form of its own.
_CPF = re.compile(r"[0-9](?<![0-9.\-].)[0-9]{2}\.[0-9]{3}\.[0-9]{3}-[0-9]{2}(?![0-9])")


def _cpf(view: TextView, match: re.Match[str]) -> Span | None:
    digits = [int(c) for c in match[0] if c.isdigit()]
    for length in (9, 10):
        total = sum(digit * (length + 1 - at) for at, digit in enumerate(digits[:length])) * 10 % 11 % 10
        if total != digits[length] and not cue_before(view, match.start(), _CPF_CUE, 16):
            return None
    return _span(match)


_CPF_CUE = re.compile(r"cpf")
_ITALY = re.compile(r"[a-z](?<![0-9a-z].)[a-z]{5}[0-9]{2}[abcdehlmprst][0-9]{2}[a-z][0-9]{3}[a-z](?![0-9a-z])")
_BRITAIN = re.compile(
    r"[a-ceghj-prstw-z](?<![0-9a-z].)[a-ceghj-nprstw-z] [0-9]{2} [0-9]{2} [0-9]{2} [a-d](?![0-9a-z])"
)
# 1EG4-TE5-MK73: without dashes only after a word.
_MEDICARE = re.compile(
    r"[1-9](?<![0-9a-z\-].)[ac-hj-km-np-rt-y][0-9ac-hj-km-np-rt-y][0-9](?P<dash>-?)[ac-hj-km-np-rt-y][0-9ac-hj-km-np-rt-y][0-9](?P=dash)[ac-hj-km-np-rt-y]{2}[0-9]{2}(?![0-9a-z\-])"
)
_MEDICARE_CUE = re.compile(r"medicare|(?<![a-z])mbi(?![a-z])")


def _medicare(view: TextView, match: re.Match[str]) -> Span | None:
    return _span(match) if match["dash"] or cue_before(view, match.start(), _MEDICARE_CUE, 24) else None


_SOLDIER = re.compile(r"[\u4e00-\u9fff]{1,2}字第?\s?[0-9]{6,10}\s?号?")
_SOLDIER_CUE = re.compile(r"(?:军官|士兵|文职|警官|军人|武警|执法|工作)证")


def _soldier(view: TextView, match: re.Match[str]) -> Span | None:
    return _span(match) if cue_before(view, match.start(), _SOLDIER_CUE, 16) else None


# 对公账号 11014567890123; account number 12345678, sort code 20-00-00.
_ACCOUNT = re.compile(
    r"(?:(?P<sure>(?:对公|银行|结算|基本户?|一般户|收款|付款|开户|汇款)[账帐][号户]|bank account(?: number| no\.?)?|account (?:number|no\.?|#)|acct\.?(?: no\.?)?|account(?= [0-9]{9})|kontonummer)|[账帐]号)"
    r"(?:号码?)?[*\"'`]{0,2}\s{0,2}(?:[:=#]|是|为|is)?\s{0,3}[*\"'`]{0,2}(?P<value>[0-9](?:[ \-]?[0-9]){7,20})(?![0-9]|[ \-][0-9])"
)
_SHORTEST_PLAIN = 12  # digits after a word that may be the account of a user
_MOBILE = re.compile(r"1[3-9][0-9]{9}")


def _account(view: TextView, match: re.Match[str]) -> Span | None:
    number = plain_number(match["value"])
    if _MOBILE.fullmatch(number) or (not match["sure"] and len(number) < _SHORTEST_PLAIN):
        return None
    return _span(match)


_SORT_CODE = re.compile(
    r"sort[ \-]?code\s{0,2}(?:[:=]|is)?\s{0,3}(?P<value>[0-9]{2}[ \-]?[0-9]{2}[ \-]?[0-9]{2})(?![0-9])"
)

# 沪 C 8K771; reg AB12 CDE; plate number: 7ABC123; Kennzeichen B-AB 1234.
_SPACED_PLATE = re.compile(
    r"[京津沪渝冀豫云辽黑湘皖鲁新苏浙赣鄂桂甘晋蒙陕吉闽贵粤青藏川宁琼] [a-hj-np-z][ .\-·]{0,2}[a-hj-np-z0-9]{4,5}[a-hj-np-z0-9挂学警港澳](?![a-z0-9])"
)
_FOREIGN_PLATE = re.compile(
    r"(?:(?:licen[cs]e|number|registration|vehicle) plate|plate(?: number| no\.?)?|(?:car|vehicle)? ?reg(?:istration)?(?: number| no\.?|\.)?|vrm|kennzeichen)(?![a-z])"
    r"\s{0,2}(?:[:=#]|is)?\s{0,3}[*\"'`]{0,2}(?P<value>[a-z]{2}[0-9]{2} ?[a-z]{3}|[a-z][0-9]{1,3} ?[a-z]{3}|[0-9][a-z]{3}[0-9]{3}|[a-z]{3}[ \-]?[0-9]{3,4}|[0-9]{3}[ \-]?[a-z]{3}"
    r"|[a-zäöü]{1,3}[ \-][a-z]{1,2}[ \-]?[0-9]{1,4})(?![0-9a-z])"
)


def _foreign_plate(view: TextView, match: re.Match[str]) -> Span | None:
    before = view.lower[match.start() - 1 : match.start()]
    return None if before.isalnum() or before == "_" else _span(match)


# LSVAU2180N2183294: a vehicle's number of seventeen signs, with its word before, or with its check sign.
_VEHICLE = re.compile(
    r"[a-hj-npr-z0-9](?<![0-9a-z\-_/.].)(?=[a-z0-9]{0,12}[0-9]{4})[a-hj-npr-z0-9]{10}[a-hj-npr-z0-9]{2}[0-9]{4}(?![0-9a-z\-_/])"
)
_VEHICLE_CUE = re.compile(
    r"(?<![a-z])vin(?![a-z])|chassis|fahrgestell|车架|车辆识别|大架号|底盘号|识别代[号码]|vehicle id"
)
_SIGN_VALUES = dict(
    zip(
        "0123456789abcdefghjklmnprstuvwxyz",
        (*range(10), *range(1, 9), *range(1, 6), 7, 9, *range(2, 10)),
        strict=True,
    )
)
_WEIGHTS = (8, 7, 6, 5, 4, 3, 2, 10, 0, 9, 8, 7, 6, 5, 4, 3, 2)


def _vehicle(view: TextView, match: re.Match[str]) -> Span | None:
    number = match[0]
    if not any(map(str.isalpha, number)) or sum(map(str.isdigit, number)) < 5:
        return None
    rest = sum(_SIGN_VALUES[c] * weight for c, weight in zip(number, _WEIGHTS, strict=True)) % 11
    checked = number[8] == "0123456789x"[rest] and number[0].isalnum() and sum(map(str.isalpha, number[:11])) >= 3
    return _span(match) if checked or cue_before(view, match.start(), _VEHICLE_CUE, 90) else None


# （139）87651234
_MOBILE_APART = re.compile(r"\(1[3-9][0-9]\)[ \-]{0,2}[0-9]{4}[ \-]?[0-9]{4}(?![0-9])")

# 07700 900456; 090-5512-7734; LINDQVIST/TOBIAS MR
_BRITISH = re.compile(r"0(?<![0-9.\-].)(?:7[0-9]{3} [0-9]{3} ?[0-9]{3}|[789]0-[0-9]{4}-[0-9]{4})(?![0-9\-])")
_PASSENGER = re.compile(
    r"[A-Z](?<![\w/].)[A-Z\-']{1,24}/[A-Z]{2,24}(?: [A-Z]{2,24})?[ ]?(?:MRS|MR|MS|MISS|MSTR|DR)(?![A-Za-z])"
)


def _passenger(view: TextView, match: re.Match[str]) -> Span | None:
    return match.start(), match.end(), match[0].casefold()


_CARD_WORDS = tuple(
    f"{whose}{gap}{what}"
    for whose in ("driver", "national", "identity", "id", "tax", "citizen")
    for gap in " -"
    for what in ("id", "num", "no", "card")
)

RULES = (
    _beside(r"(?:永久)?居留(?:身份)?(?:证|许可)(?:件)?(?:号码?)?|永居(?:身份)?证", r"[a-z](?<![0-9a-z].)[a-z]{2}[0-9]{12}", "居留", "永居"),
    _beside(r"工作许可证?(?:号码?)?|就业许可证?(?:号码?)?|work permit(?: number| no\.?)?|residence permit(?: number| no\.?)?|居留许可", r"[a-z0-9](?<![0-9a-z].)(?=[a-z]{0,4}[0-9]{5})[a-z0-9]{6,17}", "许可", "permit"),
    _beside(r"驾驶?证?档案编号|档案编号", r"[0-9](?<![0-9a-z].)[0-9]{11}", "档案编号"),
    _beside(r"hkid(?: no\.?)?|香港(?:居民)?身份证(?:号码?)?", r"[a-z](?<![0-9a-z].)[a-z]?[0-9]{6}\(?[0-9a]\)?", "hkid", "香港", "身份证"),
    _beside(r"national insurance(?: number| no\.?)?|nino|ni (?:number|no\.?)", r"[a-z](?<![0-9a-z].)[a-z] ?(?:[0-9]{2} ?){3}[a-d]", "national insurance", "nino", "ni n"),
    _beside(r"aadhaar(?: number| no\.?)?", r"[0-9](?<![0-9a-z].)[0-9]{3}[ \-]?[0-9]{4}[ \-]?[0-9]{4}", "aadhaar"),
    _beside(r"(?:driver'?s?|driving) licen[cs]e(?: number| no\.?| #)?|dl(?: number| no\.?| #)", r"[a-z0-9](?<![0-9a-z].)(?=[a-z0-9 \-]{0,15}[0-9]{4})[a-z0-9][a-z0-9 \-]{4,17}[0-9a-z]", "driver", "driving", "dl n", "dl #"),
    _beside(r"nric(?: no\.?)?|(?<![a-z])fin(?: no\.?)", r"[stfgm](?<![0-9a-z].)[0-9]{7}[a-z]", "nric", "fin "),
    _beside(r"주민등록번호|resident registration(?: number| no\.?)?", r"[0-9](?<![0-9a-z].)[0-9]{5}-?[1-8][0-9]{6}", "주민", "resident registration"),
    _beside(r"(?:my ?number|マイナンバー|个人番号|個人番号)", r"[0-9](?<![0-9a-z].)[0-9]{3}[ \-]?[0-9]{4}[ \-]?[0-9]{4}", "my number", "mynumber", "マイナンバー", "番号"),
    _beside(r"(?<![a-z])sin(?: number| no\.?)?|social insurance(?: number| no\.?)?", r"[0-9](?<![0-9a-z].)[0-9]{2}[ \-]?[0-9]{3}[ \-]?[0-9]{3}", "sin", "social insurance"),
    _beside(r"tfn|tax file number", r"[0-9](?<![0-9a-z].)[0-9]{2} ?[0-9]{3} ?[0-9]{2,3}", "tfn", "tax file"),
    _beside(r"(?<![a-z])(?:dni|nie|nif)(?: no\.?)?", r"[xyz0-9](?<![0-9a-z].)-?[0-9]{7}-?[a-z]", "dni", "nie", "nif"),
    _beside(r"pan(?: card)?(?: number| no\.?)?", r"[a-z](?<![0-9a-z].)[a-z]{4}[0-9]{4}[a-z]", "pan"),
    _beside(r"(?:driver|national|identity|id|tax|citizen)[ \-](?:id|number|no\.?|card)(?: number| no\.?)?", r"[a-z](?<![0-9a-z].)[a-z]{0,3}[0-9]{6,12}", *_CARD_WORDS),
    Rule("id_number", _CPF, _cpf, needs=("-",), signs=IN_DIGITS),
    Rule("id_number", _ITALY, _take_match, signs=IN_DIGITS),
    Rule("id_number", _BRITAIN, _take_match, signs=IN_DIGITS),
    Rule("id_number", _SOLDIER, _soldier, needs=("字",), signs=IN_DIGITS),
    Rule("bank_card", _ACCOUNT, _account, needs=("账", "帐", "account", "acct", "kontonummer"), signs=IN_DIGITS),
    Rule("bank_card", _SORT_CODE, _take_match, needs=("sort",), signs=IN_DIGITS),
    Rule("plate", _SPACED_PLATE, _take_match, signs=IN_HAN),
    Rule("plate", _FOREIGN_PLATE, _foreign_plate, needs=("plate", "reg", "vrm", "kennzeichen"), signs=IN_DIGITS),
    Rule("plate", _VEHICLE, _vehicle, signs=IN_DIGITS),
    Rule("id_number", _MEDICARE, _medicare, signs=IN_DIGITS),
    _beside(r"(?:住 ?院|病 ?案|病 ?历|门 ?诊|就 ?诊 ?卡|诊 ?疗 ?卡|医 ?保 ?卡|医疗保险) ?(?:号 ?码?|编 ?号)|(?<![a-z])mrn(?: no\.?)?|medical record(?: number| no\.?)", r"[0-9a-z](?<![0-9a-z].)(?=[a-z\-]{0,4}[0-9]{5})[0-9a-z\-]{4,19}", "号", "mrn", "medical record"),
    _beside(r"nhs(?: number| no\.?)?", r"[0-9](?<![0-9a-z].)[0-9]{2} ?[0-9]{3} ?[0-9]{4}", "nhs"),
    Rule("phone", _BRITISH, _take_match, needs=("07", "080-", "090-"), signs=IN_DIGITS),
    Rule("person", _PASSENGER, _passenger, needs=("/",), cased=True, signs=IN_CAPITALS),
    Rule("cn_mobile", _MOBILE_APART, _take_match, needs=("(1",), signs=IN_DIGITS),
)  # fmt: skip
