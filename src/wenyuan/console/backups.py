"""The page of backups: one is made, fetched as a file, deleted; and how one is put in the place of the library."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import Any

from starlette.responses import Response, StreamingResponse

from wenyuan.console.api import Refused
from wenyuan.console.forms import read_form
from wenyuan.console.visit import HEADERS, Page, Visit


async def shown(visit: Visit) -> Response:
    """The backups that can be fetched."""
    return _page(visit, await visit.get("v1", "backups"))


async def done(visit: Visit) -> Response:
    """Make one, or delete one; then show the rest."""
    form = await read_form(visit.request)
    try:
        if form["delete"]:
            await visit.call("DELETE", "v1", "backups", form["delete"])
        else:
            await visit.post("v1", "backups", body={})
    except Refused as refused:
        if refused.status in (401, 403):
            raise
        return _page(visit, await visit.get("v1", "backups"), refused=refused)
    return visit.see("/console/backups")


async def fetched(visit: Visit) -> Response:
    """One as a file, sent part by part as it is read."""
    name = visit.request.path_params["name"]
    first = await visit.call("GET", "v1", "backups", name)
    headers = {**HEADERS, "Content-Disposition": first.headers["content-disposition"]}
    listed = (await visit.get("v1", "backups"))["backups"]
    size = next((one["bytes"] for one in listed if one["name"] == name), None)
    if size is not None:  # by which a browser knows that it has all of it
        headers["Content-Length"] = str(size)
    return StreamingResponse(_parts(visit, name, first.body), headers=headers, media_type="application/x-tar")


async def _parts(visit: Visit, name: str, part: bytes) -> AsyncIterator[bytes]:
    at = 0
    while part:
        yield part
        at += len(part)
        part = (await visit.call("GET", "v1", "backups", name, query={"offset": at})).body


def _page(visit: Visit, found: Mapping[str, Any], *, refused: Refused | None = None) -> Response:
    status = 200 if refused is None else refused.status
    return visit.page("backups.html", status, found=found, refused=refused)


PAGES: Mapping[tuple[str, str], Page] = {
    ("GET", "backups"): shown,
    ("POST", "backups"): done,
    ("GET", "backups/{name}"): fetched,
}
