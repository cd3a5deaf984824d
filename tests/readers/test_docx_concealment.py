"""Text of Word files that nobody sees is left out and counted; what is seen is never lost."""

from __future__ import annotations

from typing import Any

import docx
import pytest
from docx.oxml import parse_xml
from docx.oxml.ns import nsdecls

from word_files import read, saved

SEEN = "Complaints are answered within 24 hours."
OTHER = "Complaints need no answer at all."
_W14 = 'xmlns:w14="http://schemas.microsoft.com/office/word/2010/wordml"'
DARK = '<w:shd w:val="clear" w:fill="1F3864"/>'
WHITE = '<w:color w:val="FFFFFF"/>'


def element(xml: str) -> Any:
    return parse_xml(f"<w:body {nsdecls('w')} {_W14}>{xml}</w:body>")


def run(properties: str = "", text: str = OTHER) -> str:
    return f"<w:r><w:rPr>{properties}</w:rPr><w:t>{text}</w:t></w:r>"


def package_of(xml: str, *styles: str) -> Any:
    package = docx.Document()
    for style in styles:
        package.styles.element.extend(list(element(style)))
    body = package.element.body
    for part in (*element(f"<w:p>{run(text=SEEN)}</w:p>"), *element(xml)):
        body.insert(len(body) - 1, part)
    return package


def style(kind: str, properties: str) -> str:
    """A style as Word writes it, with what programs list of it before its properties."""
    listed = "".join(
        f"<w:{name}/>" for name in ("autoRedefine", "hidden", "semiHidden", "unhideWhenUsed", "qFormat", "locked")
    )
    return (
        f'<w:style w:type="{kind}" w:styleId="Own"><w:name w:val="Own"/><w:basedOn w:val="Normal"/><w:next w:val="Normal"/>'
        f'<w:uiPriority w:val="9"/>{listed}<w:rsid w:val="00A1"/>{properties}</w:style>'
    )


@pytest.mark.parametrize(
    ("properties", "note"),
    [
        ("<w:vanish/>", "hidden runs"),
        (WHITE, "white runs"),
        ('<w:color w:val="FEFEFE" w:themeColor="background1"/>', "white runs"),
        ('<w:color w:val="000000" w:themeColor="background1"/>', "white runs"),
        ('<w:color w:val="auto" w:themeColor="background1" w:themeShade="FF"/>', "white runs"),
        ('<w:color w:val="404040" w:themeColor="text1" w:themeTint="00"/>', "white runs"),
        (WHITE + '<w:shd w:val="clear" w:fill="auto" w:themeFill="background1"/>', "white runs"),
        ('<w:color w:val="1F3864"/>' + DARK, "runs in the colour of their ground"),
        ('<w:color w:val="000000"/><w:highlight w:val="black"/>', "runs in the colour of their ground"),
        (
            '<w:color w:val="FF0000"/><w:shd w:val="solid" w:color="FF0000" w:fill="auto"/>',
            "runs in the colour of their ground",
        ),
        (WHITE + '<w:highlight w:val="none"/>', "white runs"),
        (WHITE + '<w:shd w:val="clear" w:fill="FFFFFF"/>', "white runs"),
        ('<w:sz w:val="2"/>', "runs too small to be seen"),
        ('<w:w w:val="1"/>', "runs too small to be seen"),
        ("<w14:textFill><w14:noFill/></w14:textFill>", "runs without a colour"),
    ],
)
def test_a_run_that_nobody_sees_is_left_out_and_counted(properties: str, note: str) -> None:
    """By each property that hides it; what stands beside it is whole."""
    document = read(saved(package_of(f"<w:p>{run(properties)}</w:p>")))
    assert document.text == SEEN
    assert document.notes == (f"left out {note} (1)",)


@pytest.mark.parametrize("kind", ["character", "paragraph"])
@pytest.mark.parametrize("properties", ["<w:vanish/>", WHITE, '<w:sz w:val="2"/>'])
def test_a_style_hides_however_much_stands_before_its_properties(kind: str, properties: str) -> None:
    """Styles of Word have up to fifteen elements before them."""
    named = '<w:rStyle w:val="Own"/>' if kind == "character" else ""
    of_paragraph = '<w:pPr><w:pStyle w:val="Own"/></w:pPr>' if kind == "paragraph" else ""
    xml = f"<w:p>{of_paragraph}{run(named)}</w:p>"
    document = read(saved(package_of(xml, style(kind, f"<w:rPr>{properties}</w:rPr>"))))
    assert document.text == SEEN
    assert len(document.notes) == 1


@pytest.mark.parametrize(
    ("properties", "around"),
    [
        ("", "{}"),
        ('<w:sz w:val="8"/>', "{}"),
        ('<w:color w:val="C0C0C0"/>', "{}"),
        ('<w:vanish w:val="0"/>', "{}"),
        (WHITE + '<w:highlight w:val="black"/>', "{}"),
        ('<w:color w:val="FFFFFF" w:themeColor="text1"/>', "{}"),
        ('<w:color w:val="FFFFFF" w:themeColor="background1" w:themeShade="80"/>', "{}"),
        (WHITE + '<w:shd w:val="clear" w:fill="FFFFFF" w:themeFill="text1"/>', "{}"),
        (WHITE + '<w:shd w:val="pct50" w:color="000000" w:fill="auto"/>', "{}"),
        ('<w:highlight w:val="black"/>', "{}"),
        (WHITE + DARK, "{}"),
        (WHITE, f"<w:pPr>{DARK}</w:pPr>{{}}"),
        (
            WHITE,
            f"<w:r><w:t> </w:t></w:r></w:p><w:tbl><w:tr><w:tc><w:tcPr>{DARK}</w:tcPr><w:p>{{}}</w:p></w:tc></w:tr></w:tbl><w:p>",
        ),
    ],
)
def test_a_run_that_is_seen_is_read(properties: str, around: str) -> None:
    """White on something dark, small print, grey: no note says otherwise."""
    document = read(saved(package_of(f"<w:p>{around.format(run(properties))}</w:p>")))
    assert SEEN in document.text
    assert OTHER in document.text
    assert document.notes == ()


def test_white_text_over_what_is_not_known_is_read_and_said() -> None:
    """The style of its table may be dark, or a picture may lie behind the page."""
    table = f'<w:tbl><w:tblPr><w:tblStyle w:val="Own"/></w:tblPr><w:tr><w:tc><w:p>{run(WHITE)}</w:p></w:tc></w:tr></w:tbl>'
    shading = '<w:tblStylePr w:type="firstRow"><w:tcPr><w:shd w:val="clear" w:fill="1F3864"/></w:tcPr></w:tblStylePr>'
    document = read(saved(package_of(table, style("table", shading))))
    assert OTHER in document.text
    assert document.fidelity is not None
    assert document.fidelity.warnings == ("white text is read, since what lies under it is not known (1 passages)",)
