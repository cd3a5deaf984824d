"""People with rare surnames, of several peoples, vehicles, passwords in talk and addresses abroad, as an office writes them; words that look alike stay."""

from __future__ import annotations

import pytest

from wenyuan.core.redaction.policy import policy_for
from wenyuan.core.redaction.redact import Redaction

HIDDEN = Redaction(policy_for("restricted"))
PUBLIC = Redaction(policy_for("public"))

NAMED = (
    ("小{}：今天风管的吊杆到了，谁签收？", "佟"),
    ("{}总：让他去吧，他在东门。", "佘"),
    ("{}工 08:14\n那批螺栓的合格证还没给我。", "亓"),
    ("让老{}去看看，他在。", "仝"),
    ("二、{}主任补充：预算不变。", "佴"),
    ("{}律师，请看附件。", "修"),
    ("外婆{}负责接送。", "撒玉梅"),
    ("到会：{}、佴晓东、乜国强", "丌官鸿"),
    ("备注：{}大叔家在牧场，下次骑马去。", "格桑"),
    ("村医{}值班。", "德吉"),
    ("分红：{} 1200元", "旺堆"),
    ("缅甸籍{}，已到岗。", "昂敏登"),
    ("乙方{}（以下称乙方）", "卓荣发"),
    ("お世話になっております。{}です。", "一ノ瀬 翔"),
    ("担当の{}さんにご連絡ください。", "東雲 さくら"),
    ("车辆识别代号：{}", "LSVAU2180N2183294"),
    ("They sold {} last week.", "1M8GDM9AXKP042788"),
    ("工作许可证号 {}", "DEU2021187345016"),
    ("〒220-0012 {}\nTEL", "神奈川県横浜市西区みなとみらい2丁目3番1号"),
    ("We met at {}.", "Flat 3, 88 Kilburn High Road, London NW6 4HS"),
    ("Siobhan Hargreaves\n14 Rosebery Crescent\n{}\n", "Newcastle upon Tyne\nNE2 1ET"),
    ("Lindenallee 27b\n{}\n", "45127 Essen"),
    ("Witness at {}", "ul. Piękna 18/4, 00-549 Warszawa"),
    ("I live at {}.", "Calle de Alcalá 147, 3º B, 28009 Madrid"),
    ("送{}，前台收。", "苏州工业园区星湖街328号创意产业园5-B101"),
)
SECRET = (
    ("command: redis-server --requirepass {} --appendonly yes", "R3d!sPlum"),
    ("SENTRY_DSN: https://{}@sentry.local/4", "9d1f7e30ab2c4c55"),
    ('-NewPassword (ConvertTo-SecureString -AsPlainText "{}" -Force)', "Start!Tag9"),
    ("schtasks /create /tn nightly /ru CORP\\svc /rp {} /sc daily", "Zug-nach-0640"),
    ('variable "db_pass" {{\n  description = "x"\n  default     = "{}"\n}}', "grotto-Mint-31"),
    ("B：跳板机 ops01，root，{}", "Jump@ops01"),
    ("B：账号 readonly 密码还是老的那个 {}", "bluewhale88"),
    ("mo: admin, pw {}", "Otter!pond6"),
    ("kai: can you dm me the wifi pass\nmo: {} on the 5g one", "moonrise42"),
    ('sudo -S <<< "{}"', "Pumpernickel1"),
    ("net user helpdesk {} /add", "Wolke#9a"),
    ("az sql server create -u sqladm -p {} -g rg1", "Skylark.71"),
    ('"acct": "wms", "pass": "{}"', "pallet#9"),
    ("The recovery code is {}; keep it safe.", "8H2K-99QT-LM4X"),
)
STAYS = (
    "麻工作服、水工、漆工、花工各两名，小路不通，老路已封。",
    "修改、修理、占用、敬请留意，母亲节快乐，战略规划。",
    "苗木、丛林、昌盛、勾选、桂圆、楚地、来料、步骤。",
    "鹿茸、朴素、撒盐、漆包线、外籍总经理、光禄大夫。",
    "请各位同样填写，三样东西。",
    "缅甸籍员工，外籍人员。",
    "由东日本旅客铁道（JR东日本）所经营。",
    "a local hospital. On December 14 he left.",
    "Part AB12CD34EF56GH789 and ID 12345678901234567.",
    "password: !vault",
    "WeChat appid wx1a2b3c4d5e6f7788",
    "what is the login page?\nBob: see version 2.8.1",
    "密码修改后请重新登录；口令由数字和字母组成。",
)


@pytest.mark.parametrize(("text", "value"), NAMED)
def test_who_and_where_is_found(text: str, value: str) -> None:
    """At `restricted`, whatever the form; of a name with a title the surname goes."""
    left = HIDDEN.text(text.format(value)).text
    assert all(line not in left for line in value.split("\n")), left


@pytest.mark.parametrize(("text", "value"), SECRET)
def test_secrets_are_found_at_every_level(text: str, value: str) -> None:
    """At `public`, where nothing else goes."""
    assert value not in PUBLIC.text(text.format(value)).text


@pytest.mark.parametrize("text", STAYS)
def test_words_stay(text: str) -> None:
    """Words that begin like rare surnames, numbers and sentences that look like values."""
    assert HIDDEN.text(text).text == text
