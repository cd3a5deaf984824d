"""The walk over a parsed page of HTML: which elements are seen, and what piece each of them becomes."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

from wenyuan.core.model import BlockKind
from wenyuan.core.redaction.columns import ColumnKinds
from wenyuan.readers import formulas, notation
from wenyuan.readers.alternative_text import picture_text
from wenyuan.readers.assemble import EMPTY_CELL, Cell, Piece, joined, left_out_note
from wenyuan.readers.html_concealment import NONE, WHITE, Ground, Shade, blends, conceals, ground, shade, silent
from wenyuan.readers.page_layers import Layers
from wenyuan.readers.page_openings import Openings, when_open
from wenyuan.readers.style_sheet import StyleSheet

#
# It does not recurse, since a page may nest a hundred thousand elements deep.


_UNSEEN = frozenset(
    "script style template noscript iframe object svg datalist select rp rt title canvas audio video".split()
)
_AROUND = frozenset("nav footer".split())
_SIDES = frozenset(
    "sidebar related toc nav navigation menu ad ads advert advertisement share social promo newsletter".split()
)
_NOTATION = {"sup": notation.UP, "sub": notation.DOWN, **dict.fromkeys(("s", "del", "strike"), notation.OUT)}
_RAISING = re.compile(
    r"(?:^|;)(?:vertical-align:(super|sub)(?![a-z])|text-decoration(?:-line)?:[a-z ]*(line-through))"
)
_MOVED = re.compile(r"(?:^|;)top:(-?)0?\.[0-9]+em")
_SMALLER = re.compile(r"(?:^|;)font-size:(?:0?\.[0-8][0-9]*em|[1-8][0-9](?:\.[0-9]+)?%)")
_CLASS = re.compile(r"(?:[a-zA-Z]\w*)?\.([\w-]+)")
_AROUND_ROLES = frozenset("navigation search contentinfo complementary".split())
_AROUND_CLASSES = frozenset("navheader navfooter related sphinxsidebar headerlink".split())
"""What DocBook and Sphinx put around a page's text: running heads, ways to other pages, and to itself."""
_TO_ITSELF = frozenset(("¶", "§", "#", "🔗", "∞", "⚓"))
_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_BLOCKS = frozenset(
    "p div section article main header address blockquote figure figcaption fieldset form legend details "
    "summary hgroup dl dt dd hr center caption li ul ol table tbody thead tfoot tr td th pre".split()
) | frozenset(_HEADINGS)
_NOT_SIMPLE = {"table": "table, h1, h2, h3, h4, h5, h6", "ul": "table, pre, h1, h2, h3, h4, h5, h6"}
_ARRANGED = "ul, ol, dl, pre, p ~ p"
"""What only a table that arranges the page has in its one row: an index in columns, for one."""
_SPACE = re.compile(r"[ \t\r\n\f]+")
_WIDE = r"[\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\uff00-\uff60\U00020000-\U0003ffff]"
_SOFT_BETWEEN_WIDE = re.compile(rf"(?<={_WIDE})[ \r]*\r[ \r]*(?={_WIDE})")
_MAX_SPAN = 1_000
_BROKEN = "  "
"""A line break in a cell: words on both sides of it are no phrase, to a browser neither."""
_EMPTY = " "
"""A cell without text, which keeps its place; one that a span covers is ``""``, and has none."""


NOT_TEXT = ", ".join((
    "script, style, template, noscript, annotation, annotation-xml", *sorted(_AROUND), *(f"[role={role}]" for role in sorted(_AROUND_ROLES)),
    *(f".{name}" for name in sorted(_AROUND_CLASSES)),
))  # fmt: skip


class _Line(NamedTuple):
    """A line of a piece, and the nearest anchor at or above its text."""

    text: str
    anchor: str
    cells: Sequence[tuple[int, int, str]] = ()


class Page:
    """The pieces of a page's body in order, and counts of the elements left out.

    Args:
        styles: The page's own style sheets, of which hidden, raised, lowered and struck text counts.
        foreign: Whether style sheets from elsewhere count, too, which are not read.

    Attributes:
        unseen: The nodes that nobody sees, which are in no piece.
    """

    def __init__(self, body: Any, styles: str = "", *, foreign: bool = False) -> None:
        self.unseen: list[Any] = []
        self._body = body
        self._sheet = StyleSheet(body, styles)
        self._openings = Openings(body)
        self._paper = Ground(None, None if foreign else WHITE, 0)
        self._grounds: dict[int, Ground] = {}  # of elements whose colours are not those of the page
        self._blended: set[int] = set()
        self._classes = raising_classes(styles)
        self.pieces: list[Piece] = []
        self.added: list[str] = []  # repeated in each row that a cell covers
        self._left_out: Counter[str] = Counter()
        self._inline: list[str] = []
        self._names = _names(body)
        self._anchor = ""  # the last that was met
        self._opening: str | None = None  # that of the current paragraph
        self._shades: dict[int, Shade] = {}
        self._shading: set[int] = set()
        self._signs: dict[int, str] = {}  # of raised, lowered and struck text, by element
        self._term: list[str] = []  # of a definition list, until what it means is met
        if body is not None:
            if body.parent is not None and body.parent.tag == "html":
                self._stand(body.parent, body.parent.attributes, self._sheet.of(body.parent, body.parent.attributes))
            self._walk(body)

    @property
    def left_out(self) -> Counter[str]:
        """Number of elements left out, by kind."""
        blended = {"text in the colour of its ground": len(self._blended), "style rules": self._sheet.cut}
        return self._left_out + Counter({"hidden elements": len(self._shading), **blended})

    def notes(self) -> tuple[str, ...]:
        """Notes on what was left out, e.g. ``"left out hidden elements (2), nav (1)"``."""
        return left_out_note(self.left_out)

    def _walk(self, body: Any) -> None:
        stack = [(body, False)]
        while stack:
            node, leaving = stack.pop()
            if node.is_text_node:
                self._inline.append(text := self._signed(node, _soft(self._shown(node))))
                if self._opening is None and text.strip():
                    self._opening = self._anchor
            elif leaving:
                self._flush(term=node.tag == "dt")
            elif self._seen(node) and not self._whole(node):
                if (said := _said_by(node)) is not None:
                    self._inline.append(said)
                    self.added.append(said)
                    continue
                if node.tag == "br":
                    self._inline.append("\n")
                elif node.tag in _BLOCKS:
                    self._flush()
                    stack.append((node, True))
                stack.extend((child, False) for child in _children(node))
        self._flush()
        self._define("")

    def _flush(self, *, term: bool = False) -> None:
        if self._inline:
            text = _block_text("".join(self._inline))
            if term and text:
                self._term.append(text.replace("\n", " "))
            elif text:
                self.pieces.append(Piece("paragraph", self._define(text), anchor=self._opening or ""))
            self._inline.clear()
            self._opening = None if not self._term else self._opening

    def _define(self, text: str) -> str:
        """What a term means, after the term itself: an option stays with its description."""
        if not self._term:
            return text
        terms, self._term = ", ".join(self._term), []
        if not text:
            self.pieces.append(Piece("paragraph", terms, anchor=self._opening or ""))
            return ""
        colon = "" if terms.endswith((":", "：")) else "：" if terms[-1] >= "\u2e80" else ": "
        self.added.append(colon)
        return f"{terms}{colon or ' '}{text}"

    def _signed(self, node: Any, text: str) -> str:
        """The text of a text node with the signs of raised, lowered and struck text around it."""
        signs = self._signs.get(node.parent.mem_id, "") if self._signs else ""
        return f"{signs}{text}{notation.END * len(signs)}" if signs and text.strip() else text

    def _whole(self, node: Any) -> bool:
        """Handle an element that makes one piece; False when its children must be visited."""
        tag = node.tag
        kind: BlockKind
        if tag in _HEADINGS:
            kind, lines = "heading", self._heading_lines(node)
        elif tag == "pre":
            kind, lines = "code", self._code_lines(node)
        elif tag == "table" and _simple(node, "table"):
            kind, lines = "table", self._table_lines(node)
        elif tag in ("ul", "ol") and _simple(node, "ul"):
            kind, lines = "list", self._list_lines(node)
        else:
            return False
        self._flush()
        piece = _anchored(kind, list(lines), _HEADINGS.get(tag, 0))
        if piece.text.strip():
            self._define("")
        self.pieces.append(piece)
        return True

    def _seen(self, node: Any) -> bool:
        if not node.is_element_node:
            self._left_out["comments"] += node.is_comment_node
            return False
        attributes = node.attributes
        if around := _around(node, attributes):
            self._left_out[around] += 1
            return False
        said = self._sheet.of(node, attributes)
        if opened := self._openings.open(attributes):
            said = when_open(said)
        if why := "" if opened and not conceals(node.tag, said, {}) else self._concealed(node, attributes, said):
            self._left_out[why] += 1
            self.unseen.append(node)
            return False
        self._anchor = self._names.get(node.mem_id, self._anchor)
        above = self._shades.get(node.parent.mem_id) if self._shades and node.parent is not None else None
        shadow = shade(node, said, above)
        if shadow is not None:
            self._shades[node.mem_id] = shadow
        self._stand(node, attributes, said)
        signs = self._signs.get(node.parent.mem_id, "") if self._signs and node.parent is not None else ""
        if (own := _sign_of(node, attributes, self._classes)) not in signs or not own:
            signs += own
        if signs:
            self._signs[node.mem_id] = signs
        return True

    @cached_property
    def _layers(self) -> Layers:
        return Layers(self._body, self._sheet)

    @cached_property
    def _length(self) -> int:
        return len(self._body.text())

    def _concealed(self, node: Any, attributes: Mapping[str, str | None], said: Mapping[str, str]) -> str:
        """Why an element is left out with all that stands within; ``""`` where it is seen."""
        if conceals(node.tag, said, attributes):
            most = self._sheet.hides(node) and 2 * len(node.text()) > self._length
            return "" if most else "hidden elements"  # what hides most of a page does so until a script has run
        return "elements that aria-hidden hides" if silent(node, attributes) else ""

    def _stand(self, node: Any, attributes: Mapping[str, str | None], said: Mapping[str, str]) -> None:
        """Remember the colours of an element, where they are not those of the page."""
        above = self._paper
        if self._grounds and node.parent is not None:
            above = self._grounds.get(node.parent.mem_id, above)
        if said or attributes or above is not self._paper or node.tag == "mark":
            found = ground(node, said, attributes, above)
            if found is not self._paper:
                self._grounds[node.mem_id] = found

    def _shown(self, node: Any) -> str:
        """The text of a text node; of a hidden one only the space that separates its neighbours."""
        text: str = node.text()
        shadow = self._shades.get(node.parent.mem_id) if self._shades else None
        colours = self._grounds.get(node.parent.mem_id) if self._grounds else None
        blended = colours is not None and blends(colours)
        if not (shadow or blended) or not text.strip():
            return text
        if not shadow and colours is not None and self._layers.uncertain(node.parent, clear=colours.letters == NONE):
            return text
        if shadow:
            self._shading.add(shadow.origin)
        elif colours is not None:
            self._blended.add(colours.origin)
        self.unseen.append(node)
        return ""

    def _events(self, root: Any, *, raw: bool = False) -> Iterator[tuple[Any, bool]]:
        """Traverse below `root`: ``(text, False)``, ``(element, False)`` at its start, ``(element, True)`` at its
        end.
        """
        stack = [(child, False) for child in _children(root)]
        while stack:
            node, leaving = stack.pop()
            if node.is_text_node:
                yield self._signed(node, self._shown(node) if raw else _soft(self._shown(node))), False
            elif leaving:
                yield node, True
            elif self._seen(node):
                if (said := _said_by(node)) is not None:
                    self.added += [said] * (node.tag == "img")
                    yield said, False
                    continue
                if raw and node.tag == "br":
                    yield "\n", False
                yield node, False
                stack.append((node, True))
                stack.extend((child, False) for child in _children(node))

    def _heading_lines(self, root: Any) -> Iterator[_Line]:
        parts = []
        anchor: str | None = None
        for event, _ in self._events(root):
            if isinstance(event, str):
                anchor = self._anchor if anchor is None and event.strip() else anchor
                parts.append(event)
            elif event.tag == "br" or event.tag in _BLOCKS:
                parts.append("\n")
        yield _Line(_block_text("".join(parts)).replace("\n", " "), anchor or "")

    def _code_lines(self, root: Any) -> Iterator[_Line]:
        line, anchor = "", ""
        for event, _ in self._events(root, raw=True):
            first, *more = event.split("\n") if isinstance(event, str) else ("",)
            anchor = anchor if line.strip() else self._anchor
            line += first
            for part in more:
                yield _Line(notation.plain(line), anchor)
                line, anchor = part, self._anchor
        yield _Line(notation.plain(line), anchor)

    def _table_lines(self, table: Any) -> Iterator[_Line]:
        rows: list[list[str]] = []
        anchors: list[str] = []
        spans: dict[int, tuple[int, str]] = {}
        cells: list[tuple[str, int, int]] = []
        inline: list[str] = []
        anchor: str | None = None
        for event, leaving in self._events(table):
            if isinstance(event, str):
                anchor = self._anchor if anchor is None and event.strip() else anchor
                inline.append(event)
            elif event.tag in ("td", "th", "caption"):
                text = _block_text("".join(inline)).replace("\n", _BROKEN)
                inline = []
                if leaving and event.tag == "caption":
                    rows.append([text])
                    anchors.append(anchor or "")
                    anchor = None
                elif leaving:
                    cells.append((text, _span(event, "rowspan"), _span(event, "colspan")))
            elif event.tag == "tr" and leaving:
                rows.append(_spread(cells, spans, self.added))
                anchors.append(anchor or "")
                cells, anchor = [], None
            elif event.tag == "br" or event.tag in _BLOCKS:
                inline.append("\n")
        return _table_lines(rows, anchors)

    def _list_lines(self, root: Any) -> Iterator[_Line]:
        """One line per list item, indented by depth; further paragraphs of an item have no bullet."""
        numbers = [_first_number(root)]
        mark, line = "", [""]
        anchor: str | None = None
        for event, leaving in self._events(root):
            if isinstance(event, str):
                anchor = self._anchor if anchor is None and event.strip() else anchor
                line.append(event)
            elif event.tag == "br" or event.tag in _BLOCKS:
                text = _block_text("".join(line)).replace("\n", " ")
                line = []
                if text:
                    yield _Line((mark or "  " * len(numbers)) + text, anchor or "")
                    mark, anchor = "", None
            if isinstance(event, str):
                continue
            if event.tag in ("ul", "ol"):
                numbers = numbers[:-1] if leaving else [*numbers, _first_number(event)]
            elif event.tag == "li" and not leaving and numbers:
                mark = "  " * (len(numbers) - 1) + (f"{numbers[-1]}. " if numbers[-1] else "- ")
                numbers[-1] += bool(numbers[-1])
        text = _block_text("".join(line)).replace("\n", " ")
        if text:
            yield _Line(text, anchor or "")


def _anchored(kind: BlockKind, lines: list[_Line], level: int) -> Piece:
    """A piece of these lines, with the anchor of its first line and the offsets at which other anchors start."""
    at, above, inner = 0, lines[0].anchor if lines else "", []
    told: list[tuple[int, int, str]] = []
    for text, anchor, cells in lines:
        told += ((at + start, at + end, kind) for start, end, kind in cells)
        if text.strip() and anchor not in (above, ""):
            inner.append((at, anchor))
            above = anchor
        at += len(text) + 1
    text = "\n".join(line.text for line in lines)
    return Piece(kind, text, level=level, anchor=lines[0].anchor if lines else "", inner=tuple(inner), cells=told)


def _names(body: Any) -> dict[int, str]:
    """Anchor name by element: the ids a browser would scroll to, and names of links where no id is equal."""
    found: dict[str, int] = {}
    for attribute, elements in (("id", "[id]"), ("name", "a[name]")):
        for node in body.css(elements) if body is not None else ():
            name = node.attributes.get(attribute) or ""
            if name.strip():
                found.setdefault(name, node.mem_id)
    return {element: name for name, element in reversed(found.items())}


def _around(node: Any, attributes: dict[str, str | None]) -> str:
    """The kind of an element that is no content (script, navigation, footer …); ``""`` for content."""
    if node.tag in _UNSEEN or node.tag in _AROUND:
        return str(node.tag)
    if node.tag == "aside" and _beside(node, attributes):
        return "aside"
    if not attributes:
        return ""
    if (role := (attributes.get("role") or "").strip().lower()) in _AROUND_ROLES:
        return role
    for name in (attributes.get("class") or "").split():
        if name in _AROUND_CLASSES:
            return name
    to_itself = (
        node.tag == "a" and (attributes.get("href") or "").startswith("#") and node.text().strip() in _TO_ITSELF
    )
    return "headerlink" if to_itself else ""


def _beside(node: Any, attributes: dict[str, str | None]) -> bool:
    """Whether an aside is a way to other pages rather than a note, a warning box or a book's footnote: it says so, or half of
    its words are links.
    """
    role = f"{attributes.get('role') or ''} {attributes.get('epub:type') or ''}".strip()
    if role:
        return any(word in _AROUND_ROLES for word in role.lower().split())
    if not _SIDES.isdisjoint(re.split(r"[\s_-]+", (attributes.get("class") or "").lower())):
        return True
    links = sum(
        len(link.text().strip()) for link in node.css("a") if not (link.attributes.get("href") or "").startswith("#")
    )
    return 2 * links > len(node.text().strip())


def _sign_of(node: Any, attributes: dict[str, str | None], classes: Mapping[str, str]) -> str:
    """The sign of raised, lowered or struck text that an element makes; ``""`` for others."""
    sign = _NOTATION.get(node.tag, "")
    if not sign and attributes and (style := attributes.get("style")):
        sign = _raised_by(style)
    if not sign and classes and attributes:
        names = (attributes.get("class") or "").split()
        sign = next((classes[name] for name in names if name in classes), "")
    return sign


def _raised_by(style: str) -> str:
    said = _SPACE.sub("", style).lower()
    if found := _RAISING.search(said):
        return {"super": notation.UP, "sub": notation.DOWN}.get(found[1], notation.OUT)
    moved = _MOVED.search(said) if "position:relative" in said and _SMALLER.search(said) else None
    return "" if moved is None else notation.UP if moved[1] else notation.DOWN


def raising_classes(styles: str) -> dict[str, str]:
    """The signs of raised, lowered and struck text by the name of the class that makes it, of a style sheet."""
    if not any(word in styles for word in ("vertical-align", "line-through", "relative")):
        return {}
    found: dict[str, str] = {}
    for rule in styles.split("}"):
        chosen, _, said = rule.rpartition("{")
        if sign := _raised_by(said):
            names = (_CLASS.fullmatch(each.strip()) for each in chosen.rpartition(";")[2].split(","))
            found |= {name[1]: sign for name in names if name}
    return found


def _said_by(node: Any) -> str | None:
    """What an element says as a whole, a formula, a picture or a box to tick; None for others."""
    if node.tag == "math":
        return formulas.of_mathml(formulas.from_html(node))
    if node.tag == "img" and (text := picture_text(node.attributes.get("alt"))):
        return f" {text} "
    if node.tag == "input" and (node.attributes.get("type") or "").strip().lower() in ("checkbox", "radio"):
        return "☑ " if "checked" in node.attributes else "☐ "
    return None


def _children(node: Any) -> Iterator[Any]:
    """Child nodes in reverse order, to be pushed on a stack."""
    child = node.last_child
    while child is not None:
        yield child
        child = child.prev


def _simple(node: Any, kind: str) -> bool:
    """Whether a table holds only text cells, rather than laying out the page; likewise for a list."""
    if any(inner.mem_id != node.mem_id for inner in node.css(_NOT_SIMPLE[kind])):
        return False
    return kind != "table" or len(node.css("tr")) != 1 or node.css_first(_ARRANGED) is None


def _soft(text: str) -> str:
    r"""Source text with white space collapsed: ``\r`` where it contained a line break, else one space."""
    return _SPACE.sub(lambda run: "\r" if "\n" in run[0] or "\r" in run[0] else " ", text)


def _block_text(text: str) -> str:
    r"""Text of a block: ``\n`` stays a line break; ``\r`` becomes a space between Latin words, nothing between
    Chinese characters.
    """
    text = _SOFT_BETWEEN_WIDE.sub("", text.replace("\xa0", " "))
    text = re.sub(r"[ \r]+", " ", text)
    return notation.plain(re.sub(r" ?\n[ \n]*", "\n", text).strip(" \n"))


def _whole_number(node: Any, attribute: str, default: int) -> int:
    value = (node.attributes.get(attribute) or "").strip()
    return int(value) if value.isascii() and value.isdigit() and len(value) < 7 else default


def _span(node: Any, attribute: str) -> int:
    return min(max(_whole_number(node, attribute, 1), 1), _MAX_SPAN)


def _first_number(node: Any) -> int:
    """Number of an ordered list's first item; 0 for bullet lists."""
    return _whole_number(node, "start", 1) or 1 if node.tag == "ol" else 0


def _table_lines(rows: list[list[str]], anchors: list[str]) -> Iterator[_Line]:
    """One line per row; ``–`` stands for empty cells before filled ones, so that values stay below their headers."""
    used = {at for row in rows for at, cell in enumerate(row) if cell.strip()}
    kinds = ColumnKinds()
    for row, anchor in zip(rows, anchors, strict=True):
        told = kinds.of({at: cell.strip() for at, cell in enumerate(row) if cell.strip()})
        last = max((at for at, cell in enumerate(row) if cell.strip()), default=-1)
        if last >= 0:
            shown = [(at, cell.strip()) for at, cell in enumerate(row[: last + 1]) if cell and at in used]
            text, cells = joined(
                (Cell(cell or EMPTY_CELL, told.get(at, "") if cell else "") for at, cell in shown), " | "
            )
            yield _Line(text, anchor, cells)


def _spread(cells: list[tuple[str, int, int]], spans: dict[int, tuple[int, str]], repeated: list[str]) -> list[str]:
    """A row's texts by column, with cells that span from rows above repeated, so that each row is complete.

    Args:
        cells: Text, rows and columns that it covers, for each cell written in this row.
        spans: By column, how many more rows a text covers; brought up to date.
        repeated: Takes the texts that are repeated.
    """
    row: list[str] = []
    written = iter(cells)
    while True:
        if len(row) in spans:
            left, text = spans.pop(len(row))
            if left > 1:
                spans[len(row)] = (left - 1, text)
            repeated.append(text)
            row.append(text)
            continue
        cell = next(written, None)
        if cell is None:
            return row
        text, down, across = cell
        beside = "" if text else _EMPTY
        text = text or _EMPTY
        if down > 1:
            spans |= {len(row) + i: (down - 1, text if i == 0 else beside) for i in range(across)}
        row += [text] + [beside] * (across - 1)
