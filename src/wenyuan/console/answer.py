"""The page for answers by the library's language model, every claim with its quote."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from starlette.responses import Response

from wenyuan.console.api import Refused
from wenyuan.console.forms import Form, read_form
from wenyuan.console.visit import Page, Visit

RULE = "#rule-"


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
    return ref.rpartition(RULE)[2] if RULE in ref else ""


def _passage_of(ref: str) -> str:
    """The passage number, which gives the address of its page."""
    return ref.rpartition("#")[2]


ANSWER_PAGES: Mapping[tuple[str, str], Page] = {("GET", "answer"): answer_form, ("POST", "answer"): answered}
