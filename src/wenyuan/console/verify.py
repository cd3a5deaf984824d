"""The page that verifies each claim of an answer against the library."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from starlette.responses import Response

from wenyuan.console.answer import RULE
from wenyuan.console.api import Refused
from wenyuan.console.forms import MAX_UPLOAD, Form, read_form
from wenyuan.console.visit import Page, Visit

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
    return rule.rpartition(RULE)[2]


VERIFY_PAGES: Mapping[tuple[str, str], Page] = {("GET", "verify"): verify_form, ("POST", "verify"): verified}
