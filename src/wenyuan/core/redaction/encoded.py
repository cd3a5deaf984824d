"""Redaction rules for values that are written in base64: what it stands for is looked at as a value of its own."""

from __future__ import annotations

import base64
import binascii
import re
from functools import partial

from wenyuan.core.redaction import (
    code_identifiers,
    identifiers,
    messengers,
    names,
    people,
    places,
    postal_addresses,
    secrets,
)
from wenyuan.core.redaction.matching import IN_CAPITALS, IN_DIGITS, Rule, Span, find
from wenyuan.core.redaction.text_view import TextView, view_of

# Digits are encoded as M…, N… and O…, lower-case letters as Y… to e….
_NUMBER = re.compile(r"[MNO](?<![A-Za-z0-9+/=].)[A-Za-z0-9+/]{14,39}={0,2}(?![A-Za-z0-9+/=])")
_MAIL = re.compile(r"[YZa-e](?<![A-Za-z0-9+/=].)[A-Za-z0-9+/]{11,127}={0,2}(?![A-Za-z0-9+/=])")
_DIGITS, _ADDRESS = re.compile(rb"[0-9][0-9 \-]{9,24}[0-9xX]"), re.compile(rb"[!-~]{6,96}")
_KINDS = ("cn_id", "bank_card", "cn_mobile")


def _decoded(rules: tuple[Rule, ...], like: re.Pattern[bytes], view: TextView, match: re.Match[str]) -> Span | None:
    """The value that a word stands for, when it is nothing but one."""
    written = match[0].rstrip("=")
    if like is _ADDRESS and (written.islower() or not any(map(str.isdigit, written))):
        return None  # a word
    try:
        said = base64.b64decode(written + "=" * (-len(written) % 4))
    except binascii.Error:
        return None
    if not like.fullmatch(said):
        return None
    inner = view_of(said.decode("ascii"))
    for rule in rules:
        for found in find(rule, inner):
            if (found.start, found.end) == (0, len(inner.text)):
                return match.start(), match.end(), found.value
    return None


# What a word before it calls a value of a class: 护照(base64)：RTEyMzQ1Njc4. It is then read as if it stood there plainly.
_CUES = {
    "cn_id": "身份证|id card|id number|id no",
    "cn_uscc": "信用代码|税号|纳税人识别号|tax id|uscc",
    "iban": "iban",
    "bank_card": "卡号|银行卡|账号|card number|card|account",
    "us_ssn": "ssn|social security",
    "hmt_permit": "通行证|回乡证|台胞证|permit",
    "passport": "护照|passport",
    "id_number": "驾驶证|驾照|licen[cs]e|national insurance|nric|aadhaar",
    "cn_mobile": "手机|电话|mobile|phone",
    "email": "邮箱|邮件|e-?mail",
    "cn_landline": "座机|电话|固话|传真|phone|tel|fax",
    "phone": "电话|手机|phone|tel|mobile|fax",
    "ip": "ip|服务器|主机|host|server|address",
    "plate": "车牌|车号|plate",
    "im_account": "微信|qq|wechat|skype|telegram",
    "address": "地址|住址|address",
    "person": "姓名|联系人|收货人|name|contact",
}
_SHORTEST_PLAIN = 2


def _cued_value(cue: str, rules: tuple[Rule, ...], view: TextView, match: re.Match[str]) -> Span | None:
    """The value that a word under a cue stands for."""
    written = view.text[match.start("value") : match.end("value")].rstrip("=")
    try:
        said = base64.b64decode(written + "=" * (-len(written) % 4)).decode("utf-8")
    except (binascii.Error, UnicodeDecodeError):
        return None
    if not said.isprintable() or len(said.strip()) < _SHORTEST_PLAIN:
        return None
    inner = view_of(f"{cue}：{said.strip()}")
    for rule in rules:
        for found in find(rule, inner):
            if found.end >= len(inner.text) and found.start <= len(cue) + 1:
                return match.start("value"), match.end("value"), found.value
    return None


def _rules_of(kind: str) -> tuple[Rule, ...]:
    every = (
        *identifiers.NUMBER_RULES,
        *code_identifiers.RULES,
        *secrets.NETWORK_RULES,
        *postal_addresses.RULES,
        *names.NAME_RULES,
        *people.RULES,
        *places.RULES,
        *messengers.RULES,
    )
    return tuple(rule for rule in every if rule.kind == kind)


def _under_cue(kind: str, cues: str) -> Rule:
    pattern = re.compile(
        rf"(?:{cues})[\u4e00-\u9fff]{{0,3}}(?:\s?(?:no|number|id)\.?)?(?:\s?\(?\s?(?:base ?64|b64)(?:编码)?\)?)?"
        r"(?:\s{0,2}(?:[:=是为]|is)\s{0,3}|(?<![a-z])|\s{1,2})[\"'`|(]{0,2}\s?(?P<value>[a-z0-9+/]{8,400}={0,2})(?![a-z0-9+/=])"
    )
    spoken = cues.split("|")
    needs = tuple(cue.replace("e-?mail", "mail") for cue in spoken)
    return Rule(kind, pattern, partial(_cued_value, spoken[0], _rules_of(kind)), needs=needs)


RULES = (
    *(
        Rule(kind, _NUMBER, partial(_decoded, _rules_of(kind), _DIGITS), cased=True, signs=IN_CAPITALS)
        for kind in _KINDS
    ),
    Rule("email", _MAIL, partial(_decoded, _rules_of("email"), _ADDRESS), cased=True, signs=IN_DIGITS),
    *(_under_cue(kind, cues) for kind, cues in _CUES.items()),
)
