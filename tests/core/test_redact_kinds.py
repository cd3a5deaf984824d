"""Values as people write them in forms, chats and notes: accounts, numbers with spaces, passports, titles, phrases."""

from __future__ import annotations

import base64

import pytest

from wenyuan.core.redaction.policy import KINDS, RedactionPolicy
from wenyuan.core.redaction.redact import redact

DROP = RedactionPolicy(level="restricted", actions=dict.fromkeys(KINDS, "drop"))

WRITTEN = [
    ("us_ssn", "Employee SSN: ", "2 1 9 - 0 9 - 9 9 9 6"),
    ("us_ssn", "SSN is ", "21 9-09-99 95"),
    ("us_ssn", "社会安全号：", "219 0 9 99 95"),
    ("im_account", "Skype: ", "anna.berg.dev"),
    ("im_account", "telegram @", "petrov_sales"),
    ("im_account", "WeChat ID: ", "sunny2020hk"),
    ("im_account", "V信 ", "kk19900101"),
    ("im_account", "钉钉号：", "wangwei_dd"),
    ("im_account", "Line ID: ", "yuki_tokyo7"),
    ("passport", "passport number ", "C01X00T47"),
    ("passport", "持", "EA1234567号护照出境"),
    ("hmt_permit", "持", "H10293847号回乡证"),
    ("email", "发 ", "sunli@@qq.com"),
    ("phone", "ring me on ", "07700 900123"),
    ("ip", "DNS 设成 ", "8.8.4.4"),
    ("secret", "密码还是", "Abc@123456"),
    ("secret", "the root password was changed to ", "Tr0ub4dor&3"),
    ("secret", "门禁密码 ", "4821#"),
    ("secret", "the passphrase is ", '"correct horse battery 9"'),
    ("person", "面试官：", "欧阳雪"),
    ("person", "主任医师 ", "孙立平"),
    ("person", "送货员:", "老 周"),
    ("person", "", "刘强经理说明天到货"),
    ("person", "Signed, ", "Peter O'Connor"),
    ("person", "Assignee = ", "Sofia Rossi"),
    ("person", "Reviewer: Dr. ", "Emily Carter"),
    ("address", "billing address ", "Hauptstraße 12, 10827 Berlin"),
    ("address", "livraison ", "12 rue de la Paix, 75002 Paris"),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "before", "value"), WRITTEN)
def test_a_value_is_found_as_people_write_it(kind: str, before: str, value: str) -> None:
    """The value goes and what stands before it stays."""
    redacted = redact(before + value, DROP)
    assert redacted.counts.get(kind), redacted
    assert redacted.text.startswith(before.rstrip("@"))
    assert value[:4] not in redacted.text.removeprefix(before)


UNDER_A_CUE = [
    ("us_ssn", "SSN", "219-09-9995"),
    ("hmt_permit", "回乡证", "H10293847"),
    ("passport", "Passport no", "E12345678"),
    ("cn_landline", "座机", "010-62881234"),
    ("phone", "phone", "+44 20 7946 0958"),
    ("ip", "服务器", "10.20.3.44"),
    ("plate", "车牌", "京A88K21"),
    ("im_account", "微信号", "liming_1988"),
    ("address", "地址", "北京市海淀区中山路12号"),
    ("person", "联系人", "李伟明"),
    ("iban", "IBAN", "DE89370400440532013000"),
]


@pytest.mark.parametrize(("kind", "cue", "value"), UNDER_A_CUE)
def test_base64_under_a_cue_hides_no_value_of_any_class(kind: str, cue: str, value: str) -> None:
    """What the word before it announces is looked for in what the base64 stands for."""
    written = base64.b64encode(value.encode()).decode()
    redacted = redact(f"{cue}：{written}", DROP)
    assert redacted.counts.get(kind), redacted
    assert written[:8] not in redacted.text


LET_BE = [
    "Skype: encrypted calls, telegram bot-api, WhatsApp Business, Line 12: syntax error, line id: 4411",
    "QQ浏览器 版本 11.5.2，微信支付接入指南，微信8.0.32，Slack 4.29.149，discord.com，钉钉开放平台",
    "passport control opens at 08:00; passport validity 6 months; 护照 有效期10年",
    "Attn: Accounts Payable",
    "徐州女士服装批发",
    "项目经理说明，部门经理表示，房产经理说，华东总监要求，林业局长指出，康复科长同意",
    "主任 办公室，经理 接待日，教授 高等数学",
    "Owner, Safety Training; Signed, Sealed and Delivered",
    "password was changed to comply with policy; passwords are reset to default",
    "密码 8位，密码还是要改，密码换成什么",
    "SSN has 9 digits in 3 groups: 3 2 4",
    "card: aGVsbG8gd29ybGQ=, address: aGVsbG8gd29ybGQ=, host: aGVsbG8gd29ybGQ=",
    "12 place settings, avenue of 3 trees, der Weg 3, Straße ohne Nummer",
]


@pytest.mark.parametrize("text", LET_BE)
def test_what_only_looks_like_such_a_value_is_let_be(text: str) -> None:
    """Products, versions, roles, rules about passwords and base64 of a text stay."""
    assert redact(text, DROP).text == text


@pytest.mark.parametrize(
    "text",
    [
        "应急电话：010-62345678", "消防应急电话 0755-83241234，值班电话 83241234", "联系电话：021-5555 6666",
        "应急值班电话：(0571)87654321", "总机电话 010-62345678 转 801", "Emergency phone: +86 10 6234 5678",
    ],
)  # fmt: skip
def test_landlines_are_kept_under_internal_whatever_word_stands_before(text: str) -> None:
    """A landline is no person's own telephone: its kind decides, not that it is called a telephone; a mobile is masked."""
    from wenyuan.core.model import Source
    from wenyuan.service.ingest.redaction import Redactor

    def redacted(level: str, words: str) -> str:
        return Redactor.of(Source(source_id="s", sensitivity=level), key=b"k" * 32).text(words)  # type: ignore[arg-type]

    assert redacted("internal", text) == text
    assert redacted("confidential", text) != text
    assert "13800138000" not in redacted("internal", f"{text}，手机 13800138000")
    assert redacted("internal", "电话 62345678") != "电话 62345678", "without a word that says whose it is"
