"""Golden questions from the console: made of a result or of a record, taken over from what was called right, asked, let go."""

from __future__ import annotations

from collections.abc import Mapping

from starlette.responses import Response

from wenyuan.console.forms import read_form
from wenyuan.console.visit import Page, Visit, checked_next


async def kept(visit: Visit) -> Response:
    """Keep one question with its answer, and return to where it was made."""
    form = await read_form(visit.request)
    await visit.post("v1", "evaluations", "questions", body={"question": form["question"], "answer": form["answer"]})
    back = checked_next(form["next"])
    return visit.see(f"{back}{'&' if '?' in back else '?'}kept=golden")


async def liked(visit: Visit) -> Response:
    """Keep the questions of which an answer was called right."""
    await read_form(visit.request)
    found = await visit.post("v1", "evaluations", "questions", body={"liked": True})
    return visit.see(visit.address("/console/evaluation", taken=len(found["kept"]), unusable=found["unusable"]))


async def removed(visit: Visit) -> Response:
    """Forget one."""
    await read_form(visit.request)
    await visit.call("DELETE", "v1", "evaluations", "questions", visit.request.path_params["digest"])
    return visit.see("/console/evaluation")


PAGES: Mapping[tuple[str, str], Page] = {
    ("POST", "golden"): kept,
    ("POST", "golden/liked"): liked,
    ("POST", "golden/{digest}/remove"): removed,
}
