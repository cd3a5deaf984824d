"""The rules: what is in the graph, what follows for a process, and which words of which law say so."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from starlette.responses import Response

from wenyuan.console.api import Refused
from wenyuan.console.forms import Form, whole_number
from wenyuan.console.graph_drawing import drawn
from wenyuan.console.visit import Page, Visit

_PAGE = 60  # nodes of one page
_SHOWN = 200  # statements of one direction
_ROWS = 25  # of one table of a node's page
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_GIVEN = "p."
_TRUTH = {"true": True, "false": False}


async def overview(visit: Visit) -> Response:
    """Counts and packs; with a search text or kind, the matching nodes."""
    form = Form(visit.request.query_params.multi_items())
    about = await visit.get("v1", "rules")
    found = None
    if form["q"] or form["kind"] or form["after"]:
        asked = {"q": form["q"], "kind": form["kind"], "after": form["after"], "limit": _PAGE}
        found = await visit.get("v1", "rules", **asked)
    return visit.page("rules.html", form=form, about=about, found=found, names=names_of(about["schema"], visit))


def names_of(schema: Mapping[str, Any], visit: Visit) -> dict[str, dict[str, str]]:
    """Labels of kinds, relations and parameters in the visit's language."""

    def label(labels: Mapping[str, str], name: str) -> str:
        return labels.get(visit.language) or name.replace("_", " ")

    kinds = {name: label(labels, name) for name, labels in schema["kinds"].items()}
    relations = {name: label(one["labels"], name) for name, one in schema["relations"].items()}
    parameters = {name: label(one["labels"], name) for name, one in schema["parameters"].items()}
    return {"kinds": kinds, "relations": relations, "parameters": parameters}


async def node(visit: Visit) -> Response:
    """A node: its neighbours as drawing and list, and the rules that follow for it."""
    form = Form(visit.request.query_params.multi_items())
    found = await visit.get("v1", "rules", "nodes", visit.request.path_params["node_id"], limit=_SHOWN)
    schema = (await visit.get("v1", "rules"))["schema"]
    names = names_of(schema, visit)
    own = found["node"]
    name = own["labels"].get(visit.language) or own["name"]
    graph = drawn(name, found, relations=names["relations"], language=visit.language)
    inferred: Mapping[str, Any] | None = None
    parameters: Mapping[str, Any] = {}
    refused: Refused | None = None
    if own["kind"] in {pattern["start"] for pattern in schema["patterns"].values()}:
        given = _filled_parameters(form, schema)
        try:
            inferred, parameters = await _inferred(visit, own["name"], given, schema)
        except Refused as problem:
            if problem.status != 400 or not given:
                raise
            refused = problem
            inferred, parameters = await _inferred(visit, own["name"], {}, schema)
            parameters = {n: one for n, one in schema["parameters"].items() if n in parameters or n in given}
    return visit.page(
        "rules_node.html", 200 if refused is None else refused.status, refused=refused, found=found, own=own, name=name, names=names, graph=graph, inferred=inferred,
        parameters=parameters, form=form, shown=_SHOWN, tables=_tables(visit, form, found, inferred),
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class RowPage:
    """A page of the rows of a table.

    Attributes:
        first, last: The numbers of its first and last row, from 1.
        before, after: Addresses of the pages beside it; ``""`` where there is none.
    """

    rows: Sequence[Any]
    first: int
    last: int
    total: int
    before: str
    after: str


def _tables(
    visit: Visit, form: Form, found: Mapping[str, Any], inferred: Mapping[str, Any] | None
) -> dict[str, RowPage]:
    """The tables of a node's page, a page of each; which one is in the address."""
    every = {"out": found["out"], "in": found["in"], "follows": (inferred or {}).get("items", ())}
    return {name: _row_page(visit, form, name, rows) for name, rows in every.items()}


def _row_page(visit: Visit, form: Form, name: str, rows: Sequence[Any]) -> RowPage:
    asked = form.number(f"{name}_from")
    begin = min(asked, max(0, len(rows) - 1)) // _ROWS * _ROWS if isinstance(asked, int) and asked > 0 else 0
    others = {key: value for key, value in visit.request.query_params.items() if key != f"{name}_from"}

    def address(start: int) -> str:
        return f"{visit.address(visit.request.url.path, **others, **{f'{name}_from': start})}#{name}"

    return RowPage(
        rows=rows[begin : begin + _ROWS], first=min(begin + 1, len(rows)), last=min(begin + _ROWS, len(rows)), total=len(rows),
        before=address(max(0, begin - _ROWS)) if begin else "",
        after=address(begin + _ROWS) if begin + _ROWS < len(rows) else "",
    )  # fmt: skip


def _filled_parameters(form: Form, schema: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters filled in on the form."""
    return {
        parameter: _value(form[_GIVEN + parameter], described["type"])
        for parameter, described in schema["parameters"].items()
        if form[_GIVEN + parameter]
    }


async def _inferred(
    visit: Visit, name: str, given: Mapping[str, Any], schema: Mapping[str, Any]
) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    """The rules that follow for a process, and the parameters of their conditions with the values given."""
    answer = await visit.post("v1", "infer_rules", body={"processes": [name], "parameters": given})
    asked = " ".join(item["metadata"].get("condition", "") for item in answer["items"])
    spoken = set(_WORD.findall(asked)) | given.keys()
    parameters = {name: one for name, one in schema["parameters"].items() if name in spoken}
    said = Counter(item["content"].split("\n")[0] for item in answer["items"])
    for item in answer["items"]:
        item["alike"] = said[item["content"].split("\n")[0]] > 1
    return answer, parameters


def _value(written: str, kind: str) -> str | float | bool:
    """A parameter converted to its type; text that is no number is returned unchanged, for the API to refuse."""
    if kind == "boolean":
        return _TRUTH.get(written, written)
    if kind == "integer":
        return whole_number(written)
    try:
        return float(written) if kind == "number" else written
    except ValueError:
        return written


async def statement(visit: Visit) -> Response:
    """A statement with its evidence, history and reviews."""
    found = await visit.get("v1", "rules", "statements", visit.request.path_params["statement_id"])
    about = await visit.glance("v1", "rules")
    names = names_of(about["schema"], visit) if about else {"kinds": {}, "relations": {}, "parameters": {}}
    return visit.page("rules_statement.html", found=found, names=names, may_review=about is not None)


PAGES: Mapping[tuple[str, str], Page] = {
    ("GET", "rules"): overview,
    ("GET", "rules/nodes/{node_id}"): node,
    ("GET", "rules/statements/{statement_id}"): statement,
}
