"""The drawing of a part of the rules graph."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

# A node and its neighbours as a drawing: what leads to it at the left, what follows from it at the right.
#
# Drawn by the server as SVG, so that it needs no script, can be read aloud, and looks the same everywhere.


DRAWN = 40
"""Neighbours that are drawn at each side; the table has the others."""
_WIDTH, _BOX, _ROW, _MIDDLE = 960, 250, 34, 200
_LONGEST = 30  # columns of a name in a box; a Chinese character takes two


@dataclass(frozen=True, slots=True)
class Box:
    """A neighbour in the drawing, with the line that connects it to the centre."""

    x: int
    y: int
    text: str
    full: str
    node_id: int
    kind: str
    line: str
    mandatory: bool
    conditional: bool


@dataclass(frozen=True, slots=True)
class RelationLabel:
    """The label of a relation, above its neighbours."""

    x: int
    y: int
    text: str


@dataclass(frozen=True, slots=True)
class Drawing:
    """Positions of all elements, in units of an SVG of ``width`` by ``height``."""

    width: int
    height: int
    middle: str
    boxes: tuple[Box, ...]
    labels: tuple[RelationLabel, ...]
    left_out: int
    box_width: int = _BOX
    box_height: int = _ROW - 8
    middle_width: int = _MIDDLE


def drawn(
    name: str,
    edges: Mapping[str, Sequence[Mapping[str, Any]]],
    *,
    relations: Mapping[str, str],
    language: str,
) -> Drawing:
    """Draw a node with its neighbours.

    Args:
        name: What is written in the middle.
        edges: As the API tells them, by direction: ``in`` and ``out``.
        relations: Their labels, by id.
    """
    rows = {side: _rows(edges[side][:DRAWN], relations) for side in ("in", "out")}
    height = max(3, *(len(found) for found in rows.values())) * _ROW + 16
    boxes: list[Box] = []
    labels: list[RelationLabel] = []
    for side, found in rows.items():
        x = 8 if side == "in" else _WIDTH - _BOX - 8
        top = (height - len(found) * _ROW) // 2
        for place, row in enumerate(found):
            y = top + place * _ROW
            if isinstance(row, str):
                labels.append(RelationLabel(x + 4, y + 22, row))
            else:
                boxes.append(_box(row, side, x, y, height, language))
    left_out = sum(max(0, len(edges[side]) - DRAWN) for side in rows)
    return Drawing(_WIDTH, height, _short(name, 24), tuple(boxes), tuple(labels), left_out)


def _rows(edges: Sequence[Mapping[str, Any]], relations: Mapping[str, str]) -> list[str | Mapping[str, Any]]:
    """Neighbours grouped by relation, each group below its label."""
    rows: list[str | Mapping[str, Any]] = []
    for relation in dict.fromkeys(edge["relation"] for edge in edges):
        rows.append(relations.get(relation, relation))
        rows += [edge for edge in edges if edge["relation"] == relation]
    return rows


def _box(edge: Mapping[str, Any], side: str, x: int, y: int, height: int, language: str) -> Box:
    node = edge["node"]
    full = node["labels"].get(language) or node["name"]
    at = y + _ROW // 2
    middle = height // 2
    near, far = (x + _BOX, (_WIDTH - _MIDDLE) // 2) if side == "in" else (x, (_WIDTH + _MIDDLE) // 2)
    bend = (near + far) // 2
    return Box(
        x=x,
        y=y + 4,
        text=_short(full, _LONGEST),
        full=full,
        node_id=node["node_id"],
        kind=node["kind"],
        line=f"M{near} {at}C{bend} {at} {bend} {middle} {far} {middle}",
        mandatory=edge["strength"] == "mandatory",
        conditional=bool(edge["condition"]),
    )


def _short(text: str, columns: int) -> str:
    """A text cut to at most `columns` columns."""
    taken = 0
    for at, character in enumerate(text):
        taken += 2 if ord(character) > 0x2E7F else 1
        if taken > columns:
            return text[:at] + "…"
    return text
