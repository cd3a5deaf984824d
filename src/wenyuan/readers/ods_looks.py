"""Which text in the cells of an OpenDocument spreadsheet nobody sees: in the colour of its ground, or tiny."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from wenyuan.readers.opendocument_concealment import NEAR, SMALLEST, WHITE, apart, colour_of, points

_DEPTH = 10  # of styles with parents; damaged files have rings
_OF_LETTERS = ("color", "font-size", "use-window-font-color")
_FAMILIES = ("table-cell", "text", "paragraph")


@dataclass
class CellLooks:
    """The styles of cells, paragraphs and letters, told element by element."""

    _styles: dict[tuple[str, str], dict[str, str]] = field(default_factory=dict)
    _at: dict[str, str] | None = None  # the style that is open
    _hides: dict[tuple[str, ...], bool] = field(default_factory=dict)

    def start(self, kind: str, said: Mapping[str, str]) -> None:
        """An element begins; `said` are its attributes by local name."""
        if kind in ("style", "default-style") and said.get("family", "") in _FAMILIES:
            name = said.get("name", "") if kind == "style" else ""
            self._at = self._styles[said["family"], name] = {"parent": said.get("parent-style-name", "")}
        elif self._at is None:
            return
        elif kind == "text-properties":
            self._at.update({name: said[name] for name in _OF_LETTERS if name in said})
        elif kind == "table-cell-properties" and said.get("background-color", "transparent") != "transparent":
            self._at["background-color"] = said["background-color"]
        elif kind == "map":  # it looks otherwise under a condition
            self._at["condition"] = "map"

    def end(self, kind: str) -> None:
        """An element ends."""
        if kind in ("style", "default-style"):
            self._at = None

    def depends(self, cell: str) -> bool:
        """Whether how a cell looks depends on what it holds."""
        return "condition" in self._of("table-cell", cell)

    def hides(self, cell: str, letters: tuple[str, ...]) -> bool:
        """Whether text is not seen.

        Args:
            cell: The style of its cell.
            letters: Those of its paragraph and its spans, the innermost last.
        """
        key = (cell, *letters)
        if key not in self._hides:
            said = dict(self._of("table-cell", cell))
            for family, name in zip(("paragraph", *["text"] * len(letters)), letters, strict=False):
                own = self._of(family, name) if name else {}
                said |= {each: own[each] for each in _OF_LETTERS if each in own}
            self._hides[key] = _is_unseen(said)
        return self._hides[key]

    def _of(self, family: str, name: str) -> Mapping[str, str]:
        """The properties of a style and of those that it is based on."""
        found: dict[str, str] = {}
        for _ in range(_DEPTH):
            said = self._styles.get((family, name), {})
            found = {**said, **found}
            if not name:
                break
            name = said.get("parent", "")
        return found


def _is_unseen(said: Mapping[str, str]) -> bool:
    if 0 < points(said.get("font-size", "10pt")) <= SMALLEST:
        return True
    letters, ground = colour_of(said.get("color", "")), said.get("background-color", "")
    if letters is None or said.get("use-window-font-color") == "true":
        return False
    below = colour_of(ground) if ground else WHITE
    return below is not None and apart(letters, below) < NEAR
