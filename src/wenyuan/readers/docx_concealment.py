"""Text of Word files that nobody sees: hidden, white on white, of a point or less, without a colour."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from wenyuan.readers.markup import local, properties_of, property_of

_W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_W14 = "{http://schemas.microsoft.com/office/word/2010/wordml}"
_SMALLEST = 2  # half points: letters of a point
_NARROWEST = 5  # per cent of their width
_PAPER = re.compile(r"[Ff][7-9A-Fa-f](?:[Ff][7-9A-Fa-f]){2}\Z")
_NO_FILL = ("auto", "")
_BOXES = frozenset(("txbxContent", "textbox", "txbx", "wsp", "sp"))
_BEHIND = ("anchor", "pict", "background")
_DEPTH = 10  # of styles that are based on one another; damaged files have cycles


class Concealment:
    """Says of a run whether it is seen.

    Args:
        styles: The elements of styles, by their ids.
        roots: The parts of the file that draw on its pages.
    """

    def __init__(self, styles: Mapping[str, Any], roots: list[Any]) -> None:
        self._styles = styles
        self._told: dict[tuple[str, str], Mapping[str, str]] = {}
        self._drawn_behind = any(
            isinstance(node.tag, str) and local(node) in _BEHIND for root in roots for node in root.iter()
        )

    def of(self, run: Any) -> str:
        """Why a run is not seen, as a note counts it: ``hidden runs``, ``white runs`` …; ``""`` where it is seen.

        ``open`` where it is white, and what lies under it is not known.
        """
        paragraph = next(run.iterancestors(f"{_W}p"), None)
        styles = _named(run, "rStyle", "rPr"), "" if paragraph is None else _named(paragraph, "pStyle", "pPr")
        said = self._styled(*styles)
        own = properties_of(run, f"{_W}rPr")
        if own is not None:
            said = {**said, **_properties(own)}
        if said.get("vanish"):
            return "hidden runs"
        size, width = said.get("sz", ""), said.get("w", "")
        if (size.isdigit() and int(size) <= _SMALLEST) or (width.isdigit() and int(width) <= _NARROWEST):
            return "runs too small to be seen"
        if own is not None and _without_fill(own):
            return "runs without a colour"
        if not _PAPER.match(said.get("color", "")):
            return ""
        if said.get("shd") or said.get("highlight") or self._shaded(run, paragraph):
            return ""
        return "open" if self._may_be_shaded(run) else "white runs"

    def _styled(self, run: str, paragraph: str) -> Mapping[str, str]:
        """What a run has from its style and its paragraph's, by their ids; the nearest says it."""
        if (run, paragraph) not in self._told:
            told: dict[str, str] = {}
            for style in (*self._lineage(run), *self._lineage(paragraph)):
                own = properties_of(style, f"{_W}rPr")
                told = {**({} if own is None else _properties(own)), **told}
            self._told[run, paragraph] = told
        return self._told[run, paragraph]

    def _lineage(self, name: str) -> Iterator[Any]:
        for _ in range(_DEPTH):
            style = self._styles.get(name)
            if style is None:
                return
            yield style
            based = style.find(f"{_W}basedOn")
            name = "" if based is None else based.get(f"{_W}val") or ""

    def _shaded(self, run: Any, paragraph: Any | None) -> bool:
        """Whether something that is not white is said to lie under the paragraph of a run."""
        above = () if paragraph is None else (paragraph, *self._lineage(_named(paragraph, "pStyle", "pPr")))
        if any(_fill(property_of(each, f"{_W}pPr", f"{_W}shd")) for each in above):
            return True
        return any(
            _fill(property_of(each, f"{_W}{properties}", f"{_W}shd"))
            for tag, properties in (("tc", "tcPr"), ("tbl", "tblPr"))
            for each in run.iterancestors(f"{_W}{tag}")
        )

    def _may_be_shaded(self, run: Any) -> bool:
        """Whether something may lie under a run that its own properties do not tell: a picture, a box, a table's style."""
        if self._drawn_behind or any(
            isinstance(each.tag, str) and local(each) in _BOXES for each in run.iterancestors()
        ):
            return True
        styles = (_named(table, "tblStyle", "tblPr") for table in run.iterancestors(f"{_W}tbl"))
        return any(next(each.iter(f"{_W}shd"), None) is not None for name in styles for each in self._lineage(name))


def _properties(own: Any) -> dict[str, str]:
    """The properties of a run or style that may hide it or lie under it: ``""`` for those that are switched off."""
    found: dict[str, str] = {}
    for node in own:
        name = local(node) if isinstance(node.tag, str) else ""
        value = node.get(f"{_W}val") or ""
        if name in ("sz", "w", "color"):
            found[name] = value
        elif name == "vanish":
            found[name] = "" if value in ("0", "false", "off") else "1"
        elif name == "highlight":
            found[name] = "" if value in ("none", "white") else value
        elif name == "shd":
            found[name] = "1" if _fill(node) else ""
    return found


def _named(holder: Any, tag: str, properties: str) -> str:
    node = property_of(holder, f"{_W}{properties}", f"{_W}{tag}")
    return "" if node is None else node.get(f"{_W}val") or ""


def _fill(shading: Any | None) -> bool:
    """Whether a shading has another colour than white."""
    if shading is None:
        return False
    if shading.get(f"{_W}themeFill") or (shading.get(f"{_W}val") or "clear") not in ("clear", "nil"):
        return True
    fill = shading.get(f"{_W}fill") or ""
    return fill not in _NO_FILL and not _PAPER.match(fill)


def _without_fill(own: Any) -> bool:
    fill = own.find(f"{_W14}textFill")
    return fill is not None and fill.find(f"{_W14}noFill") is not None and own.find(f"{_W14}textOutline") is None
