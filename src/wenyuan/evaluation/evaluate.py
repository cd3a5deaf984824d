"""``wenyuan eval DIR``: build (or open) the library of a judged set, ask its queries, and say how well it found."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TextIO

from wenyuan.core.errors import InvalidRequest, SourceError, msg
from wenyuan.core.filters import Filter, parse_filter
from wenyuan.evaluation.built_library import default_cache, entries_of, open_built
from wenyuan.evaluation.corpus import Corpus, open_corpus
from wenyuan.evaluation.measures import Figures, measured, require_measures
from wenyuan.evaluation.pace import Pace
from wenyuan.evaluation.questions import JudgedSet, read_judged
from wenyuan.evaluation.report import EvaluationReport, write_table
from wenyuan.evaluation.report_page import check_page, write_page
from wenyuan.evaluation.run import DEPTH, ENGINES, EngineRun, QueryRunner
from wenyuan.service.library import Library
from wenyuan.wire.strict_json import option


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
) -> EvaluationReport:
    """Measure retrieval on a judged set in BEIR layout and write the figures to `out`.

    Args:
        folder: With ``corpus.jsonl``, ``queries.jsonl`` and ``qrels.tsv``.
        qrels: Another file of judgements.
        k: Cut-off of nDCG, recall and MRR, 1..100.
        limit: Ask only so many of the judged queries, always the same ones.
        engines: Of ``keyword``, ``vector``, ``fused``; all that the settings allow when none is named.
        context: Give the library the context of each query, as far as the query's metadata has it.
        filter: A filter tree as JSON for every query; a query's own ``metadata.filter`` is joined with it.
        library_cache: Where built libraries are kept; `evaluation.built_library.default_cache` when None.
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
    library: Library, corpus: Corpus, judged: JudgedSet, engines: Sequence[str], context: bool, err: TextIO
) -> list[EngineRun]:
    asker = QueryRunner(library, entries_of(library, corpus), context=context)
    total = len(judged.questions)
    return [asker.run(name, judged.questions, Pace(f"asking {name}", total, "queries", err)) for name in engines]


def _report(
    library: Library, corpus: Corpus, judged: JudgedSet, runs: Sequence[EngineRun], k: int
) -> tuple[EvaluationReport, dict[str, float]]:
    """The report, and nDCG@k of each query in the last run."""
    engines: dict[str, Figures] = {}
    worth: dict[str, float] = {}
    for run in runs:
        engines[run.engine], worth = measured(run, judged.qrels, k)
    report = EvaluationReport(
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


def _write(report: EvaluationReport, as_json: bool, out: TextIO) -> None:
    if not as_json:
        write_table(report, out)
        return
    json.dump(report.as_json(), out, ensure_ascii=False, indent=2)
    out.write("\n")
