"""A number whose word says whose it is goes whatever its form, and dates, versions and amounts behind such words stay."""

from __future__ import annotations

import pytest

from wenyuan.core.redaction.policy import KINDS, RedactionPolicy
from wenyuan.core.redaction.redact import redact

DROP = RedactionPolicy(level="restricted", actions=dict.fromkeys(KINDS, "drop"))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("Tax ID 94-2841935 was listed", "2841935"), ("licence number D245-938-19-203 in the report", "938"), ("her SSN 937-42-6810", "6810"), ("TIN: 10-4938120", "4938120"),
        ("routing number 021000021", "021000021"), ("account number 954567", "954567"), ("voter ID 'VOTER2024567890'", "2024567890"), ("insurance policy number CP198753.", "198753"),
        ("MRN 00482913", "00482913"), ("Aadhaar card number: 9876 5432 1012", "5432"), ("EIN: 12-3456789", "3456789"), ("routing 021000021, thanks", "021000021"), ("统一社会信用代码为91310000MA1FL5QY3X", "MA1FL5QY3X"), ("身份：patient ID AHC-0933289", "0933289"),
    ],
)  # fmt: skip
def test_found(text: str, value: str) -> None:
    """Without a valid check digit, with letters and signs of its own."""
    assert value not in redact(text, DROP).text


@pytest.mark.parametrize(
    "text",
    [
        "License number due 2024-05-01", "The license no. MIT-2.0 applies", "tax 120000 EUR", "Tax rate 19.00000 applies", "licenses 10000 users", "Pan 12345 grams of flour",
        "meeting number 12345678 rooms", "health insurance 2024/2025 season", "The protein 123456 assay",
    ],
)  # fmt: skip
def test_stays(text: str) -> None:
    """A date, a version, an amount, a word that ends like one of theirs."""
    assert redact(text, DROP).text == text
