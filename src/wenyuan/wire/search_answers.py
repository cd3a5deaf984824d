"""From answers of search and context to JSON."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from wenyuan.core.json_values import as_json
from wenyuan.core.prompt_parts import Snippet
from wenyuan.service.context import Context
from wenyuan.service.fragments import about_hit
from wenyuan.service.generation.answers import Answered, as_data, rewritten
from wenyuan.service.query import Confidence, FollowUp
from wenyuan.service.search.searcher import ResultPassage, SearchResult
from wenyuan.wire.search import SnippetShape


def search_to_wire(result: SearchResult) -> dict[str, Any]:
    """The body of a successful search."""
    return {
        "status": "SUCCESS",
        "passages": [_passage(found, result.stale) for found in result.passages],
        "coverage": _coverage([result]),
        "metadata": {
            "cache": {"hit": result.cache_hit, "age_ms": round(result.cache_age_ms, 1)},
            "generation": result.generation,
            "mode": result.mode,
            "audit_ids": list(result.audit_ids),
            **rewritten(result.rewriting),
        },
        "reasons": dict(result.reasons),
        **({"nearest": [_passage(found, result.stale) for found in result.nearest]} if result.nearest else {}),
    }


def answer_to_wire(answered: Answered) -> dict[str, Any]:
    """The body of a successful answer, with the fragments found for it."""
    found = answered.found
    return as_data(answered, [_passage(one, found.stale) for one in found.passages])


def context_to_wire(context: Context) -> dict[str, Any]:
    """The body of a successful context."""
    first = context.results[0]
    return {
        "status": "SUCCESS",
        "CONTEXT_DATA": {
            "knowledge_snippets": [_snippet(snippet, first.stale) for snippet in context.build.snippets]
        },
        "withheld": dict(context.build.withheld),
        "tokens": context.build.tokens,
        "coverage": _coverage(context.results),
        "metadata": {
            "generation": first.generation,
            "mode": first.mode,
            "audit_ids": [name for result in context.results for name in result.audit_ids],
            **rewritten(first.rewriting),
        },
    }


def _passage(found: ResultPassage, stale: Mapping[str, str]) -> dict[str, Any]:
    return {
        "source": found.passage.ref,
        "uri": found.passage.uri,
        "content": found.passage.text,
        "summary": found.summary,
        "score": found.hit.score,
        "domain": found.domain,
        **about_hit(found.hit, found.passage, stale, found.copies),
        **({"rule": dict(found.derivation)} if found.derivation else {}),
        **({} if found.calibrated else {"calibrated": False}),
        **({"summary_origin": found.summary_origin} if found.summary_origin else {}),
    }


def _snippet(snippet: Snippet, stale: Mapping[str, str]) -> dict[str, Any]:
    shape = SnippetShape.model_validate(snippet, from_attributes=True)
    source_id = snippet.source.rpartition("#")[0]
    since = {"stale_since": stale[source_id]} if source_id in stale else {}
    return shape.model_dump(exclude_unset=True) | since


def confidence_to_wire(found: Confidence) -> dict[str, Any]:
    """How many passages suffice, and why that is believed."""
    told: dict[str, Any] = {"state": found.state, "k": found.k}
    if found.state == "auto":
        return told | {"reason": found.reason}
    asked = [{"k": k, "raw": round(raw, 6), "p": round(p, 6)} for k, raw, p in found.asked]
    return told | {
        "judge": found.judge, "asked": asked, "threshold": round(found.threshold, 6), "risk": found.risk,
        "questions": found.questions, "calibration": found.calibration,
        **({} if found.follow_up is None else {"follow_up": _follow_up_to_wire(found.follow_up)}),
    }  # fmt: skip


def _follow_up_to_wire(found: FollowUp) -> dict[str, Any]:
    if found.state == "searched":
        return {"state": found.state, "query": found.query, "found": found.found}
    also = {"refused": found.refused, "error": found.error}
    return {"state": found.state, **{name: value for name, value in also.items() if value}}


def _coverage(results: Iterable[SearchResult]) -> dict[str, Any]:
    legs: list[dict[str, Any]] = []
    degraded: list[str] = []
    stale_by = 0.0
    likely: list[float] = []
    missing: dict[str, None] = {}
    confidence: dict[str, Any] = {}
    for result in results:
        for domain, one in result.confidence.items():
            confidence.setdefault(domain, confidence_to_wire(one))
        likely += [] if result.answerable is None else [round(result.answerable, 6)]
        missing |= dict.fromkeys(result.missing_terms)
        degraded += result.degraded
        stale_by = max(stale_by, round(result.stale_by, 1))
        legs += [as_json(leg) | {"ms": round(leg.ms, 2)} for leg in result.legs]
    told: dict[str, Any] = {"legs": legs, "degraded": list(dict.fromkeys(degraded))}
    told |= {"answerable": max(likely)} if likely else {}
    told |= {"missing_terms": list(missing)} if missing else {}
    told |= {"confidence": confidence} if confidence else {}
    return told | ({"stale_by": stale_by} if stale_by else {})
