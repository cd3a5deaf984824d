"""Figures over time, and what scores mean, as drawings: reckoned here, drawn by the templates as SVG."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

__all__ = ["FIGURES", "Circle", "Line", "Reliability", "Trend", "reliability", "trend"]

FIGURES = ("ndcg@10", "answered", "refused", "ece")
"""What is drawn over time; all of them lie in 0..1."""
_WIDTH, _HEIGHT, _EDGE, _FOOT = 960, 260, 40, 34
_SIDE, _MARGIN = 240, 30
_MOST_LABELS = 8


@dataclass(frozen=True, slots=True)
class Line:
    """One figure: a path, and a dot for each evaluation with its title and number."""

    name: str
    path: str
    dots: tuple[tuple[float, float, str, int], ...]


@dataclass(frozen=True, slots=True)
class Trend:
    """Figures of evaluations, the oldest at the left; units of an SVG of ``width`` by ``height``."""

    width: int
    height: int
    left: int
    right: int
    grid: tuple[tuple[float, str], ...]
    days: tuple[tuple[float, str], ...]
    lines: tuple[Line, ...]


def trend(evaluations: Sequence[Mapping[str, Any]]) -> Trend:
    """Evaluations of the same questions, newest first as the API lists them, drawn at equal distances.

    Where a figure is missing its line is broken.
    """
    ordered = list(reversed(evaluations))
    step = (_WIDTH - 2 * _EDGE) / max(1, len(ordered) - 1)
    xs = [_EDGE + i * step if len(ordered) > 1 else _WIDTH / 2 for i in range(len(ordered))]
    every = -(-len(ordered) // _MOST_LABELS)
    days = [(x, _day(one["at"])) for i, (x, one) in enumerate(zip(xs, ordered, strict=True)) if i % every == 0]
    grid = [(_y(tenth / 10), f"{tenth / 10:.1f}") for tenth in range(0, 11, 2)]
    lines = tuple(_line(name, xs, ordered) for name in FIGURES)
    return Trend(_WIDTH, _HEIGHT, _EDGE, _WIDTH - _EDGE, tuple(grid), tuple(days), lines)


def _line(name: str, xs: Sequence[float], ordered: Sequence[Mapping[str, Any]]) -> Line:
    path, dots, drawing = "", [], False
    for x, one in zip(xs, ordered, strict=True):
        value = one["figures"][name]
        if value is None:
            drawing = False
            continue
        y = _y(value)
        path += f"{'L' if drawing else 'M'}{x:.1f} {y:.1f}"
        drawing = True
        dots.append((x, y, f"{_day(one['at'])}: {value:.3f}", one["evaluation_id"]))
    return Line(name.partition("@")[0], path, tuple(dots))


def _y(value: float) -> float:
    return 10 + (1.0 - value) * (_HEIGHT - 10 - _FOOT)


def _day(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d")


@dataclass(frozen=True, slots=True)
class Circle:
    """Answers whose scores lie close together: where, how large, and what there is to tell of them."""

    x: float
    y: float
    radius: float
    score: float
    relevant: float
    count: int


@dataclass(frozen=True, slots=True)
class Reliability:
    """Scores from left to right, the share of right answers upwards, in a square SVG of ``side``."""

    side: int
    low: int
    high: int
    marks: tuple[tuple[float, float, str], ...]
    circles: tuple[Circle, ...]


def reliability(bins: Sequence[Mapping[str, Any]]) -> Reliability:
    """A circle for each bin, its area the number of answers."""
    total = sum(one["count"] for one in bins) or 1
    circles = tuple(
        Circle(
            x=_MARGIN + one["score"] * _SIDE,
            y=_MARGIN + (1.0 - one["relevant"]) * _SIDE,
            radius=3.0 + 16.0 * (one["count"] / total) ** 0.5,
            score=one["score"],
            relevant=one["relevant"],
            count=one["count"],
        )
        for one in bins
    )
    marks = tuple(
        (_MARGIN + tenth * _SIDE / 10, _MARGIN + _SIDE - tenth * _SIDE / 10, f"{tenth / 10:.1f}")
        for tenth in range(0, 11, 2)
    )
    return Reliability(_SIDE + 2 * _MARGIN, _MARGIN, _MARGIN + _SIDE, marks, circles)
