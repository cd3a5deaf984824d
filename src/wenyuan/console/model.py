"""The page of the language model: where it is, what it may use up, whether it answers; and a question to library and model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from starlette.responses import Response

from wenyuan.console.api import Refused
from wenyuan.console.forms import read_form
from wenyuan.console.visit import Page, Visit


async def shown(visit: Visit) -> Response:
    """What is set up."""
    return await _page(visit)


async def asked(visit: Visit) -> Response:
    """Ask a test question, and show what came of it."""
    form = await read_form(visit.request)
    try:
        trial = await visit.post("v1", "model", body={"question": form["question"]})
    except Refused as refused:
        if refused.status in (401, 403):
            raise
        return await _page(visit, refused.status, refused=refused, question=form["question"])
    return await _page(visit, trial=trial, question=form["question"])


async def _page(visit: Visit, status: int = 200, **shown: Any) -> Response:
    found = await visit.get("v1", "model")
    blank: dict[str, Any] = {"refused": None, "trial": None, "question": ""}
    return visit.page("model.html", status, found=found, **{**blank, **shown})


PAGES: Mapping[tuple[str, str], Page] = {("GET", "model"): shown, ("POST", "model"): asked}
