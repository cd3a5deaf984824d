"""Addresses open where their passage begins, for every kind of document: in real Chromium, and page by page in a PDF.

Where the machine has no Chromium the test that needs it is not run, and its name is told.
"""

from __future__ import annotations

import importlib.util
import io
import shutil
import sys
from collections.abc import Callable, Iterator
from datetime import date
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import docx
import openpyxl
import pytest
from docx.oxml import parse_xml

import wenyuan
from pdf_files import make_pdf
from wenyuan import Library
from wenyuan.core.addresses import with_fragment
from wenyuan.core.anchors import as_kept, part_of, parted
from wenyuan.core.learning_records import QuestionAddress
from wenyuan.core.model import Document, Source
from wenyuan.core.ports import Scope
from wenyuan.core.redaction.policy import policy_for
from wenyuan.core.redaction.redact import Redaction
from wenyuan.core.text.chunking import chunk
from wenyuan.readers.delimited import read_csv
from wenyuan.readers.docx import read_docx
from wenyuan.readers.html import read_html
from wenyuan.readers.markdown import read_markdown
from wenyuan.readers.pdf.reader import read_pdf
from wenyuan.readers.text import read_text
from wenyuan.readers.workbook import read_xlsx
from wenyuan.service.learning.lessons import load_holdings, resolve

Reader = Callable[..., tuple[Document, ...]]
W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"


def addresses(read: Reader, content: str | bytes, name: str = "a") -> list[str]:
    """Fragment and directive of each passage of a file, as they are written."""
    raw = content.encode() if isinstance(content, str) else content
    return [
        with_fragment("", draft.fragment, draft.directive).removeprefix("#")
        for document in read(raw, uri="file:///a", name=name)
        for draft in chunk(document)
    ]


def english(topic: str) -> str:
    return " ".join(
        f"The {topic} of number {n} is kept by the {n * 7 % 11}th office, which answers." for n in range(9)
    )


def chinese(topic: str) -> str:
    return (
        "".join(f"{topic}第{n}号由第{n * 7 % 11}办公室保管，并在{n + 2}日内答复申请人；" for n in range(14)) + "完。"
    )


def page() -> str:
    sections = "".join(
        f"<section id='topic-{n}'><h2>Topic {n}<a class='headerlink' href='#topic-{n}'>¶</a></h2>"
        f"<p>{english(f'first file {n}')}</p><p>{english(f'second file {n}')}</p><p>{english(f'third file {n}')}</p>"
        f"<h3><a name='旧名 {n}'></a>第{n}节 保管</h3><p>{chinese(f'档案{n}')}</p><p>{chinese(f'卷宗{n}')}</p></section>"
        for n in range(1, 5)
    )
    return (
        "<!doctype html><html><head><meta charset=utf-8><title>Files</title></head><body>"
        "<div class=related role=navigation><a href=x>next</a> Topic 3</div><h1>Files</h1><p>What is kept here.</p>"
        f"{sections}<div id='topic-2'>{english('copy')}</div></body></html>"
    )


def guide() -> str:
    parts = [
        f"## 2.{n % 3} Keeping & *finding* `files`\n\n{english(f'drawer {n}')}\n\n{english(f'shelf {n}')}\n\n"
        f"## 第{'一二三四五六七'[n]}章 借阅\n\n第{n + 1}条 {chinese(f'图书{n}')}\n\n{chinese(f'期刊{n}')}\n"
        for n in range(4)
    ]
    return "# Guide\n\nHow it is done.\n\n> ## A heading in a quote\n\n" + "\n".join(parts)


def plain() -> str:
    articles = [f"第{n}条　{chinese(f'印章{n}')}\n" for n in ("一", "二", "三", "四", "五")]
    return "印章管理办法\n\n" + "\n".join([*articles, *(english(f"seal {n}") + "\n" for n in range(8))])


def print_out() -> bytes:
    def lines(at: int) -> list[Any]:
        return [
            (60, 780 - 16 * n, f"Page {at} line {n} tells how room {at * 41 + n} is let to a guest")
            for n in range(40)
        ]

    return make_pdf([lines(at) for at in range(1, 6)])


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> Any:
    folder = Path(__file__).resolve().parents[2] / "bench"
    monkeypatch.syspath_prepend(str(folder))
    if "search" in sys.modules and not getattr(sys.modules["search"], "__file__", "").startswith(str(folder)):
        monkeypatch.delitem(sys.modules, "search")
    found = importlib.util.spec_from_file_location("bench_addresses", folder / "addresses.py")
    assert found is not None
    assert found.loader is not None
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


@pytest.mark.slow
@pytest.mark.browser
@pytest.mark.integration
def test_addresses_of_a_mixed_library_open_where_their_passages_begin(tmp_path: Path, bench: Any) -> None:
    """Of HTML, Markdown, text and PDF, in both languages, every address opens at its passage, and no two are the same."""
    browser_at = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if browser_at is None:
        pytest.skip("Chromium is not on this machine")
    from playwright.sync_api import sync_playwright

    docs = tmp_path / "文 档"
    docs.mkdir()
    for name, text in (("files.html", page()), ("借阅 guide.md", guide()), ("印章.txt", plain())):
        (docs / name).write_text(text, "utf-8")
    (docs / "rooms.pdf").write_bytes(print_out())
    missed: list[str] = []
    with wenyuan.open(tmp_path / "library", create=True, encoder={"kind": "hashing"}) as library:
        library.add(Source(source_id="docs", path=str(docs)))
        held = list(bench.passages(library))
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=browser_at, args=["--no-sandbox"])
        counts = bench.count(held, browser, tmp_path, missed)
        browser.close()
    assert len({passage.uri for passage in held}) == len(held)
    assert {kind: told["passages"] >= 10 for kind, told in counts.items()} == dict.fromkeys(
        ("HTML", "Markdown", "text", "PDF"), True
    )
    assert missed == []


def test_the_nearest_id_above_is_the_address_as_the_file_has_it() -> None:
    """Ids and link names count, what comes of the heading's words does not; further down the first words are told."""
    text = (
        f"<h2 id='_options'>OPTIONS</h2><p>{english('first')}</p><p>{english('second')}</p>"
        "<h2><a name='§ 3'></a>Notes</h2><p>Short.</p>"
    )
    first, *rest, last = addresses(read_html, text)
    assert first == "_options"
    assert all(address.startswith("_options:~:text=The%20second") for address in rest)
    assert last == "%C2%A7%203" or unquote(last) == "§ 3"


def test_an_id_that_stands_twice_or_is_not_seen_is_no_address() -> None:
    """A browser goes to the first of an id; one in what the page hides or in its navigation leads nowhere."""
    text = "<h2 id=a>One</h2><p>Text.</p><nav id=b>x</nav><h2 id=a>Two</h2><p>Text.</p>"
    assert addresses(read_html, text) == ["a", "a:~:part=2"]
    assert addresses(read_html, "<p id=x>One.</p><div hidden id=y>z</div><h2>Two</h2><p>Text.</p>") == [
        "x",
        "x:~:part=2",
    ]


def test_items_of_a_long_list_have_addresses_of_their_own() -> None:
    """Where a list, a table or a listing is cut, the part begins at the id in it."""
    items = "".join(f"<li id='item-{n}'>{english(f'thing {n}')}</li>" for n in range(6))
    assert addresses(read_html, f"<ul>{items}</ul>")[1].startswith("item-")
    rows = "".join(f"<tr><td id='cell-{n}'>{english(f'row {n}')}</td></tr>" for n in range(6))
    assert addresses(read_html, f"<table>{rows}</table>")[1].startswith("cell-")


def test_words_further_down_are_told_where_the_first_ones_are_common() -> None:
    """A listing that begins like others is opened at the first of its words that no earlier place has."""
    steps = "\n".join(f"run step {n} of all steps" for n in range(9))
    text = "".join(f"{english(f'part {n}')}\n\n{steps}\nthen the part of number {n} is done\n\n" for n in range(3))
    found = addresses(read_text, text, "a.txt")
    assert all(":~:text=" in address for address in found)


def test_a_space_that_does_not_break_is_a_space() -> None:
    """Words that a table of contents has with plain spaces are no words of their own where one of them is firm."""
    contents = "Contents\n\n6.6. Other clients of the network\n\n" + english("first") + "\n\n"
    found = addresses(read_text, contents + "6.6.\xa0Other clients of the network\n\n" + english("last"), "a.txt")
    assert "text=6.6.%C2%A0Other" not in "".join(found)


def test_words_that_an_earlier_place_has_are_no_address() -> None:
    """A browser would stop at the first place that says so: then the anchor stands with the number of the part."""
    once = english("same")
    found = addresses(read_html, f"<h2 id=a>A</h2><p>{once}</p><p>{once}</p><p>{once}</p><p>{once}</p>")
    assert found[0] == "a"
    assert found[1:] == [f"a:~:part={n}" for n in range(2, len(found) + 1)]


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("# Über uns & Co.\n\nx\n\n# Über uns & Co.\n\ny", ["über-uns--co", "über-uns--co-1"]),
        ("# 第一章　总则\n\nx\n\n## `a_b` *c* [d](e)\n\ny", ["第一章　总则".replace("\u3000", "-"), "a_b-c-d"]),
        ("# A\n\nx\n\n# A {#own .c}\n\ny\n\n# A\n\nz", ["a", "own", "a-1"]),
        ("# A\n\nx\n\n> # A\n\n# A\n\ny", ["a", "a-2"]),
        ("1.2 Scope\n\nText.", ["1.2 Scope"]),
    ],
    ids=["again", "markup", "given", "quoted", "unmarked"],
)
def test_anchors_of_markdown_are_those_of_a_rendered_page(source: str, found: list[str]) -> None:
    """As GitHub makes and numbers them, of headings alone, those in quotes counted; one that the author gives is kept."""
    told = [unquote(address) for address in addresses(read_markdown, source)]
    if not source.startswith("#"):
        assert "1.2-scope" not in told[0]
        assert not parted(f"file:///a#{told[0]}")[1]
    else:
        assert [address.partition(":~:")[0] for address in told] == found


def test_a_pdf_is_opened_at_its_page_whatever_the_passage_is() -> None:
    """A clause too; further passages of a page say which they are behind the page."""
    pages = [
        [
            (60, 780, "3.1 General"),
            *((60, 740 - 15 * n, f"The guest of room {n} pays at noon on day {n}.") for n in range(45)),
        ],
        [(60, 780, "3.2 Payment"), (60, 740, "All is paid on leaving.")],
    ]
    found = addresses(read_pdf, make_pdf(pages), "a.pdf")
    assert found[0] == "page=1"
    assert found[-1] == "page=2"
    assert found[1:-1] == [f"page=1&part={n}" for n in range(2, len(found))]


def test_a_paragraph_that_turns_the_page_is_opened_where_its_part_begins() -> None:
    """The second half of a long paragraph is on the page where it is printed."""
    line = "which the office keeps for the guest of the room until the end of the year and"
    pages = [[(60, 780 - 15 * n, f"room {at}{n:02} {line}") for n in range(46)] for at in (1, 2)]
    document = read_pdf(make_pdf(pages), uri="file:///a.pdf", name="a.pdf")[0]
    begins = [document.text.find("room 2"), *(d.start for d in chunk(document))]
    assert len(document.blocks) == 1
    for draft in chunk(document):
        number = 1 + (draft.start >= begins[0])
        assert (draft.fragment.partition("&")[0], draft.page) == (f"page={number}", number)


def test_rows_are_opened_as_their_programs_open_them() -> None:
    """A workbook at the row's first cell, a text table by RFC 7111."""
    book = openpyxl.Workbook()
    sheet = book.active
    sheet.title = "Fees 2024's"
    for row in (("Question", "Answer"), ("What is it?", "A fee."), ("Who pays?", "The guest.")):
        sheet.append(row)
    stream = io.BytesIO()
    book.save(stream)
    assert [unquote(a) for a in addresses(read_xlsx, stream.getvalue(), "a.xlsx")] == [
        "'Fees 2024''s'!A2", "'Fees 2024''s'!A3"
    ]  # fmt: skip
    assert addresses(read_csv, "问题,答案\n何时？,今天。\n何处？,此处。\n", "a.csv") == ["row=2", "row=3"]


def test_a_bookmark_opens_a_word_document() -> None:
    """Where Word has a name for a heading it is the address; elsewhere the heading or clause is."""
    package = docx.Document()
    heading = package.add_heading("Scope", 1)
    heading._p.append(parse_xml(f'<w:bookmarkStart xmlns:w="{W}" w:id="1" w:name="_Toc77"/>'))
    package.add_paragraph("All guests.")
    package.add_heading("Fees", 1)
    package.add_paragraph("第一条 每日一百元。")
    stream = io.BytesIO()
    package.save(stream)
    assert addresses(read_docx, stream.getvalue(), "a.docx") == ["_Toc77", "第一条"]


def test_lines_of_a_text_are_addresses_that_a_browser_finds_too() -> None:
    """The line for editors and code hosts, the first words for a browser."""
    assert addresses(
        read_text, "办法\n\n第一条　为了管理，制定本办法。\n\n第二条　本办法自公布之日起施行。\n", "a.txt"
    )[1:] == ["L5:~:text=第二条"]


def test_addresses_are_read_however_they_are_escaped() -> None:
    """A browser's copy of an address, all in escapes, is the address that is kept; what it says of the part is read."""
    kept = "file:///a/制度.md#第一章:~:text=第二条%20本办法"
    assert (
        as_kept(
            "file:///a/%E5%88%B6%E5%BA%A6.md#%E7%AC%AC%E4%B8%80%E7%AB%A0:~:text=%E7%AC%AC%E4%BA%8C%E6%9D%A1%20本办法"
        )
        == kept
    )
    assert [part_of(f"file:///a.pdf#{told}") for told in ("page=3&part=2", "x:~:part=4", "x:~:text=part")] == [
        2,
        4,
        None,
    ]


def test_an_anchor_made_of_a_heading_does_not_tell_what_was_taken_out_of_it() -> None:
    """A value that redaction found by its cue is not left in the anchor, where the cue is gone."""
    source = b"# A\n\nText.\n\n## SSN: 219-09-9999\n\nMore text.\n"
    (document,) = read_markdown(source, uri="file:///a.md", name="a.md")
    clean, _ = Redaction(policy_for("internal")).document(document)
    assert "219" in str(document.blocks)
    assert "219" not in str(clean.blocks)
    assert clean.blocks[0].anchor == "a"


GUIDE = """# Leave

## Carry-over

第三条　未休的年假可以结转五天。

{long}

## Sick leave

Call your manager before nine.
"""


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Library]:
    """A library of a guide, a table and a PDF; only read by tests."""
    folder = tmp_path_factory.mktemp("files")
    docs = folder / "docs"
    docs.mkdir()
    (docs / "leave.md").write_text(GUIDE.format(long="\n\n".join(chinese(f"休假{n}") for n in range(4))), "utf-8")
    (docs / "faq.csv").write_text("问题,答案\n何时？,今天。\n何处？,此处。\n", "utf-8")
    (docs / "rooms.pdf").write_bytes(print_out())
    with wenyuan.open(folder / "library", create=True, encoder={"kind": "hashing"}) as library:
        library.add(Source(source_id="docs", path=str(docs)))
        yield library


@pytest.mark.parametrize(
    ("address", "meant"),
    [
        ("leave.md#第三条", "第三条"), ("leave.md#carry-over", "Carry-over"), ("leave.md#carry-over-part-2", "休假"),
        ("leave.md#Sick leave", "Sick leave"), ("rooms.pdf#page=2", "Page 2"), ("rooms.pdf#page=2-part-2", "Page 2"),
        ("faq.csv#faq!3", "何处"), ("leave.md#sick-leave", "Sick leave"),
    ],
)  # fmt: skip
def test_addresses_of_golden_files_lead_where_they_led(files: Library, address: str, meant: str) -> None:
    """A clause, a heading, a cell, and what addresses were called before they held anchors alone."""
    scope = Scope(sources=frozenset({"docs"}), as_of=date(2026, 1, 1))
    holdings = load_holdings(files.catalog, scope, files.catalog.counts()["passages"], None)
    pairs = [QuestionAddress(question="q", answer=address), QuestionAddress(question="p", answer="leave.md#nowhere")]
    found = resolve(pairs, files.catalog, holdings)
    (target,) = found.lessons[0].targets
    texts = [p.text for p in files.catalog.passages(holdings.ids[target.rows].tolist()).values()]
    assert [pair.answer for pair in found.unknown] == ["leave.md#nowhere"]
    assert texts
    assert any(meant in text for text in texts)


def test_a_question_of_a_table_is_called_by_its_question(tmp_path: Path) -> None:
    """Not by its sheet; rows without a question are called by it."""
    (tmp_path / "faq.csv").write_text("问题,答案\n年假可以结转几天？,五天。\n何处？,此处。\n", "utf-8")
    (tmp_path / "rooms.csv").write_text("room,guest\n101,Anna\n102,Bo\n", "utf-8")
    with wenyuan.open(tmp_path / "library", create=True, encoder={"kind": "hashing"}) as library:
        for name in ("faq", "rooms"):
            library.add(Source(source_id=name, path=str(tmp_path / f"{name}.csv")))
        catalog = library.catalog
        rows = [c.row.passage_id for c in catalog.changes(0, catalog.seq(), vectors=False) if c.row]
        titles = [passage.title for passage in catalog.passages(rows).values()]
    assert sorted(titles) == sorted(["年假可以结转几天？", "何处？", "rooms", "rooms"])
