"""What people say of a passage that they were given: it is right, or wrong. Tuning learns from it."""

from __future__ import annotations

from collections.abc import Mapping

from starlette.responses import Response

from wenyuan.console.forms import BadForm, read_form
from wenyuan.console.visit import Page, Visit, checked_next

SAID = ("good", "bad")


async def given(visit: Visit) -> Response:
    """Keep what is said of one passage of an answer, and return to the answer."""
    form = await read_form(visit.request)
    if form["said"] not in SAID:
        raise BadForm(400, "form_broken")
    await visit.post("v1", "feedback", body={"audit_id": form["audit_id"], form["said"]: [form["ref"]]})
    back = checked_next(form["next"])
    return visit.see(f"{back}{'&' if '?' in back else '?'}kept={form['said']}")


PAGES: Mapping[tuple[str, str], Page] = {("POST", "feedback"): given}
