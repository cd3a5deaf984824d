"""Reading RTF: text in any code page, structure by styles and numbers; what is hidden is left out and said."""

from __future__ import annotations

import pytest

from wenyuan.core.errors import DocumentRejected
from wenyuan.core.model import Document
from wenyuan.readers.rtf import read_rtf

HEAD = (
    r"{\rtf1\ansi\ansicpg936\deff0{\fonttbl{\f0\fcharset134 \'cb\'ce\'cc\'e5;}{\f1\fcharset136 MingLiU;}{\f2\fcharset204 Arial;}{\f3\fcharset2 Symbol;}}"
    r"{\stylesheet{\ql Normal;}{\s1\outlinelevel0 heading 1;}{\s9 toc 1;}}{\info{\title \'b9\'e6\'b3\'cc}{\author Li}{\*\company X}}"
)


def read(body: str, head: str = HEAD) -> Document:
    (document,) = read_rtf(f"{head}{body}}}".encode("latin-1"), uri="file:///a.rtf", name="a.rtf")
    return document


def blocks(document: Document) -> list[tuple[str, str]]:
    return [(block.kind, document.text[block.start : block.end]) for block in document.blocks]


def test_bytes_are_in_the_code_page_of_their_font_and_units_pass_over_what_follows() -> None:
    """GBK, Big5 and Cyrillic beside \\u with its replacement, also beyond the first plane."""
    document = read(
        r"\pard \'cd\'cb\'b7\'d1 {\f1 \'b0\'68\'b6\'4f} {\f2 \'ef\'f0} {\uc2\u36864\'cd\'cb} \u-10179?\u-8704? \u8364?5\par"
    )
    assert document.text == "退费 退費 пр 退 😀 €5"
    assert (document.title, document.metadata) == ("规程", {"author": "Li"})
    assert document.fidelity and (document.fidelity.lost, document.fidelity.invented) == (0, 0)


def test_headings_lists_and_articles() -> None:
    """A heading by its style; marks of lists are text of the file; an article is no item."""
    document = read(
        r"\pard\s1 {General rules}\par\pard {\listtext\f3\'b7\tab}one\par\pard\ilvl1{\listtext 1.\tab}two\par"
        r"\pard{\pntext\'b5\'da\'d2\'bb\'cc\'f5 }\'b1\'be\'b0\'ec\'b7\'a8\'a1\'a3\par\pard a\line b\~c\par\pard\s9 Contents 1\par"
    )
    assert blocks(document) == [
        ("heading", "General rules"), ("list", "- one\n  1. two"), ("clause", "第一条 本办法。"), ("paragraph", "a\nb\xa0c"),
    ]  # fmt: skip
    assert document.notes == ("left out lines of the table of contents (1)",)


def test_tables_repeat_cells_that_go_on_downwards() -> None:
    """Rows and cells; a cell merged with the one above has its text."""
    document = read(
        r"\trowd\clvmgf\cellx100\cellx200\pard\intbl Fee\cell Exam\cell\row"
        r"\trowd\clvmrg\cellx100\cellx200\pard\intbl\cell 200\par yuan\cell\row\pard after\par"
    )
    assert blocks(document) == [("table", "Fee | Exam\nFee | 200 yuan"), ("paragraph", "after")]
    assert document.fidelity and (document.fidelity.lost, document.fidelity.invented, document.fidelity.tables) == (
        0,
        0,
        1,
    )


def test_footnotes_follow_their_passage() -> None:
    """A note has the number at which the text refers to it."""
    document = read(r"\pard refund{\super\chftn{\footnote\pard\chftn  see contract\par}} first.\par\pard next\par")
    assert document.text == "refund[1] first.\n\n[1] see contract\n\nnext"
    assert document.fidelity and (document.fidelity.lost, document.fidelity.invented) == (0, 0)


def test_pictures_objects_heads_comments_and_hidden_text_are_left_out() -> None:
    """None of it is text; a field's result is, its instruction is not."""
    document = read(
        r"{\header Company}\pard seen{\v unseen}{\deleted old}{\*\annotation why}{\*\shppict{\pict\pngblip 89504e47}}"
        r"{\nonshppict{\pict 00}}{\object{\*\objdata 0102}{\result here}}{\field{\*\fldinst HYPERLINK http://x}{\fldrslt link}}\par"
    )
    assert document.text == "seenherelink"
    assert document.notes == (
        "left out comments (1), deleted passages (1), hidden passages (1), running heads and feet (1)",
    )
    assert document.fidelity
    assert (document.fidelity.pictures, document.fidelity.lost) == (1, len("Companyunseenoldwhy"))


def test_bytes_of_pictures_are_passed_over_whatever_they_are() -> None:
    """Binary data may hold braces and words of control."""
    content = HEAD.encode() + rb"\pard a{\pict\bin5 {{}\par}\bin3 }}}b\par}"
    (document,) = read_rtf(content, uri="file:///a.rtf", name="a.rtf")
    assert document.text == "ab"


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("{" * 2_000 + "x", "nested too deeply"),
        (r"\pard{\v hidden}\par", "holds no text"),
        ("", "holds no text"),
    ],
)
def test_what_is_hostile_or_empty_is_refused_by_name(body: str, reason: str) -> None:
    """Groups without end are stopped."""
    with pytest.raises(DocumentRejected, match=reason):
        read(body)


@pytest.mark.parametrize(
    "body",
    [
        r"\pard text\par}}}}}",
        r"\pard text",
        r"\pard text\bin99999999 ",
        "\\pard text\\",
        r"\trowd\cellx1\pard\intbl text\cell",
    ],
)
def test_files_that_end_too_early_or_too_often_give_what_they_hold(body: str) -> None:
    """A cut file is read up to its cut."""
    (document,) = read_rtf((HEAD + body).encode(), uri="file:///a.rtf", name="a.rtf")
    assert document.text.rstrip("}") == "text"


def test_a_code_page_that_nobody_has_is_the_usual_one() -> None:
    """A damaged head costs no text."""
    assert (
        read(r"\pard a\'e9\par", HEAD.replace("ansicpg936", "ansicpg9").replace("fcharset134", "fcharset0")).text
        == "aé"
    )
