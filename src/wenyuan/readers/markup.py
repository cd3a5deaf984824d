"""Parsing of untrusted XML, parts of ZIP containers and tables of cells, as Office files hold them; and EPUB and MHTML."""

from __future__ import annotations

import email
import email.policy
import io
import posixpath
import zipfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from email.message import Message
from itertools import count
from typing import Any, NamedTuple
from urllib.parse import unquote

from wenyuan.core.addresses import stated_address
from wenyuan.core.errors import DocumentRejected, msg
from wenyuan.core.model import Document
from wenyuan.core.redaction.names import Columns
from wenyuan.readers.archive import check_archive
from wenyuan.readers.assemble import EMPTY_CELL, Cell, Original, Piece, assemble, left_out_note, lines_of, rejected
from wenyuan.readers.html import Page, own_text, parsed, read_html
from wenyuan.readers.text import measured, sectioned

# Parsing of untrusted XML, access to parts of a ZIP container, and tables of cells as text.

MAX_COVERED = 1_000
"""Rows or columns that one cell may cover: a file can state any number."""


def parse_xml(content: bytes, *, recover: bool = False) -> Any:
    """The root element. No entity is expanded, no DTD loaded, nothing fetched; depth and sizes are bounded.

    Args:
        recover: Read over errors, where other programs do.

    Raises:
        ValueError: it is not well-formed.
    """
    from lxml import etree

    parser = etree.XMLParser(
        resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False, recover=recover,
        remove_comments=True, remove_pis=True,
    )  # fmt: skip
    try:
        root = etree.fromstring(content, parser)
    except (etree.LxmlError, ValueError) as error:
        raise ValueError(str(error)) from error
    if root is None:
        raise ValueError("it holds no element")
    return root


def local(node: Any) -> str:
    """An element's name without namespace; ``""`` for comments and other non-elements."""
    return node.tag.rpartition("}")[2] if isinstance(node.tag, str) else ""


class Related(NamedTuple):
    """A part that another one refers to: last segment of the relation's type, and the part's name."""

    kind: str
    part: str


class Package:
    """The parts of a ZIP container, which is checked first (`archive.check_archive`); nothing outside of it is
    opened.

    Args:
        needs: The entry that makes it the format it claims to be.

    Raises:
        DocumentRejected: it is no such container, or unpacks to too much.
    """

    def __init__(self, content: bytes, *, name: str, needs: str, doctypes: bool = False) -> None:
        check_archive(content, name=name, needs=needs, doctypes=doctypes)
        self._archive = zipfile.ZipFile(io.BytesIO(content))
        self._entries = {entry.lower(): entry for entry in self._archive.namelist()}

    def __contains__(self, part: str) -> bool:
        return part.lower() in self._entries

    @property
    def parts(self) -> Sequence[str]:
        """The names of all parts."""
        return tuple(self._entries.values())

    def read(self, part: str) -> bytes:
        """The bytes of a part; KeyError where it is not there."""
        return self._archive.read(self._entries[part.lower()])

    def xml(self, part: str, *, recover: bool = False) -> Any:
        """The root element of a part; KeyError where it is not there, ValueError where it is not well-formed."""
        try:
            return parse_xml(self.read(part), recover=recover)
        except ValueError as error:
            raise ValueError(
                msg("its part {part} is not well-formed XML: {error}", part=repr(part), error=error)
            ) from error

    def related(self, part: str) -> Mapping[str, Related]:
        """The parts that `part` refers to, by relation id (Open Packaging Conventions); external targets are left
        out.
        """
        folder, file = posixpath.split(part)
        rels = f"{folder}/_rels/{file}.rels"
        if rels not in self:
            return {}
        return {
            node.get("Id", ""): Related(node.get("Type", "").rpartition("/")[2], beside(part, node.get("Target", "")))
            for node in self.xml(rels)
            if local(node) == "Relationship" and node.get("TargetMode") != "External"
        }


def beside(part: str, target: str) -> str:
    """Resolve a part name relative to another part; never above the root."""
    return posixpath.normpath(posixpath.join("/", posixpath.dirname(part), target)).lstrip("/")


@contextmanager
def damaged(name: str) -> Iterator[None]:
    """Turn missing or invalid structure into a `DocumentRejected`."""
    try:
        yield
    except DocumentRejected:
        raise
    except KeyError as error:
        raise rejected(msg("it is damaged: its part {part} is missing", part=error), name) from error
    except (ValueError, TypeError, AttributeError, IndexError) as error:
        raise rejected(msg("it is damaged: {error}", error=error), name) from error


# A table of cells as text: a cell that covers several rows or columns is repeated, so that each row stands alone.


class Spanning(NamedTuple):
    """A table cell in the file: its text, and the number of rows and columns it spans."""

    text: str
    down: int = 1
    across: int = 1


def covered(number: object) -> int:
    """A row or column span from an attribute value, limited to 1 … `MAX_COVERED`."""
    text = str(number or "1").strip()
    return min(max(int(text), 1), MAX_COVERED) if text.isascii() and text.isdigit() and len(text) < 8 else 1


def table_piece(rows: Sequence[Sequence[Spanning]], *, page: int | None = None) -> tuple[Piece, str]:
    """A table as a piece, one ``a | b`` line per row; and the text it repeats for cells that span rows.

    A cell that covers several columns stands in the first of them.
    """
    kinds = Columns()
    shown: list[list[Cell]] = []
    repeated: list[str] = []
    above: dict[int, tuple[int, str | None]] = {}  # by column: rows still covered, and the text; None beside a cell
    for row in rows:
        texts: dict[int, str] = {}
        column = 0
        for cell in row:
            column = _over(count(column), above, texts, repeated)
            texts[column] = cell.text
            if cell.down > 1:
                above[column] = (cell.down - 1, cell.text)
                above |= {column + aside: (cell.down - 1, None) for aside in range(1, cell.across)}
            column += cell.across
        _over(sorted(at for at in above if at >= column), above, texts, repeated)
        filled = {at: text for at, text in sorted(texts.items()) if text}
        if filled:
            told = kinds.of(filled)
            shown.append(
                [Cell(texts[at] or EMPTY_CELL, told.get(at, "")) for at in sorted(texts) if at <= max(filled)]
            )
    text, cells = lines_of(shown)
    return Piece("table", text, page=page, cells=cells), "".join(repeated)


def _over(
    columns: Iterable[int], above: dict[int, tuple[int, str | None]], texts: dict[int, str], repeated: list[str]
) -> int:
    """Fill the columns still covered by cells from rows above; returns the first free column."""
    column = 0
    for column in columns:
        if column not in above:
            break
        left, text = above.pop(column)
        if left > 1:
            above[column] = (left - 1, text)
        if text is not None:
            texts[column] = text
            repeated.append(text)
    return column


# EPUB to a `Document`: the chapters in reading order, each read as an HTML page.

_CONTAINER = "META-INF/container.xml"
_LOCKS = "META-INF/encryption.xml"
_MEDIA_TYPE = "application/epub+zip"
_PAGES = ("application/xhtml+xml", "text/html", "application/x-dtbook+xml", "text/x-oeb1-document")


def read_epub(content: bytes, *, uri: str, name: str) -> tuple[Document, ...]:
    """Read a book: chapters without a heading get their title in the table of contents; anchors are EPUB CFIs of
    chapters.

    Raises:
        DocumentRejected: it is no EPUB, protected against copying, unpacks to too much, declares entities, or holds no text.
    """
    package = Package(content, name=name, needs="", doctypes=True)
    with damaged(name):
        book = _Book(package, name)
    pieces: list[Piece] = []
    for chapter in book.chapters:
        pieces += book.pieces(chapter)
    document = assemble(
        sectioned(pieces),
        Original(content, uri, name),
        title=book.told("title"),
        media_type=_MEDIA_TYPE,
        language=book.told("language").split("-")[0].strip().lower()[:8],
        notes=book.notes(),
        metadata={
            key: told for key, of in (("author", "creator"), ("publisher", "publisher")) if (told := book.told(of))
        },
    )
    return (measured(document, book.source, added=book.added, pictures=book.pictures, warnings=book.warnings()),)


class _Chapter(NamedTuple):
    part: str
    anchor: str


class _Book:
    """The package document of a book: metadata, chapters, and their titles in the table of contents."""

    def __init__(self, package: Package, name: str) -> None:
        self.source: list[str] = []
        self.added: list[str] = []
        self.pictures = 0
        self._package = package
        self._missing = 0
        self._left_out: Counter[str] = Counter()
        container = next((part for part in package.parts if f"/{part}".endswith(f"/{_CONTAINER}")), "")
        if not container:
            raise rejected(msg("the archive has no {needs}: it is another kind of file", needs=_CONTAINER), name)
        root_folder = container.removesuffix(_CONTAINER)  # some books lie in a folder of their archive
        roots = [node.get("full-path", "") for node in package.xml(container).iter() if local(node) == "rootfile"]
        if not roots:
            raise ValueError("META-INF/container.xml names no book")
        opf = root_folder + roots[0]
        root = package.xml(opf, recover=True)
        self._told: dict[str, str] = {}
        items: dict[str, tuple[str, str, str]] = {}
        for node in root.iter():
            if local(node) == "item":
                part = beside(opf, unquote(node.get("href", "")))
                items[node.get("id", "")] = (part, node.get("media-type", ""), node.get("properties") or "")
            elif (text := " ".join((node.text or "").split())) and local(node):
                self._told.setdefault(local(node), text[:500])
        contents = {part for part, _, said in items.values() if "nav" in said.split()}
        self._titles = _titles(package, items)
        self.chapters = self._spine(root, items, contents)
        locked = _locked(package, root_folder)
        if any(chapter.part.lower() in locked for chapter in self.chapters):
            raise rejected("it is encrypted", name)

    def _spine(self, root: Any, items: Mapping[str, tuple[str, str, str]], contents: set[str]) -> list[_Chapter]:
        """The chapters in order, each once: a spine may list one several times."""
        found: dict[str, _Chapter] = {}
        for at, spine in enumerate(root, 1):
            if local(spine) != "spine":
                continue
            for number, reference in enumerate(spine, 1):
                part, kind, _ = items.get(reference.get("idref", ""), ("", "", ""))
                if not part or part in found:
                    continue
                if part not in self._package:
                    self._missing += 1
                elif part in contents:
                    self._left_out["tables of contents"] += 1
                elif kind in _PAGES:
                    found[part] = _Chapter(part, f"epubcfi(/{2 * at}/{2 * number}!/4)")
                else:
                    self.pictures += 1
        return list(found.values())

    def told(self, what: str) -> str:
        """A metadata field, ``title``, ``creator`` …; ``""`` without it."""
        return self._told.get(what, "")

    def notes(self) -> tuple[str, ...]:
        return left_out_note(self._left_out)

    def warnings(self) -> tuple[str, ...]:
        return (
            (msg("chapters that the book lists are missing: {count}", count=self._missing),) if self._missing else ()
        )

    def pieces(self, chapter: _Chapter) -> Iterator[Piece]:
        """The pieces of a chapter, with a heading."""
        tree, _ = parsed(self._package.read(chapter.part), xml=True)
        page = Page(tree.body)
        self._left_out += page.left_out
        self.pictures += len(tree.css("img, svg, image"))
        self.added += page.added
        self.source.append(own_text(tree))
        shown = [piece for piece in page.pieces if piece.text.strip()]
        title = self._titles.get(chapter.part, "")
        if shown and title and not any(piece.kind == "heading" for piece in shown):
            self.added.append(title)
            yield Piece("heading", title, level=1, anchor=chapter.anchor)
        yield from (replace(piece, anchor=chapter.anchor, inner=()) for piece in shown)


def _titles(package: Package, items: Mapping[str, tuple[str, str, str]]) -> dict[str, str]:
    """Titles by part, from the navigation document (EPUB 3), else the NCX (EPUB 2)."""
    found: dict[str, str] = {}
    for part, kind, said in items.values():
        if part not in package:
            continue
        if "nav" in said.split():
            tree, _ = parsed(package.read(part), xml=True)
            for link in tree.css("nav a[href]"):
                _call(found, part, link.attributes.get("href") or "", link.text())
        elif kind == "application/x-dtbncx+xml":
            for point in package.xml(part, recover=True).iter():
                if local(point) == "navPoint":
                    text = next((n.text or "" for child in point if local(child) == "navLabel" for n in child), "")
                    href = next((child.get("src", "") for child in point if local(child) == "content"), "")
                    _call(found, part, href, text)
    return found


def _call(found: dict[str, str], part: str, href: str, text: str) -> None:
    """Record a title for a part unless it has one: the first belongs to the part's beginning."""
    target = beside(part, unquote(href.partition("#")[0]))
    if text.strip():
        found.setdefault(target, " ".join(text.split())[:200])


def _locked(package: Package, folder: str) -> set[str]:
    """The encrypted parts. Fonts often are, also in books without copy protection."""
    if folder + _LOCKS not in package:
        return set()
    found = (node.get("URI", "") for node in package.xml(folder + _LOCKS).iter() if local(node) == "CipherReference")
    return {posixpath.normpath(folder + unquote(reference)).lower() for reference in found}


# MHTML to a `Document`: the HTML of a page that a browser saved as one file; images and styles are ignored.

_MAX_PARTS = 5_000


def read_mhtml(content: bytes, *, uri: str, name: str) -> tuple[Document, ...]:
    """Read the HTML part of a saved page. Its original address becomes the facet ``saved_from``.

    Raises:
        DocumentRejected: it has no HTML part, or no visible text.
    """
    message = email.message_from_bytes(content, policy=email.policy.compat32)
    page = next(_pages(message), None)
    if page is None:
        raise rejected("it has no part that is a page of HTML", name)
    (document,) = read_html(html_of(page), uri=uri, name=name)
    came_from = stated_address(
        str(message.get("Snapshot-Content-Location") or page.get("Content-Location") or "").strip()
    )
    metadata = {**document.metadata, **({"saved_from": came_from} if came_from else {})}
    return (replace(document, metadata=metadata, media_type="multipart/related"),)


def _pages(message: Message) -> Iterator[Message]:
    """The HTML parts, the one declared as root first."""
    start = message.get_param("start")
    parts = [part for _, part in zip(range(_MAX_PARTS), message.walk(), strict=False)]
    found = [part for part in parts if part.get_content_type() in ("text/html", "application/xhtml+xml")]
    yield from sorted(found, key=lambda part: part.get("Content-ID") != start)


def html_of(part: Message) -> bytes:
    """The bytes of an HTML part, converted to UTF-8 where the part declares its encoding."""
    payload = part.get_payload(decode=True)
    content = payload if isinstance(payload, bytes) else b""
    try:
        # The byte order mark tells HTML readers the encoding, whatever the page declares.
        return content.decode(part.get_content_charset() or "").encode("utf-8-sig")
    except (LookupError, UnicodeDecodeError):
        return content
