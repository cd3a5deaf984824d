"""Files that are ZIP containers of XML: presentations, OpenDocument and books, made for a test part by part."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping, Sequence
from html import escape

_NS = (
    'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main" '
    'xmlns:p="http://schemas.openxmlformats.org/presentationml/2006/main" '
    'xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"'
)
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_RELS = "http://schemas.openxmlformats.org/package/2006/relationships"


def zipped(entries: Mapping[str, str | bytes]) -> bytes:
    """A ZIP container with these entries."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, body in entries.items():
            archive.writestr(name, body)
    return buffer.getvalue()


def paragraph(text: str, properties: str = "") -> str:
    """A paragraph of a shape; `properties` is the inside of ``a:pPr`` with its attributes: ``lvl="1"><a:buNone/``."""
    return f"<a:p><a:pPr {properties or ''}/><a:r><a:t>{escape(text)}</a:t></a:r></a:p>".replace("//>", "/></a:pPr>")


def shape(*paragraphs: str, place: str | None = None, hidden: bool = False) -> str:
    """A shape with paragraphs; `place` is its kind of placeholder, ``""`` for the slide's main text, None for a text box."""
    held = "" if place is None else f"<p:ph{f' type={chr(34)}{place}{chr(34)}' if place else ''}/>"
    unseen = ' hidden="1"' if hidden else ""
    return (
        f'<p:sp><p:nvSpPr><p:cNvPr id="2" name="x"{unseen}/><p:nvPr>{held}</p:nvPr></p:nvSpPr>'
        f"<p:txBody>{''.join(paragraphs)}</p:txBody></p:sp>"
    )


def table(*rows: Sequence[str]) -> str:
    """A table; a cell that begins with ``<a:tc`` is taken as it is."""
    cell = "<a:tc><a:txBody>{}</a:txBody></a:tc>"
    lines = (
        "".join(text if text.startswith("<a:tc") else cell.format(paragraph(text)) for text in row) for row in rows
    )
    inside = "".join(f"<a:tr>{line}</a:tr>" for line in lines)
    return f"<p:graphicFrame><a:graphic><a:graphicData><a:tbl>{inside}</a:tbl></a:graphicData></a:graphic></p:graphicFrame>"


def slide(*shapes: str, hidden: bool = False) -> str:
    """The XML of a slide."""
    shown = ' show="0"' if hidden else ""
    return f"<p:sld {_NS}{shown}><p:cSld><p:spTree>{''.join(shapes)}</p:spTree></p:cSld></p:sld>"


def presentation(
    *slides: str,
    notes: Mapping[int, str] | None = None,
    title: str = "",
    more: Mapping[str, str | bytes] | None = None,
    size: str = "",
) -> bytes:
    """A presentation of these slides; `notes` by the number of the slide, from 1; `size` is the element that says how large they are."""
    listed = "".join(f'<p:sldId id="{255 + n}" r:id="rId{n}"/>' for n in range(1, len(slides) + 1))
    entries: dict[str, str | bytes] = {
        "ppt/presentation.xml": f"<p:presentation {_NS}><p:sldIdLst>{listed}</p:sldIdLst>{size}</p:presentation>",
        "ppt/_rels/presentation.xml.rels": _related(
            {f"rId{n}": ("slide", f"slides/slide{n}.xml") for n in range(1, len(slides) + 1)}
        ),
        "docProps/core.xml": f'<c xmlns:dc="urn:dc"><dc:title>{escape(title)}</dc:title><dc:creator>李明</dc:creator></c>',
    }
    for number, xml in enumerate(slides, 1):
        entries[f"ppt/slides/slide{number}.xml"] = xml
    for number, text in (notes or {}).items():
        entries[f"ppt/slides/_rels/slide{number}.xml.rels"] = _related(
            {"rId1": ("notesSlide", f"../notesSlides/notesSlide{number}.xml")}
        )
        body = shape(paragraph(text), place="body") + shape(paragraph(str(number)), place="sldNum")
        entries[f"ppt/notesSlides/notesSlide{number}.xml"] = slide(body).replace("p:sld", "p:notes", 1)
    return zipped({**{k: v.replace("</p:sld>", "</p:notes>") if "notesSlides" in k and isinstance(v, str) else v
                      for k, v in entries.items()}, **(more or {})})  # fmt: skip


def _related(relations: Mapping[str, tuple[str, str]]) -> str:
    inside = "".join(
        f'<Relationship Id="{key}" Type="{_OFFICE}/{kind}" Target="{target}"/>'
        for key, (kind, target) in relations.items()
    )
    return f'<Relationships xmlns="{_RELS}">{inside}</Relationships>'


_ODF = " ".join(
    f'xmlns:{prefix}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"'
    for prefix, name in (
        ("office", "office"), ("text", "text"), ("table", "table"), ("draw", "drawing"), ("style", "style"),
        ("presentation", "presentation"), ("meta", "meta"), ("fo", "xsl-fo-compatible"), ("svg", "svg-compatible"),
    )
) + ' xmlns:dc="http://purl.org/dc/elements/1.1/"'  # fmt: skip


def opendocument(
    body: str, *, kind: str = "text", styles: str = "", more: Mapping[str, str | bytes] | None = None
) -> bytes:
    """An OpenDocument file; `body` is the inside of its body, `styles` of its automatic styles."""
    content = (
        f"<office:document-content {_ODF}><office:automatic-styles>{styles}</office:automatic-styles>"
        f"<office:body><office:{kind}>{body}</office:{kind}></office:body></office:document-content>"
    )
    meta = f"<office:document-meta {_ODF}><office:meta><dc:title>规程</dc:title><meta:initial-creator>李明</meta:initial-creator></office:meta></office:document-meta>"
    return zipped(
        {
            "mimetype": f"application/vnd.oasis.opendocument.{kind}",
            "content.xml": content,
            "meta.xml": meta,
            "META-INF/manifest.xml": "<manifest/>",
            **(more or {}),
        }
    )
