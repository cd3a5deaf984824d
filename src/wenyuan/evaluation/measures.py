"""Measures of a run, computed by ir-measures (MacAvaney et al. 2022, "Streamlining Evaluation with ir-measures")."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from wenyuan.core.errors import ConfigError, msg
from wenyuan.core.scoring.evaluation import calibration_error, percentile
from wenyuan.core.scoring.reliability import PLACES
from wenyuan.evaluation.diagram import placed, reliability
from wenyuan.evaluation.questions import Qrels
from wenyuan.evaluation.run import EngineRun
from wenyuan.runtime.installation import install_command

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


def measured(run: EngineRun, qrels: Qrels, k: int) -> tuple[Figures, dict[str, float]]:
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
