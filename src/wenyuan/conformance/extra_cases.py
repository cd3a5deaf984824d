"""Extra cases on well-formed requests: state, order, secrets, both languages. Reported apart from the outline."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from wenyuan.conformance import documents
from wenyuan.conformance.bench import Bench, Case, Mismatch, demand, successful
from wenyuan.conformance.malformed_cases import MALFORMED
from wenyuan.conformance.response_checks import blank_faults, order_faults, repeat_faults, score_faults, source_faults
from wenyuan.conformance.targets import Answer, clip
from wenyuan.core.errors import msg

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


def _shared_parts(fragments: Sequence[Mapping[str, Any]]) -> tuple[tuple[str, str, float], ...]:
    """The parts that two answers to one request must share; metadata may hold a request id."""
    return tuple((f["source"], f["content"], round(f["retrieval_score"], 6)) for f in fragments)


def _same_answer(bench: Bench) -> str:
    first = _shared_parts(bench.fragments("many"))
    for again in range(2, 6):
        if _shared_parts(bench.fragments("many")) != first:
            raise Mismatch("the same answer to the same request", msg("another one the {again}. time", again=again))
    return "5 times the same"


def _any_order(bench: Bench) -> str:
    first = {name: _shared_parts(bench.fragments(name)) for name in ROUNDS}
    for name in reversed(ROUNDS):
        if _shared_parts(bench.fragments(name)) != first[name]:
            raise Mismatch(
                "answers that do not depend on earlier requests", msg("another answer to {name}", name=repr(name))
            )
    return f"{len(first)} requests, forwards and backwards"


def _parallel(bench: Bench) -> str:
    alone = {name: _shared_parts(bench.fragments(name)) for name in ROUNDS}
    names = ROUNDS * 3
    with ThreadPoolExecutor(THREADS) as pool:
        answers = list(pool.map(bench.ask, names))
    for name, answer in zip(names, answers, strict=True):
        if _shared_parts(successful(answer)) != alone[name]:
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
        only = documents.manifest()["requests"][name].get("from")
        expected = msg(
            "words of {only} (request {name})", only=only or "the documents of --export-data", name=repr(name)
        )
        for fragment in bench.fragments(name):
            found = documents.origin(fragment["content"])
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
    query = documents.request("many")["query"]
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
            answers.append(bench.target.ask(documents.request("many"), headers))
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
