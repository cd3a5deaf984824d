"""Licences, foreign identity numbers, accounts, plates, and values whose field says what they are."""

from __future__ import annotations

import pytest

from wenyuan.core.redaction.policy import policy_for
from wenyuan.core.redaction.redact import redact

KEY = b"a key of this tenant, 32 bytes.."


def left(text: str) -> str:
    return redact(text, policy_for("restricted"), KEY).text


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("外国人永久居留证 GBR340182090501", "GBR340182090501"), ("军官证号：南字第01234567号", "01234567"), ("档案编号 320100123456", "320100123456"),
        ("HKID: G123456A", "G123456A"), ("National Insurance number QQ 12 34 56 C", "12 34 56"), ("his number AB 12 34 56 C", "12 34 56"),
        ("Aadhaar 2345 6789 0124", "6789"), ("CPF 123.456.789-09", "456.789"), ("contato 529.982.247-25", "982.247"), ("RSSMRA85T10A562S", "85T10"),
        ("Driver's license: D123 4567 8901", "4567"), ("NRIC S1234567D", "1234567"), ("DNI 12345678Z", "12345678Z"),
        ("對公帳號 11014567890123", "11014567890123"), ("Account number 12345678, sort code 20-00-00", "20-00-00"), ("Account number 12345678", "12345678"),
        ("沪 C 8K771", "8K771"), ("UK reg AB12 CDE", "AB12"), ("plate number: 7ABC123", "7ABC123"), ("旧号（139）87651234", "87651234"),
        ("电话\n199\n08218992", "08218992"), ("银行卡\n45391409-\n59738192", "59738192"), ("手机 **138** **0013** **8000**", "0013"), ("tel=%2B86%31%33%38%30%30%31%33%38%30%30%30", "%38%30%30%30"),
        ("漕溪北路398号 021-64387654", "64387654"), ("成都市武侯区人民南路四段27号商鼎国际2栋", "四段27号"), ("地址：香港九龍彌敦道132號", "132"),
        ('{"wechat": "fengxg_bj"}', "fengxg_bj"), ("or Skype tobias.lindq.", "tobias.lindq"),
    ],
)  # fmt: skip
def test_a_number_beside_its_word_is_taken_out(text: str, value: str) -> None:
    """A word that says what a number is counts, whatever its check digit."""
    assert value not in left(text)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("**主持**：诸葛亮亮　**记录**：林晓", "林晓"), ("**出席**：王芳、陈建军（请假：何欢）", "陈建军"), ("由王芳负责跟进", "王芳"), ("联系供应商经理张伟（13800138000）", "张伟"),
        ("承租方（乙方）：李  明", "明"), ("求职者王小二，已面试", "王小二"), ("in an emergency ring Siobhan Kelleher on (415) 555-0187", "Siobhan"),
        ("BEGIN:VCARD\nN:Müller;Sabine\nFN:Sabine Müller\nADR;TYPE=HOME:;;Hauptgasse 12;Berlin\nEND:VCARD", "Müller"),
        ("BEGIN:VCARD\nFN:Sabine Müller\nADR;TYPE=HOME:;;Am Markt 12;Berlin\nEND:VCARD", "Am Markt"),
        ("<person><name>Leopold Arnaud</name><phone>+33 6 12 34 56 78</phone></person>", "Leopold"), ('<人员 姓名="沈从武" 手机="13800138000"/>', "沈从武"),
        ("INSERT INTO c (name, mobile) VALUES ('蒋介夫','13800138000'),\n('Beatrice Nakamura','+81 90-1234-5678');", "Beatrice"),
    ],
)  # fmt: skip
def test_a_name_whose_field_says_so_is_taken_out(text: str, name: str) -> None:
    """Labels in bold, lists after them, cards, elements, attributes and columns of statements name persons."""
    assert name not in left(text)


@pytest.mark.parametrize(
    "text",
    [
        '{"name": "Data Sheet", "version": "2"}', "<name>Visual Studio</name>", '<module name="Core Services"/>', "register be0 holds the flag", "registration opens at nine",
        "由项目部负责", "**主持**：由办公室指定", "字第一百二十条", "INSERT INTO t (name, size) VALUES ('Visual Studio', 3);", "1.2.3-45", "the account 2024 shows", "sort codes have six digits",
        "图 3-12 为主接线图", "经理部（见附件）",
    ],
)  # fmt: skip
def test_what_only_looks_like_one_stays(text: str) -> None:
    """Products, registers, offices and clauses are nobody's name or number."""
    assert left(text) == text
