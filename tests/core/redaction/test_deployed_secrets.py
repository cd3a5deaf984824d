"""Secrets as they stand where programs are deployed, and numbers that people have in hospitals and on forms with a box for each digit."""

from __future__ import annotations

import pytest

from wenyuan.core.redaction.policy import policy_for
from wenyuan.core.redaction.redact import Redaction, redact

PUBLIC = policy_for("public")

HELD = (
    ("env:\n  - name: DB_PASSWORD\n    value: \"{}\"\n", "Hq!sidh468"),
    ("env:\n  - name: PGPASSWORD\n    value: {}\n", "lantern"),
    ('"environment": [{{"name": "MAIL_PASS", "value": "{}"}}]', "lantern"),
    ('{{"name": "API_TOKEN", "value": "{}"}}', "zq8djs92ks"),
    ('variable "admin_pass" {{ default = "{}" }}', "Hn$yyyk430"),
    ('variable "db_password" {{\n  type    = string\n  default = "{}"\n}}', "lantern"),
    ("lftp -u ftpuser,{} sftp://files.example.org -e bye", "Hn_izys544"),
    ("[snmp]\nversion = 2c\ncommunity = {}\n", "Kq@bobm330"),
    ("[smtp]\nauth_code = {}\n", "kdsnacatwcstvvvt"),
    ("The Grafana admin password (currently {}) is rotated on Monday.", "Kq$skhx947"),
    ("后台密码（目前是 {}）下周更换。", "Kq$skhx947"),
    ("Our Datadog key {} leaked in a merge request.", "19e8b8480f3b47c20431658b4550b7ef"),
    ("Twilio token {}", "9cb589f6aec38bcacf836ed5a148fd28"),
    ("VPN user ops / pass {}. Ask Tom.", "Kq#mrbv485"),
    ("Root on the NAS: {} (yes, really)", "Gh@hctk103"),
    ("To unlock the zip, type {}\n", "Kq!wcaz707"),
    ('WPA2 key "{}"', "correct-horse-9-battery"),
    ("pass = Tz!ab12cd\n; old one: {}\n", "Kq@ptmc330"),
    ("Medicare {}", "1EG4-TE5-MK73"),
    ("住 院 号：{}　床号：12床", "66403417"),
    ("Patient J. Doe, MRN: {}", "00418277"),
    ("公民身份号码\n\n{}\n\n签名", "1 | 1 | 0 | 1 | 0 | 5 | 1 | 9 | 4 | 9 | 1 | 2 | 3 | 1 | 0 | 0 | 2 | X"),
)  # fmt: skip
OPEN = (
    "env:\n  - name: DB_PASSWORD\n    valueFrom:\n      secretKeyRef: {name: pg, key: password}\n",
    "env:\n  - name: DB_PASSWORD\n    value: ${DB_PASSWORD}\n",
    "parameters:\n  - name: primary_key\n    value: document_id\n",
    '{"name": "max_token", "value": "string"}',
    'variable "ssh_key" {\n  description = "Name of the key"\n  default = ""\n}',
    "community: Kubernetes\nsince: 2014\n",
    "The signing key 19e8b8480f3b47c20431658b4550b7ef19e8b848 is that of the project.",
    "The admin on the third floor: Room 214.",
    "The old one: v2.3.1",
    "To unlock the door, use the green button.",
    "The password (currently required) must be changed.",
    "WPA2 key exchange takes four messages.",
    "The user name / password pair is checked.",
    "Matrix: 1 | 0 | 0 | 1 | 0 | 1 | 1 | 0 | 0 | 1 | 0 | 1 | 1 | 0 | 0 | 1 | 0 | 1",
)


@pytest.mark.parametrize(("sentence", "value"), HELD, ids=[text[:24] for text, _ in HELD])
def test_a_secret_of_a_deployment_is_gone_at_every_level(sentence: str, value: str) -> None:
    assert value not in redact(sentence.format(value), PUBLIC).text


@pytest.mark.parametrize("text", OPEN)
def test_what_only_speaks_of_secrets_stays(text: str) -> None:
    assert Redaction(PUBLIC).text(text).text == text
