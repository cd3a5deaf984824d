"""The report as one HTML page that needs nothing else: figures, score distributions, the worst queries."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from pathlib import Path

from wenyuan.core.errors import SourceError, msg
from wenyuan.core.scoring.reliability import PLACES
from wenyuan.evaluation.corpus import Corpus
from wenyuan.evaluation.diagram import diagram, placed, reliability
from wenyuan.evaluation.questions import JudgedQuery, JudgedSet, Qrels
from wenyuan.evaluation.report import EvaluationReport, rows
from wenyuan.evaluation.run import EngineRun, Ranked

_WORST = 20
_BINS = 40
_SHOWN = 10  # ranks whose scores are counted
_SNIPPET = 200  # characters
_BAR, _HEIGHT = 12, 120  # SVG units

_STYLE = """
:root { color-scheme: light dark; --yes: #2a7d5f; --no: #b9603c; --line: #8886; }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 62rem; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; margin: 1rem 0; }
th, td { padding: .3rem .8rem; border-bottom: 1px solid var(--line); text-align: left; vertical-align: top; }
td.n, th.n { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
svg { width: 100%; max-width: 36rem; height: auto; display: block; }
svg text { font: 10px system-ui, sans-serif; fill: currentColor; }
.yes { fill: var(--yes); background: var(--yes); } .no { fill: var(--no); background: var(--no); }
.key { display: inline-block; width: .8em; height: .8em; margin-right: .3em; }
small { opacity: .75; }
"""


def check_page(path: Path) -> None:
    """Raise SourceError where the page cannot be written; called before a long run."""
    at = path if path.exists() else path.parent
    wrong = errno.EISDIR if path.is_dir() else 0 if os.access(at, os.W_OK) else errno.EACCES
    if not (at.exists() and (at == path or at.is_dir())):
        wrong = errno.ENOENT
    if wrong:
        raise SourceError(msg("cannot write {path}: {os}", path=path, os=os.strerror(wrong)))


def write_page(
    path: Path,
    report: EvaluationReport,
    runs: Sequence[EngineRun],
    corpus: Corpus,
    judged: JudgedSet,
    worth: Mapping[str, float],
) -> None:
    """Write the HTML report.

    Args:
        worth: nDCG@k of each query for the last of `runs`, whose worst are shown.

    Raises:
        SourceError: it cannot be written.
    """
    parts = [
        f"<!doctype html><html lang='en'><meta charset='utf-8'><title>{escape(report.set)}</title>",
        "<meta name='viewport' content='width=device-width, initial-scale=1'>",
        f"<style>{_STYLE}</style><h1>{escape(report.set)}</h1>",
        f"<p>{report.docs} documents, {report.passages} passages, {report.queries} queries; encoder: "
        f"{escape(report.encoder or 'none')}.</p>",
        *_figures(report),
        *_distributions(runs, judged.qrels),
        *_reliability(runs, judged.qrels, report.k),
        *_worst(runs[-1], report.k, corpus, judged, worth),
        "</html>\n",
    ]
    try:
        path.write_text("\n".join(parts), "utf-8", errors="replace")
    except OSError as error:
        raise SourceError(msg("cannot write {path}: {strerror}", path=path, strerror=error.strerror)) from error


def _figures(report: EvaluationReport) -> Iterator[str]:
    yield "<table><tr><th></th>" + "".join(f"<th class='n'>{escape(e)}</th>" for e in report.engines) + "</tr>"
    for name, values in rows(report):
        cells = "".join(f"<td class='n'>{escape(value)}</td>" for value in values)
        yield f"<tr><td>{escape(name)}</td>{cells}</tr>"
    yield "</table>"


def _distributions(runs: Sequence[EngineRun], qrels: Qrels) -> Iterator[str]:
    yield f"<h2>Scores of answers and of the rest</h2><p>Among the first {_SHOWN} documents of each query. "
    yield "<span class='key yes'></span>judged an answer (above) "
    yield "<span class='key no'></span>everything else (below); each as a share of its kind.</p>"
    for run in runs:
        yield f"<h3>{escape(run.engine)}</h3>"
        yield _histogram(*_bins(run, qrels))


def _bins(run: EngineRun, qrels: Qrels) -> tuple[list[float], list[float]]:
    """Distribution of scores over `_BINS` equal parts of 0..1: of relevant documents, and of the others."""
    yes, no = [0] * _BINS, [0] * _BINS
    for query_id, found in run.ranked.items():
        for entry, score in zip(found.ids[:_SHOWN], found.scores, strict=False):
            counts = yes if qrels[query_id].get(entry, 0) > 0 else no
            counts[min(_BINS - 1, int(score * _BINS))] += 1
    return [n / max(1, sum(yes)) for n in yes], [n / max(1, sum(no)) for n in no]


def _histogram(yes: Sequence[float], no: Sequence[float]) -> str:
    scale = (_HEIGHT - 4) / max(*yes, *no, 1e-9)
    bars = []
    for i, (above, below) in enumerate(zip(yes, no, strict=True)):
        x, up, down = i * _BAR, above * scale, below * scale
        title = f"<title>{i / _BINS:.3f}–{(i + 1) / _BINS:.3f}: {above:.1%} / {below:.1%}</title>"
        bars.append(
            f"<g>{title}<rect class='yes' x='{x}' y='{_HEIGHT - up:.1f}' width='{_BAR - 2}' height='{up:.1f}'/>"
            f"<rect class='no' x='{x}' y='{_HEIGHT}' width='{_BAR - 2}' height='{down:.1f}'/></g>"
        )
    width = _BINS * _BAR
    marks = "".join(f"<text x='{tenth * width // 10}' y='{2 * _HEIGHT + 12}'>.{tenth}</text>" for tenth in range(10))
    return f"<svg viewBox='0 0 {width} {2 * _HEIGHT + 16}' role='img'>{''.join(bars)}{marks}</svg>"


def _reliability(runs: Sequence[EngineRun], qrels: Qrels, k: int) -> Iterator[str]:
    yield "<h2>What a score means</h2><p>Scores from left to right, the share of answers that are judged relevant upwards, "
    yield f"among the first {k} documents of each query. On the dotted line a score is the probability of relevance.</p>"
    for run in runs:
        yield f"<h3>{escape(run.engine)}</h3>"
        yield diagram(reliability(run, qrels, k))
        for name, place in (("first document", PLACES["first"]), ("places 2 and 3", PLACES["next"])):
            found = placed(run, qrels, *place)
            yield f"<h4>{name} ({found.count})</h4>{diagram(found.bins)}"
        refused = [query_id for query_id in qrels if not run.ranked[query_id].ids]
        if refused:
            yield f"<p>Without any result: {escape(', '.join(refused))}</p>"


def _worst(run: EngineRun, k: int, corpus: Corpus, judged: JudgedSet, worth: Mapping[str, float]) -> Iterator[str]:
    worst = sorted(judged.questions, key=lambda q: worth[q.query_id])[:_WORST]
    expected = {q.query_id: _answers(judged.qrels[q.query_id]) for q in worst}
    needed = {entry for q in worst for entry in (*expected[q.query_id][:1], *run.ranked[q.query_id].ids[:1])}
    texts = corpus.texts(needed)
    yield f"<h2>The {len(worst)} worst queries</h2><p>By nDCG@{k} of {escape(run.engine)}.</p>"
    yield f"<table><tr><th>query</th><th class='n'>nDCG@{k}</th><th>came first</th><th>judged an answer</th></tr>"
    for question in worst:
        found = run.ranked[question.query_id]
        yield _row(question, worth[question.query_id], found, expected[question.query_id], texts)
    yield "</table>"


def _answers(grades: Mapping[str, int]) -> list[str]:
    return [entry for entry, grade in sorted(grades.items(), key=lambda item: -item[1]) if grade > 0]


def _row(
    question: JudgedQuery, worth: float, found: Ranked, answers: list[str], texts: Mapping[str, tuple[str, str]]
) -> str:
    first = _entry(found.ids[0], texts, f"{found.scores[0]:.3f}") if found.ids else "<small>nothing</small>"
    ranks = [rank for rank, entry in enumerate(found.ids, 1) if entry in answers]
    place = f"rank {ranks[0]}: {found.scores[ranks[0] - 1]:.3f}" if ranks else "not found"
    right = _entry(answers[0], texts, place)
    return (
        f"<tr><td>{escape(question.text)}<br><small>{escape(question.query_id)}</small></td>"
        f"<td class='n'>{worth:.3f}</td><td>{first}</td><td>{right}</td></tr>"
    )


def _entry(entry: str, texts: Mapping[str, tuple[str, str]], score: str) -> str:
    title, text = texts[entry]
    short = text if len(text) <= _SNIPPET else text[:_SNIPPET] + "…"
    return f"<b>{escape(title or entry)}</b> <small>{escape(score)}</small><br>{escape(short)}"
