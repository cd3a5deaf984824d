"""Properties of redaction: nothing raw survives, twice is once, a document stays a document, time is linear."""

from __future__ import annotations

import contextlib
import re
import time
import unicodedata
from datetime import date
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wenyuan.core.errors import DocumentRejected
from wenyuan.core.model import Block, Document
from wenyuan.core.redaction.policy import KINDS, Action, RedactionPolicy
from wenyuan.core.redaction.redact import Redaction, redact

KEY = b"0123456789abcdef"


def everything(action: Action) -> RedactionPolicy:
    return RedactionPolicy(level="restricted", actions=dict.fromkeys(KINDS, action))


POLICIES = [everything("mask"), everything("pseudonym"), everything("drop")]


def digits(n: int) -> st.SearchStrategy[str]:
    return st.text("0123456789", min_size=n, max_size=n)


@st.composite
def id_number(draw: st.DrawFn) -> str:
    province = draw(st.sampled_from(["11", "31", "44", "51", "62", "65", "81"]))
    born = draw(st.dates(min_value=date(1930, 1, 1), max_value=date(2030, 1, 1))).strftime("%Y%m%d")
    body = province + draw(digits(4)) + born + draw(digits(3))
    weights = (7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2)
    return body + "10X98765432"[sum(int(d) * w for d, w in zip(body, weights, strict=True)) % 11]


@st.composite
def card(draw: st.DrawFn) -> str:
    prefix, length = draw(
        st.sampled_from([("6222", 19), ("6217", 16), ("4", 16), ("53", 16), ("37", 15), ("3530", 16)])
    )
    body = prefix + draw(digits(length - len(prefix) - 1))
    for check in "0123456789":
        doubled = [int(d) * (2 if i % 2 else 1) for i, d in enumerate(reversed(body + check))]
        if sum(d - 9 if d > 9 else d for d in doubled) % 10 == 0:
            return body + check
    raise AssertionError


@st.composite
def company(draw: st.DrawFn) -> str:
    alphabet = "0123456789ABCDEFGHJKLMNPQRTUWXY"
    weights = (1, 3, 9, 27, 19, 26, 16, 17, 20, 29, 25, 13, 8, 24, 10, 30, 28)
    body = (
        "91"
        + draw(st.sampled_from(["110108", "310115", "440300"]))
        + draw(st.text(alphabet, min_size=8, max_size=8))
        + "H"
    )
    return body + alphabet[-sum(alphabet.index(c) * w for c, w in zip(body, weights, strict=True)) % 31]


@st.composite
def iban(draw: st.DrawFn) -> str:
    bank = draw(st.text("ABCDEFGHIJKLMNOPQRSTUVWXYZ", min_size=4, max_size=4)) + draw(digits(14))
    check = 98 - int("".join(str(int(c, 36)) for c in bank + "GB00")) % 97
    return f"GB{check:02d}{bank}"


MOBILE = st.builds("1{}{}".format, st.sampled_from("3456789"), digits(9))
LANDLINE = st.builds(
    "{}-{}{}".format, st.sampled_from(["010", "021", "0755", "0571"]), st.sampled_from("2345678"), digits(7)
)
ABROAD = st.builds("+{} {} {}".format, st.sampled_from(["44", "1", "49", "852"]), digits(4), digits(4))
MAIL = st.builds(
    "{}{}@{}.{}".format,
    st.sampled_from("abcxyz"),
    st.text("abc123._", max_size=8),
    st.sampled_from(["qq", "mail-x.example"]),
    st.sampled_from(["com", "com.cn", "org"]),
)
PLATE = st.builds(
    "{}{}{}{}".format,
    st.sampled_from(["京", "沪", "粤", "川"]),
    st.sampled_from("ABC"),
    digits(3),
    st.sampled_from(["A2", "77", "55D"]),
)
IP = st.builds(
    "{}.{}.{}.{}".format, st.integers(128, 223), st.integers(0, 255), st.integers(0, 255), st.integers(0, 255)
)
IP6 = st.builds(
    "2001:db8:{:x}:{:x}::{:x}".format, st.integers(1, 65535), st.integers(1, 65535), st.integers(1, 65535)
)
SSN = st.builds("{}-{}-{}".format, st.integers(100, 665), st.integers(10, 99), st.integers(1000, 9999))
LETTERS = "ABCDEFGHJKLMNPQRSTUVWXYZabcdefghjkmnpqrstuvwxyz23456789"
TOKEN = st.one_of(
    st.builds("sk-{}".format, st.text(LETTERS, min_size=30, max_size=40)),
    st.builds("ghp_{}".format, st.text(LETTERS, min_size=36, max_size=36)),
    st.builds("AKIA{}".format, st.text("ABCDEFGHIJ234567", min_size=16, max_size=16)),
    st.builds("eyJ{}.eyJ{}.{}".format, *[st.text(LETTERS, min_size=12, max_size=30)] * 3),
)
CUED = st.one_of(
    st.tuples(
        st.sampled_from(["护照号：", "passport no. "]), st.builds("{}{}".format, st.sampled_from("EG"), digits(8))
    ),
    st.tuples(
        st.sampled_from(["港澳通行证", "回乡证："]), st.builds("{}{}".format, st.sampled_from("CWHM"), digits(8))
    ),
    st.tuples(st.sampled_from(["联系人：", "姓名："]), st.sampled_from(["张三", "欧阳明月", "诸葛亮", "王小明"])),
    st.tuples(st.sampled_from(["Name: ", "Mr. "]), st.sampled_from(["John Smith", "José Álvarez", "Mary O'Neill"])),
    st.tuples(
        st.just("postgres://"), st.builds("app:{}7@db.example".format, st.text(LETTERS, min_size=6, max_size=12))
    ),
)
NUMBER = st.one_of(id_number(), card(), company(), iban(), MOBILE)
VALUE = st.one_of(NUMBER, LANDLINE, ABROAD, MAIL, PLATE, IP, IP6, SSN, TOKEN)
HAN = st.text(  # without what makes a number an amount, a clause or the number of an order
    st.characters(min_codepoint=0x4E00, max_codepoint=0x9FFF, exclude_characters="元吨美港条章节号次额戳"),
    min_size=1,
    max_size=12,
)
WORDS = st.lists(
    st.sampled_from("the pump was checked twice by our crew before noon".split()), min_size=1, max_size=5
)
AROUND = st.one_of(HAN, WORDS.map(lambda words: f" {' '.join(words)} "), st.sampled_from(["，", "：", "（", "\n"]))


def full_width(value: str) -> str:
    return "".join(chr(ord(c) + 0xFEE0) if "!" <= c <= "~" else c for c in value)


def grouped(value: str, joint: str) -> str:
    edges = [
        0,
        *([6, 14] if len(value) == 18 else [3, 7] if len(value) == 11 else range(4, len(value), 4)),
        len(value),
    ]
    return joint.join(value[a:b] for a, b in pairwise(edges))


ANY_FORM = {
    "plain": str,
    "full-width": full_width,
    "zero-width": "\u200b".join,
    "word joiner": "\u2060".join,
    "lower case": str.lower,
}
NUMBER_FORMS = {
    **ANY_FORM,
    "spaced": lambda value: grouped(value, " "),
    "wide spaces": lambda value: grouped(value, "\u3000"),
    "dashed": lambda value: grouped(value, "-"),
    "long dashes": lambda value: grouped(value, "—"),
    "one by one": " ".join,
    "full-width one by one": lambda value: " ".join(full_width(value)),
    "mathematical": lambda value: "".join(chr(0x1D7CE + int(c)) if c.isdigit() else c for c in value),
}


HAN_DIGITS = {
    "numerals": "〇一二三四五六七八九",
    "numerals with 零": "零一二三四五六七八九",
    "capitals": "零壹贰叁肆伍陆柒捌玖",
    "Traditional capitals": "零壹貳參肆伍陸柒捌玖",
    "as on the telephone": "洞幺两三四五六拐八勾",
}
WRITTEN_OUT = {
    **{name: lambda value, row=row: value.translate(dict(zip(map(ord, "0123456789"), row, strict=True)))
       for name, row in HAN_DIGITS.items()},
    "numerals one by one": lambda value: " ".join(WRITTEN_OUT["numerals"](value)),
    "numerals in groups": lambda value: grouped(WRITTEN_OUT["capitals"](value), " "),
    "every other one a numeral": lambda value: "".join(
        c if at % 2 else WRITTEN_OUT["numerals"](c) for at, c in enumerate(value)),
    "over two lines": lambda value: f"{value[:7]}\n{value[7:]}",
    "groups over two lines": lambda value: grouped(value, " ").replace(" ", "\n", 1),
    "dots": lambda value: grouped(value, "."),
    "full-width dots": lambda value: grouped(full_width(value), "．"),
    "middle dots": lambda value: grouped(value, "·"),
    "strokes": lambda value: grouped(value, "/"),
    "dots and spaces": lambda value: grouped(value, " . "),
    "dots and nothing": lambda value: grouped(value, "\u200b.\u200b"),
    "dots one by one": ".".join,
    "stars one by one": "~".join,
    "double spaces between groups": lambda value: grouped(value, "  "),
    "character references": lambda value: "".join(f"&#{ord(c)};" for c in value),
    "hexadecimal references": lambda value: "".join(f"&#x{ord(c):x};" for c in value),
    "negative circles": lambda value: value.translate(dict(zip(map(ord, "0123456789"), "⓿❶❷❸❹❺❻❼❽❾", strict=True))),
}  # fmt: skip
MAIL_FORMS = {
    "[at]": ("[at]", "."), "[at] [dot]": (" [at] ", " [dot] "), "(at)": ("(at)", "."), "（at）（dot）": ("（at）", "（dot）"),
    "艾特": ("艾特", "."), "艾特 点": (" 艾特 ", " 点 "), "&#64;": ("&#64;", "."), "&#x40;": ("&#x40;", "&#46;"),
    "&commat;": ("&commat;", "&period;"), " @ ": (" @ ", "."), "@ ": ("@ ", "."), " @": (" @", "."), "＠": ("＠", "．"),
    " ＠ ": (" ＠ ", "．"), "【at】": ("【at】", "."), "{at}": ("{at}", "{dot}"), "_at_": ("_at_", "_dot_"), "%40": ("%40", "."),
    "\\n": ("\n@", "."),
}  # fmt: skip


def bare(text: str) -> str:
    """What a reader who ignores form would see; the stars of a mask stay, since they part what is beside them."""
    return re.sub(r"[^\w*]|_", "", unicodedata.normalize("NFKC", text)).casefold()


@pytest.mark.parametrize("form", NUMBER_FORMS)
@given(before=AROUND, value=NUMBER, after=AROUND, policy=st.sampled_from(POLICIES))
@settings(max_examples=60)
def test_no_number_survives_in_any_form(
    form: str, before: str, value: str, after: str, policy: RedactionPolicy
) -> None:
    """A number with a check digit, or a mobile number, is gone from any text in whatever form it was written."""
    text = before + NUMBER_FORMS[form](value) + after
    redacted = redact(text, policy, KEY)
    assert bare(value) not in bare(redacted.text), text
    assert sum(redacted.counts.values()) >= 1


@pytest.mark.parametrize("form", WRITTEN_OUT)
@given(
    before=AROUND.filter(lambda text: text != "\n" and text[-1] not in "".join(HAN_DIGITS.values())),
    value=st.one_of(id_number(), card(), MOBILE),
    after=st.one_of(
        WORDS.map(lambda words: f" {' '.join(words)} "), st.sampled_from(["，", "）", "。", "找我", "一直"])
    ),
    policy=st.sampled_from(POLICIES),
)
@settings(max_examples=25)
def test_no_identity_card_or_mobile_survives_written_out(
    form: str, before: str, value: str, after: str, policy: RedactionPolicy
) -> None:
    """Numerals, references, dots and line ends hide no number of a person: none of its characters is left."""
    written = WRITTEN_OUT[form](value)
    redacted = redact(before + written + after, policy, KEY)
    assert written not in redacted.text and bare(value) not in bare(redacted.text), (before, written, after)
    # Two letters behind a card may make it the code of a company, check character included: it is gone all the same;
    # and what stands behind a word for a key or a password (令牌) may be called one.
    assert set(redacted.counts) & {"cn_id", "bank_card", "cn_mobile", "cn_uscc", "secret"}


@pytest.mark.parametrize("form", MAIL_FORMS)
@given(
    before=st.sampled_from(["邮箱：", "联系", "write to ", "\n", "（"]),
    local=st.from_regex(r"[a-z]{2,6}[0-9][a-z0-9]{0,3}([._][a-z0-9]{2,6})?", fullmatch=True),
    host=st.sampled_from(["example.com", "qq.com", "mail-x.example.com.cn", "corp.example.org"]),
    after=st.sampled_from(["。", "，谢谢", " please", "\n", ")"]),
    policy=st.sampled_from(POLICIES),
)
@settings(max_examples=25)
def test_no_mail_address_survives_written_out(
    form: str, before: str, local: str, host: str, after: str, policy: RedactionPolicy
) -> None:
    """Words, brackets, references and spaces in the place of ``@`` and of dots hide no mail address; its pseudonym is the same."""
    at, dot = MAIL_FORMS[form]
    written = local + at + host.replace(".", dot)
    redacted = redact(before + written + after, policy, KEY)
    assert redacted.counts == {"email": 1}, (before, written, after)
    assert redacted.text == redact(f"{before}{local}@{host}{after}", policy, KEY).text


@pytest.mark.parametrize("form", sorted(set(ANY_FORM) - {"lower case"}))
@given(before=AROUND, value=VALUE, after=AROUND, policy=st.sampled_from(POLICIES))
@settings(max_examples=80)
def test_no_value_survives(form: str, before: str, value: str, after: str, policy: RedactionPolicy) -> None:
    """A value of any kind is gone from any Chinese or English text, plain, full-width or with invisible characters."""
    text = before + ANY_FORM[form](value) + after
    assert bare(value) not in bare(redact(text, policy, KEY).text), text


@pytest.mark.parametrize("around", ["{}", "一{}一", "IP:{}:", "[{}]:443"])
@pytest.mark.parametrize(
    "address", ["2001:db8:1040:1230::1440", "1040:1230:1440:db8::1", "2001:db8:1234:5678:1234:5678:1234:5678"]
)
def test_groups_of_an_address_are_no_card(address: str, around: str) -> None:
    """Three groups of four digits in an IPv6 address are not read as a card's, so that the address is found."""
    assert "1230" not in (said := redact(around.format(address), POLICIES[0], KEY).text) and "5678:1234" not in said


@given(
    before=HAN,
    cued=CUED,
    after=st.sampled_from(["。", "，13点到", "\n", " (", "；"]),
    policy=st.sampled_from(POLICIES),
)
@settings(max_examples=150)
def test_no_value_that_a_word_announces_survives(
    before: str, cued: tuple[str, str], after: str, policy: RedactionPolicy
) -> None:
    """Passports, permits, names and passwords are gone where a cue word stands before them."""
    cue, value = cued
    value = value.partition("@")[0]
    text = before + "".join(cued) + after
    assert bare(value) not in bare(redact(text, policy, KEY).text), (cue, text)


PIECES = st.one_of(
    VALUE,
    CUED.map("".join),
    NUMBER.map(lambda value: grouped(value, " ")),
    HAN,
    st.text(max_size=6),
    st.text("0123456789 -.+()xX*@:/⟦⟧", max_size=12),
    st.text("一三八零幺两0123 \n-.、", max_size=14),
    st.text("&#6439;x@ .comat[]点艾特", max_size=14),
    st.builds(lambda form, value: WRITTEN_OUT[form](value), st.sampled_from(sorted(WRITTEN_OUT)), MOBILE),
    st.sampled_from(
        "电话： 姓名：张三 客户 password= 密码：abc12345 地址： 四川省东莞市房山兴城街3号 ⟦手机⟧ ⟦姓名:ABCDEFGHIJ⟧ 微信 :// Mr. **".split()
    ),
)


@given(text=st.lists(PIECES, max_size=12).map("".join), policy=st.sampled_from(POLICIES))
@settings(max_examples=500)
def test_redacting_twice_changes_nothing(text: str, policy: RedactionPolicy) -> None:
    """What redaction writes is not found again, in any text."""
    once = redact(text, policy, KEY).text
    twice = redact(once, policy, KEY)
    assert (twice.text, dict(twice.counts)) == (once, {})


@given(pieces=st.lists(PIECES.filter(str.strip), min_size=1, max_size=8), policy=st.sampled_from(POLICIES))
@settings(max_examples=200)
def test_a_redacted_document_is_a_document(pieces: list[str], policy: RedactionPolicy) -> None:
    """Blocks keep covering a redacted text, in order; redacting it, or its text alone, again changes nothing."""
    text, blocks = "", []
    for piece in pieces:
        text += "\n" if text else ""
        blocks.append(Block(kind="paragraph", start=len(text), end=len(text) + len(piece), label=piece))
        text += piece
    document = Document(uri="file:///a.md", title=pieces[0], text=text, blocks=tuple(blocks), sha256="0")
    redacted, _ = Redaction(policy, KEY).document(document)
    assert redacted.text == redact(redacted.text, policy, KEY).text
    assert redacted.title == redact(redacted.title, policy, KEY).text
    assert Redaction(policy, KEY).document(redacted) == (redacted, {})


@given(pieces=st.lists(PIECES, max_size=6), policy=st.sampled_from(POLICIES), key=st.sampled_from([KEY]))
@settings(max_examples=200)
def test_a_redacted_uri_stays_redacted(pieces: list[str], policy: RedactionPolicy, key: bytes) -> None:
    """Redacting an address twice changes nothing."""
    once = Redaction(policy, key).uri("file:///" + "/".join(pieces))
    assert Redaction(policy, key).uri(once) == once


@given(texts=st.lists(PIECES, max_size=12), policy=st.sampled_from(POLICIES))
@settings(max_examples=200)
def test_what_is_remembered_changes_nothing(texts: list[str], policy: RedactionPolicy) -> None:
    """Texts are redacted as each would be alone, the second time, too, and only clean ones are remembered."""
    alone = [redact(text, policy, KEY) for text in texts]
    redaction = Redaction(policy, KEY)
    for _ in range(2):
        assert [redaction.text(text) for text in texts] == alone
    assert redaction._rewrite._clean == {one.text for one in alone}


def test_what_is_remembered_is_bounded() -> None:
    """A source of millions of rows does not fill the memory."""
    redaction = Redaction(RedactionPolicy(level="public", actions=dict.fromkeys(KINDS, "drop")))
    for number in range(9_000):
        redaction.text(f"row {number}")
    assert 0 < len(redaction._rewrite._clean) <= 4_096
    redaction.text("long " * 100)
    assert max(map(len, redaction._rewrite._clean)) <= 200


HOSTILE = [
    "1", "1 ", "13", "138 ", "110101199003077", "6222 ", "4444-", "0", "010-", "+1 ", "+1(", "2-2-", "a@", "a.", "@a.",
    "@a", "市区", "省市区县", "路1", "区路1号", "一号路", "姓名：", "联系人", "姓名：张", "张先生", "Mr. A", "Name: A ", "A ", "::", "a:",
    "1.", "1.1.1.", "eyJ", "eyJaaaaaaaa.", "AKIA", "sk-", "password=", "password: a1", "://a:", "-----BEGIN PRIVATE KEY-----", "-----END ",
    "GB12", "GB12 ", "E1", "护照E1", "护照", "通行证H1234567", "京A", "京A1", "微信", "qq", "\u200b1", "①", "⟦", "⟦手机⟧", "⟦手机:", "电话", "电话1",
    "一", "一 ", "1一", "一三八0", "one ", "one two ", "&#4", "&#49;", "(at)", "a(at)", "a (at) b.", "a @ ", "@ a. ", "艾特", "a艾特b点", " at a dot ",
    "a dot ", "138\n", "6222\n", "6222.", "4444/", "1、", "1~", "A B 1 ", "地址：市路", "·", "张·", "bearer ", "91 ", "\u3000", "e\u0301",
    "password", "password ", "password for a ", "password is a", "<password>", "<password a>b", "--password ", "mysql ", "mysql -p ", "curl -u a",
    "echo a ", "key='a' ", "name='password' value=", "密码", "密码 ", "密码 a1 ", "密码是", "账号a密码b", "A_", "A_PASS=", "user=a ", "user=a;b=c;", "login a password ",
    "cookie: a", "authorization: ", "identified by ", "$1$", "{SSHA}", "_auth=", "Private-Lines: 1\n", "pin: 1", "sig=", "a8Q~",
    "\\u0031", "%31", "1**", "1<b>", "1O", "O1", "l ", "\\@", "a_at_b.", "a#b.com ", "MTM4", "bWFp", "а@", "人：李", "人 — 李 ", "by: A ", "From: A B ", "12 A Street, ", "1 A ",
    "王丽", "王丽华", "老王说", "陈总", "由王", "外号", "Anna Smith ", "Anna Saskia Vries ", "told Anna ", "Anna aka ", '"a" + ', '"a" + "@" + ', "['a', 'b.c']", "@1.1.1.1", "a:b1b1b@", "the secret is ", "new key → ",
    "password changed ", "changed the password ", "password from a1b2c to ", "use a1b2c as ", "use the ", "unlock a ", "log in with ", "code is 1", "enter 1234 ", "1234 is your ", "密码由", "密码改为", "用a1b2c3作为", "creds: a / ",
]  # fmt: skip


def seconds(unit: str, length: int) -> float:
    """Processor time to redact a text of one repeated piece."""
    text = (unit * (length // len(unit) + 1))[:length]
    begun = time.process_time()
    with contextlib.suppress(DocumentRejected):
        redact(text, everything("drop"))
    return time.process_time() - begun


@pytest.mark.parametrize("unit", HOSTILE)
def test_time_is_linear_in_hostile_text(unit: str) -> None:
    """No text of one repeated piece takes more than some microseconds a character, or more a character when longer."""
    for _ in range(3):  # a garbage collection may fall into one measurement, not into three
        short, long = seconds(unit, 5_000), seconds(unit, 40_000)
        if long < 0.2 or long < min(3.0, 24 * short):
            return
    pytest.fail(f"{long * 25:.1f} µs a character in 40,000, {short * 200:.1f} in 5,000")
