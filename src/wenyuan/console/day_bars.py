"""Questions by day as stacked bars: reckoned here, drawn by the template as SVG."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from wenyuan.core.question_outcomes import OUTCOMES

_WIDTH, _HEIGHT, _EDGE, _HEAD, _FOOT = 960, 240, 46, 12, 30
_MOST_BARS = 31  # each is wide enough to be hit
_MOST_LABELS = 8
_STEPS = (1, 2, 5)


@dataclass(frozen=True, slots=True)
class DayBar:
    """The questions of one day or of some days in a row.

    Attributes:
        pieces: Of each outcome that there was: name, top and height in the drawing.
    """

    first: str
    last: str
    x: float
    width: float
    questions: int
    outcomes: Mapping[str, int]
    pieces: tuple[tuple[str, float, float], ...]


@dataclass(frozen=True, slots=True)
class DayBars:
    """Bars, the oldest at the left, in units of an SVG of ``width`` by ``height``.

    Attributes:
        grid: Heights of lines, each with its number of questions.
        labels: Places of days below the bars.
    """

    width: int
    height: int
    left: int
    right: int
    top: int
    bottom: int
    grid: tuple[tuple[float, str], ...]
    labels: tuple[tuple[float, str], ...]
    bars: tuple[DayBar, ...]


def day_bars(days: Sequence[Mapping[str, Any]]) -> DayBars:
    """The bars of days as the API gives them, the oldest first; several days share one where there are many."""
    each = -(-len(days) // _MOST_BARS)
    runs = [days[at : at + each] for at in range(0, len(days), each)]
    most = max((sum(day["questions"] for day in run) for run in runs), default=0)
    step = _step(most)
    highest = max(step, -(-most // step) * step)
    pace = (_WIDTH - _EDGE - 10) / max(1, len(runs))
    bars = tuple(_bar(run, _EDGE + at * pace, pace * 0.78, highest) for at, run in enumerate(runs))
    every = -(-len(runs) // _MOST_LABELS)
    return DayBars(
        width=_WIDTH, height=_HEIGHT, left=_EDGE, right=_WIDTH - 10, top=_HEAD, bottom=_HEIGHT - _FOOT,
        grid=tuple((_y(number, highest), f"{number:,}") for number in range(0, highest + 1, step)),
        labels=tuple((bar.x + bar.width / 2, bar.first[5:]) for bar in bars[::every]), bars=bars,
    )  # fmt: skip


def _bar(run: Sequence[Mapping[str, Any]], x: float, width: float, highest: int) -> DayBar:
    outcomes: dict[str, int] = {name: sum(day["outcomes"][name] for day in run) for name in OUTCOMES}
    pieces, below = [], 0
    for name, number in outcomes.items():
        if number:
            top = _y(below + number, highest)
            pieces.append((name, top, _y(below, highest) - top))
            below += number
    return DayBar(run[0]["name"], run[-1]["name"], x, width, below, outcomes, tuple(pieces))


def _step(most: int) -> int:
    """The distance of the lines of a scale up to a number: 1, 2 or 5 times a power of ten, with at most five lines."""
    power = 1
    while True:
        for step in _STEPS:
            if step * power * 5 >= most:
                return step * power
        power *= 10


def _y(number: int, highest: int) -> float:
    return _HEIGHT - _FOOT - number / highest * (_HEIGHT - _HEAD - _FOOT)
