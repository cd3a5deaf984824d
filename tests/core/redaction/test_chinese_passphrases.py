"""Passwords of Chinese characters behind their word."""

from __future__ import annotations

import pytest

from wenyuan.core.redaction.policy import policy_for
from wenyuan.core.redaction.redact import redact


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("密码：床前明月光", "床前明月光"),
        ("WiFi密码是红豆生南国。", "红豆生南国"),
        ("门禁口令 “芝麻开门”", "芝麻开门"),
        ("會議口令：風調雨順", "風調雨順"),
        ("解压密码：今晚吃火锅88\n有效期三天", "今晚吃火锅88"),
    ],
)
def test_characters_that_fill_the_place_of_a_password_are_dropped(text: str, value: str) -> None:
    """A phrase behind a colon, 是 or in quotes is a password like any other, at every level."""
    assert value not in redact(text, policy_for("public")).text


@pytest.mark.parametrize(
    "text",
    ["密码：请咨询管理员", "密码：区分大小写", "口令：由系统生成", "密码：已重置", "WiFi密码是什么", "解压密码：见邮件", "密码是登录系统的凭证。", "口令为六位数字", "密码 管理 制度"],
)  # fmt: skip
def test_what_describes_a_password_stays(text: str) -> None:
    """Rules and hints about passwords are no passwords."""
    assert redact(text, policy_for("public")).text == text
