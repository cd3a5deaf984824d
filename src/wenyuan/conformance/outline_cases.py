"""The eleven cases of the conformance outline, with exactly its expected results."""

from __future__ import annotations

from typing import Any

from wenyuan.conformance import documents
from wenyuan.conformance.bench import Bench, Case, Mismatch, demand
from wenyuan.conformance.response_checks import (
    blank_faults,
    envelope_faults,
    looks_like_response,
    order_faults,
    score_faults,
    source_faults,
)
from wenyuan.conformance.targets import Answer, clip
from wenyuan.core.errors import msg


def _many(bench: Bench) -> list[dict[str, Any]]:
    """The answer to the request of TC-DP3-01, which several cases inspect."""
    fragments = bench.fragments("many")
    limit = documents.request("many")["max_results"]
    if not 1 <= len(fragments) <= limit:
        raise Mismatch(msg("1 to {limit} fragments", limit=limit), len(fragments))
    return fragments


def _several_results(bench: Bench) -> str:
    """Fragments whose content is the text itself: not blank, and from the documents that the service was given."""
    fragments = _many(bench)
    demand("texts", blank_faults(fragments))
    for fragment in fragments:
        if not documents.origin(fragment["content"]):
            raise Mismatch(
                "words of the documents of --export-data",
                msg("{content} as {source}", content=clip(fragment["content"]), source=fragment["source"]),
            )
    return f"{len(fragments)} fragments"


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
    limit = documents.request("two")["max_results"]
    fragments = bench.fragments("two")
    if len(fragments) != limit:
        raise Mismatch(
            msg("exactly {limit} fragments", limit=limit),
            f"{len(fragments)}: {[f['source'] for f in fragments[:5]]}",
        )
    return f"{len(fragments)} fragments"


def _order(bench: Bench) -> str:
    fragments = _outline_fragments(bench)
    if len(fragments) < 2:
        raise Mismatch("at least 2 fragments to compare", len(fragments))
    demand("retrieval_score never to rise", order_faults(fragments))
    return " ≥ ".join(f"{f['retrieval_score']:.4g}" for f in fragments)


def _internal_failure(bench: Bench) -> str:
    with bench.broken() as headers:
        answer = bench.target.ask(documents.request("many"), headers)
    body = answer.body
    if answer.refused or answer.status is None or envelope_faults(body) or body["status"] != "FAILED":
        raise Mismatch("status FAILED in a RetrievalResponse", answer)
    if body["fragments"]:
        raise Mismatch("fragments [] beside FAILED", msg("{count} fragments", count=len(body["fragments"])))
    if not (body.get("error_message") or "").strip():
        raise Mismatch("error_message that says why", repr(body.get("error_message")))
    by_status = "" if answer.status == 200 or not answer.by_http else f" (with HTTP {answer.status})"
    return f"FAILED{by_status}: {body['error_message']}"


def _missing_query(bench: Bench) -> str:
    request = documents.request("many")
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
    fragments = _outline_fragments(bench)
    demand("every retrieval_score in 0.0 to 1.0", score_faults(fragments))
    return f"{fragments[-1]['retrieval_score']:.4g} to {fragments[0]['retrieval_score']:.4g}"


def _source_format(bench: Bench) -> str:
    fragments = _outline_fragments(bench)
    demand("every source to be a URI", source_faults(fragments))
    return f"{fragments[0]['source']} …"


def _context_accepted(bench: Bench) -> str:
    limit = documents.request("context")["max_results"]
    count = len(bench.fragments("context"))
    if count > limit:
        raise Mismatch(msg("at most {limit} fragments", limit=limit), count)
    return f"SUCCESS with {count} fragments"


def _outline_fragments(bench: Bench) -> list[dict[str, Any]]:
    """The fragments of TC-DP3-01's request with minimal checks, so that each case reports only its own fault."""
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
