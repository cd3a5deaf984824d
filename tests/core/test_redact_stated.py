"""Secrets that a sentence or a label states, however it goes on from the word to the value; and addresses that code joins."""

from __future__ import annotations

import pytest

from wenyuan.core.redaction.policy import policy_for
from wenyuan.core.redaction.redact import Redaction

REDACTION = Redaction(policy_for("internal"), b"a key of this tenant, 32 bytes..")

STATED = {
    "Password for the shared drive: marmalade": "marmalade",
    "Set the password to marmalade for now": "marmalade",
    'password "marmalade" still works': "marmalade",
    "It's the usual password, marmalade.": "marmalade",
    "I changed the root password to Test_2023 last night.": "Test_2023",
    "The password has been changed from tiger!77 to Kx9#mPq2": "tiger!77 Kx9#mPq2",
    "Use hunter22 as the password.": "hunter22",
    "the secret is blue-horse-42": "blue-horse-42",
    "You can unlock the file with zhao1990.": "zhao1990",
    "creds: admin / hunter22": "hunter22",
    "New key → Lq83nVz0Spring2024": "Lq83nVz0Spring2024",
    "bob:tiger!77@10.0.0.5 works for ssh": "tiger!77",
    "Use code 660318 to verify your account.": "660318",
    "Enter 2580 at the gate.": "2580",
    "初始密码统一设为qwe123456": "qwe123456",
    "密码还是老样子，tiger!77": "tiger!77",
    "密码由Lq83nVz0改为Kx9#mPq2": "Lq83nVz0 Kx9#mPq2",
    "数据库的密码忘了改，现在还是admin888": "admin888",
    "请用Welcome@2025作为密码登录": "Welcome@2025",
    "密码为：“velvet”": "velvet",
}
JOINED = [
    'send("wang" + "@" + "corp.cn", body)',
    "to = 'wang' || '@' || 'corp.cn'",
    '"@".join(["wang", "corp.cn"])',
    "['wang', 'corp.cn'].join('@')",
    'x = "wang@" + "corp.cn"',
]
STAYS = [
    "The password is required.",
    "The password is incorrect, try again.",
    "Password policy: strong passwords only",
    "The key is to be early.",
    "The secret is patience, said the chef.",
    "Press the Enter key to continue.",
    "The key is 256 bits long.",
    "Use code review for every change.",
    "Log in with single sign-on.",
    "Change the password to something stronger.",
    "The `OAuth2PasswordBearer` class, but `OAuth2PasswordRequestForm` does not.",
    "密码不能为空。",
    "密码改成更复杂的。",
    "验证码有效期为5分钟。",
    "密钥长度为256位。",
    "用验证码登录更方便。",
]


@pytest.mark.parametrize(("text", "values"), STATED.items())
def test_a_stated_secret_is_dropped(text: str, values: str) -> None:
    """Any connection counts for a value with digits or signs; a plain word counts right behind a strong one."""
    redacted = REDACTION.text(text).text
    assert not [value for value in values.split() if value in redacted]
    assert "⟦密钥⟧" in redacted


@pytest.mark.parametrize("text", JOINED)
def test_an_address_that_code_joins_is_masked(text: str) -> None:
    """The parts and what joins them are one address."""
    redacted = REDACTION.text(text)
    assert redacted.counts == {"email": 1}
    assert "wang" not in redacted.text


@pytest.mark.parametrize("text", STAYS)
def test_what_is_said_of_secrets_stays(text: str) -> None:
    """Sentences about passwords, keys and codes that state none."""
    assert REDACTION.text(text).text == text
