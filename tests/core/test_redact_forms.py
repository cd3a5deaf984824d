"""Values are found behind escapes, marks of emphasis, look-alike letters and base64; names and addresses in forms."""

from __future__ import annotations

import pytest

from wenyuan.core.redaction.policy import KINDS, RedactionPolicy
from wenyuan.core.redaction.redact import redact

DROP = RedactionPolicy(level="restricted", actions=dict.fromkeys(KINDS, "drop"))

WRITTEN = [
    ("cn_mobile", r"手机 \u0031\u0033800138000", "800138000"),
    ("cn_mobile", "手机 %31%33%38%30%30138000", "138000"),
    ("cn_mobile", "手机 138**0013**8000", "0013"),
    ("cn_mobile", "手机 138<b>0013</b>8000", "0013"),
    ("cn_mobile", "手机 l38OOl38OOO", "38OOO"),
    ("cn_id", "身份证 11O1O519491231OO2X", "1949"),
    ("cn_id", "身份证 MTEwMTA1MTk0OTEyMzEwMDJY", "MTEw"),
    ("cn_mobile", "手机 MTM4MDAxMzgwMDA=", "MTM4"),
    ("email", "mail emhhbmdAcXEuY29t", "emhh"),
    ("email", r"zhang\@qq.com", "zhang"),
    ("email", "zhang_at_qq.com", "zhang"),
    ("email", "邮箱 zhang#qq.com", "zhang"),
    ("email", "zhang@qq。com", "zhang"),
    ("email", "zh\u0430ng@qq.com", "ng@qq"),
    ("person", "签发人：李 明", "李"),
    ("person", "甲方代表：司马光辉", "司马"),
    ("person", "经办人 — 周杰", "周杰"),
    ("person", "Received by: Anna Kowalska", "Anna"),
    ("person", "From: John Smith <x>", "Smith"),
    ("address", "I live at 12 Baker Street, London NW1 6XE now", "Baker"),
    ("address", "Ship to 4500 N. Lake Shore Drive, Apt 4B, Chicago, IL 60640.", "Lake Shore"),
]


@pytest.mark.parametrize(("kind", "text", "value"), WRITTEN)
def test_a_form_hides_no_value(kind: str, text: str, value: str) -> None:
    """What programs, typists and obfuscators make of a value is seen through."""
    redacted = redact(text, DROP)
    assert redacted.counts.get(kind), redacted
    assert value not in redacted.text


LET_BE = [
    "# heading\nsee #example.com and C#",
    "2**10 and 3 ** 4, a__b__c, <b>12</b> pieces, <td>13</td><td>14</td>",
    "OIIO 1O0 l1l1l1 IOIOIOI",
    "100%30 of %20, a%2Fb, C:\\u0031x",
    "negotiations MNOPQRSTUVWXYZabcdefgh",
    "负责人：安全 员工 - 培训，检查人员：高处作业，项目 - 李子园",
    "From: Project Manager Handbook\nSubject: Safety Training",
    "about 12 Main Points, 3 Ways of it",
    "look_at_this.md",
]


@pytest.mark.parametrize("text", LET_BE)
def test_what_only_looks_alike_is_let_be(text: str) -> None:
    """Powers, marks, escapes of other things and headings stay as they are."""
    assert redact(text, DROP).text == text
