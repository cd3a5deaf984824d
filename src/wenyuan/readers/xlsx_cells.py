"""The cells of an XLSX sheet as it shows them: number formats, struck and raised text, formulas that were never calculated."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from wenyuan.readers import notation, number_formats

Elements = Callable[[str], Iterator[tuple[str, Mapping[str, str], str]]]
"""The elements of a part as they end: local name, attributes, text."""
_PLACE = re.compile(r"([A-Z]{1,3})([0-9]{1,7})\Z")
_MAX_STYLES = 65_536
_SECTIONS = 4  # of a format: for positive, negative, zero, text
_COLOURING = ("conditionalFormatting", "tableParts", "drawing", "legacyDrawing", "picture")
"""What of a sheet may give a cell a colour that its format does not tell."""
_NO_PATTERN = ("none", "")
_PAPER = re.compile(r"[0-9A-Fa-f]{2}[Ff][7-9A-Fa-f](?:[Ff][7-9A-Fa-f]){2}\Z")


class ShownCells(NamedTuple):
    """What of a sheet is shown otherwise than its values say.

    Attributes:
        texts: Rows counted from 0, with the texts of columns.
        uncalculated: Places of formulas without a value, ``C2``.
        unseen: Places of cells that have a value and show none, in `texts` with ``""``.
        white: Places of white text on what may be white.
    """

    texts: dict[int, list[tuple[int, str]]]
    uncalculated: list[str]
    unseen: Sequence[str] = ()
    white: Sequence[str] = ()


class _Style(NamedTuple):
    """A format of cells: its code, the signs of its letters, and whether they are white and stand on nothing else."""

    code: str
    signs: str
    white: bool = False


class CellStyles:
    """The formats of a workbook's cells, and those of its shared texts that hold raised, lowered or struck letters."""

    def __init__(self, elements: Elements, styles: str, strings: str, *, since_1904: bool) -> None:
        self._since_1904 = since_1904
        self._styles = list(_styles(elements(styles))) if styles else []
        self._texts = dict(_texts(elements(strings))) if strings else {}

    def of(self, cells: Iterator[tuple[str, Mapping[str, str], str]]) -> ShownCells:
        """The cells of a sheet, from the elements of its part."""
        found = ShownCells({}, [])
        unseen: list[str] = []
        white: list[tuple[int, int, str]] = []
        value, formula, coloured = "", False, False
        row, column = 0, -1
        inline: list[str] = []
        for name, said, text in cells:
            if name == "v":
                value = text
            elif name == "f":
                formula = True
            elif name == "t":
                inline.append(text)
            elif name == "c":
                row, column = _place(said.get("r", ""), row, column)
                if formula and not value and said.get("t") not in ("str", "inlineStr"):
                    found.uncalculated.append(said.get("r", ""))
                self._cell((row, column, said.get("r", "")), said, value, "".join(inline), found, unseen, white)
                value, formula, inline = "", False, []
            elif name == "row":
                row, column = row + 1, -1
            else:
                coloured |= name in _COLOURING
        if coloured:  # what lies under white text may be dark
            return found._replace(unseen=unseen, white=[place for _, _, place in white])
        for row, column, place in white:
            unseen.append(place)
            found.texts.setdefault(row, []).append((column, ""))
        return found._replace(unseen=unseen)

    def _cell(
        self,
        place: tuple[int, int, str],
        said: Mapping[str, str],
        value: str,
        inline: str,
        found: ShownCells,
        unseen: list[str],
        white: list[tuple[int, int, str]],
    ) -> None:
        """Write down what a cell shows, where that is not what its value says."""
        row, column, name = place
        shown = self._shown(said, value, inline)
        if (value or inline) and self._shows_nothing(said):
            unseen.append(name)
            shown = ""
        elif (value or inline) and self._style(said).white:
            white.append(place)
        if shown is not None:
            found.texts.setdefault(row, []).append((column, shown))

    def _style(self, said: Mapping[str, str]) -> _Style:
        at = said.get("s", "")
        return self._styles[int(at)] if at.isdigit() and int(at) < len(self._styles) else _Style("", "")

    def _shows_nothing(self, said: Mapping[str, str]) -> bool:
        """Whether the format of a cell hides what it holds: ``;;;``."""
        sections = self._style(said).code.split(";")
        return len(sections) == _SECTIONS and not any(each.strip() for each in sections)

    def _shown(self, said: Mapping[str, str], value: str, inline: str) -> str | None:
        """The text of a cell where it is not what its value says; None otherwise."""
        kind = said.get("t", "n")
        style = self._style(said)
        text: str | None = None
        if kind == "n" and value:
            text = self._number(value, style.code)
        elif kind == "s" and value.isdigit():
            text = self._texts.get(int(value))
        elif kind == "e":
            text = value
        if style.signs and kind in ("n", "str", "inlineStr"):
            signed = text if text is not None else inline or value
            return notation.plain(f"{style.signs}{signed}{notation.END * len(style.signs)}") if signed else None
        return text

    def _number(self, value: str, code: str) -> str | None:
        try:
            number = float(value)
        except ValueError:
            return None
        return displayed(number, code, since_1904=self._since_1904)


def displayed(number: float, code: str, *, since_1904: bool = False) -> str:
    """A number as its cell shows it, and after it the plain value where one would not find that by the other."""
    if not code or code.lower() == "general":
        return number_formats.general(number)
    shown = number_formats.format_number(number, code, since_1904=since_1904)
    if not shown:
        return ""
    value = number_formats.plain(number, code, since_1904=since_1904)
    if not value or says_value(shown, value):
        return shown
    return f"{shown} ({value})"


_BESIDE = re.compile(r"[^0-9.\-]")


def says_value(shown: str, value: str) -> bool:
    """Whether a plain value is found by what is shown: its digits stand there, or it is only rounded."""
    if re.search(rf"(?<![0-9.]){re.escape(value)}(?![0-9])", shown) or ":" in shown:
        return True
    digits = _BESIDE.sub("", shown).strip("-.")
    plain = value.lstrip("-")
    if digits == plain or "-" in value[1:]:
        return digits == plain
    if "%" in shown or "/" in shown or "E" in shown:
        return False
    return (
        bool(digits)
        and not digits.startswith("00")
        and not (digits[0] == "0" and digits[1:2].isdigit())
        and "." in value
    )


def _place(reference: str, row: int, column: int) -> tuple[int, int]:
    """Row and column of a cell, counted from 0; a cell without a reference is the next one."""
    found = _PLACE.match(reference)
    if not found:
        return max(row, 0), column + 1
    number = 0
    for letter in found[1]:
        number = number * 26 + ord(letter) - 64
    return int(found[2]) - 1, number - 1


class _Fills:
    """The fills of a workbook, in their order: whether each shows nothing but white."""

    def __init__(self) -> None:
        self.bare: list[bool] = []
        self._bare = True

    def ended(self, name: str, said: Mapping[str, str]) -> None:
        """An element of the part of styles has ended."""
        if name == "fgColor":
            self._bare = _is_white(said)
        elif name == "patternFill":
            kind = said.get("patternType", "")
            self._bare = kind in _NO_PATTERN or (kind == "solid" and self._bare)
        elif name == "gradientFill":
            self._bare = False
        elif name == "fill":
            self.bare.append(self._bare)
            self._bare = True


def _styles(elements: Iterator[tuple[str, Mapping[str, str], str]]) -> Iterator[_Style]:
    codes = dict(number_formats.BUILT_IN)
    fonts: list[tuple[str, bool]] = []
    fills = _Fills()
    signs, white = "", False
    pending: list[tuple[str, str, str]] = []
    for name, said, _ in elements:
        signs += _sign(name, said)
        white = _is_white(said) if name == "color" else white
        fills.ended(name, said)
        if name == "numFmt" and said.get("numFmtId", "").isdigit():
            codes[int(said["numFmtId"])] = said.get("formatCode", "")
        elif name in ("font", "dxf"):
            fonts += [(signs, white)] if name == "font" else []
            signs, white = "", False
        elif name == "xf" and len(pending) < _MAX_STYLES:
            pending.append((said.get("numFmtId", ""), said.get("fontId", ""), said.get("fillId", "")))
        elif name == "cellStyleXfs":
            pending = []
        elif name == "cellXfs":
            break
    for form, font, fill in pending:
        own, white = fonts[int(font)] if font.isdigit() and int(font) < len(fonts) else ("", False)
        bare = fills.bare[int(fill)] if fill.isdigit() and int(fill) < len(fills.bare) else True
        yield _Style(codes.get(int(form), "") if form.isdigit() else "", own, white and bare)


def _is_white(said: Mapping[str, str]) -> bool:
    return bool(_PAPER.match(said.get("rgb", ""))) or (said.get("theme") == "0" and not said.get("tint"))


def _sign(name: str, said: Mapping[str, str]) -> str:
    """The sign of raised, lowered or struck text that a property of a font makes; ``""`` for others."""
    if name == "vertAlign":
        return {"superscript": notation.UP, "subscript": notation.DOWN}.get(said.get("val", ""), "")
    return notation.OUT if name == "strike" and said.get("val", "1") not in ("0", "false") else ""


def _texts(elements: Iterator[tuple[str, Mapping[str, str], str]]) -> Iterator[tuple[int, str]]:
    number, parts, signs, told = 0, list[str](), "", False
    for name, said, text in elements:
        signs += _sign(name, said)
        if name == "t":
            parts.append(f"{signs}{text}{notation.END * len(signs)}")
            told = told or bool(signs)
        elif name == "rPh" and parts:
            parts.pop()  # how the word is spoken
        elif name == "r":
            signs = ""
        elif name == "si":
            if told:
                yield number, notation.plain("".join(parts)).strip()
            number, parts, signs, told = number + 1, [], "", False
