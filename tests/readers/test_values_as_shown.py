"""A value stays what the page shows: powers, struck text, formats of cells, symbols, inserted content."""

import io
import zipfile

import pytest

from pdf_files import make_pdf
from wenyuan.readers import formulas, notation, number_formats, symbols
from wenyuan.readers.delimited import read_csv
from wenyuan.readers.docx import read_docx
from wenyuan.readers.epub import read_epub
from wenyuan.readers.html import read_html
from wenyuan.readers.jsonl import read_jsonl
from wenyuan.readers.mail import unpack_eml
from wenyuan.readers.markdown import read_markdown
from wenyuan.readers.opendocument import read_odt
from wenyuan.readers.pdf.reader import read_pdf
from wenyuan.readers.rtf import read_rtf
from wenyuan.readers.workbook import read_xlsx

UP, DOWN, OUT = notation.raised, notation.lowered, notation.struck


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("10" + UP("6") + " litres", "10^6 litres"), ("10" + UP("-") + UP("3"), "10^-3"), ("H" + DOWN("2") + "O", "H₂O"),
        ("3" + UP("1") + "/" + DOWN("2") + " cups", "3 1/2 cups"), (UP("235") + "U", "²³⁵U"), ("V" + DOWN("max"), "V_max"),
        ("x" + UP("n+1"), "x^(n+1)"), ("1" + UP("st"), "1st"), ("m" + UP("2"), "m²"), ("log" + DOWN("2") + "8", "log_2 8"),
        ("old " + OUT("100") + OUT(" yuan") + " 80", "old ~~100 yuan~~ 80"), (OUT("10" + UP("6")), "~~10^6~~"),
        ("word" + UP("[1]"), "word[1]"), ("a" + notation.END + notation.UP, "a"), ("2" + UP("31") + "-1", "2^31-1"),
    ],
)  # fmt: skip
def test_raised_lowered_and_struck_text_keeps_its_value(text: str, seen: str) -> None:
    """A power never reads as another number, and what is struck is marked."""
    assert notation.plain(text) == seen


@pytest.mark.parametrize(
    ("value", "code", "seen"),
    [
        (0.125, "0.0%", "12.5%"), (1234, "000000", "001234"), (26.5 / 24, "[h]:mm", "26:30"), (45365, "yyyy-mm-dd", "2024-03-14"),
        (45365, 'yyyy"年"m"月"d"日"', "2024年3月14日"), (5, '0.00" kg"', "5.00 kg"), (-3.5, "0.0;(0.0)", "(3.5)"),
        (0, '0;-0;"none"', "none"), (1234567.891, "#,##0.00", "1,234,567.89"), (0.5, "# ?/?", "1/2"), (2.75, "# ?/?", "2 3/4"),
        (1234.5, "0.00E+00", "1.23E+03"), (-2, '"±"0', "-±2"), (12_500_000, '0.0,,"M"', "12.5M"), (3, "", "3"),
        (7, '[<5]"low";[>=5]"high"', "high"), (0.5, "h:mm AM/PM", "12:00 PM"), (5, ";;;", ""), (45, "[$€-407] 0.00", "€ 45.00"),
        (0.1 + 0.2, "General", "0.3"), (5551234, "000-0000", "555-1234"), (-5, "0", "-5"), (0.004, "0.00", "0.00"),
    ],
)  # fmt: skip
def test_a_number_is_shown_as_its_cell_shows_it(value: float, code: str, seen: str) -> None:
    """Formats of cells: percent, leading zeros, durations, days, units, sections and conditions."""
    assert number_formats.format_number(value, code) == seen


def test_letters_of_symbol_fonts_are_what_they_show() -> None:
    """Symbol and Wingdings have letters of their own; an unknown one is not guessed."""
    assert [symbols.symbol_text("Symbol", char) for char in "\uf0b3\uf06d"] == ["≥", "μ"]
    assert [symbols.symbol_text("Wingdings", char) for char in "\uf0fe\uf0a8"] == ["☑", "☐"]
    assert symbols.symbol_text("Wingdings", "\uf021") is None


def text_of(read, content: bytes, name: str) -> str:
    return "\n".join(document.text for document in read(content, uri="file:///x/" + name, name=name))


@pytest.mark.parametrize(
    ("read", "content", "name"),
    [
        (read_html, b"<p>old <s>100</s> 80, 10<sup>6</sup> H<sub>2</sub>O</p>", "a.html"),
        (read_html, b"<table><tr><td>old <del>100</del> 80, 10<span style='vertical-align: super'>6</span> H<sub>2</sub>O</table>", "a.html"),
        (read_markdown, b"old ~~100~~ 80, 10<sup>6</sup> H<sub>2</sub>O\n", "a.md"),
        (read_rtf, rb"{\rtf1 old {\strike 100} 80, 10{\super 6} H{\sub 2}O\par}", "a.rtf"),
    ],
)  # fmt: skip
def test_formats_that_write_powers_and_struck_text_keep_them(read, content: bytes, name: str) -> None:
    """Each reader that knows the construct writes it in the same way."""
    assert "old ~~100~~ 80, 10^6 H₂O" in text_of(read, content, name)


def odt(body: str, styles: str) -> bytes:
    names = "office style text fo".split()
    spaces = " ".join(
        f'xmlns:{n}="urn:oasis:names:tc:opendocument:xmlns:{ {"fo": "xsl-fo-compatible"}.get(n, n) }:1.0"'
        for n in names
    )
    content = (
        f"<office:document-content {spaces}><office:automatic-styles>{styles}</office:automatic-styles>"
        f"<office:body><office:text>{body}</office:text></office:body></office:document-content>"
    )
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        archive.writestr("mimetype", "application/vnd.oasis.opendocument.text")
        archive.writestr("content.xml", content)
    return made.getvalue()


def test_styles_of_opendocument_raise_and_strike_text() -> None:
    """Text position and line-through are properties of styles."""
    styles = (
        '<style:style style:name="U"><style:text-properties style:text-position="super 58%"/></style:style>'
        '<style:style style:name="S"><style:text-properties style:text-line-through-style="solid"/></style:style>'
    )
    body = '<text:p>old <text:span text:style-name="S">100</text:span> 10<text:span text:style-name="U">6</text:span></text:p>'
    assert text_of(read_odt, odt(body, styles), "a.odt") == "old ~~100~~ 10^6"


def word(*paragraphs: str) -> bytes:
    import docx
    from docx.oxml import parse_xml

    w = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
    m = "http://schemas.openxmlformats.org/officeDocument/2006/math"
    document = docx.Document()
    for paragraph in paragraphs:
        document.element.body.insert(-1, parse_xml(f'<w:p xmlns:w="{w}" xmlns:m="{m}">{paragraph}</w:p>'))
    made = io.BytesIO()
    document.save(made)
    return made.getvalue()


def run(text: str, properties: str = "") -> str:
    return f'<w:r><w:rPr>{properties}</w:rPr><w:t xml:space="preserve">{text}</w:t></w:r>'


def test_runs_of_word_keep_what_they_show() -> None:
    """Raised, struck, symbols and formulas of Word."""
    read = text_of(
        read_docx,
        word(
            run("10") + run("6", '<w:vertAlign w:val="superscript"/>') + run(" or ") + run("100", "<w:strike/>"),
            '<w:r><w:sym w:font="Symbol" w:char="F0B3"/></w:r>' + run(" 18"),
            "<m:oMath><m:f><m:num><m:r><m:t>1</m:t></m:r></m:num><m:den><m:r><m:t>2</m:t></m:r></m:den></m:f></m:oMath>",
        ),
        "a.docx",
    )
    assert read == "10^6 or ~~100~~\n\n≥ 18\n\n1/2"


def test_an_unknown_symbol_and_an_inserted_document_are_named() -> None:
    """What cannot be read leaves a place and a warning."""
    (document,) = read_docx(
        word('<w:r><w:sym w:font="Oddfont" w:char="F021"/></w:r>' + run(" x")), uri="file:///a.docx", name="a.docx"
    )
    assert document.text == "\ufffd x" and "Oddfont F021 (1)" in str(document.fidelity.warnings)


def test_formulas_of_pages_are_read_on_one_line() -> None:
    """MathML in HTML keeps fractions and powers apart."""
    page = "<p>share <math><mfrac><mn>1</mn><mn>2</mn></mfrac></math>, <math><msup><mn>10</mn><mn>6</mn></msup></math></p>"
    assert text_of(read_html, page.encode(), "a.html") == "share 1/2, 10^6"
    assert formulas.of_mathml(formulas.Term("math", "", [formulas.Term("mo", "\u2062", (), {})], {})) == ""


def sheet(fill) -> bytes:
    import openpyxl

    book = openpyxl.Workbook()
    fill(book.active)
    made = io.BytesIO()
    book.save(made)
    return made.getvalue()


def test_cells_are_read_as_the_sheet_shows_them() -> None:
    """A row says what its cells show, the plain value where that is not found by it, and a formula without a value is named."""

    def fill(cells) -> None:
        cells.append(["code", "rate", "time", "sum"])
        cells.append([1234, 0.125, 26.5 / 24, "=A2*2"])
        for place, code in (("A2", "000000"), ("B2", "0.0%"), ("C2", "[h]:mm")):
            cells[place].number_format = code

    (document,) = read_xlsx(sheet(fill), uri="file:///b.xlsx", name="b.xlsx")
    assert document.text == "code: 001234 (1234); rate: 12.5% (0.125); time: 26:30"
    assert "1 (D2)" in str(document.fidelity.warnings) and document.title == "b"


def test_a_header_of_two_rows_names_its_columns_by_both() -> None:
    """Groups of columns stand before the names below them."""
    assert text_of(read_csv, b"Region,Price,\n,gross,net\nNorth,119,100\nSouth,238,200\n", "p.csv").endswith(
        "Region: South; Price gross: 238; Price net: 200"
    )


def test_a_line_that_states_the_separator_is_no_row() -> None:
    """``sep=;`` is for spreadsheets."""
    assert text_of(read_csv, b"sep=;\na;b\n1,5;2\n", "s.csv") == "a: 1,5; b: 2"


def test_html_tables_and_pictures_within_markdown_are_read_as_such() -> None:
    """Cells that span rows are repeated, bytes of pictures are dropped, and lines keep their numbers."""
    source = (
        "# T\n\n<table><tr><th>Part<th>Bar</tr><tr><td rowspan=2>Pump<td>5</tr><tr><td>7</tr></table>\n\n"
        "![plan](data:image/png;base64,AAAA)\n\nlast\n"
    )
    (document,) = read_markdown(source.encode(), uri="file:///a.md", name="a.md")
    assert "| Pump | 7 |" in document.text and "<t" not in document.text and "AAAA" not in document.text
    assert [block.line for block in document.blocks] == [1, 3, 5, 7]


def test_front_matter_may_be_toml() -> None:
    """Between ``+++`` as Hugo writes it."""
    (document,) = read_markdown(b'+++\ntitle = "Pumps"\nweight = 3\n+++\nBody\n', uri="file:///a.md", name="a.md")
    assert (document.title, document.text.strip(), document.metadata["weight"]) == ("Pumps", "Body", 3)


@pytest.mark.parametrize("words", ["Warning: hot", 'see <a href="#x">1</a> the note of the book'])
def test_an_aside_that_is_no_menu_is_read(words: str) -> None:
    """A warning box and a book's footnote are content, a list of links is not."""
    page = f"<p>Body</p><aside>{words}</aside><aside><a href=/a>Other page</a></aside>"
    read = text_of(read_html, page.encode(), "a.html")
    assert "Body" in read and words.partition("<")[0].strip() in read and "Other page" not in read


def test_an_option_keeps_its_description() -> None:
    """A term and what it means are one passage."""
    page = "<dl><dt>-o FILE<dt>--output FILE<dd><p>Writes there.</p><p>More.</p></dl>"
    assert text_of(read_html, page.encode(), "a.html") == "-o FILE, --output FILE: Writes there.\n\nMore."


def test_lines_of_other_programs_have_their_text_in_page_content() -> None:
    """As LangChain writes documents."""
    assert "pump" in text_of(read_jsonl, b'{"title": "T", "page_content": "The pump runs."}\n', "a.jsonl")


def test_strict_packages_and_those_with_macros_are_read() -> None:
    """The namespaces of Strict Open XML, and the content type of a file with macros."""
    plain = word(run("seven days"))
    for change in ("strict", "macros"):
        made = io.BytesIO()
        with zipfile.ZipFile(io.BytesIO(plain)) as archive, zipfile.ZipFile(made, "w") as out:
            for name in archive.namelist():
                content = archive.read(name)
                if change == "strict":
                    for part in ("wordprocessingml", "officeDocument"):
                        content = content.replace(
                            f"http://schemas.openxmlformats.org/{part}/2006/".encode(),
                            f"http://purl.oclc.org/ooxml/{part}/".encode(),
                        )
                else:
                    content = content.replace(
                        b"application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml",
                        b"application/vnd.ms-word.document.macroEnabled.main+xml",
                    )
                out.writestr(name, content)
        assert text_of(read_docx, made.getvalue(), "a.docm") == "seven days"


def test_style_sheets_raise_lower_and_strike() -> None:
    """What a class or a shift of small letters makes is seen as what an element makes."""
    page = (
        b"<style>.up, b.hi { font-size: 60%; vertical-align: super } .off {text-decoration: line-through}"
        b".moved { font-size: 0.58em; position: relative; top: -0.33em; vertical-align: baseline }</style>"
        b"<p>10<span class=up>6</span> and 10<span class='x moved'>9</span> for <span class=off>100</span> 80</p>"
    )
    assert "10^6 and 10^9 for ~~100~~ 80" in text_of(read_html, page, "x.html")


def test_style_sheets_of_a_book_raise_lower_and_strike() -> None:
    """Books keep their styles in files of their own."""
    opf = (
        '<package xmlns="http://www.idpf.org/2007/opf"><manifest>'
        '<item id="c" href="c.xhtml" media-type="application/xhtml+xml"/><item id="s" href="s.css" media-type="text/css"/>'
        '</manifest><spine><itemref idref="c"/></spine></package>'
    )
    entries = {
        "META-INF/container.xml": '<container><rootfiles><rootfile full-path="b.opf"/></rootfiles></container>',
        "b.opf": opf,
        "s.css": ".s1 { vertical-align: super }",
        "c.xhtml": '<html xmlns="http://www.w3.org/1999/xhtml"><body><p>At 10<span class="s1">6</span> Pa</p></body></html>',
    }
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as book:
        for name, text in entries.items():
            book.writestr(name, text)
    assert "At 10^6 Pa" in text_of(read_epub, made.getvalue(), "b.epub")


def test_powers_and_indexes_of_a_printed_page_keep_their_value() -> None:
    """Small digits above or below the others are exponents and indexes; a digit in the usual size, or a small line, is not."""
    page = [
        (72, 700, "It runs at 10", 12), (136, 704, "6", 7), (143, 700, "Pa with H", 12), (195, 697, "2", 7), (199, 700, "O in 2026.", 12),
        (72, 600, "Small print of 1999 and 2024.", 7),
    ]  # fmt: skip
    text = text_of(read_pdf, make_pdf([page]), "x.pdf")
    assert "10^6" in text
    assert "H₂" in text
    assert "in 2026." in text and "Small print of 1999 and 2024." in text


def test_flowed_mail_has_its_paragraphs_on_one_line() -> None:
    """A line that ends with a space goes on; quotations by their depth, and of Chinese the space is not of the text."""

    def mail(body: str, delsp: str = "no") -> str:
        head = f"From: a@b.example\r\nContent-Type: text/plain; charset=utf-8; format=flowed; delsp={delsp}\r\n\r\n"
        found = unpack_eml((head + body).encode(), uri="file:///x/a.eml", name="a.eml")
        return found.documents[0].text

    assert "The limit is 5 kg in all cases." in mail("The limit is \r\n5 kg in all \r\ncases.\r\nNew line.\r\n")
    assert "水泵不得在温度超过60℃时运行" in mail("水泵不得在温度 \r\n超过60℃时运行\r\n", "yes")


@pytest.mark.parametrize(
    ("code", "seen"),
    [
        (r" EQ \f(1,2) ", "1/2"), (r"EQ \f(a+b;c)", "(a+b)/c"), (r"EQ \r(3,x)", "3√(x)"), (r"EQ 10\s\up8(6)", "10^6"), (r"EQ H\s\do4(2)O", "H₂O"),
        (r"EQ \b\bc\[(\f(1,\r(,2)))", "[1/√(2)]"), (r"EQ \f(1", "1/"),
    ],
)  # fmt: skip
def test_formulas_that_are_fields_of_word_are_read(code: str, seen: str) -> None:
    """Fields of the kind EQ draw fractions, roots and powers, and have no text beside their code."""
    shown = notation.plain(formulas.of_field(code))
    assert shown == seen
    field = (
        '<w:r><w:fldChar w:fldCharType="begin"/></w:r><w:r><w:instrText xml:space="preserve">'
        + code
        + '</w:instrText></w:r><w:r><w:fldChar w:fldCharType="end"/></w:r>'
    )
    assert f"Take {seen} of it" in text_of(read_docx, word(run("Take ") + field + run(" of it")), "x.docx")
