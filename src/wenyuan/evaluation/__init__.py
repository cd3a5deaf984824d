"""Retrieval evaluation on judged sets in BEIR layout, with the real engines on a real library.

``command.evaluate`` is the way in; the extra ``eval`` brings what it measures with.
"""

from __future__ import annotations

import errno
import json
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from html import escape
from pathlib import Path
from typing import Any, TextIO

from rich.console import Console
from rich.table import Table

from wenyuan.core.errors import ConfigError, InvalidRequest, SourceError, msg
from wenyuan.core.filters import Filter, parse_filter
from wenyuan.core.scoring.evaluation import Bin, calibration_error, in_bins, percentile
from wenyuan.core.scoring.reliability import PLACES, Reliability
from wenyuan.core.scoring.reliability import reliability as reliability_at
from wenyuan.evaluation.data import Corpus, Judged, Qrels, Question, open_corpus, read_judged
from wenyuan.evaluation.run import DEPTH, ENGINES, Asker, Pace, Ranked, Run, default_cache, entries_of, open_built
from wenyuan.runtime import install_command
from wenyuan.service.library import Library
from wenyuan.wire.strict_json import option

# Calibration: of the answers that score .7, are seven in ten relevant? See `core.scoring.evaluation`.


_SIDE, _EDGE = 240, 24  # SVG units


def reliability(run: Run, qrels: Qrels, k: int) -> list[Bin]:
    """The non-empty bins of the reliability diagram, from the first `k` documents of each query, by rising score."""
    return in_bins(
        (score, qrels[query_id].get(entry, 0) > 0)
        for query_id, found in run.ranked.items()
        for entry, score in zip(found.ids[:k], found.scores, strict=False)
    )


def placed(run: Run, qrels: Qrels, start: int, end: int) -> Reliability:
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


# Measures of a run, computed by ir-measures (MacAvaney et al. 2022, "Streamlining Evaluation with ir-measures").


Figures = dict[str, Any]
"""``ndcg@k``, ``recall@k``, ``mrr@k`` … (0..1), ``zero_results`` (share), ``refused`` (ids of queries), ``places`` (see `core.scoring.reliability`), ``ece`` (0..1, None when nothing was found),
``p50_ms``, ``p95_ms`` and ``stages``."""


def require_measures() -> Any:
    """The module ``ir_measures``.

    Raises:
        ConfigError: it is not installed.
    """
    try:
        import ir_measures
    except ImportError as error:
        raise ConfigError(
            msg("measuring needs the package ir-measures: {error}", error=error), hint=install_command("eval")
        ) from error
    return ir_measures


def measured(run: Run, qrels: Qrels, k: int) -> tuple[Figures, dict[str, float]]:
    """Metrics of a run over all judged queries, and nDCG@k of each query.

    A query that found nothing counts as 0. Ties do not exist here: ranks are handed over as strictly falling
    scores, since trec_eval would order equal ones by document id.
    """
    names = _measures(k)
    by_rank = {
        query_id: {entry: float(len(found.ids) - rank) for rank, entry in enumerate(found.ids)}
        for query_id, found in run.ranked.items()
        if found.ids
    }
    values: dict[str, dict[str, float]] = {name: {} for name in names}
    name_of = {measure: name for name, measure in names.items()}
    if by_rank:  # with no run at all there is nothing for it to read
        for metric in require_measures().iter_calc(list(name_of), dict(qrels), by_rank):
            values[name_of[metric.measure]][metric.query_id] = metric.value
    figures: Figures = {name: round(sum(found.values()) / len(qrels), 4) for name, found in values.items()}
    figures["zero_results"] = round(sum(not run.ranked[q].ids for q in qrels) / len(qrels), 4)
    error = calibration_error(reliability(run, qrels, k))
    figures["ece"] = None if error is None else round(error, 4)
    figures["places"] = {name: asdict(placed(run, qrels, *place)) for name, place in PLACES.items()}
    figures["refused"] = [query_id for query_id in qrels if not run.ranked[query_id].ids]
    stages = {stage: _spread(times) for stage, times in run.ms.items()}
    figures |= stages.pop("total")
    figures["stages"] = stages
    return figures, {query_id: values[f"ndcg@{k}"].get(query_id, 0.0) for query_id in qrels}


def _measures(k: int) -> Mapping[str, Any]:
    m = require_measures()
    return {
        f"ndcg@{k}": m.nDCG @ k,
        f"recall@{k}": m.R @ k,
        "recall@100": m.R @ 100,
        "mrr@3": m.RR @ 3,
        f"mrr@{k}": m.RR @ k,
        "hit@1": m.Success @ 1,
        "hit@3": m.Success @ 3,
    }


def _spread(times: list[float]) -> dict[str, float]:
    return {"p50_ms": round(percentile(times, 0.50), 3), "p95_ms": round(percentile(times, 0.95), 3)}


# The results as a table for a terminal and an object for a program.


_NAMES = {"ndcg": "nDCG", "recall": "Recall", "mrr": "MRR", "hit": "Hit"}
_STAGES = ("keyword", "encode", "vector")
_WIDTH = 80


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
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


def rows(report: Report) -> Iterator[tuple[str, list[str]]]:
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


def write_table(report: Report, out: TextIO) -> None:
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


# The report as one HTML page that needs nothing else: figures, score distributions, the worst queries.


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
    path: Path, report: Report, runs: Sequence[Run], corpus: Corpus, judged: Judged, worth: Mapping[str, float]
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


def _figures(report: Report) -> Iterator[str]:
    yield "<table><tr><th></th>" + "".join(f"<th class='n'>{escape(e)}</th>" for e in report.engines) + "</tr>"
    for name, values in rows(report):
        cells = "".join(f"<td class='n'>{escape(value)}</td>" for value in values)
        yield f"<tr><td>{escape(name)}</td>{cells}</tr>"
    yield "</table>"


# -- distributions ----------------------------------------------------------------------------------------


def _distributions(runs: Sequence[Run], qrels: Qrels) -> Iterator[str]:
    yield f"<h2>Scores of answers and of the rest</h2><p>Among the first {_SHOWN} documents of each query. "
    yield "<span class='key yes'></span>judged an answer (above) "
    yield "<span class='key no'></span>everything else (below); each as a share of its kind.</p>"
    for run in runs:
        yield f"<h3>{escape(run.engine)}</h3>"
        yield _histogram(*_bins(run, qrels))


def _bins(run: Run, qrels: Qrels) -> tuple[list[float], list[float]]:
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


def _reliability(runs: Sequence[Run], qrels: Qrels, k: int) -> Iterator[str]:
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


# -- the worst queries ------------------------------------------------------------------------------------


def _worst(run: Run, k: int, corpus: Corpus, judged: Judged, worth: Mapping[str, float]) -> Iterator[str]:
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
    question: Question, worth: float, found: Ranked, answers: list[str], texts: Mapping[str, tuple[str, str]]
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


# ``wenyuan eval DIR``: build (or open) the library of a judged set, ask its queries, and say how well it found.


def evaluate(  # noqa: PLR0913  (the options of a command, each by name)
    folder: str | Path,
    *,
    qrels: str | Path | None = None,
    k: int = 10,
    limit: int | None = None,
    engines: Sequence[str] = (),
    context: bool = False,
    filter: str | None = None,
    library_cache: str | Path | None = None,
    as_json: bool = False,
    html: str | Path | None = None,
    out: TextIO | None = None,
    err: TextIO | None = None,
    **overrides: Any,
) -> Report:
    """Measure retrieval on a judged set in BEIR layout and write the figures to `out`.

    Args:
        folder: With ``corpus.jsonl``, ``queries.jsonl`` and ``qrels.tsv``.
        qrels: Another file of judgements.
        k: Cut-off of nDCG, recall and MRR, 1..100.
        limit: Ask only so many of the judged queries, always the same ones.
        engines: Of ``keyword``, ``vector``, ``fused``; all that the settings allow when none is named.
        context: Give the library the context of each query, as far as the query's metadata has it.
        filter: A filter tree as JSON for every query; a query's own ``metadata.filter`` is joined with it.
        library_cache: Where built libraries are kept; `evaluation.run.default_cache` when None.
        as_json: Write one JSON object instead of a table.
        html: Write a page with distributions and the worst queries there too.
        out: Standard output when None; `err`, for progress, likewise standard error.
        overrides: Settings, e.g. ``encoder={"kind": "none"}``.

    Raises:
        ConfigError: ir-measures is not installed, or vectors are wanted and there is no encoder.
        InvalidRequest: an option makes no sense.
        SourceError: the folder holds no sound judged set, or the page cannot be written.
        KnowledgeError: the library could not be built or did not answer.
    """
    chosen = _engines(engines)
    if not 1 <= k <= DEPTH or (limit is not None and limit < 1):
        raise InvalidRequest(msg("k must be from 1 to {depth}, and limit at least 1", depth=DEPTH))
    if not Path(folder).is_dir():
        raise SourceError(
            msg("there is no folder {folder}", folder=folder), hint="name the folder of a judged set (BEIR layout)"
        )
    if html is not None:
        check_page(Path(html))
    require_measures()
    corpus = open_corpus(Path(folder))
    judged = read_judged(
        Path(folder), corpus.uris, qrels=Path(qrels) if qrels else None, limit=limit, narrowed=_filter(filter)
    )
    err = err or sys.stderr
    if chosen == ("keyword",):
        overrides["encoder"] = {"kind": "none"}  # words alone need no vectors, which take nearly all of the time
    with open_built(corpus, Path(library_cache or default_cache()), err, **overrides) as library:
        runs = _runs(library, corpus, judged, chosen or _possible(library), context, err)
        report, worth = _report(library, corpus, judged, runs, k)
    if html is not None:
        write_page(Path(html), report, runs, corpus, judged, worth)
    _write(report, as_json, out or sys.stdout)
    return report


def _engines(names: Sequence[str]) -> tuple[str, ...]:
    unknown = [name for name in names if name not in ENGINES]
    if unknown:
        raise InvalidRequest(
            msg("there is no engine {unknown} to measure", unknown=repr(unknown[0])),
            hint=msg("one of {engines}", engines=", ".join(ENGINES)),
        )
    return tuple(name for name in ENGINES if name in names)


def _possible(library: Library) -> tuple[str, ...]:
    return ENGINES if library.encoder is not None else ("keyword", "fused")


def _filter(tree: str | None) -> Filter | None:
    if tree is None:
        return None
    return parse_filter(option(tree, "the filter", 'e.g. {"metadata.tag": "fire"}'))


def _runs(
    library: Library, corpus: Corpus, judged: Judged, engines: Sequence[str], context: bool, err: TextIO
) -> list[Run]:
    asker = Asker(library, entries_of(library, corpus), context=context)
    total = len(judged.questions)
    return [asker.run(name, judged.questions, Pace(f"asking {name}", total, "queries", err)) for name in engines]


def _report(
    library: Library, corpus: Corpus, judged: Judged, runs: Sequence[Run], k: int
) -> tuple[Report, dict[str, float]]:
    """The report, and nDCG@k of each query in the last run."""
    engines: dict[str, Figures] = {}
    worth: dict[str, float] = {}
    for run in runs:
        engines[run.engine], worth = measured(run, judged.qrels, k)
    report = Report(
        set=corpus.name,
        docs=len(corpus),
        passages=library.catalog.counts()["passages"],
        queries=len(judged.questions),
        k=k,
        encoder=library.encoder.fingerprint.id if library.encoder is not None else None,
        floor=round(max(run.floor for run in runs), 4),
        engines=engines,
    )
    return report, worth


def _write(report: Report, as_json: bool, out: TextIO) -> None:
    if not as_json:
        write_table(report, out)
        return
    json.dump(report.as_json(), out, ensure_ascii=False, indent=2)
    out.write("\n")
