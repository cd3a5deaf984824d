"""Redaction before anything is stored: find values that identify a person or open a door, and replace them."""

from __future__ import annotations

from wenyuan.core.redaction.findings import NameRecognizer, TextRedactor, Told, findings
from wenyuan.core.redaction.policy import (
    KINDS,
    LABELS,
    LEVELS,
    RULES_VERSION,
    Action,
    Level,
    RedactionPolicy,
    parse_policy,
    policy_for,
)
from wenyuan.core.redaction.redact import Redacted, Redaction, redact
from wenyuan.core.redaction.replacement import mask, pseudonym, replacement

__all__ = [
    "KINDS",
    "LABELS",
    "LEVELS",
    "RULES_VERSION",
    "Action",
    "Level",
    "NameRecognizer",
    "Redacted",
    "Redaction",
    "RedactionPolicy",
    "TextRedactor",
    "Told",
    "findings",
    "mask",
    "parse_policy",
    "policy_for",
    "pseudonym",
    "redact",
    "replacement",
]
