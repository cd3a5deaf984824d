"""DOCX to a `Document`: headings, paragraphs with their automatic numbers, lists and tables."""

from __future__ import annotations

import io
import re
import unicodedata
import zipfile
from collections import Counter, deque
from collections.abc import Iterator
from typing import Any

from wenyuan.core.errors import DocumentRejected, msg
from wenyuan.core.model import Document, Facet
from wenyuan.core.redaction.columns import ColumnKinds
from wenyuan.core.text.structure import opening
from wenyuan.readers import formulas, notation, symbols
from wenyuan.readers.alternative_text import picture_text
from wenyuan.readers.assemble import (
    EMPTY_CELL,
    Cell,
    Original,
    Piece,
    assemble,
    left_out_note,
    lines_of,
    lists_joined,
    rejected,
    unread,
)
from wenyuan.readers.container_check import check_archive
from wenyuan.readers.docx_concealment import Concealment
from wenyuan.readers.docx_theme import DocxTheme
from wenyuan.readers.markup import covered, property_of
from wenyuan.readers.numbered_headings import sectioned
from wenyuan.readers.numbering import Numbering
from wenyuan.readers.packages import transitional
from wenyuan.readers.text import measured

_W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
# python-docx opens the package and resolves styles; the walk is our own: its paragraphs leave out content controls and
# tracked insertions, and know no automatic numbers.

_MATH = "{http://schemas.openxmlformats.org/officeDocument/2006/math}"
_TEXTS = (f"{_W}t", f"{_MATH}t")
_FALLBACK = "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback"
_GONE = {f"{_W}del": "deleted passages", f"{_W}moveFrom": "deleted passages", f"{_W}delText": "deleted passages"}
_HEADING_STYLE = re.compile(r"(?:heading|标题|標題)\s*([1-9])")
_TITLE_STYLE = re.compile(r"title|标题|標題")
_CONTENTS_STYLE = re.compile(r"toc.*|目录.*|目錄.*")
_SIGNS = {f"{_W}br": "\n", f"{_W}cr": "\n", f"{_W}tab": "\t", f"{_W}noBreakHyphen": "-"}
_RELATION = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}id"
_REFERENCES = (f"{_W}footnoteReference", f"{_W}endnoteReference")
_FIELDS = (f"{_W}instrText", f"{_W}fldChar")
_LETTERS = (*_TEXTS, f"{_MATH}oMath", f"{_W}sym", *_REFERENCES, *_FIELDS)
_VERTICAL = {"superscript": notation.UP, "subscript": notation.DOWN}
_PRIVATE = re.compile("[\uf000-\uf0ff]")
_UNREAD = {"chart": "chart", "relIds": "diagram", "OLEObject": "embedded object", "control": "form control", "subDoc": "subDoc",
           "contentPart": "ink"}  # fmt: skip
"""Elements whose content lies in another part that is not read, and what a warning calls them."""
_SILENT = {f"{_W}{name}" for name in (
    "sectPr bookmarkStart bookmarkEnd proofErr commentRangeStart commentRangeEnd permStart permEnd sdtPr sdtEndPr "
    "moveFromRangeStart moveFromRangeEnd moveToRangeStart moveToRangeEnd customXmlPr background").split()
}  # fmt: skip
_BOX = f"{_W}txbxContent"
_DRAWN = "{http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing}docPr"
_PARTS = re.compile(r"/word/(document|header|footer|footnotes|endnotes|comments)[0-9]*\.xml\Z")
_APART = ("header", "footer", "comments")
_PICTURES = (
    "{http://schemas.openxmlformats.org/drawingml/2006/main}blip",
    "{urn:schemas-microsoft-com:vml}imagedata",
)
_OUTLINE_BODY = 9
_LAST_EDIT = "_GoBack"  # a bookmark that Word itself moves
_MEDIA_TYPE = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"


def read_docx(content: bytes, *, uri: str, name: str) -> tuple[Document, ...]:
    """Read a Word document.

    Raises:
        DocumentRejected: it is no DOCX, unpacks to too much, declares a DTD, or holds no text.
    """
    check_archive(content, name=name, needs="word/document.xml")
    original, content = content, transitional(content)
    import docx
    from docx.opc.exceptions import OpcError
    from lxml.etree import LxmlError

    try:
        package = docx.Document(io.BytesIO(content))
        body = _Body(package)
        pieces = list(body.pieces(package.element.body))
        own = _Own(package)
        title, metadata = _properties(package)
    except DocumentRejected:
        raise
    except (OpcError, LxmlError, zipfile.BadZipFile, KeyError, ValueError, TypeError, AttributeError) as error:
        raise rejected(msg("it is damaged: {error}", error=error), name) from error
    document = assemble(
        sectioned(lists_joined(pieces)),
        Original(original, uri, name),
        title=body.title or title,
        media_type=_MEDIA_TYPE,
        notes=body.notes(),
        metadata=metadata,
    )
    return (
        measured(
            document,
            own.text,
            added=body.added,
            pictures=own.pictures,
            warnings=[*own.warnings(), *body.warnings(), *unread(body.unknown)],
        ),
    )


def _properties(package: Any) -> tuple[str, dict[str, Facet]]:
    properties = package.core_properties
    found: dict[str, Facet] = {}
    for key in ("author", "subject", "keywords", "category"):
        value = (getattr(properties, key) or "").strip()
        if value and value != "python-docx":
            found[key] = value[:500]
    return (properties.title or "").strip(), found


class _Body:
    """Walks the document body; counts automatic numbers and omitted content."""

    def __init__(self, package: Any) -> None:
        self.title = ""
        self.added: list[str] = []  # what is written into the text that is in no run: numbers, merged cells again
        self._field = ""  # the code of the field that is open
        self.unknown: Counter[str] = Counter()  # what is in the file and is not read, by kind
        self._left_out: Counter[str] = Counter()
        self._package = package
        self._numbering = Numbering(_part_root(package, "numbering"))
        self._footnotes = {
            (f"{_W}{kind}", note.get(f"{_W}id") or ""): note
            for kind in ("footnote", "endnote")
            if (root := _part_root(package, f"{kind}s")) is not None
            for note in root.iter(f"{_W}{kind}")
            if not note.get(f"{_W}type")  # the lines between text and notes
        }
        self._referred: dict[tuple[str, str], int] = {}
        self._due: deque[tuple[str, str]] = deque()
        self._styles = {style.style_id: style for style in package.styles}
        self.doubtful = 0  # runs that may be white on white
        elements = {style.style_id: style.element for style in package.styles}
        self._concealment = Concealment(elements, list(_drawing_parts(package)), DocxTheme.of(package))

    def notes(self) -> tuple[str, ...]:
        if alone := len(self._footnotes) - len(self._referred):
            self._left_out["notes that no text refers to"] = alone
        return left_out_note(self._left_out)

    def warnings(self) -> tuple[str, ...]:
        """What is to be said of text that may not be seen."""
        white = msg(
            "white text is read, since what lies under it is not known ({count} passages)", count=self.doubtful
        )
        return (white,) if self.doubtful else ()

    def pieces(self, parent: Any) -> Iterator[Piece]:
        """Pieces of a body element, including those inside content controls and other wrappers."""
        for child in parent:
            if child.tag == f"{_W}p":
                yield from self._paragraph(child)
                yield from self._noted()
            elif child.tag == f"{_W}tbl":
                text, told = lines_of(self._rows(child))
                yield Piece("table", text, cells=told)
                yield from self._noted()
            elif child.tag in _GONE:
                self._left_out[_GONE[child.tag]] += 1
            elif child.tag in (f"{_W}sdt", f"{_W}sdtContent", f"{_W}ins", f"{_W}customXml", f"{_W}moveTo"):
                yield from self.pieces(child)
            elif child.tag == f"{_W}altChunk":
                yield from self._inserted(child)
            elif isinstance(child.tag, str) and child.tag not in _SILENT:
                if child.tag in (f"{_MATH}oMathPara", f"{_MATH}oMath"):
                    yield Piece("paragraph", self._text(child))
                else:
                    self.unknown[child.tag.rpartition("}")[2]] += 1

    def _inserted(self, chunk: Any) -> Iterator[Piece]:
        """A document that is inserted whole (``altChunk``), read as what it is."""
        from wenyuan.readers.selection import READERS, load_reader, suffix_of

        related = self._package.part.rels.get(chunk.get(_RELATION) or "")
        part = None if related is None or related.is_external else related.target_part
        suffix = suffix_of(str(part.partname)) if part is not None else ""
        kind = {"text/html": ".html", "application/xhtml+xml": ".xhtml", "text/plain": ".txt", "application/rtf": ".rtf",
                "message/rfc822": ".mht"}.get(part.content_type if part is not None else "", suffix)  # fmt: skip
        if part is None or kind not in READERS:
            self.unknown["altChunk"] += 1
            return
        try:
            documents = load_reader(READERS[kind])(part.blob, uri="file:///inserted", name=f"inserted{kind}")
        except DocumentRejected:
            self.unknown["altChunk"] += 1
            return
        for document in documents:
            self.added.append(document.text)
            for block in document.blocks:
                yield Piece(block.kind, document.text[block.start : block.end], level=block.level, label=block.label)

    def _noted(self) -> Iterator[Piece]:
        """The footnotes and endnotes referred to by the last passage, each with its number."""
        while self._due:
            key = self._due.popleft()
            text = " ".join(self._text(p) for p in _paragraphs(self._footnotes[key])).strip()
            mark = f"[{self._referred[key]}]" if text else ""
            self.added.append(mark)
            yield Piece("paragraph", f"{mark} {text}" if text else "")

    def _reference(self, node: Any) -> str:
        """The number of a note at its reference; notes are numbered in text order."""
        key = (node.tag.removesuffix("Reference"), node.get(f"{_W}id") or "")
        if key not in self._footnotes:
            return ""
        if key not in self._referred:
            self._referred[key] = len(self._referred) + 1
            self._due.append(key)
        self.added.append(f"[{self._referred[key]}]")
        return self.added[-1]

    def _paragraph(self, p: Any) -> Iterator[Piece]:
        style = self._styles.get(_own(p, "pStyle"))
        names = list(_style_names(style))
        if names and _CONTENTS_STYLE.fullmatch(names[0]):
            self._left_out["lines of the table of contents"] += 1
            return
        level = _heading_level(p, style, names)
        text = self._text(p, numbered=level is None)
        if not text.strip() and _is_deleted(p):
            return  # it takes no number from those that stay
        mark = self._mark(p, style)
        if not text.strip():
            return
        if level == 0:
            self.title = self.title or text.strip()
        self.added.append(mark)
        shown = f"{mark} {text}" if mark else text
        anchor = _bookmark(p)
        if level is not None:
            yield Piece("heading", shown.replace("\n", " "), level=max(level, 1), anchor=anchor)
        else:
            opened = opening(shown)
            clause = opened is not None and opened.kind not in ("point", "clause")
            # "List Paragraph" is also what Word calls paragraphs that it numbers as articles.
            listed = mark == "-" or (bool(names) and names[0].startswith("list") and not clause)
            yield Piece("list" if listed else "paragraph", shown, anchor=anchor)

    def _mark(self, p: Any, style: Any) -> str:
        """The automatic number of a paragraph: list and level come from its own numbering, else from its style's."""
        number: str | None = None
        level: int | None = None
        for holder, name in ((p, ""), *((s.element, s.style_id) for s in _lineage(style))):
            numbering = property_of(holder, f"{_W}pPr", f"{_W}numPr")
            if numbering is None:
                continue
            values = {child.tag: child.get(f"{_W}val") for child in numbering}
            if level is None and values.get(f"{_W}ilvl"):
                level = int(values[f"{_W}ilvl"])
            number = values.get(f"{_W}numId")
            if number:
                level = self._numbering.level_of(number, name) if level is None and name else level
                return self._numbering.next(number, level or 0)
        return ""

    def _text(self, root: Any, *, numbered: bool = True) -> str:
        """Visible text of an element, without tracked deletions, hidden runs and fallback copies.

        Args:
            numbered: Whether note numbers are written into the text; not in headings, whose text serves as a name.
        """
        parts: list[str] = []
        stack: list[Any] = [root]
        while stack:
            node = stack.pop()
            if isinstance(node, str):
                parts.append(node)
            elif node.tag in _LETTERS or node.tag in _SIGNS:
                parts.append(self._letters(node, numbered))
            elif not self._left_node(node):
                self._look(node)
                if described := picture_text(node.get("descr")) if node.tag == _DRAWN else "":
                    parts.append(f" {described} ")
                    self.added.append(described)
                if node.tag == f"{_W}p" and node is not root:  # a paragraph of a text box
                    parts.append("\n")
                elif node.tag == _BOX:
                    stack.append("\n")  # after it
                stack.extend(reversed(node))
        return notation.plain("".join(parts))

    def _letters(self, node: Any, numbered: bool) -> str:
        """The text of an element that holds letters: a text, a symbol, a formula, the number of a note."""
        if node.tag in _SIGNS:
            return _SIGNS[node.tag]
        if node.tag == f"{_MATH}oMath":
            return formulas.of_omml(formulas.from_xml(node))
        if node.tag == f"{_W}sym":
            return self._symbol(node)
        if node.tag in _REFERENCES:
            return self._reference(node) * numbered
        if node.tag in _FIELDS:
            return self._field_of(node)
        signs = self._signs(node) if node.text else ""
        return f"{signs}{self._symbols(node)}{notation.END * len(signs)}"

    def _field_of(self, node: Any) -> str:
        """What a formula that is written as a field shows, at its end; nothing of other fields, whose result is text."""
        if node.tag == f"{_W}instrText":
            self._field += node.text or ""
            return ""
        code, self._field = self._field.strip(), ""
        if node.get(f"{_W}fldCharType") == "begin" or code[:2].upper() != "EQ":
            return ""
        shown = formulas.of_field(code)
        self.added.append(notation.plain(shown))
        return shown

    def _signs(self, text: Any) -> str:
        """The signs of raised, lowered and struck text of the run that holds a text: its own, or its style's."""
        run = text.getparent()
        if run is None or run.tag != f"{_W}r":
            return ""
        signs = ""
        style = _own(run, "rStyle", "rPr")
        for tag, of in (("vertAlign", _VERTICAL), ("strike", None), ("dstrike", None)):
            holders = (run, *(each.element for each in _lineage(self._styles.get(style)))) if style else (run,)
            for holder in holders:
                node = property_of(holder, f"{_W}rPr", f"{_W}{tag}")
                if node is not None:
                    value = node.get(f"{_W}val")
                    if of:
                        signs += of.get(value, "")
                    elif value not in ("0", "false", "off") and notation.OUT not in signs:
                        signs += notation.OUT
                    break
        place = _own(run, "position", "rPr")
        if place and not signs and place.lstrip("-").isdigit() and int(place):
            signs = notation.DOWN if place.startswith("-") else notation.UP
        return signs

    def _symbols(self, text: Any) -> str:
        """A text with the letters of symbol fonts as what they show; only those of the private area are such letters."""
        said = text.text or ""
        if not _PRIVATE.search(said):
            return said
        run = text.getparent()
        fonts = property_of(run, f"{_W}rPr", f"{_W}rFonts") if run is not None else None
        font = "" if fonts is None else fonts.get(f"{_W}ascii") or fonts.get(f"{_W}hAnsi") or ""
        return "".join(self._shown_symbol(font, char) if _PRIVATE.match(char) else char for char in said)

    def _symbol(self, node: Any) -> str:
        code = node.get(f"{_W}char") or ""
        number = int(code, 16) if re.fullmatch(r"[0-9A-Fa-f]{1,6}", code) else 0
        return self._shown_symbol(node.get(f"{_W}font") or "", chr(number)) if 0 < number < 0x110000 else ""

    def _shown_symbol(self, font: str, char: str) -> str:
        shown = symbols.symbol_text(font, char)
        if shown is None:
            self.unknown[f"{font or 'symbol'} {ord(char):04X}"] += 1
            shown = "\ufffd"
        self.added.append(shown)
        return shown

    def _look(self, node: Any) -> None:
        """Count an element that holds something and is of a kind that is not read."""
        name = node.tag.rpartition("}")[2]
        if name in _UNREAD:
            self.unknown[_UNREAD[name]] += 1

    def _left_node(self, node: Any) -> bool:
        """Whether an element is skipped; deleted and hidden ones are counted."""
        if node.tag in _GONE:
            self._left_out[_GONE[node.tag]] += 1
        elif node.tag == f"{_W}r" and (why := self._concealment.of(node)):
            self._left_out[why] += why != "open"
            self.doubtful += why == "open"
            return why != "open"
        else:
            return node.tag in (_FALLBACK, f"{_W}pPr", f"{_W}rPr")
        return True

    def _left_row(self, row: Any) -> bool:
        """Whether a row is hidden or deleted with tracking; counts it if so."""
        deleted = property_of(row, f"{_W}trPr", f"{_W}del") is not None
        hidden = not deleted and bool(_says(row, "trPr", "hidden"))
        self._left_out.update(["deleted passages"] * deleted + ["hidden rows"] * hidden)
        return deleted or hidden

    def _rows(self, table: Any) -> Iterator[list[Cell]]:
        """Rows for ``a | b`` lines; a merged cell is repeated in each cell it covers, but once where it fills a whole
        row.
        """
        above: dict[int, str] = {}
        kinds = ColumnKinds()
        for row in table.iter(f"{_W}tr"):
            if next(row.iterancestors(f"{_W}tbl")) is not table:
                continue
            texts: dict[int, str] = {}
            before = _own(row, "gridBefore", "trPr")
            column, left = covered(before) if before else 0, self._left_row(row)
            cells = [cell for cell in row.iter(f"{_W}tc") if next(cell.iterancestors(f"{_W}tr")) is row]
            for cell in cells:
                paragraphs = () if left else _paragraphs(cell)
                text = " ".join(" ".join(self._text(p) for p in paragraphs).split())
                merge = property_of(cell, f"{_W}tcPr", f"{_W}vMerge")
                if merge is not None and merge.get(f"{_W}val") != "restart" and not text:
                    text = above.get(column, "")
                    self.added.append(text * (not left))
                span = covered(_own(cell, "gridSpan", "tcPr")) if len(cells) > 1 else 1
                self.added.append(text * (span - 1) * (not left))
                texts |= dict.fromkeys(range(column, column + span), text)
                column += span
            above = texts
            filled = {at: text for at, text in texts.items() if text}
            if filled and not left:
                told, last = kinds.of(filled), max(filled)
                yield [Cell(text or EMPTY_CELL, told.get(at, "")) for at, text in texts.items() if at <= last]


class _Own:
    """All text of the file, collected independently of the document: body, notes, headers, footers and comments.

    Attributes:
        text: Without tracked deletions and the copies for old programs.
        pictures: How many.
    """

    def __init__(self, package: Any) -> None:
        self.text: list[str] = []
        self.pictures = 0
        self._apart: Counter[str] = Counter()
        for part in package.part.package.iter_parts():
            if not (told := _PARTS.match(str(part.partname))):
                continue
            before = len(self.text)
            self._read(part)
            if told[1] in _APART:
                self._apart[told[1]] += sum(len(text) for text in self.text[before:])

    def warnings(self) -> tuple[str, ...]:
        """Warnings for content that is left out of the text entirely."""
        running = self._apart["header"] + self._apart["footer"]
        said = [msg("headers and footers are not read ({count} characters)", count=running)] * bool(running)
        if comments := self._apart["comments"]:
            said.append(msg("comments are not read ({count} characters)", count=comments))
        return tuple(said)

    def _read(self, part: Any) -> None:
        from docx.oxml import parse_xml

        root = getattr(part, "element", None)
        stack = [parse_xml(part.blob) if root is None else root]
        while stack:
            node = stack.pop()
            if not isinstance(node.tag, str) or node.tag in (_FALLBACK, f"{_W}del", f"{_W}moveFrom"):
                continue
            if node.tag in _TEXTS:
                self.text.append(node.text or "")
            elif node.tag == f"{_W}noBreakHyphen":
                self.text.append("-")
            self.pictures += node.tag in _PICTURES
            stack.extend(reversed(node))


def _drawing_parts(package: Any) -> Iterator[Any]:
    """The parts that draw on a document's pages: its body, headers and footers."""
    from docx.oxml import parse_xml

    for part in package.part.package.iter_parts():
        told = _PARTS.match(str(part.partname))
        if told and told[1] in ("document", "header", "footer"):
            root = getattr(part, "element", None)
            yield parse_xml(part.blob) if root is None else root


def _part_root(package: Any, kind: str) -> Any | None:
    from docx.oxml import parse_xml

    for relation in package.part.rels.values():
        if relation.reltype.endswith(f"/{kind}") and not relation.is_external:
            return parse_xml(relation.target_part.blob)
    return None


def _bookmark(p: Any) -> str | None:
    """The bookmark at this paragraph, as an anchor for Word; None without one."""
    names = (mark.get(f"{_W}name") or "" for mark in p.iter(f"{_W}bookmarkStart"))
    return next((name for name in names if name and name != _LAST_EDIT), None)


def _paragraphs(root: Any) -> Iterator[Any]:
    """The paragraphs of a cell or note, without those of text boxes: these are part of the paragraph around them."""
    return (p for p in root.iter(f"{_W}p") if next(p.iterancestors(_BOX), None) is None)


def _own(holder: Any, tag: str, properties: str = "pPr") -> str | None:
    node = property_of(holder, f"{_W}{properties}", f"{_W}{tag}")
    return None if node is None else node.get(f"{_W}val")


def _lineage(style: Any) -> Iterator[Any]:
    """A style and its base styles, at most ten: damaged files have cycles."""
    for _ in range(10):
        if style is None:
            return
        yield style
        style = getattr(style, "base_style", None)  # styles of lists have none


def _style_names(style: Any) -> Iterator[str]:
    for each in _lineage(style):
        yield unicodedata.normalize("NFKC", each.name or "").strip().lower()


def _heading_level(p: Any, style: Any, names: list[str]) -> int | None:
    """1 … 9 for a heading, 0 for the document's title, None for other paragraphs."""
    for holder in (p, *(each.element for each in _lineage(style))):
        outline = _own(holder, "outlineLvl")
        if outline is not None and outline.isdigit():
            return int(outline) + 1 if int(outline) < _OUTLINE_BODY else None
    for name in names:
        if found := _HEADING_STYLE.fullmatch(name):
            return int(found[1])
        if _TITLE_STYLE.fullmatch(name):
            return 0
    return None


def _is_deleted(p: Any) -> bool:
    """Whether the paragraph mark is deleted or moved away with tracking."""
    return any(property_of(p, f"{_W}pPr", f"{_W}rPr/{_W}{tag}") is not None for tag in ("del", "moveFrom"))


def _says(holder: Any, properties: str, tag: str) -> bool | None:
    """An on/off property of an element; None where it is not set."""
    node = property_of(holder, f"{_W}{properties}", f"{_W}{tag}")
    return None if node is None else node.get(f"{_W}val") not in ("0", "false", "off")
