"""``/v1/preview``: how a file would be read and cut, before it is taken in."""

from __future__ import annotations

from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Annotated

from pydantic import Field
from starlette.requests import Request
from starlette.responses import Response

from wenyuan.contract.bodies import QueryString
from wenyuan.contract.fields import Text
from wenyuan.core.access import Principal
from wenyuan.core.errors import DocumentRejected, Fault, InvalidRequest, NotPermitted, said_by
from wenyuan.core.source_entries import LEAST_TOKENS, MOST_TOKENS
from wenyuan.server.handling import RequestHandler, json_response
from wenyuan.server.openapi import object_of, storage_operation
from wenyuan.server.problems import Problem
from wenyuan.server.route import route
from wenyuan.server.routes.audit import queried
from wenyuan.server.routes.registry import source_of
from wenyuan.server.routes.uploads import MAX_FILE, PAUSE, boundary_of, in_threads, receive_files
from wenyuan.service.uploads import Given, clean_name

if TYPE_CHECKING:
    from wenyuan.service.library import Library


class PreviewQueryShape(QueryString):
    """As which source a file would be read, and how long its passages become."""

    source: Annotated[Text, Field(max_length=64)] | None = Field(
        None, description="Without one, as a source without settings."
    )
    passage_size: Annotated[int, Field(ge=LEAST_TOKENS, le=MOST_TOKENS)] | None = Field(
        None, description="About how long the parts of a long section become; without it, as the source says."
    )


_TEXT, _COUNT = {"type": "string"}, {"type": "integer"}
_DAY = {"type": ["string", "null"]}
_PASSAGE = {
    **object_of(headings={"type": "array", "items": _TEXT}, text=_TEXT, characters=_COUNT, tokens=_COUNT),
}  # fmt: skip
_PASSAGE["properties"] = {**_PASSAGE["properties"], "page": _COUNT, "line": _COUNT, "cell": _TEXT}
_DOCUMENT = object_of(
    part=_TEXT, title=_TEXT, media_type=_TEXT, language=_TEXT, effective_from=_DAY, effective_until=_DAY,
    tags={"type": "object"}, redacted={"type": "object", "additionalProperties": _COUNT},
    notes={"type": "array", "items": _TEXT}, fidelity={"type": ["object", "null"]}, passages_in_all=_COUNT,
    passages={"type": "array", "items": _PASSAGE},
)  # fmt: skip
_PREVIEW = object_of(
    name=_TEXT, documents={"type": "array", "items": _DOCUMENT}, passages=_COUNT, tokens=_COUNT,
    failed={"type": "array", "items": _TEXT},
)  # fmt: skip


class PreviewRoutes:
    """``/v1/preview``. For whoever may take documents in; no agent."""

    def __init__(self, library: Library, handler: RequestHandler) -> None:
        self._library, self._handler = library, handler

    @route(
        "POST",
        "/v1/preview",
        "ingest",
        storage_operation(
            "How a file would be read, redacted and cut into passages; nothing of it is stored", _PREVIEW,
            query=PreviewQueryShape, files=True,
        ),
    )  # fmt: skip
    async def preview(self, request: Request) -> Response:
        principal = request.state.principal
        if principal.agent_id is not None:
            raise NotPermitted("a key that is bound to an agent takes no documents in, and looks at none before")
        wanted = queried(request, PreviewQueryShape)
        boundary = boundary_of(request.headers)
        async with in_threads(self._library.uploads.incoming()) as folder:
            given = await receive_files(
                request.state.body.chunks(limit=MAX_FILE + 100_000, pause=PAUSE), boundary, folder
            )
            if len(given) != 1:
                raise InvalidRequest("there must be one file in the form", faults=(Fault("file", "is required"),))
            return await self._handler.pool.run(lambda: self._previewed(wanted, given[0], principal))

    def _previewed(self, wanted: PreviewQueryShape, given: Given, principal: Principal) -> Response:
        if given.reason:
            raise Problem(413, "file_too_large", given.reason)
        source = None if wanted.source is None else source_of(self._library, principal, wanted.source, to_change=True)
        try:
            file = _named(given)
            told = self._library.previews.preview(file, source=source, tokens=wanted.passage_size)
        except DocumentRejected as error:
            raise Problem(400, error.code, said_by(error)) from error
        return json_response(told.described())


def _named(given: Given) -> Path:
    """The file under the name that it was sent with, by which it is known how it is read."""
    try:
        name = PurePosixPath(clean_name(given.name)).name
    except ValueError as error:
        raise InvalidRequest(said_by(error), faults=(Fault("file", said_by(error)),)) from error
    folder = given.path.with_name("named")
    folder.mkdir()
    return given.path.rename(folder / name)
