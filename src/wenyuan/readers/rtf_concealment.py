"""Text of RTF files that nobody sees: white on white, in the colour of what is laid under it, of a point or less."""

from __future__ import annotations

from typing import NamedTuple

Colour = tuple[int, int, int]
_PALEST = 0xF7  # of 255, the least of red, green and blue: no eye tells it from paper
_NEAR = 8  # of 255, between colours that no eye tells apart
_SMALLEST = 2  # half points: letters of a point
_NARROWEST = 5  # per cent of their width
_FONT_SIZE = 24  # half points
_DRAWN = frozenset(("outl", "shad", "embo", "impr"))
"""Letters that have an edge of another colour."""
_GROUNDS = frozenset(("highlight", "chcbpat", "cb"))
_BELOW = frozenset(("background", "shpfblwtxt", "shptxt", "do"))
"""What may lie under text: a picture of the page, a drawing behind it, a box."""


class Ink(NamedTuple):
    """How letters are drawn: colours by their places in the file's table, of which 0 is what the program chooses."""

    letters: int = 0
    size: int = _FONT_SIZE
    width: int = 100
    ground: int = 0
    edged: bool = False

    def set(self, word: str, number: int | None) -> Ink | None:
        """The same after a control word; None for one that changes nothing of it."""
        if word == "plain":
            return Ink()
        if word == "cf":
            return self._replace(letters=number or 0)
        if word == "fs":
            return self._replace(size=_FONT_SIZE if number is None else number)
        if word == "charscalex":
            return self._replace(width=100 if number is None else number)
        if word in _GROUNDS:
            return self._replace(ground=number or 0)
        return self._replace(edged=number != 0) if word in _DRAWN else None


class ColourTable:
    """The colours of a file, and whether letters of them are seen.

    Attributes:
        below: Whether something may lie under any text that its own properties do not tell.
        doubtful: How many passages are white, and what lies under them is not known.
    """

    def __init__(self) -> None:
        self.below = False
        self.doubtful = 0
        self._colours: list[Colour | None] = []
        self._parts: dict[str, int] = {}

    def set(self, word: str, number: int | None) -> None:
        """Take a control word of the table: ``red255``."""
        if word in ("red", "green", "blue"):
            self._parts[word] = min(max(number or 0, 0), 255)

    def end(self, text: str) -> None:
        """Take the signs that end colours."""
        for _ in range(text.count(";")):
            found = [self._parts.get(name, 0) for name in ("red", "green", "blue")]
            self._colours.append((found[0], found[1], found[2]) if self._parts else None)
            self._parts = {}

    def note(self, word: str, number: int | None) -> None:
        """Take a control word of the text that may lay something under others."""
        self.below |= word in _BELOW and number != 0

    def unseen(self, ink: Ink, shading: int) -> str:
        """Why letters are not seen, as a note counts it: ``white runs`` …; ``""`` where they are, or that is not known.

        Args:
            shading: The colour under the paragraph or cell, by its place; -1 for one that is not known.
        """
        if ink.size <= _SMALLEST or ink.width <= _NARROWEST:
            return "runs too small to be seen"
        letters = self._colour(ink.letters)
        if letters is None or ink.edged:
            return ""
        ground = self._colour(ink.ground) or (self._colour(shading) if shading >= 0 else None)
        if ground is not None and min(ground) < _PALEST:
            near = max(abs(a - b) for a, b in zip(letters, ground, strict=True)) < _NEAR
            return "runs in the colour of their ground" if near else ""
        if min(letters) < _PALEST:
            return ""
        if self.below or shading < 0:
            self.doubtful += 1
            return ""
        return "white runs"

    def _colour(self, place: int) -> Colour | None:
        return self._colours[place] if 0 < place < len(self._colours) else None
