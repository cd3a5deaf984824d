"""The results as a table for a terminal and an object for a program."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TextIO

from rich.console import Console
from rich.table import Table

from wenyuan.evaluation.measures import Figures

_NAMES = {"ndcg": "nDCG", "recall": "Recall", "mrr": "MRR", "hit": "Hit"}
_STAGES = ("keyword", "encode", "vector")
_WIDTH = 80


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationReport:
    """Metrics of each engine on one judged set.

    Attributes:
        queries: How many were asked.
        passages: Into which the documents were cut.
        encoder: Id of the encoder; None when there was none.
        floor: How likely an answer must be, or the score that is set, for the whole library to give any.
    """

    set: str
    docs: int
    passages: int
    queries: int
    k: int
    encoder: str | None
    floor: float
    engines: Mapping[str, Figures]

    def as_json(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__slots__}


def rows(report: EvaluationReport) -> Iterator[tuple[str, list[str]]]:
    """Name of each metric, and its value for each engine."""
    figures = list(report.engines.values())
    for name in figures[0]:
        measure, at, depth = name.partition("@")
        if at:
            yield f"{_NAMES[measure]}@{depth}", [f"{f[name]:.3f}" for f in figures]
    yield "no result", [f"{f['zero_results']:.1%}" for f in figures]
    yield "calibration error", [_three(f["ece"]) for f in figures]
    for place, name in (("first", "first"), ("next", "places 2-3")):
        apart = [f["places"][place] for f in figures]
        yield f"{name}: said / right", [f"{_three(one['score'])} / {_three(one['right'])}" for one in apart]
        yield "  of", [str(one["count"]) for one in apart]
        yield "  calibration error", [_three(one["ece"]) for one in apart]
        yield "  Brier / AUC", [f"{_three(one['brier'])} / {_three(one['auc'])}" for one in apart]
    yield "ms, p50 / p95", [_times(f) for f in figures]
    for stage in _STAGES:
        if any(stage in f["stages"] for f in figures):
            yield f"  {stage}", [_times(f["stages"].get(stage)) for f in figures]


def _three(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"


def _times(spread: Mapping[str, float] | None) -> str:
    return f"{spread['p50_ms']:.1f} / {spread['p95_ms']:.1f}" if spread else "–"


def write_table(report: EvaluationReport, out: TextIO) -> None:
    """The report as a table that fits into 80 columns."""
    console = Console(file=out, width=None if out.isatty() else _WIDTH)
    made_of = f"{report.docs} documents, {report.passages} passages, {report.queries} queries"
    table = Table(
        title=f"{report.set}: {made_of}", caption=f"encoder: {report.encoder or 'none'}", title_justify="left"
    )
    table.add_column("")
    for engine in report.engines:
        table.add_column(engine, justify="right")
    for name, values in rows(report):
        table.add_row(name, *values)
    console.print(table)
