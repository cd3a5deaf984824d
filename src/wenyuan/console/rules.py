"""Pages of rules: the graph with its drawing, reviews and imports."""

from __future__ import annotations

import re
from base64 import b64encode
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from starlette.responses import Response

from wenyuan.console.forms import MAX_UPLOAD, Form, read_form, whole_number
from wenyuan.console.visit import Page, Refused, Visit, checked_next
from wenyuan.packs import shipped

# A node and its neighbours as a drawing: what leads to it at the left, what follows from it at the right.
#
# Drawn by the server as SVG, so that it needs no script, can be read aloud, and looks the same everywhere.


DRAWN = 40
"""Neighbours that are drawn at each side; the table has the others."""
_WIDTH, _BOX, _ROW, _MIDDLE = 960, 250, 34, 200
_LONGEST = 30  # columns of a name in a box; a Chinese character takes two


@dataclass(frozen=True, slots=True)
class Box:
    """A neighbour in the drawing, with the line that connects it to the centre."""

    x: int
    y: int
    text: str
    full: str
    node_id: int
    kind: str
    line: str
    mandatory: bool
    conditional: bool


@dataclass(frozen=True, slots=True)
class Label:
    """The label of a relation, above its neighbours."""

    x: int
    y: int
    text: str


@dataclass(frozen=True, slots=True)
class Drawing:
    """Positions of all elements, in units of an SVG of ``width`` by ``height``."""

    width: int
    height: int
    middle: str
    boxes: tuple[Box, ...]
    labels: tuple[Label, ...]
    left_out: int
    box_width: int = _BOX
    box_height: int = _ROW - 8
    middle_width: int = _MIDDLE


def drawn(
    name: str,
    edges: Mapping[str, Sequence[Mapping[str, Any]]],
    *,
    relations: Mapping[str, str],
    language: str,
) -> Drawing:
    """Draw a node with its neighbours.

    Args:
        name: What is written in the middle.
        edges: As the API tells them, by direction: ``in`` and ``out``.
        relations: Their labels, by id.
    """
    rows = {side: _rows(edges[side][:DRAWN], relations) for side in ("in", "out")}
    height = max(3, *(len(found) for found in rows.values())) * _ROW + 16
    boxes: list[Box] = []
    labels: list[Label] = []
    for side, found in rows.items():
        x = 8 if side == "in" else _WIDTH - _BOX - 8
        top = (height - len(found) * _ROW) // 2
        for place, row in enumerate(found):
            y = top + place * _ROW
            if isinstance(row, str):
                labels.append(Label(x + 4, y + 22, row))
            else:
                boxes.append(_box(row, side, x, y, height, language))
    left_out = sum(max(0, len(edges[side]) - DRAWN) for side in rows)
    return Drawing(_WIDTH, height, _short(name, 24), tuple(boxes), tuple(labels), left_out)


def _rows(edges: Sequence[Mapping[str, Any]], relations: Mapping[str, str]) -> list[str | Mapping[str, Any]]:
    """Neighbours grouped by relation, each group below its label."""
    rows: list[str | Mapping[str, Any]] = []
    for relation in dict.fromkeys(edge["relation"] for edge in edges):
        rows.append(relations.get(relation, relation))
        rows += [edge for edge in edges if edge["relation"] == relation]
    return rows


def _box(edge: Mapping[str, Any], side: str, x: int, y: int, height: int, language: str) -> Box:
    node = edge["node"]
    full = node["labels"].get(language) or node["name"]
    at = y + _ROW // 2
    middle = height // 2
    near, far = (x + _BOX, (_WIDTH - _MIDDLE) // 2) if side == "in" else (x, (_WIDTH + _MIDDLE) // 2)
    bend = (near + far) // 2
    return Box(
        x=x,
        y=y + 4,
        text=_short(full, _LONGEST),
        full=full,
        node_id=node["node_id"],
        kind=node["kind"],
        line=f"M{near} {at}C{bend} {at} {bend} {middle} {far} {middle}",
        mandatory=edge["strength"] == "mandatory",
        conditional=bool(edge["condition"]),
    )


def _short(text: str, columns: int) -> str:
    """A text cut to at most `columns` columns."""
    taken = 0
    for at, character in enumerate(text):
        taken += 2 if ord(character) > 0x2E7F else 1
        if taken > columns:
            return text[:at] + "…"
    return text


# The rules: what is in the graph, what follows for a process, and which words of which law say so.


_PAGE = 60  # nodes of one page
_SHOWN = 200  # statements of one direction
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
        given = _given(form, schema)
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
        parameters=parameters, form=form, shown=_SHOWN,
    )  # fmt: skip


def _given(form: Form, schema: Mapping[str, Any]) -> dict[str, Any]:
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


# What waits for a person's decision, and what an import would change before it does.


_REVIEW_PAGE = 25
_DECIDED = ("approve", "reject")


async def queue(visit: Visit) -> Response:
    """Statements waiting for review, and the result of the last bulk decision."""
    return await _queue(visit)


async def _queue(visit: Visit, status: int = 200, **shown: Any) -> Response:
    asked = Form(visit.request.query_params.multi_items())
    waiting = await visit.get("v1", "rules", "review", limit=_REVIEW_PAGE, after=asked["after"])
    about = await visit.get("v1", "rules")
    given = {
        "decided": asked["decided"] if asked["decided"] in _DECIDED else "",
        "changed": asked.number("changed"), "form": {}, "refused": None, **shown,
    }  # fmt: skip
    return visit.page(
        "review.html", status, waiting=waiting, names=names_of(about["schema"], visit),
        count=about["counts"]["statements"].get("proposed", 0), **given,
    )  # fmt: skip


async def decided(visit: Visit) -> Response:
    """Approve, reject or retire one or several statements; several are given as a list of numbers."""
    form = await read_form(visit.request)
    if "which" in form:
        return await _decided_many(visit, form)
    numbers = [whole_number(n) for n in form.all("statement_id")]
    body = {"statement_ids": numbers, "action": form["action"], "reason": form["reason"]}
    await visit.post("v1", "rules", "review", body=body)
    return visit.see(checked_next(form["next"] or "/console/review"))


async def _decided_many(visit: Visit, form: Form) -> Response:
    body = {"statement_ids": form["which"], "action": form["action"], "reason": form["reason"]}
    try:
        told = await visit.post("v1", "rules", "review", body=body)
    except Refused as refused:
        if refused.status not in (400, 404):
            raise
        return await _queue(visit, refused.status, refused=refused, form=form.given("which", "reason"))
    return visit.see(f"/console/review?decided={told['action']}&changed={told['changed']}")


async def importing(visit: Visit) -> Response:
    """The import form, and the available packs."""
    return await _importing(visit)


async def _importing(visit: Visit, status: int = 200, **shown: Any) -> Response:
    about = await visit.get("v1", "rules")
    given = {"report": None, "refused": None, "form": {}, **shown}
    return visit.page("rules_import.html", status, packs=about["packs"], shipped=shipped(), **given)


async def imported(visit: Visit) -> Response:
    """Show what an import would change (dry run); after confirmation, import."""
    form = await read_form(visit.request, most=MAX_UPLOAD)
    given = form.given("path", "pack", "default_source", "status")
    body: dict[str, Any] = {**given, "dry_run": form["sure"] != "yes"}
    fields = dict(given)
    if (file := _file(form)) is not None:
        body["file"] = file
        fields |= {"file_name": file["name"], "file_base64": file["base64"]}
    try:
        report = await visit.post("v1", "rules", "import", body=body)
    except Refused as refused:
        if refused.status not in (400, 403, 413):
            raise
        return await _importing(visit, refused.status, refused=refused, form=fields)
    return await _importing(visit, report=report, form=fields)


def _file(form: Form) -> dict[str, str] | None:
    """The chosen file, or that of the dry run now being confirmed."""
    if (chosen := form.file("file")) is not None:
        return {"name": chosen[0], "base64": b64encode(chosen[1]).decode()}
    return {"name": form["file_name"], "base64": form["file_base64"]} if form["file_name"] else None


async def removed(visit: Visit) -> Response:
    """Remove everything a pack has brought, after confirmation."""
    form = await read_form(visit.request)
    if form["sure"] == "yes":
        await visit.call("DELETE", "v1", "rules", "packs", *form["pack"].split("/"))
    return visit.see("/console/rules")


REVIEW_PAGES: Mapping[tuple[str, str], Page] = {
    ("GET", "review"): queue,
    ("POST", "review"): decided,
    ("GET", "rules/import"): importing,
    ("POST", "rules/import"): imported,
    ("POST", "rules/remove"): removed,
}
