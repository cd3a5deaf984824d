"""ODT and ODP to a `Document`: headings, paragraphs with their automatic numbers, lists, tables, notes, slides."""

from __future__ import annotations

import posixpath
import re
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from wenyuan.core.errors import msg
from wenyuan.core.model import Document, Facet
from wenyuan.core.text.folding import has_han
from wenyuan.core.text.structure import opening
from wenyuan.readers import formulas, notation
from wenyuan.readers.assemble import Original, Piece, assemble, left_out_note, rejected, unread
from wenyuan.readers.markup import Package, Spanning, covered, damaged, local, table_piece
from wenyuan.readers.numbered_headings import sectioned
from wenyuan.readers.numbering import chinese_numeral, enclosed, formal_numeral, roman
from wenyuan.readers.opendocument_concealment import SHAPES, OdfConcealment, attribute
from wenyuan.readers.text import measured

_ODT = "application/vnd.oasis.opendocument.text"
_ODP = "application/vnd.oasis.opendocument.presentation"
_KINDS = {_ODT: "text", _ODP: "presentation"}
_UNREAD = frozenset(
    "annotation annotation-end tracked-changes note-citation ruby-text forms sequence-decls variable-decls "
    "user-field-decls dde-connection-decls alphabetical-index-auto-mark-file scripts settings desc title event-listeners".split()
)
_APART = {"object-ole": "embedded object", "plugin": "media", "applet": "applet", "floating-frame": "embedded page",
          "control": "form control"}  # fmt: skip
"""Elements whose content lies in another part that is not read, and what a warning calls them."""
_INDEXES = frozenset(
    "table-of-content illustration-index table-index object-index user-index alphabetical-index bibliography".split()
)
_SPACE = re.compile(r"[ \t\r\n]+")
_AROUND_BREAK = re.compile(r"[ \t]*\n[ \t\n]*")
_SIGNS = {"tab": "\t", "line-break": "\n"}
_MAX_REPEATED = 1_000


def read_odt(content: bytes, *, uri: str, name: str) -> tuple[Document, ...]:
    """Read a text document.

    Raises:
        DocumentRejected: it is no ODT, encrypted, unpacks to too much, declares a DTD, or holds no text.
    """
    package, body = _open_package(content, name, _ODT)
    with damaged(name):
        walk = _Walk(package)
        pieces = list(walk.pieces(body))
        title, metadata = _properties(package)
    document = assemble(
        sectioned(pieces),
        Original(content, uri, name),
        title=walk.title or title,
        media_type=_ODT,
        notes=walk.notes(),
        metadata=metadata,
    )
    return (
        measured(
            document, _source([body]), added=walk.added, pictures=walk.left_out["pictures"], warnings=walk.warnings()
        ),
    )


def read_odp(content: bytes, *, uri: str, name: str) -> tuple[Document, ...]:
    """Read a presentation: each slide a section, `Block.page` its number. Hidden slides are left out, with a note.

    Raises:
        DocumentRejected: as `read_odt`.
    """
    package, body = _open_package(content, name, _ODP)
    with damaged(name):
        walk = _Walk(package)
        pages = [child for child in body if local(child) == "page"]
        chinese = any(map(has_han, body.itertext()))
        hidden = [number for number, page in enumerate(pages, 1) if walk.hides(page)]
        pieces = [
            piece
            for number, page in enumerate(pages, 1)
            if number not in hidden
            for piece in _slide(walk, page, number, chinese)
        ]
        title, metadata = _properties(package)
    told = ", ".join(map(str, hidden))
    document = assemble(
        pieces,
        Original(content, uri, name),
        title=title,
        media_type=_ODP,
        empty="none of its slides that are shown holds text",
        notes=[*([f"left out the hidden slides {told}"] if hidden else []), *walk.notes()],
        metadata=metadata,
    )
    warnings = [*([msg("hidden slides are not read: {numbers}", numbers=told)] if hidden else []), *walk.warnings()]
    return (
        measured(
            document, _source(pages), added=walk.added, pages=len(pages), pictures=walk.left_out["pictures"],
            warnings=warnings,
        ),
    )  # fmt: skip


def _open_package(content: bytes, name: str, media_type: str) -> tuple[Package, Any]:
    """The package, and the body element of its content."""
    package = Package(content, name=name, needs="content.xml")
    if "META-INF/manifest.xml" in package and b"encryption-data" in package.read("META-INF/manifest.xml"):
        raise rejected("it is encrypted", name)
    kind = _KINDS[media_type]
    with damaged(name):
        found = [part for body in package.xml("content.xml") if local(body) == "body" for part in body]
        if not found or local(found[0]) != kind:
            raise rejected(
                msg("the archive has no {needs}: it is another kind of file", needs=f"office:{kind}"), name
            )
    return package, found[0]


def _properties(package: Package) -> tuple[str, dict[str, Facet]]:
    found: dict[str, list[str]] = {}
    if "meta.xml" in package:
        for node in package.xml("meta.xml").iter():
            if (
                local(node) in ("title", "creator", "initial-creator", "subject", "keyword")
                and (node.text or "").strip()
            ):
                found.setdefault(local(node), []).append(" ".join((node.text or "").split())[:500])
    author = found.get("initial-creator") or found.get("creator") or [""]
    facets = {
        "author": author[0],
        "subject": found.get("subject", [""])[0],
        "keywords": ", ".join(found.get("keyword", []))[:500],
    }
    return found.get("title", [""])[0], {key: value for key, value in facets.items() if value}


def _source(roots: Iterable[Any]) -> Iterator[str]:
    """All text below elements, without comments and tracked deletions."""
    stack = list(roots)
    while stack:
        node = stack.pop()
        if isinstance(node.tag, str) and local(node) not in _UNREAD:
            yield node.text or ""
            stack.extend(node)
        yield node.tail or ""


def _slide(walk: _Walk, page: Any, number: int, chinese: bool) -> Iterator[Piece]:
    frames = [node for node in page if local(node) != "notes"]
    titles = [node for node in frames if attribute(node, "class") == "title" and any(map(str.strip, node.itertext()))]
    title = " ".join(walk.text(titles[0]).split()) if titles else ""
    body = [piece for node in frames if node not in titles[:1] for piece in walk.pieces([node])]
    spoken = [
        piece
        for notes in page
        if local(notes) == "notes"
        for frame in notes
        if attribute(frame, "class") == "notes"
        for piece in walk.pieces([frame])
    ]
    if not (title or any(piece.text.strip() for piece in (*body, *spoken))):
        return
    if made := not title:
        title = f"第 {number} 页" if chinese else f"Slide {number}"
        walk.added.append(title)
    yield Piece("heading", title, level=1, page=number, made=made)
    yield from (replace(piece, page=number) for piece in body)
    if any(piece.text.strip() for piece in spoken):
        walk.added.append(heading := "备注" if chinese else "Notes")
        yield Piece("heading", heading, level=2, page=number)
        yield from (replace(piece, page=number) for piece in spoken)


class _Level(NamedTuple):
    """Numbering of one level of a list; without a `form` items have a bullet or nothing."""

    form: str
    prefix: str
    suffix: str
    shown: int  # how many levels a number shows
    start: int
    bullet: bool


class _Styles:
    """Properties from a document's styles: list numbering, raised, lowered and struck text, the title style."""

    def __init__(self, package: Package) -> None:
        self.lists: dict[str, dict[int, _Level]] = {}
        self.outline: dict[int, _Level] = {}
        self.signs: dict[str, str] = {}  # of raised, lowered and struck text, by style
        self._parents: dict[str, str] = {}
        for part in ("styles.xml", "content.xml"):
            if part in package:
                for node in package.xml(part).iter():
                    self._take(node)

    def _take(self, node: Any) -> None:
        kind = local(node)
        if kind == "list-style":
            self.lists[attribute(node, "name")] = _levels(node)
        elif kind == "outline-style":
            self.outline = _levels(node)
        elif kind == "style":
            name = attribute(node, "name")
            self._parents[name] = attribute(node, "parent-style-name")
            for properties in node:
                if signs := _signs_of(properties):
                    self.signs[name] = signs

    def is_title(self, name: str) -> bool:
        for _ in range(10):  # damaged files have rings
            if name == "Title":
                return True
            name = self._parents.get(name, "")
        return False


def _signs_of(properties: Any) -> str:
    """The signs of raised, lowered and struck text among the properties of a style."""
    place = attribute(properties, "text-position").split()
    share = place[0].rstrip("%") if place else ""
    up = share == "super" or (share.lstrip("+").replace(".", "", 1).isdigit() and float(share) > 0)
    down = share == "sub" or share.startswith("-")
    out = attribute(properties, "text-line-through-style") not in ("", "none") or attribute(
        properties, "text-line-through-type"
    ) not in ("", "none")
    return notation.UP * up + notation.DOWN * down + notation.OUT * out


def _levels(style: Any) -> dict[int, _Level]:
    found = {}
    for node in style:
        number = attribute(node, "level")
        if number.isdigit():
            found[int(number)] = _Level(
                form=attribute(node, "num-format"),
                prefix=attribute(node, "num-prefix"),
                suffix=attribute(node, "num-suffix"),
                shown=covered(attribute(node, "display-levels")),
                start=covered(attribute(node, "start-value")),
                bullet=local(node) != "list-level-style-number" and local(node) != "outline-level-style",
            )
    return found


_STEMS = "甲乙丙丁戊己庚辛壬癸"
_FORMS: Mapping[str, Callable[[int], str]] = {
    "一": chinese_numeral,
    "壹": formal_numeral,
    "甲": lambda number: _STEMS[number - 1] if number <= len(_STEMS) else str(number),
    "①": enclosed("①", "⑳"),
    "a": lambda number: chr(ord("a") + (number - 1) % 26),
    "A": lambda number: chr(ord("A") + (number - 1) % 26),
    "i": lambda number: roman(number).lower(),
    "I": roman,
}
"""By the first sign of the form."""


def _number_text(number: int, form: str) -> str:
    """A number in one of ODF's number formats: ``1``, ``a``, ``I``, ``一, 二, 三, ...``, ``①, ②, ③, ...``."""
    return _FORMS.get(form[:1], str)(number)


class _Numbers:
    """Item counters for lists of one style."""

    def __init__(self, levels: Mapping[int, _Level]) -> None:
        self._levels = levels
        self._counts: dict[int, int] = {}

    def next(self, level: int, start: str = "") -> str:
        """The number or bullet of the next item: ``第十三条``, ``1.2``, ``-``; ``""`` for one without."""
        here = self._levels.get(level)
        if here is None:
            return "-"
        self._counts = {at: count for at, count in self._counts.items() if at <= level}
        first = int(start) if start.isdigit() and len(start) < 7 else 0
        self._counts[level] = first or self._counts.get(level, here.start - 1) + 1
        if here.bullet:
            return "-"
        if not here.form:
            return ""
        numbers = [
            _number_text(self._counts.get(at, 1), self._levels[at].form)
            for at in range(max(1, level - here.shown + 1), level + 1)
            if at in self._levels and self._levels[at].form
        ]
        return f"{here.prefix}{'.'.join(numbers)}{here.suffix}".strip()


class _Walk:
    """Walks a document body; counts list numbers, notes and omitted content."""

    def __init__(self, package: Package) -> None:
        self.title = ""
        self.added: list[str] = []
        self.left_out: Counter[str] = Counter()
        self.doubtful = 0  # passages that may be white on white
        self.unknown: Counter[str] = Counter()  # what is in the file and is not read, by kind
        self._package = package
        self._styles = _Styles(package)
        self._concealment = OdfConcealment(
            package.xml("styles.xml") if "styles.xml" in package else None, package.xml("content.xml")
        )
        self._unseen: dict[Any, str] = {}  # by element: why its own text is not seen
        self._outline = _Numbers(self._styles.outline)
        self._lists: dict[str, _Numbers] = {}
        self._notes = 0
        self._due: deque[tuple[int, Any]] = deque()

    def notes(self) -> tuple[str, ...]:
        return left_out_note({what: count for what, count in self.left_out.items() if what != "pictures"})

    def warnings(self) -> tuple[str, ...]:
        count = self.left_out["comments"]
        comments = (msg("comments are not read: {count}", count=count),) if count else ()
        told = "white text is read, since what lies under it is not known ({count} passages)"
        white = (msg(told, count=self.doubtful),) if self.doubtful else ()
        return (*comments, *white, *unread(self.unknown))

    def hides(self, node: Any) -> bool:
        """Whether an element is hidden with all in it."""
        return self._concealment.hides(node)

    def pieces(self, parent: Iterable[Any]) -> Iterator[Piece]:
        """The pieces below an element, in order."""
        stack = list(reversed(list(parent)))
        while stack:
            node = stack.pop()
            kind = local(node)
            if self._left(node, kind):
                continue
            if kind == "h":
                yield from self._heading(node, self._outline.next(covered(attribute(node, "outline-level"))) or "")
            elif kind == "p":
                yield from self._paragraph(node)
            elif kind == "list":
                yield from self._list(node)
            elif kind == "table":
                rows = list(self._rows(node))
                piece, repeated = table_piece(rows)
                self.added.append(repeated)
                yield piece
                yield from self._noted()
            else:
                self.left_out["pictures"] += kind == "image"
                self._look(node, kind)
                stack.extend(reversed(node))

    def _left(self, node: Any, kind: str) -> bool:
        """Whether an element is skipped; counts it if so."""
        if kind in _INDEXES:
            self.left_out["lines of the table of contents"] += 1
        elif kind == "tracked-changes":
            self.left_out["deleted passages"] += sum(local(each) == "deletion" for each in node.iter())
        elif kind == "annotation":
            self.left_out["comments"] += 1
        elif kind not in _UNREAD and self.hides(node):
            self.left_out["hidden passages"] += 1
        elif kind in SHAPES and self._concealment.beside(node):
            self.left_out["shapes beside the slide"] += any(map(str.strip, node.itertext()))
        else:
            return kind in _UNREAD or not kind
        return True

    def _heading(self, node: Any, mark: str) -> Iterator[Piece]:
        text = " ".join(self.text(node, noted=False).split())
        if text:
            # Without an outline style of its own a heading has a mark of lists, which is none.
            mark = "" if mark == "-" else mark
            self.added.append(mark)
            level = covered(attribute(node, "outline-level"))
            yield Piece("heading", f"{mark} {text}" if mark else text, level=min(level, 9))
            yield from self._noted()

    def _paragraph(self, node: Any, mark: str = "") -> Iterator[Piece]:
        text = self.text(node)
        if self._styles.is_title(attribute(node, "style-name")) and text.strip():
            self.title = self.title or " ".join(text.split())
            yield Piece("heading", " ".join(text.split()), level=1)
        elif text.strip():
            self.added.append(mark)
            yield Piece("paragraph", f"{mark} {text}" if mark else text)
        yield from self._noted()

    def _noted(self) -> Iterator[Piece]:
        """The notes referred to by the last passage, each with its number."""
        while self._due:
            number, body = self._due.popleft()
            text = " ".join(self.text(body).split())
            self.added.append(f"[{number}]" * 2)
            yield Piece("paragraph", f"[{number}] {text}" if text else "")

    def _list(self, root: Any) -> Iterator[Piece]:
        """A list as one piece; headings and articles among its items become their own pieces."""
        lines: list[str] = []
        for item, level, mark in self._items(root):
            kind = local(item)
            article = kind == "p" and mark not in ("", "-") and (found := opening(f"{mark} {self.text(item)}"))
            alone = article and found and found.kind not in ("point", "clause")
            if kind == "p" and not alone:
                text = " ".join(self.text(item).split())
                self.added.append("" if mark == "-" or mark.rstrip(".)").isdigit() else mark)
                if text:
                    lines.append(f"{'  ' * (level - 1)}{mark}{' ' if mark else '  '}{text}")
                continue
            if lines:
                yield Piece("list", "\n".join(lines))
                yield from self._noted()
                lines = []
            if kind == "h":
                yield from self._heading(item, mark)
            elif kind == "p":
                yield from self._paragraph(item, mark)
            else:
                yield from self.pieces([item])
        if lines:
            yield Piece("list", "\n".join(lines))
        yield from self._noted()

    def _items(self, root: Any) -> Iterator[tuple[Any, int, str]]:
        """The elements in a list, each with its depth and the bullet or number of the item that it starts."""
        style = attribute(root, "style-name")
        goes_on = attribute(root, "continue-numbering") == "true" or attribute(root, "continue-list")
        if style not in self._lists or not goes_on:
            self._lists[style] = _Numbers(self._styles.lists.get(style, {}))
        numbers = self._lists[style]
        stack = [(child, 1) for child in reversed(root)]
        while stack:
            item, level = stack.pop()
            if local(item) not in ("list-item", "list-header") or self.hides(item):
                continue
            mark = ""
            opened = False
            later = []
            for child in item:
                kind = local(child)
                if kind == "list":
                    later += [(inner, level + 1) for inner in child]
                    continue
                if local(item) == "list-item" and not opened:
                    mark, opened = numbers.next(level, attribute(item, "start-value")), True
                elif opened:
                    mark = ""
                yield child, level, mark
            stack.extend(reversed(later))

    def _rows(self, table: Any) -> Iterator[Sequence[Spanning]]:
        """The rows of a table, including header rows and row groups."""
        stack = list(reversed(table))
        while stack:
            node = stack.pop()
            kind = local(node)
            if kind in ("table-header-rows", "table-rows", "table-row-group"):
                stack.extend(reversed(node))
            elif kind == "table-row" and not self._hidden_row(node):
                yield [
                    Spanning(
                        " ".join(" ".join(self.text(part) for part in cell).split()),
                        covered(attribute(cell, "number-rows-spanned")),
                        covered(attribute(cell, "number-columns-spanned")),
                    )
                    for cell in node
                    if local(cell) == "table-cell"
                    for _ in range(min(covered(attribute(cell, "number-columns-repeated")), _MAX_REPEATED))
                ]

    def _hidden_row(self, row: Any) -> bool:
        hidden = attribute(row, "visibility") in ("collapse", "filter")
        self.left_out["hidden rows"] += hidden
        return hidden

    def text(self, root: Any, *, noted: bool = True) -> str:
        """Visible text below an element; inner paragraphs start on new lines.

        Args:
            noted: Numbers of notes stand in the text, and the notes come after the passage.
        """
        parts: list[str] = []
        stack: list[Any] = [root]
        while stack:
            node = stack.pop()
            if isinstance(node, str):
                parts.append(node)
                continue
            if node is not root:
                stack.append(self._seen(node.getparent(), node.tail))
            kind = local(node)
            if kind == "s":
                parts.append(" " * covered(attribute(node, "c")))
            elif kind in _SIGNS:
                parts.append(_SIGNS[kind])
            elif kind == "note":
                parts.append(self._reference(node) if noted else "")
            elif not self._left(node, kind):
                if kind in ("p", "h") and node is not root:
                    parts.append("\n")
                stack += self._within(node, kind)
        return notation.plain(_AROUND_BREAK.sub("\n", "".join(parts)))

    def _within(self, node: Any, kind: str) -> list[Any]:
        """What an element holds, last first: texts, and elements to be walked."""
        self.left_out["pictures"] += kind == "image"
        if kind == "object" and (formula := self._formula(node)):
            return [formula]
        self._look(node, kind)
        signs = self._styles.signs.get(attribute(node, "style-name"), "") if kind in ("span", "p", "h") else ""
        after = ["\n"] * (kind == "text-box") + [notation.END * len(signs)] * bool(signs)
        return [*after, *reversed(node), self._seen(node, node.text), *([signs] if signs else [])]

    def _seen(self, node: Any, text: str | None) -> str:
        """What is seen of a text that stands in an element itself; it is counted if it is not."""
        shown = _SPACE.sub(" ", text or "")
        if not shown.strip():
            return shown
        if node not in self._unseen:
            self._unseen[node] = why = self._concealment.unseen(node)
            self.doubtful += why == "open"
            if why and why != "open":
                self.left_out[why] += 1
        return shown if self._unseen[node] in ("", "open") else " "

    def _look(self, node: Any, kind: str) -> None:
        """Count an element that holds something and is of a kind that is not read."""
        if kind == "object":
            root = self._object(node)
            held = (
                [local(part) for body in root if local(body) == "body" for part in body] if root is not None else []
            )
            self.unknown["chart" if held == ["chart"] else "embedded object"] += 1
        elif kind in _APART:
            self.unknown[_APART[kind]] += 1

    def _object(self, node: Any) -> Any:
        """The content of an embedded object; None where the package has none."""
        part = posixpath.normpath(attribute(node, "href") or ".") + "/content.xml"
        return self._package.xml(part) if part in self._package else None

    def _formula(self, node: Any) -> str:
        """An embedded formula on one line; ``""`` for other objects."""
        root = self._object(node)
        if root is None or local(root) != "math":
            return ""
        text = formulas.of_mathml(formulas.from_xml(root))
        self.added.append(text)
        return text

    def _reference(self, note: Any) -> str:
        """The number of a note at its reference; queues the note for output after the passage."""
        body = next((child for child in note if local(child) == "note-body"), None)
        if body is None:
            return ""
        self._notes += 1
        self._due.append((self._notes, body))
        return f"[{self._notes}]"
