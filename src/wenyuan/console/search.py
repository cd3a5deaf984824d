"""The pages that ask: search with the breakdown of scores, answers by a language model, and verification of answers."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from starlette.responses import Response

from wenyuan.console.forms import MAX_UPLOAD, Form, read_form
from wenyuan.console.visit import Page, Refused, Visit

# A score taken apart into the pieces of a bar.


_USUAL_WEIGHT = 0.7
_LEAST = 0.0005  # what is smaller is not seen, and not told
_RULE_PARTS = ("link", "weight", "support", "condition", "inheritance", "asked")


@dataclass(frozen=True, slots=True)
class Piece:
    """A component of a score.

    Attributes:
        name: ``vector``, ``keyword``, ``law``, ``context``, ``trust``, ``identifier``, ``rivals``, ``reranker`` or, unexplained,
            ``score``.
        value: How much it adds; negative: how much it takes away.
        start: Where it begins in the bar, 0..1.
    """

    name: str
    value: float
    start: float

    @property
    def width(self) -> float:
        """Its length in the bar, 0..1."""
        return abs(self.value)


def pieces_of(score: float, parts: Mapping[str, float]) -> tuple[Piece, ...]:
    """The components that add up to a passage's score, in order of computation.

    The pieces end at the score: the deduction for low trust extends beyond it.
    """
    if "fused" not in parts:
        return (Piece("score", score, 0.0),)
    sums = _summands(score, parts)
    made, reached = [], 0.0
    for name, value in sums:
        if value >= _LEAST:
            made.append(Piece(name, min(value, 1.0 - reached), reached))
            reached = min(1.0, reached + value)
    for name, value in sums:
        if value <= -_LEAST:
            reached = max(0.0, reached + value)
            made.append(Piece(name, value, reached))
    return tuple(made)


def _summands(score: float, parts: Mapping[str, float]) -> list[tuple[str, float]]:
    fused, trust = parts["fused"], parts.get("trust", 1.0)
    vector = _share_of_vector(parts)
    law = fused * (parts.get("law", 1.0) - 1.0)
    context = (fused + law) * parts.get("context", 0.0)
    return [
        ("vector", vector),
        ("keyword", fused - vector),
        ("law", law),
        ("context", context),
        ("trust", (fused + law + context) * (trust - 1.0)),
        ("identifier", parts.get("identifier", 0.0)),
        ("rivals", parts.get("retrieved", score) - parts["raw"] if "raw" in parts else 0.0),
        ("reranker", parts.get("share", 0.0) * (parts.get("reranker", 0.0) - parts.get("retrieved", 0.0))),
    ]


def _share_of_vector(parts: Mapping[str, float]) -> float:
    """The part of the fused score that the vector leg contributes; the weight is derived from the three scores."""
    vector, keyword, fused = parts.get("vector"), parts.get("keyword"), parts["fused"]
    if vector is None or keyword is None:
        return 0.0 if vector is None else fused
    apart = vector - keyword
    weight = (fused - keyword) / apart if abs(apart) > 1e-6 else _USUAL_WEIGHT
    return weight * vector


def product_of(parts: Mapping[str, float]) -> tuple[tuple[str, float], ...]:
    """The factors of a rule's score; empty for a passage."""
    return tuple((name, parts[name]) for name in _RULE_PARTS if name in parts) if "link" in parts else ()


# The search page: a question, its limits, and the answer with all details.


LIMITS = (5, 10, 20, 50)
_LABELS = re.compile(r"—(.+?)→")


async def search(visit: Visit) -> Response:
    """Passages and rules for a question; without one, an empty form."""
    form = Form(visit.request.query_params.multi_items())
    choice = await _choice(visit)
    shown: dict[str, Any] = {"form": form, "limits": LIMITS, "answer": None, "refused": None, **choice}
    if not form["q"]:
        return visit.page("search.html", **shown)
    body = asked(form)
    shown["copies"] = copies(visit, "search", body)
    status = 200
    try:
        shown["answer"] = await visit.post("v1", "search", body={**body, "nearest": True})
    except Refused as refused:
        if refused.status not in (400, 404, 403):
            raise
        shown["refused"], status = refused, refused.status
    answer = shown["answer"] or {}
    for passage in (*answer.get("passages", ()), *answer.get("nearest", ())):
        _explain(visit, passage, form["q"])
    return visit.page("search.html", status, **shown)


async def context(visit: Visit) -> Response:
    """The context an agent would receive for a question, and what is withheld from it."""
    form = Form(visit.request.query_params.multi_items())
    shown: dict[str, Any] = {"form": form, "answer": None, "refused": None, **await _choice(visit)}
    if not form["q"]:
        return visit.page("context.html", **shown)
    wanted = {"agent_id": form["agent"] or None, "token_budget": form.number("budget")}
    body = {"retrieval_query": form["q"], **{name: value for name, value in wanted.items() if value is not None}}
    shown["copies"] = copies(visit, "context", body)
    status = 200
    try:
        shown["answer"] = await visit.post("v1", "context", body=body)
    except Refused as refused:
        if refused.status not in (400, 404, 403):
            raise
        shown["refused"], status = refused, refused.status
    return visit.page("context.html", status, **shown)


async def _choice(visit: Visit) -> dict[str, Any]:
    """Domains and agents for the form's choices, as far as the key may list them; empty where only an answer is
    wanted.
    """
    if visit.request.headers.get("hx-request"):
        return {"empty": False, "domains": [], "agents": []}
    sources = await visit.glance("v1", "sources")
    agents = await visit.glance("v1", "agents")
    domains = sorted({source.get("domain", "") for source in (sources or {}).get("sources", ())} - {""})
    empty = sources is not None and not sources["sources"]
    return {
        "empty": empty,
        "domains": domains,
        "agents": [agent["agent_id"] for agent in (agents or {}).get("agents", ())],
    }


def asked(form: Form) -> dict[str, Any]:
    """The ``/v1/search`` body for a form; blank fields are left out."""
    body: dict[str, Any] = {"query": form["q"]}
    limit = form.number("limit")
    if form.all("domain"):
        body["knowledge_scope"] = [{"domain": name, "top_k": limit or 10} for name in form.all("domain")]
    elif limit is not None:
        body["limit"] = limit
    named = {"agent_id": form["agent"], "min_trust": form.number("trust"), "as_of": form["as_of"]}
    return body | {name: value for name, value in named.items() if value not in (None, "")}


def copies(visit: Visit, name: str, body: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The same question as a command line and as program code."""
    url = f"{visit.request.url.scheme}://{visit.request.headers.get('host', '')}"
    written = json.dumps(body, ensure_ascii=False)
    key = ' \\\n  -H "Authorization: Bearer $WENYUAN_KEY"' if visit.token else ""
    curl = f"curl -s {url}/v1/{name} \\\n  -H 'Content-Type: application/json'{key} \\\n  -d {shlex.quote(written)}"
    rest = dict(body)
    question = rest.pop("query" if name == "search" else "retrieval_query")
    call = {"search": "search", "context": "get_context"}[name]
    given = "".join(f", {member}={value!r}" for member, value in rest.items())
    lines = ["from wenyuan.client import Client", ""]
    if visit.token:
        lines[:0] = ["import os"]
    lines += [
        f'with Client("{url}"{", key=os.environ[" + repr("WENYUAN_KEY") + "]" if visit.token else ""}) as client:',
        f"    answer = client.{call}({question!r}{given})",
        "    print(answer)",
    ]
    made = [("curl", curl), ("Python", "\n".join(lines))]
    tool = _tool(name, body)
    return made + ([("MCP", json.dumps(tool, ensure_ascii=False, indent=2))] if tool else [])


def _tool(name: str, body: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The MCP tool call for the same question; None where no tool has these parameters."""
    if name == "context":
        return {"name": "get_context", "arguments": body}
    scope = body.get("knowledge_scope", ())
    if body.keys() - {"query", "limit", "as_of", "knowledge_scope"} or len(scope) > 1:
        return None
    arguments: dict[str, Any] = {"query": body["query"], "max_results": body.get("limit", 10)}
    for entry in scope:
        arguments |= {"domain": entry["domain"], "max_results": entry["top_k"]}
    if "as_of" in body:
        arguments["context"] = {"as_of": body["as_of"]}
    return {"name": "retrieve_fragments", "arguments": arguments}


def _explain(visit: Visit, passage: dict[str, Any], question: str) -> None:
    """Add to a passage what the page shows beyond the API's answer."""
    number = passage["source"].rpartition("#")[2]
    passage["number"] = number if number.isdecimal() else ""
    passage["pieces"] = pieces_of(passage["score"], passage["scores"])
    passage["product"] = product_of(passage["scores"])
    rule = passage.get("rule")
    said = passage["content"].split("\n")[0] if rule else passage["content"]
    passage["said"] = said
    passage["marks"] = visit.site.marks(said, question)
    if rule:
        labels = _LABELS.findall(rule.get("derivation", ""))
        steps = rule["path"]
        known = labels if len(labels) == len(steps) else [step["relation"].replace("_", " ") for step in steps]
        passage["steps"] = [{**step, "label": label} for step, label in zip(steps, known, strict=True)]


PAGES: Mapping[tuple[str, str], Page] = {("GET", "search"): search, ("GET", "context"): context}


# The page for answers by the library's language model, every claim with its quote.

_RULE = "#rule-"


async def answer_form(visit: Visit) -> Response:
    """The empty page."""
    return _answer_page(visit, Form([]))


async def answered(visit: Visit) -> Response:
    """The answer to the question in the form, or the errors in its place."""
    form = await read_form(visit.request)
    told = {
        "query": form["query"],
        "min_trust": form.number("trust"),
        "as_of": form["as_of"],
        "on_failure": "extract" if form["extract"] else "fail",
        **_reworded(form),
    }
    body = {name: value for name, value in told.items() if value not in (None, "")}
    try:
        answer = await visit.post("v1", "answer", body={**body, "query": form["query"]})
    except Refused as refused:
        if refused.status != 400:
            raise
        return _answer_page(visit, form, 400, refused=refused)
    return _answer_page(visit, form, answer=answer)


def _reworded(form: Form) -> dict[str, Any]:
    """What asks for other words: of a question that asks on, the question before it and its answer."""
    if form["follow"] and form["before"] and form["said"]:
        before = [{"role": "user", "text": form["before"]}, {"role": "assistant", "text": form["said"]}]
        return {"rewrite": True, "history": before}
    return {"rewrite": True} if form["rewrite"] else {}


def _answer_page(visit: Visit, form: Form, status: int = 200, **shown: Any) -> Response:
    blank: dict[str, Any] = {"answer": None, "refused": None}
    return visit.page(
        "answer.html", status, form=form, statement_of=_statement_of, passage_of=_passage_of, **{**blank, **shown}
    )


def _statement_of(ref: str) -> str:
    """The statement number at the end of a rule's id; ``""`` for a passage."""
    return ref.rpartition(_RULE)[2] if _RULE in ref else ""


def _passage_of(ref: str) -> str:
    """The passage number, which gives the address of its page."""
    return ref.rpartition("#")[2]


ANSWER_PAGES: Mapping[tuple[str, str], Page] = {("GET", "answer"): answer_form, ("POST", "answer"): answered}


# The page that verifies each claim of an answer against the library.

_EQUALS = re.compile(r"[=＝]")
_BRACKETS = " \t[]【】"


async def verify_form(visit: Visit) -> Response:
    """The empty page."""
    return _verify_page(visit, Form([]))


async def verified(visit: Visit) -> Response:
    """The verdicts on the text in the form, or the errors in their place."""
    form = await read_form(visit.request, most=MAX_UPLOAD)
    citations, wrong = citations_of(form["citations"])
    if wrong:
        return _verify_page(visit, form, 400, wrong=wrong)
    bounds = {"min_trust": form.number("trust"), "as_of": form["as_of"]}
    body = {
        "answer": form["answer"].replace("\r\n", "\n"),
        "citations": citations,
        **{name: value for name, value in bounds.items() if value not in (None, "")},
    }
    try:
        answer = await visit.post("v1", "verify", body=body)
    except Refused as refused:
        if refused.status != 400:
            raise
        return _verify_page(visit, form, 400, refused=refused)
    return _verify_page(visit, form, answer=answer, counts=_counts(answer))


def citations_of(written: str) -> tuple[dict[str, str], list[str]]:
    """Parse ``mark = source`` lines (mark with or without brackets) to a mapping; and the lines that do not parse."""
    citations, wrong = {}, []
    for line in filter(str.strip, written.splitlines()):
        mark, *source = (part.strip() for part in _EQUALS.split(line, maxsplit=1))
        if mark.strip(_BRACKETS) and source and source[0]:
            citations[mark.strip(_BRACKETS)] = source[0]
        else:
            wrong.append(line.strip())
    return citations, wrong


def _verify_page(visit: Visit, form: Form, status: int = 200, **shown: Any) -> Response:
    blank: dict[str, Any] = {"answer": None, "refused": None, "wrong": [], "counts": []}
    return visit.page("verify.html", status, form=form, statement_of=_statement_of_rule, **{**blank, **shown})


def _counts(answer: Mapping[str, Any]) -> list[tuple[str, int, int]]:
    """Each verdict with its number of claims, and the number of the first such claim."""
    said = [claim["verdict"] for claim in answer["claims"]]
    return [(name, count, said.index(name) + 1) for name, count in answer.get("counts", {}).items()]


def _statement_of_rule(rule: str) -> str:
    """The statement number at the end of a rule's id."""
    return rule.rpartition(_RULE)[2]


VERIFY_PAGES: Mapping[tuple[str, str], Page] = {("GET", "verify"): verify_form, ("POST", "verify"): verified}
