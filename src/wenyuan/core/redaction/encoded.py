"""Redaction rules for values that are written in base64: what it stands for is looked at as a value of its own."""

from __future__ import annotations

import base64
import binascii
import re
from functools import partial

from wenyuan.core.redaction import identifiers, secrets
from wenyuan.core.redaction.matching import Rule, Span, View, find, view_of

# Digits are encoded as M…, N… and O…, lower-case letters as Y… to e….
_NUMBER = re.compile(r"[MNO](?<![A-Za-z0-9+/=].)[A-Za-z0-9+/]{14,39}={0,2}(?![A-Za-z0-9+/=])")
_MAIL = re.compile(r"[YZa-e](?<![A-Za-z0-9+/=].)[A-Za-z0-9+/]{11,127}={0,2}(?![A-Za-z0-9+/=])")
_DIGITS, _ADDRESS = re.compile(rb"[0-9][0-9 \-]{9,24}[0-9xX]"), re.compile(rb"[!-~]{6,96}")
_KINDS = ("cn_id", "bank_card", "cn_mobile")


def _decoded(rules: tuple[Rule, ...], like: re.Pattern[bytes], view: View, match: re.Match[str]) -> Span | None:
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


def _rules_of(kind: str) -> tuple[Rule, ...]:
    return tuple(rule for rule in (*identifiers.NUMBER_RULES, *secrets.NETWORK_RULES) if rule.kind == kind)


RULES = (
    *(Rule(kind, _NUMBER, partial(_decoded, _rules_of(kind), _DIGITS), cased=True) for kind in _KINDS),
    Rule("email", _MAIL, partial(_decoded, _rules_of("email"), _ADDRESS), cased=True),
)
