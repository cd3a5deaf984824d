"""Reading PDF: the text layer, its paragraphs and numbered headings; scans and locked files are refused."""

from __future__ import annotations

import pytest

from pdf_files import Line, make_pdf
from wenyuan.core.errors import DocumentRejected
from wenyuan.core.model import Document
from wenyuan.readers.pdf.reader import read_pdf


def read(content: bytes) -> Document:
    (document,) = read_pdf(content, uri="file:///a.pdf", name="a.pdf")
    return document


def texts(document: Document) -> list[str]:
    return [document.text[block.start : block.end] for block in document.blocks]


def test_latin_lines_join_to_paragraphs_and_broken_words_heal() -> None:
    """A line that had no room for the next word goes on; a hyphen before a small letter disappears."""
    document = read(
        make_pdf(
            [
                [
                    (72, 700, "The knowledge service answers with fragments that are exam-"),
                    (72, 686, "ined, each of them with an address and the hash of its text."),
                    (72, 672, "It ends here."),
                    (72, 658, "Another paragraph begins since the line above had room left,"),
                    (72, 644, "and goes on for a second line."),
                ]
            ]
        )
    )
    assert texts(document) == [
        "The knowledge service answers with fragments that are examined, each of them with an address and "
        "the hash of its text. It ends here.",
        "Another paragraph begins since the line above had room left, and goes on for a second line.",
    ]
    assert {block.page for block in document.blocks} == {1}


def test_chinese_lines_join_without_spaces_and_quotation_marks_survive() -> None:
    """Chinese paragraphs are joined closely; an indented line begins the next."""
    document = read(
        make_pdf(
            [
                [
                    (96, 700, "为了规范“知识服务”的管理，提高检索的准确性和可核"),
                    (72, 680, "查性，保障使用者的合法权益，根据有关规定制定本办法。"),
                    (96, 660, "本办法所称的知识服务，是指向智能体提供可核查依据的"),
                    (72, 640, "服务。"),
                ]
            ],
            chinese=True,
        )
    )
    assert texts(document) == [
        "为了规范“知识服务”的管理，提高检索的准确性和可核查性，保障使用者的合法权益，根据有关规定制定本办法。",
        "本办法所称的知识服务，是指向智能体提供可核查依据的服务。",
    ]


def test_lines_that_are_set_in_parts_go_on() -> None:
    """A line that is set in two parts, or holds full-width spaces, is no row of a table."""
    prose: list[Line] = [
        (72, 700, "知识服务是指"),
        (156, 700, "向智能体提供可核查依据"),  # one em beside the line before it
        (72, 680, "的服务，其内"),
        (156, 680, "容由所有者负责并且更新"),
        (72, 660, "到最近的版本。"),
    ]
    assert len(texts(read(make_pdf([prose], chinese=True)))) == 1
    spaced: list[Line] = [(72, 700, "说明　　知识服务是指向智能体提供可核查依据的服"), (72, 680, "务。")]
    assert len(texts(read(make_pdf([spaced], chinese=True)))) == 1


def test_numbered_lines_become_headings_and_clauses_with_pages() -> None:
    """Chapters and articles are found by their numbers, and know their page."""
    pages: list[list[Line]] = [
        [(200, 700, "第一章 总则"), (96, 660, "第一条 为了规范管理，制定本办法。")],
        [(200, 700, "第二章 责任"), (96, 660, "第二条 违反本办法的，责令改正。")],
    ]
    document = read(make_pdf(pages, chinese=True))
    assert [(b.kind, b.label, b.page) for b in document.blocks] == [
        ("heading", "第一章 总则", 1),
        ("clause", "第一条", 1),
        ("heading", "第二章 责任", 2),
        ("clause", "第二条", 2),
    ]


def test_a_sentence_goes_on_over_the_page() -> None:
    """A paragraph that a page break cuts is one block, on the page where it begins."""
    first: list[Line] = [(72, 700, "This sentence is as long as a line of this page can possibly be and")]
    document = read(make_pdf([first, [(72, 760, "goes on over the page.")]]))
    assert texts(document) == [first[0][2] + " goes on over the page."]


def _book(pages: int) -> bytes:
    return make_pdf(
        [
            [
                (72, 810, "ACME Safety Manual"),
                (72, 700, f"Body text number {'abcdef'[at]} of this page."),
                (72, 500, "This line repeats in the body of every page."),
                (280, 30, f"Page {at + 1} of {pages}"),
            ]
            for at in range(pages)
        ]
    )


def test_running_headers_and_page_numbers_are_removed_with_a_note() -> None:
    """Of lines in the margins that three pages share the first one stays, page numbers go; what repeats in the body stays."""
    document = read(_book(4))
    assert document.text.count("ACME Safety Manual") == 1
    assert document.text.startswith("ACME Safety Manual\n\nBody text")
    assert "Page" not in document.text
    assert document.text.count("This line repeats") == 4
    assert any("ACME Safety Manual" in note and "4 pages" in note for note in document.notes)


def test_a_running_head_is_kept_once_and_only_where_nothing_else_says_it() -> None:
    """A model's number that stands in the head alone is kept; a head that repeats the title, or says only which page it is, goes."""

    def book(*first: Line) -> bytes:
        pages: list[list[Line]] = [
            [
                (72, 810, f"Device XK-400 - page {at}"),
                (72, 700, f"Text {'abcdef'[at]} of this page."),
                (280, 30, f"- {at} -"),
            ]
            for at in range(1, 5)
        ]
        pages[0].extend(first)
        return make_pdf(pages)

    assert read(book()).text.count("XK-400") == 1
    assert "- 2 -" not in read(book()).text
    assert read(book((72, 650, "The device XK-400 turns."))).text.count("XK-400") == 1


def test_what_is_said_of_a_break_in_a_listing_is_left_out() -> None:
    """ "(continues on next page)" and the mark of a wrapped line of code are no text; a sentence with those words is."""
    first: list[Line] = [(72, 700, "Package: bar"), (72, 685, "\\(continues on next page\\)")]
    second: list[Line] = [(72, 700, "\\(continued from previous page\\)"), (72, 685, "Provides: bar")]
    third: list[Line] = [
        (72, 640, "Table 3 - continued from previous page"),
        (72, 600, "It is continued on the next page of the file."),
    ]
    said = read(make_pdf([first, second, third])).text
    assert "Package: bar" in said and "Provides: bar" in said
    assert said.count("continue") == 1
    chinese: list[Line] = [
        (72, 700, "软件包：bar"),
        (72, 685, "（续下页）"),
        (72, 600, "(接上页)"),
        (72, 560, "提供：bar；续下页的说明"),
    ]
    said = read(make_pdf([chinese], chinese=True)).text
    assert said.count("续下页") == 1 and "接上页" not in said


def test_what_only_two_pages_share_is_kept() -> None:
    """Two pages are no proof of a running header."""
    assert read(_book(2)).text.count("ACME Safety Manual") == 2


def test_large_letters_make_headings_and_the_title() -> None:
    """Without a number, a line in larger letters is a heading; the file's own name is no title."""
    page: list[Line] = [
        (72, 700, "Annual Report", 24),
        (72, 650, "Introduction", 16),
        (72, 620, "This is the body of the text, set in small letters."),
        (72, 606, "It has a second line."),
    ]
    document = read(make_pdf([page], title="Microsoft Word - report.docx"))
    assert [b.kind for b in document.blocks][:2] == ["heading", "heading"]
    assert [b.level for b in document.blocks][:2] == [1, 2]
    assert document.title == "Annual Report"
    assert read(make_pdf([page], title="年度报告")).title == "年度报告"


def test_pages_without_text_are_counted() -> None:
    """A document that is scanned in part says which pages are missing."""
    document = read(make_pdf([[(72, 700, "Text")], [], []]))
    assert any("no text layer on 2 of 3 pages: 2, 3" in note for note in document.notes)
    assert document.metadata["pages"] == 3


def test_a_scan_is_rejected_with_its_page_count() -> None:
    """A PDF without any text is refused, never read as empty."""
    with pytest.raises(DocumentRejected, match=r"a\.pdf: no text layer on any of its 2 pages \(scanned\?\)"):
        read(make_pdf([[], []]))


def test_an_encrypted_file_is_rejected() -> None:
    """A password that nobody has told is a reason."""
    secret = b"<" + b"41" * 32 + b">"
    trailer = (
        b" /ID [<00><00>] /Encrypt << /Filter /Standard /V 1 /R 2 /P -4 /O " + secret + b" /U " + secret + b" >>"
    )
    with pytest.raises(DocumentRejected, match="encrypted"):
        read(make_pdf([[(72, 700, "Text")]], trailer=trailer))


@pytest.mark.parametrize("content", [b"%PDF-1.4 nothing else", b"%PDF-1.7\n" + b"\x00" * 1000])
def test_a_damaged_file_is_rejected(content: bytes) -> None:
    """What pdfium cannot open is refused with its reason."""
    with pytest.raises(DocumentRejected, match="damaged"):
        read(content)


def test_every_truncation_is_read_or_rejected() -> None:
    """A cut file gives a document or a refusal, no other error."""
    whole = _book(3)
    for end in range(0, len(whole), 97):
        try:
            assert read(whole[:end]).text
        except DocumentRejected:
            continue


@pytest.mark.parametrize(
    "title",
    ["(anonymous)", "untitled", "Untitled Document 2", "Microsoft Word - x.doc", "PowerPoint Presentation", "无标题文档",
     "新建 Microsoft Word 文档", "(unspecified)", "report.dvi"],
)  # fmt: skip
def test_what_a_program_calls_a_file_is_no_title(title: str) -> None:
    """The largest words of the first page are, or else the file's name; a title that a person gave is kept."""
    page: list[Line] = [
        (60, 780, "Guest rooms", 24),
        *((60, 740 - 20 * n, "The guest pays on leaving.") for n in range(9)),
    ]
    assert read(make_pdf([page], title=title)).title == "Guest rooms"
    assert read(make_pdf([page[1:]], title=title)).title == "a"
    assert read(make_pdf([page], title="Microsoft Word for beginners")).title == "Microsoft Word for beginners"


def test_running_lines_that_name_the_section_at_hand_are_left_out() -> None:
    """They have the page's number at one end; a line of the text that ends with another number stays."""
    body = [(60, 700 - 20 * n, f"The guest of room {n} pays on leaving the house in the morning.") for n in range(20)]
    feet = [
        "1.1. Rooms 1",
        "2 Chapter 1. Guests",
        "1.2. Fees 3",
        "4 Chapter 1. Guests",
        "2.1. Keys 5",
        "6 Chapter 2. Doors",
        "2.2. Locks 7",
    ]
    pages: list[list[Line]] = [
        [(60, 780, f"It is let for {at * 40}"), *body, (60, 40, foot)] for at, foot in enumerate(feet, 2)
    ]
    document = read(make_pdf(pages))
    assert not any(foot in document.text for foot in feet)
    assert all(f"let for {at * 40}" in document.text for at in range(2, 9))
    assert "removed 7 running lines with the page's number" in document.notes


def test_what_stands_beside_the_text_of_a_page_is_counted() -> None:
    """Fields of forms, comments and stamps are named in the warnings; links are not."""
    kinds = (b"Widget /FT /Tx /T (a) /V (42)", b"Text /Contents (see)", b"Stamp", b"Link")
    noted = b" ".join(b"<< /Type /Annot /Subtype /" + kind + b" /Rect [0 0 9 9] >>" for kind in kinds)
    content = make_pdf([[(72, 700, "The pump turns.")]]).replace(b"/MediaBox", b"/Annots [" + noted + b"] /MediaBox")
    document = read(content)
    assert document.fidelity is not None
    assert document.fidelity.warnings == (
        "content of kinds that are not read: comments (1), form fields (1), stamps (1)",
    )
