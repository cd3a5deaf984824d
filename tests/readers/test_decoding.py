"""Bytes to text."""

import os
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wenyuan.core.errors import DocumentRejected
from wenyuan.i18n.translation import translated
from wenyuan.readers.decoding import clean, decode
from wenyuan.readers.signatures import SIGNATURES, signature_of

STATUTE = (
    "第一条 为了规范投诉处理，维护消费者的合法权益，根据有关法律制定本办法。\n"
    "第二条 本办法所称投诉，是指消费者的诉求。\n"
)
TRADITIONAL = "第一條 為了規範投訴處理，維護消費者的合法權益，根據有關法律制定本辦法。\n"
JAPANESE = "これは日本語のテキストです。苦情は二十四時間以内に処理しなければならない。\n"
KOREAN = "이것은 한국어 텍스트입니다. 불만은 이십사 시간 이내에 처리해야 합니다.\n"
FRENCH = "Les réclamations doivent être traitées à la réception, même l'été; déjà reçues, où ça? Hélène.\n"


@pytest.mark.parametrize(
    ("text", "written", "found"),
    [
        (STATUTE, "utf-8", "utf-8"),
        (STATUTE, "utf-8-sig", "utf-8"),
        (STATUTE, "utf-16", "utf-16-le"),
        (STATUTE, "utf-16-le", "utf-16-le"),
        (STATUTE, "utf-16-be", "utf-16-be"),
        ("Complaints are answered within 24 hours.", "utf-16-le", "utf-16-le"),
        ("Complaints", "utf-16-be", "utf-16-be"),
        (STATUTE, "gb18030", "gb18030"),
        (STATUTE, "gb2312", "gb18030"),
        (TRADITIONAL, "gbk", "gb18030"),
        ("投诉", "gbk", "gb18030"),
        (TRADITIONAL, "big5", "big5hkscs"),
        ("投訴處理辦法", "big5", "big5hkscs"),
        (JAPANESE, "shift_jis", "cp932"),
        (JAPANESE * 5, "euc_jp", "euc_jp"),
        (FRENCH, "utf-8", "utf-8"),
        ("", "utf-8", "utf-8"),
    ],
)
def test_encodings_found(text, written, found):
    """Text in a known encoding is read back exactly and the encoding is named."""
    decoded = decode(text.encode(written))
    assert (decoded.text, decoded.encoding) == (text, found)


@pytest.mark.parametrize("wrong", [b"\xff", b"\xe6\x8a", b"\x80"])
def test_one_wrong_byte_costs_its_place(wrong):
    """A wrong byte in a long UTF-8 text loses that place, which a note names; the rest stays."""
    decoded = decode((STATUTE * 3).encode() + b"\n" + wrong + b" after " + (STATUTE * 3).encode())
    assert decoded.encoding == "utf-8" and " after " in decoded.text and decoded.text.count("\ufffd") == 1
    line = (STATUTE * 3).count("\n") + 2
    assert decoded.notes == (f"1 places are not valid UTF-8 and were lost, the first in line {line}",)


def test_big_endian_mark():
    """A big-endian byte order mark is obeyed and is no part of the text."""
    assert decode(b"\xfe\xff" + STATUTE.encode("utf-16-be")).text == STATUTE


@pytest.mark.parametrize(
    ("text", "written"),
    [(KOREAN, "euc_kr"), (FRENCH, "latin-1"), ("café", "latin-1"), (STATUTE, "utf-32")],
)  # fmt: skip
def test_other_encodings_rejected(text, written):
    """Text in another encoding is refused rather than turned into wrong characters."""
    with pytest.raises(DocumentRejected):
        decode(text.encode(written))


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"%PDF-1.7\nrest", "PDF"),
        (b"PK\x03\x04rest", "ZIP"),
        (b"{\\rtf1\\ansi text}", "RTF"),
        (b"abc\x00\x00def", "NUL"),
        (b"abc\x01\x02\x03\x04\x05\x06 def", "control characters"),
        (b"\xff\xfea\xd8", "UTF-16"),
        (b"abc \xe6\x8a", "byte 4"),
    ],
)
def test_binary_rejected_with_reason(content, reason):
    """Binary content is refused and the message says what was seen."""
    with pytest.raises(DocumentRejected, match=reason):
        decode(content)


def test_random_bytes_are_no_text():
    """Random bytes are refused with the error of a document, never with another one."""
    for _ in range(100):
        with pytest.raises(DocumentRejected):
            decode(os.urandom(300))


@given(st.binary(max_size=60))
def test_any_bytes_give_text_or_refusal(content):
    """Any bytes give text without NULs and lone surrogates, or a refusal."""
    try:
        text = decode(content).text
    except DocumentRejected:
        return
    assert "\x00" not in text
    text.encode("utf-8")


@given(st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=80))
def test_utf8_round_trip(text):
    """Any UTF-8 text comes back as it was, but for a mark at its start."""
    assert decode(text.encode("utf-8")).text == text.removeprefix("\ufeff")


@pytest.mark.parametrize(
    ("hidden", "note"),
    [
        ("\u200b", "removed 1 zero-width character"),
        ("\ufeff", "removed 1 zero-width character"),
        ("\u202e", "removed 1 bidirectional control character"),
        ("\u00ad", "removed 1 soft hyphen"),
        ("\U000e0041\U000e0042", "removed 2 tag characters"),
        ("\ufe0f\ufe01", "removed 2 variation selectors"),
        ("\U000e0101", "removed 1 variation selector"),
        ("\x07", "removed 1 control character"),
        ("\x9b", "removed 1 control character"),
        ("\u3164", "removed 1 invisible filler"),
        ("\ud800", "removed 1 surrogate character"),
    ],
)
def test_hidden_characters_removed_and_counted(hidden, note):
    """Each kind of hidden character is removed and counted in a note."""
    assert clean(f"投诉处理 ab{hidden}cd") == ("投诉处理 abcd", (note,))


def test_line_ends_made_even():
    """All line ends become a line feed, which is not worth a note."""
    assert clean("a\r\nb\rc\x0bd\x0ce\x85f\u2028g\u2029h\ni\tj") == ("a\nb\nc\nd\ne\nf\ng\nh\ni\tj", ())


@pytest.mark.parametrize(
    "text",
    ["1️⃣ ❤️ 👨‍👩‍👧 ☎︎", "می‌خواهم", "क्‍ष", "葛󠄀城市", "全角　空格", "naïve café", "𠮷野家", "🇨🇳", "Ω≈ç√", "e\u0301"],
)
def test_visible_text_is_kept(text):
    """Joiners and selectors that shape emoji, ideographs and scripts stay; so does all that is visible."""
    assert clean(text) == (text, ())


@given(st.text(max_size=60) | st.text("ab投诉\u200b\u200d\ufe0f\u202e\xad❤👨\r\n\U000e0041", max_size=30))
def test_clean_twice_is_clean_once(text):
    """Cleaning is idempotent, says nothing the second time, and keeps every letter, digit and mark."""
    cleaned, _ = clean(text)
    assert clean(cleaned) == (cleaned, ())
    invisible = set("\u115f\u1160\u3164\uffa0")
    assert [c for c in text if c.isalnum() and c not in invisible] == [c for c in cleaned if c.isalnum()]


@pytest.mark.parametrize(("magic", "what"), SIGNATURES)
def test_what_is_no_text_is_named_as_everywhere(magic: bytes, what: str) -> None:
    """Bytes with a signature that no text begins with are refused by its one name, which is said in Chinese, too."""
    assert signature_of(magic + b"...") == what
    if not magic.isalnum():
        with pytest.raises(DocumentRejected, match=re.escape(f"this is {what}, not text")) as refused:
            decode(magic + b"...")
        assert what in ("RTF", "gzip") or what not in translated(refused.value.message)


def test_a_text_may_begin_with_a_word_that_is_a_signature() -> None:
    """Letters alone make no picture of a text."""
    assert decode(b"RIFF is a container for sound.").text.startswith("RIFF")
