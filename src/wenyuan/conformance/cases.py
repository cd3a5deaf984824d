"""The cases of the kit: the eleven of the outline, malformed requests, and extras."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

from wenyuan.conformance import bench as dataset
from wenyuan.conformance.bench import (
    Bench,
    Case,
    Mismatch,
    blank_faults,
    demand,
    envelope_faults,
    looks_like_response,
    order_faults,
    repeat_faults,
    score_faults,
    source_faults,
    successful,
)
from wenyuan.conformance.targets import NOT_JSON, Answer, clip
from wenyuan.core.errors import msg

__all__ = ["EXTRAS", "MALFORMED", "OUTLINE", "secrets_in"]


# The eleven cases of the conformance outline, with exactly its expected results.


def _many(bench: Bench) -> list[dict[str, Any]]:
    """The answer to the request of TC-DP3-01, which several cases inspect."""
    fragments = bench.fragments("many")
    limit = dataset.request("many")["max_results"]
    if not 1 <= len(fragments) <= limit:
        raise Mismatch(msg("1 to {limit} fragments", limit=limit), len(fragments))
    return fragments


def _several_results(bench: Bench) -> str:
    """Fragments whose content is the text itself: not blank, and from the documents that the service was given."""
    fragments = _many(bench)
    demand("texts", blank_faults(fragments))
    for fragment in fragments:
        if not dataset.origin(fragment["content"]):
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
    limit = dataset.request("two")["max_results"]
    fragments = bench.fragments("two")
    if len(fragments) != limit:
        raise Mismatch(
            msg("exactly {limit} fragments", limit=limit),
            f"{len(fragments)}: {[f['source'] for f in fragments[:5]]}",
        )
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
        raise Mismatch("fragments [] beside FAILED", msg("{count} fragments", count=len(body["fragments"])))
    if not (body.get("error_message") or "").strip():
        raise Mismatch("error_message that says why", repr(body.get("error_message")))
    by_status = "" if answer.status == 200 or not answer.by_http else f" (with HTTP {answer.status})"
    return f"FAILED{by_status}: {body['error_message']}"


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
        raise Mismatch(msg("at most {limit} fragments", limit=limit), count)
    return f"SUCCESS with {count} fragments"


def _listed(bench: Bench) -> list[dict[str, Any]]:
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


# Requests that are wrong in one way each. Reported apart: the outline asks for two of them only.
#
# A malformed request must be *refused* with a JSON body that cannot be taken for a RetrievalResponse; where a
# specification leaves the matter open, an answer is as good, but never a crash (*settled*).


JSON = "application/json"
REFUSALS = (400, 413, 415)
DEPTH = 500
BIG = 2 * 1024 * 1024


def refused(answer: Answer) -> str:
    """A description of the refusal; `Mismatch` when the request was not refused."""
    if not answer.by_http:
        if answer.status != 400:
            raise Mismatch("TypeError, ValueError or InvalidRequest", answer)
        return str(answer)
    if answer.status not in REFUSALS:
        raise Mismatch("HTTP 400 (or 413, 415)", answer)
    if answer.body is NOT_JSON or not isinstance(answer.body, Mapping):
        raise Mismatch("a JSON object that says what is wrong", answer)
    if looks_like_response(answer.body):
        raise Mismatch("a body that is no RetrievalResponse", answer)
    return str(answer)


def settled(answer: Answer) -> str:
    """A description, when the request was refused or answered with SUCCESS; `Mismatch` on any failure."""
    return refused(answer) if answer.refused else f"accepted, {len(successful(answer))} fragments"


def _value(changes: Mapping[str, Any], verdict: Any, bench: Bench) -> str:
    request = {**dataset.request("many"), **changes}
    return str(verdict(bench.target.ask({k: v for k, v in request.items() if v is not ...})))


def _bytes(body: bytes, verdict: Any, bench: Bench, *, content_type: str | None = JSON) -> str:
    headers = {} if content_type is None else {"Content-Type": content_type}
    return str(verdict(bench.target.send(body, headers)))


def _raw(query: str = '"连接池"', limit: str = "3", more: str = "") -> bytes:
    return f'{{"query": {query}, "max_results": {limit}{more}}}'.encode()


_GOOD = _raw()
_NESTED = "[" * DEPTH + "]" * DEPTH

_VALUES: tuple[tuple[str, str, Mapping[str, Any], Any], ...] = (
    ("max-results-true", "true is no integer", {"max_results": True}, refused),
    ("max-results-false", "false is no integer", {"max_results": False}, refused),
    ("max-results-float", "3.0 is not written as an integer", {"max_results": 3.0}, refused),
    ("max-results-fraction", "2.5 is no integer", {"max_results": 2.5}, refused),
    ("max-results-string", '"3" is no integer', {"max_results": "3"}, refused),
    ("max-results-null", "null is no integer", {"max_results": None}, refused),
    ("max-results-array", "[3] is no integer", {"max_results": [3]}, refused),
    ("max-results-zero", "0 asks for nothing", {"max_results": 0}, refused),
    ("max-results-negative", "-1 asks for less than nothing", {"max_results": -1}, refused),
    ("max-results-missing", "max_results is required", {"max_results": ...}, refused),
    ("max-results-huge", "a thousand million is refused, or is a limit like any other",
     {"max_results": 10**9}, settled),
    ("query-blank", "an empty query asks nothing", {"query": ""}, refused),
    ("query-whitespace", "white space, the ideographic space too, asks nothing", {"query": " \t\n\u3000"}, refused),
    ("query-number", "42 is no string", {"query": 42}, refused),
    ("query-null", "null is no string", {"query": None}, refused),
    ("query-array", "an array is no string", {"query": ["连接池"]}, refused),
    ("query-nul", "U+0000 in a query breaks nothing", {"query": "连接池\x00pool"}, settled),
    ("context-string", "context is an object", {"context": "chapter 3"}, refused),
    ("context-array", "context is an object", {"context": []}, refused),
    ("context-null", "a null context breaks nothing", {"context": None}, settled),
    ("unknown-member", "an unknown member breaks nothing", {"max_result": 3}, settled),
)  # fmt: skip

_BYTES: tuple[tuple[str, str, bytes, Any], ...] = (
    ("json-truncated", "half a JSON text", _GOOD[:-1], refused),
    ("json-empty", "an empty body", b"", refused),
    ("json-array", "an array at the top", b"[" + _GOOD + b"]", refused),
    ("json-string", "a string at the top", '"连接池"'.encode(), refused),
    ("json-trailing", "something after the JSON text", _GOOD + b"x", refused),
    ("json-duplicate-keys", "a member given twice", _raw(more=', "max_results": 1'), refused),
    ("json-nan", "NaN is no JSON", _raw(limit="NaN"), refused),
    ("json-nan-in-context", "NaN is no JSON, in context either", _raw(more=', "context": {"x": NaN}'), refused),
    ("json-infinity", "Infinity is no JSON", _raw(limit="Infinity"), refused),
    ("json-overflow", "1e400 is no integer and fits no float", _raw(limit="1e400"), refused),
    ("json-surrogate", "half a surrogate pair is no character", _raw(query='"\\ud800"'), refused),
    ("json-bom", "a byte order mark is refused or ignored (RFC 8259 §8.1)", b"\xef\xbb\xbf" + _GOOD, settled),
    ("json-invalid-utf8", "bytes that are no UTF-8", _raw(query='"?"').replace(b"?", b"\xff\xfe"), refused),
    ("json-gb18030", "Chinese in GB 18030 is no UTF-8", _GOOD.decode().encode("gb18030"), refused),
    ("json-utf16", "UTF-16 is no UTF-8", _GOOD.decode().encode("utf-16"), refused),
    ("nested-query", msg("an array {depth} deep", depth=DEPTH), _raw(query=_NESTED), refused),
    ("nested-context", msg("a context {depth} deep breaks nothing", depth=DEPTH), _raw(more=f', "context": {{"x": {_NESTED}}}'),
     settled),
    ("body-2mib", "2 MiB are too much", _raw(query='"' + "x" * BIG + '"'), refused),
)  # fmt: skip

_TYPES = (
    ("type-text", "text/plain is no JSON", "text/plain"),
    ("type-form", "a form is no JSON", "application/x-www-form-urlencoded"),
    ("type-missing", "no Content-Type", None),
)


def _values() -> list[Case]:
    return [
        Case(name, title, "contract §3.2, §4", partial(_value, changes, verdict))
        for name, title, changes, verdict in _VALUES
    ]


def _wire() -> list[Case]:
    section = "contract §4; RFC 8259"
    cases = [
        Case(name, title, section, partial(_bytes, body, verdict), needs_bytes=True)
        for name, title, body, verdict in _BYTES
    ]
    form = json.dumps(dataset.request("many")).encode()
    cases += [
        Case(name, title, "contract §4; RFC 9110 §15.5.16",
             partial(_bytes, form, refused, content_type=media_type), needs_bytes=True)
        for name, title, media_type in _TYPES
    ]  # fmt: skip
    return cases


MALFORMED = (*_values(), *_wire())


# Extra cases on well-formed requests: state, order, secrets, both languages. Reported apart from the outline.


THREADS = 8
ROUNDS = ("many", "single", "none", "context", "many", "none-zh", "single-zh", "two")
_FULL_WIDTH = {code: code + 0xFEE0 for code in range(0x21, 0x7F)} | {0x20: 0x3000}

_SECRETS = (
    ("a password in a URL", re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*://[^\s/:@]*:(?![*•.…x\[<]+@|%2A)[^\s/@]+@")),
    ("a password", re.compile(r"(?i)(?:password|passwd|pwd|secret|api_?key)=(?![*•\[<])['\"]?[^\s'\";&]{3,}")),
    ("a stack trace", re.compile(r"Traceback \(most recent call last\)|File \"[^\"]+\", line \d+")),
    ("a path of the installation", re.compile(r"(?:site|dist)-packages")),
    ("an access key", re.compile(r"(?<![A-Za-z0-9])(?:sk-[A-Za-z0-9]{16,}|AKIA[0-9A-Z]{16})")),
    ("a private key", re.compile(r"-----BEGIN [A-Z ]*KEY-----")),
)  # fmt: skip


def secrets_in(text: str) -> list[str]:
    """Secrets revealed in a text: passwords, keys, stack traces, installation paths."""
    bare = text.replace('\\"', '"').replace("\\/", "/")
    return [name for name, pattern in _SECRETS if pattern.search(bare)]


def _unknown_context(bench: Bench) -> str:
    context = {"章节": "第三章", "x-depth": {"a": [1, None, True]}, "priority": 0.5}
    return f"SUCCESS with {len(bench.fragments('many', context=context))} fragments"


def _single_chinese(bench: Bench) -> str:
    fragments = bench.fragments("single-zh")
    if len(fragments) != 1:
        raise Mismatch("exactly 1 fragment", f"{len(fragments)}: {[f['source'] for f in fragments[:5]]}")
    return f"1 fragment, {fragments[0]['source']}"


def _none_chinese(bench: Bench) -> str:
    fragments = bench.fragments("none-zh")
    if fragments:
        raise Mismatch("SUCCESS with fragments []", msg("{count} fragments", count=len(fragments)))
    return "SUCCESS with []"


def _seen(fragments: Sequence[Mapping[str, Any]]) -> tuple[tuple[str, str, float], ...]:
    """The parts that two answers to one request must share; metadata may hold a request id."""
    return tuple((f["source"], f["content"], round(f["retrieval_score"], 6)) for f in fragments)


def _same_answer(bench: Bench) -> str:
    first = _seen(bench.fragments("many"))
    for again in range(2, 6):
        if _seen(bench.fragments("many")) != first:
            raise Mismatch("the same answer to the same request", msg("another one the {again}. time", again=again))
    return "5 times the same"


def _any_order(bench: Bench) -> str:
    first = {name: _seen(bench.fragments(name)) for name in ROUNDS}
    for name in reversed(ROUNDS):
        if _seen(bench.fragments(name)) != first[name]:
            raise Mismatch(
                "answers that do not depend on earlier requests", msg("another answer to {name}", name=repr(name))
            )
    return f"{len(first)} requests, forwards and backwards"


def _parallel(bench: Bench) -> str:
    alone = {name: _seen(bench.fragments(name)) for name in ROUNDS}
    names = ROUNDS * 3
    with ThreadPoolExecutor(THREADS) as pool:
        answers = list(pool.map(bench.ask, names))
    for name, answer in zip(names, answers, strict=True):
        if _seen(successful(answer)) != alone[name]:
            raise Mismatch("the answers of one thread in eight", msg("another answer to {name}", name=repr(name)))
    return f"{len(names)} requests in {THREADS} threads"


def _every(rule: Callable[[Sequence[Mapping[str, Any]]], list[str]], expected: str) -> Callable[[Bench], str]:
    def check(bench: Bench) -> str:
        count = 0
        for name in dict.fromkeys(ROUNDS):
            fragments = bench.fragments(name)
            demand(msg("{expected} (request {name})", expected=expected, name=repr(name)), rule(fragments))
            count += len(fragments)
        return f"{count} fragments"

    return check


def _own_words(bench: Bench) -> str:
    """Every fragment's text must be from the known documents, so invented content is detected."""
    count = 0
    for name in dict.fromkeys(ROUNDS):
        only = dataset.manifest()["requests"][name].get("from")
        expected = msg(
            "words of {only} (request {name})", only=only or "the documents of --export-data", name=repr(name)
        )
        for fragment in bench.fragments(name):
            found = dataset.origin(fragment["content"])
            if not found or found != (only or found):
                raise Mismatch(
                    expected,
                    msg("{content} as {source}", content=clip(fragment["content"]), source=fragment["source"]),
                )
            count += 1
    return f"{count} fragments"


def _limits(bench: Bench) -> str:
    for limit in range(1, 7):
        count = len(bench.fragments("many", max_results=limit))
        if count > limit:
            raise Mismatch(msg("at most {limit} fragments", limit=limit), count)
    return "max_results 1 to 6"


def _width(bench: Bench) -> str:
    """Informational: the contract says nothing on full-width forms, and a crash is caught by `Bench.fragments`."""
    query = dataset.request("many")["query"]
    half = {f["source"] for f in bench.fragments("many")}
    full = {f["source"] for f in bench.fragments("many", query=query.translate(_FULL_WIDTH))}
    return "the same fragments" if half == full else f"for information: {len(half ^ full)} fragments differ"


def _no_secrets(bench: Bench) -> str:
    answers: list[Answer] = [
        bench.ask("many", max_results="three"),
        bench.ask("many", query=42),
        bench.ask("many", context="x"),
    ]
    if bench.target.takes_bytes:
        types = {"Content-Type": "application/json"}
        answers += [bench.target.send(body, types) for body in (b'{"query": ', b"\xff", b"[1]", b'{"query": NaN}')]
    if bench.fault is not None:
        with bench.broken() as headers:
            answers.append(bench.target.ask(dataset.request("many"), headers))
    for answer in answers:
        if answer.status is None:
            raise Mismatch("an answer with an error text", answer)
        if found := secrets_in(answer.text):
            raise Mismatch(
                "error texts without secrets",
                msg("{found} in an answer with status {status}", found=found[0], status=answer.status),
            )
    return f"{len(answers)} error texts"


def _recovers(bench: Bench) -> str:
    with bench.broken():
        pass
    if bench.fault is not None and bench.fault.lasting:
        return "not looked at: no restore command was given"
    return f"SUCCESS with {len(bench.fragments('many'))} fragments"


EXTRAS = (
    *MALFORMED,
    Case("context-unknown-keys", "context may hold more than the standard keys", "contract §3.2", _unknown_context),
    Case("single-result-zh", "a single result, asked in Chinese", "contract §3.3", _single_chinese),
    Case("no-result-zh", "rare characters find nothing", "contract §3.3", _none_chinese),
    Case("same-answer", "the same request, the same answer", "contract §2", _same_answer),
    Case("any-order", "answers do not depend on earlier requests", "contract §2", _any_order),
    Case("parallel", "answers do not depend on other callers", "contract §2", _parallel),
    Case("all-limits", "never more than max_results", "contract §3.2", _limits),
    Case("all-scores", "every score is finite, 0.0 to 1.0", "contract §3.1", _every(score_faults, "scores in 0..1")),
    Case("all-sorted", "scores never rise", "contract §3.3", _every(order_faults, "scores that fall")),
    Case("all-sources", "every source is a URI", "contract §3.1", _every(source_faults, "URIs")),
    Case("unique-sources", "no source twice in an answer", "contract §3.1", _every(repeat_faults, "unique sources")),
    Case("all-contents", "no content is blank", "contract §3.1", _every(blank_faults, "texts")),
    Case("own-words", "contents are from the documents of the kit", "outline §3", _own_words),
    Case("width", "full-width letters find what half-width ones do", "for information", _width),
    Case("no-secrets", "error texts give nothing away", "contract §4", _no_secrets, needs_fault=True),
    Case("recovers", "after the fault, SUCCESS again", "contract §2", _recovers, needs_fault=True),
)  # fmt: skip
"""After the outline; an implementation conforms without them."""
