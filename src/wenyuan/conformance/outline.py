"""The eleven cases of the conformance outline, with exactly its expected results."""

from __future__ import annotations

from typing import Any

from wenyuan.conformance import dataset
from wenyuan.conformance.answer import Answer
from wenyuan.conformance.bench import Bench, Case, Mismatch, demand
from wenyuan.conformance.shape import (
    envelope_faults,
    looks_like_response,
    order_faults,
    score_faults,
    source_faults,
)

__all__ = ["OUTLINE"]


def _many(bench: Bench) -> list[dict[str, Any]]:
    """The answer to the request of TC-DP3-01, which several cases look at."""
    fragments = bench.fragments("many")
    limit = dataset.request("many")["max_results"]
    if not 1 <= len(fragments) <= limit:
        raise Mismatch(f"1 to {limit} fragments", len(fragments))
    return fragments


def _several_results(bench: Bench) -> str:
    return f"{len(_many(bench))} fragments"


def _single_result(bench: Bench) -> str:
    fragments = bench.fragments("single")
    if len(fragments) != 1:
        raise Mismatch("exactly 1 fragment", f"{len(fragments)}: {[f['source'] for f in fragments[:5]]}")
    return f"1 fragment, {fragments[0]['source']}"


def _no_result(bench: Bench) -> str:
    fragments = bench.fragments("none")
    if fragments:
        raise Mismatch("SUCCESS with fragments []", f"{len(fragments)}: {[f['source'] for f in fragments[:5]]}")
    return "SUCCESS with []"


def _limit(bench: Bench) -> str:
    limit = dataset.request("two")["max_results"]
    fragments = bench.fragments("two")
    if len(fragments) != limit:
        raise Mismatch(f"exactly {limit} fragments", f"{len(fragments)}: {[f['source'] for f in fragments[:5]]}")
    return f"{len(fragments)} fragments"


def _order(bench: Bench) -> str:
    fragments = _listed(bench)
    if len(fragments) < 2:
        raise Mismatch("at least 2 fragments to compare", len(fragments))
    demand("retrieval_score never to rise", order_faults(fragments))
    return " ≥ ".join(f"{f['retrieval_score']:.4g}" for f in fragments)


def _internal_failure(bench: Bench) -> str:
    with bench.broken() as headers:
        answer = bench.target.ask(dataset.request("many"), headers)
    body = answer.body
    if answer.refused or answer.status is None or envelope_faults(body) or body["status"] != "FAILED":
        raise Mismatch("status FAILED in a RetrievalResponse", answer)
    if body["fragments"]:
        raise Mismatch("fragments [] beside FAILED", f"{len(body['fragments'])} fragments")
    if not (body.get("error_message") or "").strip():
        raise Mismatch("error_message that says why", repr(body.get("error_message")))
    return f"FAILED: {body['error_message']}"


def _missing_query(bench: Bench) -> str:
    request = dataset.request("many")
    del request["query"]
    answer = _bad_request(bench.target.ask(request))
    if looks_like_response(answer.body):
        raise Mismatch("a body that is no RetrievalResponse", answer)
    return str(answer)


def _wrong_type(bench: Bench) -> str:
    return str(_bad_request(bench.ask("many", max_results="three")))


def _bad_request(answer: Answer) -> Answer:
    if answer.status != 400:
        expected = "HTTP 400" if answer.by_http else "TypeError, ValueError or InvalidRequest"
        raise Mismatch(expected, answer)
    return answer


def _score_range(bench: Bench) -> str:
    fragments = _listed(bench)
    demand("every retrieval_score in 0.0 to 1.0", score_faults(fragments))
    return f"{fragments[-1]['retrieval_score']:.4g} to {fragments[0]['retrieval_score']:.4g}"


def _source_format(bench: Bench) -> str:
    fragments = _listed(bench)
    demand("every source to be a URI", source_faults(fragments))
    return f"{fragments[0]['source']} …"


def _context_accepted(bench: Bench) -> str:
    limit = dataset.request("context")["max_results"]
    count = len(bench.fragments("context"))
    if count > limit:
        raise Mismatch(f"at most {limit} fragments", count)
    return f"SUCCESS with {count} fragments"


def _listed(bench: Bench) -> list[dict[str, Any]]:
    """Fragments of TC-DP3-01's request, looked at no closer than needed: each case finds its own fault only."""
    answer = bench.ask("many")
    body = answer.body
    if not answer.returned or envelope_faults(body) or body["status"] != "SUCCESS" or not body["fragments"]:
        raise Mismatch("SUCCESS with fragments", answer)
    fragments = body["fragments"]
    if not all(isinstance(fragment, dict) for fragment in fragments):
        raise Mismatch("an array of objects", answer)
    return list(fragments)


OUTLINE = (
    Case("TC-DP3-01", "several results", "contract §3.1, §3.3", _several_results),
    Case("TC-DP3-02", "a single result", "contract §3.3", _single_result),
    Case("TC-DP3-03", "no result is SUCCESS with []", "contract §3.3, §4", _no_result),
    Case("TC-DP3-04", "max_results limits the number", "contract §3.2", _limit),
    Case("TC-DP3-05", "best first", "contract §3.3", _order),
    Case("TC-DP3-06", "an internal failure is FAILED", "contract §3.3, §4", _internal_failure, needs_fault=True),
    Case("TC-DP3-07", "query missing: 400", "contract §3.2, §4", _missing_query),
    Case("TC-DP3-08", "max_results of the wrong type: 400", "contract §3.2, §4", _wrong_type),
    Case("TC-DP3-09", "scores from 0.0 to 1.0", "contract §3.1", _score_range),
    Case("TC-DP3-10", "source is a URI", "contract §3.1", _source_format),
    Case("TC-DP3-11", "context is accepted", "contract §3.2, §5", _context_accepted),
)
"""In the outline's order."""
