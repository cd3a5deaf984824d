"""Made documents whose text is known: each format, from easy to hard, in Chinese and English.

What stands in a document is a list of units in the order of reading: a text, or the rows of a table in which a merged cell
stands in each cell that it covers.
"""

from __future__ import annotations

import csv
import io
import random
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from email.message import EmailMessage
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests" / "support"))

import docx
from docx.oxml import parse_xml
from docx.oxml.ns import nsdecls
from openpyxl import Workbook

from package_files import opendocument, paragraph, presentation, shape, slide, zipped
from pdf_files import Line, make_pdf, rules
from word_files import saved

Rows = list[list[str]]
Unit = str | Rows

_WIDTHS = {**dict.fromkeys("ijl'|", 222), **dict.fromkeys("ftI. ,:;!/[]", 278), **dict.fromkeys("r()-", 333),
           **dict.fromkeys("csvxyzkJ", 500), **dict.fromkeys("mM", 833), "w": 722, "W": 944}  # fmt: skip


@dataclass(frozen=True)
class Made:
    """A made document.

    Attributes:
        kind: Of format.
        hard: What is hard about it.
        units: What it says, in the order of reading.
        apart: What stands in it that is no part of its text: running heads.
    """

    kind: str
    hard: str
    suffix: str
    content: bytes
    units: list[Unit]
    apart: tuple[str, ...] = ()


class Words:
    """Sentences that are all different, from a seed."""

    def __init__(self, seed: int) -> None:
        self._draw = random.Random(seed)
        self._count = 0

    def english(self) -> str:
        pick = self._draw.choice
        self._count += 1
        return (
            f"The {pick('careful busy former regional senior'.split())} {pick('clerk auditor keeper buyer guest'.split())} "
            f"{pick('records checks returns orders reports'.split())} {self._draw.randint(100, 999)} "
            f"{pick('parcels invoices keys rooms samples'.split())} to the {pick('northern central coastal upper'.split())} "
            f"{pick('office depot archive station'.split())} before noon on day {self._count}."
        )

    def chinese(self) -> str:
        pick = self._draw.choice
        self._count += 1
        return (
            f"{pick(['承办', '主管', '监理', '审计', '档案'])}单位应当在收到第{self._count}号通知后{self._draw.randint(10, 99)}日内，"
            f"向{pick(['上级', '登记', '财政', '住房'])}机关提交{pick(['验收', '核算', '检测', '移交'])}报告，"
            f"并说明{pick(['原因', '依据', '经过', '数额'])}。"
        )

    def text(self, sentences: int, *, chinese: bool) -> str:
        return ("" if chinese else " ").join(self.chinese() if chinese else self.english() for _ in range(sentences))


def width(text: str, size: float) -> float:
    return sum(_WIDTHS.get(c, 667 if c.isupper() else 556) if c < "\x7f" else 1000 for c in text) * size / 1000


def wrapped(text: str, room: float, *, chinese: bool, size: int = 10, hyphens: bool = False) -> Iterator[str]:
    """The lines of a text in a column; long words are broken where that is asked for."""
    tokens = list(text) if chinese else text.split(" ")
    line = ""
    for token in tokens:
        between = "" if chinese or not line else " "
        if chinese and token in "，。、；" and line:
            line += token  # it hangs over the edge
            continue
        if (size * len(line + token) if chinese else width(line + between + token, size)) > room and line:
            half = len(token) // 2
            if hyphens and token.isalpha() and len(token) > 7 and width(f"{line} {token[:half]}-", size) <= room:
                yield f"{line} {token[:half]}-"
                line = token[half:]
                continue
            yield line
            line, between = "", ""
        line += between + token
    if line:
        yield line


class Page:
    """A page that is filled from the top."""

    def __init__(self, top: int = 770) -> None:
        self.lines: list[Line] = []
        self.drawn = b""
        self.y = top

    def text(self, text: str, x: int, room: float, *, chinese: bool, size: int = 10, hyphens: bool = False) -> None:
        for line in wrapped(text, room, chinese=chinese, size=size, hyphens=hyphens):
            self.lines.append((x, self.y, escaped(line, chinese), size))
            self.y -= round(1.4 * size)
        self.y -= size

    def ruled(self, rows: Rows, x: int, columns: Sequence[int], *, chinese: bool, drawn: bool = True) -> None:
        """A table whose cells that say the same as their left or upper neighbour are merged with it, if it is ruled."""
        height = 20
        top = self.y + 14
        edges = [x, *(x + sum(columns[: n + 1]) for n in range(len(columns)))]
        strokes = [(edges[0], top - height * n, edges[-1], top - height * n) for n in (0, len(rows))]
        strokes += [(edge, top, edge, top - height * len(rows)) for edge in (edges[0], edges[-1])]
        for r, row in enumerate(rows):
            for c, cell in enumerate(row):
                left = c > 0 and row[c - 1] == cell
                above = r > 0 and rows[r - 1][c] == cell
                if c and not left:
                    strokes.append((edges[c], top - height * r, edges[c], top - height * (r + 1)))
                if r and not above:
                    strokes.append((edges[c], top - height * r, edges[c + 1], top - height * r))
                if not left and not above and cell:
                    self.lines.append((edges[c] + 4, int(top - height * r - 14), escaped(cell, chinese), 10))
        if drawn:
            self.drawn += b" " + rules(*strokes)
        self.y -= height * len(rows) + 10


def escaped(text: str, chinese: bool) -> str:
    return text if chinese else text.replace("\\", r"\\").replace("(", r"\(").replace(")", r"\)")


def pdf(pages: Sequence[Page], *, chinese: bool, turned: int = 0) -> bytes:
    content = make_pdf([page.lines for page in pages], chinese=chinese, drawn=[page.drawn for page in pages])
    return content.replace(b"/Type /Page ", b"/Type /Page /Rotate %d " % turned) if turned else content


def plain(words: Words, *, chinese: bool, turned: int = 0) -> Made:
    page, texts = Page(), [words.text(4, chinese=chinese) for _ in range(5)]
    for text in texts:
        page.text(text, 60, 470, chinese=chinese)
    hard = f"page turned by {turned}°" if turned else "one column"
    return Made("PDF", hard, ".pdf", pdf([page], chinese=chinese, turned=turned), list(texts))


def book(words: Words, *, chinese: bool) -> Made:
    """Four pages with running heads and numbers, paragraphs that go on over the page, hyphens, footnotes."""
    head = "资料汇编（内部使用）" if chinese else "ACME Handbook of Rooms"
    text = [words.text(12, chinese=chinese) for _ in range(4)]
    notes = [words.text(1, chinese=chinese) for _ in range(4)]
    lines = [list(wrapped(each, 470, chinese=chinese, hyphens=True)) for each in text]
    owners = [number for number, each in enumerate(lines) for _ in [*each, ""]][:-1]
    flat = [line for each in lines for line in [*each, ""]][:-1]
    per_page = -(-len(flat) // 4)
    pages = []
    for number in range(4):
        page = Page()
        page.lines += [(200, 810, head, 9), (280, 30, f"- {number + 1} -", 9)]
        for line in flat[number * per_page : (number + 1) * per_page]:
            if line:
                page.lines.append((60, page.y, escaped(line, chinese), 10))
            page.y -= 14
        page.lines.append((60, 70, f"{number + 1} " + escaped(notes[number], chinese), 8))
        pages.append(page)
    units: list[Unit] = []
    ends = [owners[min((number + 1) * per_page, len(owners)) - 1] for number in range(4)]
    for number, each in enumerate(text):  # notes come after the paragraph with which their page ends
        units += [each, *(f"{at + 1} {note}" for at, note in enumerate(notes) if ends[at] == number)]
    apart = (head, *(f"- {number} -" for number in range(1, 5)))
    return Made("PDF", "running heads, footnotes, hyphens", ".pdf", pdf(pages, chinese=chinese), units, apart)


def columns(words: Words, count: int, *, chinese: bool, by_rows: bool, framed: bool = False) -> Made:
    """Columns, in the file one after the other or row by row; `framed`: between a title and a table over all of them."""
    room = 480 // count - 20
    texts = [words.text(9 // count + 2, chinese=chinese) for _ in range(count)]
    page = Page()
    units: list[Unit] = []
    if framed:
        title = words.text(2, chinese=chinese)
        page.text(title, 60, 470, chinese=chinese)
        units.append(title)
    top = page.y
    cut = [[(60 + at * (480 // count), top - 14 * n, escaped(line, chinese), 10)
            for n, line in enumerate(wrapped(text, room, chinese=chinese))] for at, text in enumerate(texts)]  # fmt: skip
    rows = max(map(len, cut))
    if by_rows:
        page.lines += [column[n] for n in range(rows) for column in cut if n < len(column)]
    else:
        page.lines += [line for column in cut for line in column]
    units += texts
    if framed:
        page.y = top - 14 * rows - 30
        table = figures(words, chinese=chinese)
        page.ruled(table, 60, [120, 120, 120, 110], chinese=chinese)
        units.append(table)
    hard = f"{count} columns" + (", written row by row" if by_rows else "") + (", title and table over both" * framed)
    return Made("PDF", hard, ".pdf", pdf([page], chinese=chinese), units)


def figures(words: Words, *, chinese: bool, rows: int = 5, merged: bool = False) -> Rows:
    """A table with a header; `merged`: a cell over two columns, and one over two rows."""
    draw = random.Random(rows * 7 + merged + 31 * chinese)
    names = ["法务部", "行政部", "采购部", "工程部", "档案室", "质检科", "后勤科", "安保科", "信息中心", "培训中心",
             "财务部", "市场部", "客服部", "研发部", "物业部", "人事部", "宣传部", "法规处", "监察室", "工会"] if chinese else [
             "Legal", "Office", "Buying", "Works", "Archive", "Quality", "Houses", "Safety", "Systems", "Training",
             "Finance", "Sales", "Service", "Research", "Estates", "Staff", "Press", "Rules", "Audit", "Union"]  # fmt: skip
    head = ["部门", "2022年", "2023年", "负责人"] if chinese else ["Unit", "In 2022", "In 2023", "Head"]
    heads = ["张三", "李四", "王五", "赵六"] if chinese else ["Ann", "Ben", "Cy", "Dora"]
    found = [head] + [
        [names[n % len(names)], str(draw.randint(100, 9999)), f"{draw.randint(1, 99)}.{draw.randint(0, 9)}",
         heads[n % 4]] for n in range(rows)
    ]  # fmt: skip
    if merged:
        over = "人数" if chinese else "Guests"
        found = [[head[0], over, over, head[3]], [head[0], *head[1:3], head[3]], *found[1:]]
        found[3][3] = found[2][3]
    return found


def table(
    words: Words, hard: str, *, chinese: bool, merged: bool = False, drawn: bool = True, pages: int = 1
) -> Made:
    before, after = words.text(2, chinese=chinese), words.text(2, chinese=chinese)
    rows = figures(words, chinese=chinese, merged=merged, rows=5 * pages + 10 * (pages > 1))
    made = [Page() for _ in range(pages)]
    made[0].text(before, 60, 470, chinese=chinese)
    if pages > 1:
        made[0].y = 200
        made[0].ruled(rows[:8], 60, [120, 120, 120, 110], chinese=chinese)
        made[1].ruled(rows[8:], 60, [120, 120, 120, 110], chinese=chinese)
        rows = rows[:8] + rows[:1] + rows[8:]
    else:
        made[0].ruled(rows, 60, [120, 120, 120, 110], chinese=chinese, drawn=drawn)
    made[-1].text(after, 60, 470, chinese=chinese)
    return Made("PDF", hard, ".pdf", pdf(made, chinese=chinese), [before, rows, after])


def word(words: Words) -> Iterator[Made]:
    package = docx.Document()
    texts = [words.text(3, chinese=True) for _ in range(5)]
    for text in texts:
        package.add_paragraph(text)
    yield Made("DOCX", "paragraphs", ".docx", saved(package), list(texts))

    package = docx.Document()
    numbering = package.part.numbering_part.element
    for child in list(numbering):
        numbering.remove(child)
    levels = "".join(
        f'<w:lvl w:ilvl="{level}"><w:numFmt w:val="chineseCountingThousand"/>{restart}<w:lvlText w:val="{pattern}"/></w:lvl>'
        for level, restart, pattern in (
            (0, "", "第%1章"),
            (1, '<w:lvlRestart w:val="0"/>', "第%2条"),
            (2, "", "（%3）"),
        )
    )
    for xml in (
        f'<w:abstractNum {nsdecls("w")} w:abstractNumId="1">{levels}</w:abstractNum>',
        f'<w:num {nsdecls("w")} w:numId="1"><w:abstractNumId w:val="1"/></w:num>',
    ):
        numbering.append(parse_xml(xml))
    units: list[Unit] = []
    for level, mark in (
        (0, "第一章"),
        (1, "第一条"),
        (2, "（一）"),
        (2, "（二）"),
        (0, "第二章"),
        (1, "第二条"),
        (2, "（一）"),
    ):
        text = words.text(1, chinese=True)
        numbers = f'<w:numPr {nsdecls("w")}><w:ilvl w:val="{level}"/><w:numId w:val="1"/></w:numPr>'
        package.add_paragraph(text)._p.get_or_add_pPr().append(parse_xml(numbers))
        units.append(mark + text)
    yield Made("DOCX", "automatic numbers", ".docx", saved(package), units)

    package = docx.Document()
    package.sections[0].header.paragraphs[0].text = "ACME Handbook"
    before, rows = words.text(2, chinese=False), figures(words, chinese=False, merged=True)
    package.add_paragraph(before)
    made = package.add_table(len(rows), 4)
    for r, row in enumerate(rows):
        for c, cell in enumerate(row):
            if c and row[c - 1] == cell:
                made.cell(r, c - 1).merge(made.cell(r, c))
            elif r and rows[r - 1][c] == cell:
                made.cell(r - 1, c).merge(made.cell(r, c))
            else:
                made.cell(r, c).text = cell
    yield Made("DOCX", "merged cells, header", ".docx", saved(package), [before, rows], ("ACME Handbook",))


def _rows_of_html(rows: Rows) -> str:
    return "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in rows)


def others(words: Words) -> Iterator[Made]:
    texts = [words.text(3, chinese=True) for _ in range(5)]
    inside = "".join(f"<p>{text}</p>" for text in texts)
    page = f"<html><body><nav><a href='/'>首页</a></nav><main>{inside}</main></body></html>"
    yield Made("HTML", "navigation", ".html", page.encode(), list(texts), ("首页",))
    before, rows = words.text(2, chinese=False), figures(words, chinese=False)
    page = f"<html><body><p>{before}</p><table>{_rows_of_html(rows)}</table></body></html>"
    yield Made("HTML", "table", ".html", page.encode(), [before, rows])

    rows = figures(words, chinese=True, rows=12)
    book, buffer = Workbook(), io.BytesIO()
    for row in rows:
        book.active.append(row)
    book.save(buffer)
    yield Made("XLSX", "table", ".xlsx", buffer.getvalue(), [rows])
    rows = figures(words, chinese=False, rows=12)
    lines = io.StringIO()
    csv.writer(lines).writerows(rows)
    yield Made("CSV", "table", ".csv", lines.getvalue().encode(), [rows])

    texts = [words.text(3, chinese=True) for _ in range(5)]
    yield Made("text", "GB18030", ".txt", "\n\n".join(texts).encode("gb18030"), list(texts))
    texts, rows = [words.text(3, chinese=False) for _ in range(3)], figures(words, chinese=False)
    lined = [f"| {' | '.join(row)} |" for row in rows]
    lined.insert(1, "|---|---|---|---|")
    yield Made("Markdown", "table", ".md", "\n\n".join([*texts, "\n".join(lined)]).encode(), [*texts, rows])

    titles, points = (
        ["退费规则", "Refund desk"],
        [[words.text(1, chinese=n == 0) for _ in range(3)] for n in range(2)],
    )
    slides = [
        slide(shape(paragraph(title), place="title"), shape(*map(paragraph, listed), place=""))
        for title, listed in zip(titles, points, strict=True)
    ]
    units: list[Unit] = [unit for title, listed in zip(titles, points, strict=True) for unit in (title, *listed)]
    yield Made("PPTX", "lists", ".pptx", presentation(*slides), units)

    texts = [words.text(3, chinese=True) for _ in range(4)]
    rows = figures(words, chinese=True)
    cells = "".join(
        "<table:table-row>"
        + "".join(f"<table:table-cell><text:p>{cell}</text:p></table:table-cell>" for cell in row)
        + "</table:table-row>"
        for row in rows
    )
    inside = "".join(f"<text:p>{text}</text:p>" for text in texts)
    body = f"{inside}<table:table>{cells}</table:table>"
    yield Made("ODT", "table", ".odt", opendocument(body), [*texts, rows])

    texts = [words.text(3, chinese=True) for _ in range(5)]
    spelt = "".join(
        "\\par " + "".join(c if c < "\x7f" else f"\\u{ord(c) - 65536 * (ord(c) > 32767)}?" for c in text)
        for text in texts
    )
    yield Made("RTF", "Unicode", ".rtf", ("{\\rtf1\\ansi\\uc1 " + spelt[5:] + "}").encode("ascii"), list(texts))

    texts = [words.text(3, chinese=True) for _ in range(4)]
    chapters = {
        f"OEBPS/c{n}.xhtml": f'<html xmlns="http://www.w3.org/1999/xhtml"><body><p>{text}</p></body></html>'
        for n, text in enumerate(texts)
    }
    items = "".join(f'<item id="c{n}" href="c{n}.xhtml" media-type="application/xhtml+xml"/>' for n in range(4))
    spine = "".join(f'<itemref idref="c{n}"/>' for n in (0, 1, 2, 3))
    package = (
        '<package xmlns="http://www.idpf.org/2007/opf" version="3.0" unique-identifier="i"><metadata '
        'xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:identifier id="i">x</dc:identifier><dc:title>书</dc:title>'
        f"<dc:language>zh</dc:language></metadata><manifest>{items}</manifest><spine>{spine}</spine></package>"
    )
    container = (
        '<container version="1.0" xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles><rootfile '
        'full-path="OEBPS/x.opf" media-type="application/oebps-package+xml"/></rootfiles></container>'
    )
    entries = {"mimetype": "application/epub+zip", "META-INF/container.xml": container, "OEBPS/x.opf": package}
    yield Made("EPUB", "chapters", ".epub", zipped({**entries, **chapters}), list(texts))


def mail(words: Words) -> Made:
    text = "\n\n".join(words.text(3, chinese=True) for _ in range(3))
    message = EmailMessage()
    message["From"], message["To"], message["Subject"] = "a@example.org", "b@example.org", "退费"
    message.set_content(text)
    units: list[Unit] = ["退费", "From: a@example.org To: b@example.org", *text.split("\n\n")]
    return Made("EML", "base64", ".eml", message.as_bytes(), units)


def all_made() -> list[Made]:
    """Every made document, the same at each call."""
    words = Words(27)
    found = []
    for chinese in (False, True):
        found += [
            plain(words, chinese=chinese),
            plain(words, chinese=chinese, turned=90),
            book(words, chinese=chinese),
            columns(words, 2, chinese=chinese, by_rows=False),
            columns(words, 2, chinese=chinese, by_rows=True),
            columns(words, 2, chinese=chinese, by_rows=True, framed=True),
            columns(words, 3, chinese=chinese, by_rows=True),
            table(words, "ruled table, merged cells", chinese=chinese, merged=True),
            table(words, "table without rules", chinese=chinese, drawn=False),
            table(words, "ruled table over two pages", chinese=chinese, pages=2),
        ]
    return [*found, *word(words), *others(words), mail(words)]


def sentences(text: str) -> list[str]:
    return [each for each in re.split(r"(?<=[.。])\s*", text) if each]
