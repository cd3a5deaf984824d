"""Tables tell by the names of their columns what is in them: for all kinds of files alike, whatever a check digit says."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from wenyuan.core.model import Document
from wenyuan.core.redaction.columns import ColumnKinds, kind_named
from wenyuan.core.redaction.policy import KINDS, RedactionPolicy, policy_for
from wenyuan.core.redaction.redact import Redaction
from wenyuan.readers.delimited import read_csv, read_tsv
from wenyuan.readers.docx import read_docx
from wenyuan.readers.frames import decode_documents, encode_documents
from wenyuan.readers.html import read_html
from wenyuan.readers.markdown import read_markdown
from wenyuan.readers.workbook import read_xlsx

KEY = b"a key of this tenant, 32 bytes.."
DROP = RedactionPolicy(level="restricted", actions=dict.fromkeys(KINDS, "drop"))
MASK = RedactionPolicy(level="restricted", actions=dict.fromkeys(KINDS, "mask"))
Rows = Sequence[Sequence[str]]

PEOPLE = [
    ["姓名", "岗位", "身份证号", "手机号", "Email", "备注"],
    ["刘洋", "安全员", "110105194912310021", "13800138", "liuyang at corp", "安全员培训合格"],
    ["欧阳明月", "施工员", "1101051949123100", "一三八〇〇一三八〇〇〇", "a@b.cn", "按第3.2.1条执行"],
    ["阿依古丽", "电工", "无", "—", "n/a", "2024年持证"],
]
SECRET = [
    "刘洋", "110105194912310021", "13800138", "liuyang", "欧阳", "1101051949123100", "一三八", "a@b.cn", "阿依古丽",
]  # fmt: skip
STAYS = ["安全员培训合格", "施工员", "电工", "无", "按第3.2.1条执行", "2024年持证", "姓名", "身份证号", "手机号"]


def docx(rows: Rows) -> bytes:
    import docx as package

    made = package.Document()
    table = made.add_table(len(rows), len(rows[0]))
    for number, row in enumerate(rows):
        for at, cell in enumerate(row):
            table.cell(number, at).text = cell
    out = io.BytesIO()
    made.save(out)
    return out.getvalue()


def xlsx(rows: Rows) -> bytes:
    import openpyxl

    book = openpyxl.Workbook()
    for row in rows:
        book.active.append(list(row))
    out = io.BytesIO()
    book.save(out)
    return out.getvalue()


def html(rows: Rows) -> bytes:
    body = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<table>{body}</table>".encode()


def markdown(rows: Rows) -> bytes:
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join([lines[0], "|---" * len(rows[0]) + "|", *lines[1:]]).encode()


READERS: dict[str, Callable[[Rows], tuple[Document, ...]]] = {
    "docx": lambda rows: read_docx(docx(rows), uri="file:///a.docx", name="a.docx"),
    "xlsx": lambda rows: read_xlsx(xlsx(rows), uri="file:///a.xlsx", name="a.xlsx"),
    "html": lambda rows: read_html(html(rows), uri="file:///a.html", name="a.html"),
    "md": lambda rows: read_markdown(markdown(rows), uri="file:///a.md", name="a.md"),
    "html in md": lambda rows: read_markdown(html(rows), uri="file:///a.md", name="a.md"),
    "csv": lambda rows: read_csv("\n".join(map(",".join, rows)).encode(), uri="file:///a.csv", name="a.csv"),
    "tsv": lambda rows: read_tsv("\n".join(map("\t".join, rows)).encode(), uri="file:///a.tsv", name="a.tsv"),
}  # fmt: skip
each_reader = pytest.mark.parametrize("read", READERS.values(), ids=list(READERS))


@each_reader
@pytest.mark.parametrize("policy", [DROP, MASK, policy_for("confidential")], ids=["drop", "mask", "confidential"])
def test_a_column_named_for_a_class_holds_it(read: Any, policy: RedactionPolicy) -> None:
    """Under 身份证号, 手机号, Email and 姓名 all is redacted, wrong check digits and rare names included; twice is once."""
    [document] = decode_documents(encode_documents(read(PEOPLE)))  # as it comes from the reading process
    redaction = Redaction(policy, KEY)
    redacted, counts = redaction.document(document)
    assert [value for value in SECRET if value in redacted.text] == []
    assert [word for word in STAYS if word not in redacted.text] == []
    assert counts["person"] == 3 and counts["cn_id"] == 2 and counts["email"] >= 2
    assert redaction.document(redacted) == (redacted, {})


@each_reader
def test_a_label_tells_the_cell_beside_it(read: Any) -> None:
    """In a form the label stands left of its value; other labels and their values stay."""
    form = [
        ["人员登记", "", "", ""],
        ["姓名", "刘洋", "性别", "女"],
        ["身份证号", "110105194912310021", "部门", "质安部"],
        ["安全员", "王芳", "联系电话", "5248986"],
        ["住址", "幸福小区3栋", "备注", "无"],
    ]
    [document] = read(form)
    text = Redaction(DROP).document(document)[0].text
    assert not [value for value in ("刘洋", "1101", "王芳", "5248986", "幸福小区") if value in text]
    assert all(word in text for word in ("人员登记", "性别", "女", "部门", "质安部", "备注", "安全员"))


@each_reader
@pytest.mark.parametrize(
    "rows",
    [
        [["Name", "Price", "Address"], ["blue widget", "12.50", "0x40021000"], ["pin header", "3", "Pin 4"]],
        [["危险源", "负责人", "措施"], ["高处坠落", "安全员", "培训教育"], ["坍塌", "项目经理", "编制专项方案"]],
        [["手机品牌", "是否有身份证", "卡号规则"], ["甲", "是", "前六位为发卡行标识"], ["乙", "否", "末位为校验位"]],
        [["Email policy", "Phone rules"], ["never forward", "3 rings"], ["sign it", "be polite"]],
    ],
)
def test_other_tables_stay(read: Any, rows: Rows) -> None:
    """Columns that are only named much like those, and roles instead of names, are left alone."""
    [document] = read(rows)
    assert Redaction(DROP).document(document) == (document, {})


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("身份证号", "cn_id"), ("1. 身份證號碼（必填）", "cn_id"), ("法人身份证号码", "cn_id"), ("ID number", "cn_id"), ("ID No.", "cn_id"),
        ("联系电话", "cn_mobile"), ("紧急联系人手机号", "cn_mobile"), ("Phone", "cn_mobile"), ("Mobile No", "cn_mobile"),
        ("电子邮箱", "email"), ("E-mail address", "email"), ("银行卡号", "bank_card"), ("Card number", "bank_card"),
        ("姓名*", "person"), ("申请人姓名", "person"), ("Full Name", "person"), ("家庭住址", "address"), ("密码", "secret"),
        ("护照号码", "passport"), ("车牌号", "plate"), ("微信号", "im_account"),
        ("名称", ""), ("公司名称", ""), ("手机品牌", ""), ("电话费", ""), ("编号", ""), ("product name", ""), ("message", ""), ("", ""),
    ],
)  # fmt: skip
def test_what_a_name_announces(name: str, kind: str) -> None:
    """Names of columns in both languages, numbered, starred, in Traditional characters."""
    assert kind_named(name) == kind


def test_a_column_of_names_needs_more_than_its_word() -> None:
    """``Name`` is a person's beside a telephone column, or where its cells read like persons; else a product's."""
    beside, alone = ColumnKinds(), ColumnKinds()
    assert beside.of({0: "Name", 1: "Phone"}) == alone.of({0: "Name", 1: "Price"}) == {}
    assert beside.of({0: "Prince", 1: "n/a"}) == {0: "person"}
    assert alone.of({0: "widget", 1: "3"}) == {}
    assert alone.of({0: "Liu Yang", 1: "3"}) == {0: "person"}


def test_a_facet_named_for_a_class_holds_it() -> None:
    """Front matter and metadata of a line are read like columns."""
    text = b"---\n\xe8\xba\xab\xe4\xbb\xbd\xe8\xaf\x81\xe5\x8f\xb7: 110105194912310021x\nphone: 5248986\nkey: a\n---\nText.\n"
    [document] = read_markdown(text, uri="file:///a.md", name="a.md")
    redacted, _ = Redaction(DROP).document(document)
    assert dict(redacted.metadata) == {"身份证号": "⟦身份证⟧", "phone": "⟦电话⟧", "key": "a"}


def test_a_cell_with_hidden_characters_is_told_all_the_same() -> None:
    """What the cleaner takes out moves what stands behind it; the cells move along."""
    rows = [["备\u200b注", "姓\u200b名"], ["\u200b\u200b甲\u200b", "阿依\u200b古丽"], ["乙", "热娜古\u2060丽"]]
    for read in READERS.values():
        [document] = read(rows)
        text = Redaction(DROP).document(document)[0].text
        assert "古丽" not in text and "热娜" not in text and "甲" in text and "乙" in text


@pytest.mark.parametrize(
    "rows",
    [
        [["Key Word", "PostgreSQL", "SQL:2016"], ["PARTITION", "non-reserved", "reserved"], ["PASSWORD", "non-reserved", "–"],
         ["PERCENT", "–", "reserved"], ["TOKEN", "–", "reserved"], ["UTF16", "–", "non-reserved"]],
        [["命令", "说明"], ["pwd", "显示当前目录的名称"], ["whoami", "显示当前的用户名"], ["tar cvJf foo.tar.xz bar/", "打包"]],
        [["Key", "Meaning"], ["Ctrl-C", "stops what runs"], ["F10", "leaves the program"]],
    ],
    ids=["words", "commands", "keys"],
)  # fmt: skip
def test_lists_of_words_and_commands_hold_no_secrets(rows: Rows) -> None:
    """``PASSWORD`` among other words, ``pwd`` among commands and a key of the keyboard name no column of secrets."""
    table = ColumnKinds()
    assert [table.of(dict(enumerate(row))) for row in rows] == [{}] * len(rows)


def test_a_second_list_of_accounts_holds_secrets() -> None:
    """Further down, a column is one of secrets where accounts stand beside it, or where its cells look like secrets."""
    beside, alone = ColumnKinds(), ColumnKinds()
    rows = [["系统", "说明"], ["账号", "密码"], ["admin", "lantern"]]
    assert [beside.of(dict(enumerate(row))) for row in rows] == [{}, {}, {1: "secret"}]
    rows = [["系统", "说明"], ["系统", "密码"], ["门禁", "tq7#Kp29xz"], ["食堂", "无需登录"]]
    assert [alone.of(dict(enumerate(row))) for row in rows] == [{}, {}, {1: "secret"}, {}]


def test_a_cell_that_says_the_name_of_a_column_ends_no_columns() -> None:
    """A remark 电话 below 姓名 and 手机号 is a remark: the rows below it are of persons as before."""
    table = ColumnKinds()
    rows = [["姓名", "手机号", "首选联系"], ["阿依古丽", "13800138000", "电话"], ["热娜古丽", "13900139000", "邮箱"]]
    assert [set(table.of(dict(enumerate(row)))) for row in rows] == [set(), {0, 1}, {0, 1}]
