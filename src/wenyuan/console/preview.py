"""The page that shows how a file would be read and cut, before it is taken in."""

from __future__ import annotations

from collections.abc import Mapping

from starlette.responses import Response

from wenyuan.console.api import Refused
from wenyuan.console.documents import takes_uploads
from wenyuan.console.forms import Form, check_ours
from wenyuan.console.visit import Page, Visit


async def previewed(visit: Visit) -> Response:
    """Pass a file on to the API as it arrives, and show what would come of it."""
    check_ours(visit.request)
    name = visit.request.path_params["source_id"]
    source = await visit.get("v1", "sources", name)
    asked = Form(visit.request.query_params.multi_items()).given("passage_size")
    try:
        told = (await visit.call("POST", "v1", "preview", query={"source": name, **asked}, form=visit.request)).value
    except Refused as refused:
        if refused.status not in (400, 403, 404, 408, 413, 415, 422, 503):
            raise
        return visit.page(
            "preview.html", refused.status, source=source, told=None, refused=refused, uploads=takes_uploads(source)
        )
    return visit.page("preview.html", source=source, told=told, refused=None, uploads=takes_uploads(source))


async def asked(visit: Visit) -> Response:
    """The form alone."""
    source = await visit.get("v1", "sources", visit.request.path_params["source_id"])
    return visit.page("preview.html", source=source, told=None, refused=None, uploads=takes_uploads(source))


PAGES: Mapping[tuple[str, str], Page] = {
    ("GET", "sources/{source_id}/preview"): asked,
    ("POST", "sources/{source_id}/preview"): previewed,
}
