"""Passwords are taken out at every level, wherever they stand: markup, settings, SQL, commands, headers, sentences."""

from __future__ import annotations

import pytest

from wenyuan.core.redaction.columns import ColumnKinds
from wenyuan.core.redaction.policy import LEVELS, policy_for
from wenyuan.core.redaction.redact import redact

KEY = b"a key of this tenant, 32 bytes.."

WRITTEN = [
    ("<password>lantern</password>", "lantern"),
    ('<add key="Password" value="Sommer"/>', "Sommer"),
    ("CREATE USER u IDENTIFIED BY 'lantern';", "lantern"),
    ("tool --password lantern -h db", "lantern"),
    ("mysql -u root -plantern db", "lantern"),
    ("curl -u admin:lantern https://x", "lantern"),
    ("sshpass -p lantern ssh h", "lantern"),
    ("machine h login u password lantern", "lantern"),
    ("the password is lantern7", "lantern7"),
    ("The password for the wiki is lantern.", "lantern"),
    ("密码 lantern7", "lantern7"),
    ("密码是lantern", "lantern"),
    ("密钥 a8Kd93lsQ", "a8Kd93lsQ"),
    ("WiFi密码 12345678", "12345678"),
    ("WiFi 密码：office88", "office88"),
    ("登录密码是 Abc123", "Abc123"),
    ("初始密码为123456，请修改", "123456"),
    ("口令：Tq7#kp", "Tq7#kp"),
    ("账号密码：admin/admin888", "admin888"),
    ("用户名/密码：admin / lantern", "lantern"),
    ("验证码 482913，请勿转发", "482913"),
    ("通行码是 9921#", "9921"),
    ("| password | Summer!Day |", "Summer!Day"),
    ("| 密码 | lantern9 |", "lantern9"),
    ("wy_0123abcd_0123456789abcdefghijABCDEFGHIJ0123456789abc", "0123456789abcdef"),
    ("PGPASSWORD=lantern psql", "lantern"),
    ("export MYSQL_PWD=lantern", "lantern"),
    ("DB_PASS=lantern", "lantern"),
    ('{"password": "lantern"}', "lantern"),
    ('  password: "lantern"', "lantern"),
    ("password: lantern7", "lantern7"),
    ("Server=db;Database=x;User Id=sa;Password=lantern;", "lantern"),
    ("host=h user=u password=lantern dbname=x", "lantern"),
    ("jdbc:mysql://h/db?user=u&password=lantern", "lantern"),
    ("ALTER ROLE u WITH PASSWORD 'lantern'", "lantern"),
    ("Authorization: Basic dTpwdw==", "dTpwdw"),
    ("Authorization: token abcdef123456", "abcdef123456"),
    ("Cookie: sid=abc123; theme=dark", "abc123"),
    ("admin:$apr1$abcdefgh$0123456789abcdefghijkl", "0123456789abc"),
    ("//registry/:_authToken=abcdef12-3456-7890", "abcdef12"),
    ('"auth": "dXNlcjpwYXNz"', "dXNlcjpwYXNz"),
    ("redis-cli -a lantern", "lantern"),
    ("docker login -u u -p lantern", "lantern"),
    ("define('DB_PASSWORD', 'lantern');", "lantern"),
    ("spring.datasource.password=lantern7", "lantern7"),
    ("password = 123456", "123456"),
    ("PIN: 4821", "4821"),
    ("echo lantern | sudo -S reboot", "lantern"),
    ("openssl rsa -passin pass:lantern", "lantern"),
]


@pytest.mark.parametrize(("text", "value"), WRITTEN)
def test_a_password_is_dropped_at_every_level(text: str, value: str) -> None:
    """Also where it is a plain word, if its place holds nothing else; once redacted it stays as it is."""
    for level in LEVELS:
        once = redact(text, policy_for(level), KEY)
        assert value not in once.text and once.counts["secret"] >= 1
        assert redact(once.text, policy_for(level), KEY).text == once.text


LET_BE = [
    "password is required",
    "密码长度不少于8位",
    "password: see the manual",
    "--password FILE",
    "--password-file /etc/x",
    "密码6-20位",
    "密码8位以上",
    "password: required, token: Optional[str]",
    "密码应当定期更换，口令为八位",
    "The password is stored as a hash. The password must be changed.",
    "密钥AES-256加密，密钥长度2048位",
    "密码 GB/T 39786-2021",
    "密码GM/T 0054-2018",
    "<password>required</password>",
    '<label>Password</label><input name="password" type="password" value="">',
    "$ mysql -u root -p",
    "mysql -u root -p db",
    'password=os.environ["X"]',
    "PASSWORD=$DB_PASSWORD",
    "PASSWORD=${X}",
    '"password": "string"',
    '"password": "请输入密码"',
    "Password policy: passwords expire after 90 days",
    "mkdir -p /var/lib",
    "docker run -p 8080:80 nginx",
    "curl -u user https://x",
    "验证码5分钟内有效",
    "验证码已发送，密码错误3次锁定",
    "密码2024年修订",
    "forgot your password? reset it",
    "pin 12 and pin 4 of the connector",
    "cookie: a small file",
    "The token is expired. token: string",
    "password = getpass.getpass()",
    "password_hash = hash(password)",
    "密码：不少于八位",
    "password length 8 characters minimum",
    "use --password to set it; --password is deprecated",
    "the Postal code 12345 and area code 0571",
    "error code 40001",
    "密码重置邮件",
    "Basic authorization: see below",
    "Authorization: Bearer <token>",
    "identified by the inspector",
    "security code review: 2023",
    "ssh -p 2222 host",
]


@pytest.mark.parametrize("text", LET_BE)
def test_what_speaks_of_passwords_is_let_be(text: str) -> None:
    """Requirements, placeholders, variables, calls, names of options and of algorithms hold no password."""
    assert redact(text, policy_for("public")).text == text


def test_a_cell_beside_a_password_label_is_one() -> None:
    """Labels with what the password is for count as well, and a sign in the cell is as good as a digit."""
    for label in ("password", "WiFi密码", "登录密码", "Admin password", "初始密码"):
        assert ColumnKinds().of({0: label, 1: "Summer!Day"}) == {1: "secret"}
