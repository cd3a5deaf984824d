"""Whether the colours of letters and of their ground can be judged: what is laid over it, and what changes both."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from wenyuan.readers.css_colours import read_colour
from wenyuan.readers.style_sheet import StyleSheet

_PICTURES = "img, picture, video, canvas, svg, iframe, object, embed"
_PICTURE_TAGS = frozenset(_PICTURES.split(", "))
_PLACED = ("absolute", "fixed", "sticky")
_NONE = ("none", "normal", "0", "0px", "initial", "unset", "inherit")
_STROKES = ("-webkit-text-stroke", "-webkit-text-stroke-width")
_CHANGES = ("filter", "mix-blend-mode", "backdrop-filter", "-webkit-filter")
_OFFSET = re.compile(r"-[0-9.]*[1-9]")
_DEEPEST = 60  # elements above the text
_MOST_LOOKS = 1_000  # at the text of what is laid over others; more of them count as empty
_NEAR = 4  # elements from a picture to what holds it and the text over it


class Layers:
    """What lies over the grounds of a page's elements, and what else makes their colours uncertain.

    Args:
        body: Of the page.
        sheet: Its style sheet.
    """

    def __init__(self, body: Any, sheet: StyleSheet) -> None:
        self._sheet = sheet
        self._pictured: set[int] = set()
        self._under: set[int] = set()
        self._known: dict[tuple[int, bool], bool] = {}
        self._declared: dict[int, Mapping[str, str]] = {}
        self._looks = 0
        for node in body.css(_PICTURES):
            self._pictured.update(each.mem_id for each in _above(node, _NEAR))
        for node in body.css("*"):
            if self._covers(node):
                self._cover(node)

    def uncertain(self, node: Any, *, clear: bool) -> bool:
        """Whether the text of an element may be seen, although it has the colour of its ground.

        Args:
            node: The element in which the text stands.
            clear: The letters have no colour, so that no ground shows them.
        """
        key = (node.mem_id, clear)
        if key not in self._known:
            self._known[key] = self._judge(node, clear=clear)
        return self._known[key]

    def _judge(self, node: Any, *, clear: bool) -> bool:
        inked, papered = False, clear
        for each in (node, *_above(node, _DEEPEST)):
            said, changes = self._said(each), self._sheet.changes(each)
            if said.get("text-shadow", "none") not in _NONE or any(
                said.get(name, "none").split(" ")[0] not in _NONE for name in _STROKES
            ):
                return True
            if not clear and any(said.get(name, "none") not in _NONE for name in _CHANGES):
                return True
            if "color" in changes and not inked:
                return True
            if not papered and ("background" in changes or each.mem_id in self._under or self._over_picture(each)):
                return True
            inked = inked or "color" in said
            papered = papered or _ground(said) == "plain"
        return False

    def _over_picture(self, node: Any) -> bool:
        """Whether an element is moved within one that holds a picture."""
        if node.parent is None or node.parent.mem_id not in self._pictured:
            return False
        said = self._said(node)
        margins = (said.get("margin", "").split(" ")[0], said.get("margin-top", ""))
        return said.get("position") in (*_PLACED, "relative") or any(_OFFSET.match(each) for each in margins)

    def _said(self, node: Any) -> Mapping[str, str]:
        if node.mem_id not in self._declared:
            self._declared[node.mem_id] = self._sheet.plain(node)
        return self._declared[node.mem_id]

    def _covers(self, node: Any) -> bool:
        said = self._said(node)
        placed = said.get("position") in _PLACED
        if not placed and said.get("float", "none") == "none":
            return False
        if _ground(said) not in ("mixed", "plain") and not (
            placed and (node.mem_id in self._pictured or node.tag in _PICTURE_TAGS)
        ):
            return False
        self._looks += 1
        return self._looks > _MOST_LOOKS or not node.text().strip()

    def _cover(self, node: Any) -> None:
        """All from an element's parent to what it is placed in may have it as their ground."""
        for each in _above(node, _DEEPEST):
            self._under.add(each.mem_id)
            if self._said(each).get("position", "static") != "static":
                return


def _above(node: Any, most: int) -> list[Any]:
    found: list[Any] = []
    at = node.parent
    while at is not None and at.is_element_node and len(found) < most:
        found.append(at)
        at = at.parent
    return found


def _ground(said: Mapping[str, str]) -> str:
    """Whether declarations lay a ground: ``""`` none, ``plain`` one colour, ``mixed`` another."""
    values = [said[name] for name in ("background", "background-color", "background-image") if name in said]
    for value in values:
        if "url(" in value or "gradient(" in value or "var(" in value:
            return "mixed"
        found = read_colour(value) or read_colour(value.split(" ")[0])
        if found is not None and found.alpha:
            return "plain" if found.alpha == 1 else "mixed"
    return ""
