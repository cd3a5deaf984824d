"""The reliability of the first results, and its diagram as SVG."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from wenyuan.core.scoring.evaluation import Bin, in_bins
from wenyuan.core.scoring.reliability import Reliability
from wenyuan.core.scoring.reliability import reliability as reliability_at
from wenyuan.evaluation.questions import Qrels
from wenyuan.evaluation.run import EngineRun

# Calibration: of the answers that score .7, are seven in ten relevant? See `core.scoring.evaluation`.


_SIDE, _EDGE = 240, 24  # SVG units


def reliability(run: EngineRun, qrels: Qrels, k: int) -> list[Bin]:
    """The non-empty bins of the reliability diagram, from the first `k` documents of each query, by rising score."""
    return in_bins(
        (score, qrels[query_id].get(entry, 0) > 0)
        for query_id, found in run.ranked.items()
        for entry, score in zip(found.ids[:k], found.scores, strict=False)
    )


def placed(run: EngineRun, qrels: Qrels, start: int, end: int) -> Reliability:
    """The reliability of the documents from one place of each query to another."""
    return reliability_at(
        (score, qrels[query_id].get(entry, 0) > 0)
        for query_id, found in run.ranked.items()
        for entry, score in list(zip(found.ids, found.scores, strict=True))[start:end]
    )


def diagram(bins: Sequence[Bin]) -> str:
    """Reliability diagram as SVG: a circle per bin, its area the number of answers; on the diagonal, scores are
    calibrated.
    """
    total = sum(one.count for one in bins) or 1
    width = _SIDE + 2 * _EDGE
    circles = "".join(_circle(one, total) for one in bins)
    return (
        f"<svg viewBox='0 0 {width} {width}' role='img' style='max-width: 20rem'>"
        f"<path d='M{_EDGE} {_EDGE}V{_EDGE + _SIDE}H{_EDGE + _SIDE}' fill='none' stroke='currentColor'/>"
        f"<path d='M{_EDGE} {_EDGE + _SIDE}L{_EDGE + _SIDE} {_EDGE}' stroke='currentColor' stroke-dasharray='3'/>"
        f"{circles}{''.join(_marks())}</svg>"
    )


def _circle(one: Bin, total: int) -> str:
    x, y = _EDGE + one.score * _SIDE, _EDGE + (1.0 - one.relevant) * _SIDE
    radius = 2.0 + 16.0 * (one.count / total) ** 0.5
    title = f"<title>score {one.score:.2f}: {one.relevant:.0%} of {one.count}</title>"
    return f"<g>{title}<circle class='yes' fill-opacity='.7' cx='{x:.1f}' cy='{y:.1f}' r='{radius:.1f}'/></g>"


def _marks() -> Iterator[str]:
    for tenth in range(0, 11, 2):
        at = tenth * _SIDE / 10
        yield f"<text x='{_EDGE + at - 6:.0f}' y='{_SIDE + 2 * _EDGE - 8}'>{tenth / 10:.1f}</text>"
        yield f"<text x='2' y='{_EDGE + _SIDE - at + 3:.0f}'>{tenth / 10:.1f}</text>"
