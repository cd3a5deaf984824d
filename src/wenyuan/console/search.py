"""The search page: a question, its limits, and the answer with all details."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from starlette.responses import Response

from wenyuan.console.api import Refused
from wenyuan.console.forms import Form
from wenyuan.console.score_parts import pieces_of, product_of
from wenyuan.console.visit import Page, Visit
from wenyuan.core.access import ON_BEHALF_OF
from wenyuan.core.scoring.answerable import ABSTAIN
from wenyuan.core.text.bodies import body as body_of

LIMITS = (5, 10, 20, 50)
_LABELS = re.compile(r"—(.+?)→")


async def search(visit: Visit) -> Response:
    """Passages and rules for a question; without one, an empty form."""
    form = Form(visit.request.query_params.multi_items())
    choice = await _choice(visit)
    shown: dict[str, Any] = {
        "form": form,
        "limits": LIMITS,
        "answer": None,
        "refused": None,
        "strictness": [],
        "strictnesses": tuple(ABSTAIN),
        **choice,
    }
    shown["may_keep"] = not visit.token or bool(visit.rights & {"registry", "admin"})
    shown["may_see_as"] = not visit.token or ON_BEHALF_OF in visit.rights
    if not form["q"]:
        return visit.page("search.html", **shown)
    body = asked(form)
    shown["copies"] = copies(visit, "search", body, form["as"])
    status = 200
    try:
        shown["answer"] = await visit.post("v1", "search", body={**body, "nearest": True}, on_behalf_of=form["as"])
    except Refused as refused:
        if refused.status not in (400, 404, 403):
            raise
        shown["refused"], status = refused, refused.status
    answer = shown["answer"] or {}
    shown["strictness"] = _strictness((answer.get("coverage") or {}).get("answerable"))
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
        return {"empty": False, "domains": [], "agents": [], "sources": []}
    sources = await visit.learn_titles()
    agents = await visit.glance("v1", "agents")
    domains = sorted({source.get("domain", "") for source in (sources or {}).get("sources", ())} - {""})
    empty = sources is not None and not sources["sources"]
    return {
        "empty": empty,
        "domains": domains,
        "sources": [one["source_id"] for one in (sources or {}).get("sources", ())],
        "agents": [agent["agent_id"] for agent in (agents or {}).get("agents", ())],
    }


def _strictness(answerable: float | None) -> list[tuple[str, float, bool]]:
    """What each strictness would do with a question, by the probability that there is an answer: its name, the least it asks for,
    and whether it would answer; empty where that is not known.
    """
    if answerable is None:
        return []
    return [(name, least, answerable >= least) for name, least in ABSTAIN.items()]


def asked(form: Form) -> dict[str, Any]:
    """The ``/v1/search`` body for a form; blank fields are left out."""
    body: dict[str, Any] = {"query": form["q"]}
    limit = form.number("limit")
    if form.all("domain"):
        body["knowledge_scope"] = [{"domain": name, "top_k": limit or 10} for name in form.all("domain")]
    elif limit is not None:
        body["limit"] = limit
    if form.all("source"):
        body["filters"] = {"source_id": form.all("source")}
    named = {
        "agent_id": form["agent"],
        "abstain": form["abstain"],
        "min_trust": form.number("trust"),
        "as_of": form["as_of"],
    }
    return body | {name: value for name, value in named.items() if value not in (None, "")}


def copies(visit: Visit, name: str, body: Mapping[str, Any], person: str = "") -> list[tuple[str, str]]:
    """The same question as a command line and as program code."""
    url = f"{visit.request.url.scheme}://{visit.request.headers.get('host', '')}"
    written = json.dumps(body, ensure_ascii=False)
    key = ' \\\n  -H "Authorization: Bearer $WENYUAN_KEY"' if visit.token else ""
    if person:
        key += f" \\\n  -H {shlex.quote('X-Wenyuan-On-Behalf-Of: ' + quote(person, safe=':@,'))}"
    curl = f"curl -s {url}/v1/{name} \\\n  -H 'Content-Type: application/json'{key} \\\n  -d {shlex.quote(written)}"
    rest = dict(body)
    question = rest.pop("query" if name == "search" else "retrieval_query")
    call = {"search": "search", "context": "get_context"}[name]
    given = "".join(f", {member}={value!r}" for member, value in rest.items())
    lines = ["from wenyuan.client import Client", ""]
    if visit.token:
        lines[:0] = ["import os"]
    named = f", on_behalf_of={person!r}" if person else ""
    lines += [
        f'with Client("{url}"{", key=os.environ[" + repr("WENYUAN_KEY") + "]" if visit.token else ""}{named}) as client:',
        f"    answer = client.{call}({question!r}{given})",
        "    print(answer)",
    ]
    made = [("curl", curl), ("Python", "\n".join(lines))]
    tool = None if person else _tool(name, body)
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
    above = (passage["title"], *passage["heading"].split(" > "))
    said = passage["content"].split("\n")[0] if rule else body_of(passage["content"], above)
    passage["said"] = said
    passage["marks"] = visit.site.marks(said, question)
    if rule:
        labels = _LABELS.findall(rule.get("derivation", ""))
        steps = rule["path"]
        known = labels if len(labels) == len(steps) else [step["relation"].replace("_", " ") for step in steps]
        passage["steps"] = [{**step, "label": label} for step, label in zip(steps, known, strict=True)]


PAGES: Mapping[tuple[str, str], Page] = {("GET", "search"): search, ("GET", "context"): context}
