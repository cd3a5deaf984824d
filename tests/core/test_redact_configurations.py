"""Passwords and keys are taken out of the configuration of programs and devices, and out of addresses, at every level."""

from __future__ import annotations

import pytest

from wenyuan.core.redaction.policy import LEVELS, policy_for
from wenyuan.core.redaction.redact import redact

KEY = b"a key of this tenant, 32 bytes.."

WRITTEN = [
    ("[testpypi]\nusername: bob\npassword: kirschbaum", "kirschbaum"),
    ("[mysqldump]\npassword=steinpilz\n", "steinpilz"),
    ("db.example.com:5432:orders:svc:Hagebutte!4", "Hagebutte!4"),
    ("hostname sw1\nenable password Bergkristall", "Bergkristall"),
    ("username admin privilege 15 password 7 0822455D0A16", "0822455D0A16"),
    ("snmp-server community r34dTheNet RO", "r34dTheNet"),
    ("crypto isakmp key VpnTunnel77 address 0.0.0.0", "VpnTunnel77"),
    ("radius server a\n address ipv4 10.0.0.1\n key radiusSchl0ss", "radiusSchl0ss"),
    ("QR: WIFI:T:WPA;S:Buero;P:Tannenzapfen3;;", "Tannenzapfen3"),
    ("wpa_passphrase=stachelbeere", "stachelbeere"),
    ("Wi-Fi code for the annex is latte-macchiato-4.", "latte-macchiato-4"),
    ("[Peer]\nPresharedKey=xTIBA5rboUvnH4htodjb6e697QjLERt1NAB4mZqp8Dg=", "xTIBA5rboUvnH4"),
    ("client-key-data: LS0tLS1CRUdJTiBSU0EgUFJJVkFURSBLRVkt", "LS0tLS1CRUdJTiB"),
    ("define( 'AUTH_KEY', '}$uV|mN0;q:Wf2@e3kL!' );", "mN0;q:Wf2"),
    ("SECRET_KEY = 'django-insecure-w3!k2v^q9z$h7b@l5x&m1c*n8r(t4y)u6j'", "w3!k2v"),
    ('{"signing-key": "hunter22hunter"}', "hunter22hunter"),
    ("$db['default']['password'] = 'eisenbahn';", "eisenbahn"),
    ('$config->smtpPass = "Lokomotive9";', "Lokomotive9"),
    ("<password>{COQLCE6DU6GtcS5P=}</password>", "COQLCE6DU6GtcS5P"),
    ('$p = ConvertTo-SecureString "Nordlicht42" -AsPlainText -Force', "Nordlicht42"),
    ('[Environment]::SetEnvironmentVariable("API_TOKEN","ost-wind-0815")', "ost-wind-0815"),
    ("DRIVER={ODBC};UID=u;PWD={Schaluppe;9};", "Schaluppe;9"),
    ("jdbc:oracle:thin:scott/rettungsring@//db:1521/x", "rettungsring"),
    ("openssl enc -aes-256-cbc -k haselnuss -in a", "haselnuss"),
    ("net use Z: \\\\srv\\share Ananas2024 /user:CORP\\bob", "Ananas2024"),
    ("生产库：root / Mima!2023xyz", "Mima!2023xyz"),
    ("测试账户 test01/Test@1234", "Test@1234"),
    ("保险柜密码是38-12-55。", "38-12-55"),
    ("动态口令 119 204", "119 204"),
    ("路由器的密码，改成了 luyouqi2020 。", "luyouqi2020"),
    ("exp 09/28, CVC 731", "731"),
    ("CVV2：482 有效期 05/29", "482"),
    ("支付宝商户私钥 MIIEvAIBADANBgkqhkiG9w0BAQEFAASCBKYwggSiAgEAAoIBAQCq", "MIIEvAIBADANBgkqhk"),
    ("INSERT INTO users (name, password) VALUES ('bob', 'ankerkette'), ('eve', 'bugspriet');", "bugspriet"),
    ("https://open.feishu.cn/open-apis/bot/v2/hook/1d2c3b4a-5e6f-7a8b-9c0d-e1f2a3b4c5d6", "1d2c3b4a"),
    ("https://qyapi.weixin.qq.com/cgi-bin/webhook/send?key=693a91f6-7bcd-4bc4-97a0-0ec2", "693a91f6"),
    ("https://api.telegram.org/bot110201543:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw/getMe", "AAHdqTcvCH1"),
    ("https://discord.com/api/webhooks/998877665544332211/aB3dE5fG7hJ9kL1mN3pQ5rS7", "aB3dE5fG7hJ9"),
    ("dckr_pat_Ab3Cd5Ef7Gh9Ij1Kl3Mn5Op7Qr9", "Ab3Cd5Ef7"),
    ("hvs.CAESIJlWh3nQ9x7Zk2mPv5sRtYwAbCdEfGhIjKl", "CAESIJlWh3"),
    ("glsa_HOruNAb7SOiCdshU8algkrq7FDsNSLAa_55e2f8be", "HOruNAb7"),
    ("PMAK-0123456789abcdef01234567-0123456789abcdef0123456789abcdef01", "0123456789abcdef"),
]


@pytest.mark.parametrize(("text", "secret"), WRITTEN)
def test_a_password_of_a_configuration_is_taken_out_at_every_level(text: str, secret: str) -> None:
    """What a block of settings, a router, a script or an address holds as a password is stored nowhere."""
    for level in LEVELS:
        assert secret not in redact(text, policy_for(level), KEY).text


@pytest.mark.parametrize(
    "text",
    [
        "username: string\npassword: required", "password: the password of the user",
        "'low': 'lowpass', 'lowpass': 'lowpass'", "__all__ = ['PublicKey', 'PrivateKey', 'DecryptionError']", '"encryptionKey": "arn:aws:kms:us-west-2:1:alias/aws/s3"',
        "root / 'foo.txt'", "管理员/审核员", "admin / operator", "-p 8080:80", "enable password encryption on the switch", "wifi code of conduct",
        "the key of the dictionary is a tuple", "the salt: two grams", "The secret is to listen first.", "密码 8-16 位", "密码分为 3 类",
        "INSERT INTO t (id, key) VALUES (1, 'name'), (2, 'title');", "https://example.com/?code=reference-manual", "key-value pairs", "net use is a command",
        "CVC of a tyre", "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    ],
)  # fmt: skip
def test_what_only_speaks_of_passwords_stays(text: str) -> None:
    """Schemas, programs, instructions and sums are no passwords."""
    assert redact(text, policy_for("restricted"), KEY).text == text


ASSIGNED = [
    ("[security]\nadmin_password = brombeerstrauch", "brombeerstrauch"), ("[options]\ndb_password = kornblume\n", "kornblume"), ("  MYSQL_ROOT_PASSWORD: loewenzahn", "loewenzahn"),
    ("ansible_ssh_pass: vergissmeinnicht", "vergissmeinnicht"), ("spring.mail.password=fingerhut", "fingerhut"), ("[remote]\ntype = sftp\npass = yDvCMbI3nKWn", "yDvCMbI3nKWn"),
    ('DriverManager.getConnection(url, "sa", "enzian");', "enzian"), ('new NetworkCredential("bob", "baerlauch", "CORP")', "baerlauch"), ('client.SetBasicAuth("bob", "estragon")', "estragon"),
    ('dsn := "root:majoran@tcp(127.0.0.1:3306)/x"', "majoran"), ('anna : EAP "petunie"', "petunie"), ('"anna" * "akelei" *', "akelei"), ("vpnuser pptpd eisenhut88 *", "eisenhut88"),
    ('<User>anna</User><Pass encoding="base64">dHVycGVudGluOQ==</Pass>', "dHVycGVudGluOQ"), ("Login: sam.h / Pass: Nutmeg2020", "Nutmeg2020"), ("pw is oatmeal-77", "oatmeal-77"),
    ("she logs in with Kestrel-1188 since May", "Kestrel-1188"), ("kim@example.com / Popcorn!8", "Popcorn!8"), ("The alarm code is 5519.", "5519"), ("指纹锁管理员密码 880214", "880214"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "secret"), ASSIGNED)
def test_what_a_name_of_a_program_is_set_to_is_taken_out(text: str, secret: str) -> None:
    """A name of several parts that ends in a word for passwords vouches for any word; so does the place in a call."""
    for level in LEVELS:
        assert secret not in redact(text, policy_for(level), KEY).text


@pytest.mark.parametrize(
    "text",
    [
        "self.db_password = password", "user_password = form.password", "password = getpass.getpass()", "db_password: str", "bypass: see below", "the compass = north",
        "npm install @types/node@18.19.3", "it logs in with the key of the user", "opens with a chapter on pumps", "Pass: 95%", "postal code 310018", "passed = 12",
        "hashed_password = pwd_context.hash", "the default was changed to BM25STD-2.", "password=None,", "login(name, password)",
    ],
)  # fmt: skip
def test_programs_that_handle_passwords_stay(text: str) -> None:
    """Names, types and calls are no values."""
    assert redact(text, policy_for("restricted"), KEY).text == text
