"""Text of OpenDocument files that nobody sees: hidden, without a colour, tiny, in the colour of its ground, beside its slide."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from wenyuan.readers.markup import local

Colour = tuple[int, int, int]
WHITE: Colour = (255, 255, 255)
_HEX = re.compile(r"#([0-9a-fA-F]{6})\Z")
_LENGTH = re.compile(r"(-?[0-9]{0,9}(?:\.[0-9]{0,9})?)(pt|cm|mm|in|inch|pc|px|%)\Z")
_POINTS = {"pt": 1.0, "cm": 72 / 2.54, "mm": 7.2 / 2.54, "in": 72.0, "inch": 72.0, "pc": 12.0, "px": 0.75}
SMALLEST = 1.0  # points
_AWAY = -500.0  # points: an indent that begins beyond the edge of a page
_CLEAR = 4.0  # per cent of opacity
NEAR = 8  # of 255, between colours that no eye tells apart
_DEPTH = 10  # of styles with parents; damaged files have rings
_HIGHEST = 60  # elements above a text that are asked for its colours
_DRAWN = ("font-relief", "text-shadow")
"""Letters that have an edge of another colour."""
_OF_TEXT = ("color", "font-size", "opacity", "use-window-font-color", *_DRAWN)
_LETTERS = frozenset(("span", "a", "p", "h"))
_FAMILIES = {
    "span": "text", "a": "text", "p": "paragraph", "h": "paragraph", "table-cell": "table-cell", "table-row": "table-row",
    "table": "table", "section": "section", "page": "drawing-page",
}  # fmt: skip
SHAPES = frozenset(
    "frame rect custom-shape ellipse circle path polygon regular-polygon line connector caption".split()
)
_NOTHING = ("background-color", "transparent")
_PROPERTIES = frozenset((
    *_OF_TEXT, "background-color", "fill", "fill-color", "display", "visibility", "run-through", "margin-left",
))  # fmt: skip


class _Ground(NamedTuple):
    """What lies under a text: its colour, None where that is not known."""

    colour: Colour | None


class OdfConcealment:
    """Says of an element whether its text is seen.

    Args:
        styles: The root of ``styles.xml``; None without it.
        content: That of ``content.xml``.
    """

    def __init__(self, styles: Any | None, content: Any) -> None:
        self._styles: dict[tuple[str, str], tuple[str, Mapping[str, str]]] = {}
        self._resolved: dict[tuple[str, str], Mapping[str, str]] = {}
        self._layers: set[str] = set()
        self._sizes: dict[str, tuple[float, float]] = {}  # of pages, by layout
        self._masters: dict[str, Any] = {}
        self._layouts: dict[str, str] = {}  # of pages, by master
        self._paper: Colour | None = WHITE
        for root in (styles, content):
            for node in () if root is None else root.iter():
                if isinstance(node.tag, str):
                    self._take(node)
            if root is styles:
                self._of_masters = dict(self._styles)
        self._behind = any(said.get("run-through") == "background" for _, said in self._styles.values())
        self._moves = next((True for node in content.iter() if local(node) == "animateMotion"), False)
        self._crowded: dict[Any, int] = {}  # by slide: how many things on it may lie under others
        self._may_hide = any(map(_suspicious, (said for _, said in self._styles.values())))

    def _take(self, node: Any) -> None:
        kind = local(node)
        if kind in ("style", "default-style"):
            name = attribute(node, "name") if kind == "style" else ""
            said = dict(_said(node))
            self._styles[attribute(node, "family"), name] = (attribute(node, "parent-style-name"), said)
        elif kind == "layer" and attribute(node, "display") in ("none", "printer"):
            self._layers.add(attribute(node, "name"))
        elif kind == "page-layout":
            for properties in node:
                if local(properties) == "page-layout-properties":
                    size = [points(attribute(properties, each)) for each in ("page-width", "page-height")]
                    self._sizes[attribute(node, "name")] = (size[0], size[1])
                    if _fill({key.rpartition("}")[2]: value for key, value in properties.attrib.items()}) not in (
                        None,
                        _Ground(WHITE),
                    ):
                        self._paper = None
        elif kind == "master-page":
            self._masters[attribute(node, "name")] = node
            self._layouts[attribute(node, "name")] = attribute(node, "page-layout-name")

    def hides(self, node: Any) -> bool:
        """Whether an element is hidden with all in it: by itself, its style, its layer, or a field that says so."""
        kind = local(node)
        if attribute(node, "display") == "none" or (kind == "section" and attribute(node, "is-hidden") == "true"):
            return True
        if self._layers and attribute(node, "layer") in self._layers:
            return True
        said = self._of(node, kind)
        return said.get("display") == "none" or said.get("visibility") == "hidden"

    def beside(self, shape: Any) -> bool:
        """Whether a shape lies wholly outside of its slide."""
        page = next((each for each in shape.iterancestors() if local(each) == "page"), None)
        if page is None or self._moves or attribute(shape, "transform") or local(shape.getparent()) != "page":
            return False
        size = self._sizes.get(self._layouts.get(attribute(page, "master-page-name"), ""), (0.0, 0.0))
        left, top, width, height = (points(attribute(shape, name)) for name in ("x", "y", "width", "height"))
        if not all(size):
            return False
        return left + width < 0 or top + height < 0 or left > size[0] or top > size[1]

    def unseen(self, node: Any) -> str:
        """Why the text that stands in an element itself is not seen; ``""`` where it is, ``open`` where that is not known."""
        if not self._may_hide:
            return ""
        said: dict[str, str] = {}
        ground: _Ground | None = None
        holder = node
        for holder in _upward(node):
            kind = local(holder)
            own = self._of(holder, kind)
            if kind in _LETTERS:  # LibreOffice draws letters of a shape in no colour of the shape's style
                said = {**{name: own[name] for name in _OF_TEXT if name in own}, **said}
            if points(own.get("margin-left", "")) <= _AWAY:
                return "runs beyond the page"
            ground = ground or _fill(own, shape=kind in SHAPES)
            if kind == "table" and attribute(holder, "template-name"):
                ground = ground or _Ground(None)
            if kind == "page":
                break
        usual = self._resolve("paragraph", "")
        said = {**{name: usual[name] for name in _OF_TEXT if name in usual}, **said}
        return self._judged(said, ground, holder)

    def _judged(self, said: Mapping[str, str], ground: _Ground | None, page: Any) -> str:
        if 0 < points(said.get("font-size", "12pt")) <= SMALLEST:
            return "runs too small to be seen"
        if said.get("use-window-font-color") == "true":  # LibreOffice writes that as clear, too
            return ""
        if (
            0 < _percent(said.get("opacity", "100%")) < _CLEAR
        ):  # LibreOffice draws letters of 0 % as if it were not said
            return "runs without a colour"
        letters = colour_of(said.get("color", ""))
        if letters is None or any(said.get(name, "none") not in ("none", "false", "") for name in _DRAWN):
            return ""
        known = ground is not None and ground.colour is not None
        below = ground.colour if ground is not None else self._page_colour(page)
        if below is None:
            return "open" if apart(letters, WHITE) < NEAR else ""
        if apart(letters, below) >= NEAR:
            return ""
        if not known and (self._behind or self._is_crowded(page)):
            return "open"
        return "white runs" if below == WHITE else "runs in the colour of their ground"

    def _page_colour(self, page: Any) -> Colour | None:
        if local(page) != "page":
            return self._paper
        found = _fill(self._of(page, "page"))
        master = self._masters.get(attribute(page, "master-page-name"))
        if found is None and master is not None:
            found = _fill(self._resolve("drawing-page", attribute(master, "style-name"), self._of_masters))
        return WHITE if found is None else found.colour

    def _is_crowded(self, page: Any) -> bool:
        """Whether something on a slide or its master may lie under other things of it."""
        if local(page) != "page":
            return False
        if page not in self._crowded:
            master = self._masters.get(attribute(page, "master-page-name"))
            self._crowded[page] = sum(
                local(node) == "image" or (local(node) in SHAPES and self._fills(node))
                for root in (page, master)
                for node in (() if root is None else root.iter())
                if isinstance(node.tag, str) and attribute(node, "placeholder") != "true"
            )
        return self._crowded[page] > 0

    def _fills(self, shape: Any) -> bool:
        found = _fill(self._of(shape, local(shape)), shape=True)
        return found is not None

    def _of(self, node: Any, kind: str) -> Mapping[str, str]:
        name = attribute(node, "style-name")
        if kind in SHAPES:
            return {**self._resolve("graphic", name), **(self._resolve("presentation", name) if name else {})}
        return self._resolve(_FAMILIES[kind], name) if name and kind in _FAMILIES else {}

    def _resolve(
        self, family: str, name: str, styles: Mapping[tuple[str, str], tuple[str, Mapping[str, str]]] | None = None
    ) -> Mapping[str, str]:
        """The properties of a style and of those that it is based on."""
        if styles is None and (family, name) in self._resolved:
            return self._resolved[family, name]
        found: dict[str, str] = {}
        at = name
        for _ in range(_DEPTH):
            parent, said = (styles or self._styles).get((family, at), ("", {}))
            found = {**said, **found}
            if not at or not parent:
                break
            at = parent
        if styles is None:
            self._resolved[family, name] = found
        return found


def _said(style: Any) -> Iterator[tuple[str, str]]:
    """The properties of a style that may hide text."""
    for properties in style:
        of_text = isinstance(properties.tag, str) and local(properties) == "text-properties"
        for key, value in properties.attrib.items():
            name = key.rpartition("}")[2]
            if name == "opacity" and not of_text:
                yield "fill-opacity", value
            elif name in _PROPERTIES and (of_text or name not in _OF_TEXT) and (name, value) != _NOTHING:
                yield name, value


def attribute(node: Any, name: str) -> str:
    """An attribute's value by local name; ``""`` without it."""
    for key, value in node.attrib.items():
        if key.rpartition("}")[2] == name:
            return str(value)
    return ""


def points(length: str) -> float:
    """A length in points; 0 for what is none."""
    found = _LENGTH.match(length.strip())
    if not found or not found[1].strip("-."):
        return 0.0
    return float(found[1]) * _POINTS.get(found[2], 0.0)


def _upward(node: Any) -> Iterator[Any]:
    yield node
    for at, above in enumerate(node.iterancestors()):
        if at >= _HIGHEST:
            return
        yield above


def _percent(text: str) -> float:
    found = _LENGTH.match(text.strip())
    return float(found[1]) if found and found[2] == "%" and found[1].strip("-.") else 100.0


def colour_of(text: str) -> Colour | None:
    found = _HEX.match(text.strip())
    if not found:
        return None
    red, green, blue = bytes.fromhex(found[1])
    return red, green, blue


def apart(one: Colour, other: Colour) -> int:
    return max(abs(a - b) for a, b in zip(one, other, strict=True))


def _fill(said: Mapping[str, str], *, shape: bool = False) -> _Ground | None:
    """What properties lay under a text; None for nothing.

    Args:
        shape: Of a shape, which has a colour where nothing is said.
    """
    background = said.get("background-color", "")
    if background and background != "transparent":
        return _Ground(colour_of(background))
    kind = said.get("fill", "")
    if kind == "solid":
        return (
            _Ground(None)
            if _percent(said.get("fill-opacity", "")) < 100
            else _Ground(colour_of(said.get("fill-color", "")))
        )
    if kind and kind != "none":
        return _Ground(None)
    return _Ground(None) if shape and not kind and not background else None


def _suspicious(said: Mapping[str, str]) -> bool:
    """Whether properties may hide a text, alone or with others."""
    if "background-color" in said or "fill-color" in said or _percent(said.get("opacity", "100%")) < _CLEAR:
        return True
    if 0 < points(said.get("font-size", "12pt")) <= SMALLEST or points(said.get("margin-left", "")) <= _AWAY:
        return True
    colour = colour_of(said.get("color", ""))
    return colour is not None and apart(colour, WHITE) < NEAR
