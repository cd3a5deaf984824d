"""Text of Word files that nobody sees: hidden, white on white, of a point or less, without a colour."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from wenyuan.readers.docx_theme import UNKNOWN, DocxTheme, alike, highlight
from wenyuan.readers.markup import local, properties_of, property_of

_W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_W14 = "{http://schemas.microsoft.com/office/word/2010/wordml}"
_SMALLEST = 2  # half points: letters of a point
_NARROWEST = 5  # per cent of their width
_PAPER = re.compile(r"[Ff][7-9A-Fa-f](?:[Ff][7-9A-Fa-f]){2}\Z")
_BOXES = frozenset(("txbxContent", "textbox", "txbx", "wsp", "sp"))
_BEHIND = ("anchor", "pict", "background")
_DEPTH = 10  # of styles that are based on one another; damaged files have cycles


class Concealment:
    """Says of a run whether it is seen.

    Args:
        styles: The elements of styles, by their ids.
        roots: The parts of the file that draw on its pages.
        theme: The colours that it names.
    """

    def __init__(self, styles: Mapping[str, Any], roots: list[Any], theme: DocxTheme) -> None:
        self._theme = theme
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
            said = {**said, **self._properties(own)}
        if said.get("vanish"):
            return "hidden runs"
        size, width = said.get("sz", ""), said.get("w", "")
        if (size.isdigit() and int(size) <= _SMALLEST) or (width.isdigit() and int(width) <= _NARROWEST):
            return "runs too small to be seen"
        if own is not None and _without_fill(own):
            return "runs without a colour"
        letters = said.get("color", "")
        if not letters or letters == UNKNOWN:
            return ""
        white = bool(_PAPER.match(letters))
        ground = said.get("highlight") or said.get("shd") or self._ground(run, paragraph)
        if ground and not (white and _PAPER.match(ground)):
            return "runs in the colour of their ground" if alike(letters, ground) else ""
        if not white:
            return ""
        return "open" if not ground and self._may_be_shaded(run) else "white runs"

    def _styled(self, run: str, paragraph: str) -> Mapping[str, str]:
        """What a run has from its style and its paragraph's, by their ids; the nearest says it."""
        if (run, paragraph) not in self._told:
            told: dict[str, str] = {}
            for style in (*self._lineage(run), *self._lineage(paragraph)):
                own = properties_of(style, f"{_W}rPr")
                told = {**({} if own is None else self._properties(own)), **told}
            self._told[run, paragraph] = told
        return self._told[run, paragraph]

    def _properties(self, own: Any) -> dict[str, str]:
        """The properties of a run or style that may hide it or lie under it: ``""`` for those that are switched off."""
        found: dict[str, str] = {}
        for node in own:
            name = local(node) if isinstance(node.tag, str) else ""
            value = node.get(f"{_W}val") or ""
            if name in ("sz", "w"):
                found[name] = value
            elif name == "color":
                found[name] = self._theme.ink(node)
            elif name == "vanish":
                found[name] = "" if value in ("0", "false", "off") else "1"
            elif name == "highlight":
                found[name] = highlight(value)
            elif name == "shd":
                found[name] = self._theme.ground(node)
        return found

    def _lineage(self, name: str) -> Iterator[Any]:
        for _ in range(_DEPTH):
            style = self._styles.get(name)
            if style is None:
                return
            yield style
            based = style.find(f"{_W}basedOn")
            name = "" if based is None else based.get(f"{_W}val") or ""

    def _ground(self, run: Any, paragraph: Any | None) -> str:
        """The colour that is said to lie under the paragraph of a run; ``""`` where none is."""
        above = () if paragraph is None else (paragraph, *self._lineage(_named(paragraph, "pStyle", "pPr")))
        for each in above:
            if found := self._theme.ground(property_of(each, f"{_W}pPr", f"{_W}shd")):
                return found
        for tag, properties in (("tc", "tcPr"), ("tbl", "tblPr")):
            for each in run.iterancestors(f"{_W}{tag}"):
                if found := self._theme.ground(property_of(each, f"{_W}{properties}", f"{_W}shd")):
                    return found
        return ""

    def _may_be_shaded(self, run: Any) -> bool:
        """Whether something may lie under a run that its own properties do not tell: a picture, a box, a table's style."""
        if self._drawn_behind or any(
            isinstance(each.tag, str) and local(each) in _BOXES for each in run.iterancestors()
        ):
            return True
        styles = (_named(table, "tblStyle", "tblPr") for table in run.iterancestors(f"{_W}tbl"))
        return any(next(each.iter(f"{_W}shd"), None) is not None for name in styles for each in self._lineage(name))


def _named(holder: Any, tag: str, properties: str) -> str:
    node = property_of(holder, f"{_W}{properties}", f"{_W}{tag}")
    return "" if node is None else node.get(f"{_W}val") or ""


def _without_fill(own: Any) -> bool:
    fill = own.find(f"{_W14}textFill")
    return fill is not None and fill.find(f"{_W14}noFill") is not None and own.find(f"{_W14}textOutline") is None
