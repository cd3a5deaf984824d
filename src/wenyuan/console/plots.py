"""Figures over time, and what scores mean, as drawings: reckoned here, drawn by the templates as SVG."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import tzinfo
from typing import Any

from wenyuan.runtime.local_time import local_day

FIGURES = ("ndcg@10", "answered", "refused", "ece")
"""What is drawn over time; all of them lie in 0..1."""
_WIDTH, _HEIGHT, _EDGE, _FOOT = 960, 260, 40, 34
_SIDE, _MARGIN = 240, 30
_MOST_LABELS = 8


@dataclass(frozen=True, slots=True)
class MetricLine:
    """One metric over time: an SVG path, and a dot per evaluation with title and number."""

    name: str
    path: str
    dots: tuple[tuple[float, float, str, int], ...]


@dataclass(frozen=True, slots=True)
class Trend:
    """Metrics over time, oldest at the left, in units of an SVG of ``width`` by ``height``."""

    width: int
    height: int
    left: int
    right: int
    grid: tuple[tuple[float, str], ...]
    days: tuple[tuple[float, str], ...]
    lines: tuple[MetricLine, ...]


def trend(evaluations: Sequence[Mapping[str, Any]], zone: tzinfo | None = None) -> Trend:
    """Evaluations of one question set (newest first, as the API lists them) drawn at equal distances.

    Where a figure is missing its line is broken. Days are those of `zone`, or of this machine's.
    """
    ordered = list(reversed(evaluations))
    step = (_WIDTH - 2 * _EDGE) / max(1, len(ordered) - 1)
    xs = [_EDGE + i * step if len(ordered) > 1 else _WIDTH / 2 for i in range(len(ordered))]
    every = -(-len(ordered) // _MOST_LABELS)
    days = [
        (x, local_day(one["at"], zone)) for i, (x, one) in enumerate(zip(xs, ordered, strict=True)) if i % every == 0
    ]
    grid = [(_y(tenth / 10), f"{tenth / 10:.1f}") for tenth in range(0, 11, 2)]
    lines = tuple(_line(name, xs, ordered, zone) for name in FIGURES)
    return Trend(_WIDTH, _HEIGHT, _EDGE, _WIDTH - _EDGE, tuple(grid), tuple(days), lines)


def _line(name: str, xs: Sequence[float], ordered: Sequence[Mapping[str, Any]], zone: tzinfo | None) -> MetricLine:
    path, dots, drawing = "", [], False
    for x, one in zip(xs, ordered, strict=True):
        value = one["figures"][name]
        if value is None:
            drawing = False
            continue
        y = _y(value)
        path += f"{'L' if drawing else 'M'}{x:.1f} {y:.1f}"
        drawing = True
        dots.append((x, y, f"{local_day(one['at'], zone)}: {value:.3f}", one["evaluation_id"]))
    return MetricLine(name.partition("@")[0], path, tuple(dots))


def _y(value: float) -> float:
    return 10 + (1.0 - value) * (_HEIGHT - 10 - _FOOT)


@dataclass(frozen=True, slots=True)
class Circle:
    """Answers of one score bin in the reliability diagram: position, size and label."""

    x: float
    y: float
    radius: float
    score: float
    relevant: float
    count: int


@dataclass(frozen=True, slots=True)
class ReliabilityPlot:
    """Reliability diagram: score on x, share of right answers on y, in a square SVG of ``side``."""

    side: int
    low: int
    high: int
    marks: tuple[tuple[float, float, str], ...]
    circles: tuple[Circle, ...]


def reliability(bins: Sequence[Mapping[str, Any]]) -> ReliabilityPlot:
    """A circle per bin, with an area proportional to the number of answers."""
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
    return ReliabilityPlot(_SIDE + 2 * _MARGIN, _MARGIN, _MARGIN + _SIDE, marks, circles)
