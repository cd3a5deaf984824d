"""What is believed and what is not: text layers that hold no text, and numbers that were not read surely."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from wenyuan.core.fidelity import Line
from wenyuan.readers.ocr.doubt import numbers, uncertain
from wenyuan.readers.ocr.page_store import PageStore
from wenyuan.readers.pdf.page import unreadable

_REAL = (
    "根据《民法典》第五百七十七条的规定，当事人一方不履行合同义务或者履行合同义务不符合约定的，应当承担继续履行等违约责任。"
    * 3
)


@pytest.mark.parametrize(
    "text",
    [
        _REAL,
        "The Supplier shall deliver 40 units no later than 7 March 2026.",
        "Où est l'été ? Ça coûte 5 € à Zürich, naïve œuvre.",
        "1. Introduction ········································ 3",
        "• Point one • Point two " * 5,
        "张三 李四 王五 赵六 " * 10,
        "",
    ],
)
def test_text_is_believed(text: str) -> None:
    assert unreadable(text) < 0.1


@pytest.mark.parametrize(
    "text",
    [
        "\ue001\ue002\ue003 \ue004\ue005\ue006\ue007\ue008 \ue009",
        "\ufffd" * 40 + "12",
        _REAL.encode("gb18030").decode("latin-1"),
        _REAL.encode().decode("cp1252", "ignore"),
        "锟斤拷锟斤拷锟斤拷" * 4,
        "".join(chr(0x5000 + 7 * n) for n in range(200)),
        "\x01\x02\x03\x04\x05\x06\x07\x0e\x0f\x10",
    ],
)
def test_what_is_no_text_is_not(text: str) -> None:
    assert unreadable(text) > 0.5


def test_glyphs_without_a_character_count_as_no_text() -> None:
    assert unreadable("ordinary words", unmapped=0.4) == 0.4


@pytest.mark.parametrize(
    ("text", "kind", "part"),
    [
        ("依照第十三条办理", "clause", "第十三条"),
        ("see Section 3.2(a) of", "clause", "Section 3.2(a)"),
        ("人民币1,234.50元整", "amount", "人民币1,234.50元"),
        ("a fee of USD 4,250.75 only", "amount", "USD 4,250.75"),
        ("截至2026年3月15日有效", "date", "2026年3月15日"),
        ("on 7 March 2026 at", "date", "7 March 2026"),
        ("压力不高于1.60MPa，", "unit", "1.60MPa"),
        ("within 30 days of", "unit", "30 days"),
        ("逾期超过28日的", "unit", "28日"),
        ("编号ZB-2014-70685", "number", "2014-70685"),
        ("共计三百二十份", "number", "三百二十"),
    ],
)
def test_numbers_are_found_with_what_they_say(text: str, kind: str, part: str) -> None:
    assert [(text[start:end], found) for start, end, found in numbers(text)] == [(part, kind)]


def test_a_number_with_one_unsure_character_is_uncertain_and_a_word_with_one_far_less_sure() -> None:
    text = "费用1,234元，共56页"
    sure = [0.9, 0.2, 1.0, 1.0, 1.0, 0.9, 1.0, 1.0, 0.1, 0.85, 1.0, 1.0, 1.0]
    found = uncertain(text, [Line(0, len(text), 1, (0, 0, 1, 1), 0.9)], {0: sure})
    assert [(text[one.start : one.end], one.kind, one.confidence) for one in found] == [
        ("用", "word", 0.2),
        ("1,234元", "amount", 0.9),
    ]


def test_a_letter_beside_a_number_may_be_a_digit_that_was_misread() -> None:
    text = "No 12O0 is"
    sure = [1.0] * len(text)
    sure[5] = 0.5
    found = uncertain(text, [Line(0, len(text), 1, (0, 0, 1, 1), 0.9)], {0: sure})
    assert [(text[one.start : one.end], one.confidence) for one in found] == [("12", 0.5), ("0", 0.5)]


@pytest.mark.parametrize("between", [" ", "\n"])
def test_a_number_that_a_line_s_end_breaks_is_uncertain_as_a_whole(between: str) -> None:
    """The rest of an amount is no amount of its own that was read surely."""
    text = f"共81,258,1{between}18元，另有20元"
    for unsure in (text.index("81,"), text.index("18元")):
        sure = [1.0] * len(text)
        sure[unsure] = 0.5
        found = uncertain(text, [Line(0, len(text), 1, (0, 0, 1, 1), 0.9)], {0: sure})
        assert [text[one.start : one.end] for one in found] == ["81,258,1", "18元"]


def test_doubts_of_a_long_text_are_found_in_time_that_grows_with_it() -> None:
    """Each number is looked at with what is beside it, not with all that is before: else a book would take an hour."""
    text = "第十三条 支付81,258元。" * 20_000
    found = uncertain(text, [Line(0, len(text), 1, (0, 0, 1, 1), 0.9)], {0: [0.5] * len(text)})
    assert Counter(one.kind for one in found) == {"clause": 20_000, "amount": 20_000, "word": 20_000}


def test_lines_of_a_text_layer_are_sure() -> None:
    assert uncertain("12 pages", [Line(0, 8, 1, (0, 0, 1, 1))], {}) == ()


def test_pages_are_kept_by_file_and_version_and_a_damaged_one_counts_as_not_there(tmp_path: Path) -> None:
    store = PageStore(tmp_path / "ocr", "v6/1")
    store.keep("a" * 64, 3, {"rows": [], "size": [1, 2]})
    store.keep("a" * 64, 4, {"rows": [[{"text": "\ud800"}]]})
    store.keep("b" * 64, 3, {"rows": []})
    assert store.pages("a" * 64) == {3: {"rows": [], "size": [1, 2]}, 4: {"rows": [[{"text": "\ud800"}]]}}
    assert PageStore(tmp_path / "ocr", "v7/1").pages("a" * 64) == {}
    (kept,) = (file for file in (tmp_path / "ocr").rglob("3.json") if file.parent.name.startswith("b"))
    assert kept.stat().st_mode & 0o077 == 0 and kept.parent.stat().st_mode & 0o077 == 0
    kept.write_text("{")
    assert store.pages("b" * 64) == {}
    store.drop("a" * 64)
    assert store.pages("a" * 64) == {}
    store.drop("b" * 64)
    assert not (tmp_path / "ocr").exists()
