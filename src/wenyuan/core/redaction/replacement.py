"""What is written in the place of a value: a mark, a mask with a safe hint, or a pseudonym."""

from __future__ import annotations

import base64
import hmac
import re

from wenyuan.core.redaction.matching import Finding
from wenyuan.core.redaction.policy import LABELS, Action
from wenyuan.core.redaction.postal_addresses import DISTRICT

_STARS = "****"
_HIDDEN_AT_LEAST = 2  # characters; of a shorter value no hint is left
_CITY = re.compile(r"[^省市县区]{1,6}市")
# How many characters a mask leaves at the beginning and at the end: enough to recognise what one knows already.
# Cards and IBAN: PCI DSS 3.4.1 allows six and four. Identity numbers keep the province, never the date of birth.
_ENDS = {
    "cn_id": (2, 2),
    "cn_uscc": (2, 4),
    "iban": (2, 4),
    "bank_card": (4, 4),
    "us_ssn": (0, 4),
    "hmt_permit": (1, 2),
    "passport": (1, 2),
    "id_number": (1, 2),
    "cn_mobile": (3, 4),
    "cn_landline": (3, 2),
    "phone": (2, 2),
    "plate": (2, 1),
    "im_account": (1, 0),
}


def pseudonym(kind: str, value: str, key: bytes) -> str:
    """``⟦身份证:K3F…⟧``: 50 bits of HMAC-SHA256 over the kind and the value's normal form.

    The same value gives the same mark under the same key, however it was written; without the key it cannot be
    reversed by trying all numbers.
    """
    digest = hmac.new(key, f"{kind}\0{value}".encode("utf-8", "surrogatepass"), "sha256").digest()
    return f"⟦{LABELS[kind]}:{base64.b32encode(digest).decode()[:10]}⟧"


def mask(kind: str, value: str) -> str:
    """The value with a hint left, by its kind; a secret leaves none."""
    if kind in _ENDS:
        head, tail = _ENDS[kind]
        if len(value) < head + tail + _HIDDEN_AT_LEAST:
            return _STARS
        return value[:head] + _STARS + (value[-tail:] if tail else "")
    if kind == "email":
        local, at, host = value.rpartition("@")
        if not at:
            return _STARS
        return f"{local[0] if len(local) > 2 else ''}***@{host}"
    if kind == "ip":
        return ".".join([*value.split(".")[:2], "*", "*"]) if "." in value else value.partition(":")[0] + ":" + _STARS
    if kind == "address":
        return _masked_address(value)
    if kind == "person":
        return " ".join(word[0] + "***" for word in value.title().split()) if value.isascii() else value[0] + "**"
    return f"⟦{LABELS[kind]}⟧"


def _masked_address(value: str) -> str:
    """Province and city, or the first division, stay."""
    first = DISTRICT.match(value)
    if not first:
        return _STARS
    second = _CITY.match(value, first.end())
    return value[: second.end() if second else first.end()] + _STARS


def replacement(finding: Finding, action: Action, key: bytes) -> str:
    """What an action writes for a finding."""
    if action == "pseudonym":
        return pseudonym(finding.kind, finding.value, key)
    return mask(finding.kind, finding.value) if action == "mask" else f"⟦{LABELS[finding.kind]}⟧"
