"""EPUB to a `Document`: the chapters in reading order, each read as an HTML page."""

from __future__ import annotations

import posixpath
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, NamedTuple
from urllib.parse import unquote

from wenyuan.core.errors import msg
from wenyuan.core.model import Document
from wenyuan.readers.assemble import Original, Piece, assemble, left_out_note, rejected, unread
from wenyuan.readers.html import own_text, parsed, styles_of, unread_kinds
from wenyuan.readers.markup import Package, beside, damaged, local
from wenyuan.readers.numbered_headings import sectioned
from wenyuan.readers.page import Page
from wenyuan.readers.text import measured

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
        self.pictures = self._missing = 0
        self._package = package
        self._left_out: Counter[str] = Counter()
        self._unknown: Counter[str] = Counter()  # what is in the book and is not read, by kind
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
        sheets = (part for part, kind, _ in items.values() if kind == "text/css" and part in package)
        self._styles = "\n".join(package.read(part).decode("utf-8", "replace") for part in sheets)
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
        missing = msg("chapters that the book lists are missing: {count}", count=self._missing)
        return (*((missing,) if self._missing else ()), *unread(self._unknown))

    def pieces(self, chapter: _Chapter) -> Iterator[Piece]:
        """The pieces of a chapter, with a heading."""
        tree, _ = parsed(self._package.read(chapter.part), xml=True)
        page = Page(tree.body, f"{self._styles}\n{styles_of(tree)}")
        self._left_out += page.left_out
        self.pictures += len(tree.css("img, svg, image"))
        self._unknown += unread_kinds(tree)
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
