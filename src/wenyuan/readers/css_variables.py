"""Values that style sheets give a name: ``--ink: white`` and ``color: var(--ink, black)``, which elements inherit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_MOST = 500  # names that one element knows
_MOST_KEPT = 200_000  # names of all elements together
_DEEPEST = 8  # names whose values name others
_LONGEST = 1_000


class Variables:
    """The named values of a page's elements. Elements are asked for in the order in which they stand."""

    def __init__(self) -> None:
        self._known: dict[int, Mapping[str, str]] = {}  # by element, its own and those of what it stands in
        self._kept = 0

    def within(self, node: Any, said: dict[str, str]) -> dict[str, str]:
        """The declarations of an element with values for names; without those that name one which nobody gave."""
        above = self._known.get(node.parent.mem_id, {}) if self._known and node.parent is not None else {}
        named = [name for name in said if name.startswith("--")]
        if named:
            known = {**above, **{name: said.pop(name) for name in named}}
            self._kept += len(known)
            above = known if len(known) <= _MOST and self._kept <= _MOST_KEPT else above
        if above:
            self._known[node.mem_id] = above
        for name in [name for name, value in said.items() if "var(" in value]:
            value = _valued(said.pop(name), above, 0)
            if value:
                said[name] = value
        return said


def _valued(value: str, known: Mapping[str, str], deep: int) -> str:
    """A value in which names are replaced; ``""`` where one has no value, or it grows without end."""
    while (start := value.find("var(")) >= 0:
        end = _closing(value, start + 3)
        if end < 0 or deep > _DEEPEST:
            return ""
        name, comma, otherwise = value[start + 4 : end].partition(",")
        found = known.get(name.strip(), "")
        given = _valued(found, known, deep + 1) if found else ""
        if not given and comma:
            given = _valued(otherwise.strip(), known, deep + 1)
        value = f"{value[:start]}{given}{value[end + 1 :]}".strip()
        if not given or len(value) > _LONGEST:
            return ""
    return value


def _closing(text: str, at: int) -> int:
    """The place of the bracket that closes the one at a place; -1 where none does."""
    depth = 0
    for place in range(at, min(len(text), at + _LONGEST)):
        depth += (text[place] == "(") - (text[place] == ")")
        if depth == 0:
            return place
    return -1
