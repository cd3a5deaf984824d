"""Reading mails, EML and MSG: who, when and what; earlier mails marked; attachments as documents of their own, in bounds."""

from __future__ import annotations

import email.policy
import struct
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from email.message import EmailMessage

import pytest

from compound_files import Tree, compound
from package_files import zipped
from wenyuan.core.errors import DocumentRejected
from wenyuan.core.model import Document
from wenyuan.readers.contained_files import Unpacked
from wenyuan.readers.mail import unpack_eml
from wenyuan.readers.outlook import unpack_msg, unpacked_rtf
from wenyuan.readers.sandbox import Sandbox

URI = "file:///a.eml"


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with Sandbox() as made:
        yield made


def mail(
    text: str = "", html: str = "", subject: str = "退费", attached: Sequence[tuple[str, bytes]] = ()
) -> EmailMessage:
    message = EmailMessage(policy=email.policy.SMTP)
    message["Subject"], message["From"], message["To"] = subject, "李明 <li@example.com>", "desk@example.com"
    message["Date"], message["References"] = (
        "Wed, 25 Nov 2026 09:30:00 +0800",
        "<first@example.com> <second@example.com>",
    )
    if text:
        message.set_content(text)
    if html:
        (message.add_alternative if text else message.set_content)(html, subtype="html")
    for name, content in attached:
        message.add_attachment(content, maintype="application", subtype="octet-stream", filename=name)
    return message


def unpack(content: bytes) -> Unpacked:
    return unpack_eml(content, uri=URI, name="a.eml")


def read(content: bytes) -> Document:
    (document,) = unpack(content).documents
    return document


def blocks(document: Document) -> list[tuple[str, str]]:
    return [(block.kind, document.text[block.start : block.end]) for block in document.blocks]


HEAD = "From: 李明 <li@example.com>\nTo: desk@example.com\nDate: 2026-11-25T09:30:00+08:00"


def test_a_mail_says_who_wrote_to_whom_and_when() -> None:
    """Its subject is the title; all its answers have the thread in common."""
    document = read(mail("七日内可退。\n\nPlease confirm.").as_bytes())
    assert blocks(document) == [
        ("heading", "退费"),
        ("paragraph", HEAD),
        ("paragraph", "七日内可退。"),
        ("paragraph", "Please confirm."),
    ]
    assert document.title == "退费"
    assert document.metadata == {
        "from": "李明 <li@example.com>", "to": "desk@example.com", "date": "2026-11-25T09:30:00+08:00", "thread": "first@example.com",
    }  # fmt: skip
    assert document.fidelity and (document.fidelity.lost, document.fidelity.invented) == (0, 0)


def test_of_two_forms_the_page_is_read() -> None:
    """HTML has tables that plain text has not; a picture that stands in it is counted."""
    page = "<p>见表</p><table><tr><td>Exam</td><td>200</td></tr></table><img src='cid:1'>"
    document = read(mail("as text", page).as_bytes())
    assert [text for _, text in blocks(document)][2:] == ["见表", "Exam | 200"]
    assert document.fidelity and (document.fidelity.lost, document.fidelity.pictures) == (0, 1)


@pytest.mark.parametrize(
    "raw",
    [
        "退费".encode(),
        "退费".encode("gb18030"),
        b"=?gb2312?B?zcu30Q==?=",
        b"=?utf-8?q?=E9=80?= =?utf-8?q?=80=E8=B4=B9?=",
    ],
)
def test_subjects_in_any_encoding(raw: bytes) -> None:
    """Raw bytes are no mail, and common; a word may be cut within a character."""
    assert read(b"Subject: " + raw + b"\r\n\r\nx").title == "退费"


def test_text_in_a_code_page_and_in_one_that_it_does_not_have() -> None:
    """What a part states is believed where it fits."""
    head = "Subject: x\r\nContent-Type: text/plain; charset={}\r\n\r\n"
    for stated, content in (
        ("gb2312", "七日内镕".encode("gb18030")),
        ("us-ascii", "七日内镕".encode()),
        ("no-such", "七日内镕".encode()),
    ):
        assert read(head.format(stated).encode() + content).text.endswith("七日内镕")


def test_a_page_whose_letters_fit_no_encoding_is_read_all_the_same() -> None:
    """What is in no encoding is lost, not the mail."""
    document = read(b"Subject: x\r\nContent-Type: text/html\r\n\r\n<p>fee \xff\xfe\x81 200</p>")
    assert "fee" in document.text and "200" in document.text
    assert document.notes == ("some of its letters are in no encoding that is known",)


def test_what_is_quoted_of_earlier_mails_is_marked() -> None:
    """With marks, as deep as they say; what follows a quote is the mail's own again."""
    text = "同意。\n\nOn Tue, 24 Nov 2026, Wang <w@x> wrote:\n> 请确认。\n>\n>> older\n\n谢谢"
    assert blocks(read(mail(text).as_bytes()))[2:] == [
        ("paragraph", "同意。"), ("heading", "On Tue, 24 Nov 2026, Wang <w@x> wrote:"), ("paragraph", "请确认。"),
        ("heading", "引用的邮件"), ("paragraph", "older"), ("heading", "邮件正文"), ("paragraph", "谢谢"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    "divider",
    [
        "-----原始邮件-----",
        "-------- Original Message --------",
        "发件人: 王\n发送时间: 2026年11月24日\n主题: 退费",
        "在 2026-11-24，王 <w@x> 写道：",
    ],
)
def test_an_earlier_mail_without_marks_is_all_that_follows(divider: str) -> None:
    """A divider, the head of a mail, or who wrote when; in a page, too."""
    expected = [
        ("paragraph", "同意。"),
        ("heading", " ".join(divider.split())),
        ("paragraph", "旧的"),
        ("paragraph", "更旧"),
    ]
    assert blocks(read(mail(f"同意。\n\n{divider}\n\n旧的\n\n更旧").as_bytes()))[2:] == expected
    page = f"<p>同意。</p><p>{divider.replace('<', '&lt;').replace(chr(10), '<br>')}</p><p>旧的</p><p>更旧</p>"
    assert blocks(read(mail(html=page).as_bytes()))[2:] == expected


def test_attachments_are_documents_with_addresses_below_the_mail(sandbox: Sandbox) -> None:
    """Two of one name have two addresses; one that fails leaves the others; kinds that are not read are counted."""
    files = [
        ("费用.csv", "项目,费用\n考试,200\n".encode()),
        ("费用.csv", b"a,b\n1,2\n"),
        ("x.pdf", b"no pdf"),
        ("setup.exe", b"MZ"),
    ]
    outcome = sandbox.read(mail("见附件", attached=files).as_bytes(), uri=URI, name="a.eml")
    letter, first, second = outcome.documents
    assert (first.uri, first.text) == (f"{URI}?attachment=费用.csv", "项目: 考试; 费用: 200")
    assert second.uri == f"{URI}?attachment=费用.csv;2"
    assert first.metadata["attached_to"] == "退费" and first.metadata["mail_date"] == "2026-11-25T09:30:00+08:00"
    assert letter.refused == ((f"{URI}?attachment=x.pdf", "it is named .pdf but is not a PDF"),)
    assert letter.notes == ("left out files of kinds that are not read: .exe (1)",)
    assert outcome.isolated


def test_what_has_no_name_is_an_attachment_by_its_kind() -> None:
    """Nothing of a mail goes without a word: neither what is attached without a name, nor the twenty-first of its texts."""
    message = mail("见附件")
    message.add_attachment("项目,费用".encode(), maintype="text", subtype="csv")
    message.add_attachment(b"\0\1", maintype="application", subtype="x-of-nobody")
    found = unpack(message.as_bytes())
    assert [(part.name, part.content) for part in found.parts] == [("attachment.csv", "项目,费用".encode())]
    assert found.notes == ("left out files of kinds that are not read: without a suffix (1)",)
    many = b'Content-Type: multipart/mixed; boundary="b"\r\n\r\n' + b"".join(
        b"--b\r\n\r\ntext %d\r\n" % number for number in range(21)
    )
    found = unpack(many + b"--b--\r\n")
    assert "text 19" in found.documents[0].text
    assert [(part.name, part.content) for part in found.parts] == [("attachment.txt", b"text 20")]


def test_ten_thousand_attachments_stop_at_a_limit_that_is_named(sandbox: Sandbox) -> None:
    """The mail and the first of them are read."""
    head = b'Subject: many\r\nContent-Type: multipart/mixed; boundary="b"\r\n\r\n--b\r\n\r\nmany\r\n'
    one = b'--b\r\nContent-Disposition: attachment; filename="%d.txt"\r\n\r\ntext %d\r\n'
    content = head + b"".join(one % (n, n) for n in range(10_000)) + b"--b--\r\n"
    documents = sandbox.read(content, uri=URI, name="a.eml").documents
    assert len(documents) == 201
    assert documents[0].refused[0] == (f"{URI}?attachment=200.txt;refused=0", "only the first 200 files are read")
    assert documents[0].refused[-1] == (f"{URI}?entry=more", "9600 more files were refused")


def nested(depth: int) -> EmailMessage:
    inner = mail(f"depth {depth}", subject=f"mail {depth}")
    for level in range(depth - 1, 0, -1):
        outer = mail(f"depth {level}", subject=f"mail {level}")
        outer.add_attachment(inner)
        inner = outer
    return inner


def test_mails_in_mails_are_read_three_deep(sandbox: Sandbox) -> None:
    """The fourth is refused by name."""
    documents = sandbox.read(nested(4).as_bytes(), uri=URI, name="a.eml").documents
    assert [document.title for document in documents] == ["mail 1", "mail 2", "mail 3"]
    (refused,) = (told for document in documents for told in document.refused)
    assert refused == (
        f"{URI}?attachment=mail%202.eml&attachment=mail%203.eml&attachment=mail%204.eml",
        "it lies in more than 3 files within one another",
    )


def test_a_mail_that_nests_without_end_is_refused(sandbox: Sandbox) -> None:
    """Parts in parts, a thousand deep."""
    content = b"Subject: x\r\n" + b"".join(
        b'Content-Type: multipart/mixed; boundary="b%d"\r\n\r\n--b%d\r\n' % (n, n) for n in range(3_000)
    )
    with pytest.raises(DocumentRejected, match="nested too deeply"):
        sandbox.read(content, uri=URI, name="deep.eml")


def test_archives_in_mails_are_opened_too(sandbox: Sandbox) -> None:
    """Each file has the address of the way that leads to it."""
    outcome = sandbox.read(
        mail("见附件", attached=[("全部.zip", zipped({"a/退费.md": "# 退费\n\n七日"}))]).as_bytes(),
        uri=URI,
        name="a.eml",
    )
    assert [document.uri for document in outcome.documents] == [URI, f"{URI}?attachment=全部.zip&entry=a/退费.md"]


# Outlook.


def stream(prop: str, text: str) -> tuple[str, bytes]:
    return f"__substg1.0_{prop}001F", text.encode("utf-16-le")


def properties(head: int, *numbers: tuple[int, int]) -> tuple[str, bytes]:
    return "__properties_version1.0", b"\0" * head + b"".join(
        struct.pack("<IIQ", tag, 6, value) for tag, value in numbers
    )


TICKS = (
    int((datetime(2026, 11, 25, 1, 30, tzinfo=UTC) - datetime(1601, 1, 1, tzinfo=UTC)).total_seconds()) * 10_000_000
)


def outlook(
    subject: str, *more: tuple[str, bytes], head: int = 32, attached: Tree | None = None
) -> dict[str, object]:
    return dict((
        properties(head, (0x00390040, TICKS), (0x3FFD0003, 936)), stream("0037", subject), stream("0C1A", "李明"),
        stream("5D01", "li@example.com"), stream("0E04", "desk@example.com"), *more, *(attached or {}).items(),
    ))  # fmt: skip


def file(name: str, content: bytes) -> Tree:
    return dict((properties(8), stream("3707", name), ("__substg1.0_37010102", content)))


def test_a_mail_of_outlook_with_attachments_and_a_mail_in_it(sandbox: Sandbox) -> None:
    """The mail in it is a document with its own attachments; a long stream and a short one are read alike."""
    inner = outlook(
        "旧",
        stream("1000", "older"),
        head=24,
        attached={"__attach_version1.0_#00000000": file("b.txt", b"inner text")},
    )
    tree = outlook(
        "退费", stream("1000", "七日内可退。" * 800), attached={
            "__attach_version1.0_#00000000": file("费用.csv", "项目,费用\n考试,200\n".encode()),
            "__attach_version1.0_#00000001": dict((properties(8), ("__substg1.0_3701000D", inner))),
        },
    )  # fmt: skip
    outcome = sandbox.read(compound(tree), uri="file:///a.msg", name="a.msg")
    letter, older, fees, text = outcome.documents
    assert (letter.title, letter.metadata["date"], letter.metadata["from"]) == (
        "退费", "2026-11-25T01:30:00+00:00", "李明 <li@example.com>",
    )  # fmt: skip
    assert letter.text.endswith("七日内可退。" * 800)
    assert (older.title, older.uri) == ("旧", "file:///a.msg?attachment=旧.msg;1")
    assert fees.text == "项目: 考试; 费用: 200"
    assert (text.uri, text.text) == ("file:///a.msg?attachment=旧.msg;1&attachment=b.txt", "inner text")


def test_texts_in_the_code_page_of_the_message_and_bodies_of_html() -> None:
    """Mails that Chinese programs write are in GBK; a page counts before the text."""
    tree = outlook("x", ("__substg1.0_1000001E", "七日内".encode("gbk")))
    (document,) = unpack_msg(compound(tree), uri="file:///a.msg", name="a.msg").documents
    assert document.text.endswith("七日内")
    tree = outlook("x", stream("1000", "plain"), ("__substg1.0_10130102", b"<meta charset=utf-8><p>page</p>"))
    (document,) = unpack_msg(compound(tree), uri="file:///a.msg", name="a.msg").documents
    assert document.text.endswith("page")


def test_a_body_that_is_only_there_as_packed_rich_text() -> None:
    """The example of the specification, and one that is not packed."""
    packed = bytes.fromhex(
        "2d0000002b0000004c5a4675f1c5c7a703000a007263706731323542320af32068656c090020627705b06c647d0a800fa0"
    )
    assert unpacked_rtf(packed) == b"{\\rtf1\\ansi\\ansicpg1252\\pard hello world}\r\n"
    tree = outlook(
        "x", ("__substg1.0_10090102", struct.pack("<IIII", 0, 21, 0x414C454D, 0) + b"{\\rtf1\\pard hi there}")
    )
    (document,) = unpack_msg(compound(tree), uri="file:///a.msg", name="a.msg").documents
    assert document.text.endswith("hi there")
    with pytest.raises(ValueError, match="unknown way"):
        unpacked_rtf(b"\0" * 20)


def test_mails_of_outlook_in_mails_are_read_three_deep() -> None:
    """The fourth is refused by name."""
    tree = outlook("mail 4", head=24)
    for level in (3, 2, 1):
        held = dict((properties(8), ("__substg1.0_3701000D", tree)))
        tree = outlook(
            f"mail {level}", head=32 if level == 1 else 24, attached={"__attach_version1.0_#00000000": held}
        )
    found = unpack_msg(compound(tree), uri="file:///a.msg", name="a.msg")
    assert [document.title for document in found.documents] == ["mail 1", "mail 2", "mail 3"]
    assert found.refused[0][1] == "it lies in more than 3 files within one another"


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (compound({"WordDocument": b"x"}), "no message of Outlook"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\xff" * 2_000, "damaged"),
        (compound(outlook("x", stream("1000", "y" * 9_000)))[:4_000], "damaged|no message"),
    ],
)
def test_what_is_no_mail_of_outlook_or_cut_is_refused(content: bytes, reason: str) -> None:
    """Other compound files, rings of sectors and ends that are missing."""
    with pytest.raises(DocumentRejected, match=reason):
        unpack_msg(content, uri="file:///a.msg", name="a.msg")
