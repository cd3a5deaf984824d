"""Plain text files."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wenyuan.core.errors import DocumentRejected
from wenyuan.readers.text import read_text

STATUTE = """客户投诉管理办法

第一章　总　则
第一条　为了规范投诉处理，制定本办法。
　　本办法所称投诉，是指客户的诉求。
第二条　投诉应当在二十四小时内受理。有下列情形之一的，可以延长：
（一）案情复杂；
（二）需要检测。
第二章　附　则
第三条　本办法自2024年1月1日起施行。
"""
POLICY = """Travel policy

1. Scope

This policy applies to all staff. It was
agreed in
Section 4
of the handbook.

2. Booking
2.1 Flights are booked by the travel desk.
2.2 Trains may be booked by anyone.

Bring:
- a passport
- a badge
"""


def _read(text: str, name: str = "办法.txt"):
    (document,) = read_text(text.encode(), uri="file:///x/办法.txt", name=name)
    return document


def _outline(document):
    return [(b.kind, b.level, b.label) for b in document.blocks if b.level]


def test_statute_outline():
    """A statute has its title, chapters as headings and articles as clauses below them."""
    document = _read(STATUTE)
    assert document.title == "客户投诉管理办法"
    assert _outline(document) == [
        ("heading", 1, "客户投诉管理办法"), ("heading", 2, "第一章 总 则"), ("clause", 3, "第一条"),
        ("clause", 3, "第二条"), ("heading", 2, "第二章 附 则"), ("clause", 3, "第三条"),
    ]  # fmt: skip


def test_indented_line_is_a_paragraph():
    """A line indented with an ideographic space is a paragraph of its own."""
    document = _read(STATUTE)
    texts = [document.text[b.start : b.end] for b in document.blocks]
    assert "　　本办法所称投诉，是指客户的诉求。" in texts


def test_policy_outline():
    """Numbered headings and dotted clauses nest; a wrapped line that begins with Section 4 opens nothing."""
    assert _outline(_read(POLICY)) == [
        ("heading", 1, "Travel policy"), ("heading", 2, "1 Scope"), ("heading", 2, "2 Booking"),
        ("clause", 3, "2.1"), ("clause", 3, "2.2"),
    ]  # fmt: skip
    assert [b.kind for b in _read(POLICY).blocks][-2:] == ["paragraph", "list"]


def test_lines_are_exact():
    """Each block begins on the line that it names."""
    document = _read(STATUTE)
    lines = STATUTE.split("\n")
    assert all(document.text[b.start : b.end].split("\n")[0] in lines[b.line - 1] for b in document.blocks)


def test_title_falls_back_to_the_name():
    """A file that begins with a sentence or with a clause is called by its name."""
    assert _read("投诉应当受理。\n\n投诉应当登记。").title == "办法"
    assert _read("第一条 投诉应当受理。\n第二条 投诉应当登记。").title == "办法"
    assert _read("just one line", name="notes/today.txt").title == "today"


def test_encoding_is_noted():
    """A file in GB18030 is read and the note says so; hidden characters are counted."""
    (document,) = read_text(STATUTE.replace("投诉", "投\u00ad诉", 1).encode("gb18030"), uri="file:///x", name="x.txt")
    assert document.text == STATUTE
    assert document.notes == ("decoded from GB18030", "removed 1 soft hyphen")


@pytest.mark.parametrize("content", [b"", b" \n\t\n", "\u200b\u3000".encode(), b"\x00\x01\x02"])
def test_no_text_is_refused_by_name(content):
    """A blank or binary file is refused and the message names it."""
    with pytest.raises(DocumentRejected, match=r"leer\.txt: "):
        read_text(content, uri="file:///x", name="leer.txt")


@given(st.text("第一二条章 。\n\u3000投诉ab.1-\t（）", min_size=1, max_size=80))
def test_any_text_is_covered(text):
    """Any text is covered by its blocks (a document refuses otherwise), and levels have no gaps."""
    if not text.strip():
        return
    document = _read(text)
    assert document.text == text
    levels = {b.level for b in document.blocks if b.level}
    assert levels == set(range(1, len(levels) + 1))
    assert all(document.text[b.start : b.end].strip() for b in document.blocks)
