"""Before and after on questions that nothing was learned from, fold by fold, as an SVG drawing or a page with it."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from wenyuan.core.errors import InvalidRequest, msg

if TYPE_CHECKING:
    from wenyuan.core.scoring.cross_validation import TuningVerdict


_WIDTH, _LEFT, _RIGHT, _ROW, _TOP = 640, 70, 130, 28, 56  # SVG units
_WORDS = {
    "en": ("nDCG@10 on questions that nothing was learned from", "fold {}", "all", "before", "after"),
    "zh": ("未参与学习的问题上的 nDCG@10", "第 {} 折", "全部", "调优前", "调优后"),
}
_STYLE = (
    "text{font:13px system-ui,sans-serif;fill:currentColor}.n{font-variant-numeric:tabular-nums}"
    ".axis{stroke:#8886}.gain{stroke:#2a7d5f;stroke-width:4}.loss{stroke:#b9603c;stroke-width:4}"
    ".before{fill:#8a8f98}.after{fill:#2a7d5f}"
)


def check_plot(path: Path) -> None:
    """Raise InvalidRequest for a file that is neither ``.svg`` nor ``.html``, or in no folder: before all the work."""
    if path.suffix.lower() not in (".svg", ".html"):
        raise InvalidRequest(msg("{name} is neither .svg nor .html", name=path.name), hint="--plot gain.svg")
    if not path.parent.is_dir():
        raise InvalidRequest(msg("cannot write {path}: {os}", path=path, os=os.strerror(errno.ENOENT)))


def write_plot(path: Path, verdict: TuningVerdict, language: str) -> None:
    """Write the drawing as SVG or in an HTML page, by the file's suffix.

    Raises:
        InvalidRequest: it cannot be written.
    """
    svg = drawing(verdict, language)
    if path.suffix.lower() == ".html":
        svg = (
            f"<!doctype html><html lang='{language}'><meta charset='utf-8'><title>{escape(_WORDS[language][0])}"
            f"</title><style>:root{{color-scheme:light dark}}body{{margin:2rem}}</style>{svg}</html>\n"
        )
    try:
        path.write_text(svg, "utf-8")
    except OSError as error:
        raise InvalidRequest(msg("cannot write {path}: {strerror}", path=path, strerror=error.strerror)) from error


def drawing(verdict: TuningVerdict, language: str) -> str:
    """An SVG with a line per fold from before to after on an axis from 0 to 1, and one for all questions."""
    title, fold, whole, before, after = _WORDS[language]
    rows = [(fold.format(n), *pair) for n, pair in enumerate(verdict.by_fold, 1)]
    rows.append((whole, verdict.before, verdict.after))
    height = _TOP + _ROW * len(rows) + 12
    parts = [
        f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {_WIDTH} {height}' width='{_WIDTH}' role='img'>",
        f"<title>{escape(title)}</title><style>{_STYLE}</style>",
        f"<text x='{_LEFT}' y='18'>{escape(title)}</text>",
        f"<circle class='before' cx='{_LEFT}' cy='34' r='5'/><text x='{_LEFT + 10}' y='38'>{before}</text>",
        f"<circle class='after' cx='{_LEFT + 90}' cy='34' r='5'/><text x='{_LEFT + 100}' y='38'>{after}</text>",
    ]
    for number, (name, low, high) in enumerate(rows):
        parts += _row(name, low, high, _TOP + _ROW * number + _ROW // 2)
    return "".join([*parts, "</svg>\n"])


def _row(name: str, before: float, after: float, y: int) -> Iterator[str]:
    start, end = (round(_LEFT + value * (_WIDTH - _LEFT - _RIGHT), 1) for value in (before, after))
    yield f"<text x='0' y='{y + 4}'>{escape(name)}</text>"
    yield f"<line class='axis' x1='{_LEFT}' x2='{_WIDTH - _RIGHT}' y1='{y}' y2='{y}'/>"
    yield f"<line class='{'gain' if after >= before else 'loss'}' x1='{start}' x2='{end}' y1='{y}' y2='{y}'/>"
    yield f"<circle class='before' cx='{start}' cy='{y}' r='5'/><circle class='after' cx='{end}' cy='{y}' r='5'/>"
    yield f"<text class='n' x='{_WIDTH - _RIGHT + 10}' y='{y + 4}'>{before:.3f} → {after:.3f}</text>"
