"""Routes of documents, corrections and original files: lists, reading quality, and passages in order."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from starlette.requests import Request
from starlette.responses import Response

from wenyuan.core.access import Principal
from wenyuan.core.corrections import CORRECTION_ACTIONS
from wenyuan.core.errors import Conflict, KnowledgeError, NotFound, msg
from wenyuan.core.model import DOCUMENT_STATES
from wenyuan.server.handling import RequestHandler, json_response, missing
from wenyuan.server.openapi import storage_operation
from wenyuan.server.problems import Problem
from wenyuan.server.route import route
from wenyuan.server.routes.audit import queried
from wenyuan.server.routes.registry import operator
from wenyuan.service.document_details import DetailsRequest
from wenyuan.service.ingest.corrections import CorrectionRequest
from wenyuan.wire.documents import (
    CorrectionsQueryShape,
    DocumentsQueryShape,
    PassagesQueryShape,
)
from wenyuan.wire.search_requests import checked

if TYPE_CHECKING:
    from wenyuan.service.library import Library


_MOST_DIGITS = 15
_NUMBER = re.compile(r"(?:document-)?([0-9]{1,15})")

# --- for the OpenAPI document ---------------------------------------------------------------------------------
_TEXT, _COUNT, _MAYBE = {"type": "string"}, {"type": "integer"}, {"type": ["number", "null"]}
_OR_NULL: Mapping[str, Any] = {"type": ["string", "null"]}
_FIDELITY: Mapping[str, Any] = {
    "type": ["object", "null"],
    "description": "What was read, against what the file holds; characters are counted without white space.",
    "properties": {
        **dict.fromkeys(("pages", "ocr_pages", "read_characters", "lost", "invented", "tables", "pictures"), _COUNT),
        "unread_pages": {
            **_COUNT,
            "description": "That hold no text but perhaps an image of it, which was not read.",
        },
        "dropped_lines": {**_COUNT, "description": "Recognised in images and left out: more likely no text."},
        "source_characters": {"type": ["integer", "null"]},
        "confidence": {**_MAYBE, "description": "Mean of what was recognised in images, 0..1."},
        "kept": {**_MAYBE, "description": "Share of the file's own characters that are in the text, 0..1."},
        "score": {**_MAYBE, "description": "The least of what can be told, 0..1."},
        "warnings": {"type": "array", "items": _TEXT},
    },
}
_DOCUMENT: Mapping[str, Any] = {
    "type": "object",
    "required": ["document_id", "source_id", "uri", "title", "state", "passages", "fidelity", "failure"],
    "properties": {
        "document_id": {"type": ["integer", "null"], "description": "Another one after it was read again."},
        **dict.fromkeys(("source_id", "uri", "title", "media_type", "language", "collection", "copyright"), _TEXT),
        "state": {"enum": list(DOCUMENT_STATES)},
        "trust": {**_COUNT, "description": "Of its source, 1..5."},
        "ingested_at": _OR_NULL,
        "effective_from": _OR_NULL,
        "effective_until": _OR_NULL,
        "passages": _COUNT,
        "corrections": {**_COUNT, "description": "How many count."},
        "corrections_lost": {**_COUNT, "description": "How many of them no longer find their words."},
        "excluded": {"type": "boolean", "description": "Whether corrections leave nothing of it."},
        "fidelity": _FIDELITY,
        "failure": {
            "type": ["object", "null"],
            "description": "Why its file could not be read the last time, and what helps.",
            "properties": {"code": _TEXT, "reason": _TEXT, "remedy": _TEXT},
        },
    },
}
_PAGE: Mapping[str, Any] = {
    "type": "object",
    "required": ["documents", "next"],
    "properties": {"documents": {"type": "array", "items": _DOCUMENT}, "next": _OR_NULL},
}
_SHOWN: Mapping[str, Any] = {
    **_DOCUMENT,
    "properties": {
        **_DOCUMENT["properties"],
        "notes": {"type": "array", "items": _TEXT},
        "tags": {"type": "object", "description": "Its facets."},
        "details": {
            "type": ["object", "null"],
            "description": "What people say of it in place of what its file says. No agent is told.",
            "properties": {
                "said": {"type": "object"},
                "as_read": {"type": "object", "description": "What its file says."},
                **dict.fromkeys(("actor", "at", "reason"), _TEXT),
            },
        },
    },
}
_UNCERTAIN: Mapping[str, Any] = {
    "type": "array",
    "description": "What was not recognised surely; offsets into `text`.",
    "items": {
        "type": "object",
        "required": ["start", "end", "text", "kind", "confidence"],
        "properties": {
            "start": _COUNT,
            "end": _COUNT,
            "text": _TEXT,
            "kind": _TEXT,
            "confidence": {"type": "number"},
        },
    },
}
_BOXES: Mapping[str, Any] = {
    "type": "array",
    "description": "Its printed lines: page, box as shares of the page from the top left corner, offsets in the document.",
    "items": {
        "type": "object",
        "required": ["page", "box", "start", "end"],
        "properties": {
            "page": _COUNT,
            "box": {"type": "array", "items": {"type": "number"}, "minItems": 4, "maxItems": 4},
            "start": _COUNT,
            "end": _COUNT,
        },
    },
}
_PASSAGES: Mapping[str, Any] = {
    "type": "object",
    "required": ["document", "passages", "next"],
    "properties": {
        "document": _DOCUMENT,
        "next": {"type": ["integer", "null"]},
        "passages": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["ref", "passage_id", "uri", "headings", "text", "withheld", "start", "end", "boxes"],
                "properties": {
                    **dict.fromkeys(("ref", "uri", "text", "cell"), _TEXT),
                    **dict.fromkeys(("passage_id", "start", "end", "page", "line"), _COUNT),
                    "headings": {"type": "array", "items": _TEXT},
                    "withheld": {"type": "boolean", "description": "Its terms do not let all of it be given here."},
                    "ocr": {"const": True},
                    "confidence": {"type": "number"},
                    "least_confidence": {"type": "number"},
                    "uncertain": _UNCERTAIN,
                    "boxes": _BOXES,
                    "corrections": {"type": "array", "items": _COUNT},
                    "corrected_by": {**_TEXT, "description": "Who wrote its text otherwise than it was read."},
                    "questions": {"type": "array", "items": _TEXT, "description": "What else it answers."},
                    "context": {
                        "type": "object",
                        "description": "What a language model says of where it stands: indexed with it, no part of its text.",
                        "required": ["text", "model", "prompt", "generated"],
                        "properties": {"text": _TEXT, "model": _TEXT, "prompt": _COUNT, "generated": {"const": True}},
                    },
                },
            },
        },
    },
}


_VERSION: Mapping[str, Any] = {
    "type": "object",
    "required": ["document_id", "state", "effective_from", "effective_until", "read_at", "counts", "changes"],
    "properties": {
        "document_id": {"type": ["integer", "null"], "description": "None of what answers no more."},
        "title": _TEXT,
        "state": {"enum": ["live", "not_yet", "superseded", "expired", "replaced"]},
        **dict.fromkeys(("effective_from", "effective_until", "removed_at"), _OR_NULL),
        "read_at": _TEXT,
        "by": {**_TEXT, "description": "Who uploaded it: a key; empty where the audit does not know."},
        "first": {"type": "boolean", "description": "Whether nothing is known of a version before it."},
        "counts": {"type": "object", "properties": dict.fromkeys(("added", "removed", "changed"), _COUNT)},
        "changes": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["kind", "place", "pieces"],
                "properties": {
                    "kind": {"enum": ["added", "removed", "changed"]},
                    "place": _TEXT,
                    "pieces": {
                        "type": "array",
                        "description": "Runs of words: `same`, `out` or `in`, and the words.",
                        "items": {"type": "array", "items": _TEXT, "minItems": 2, "maxItems": 2},
                    },
                },
            },
        },
    },
}
_HISTORY: Mapping[str, Any] = {
    "type": "object",
    "required": ["source_id", "uri", "title", "versions", "more"],
    "properties": {
        **dict.fromkeys(("source_id", "uri", "title"), _TEXT),
        "versions": {"type": "array", "items": _VERSION},
        "more": {**_COUNT, "description": "How many older ones are not listed."},
    },
}
_CORRECTION: Mapping[str, Any] = {
    "type": "object",
    "required": [
        "correction_id",
        "action",
        "source_id",
        "uri",
        "document_id",
        "original",
        "actor",
        "made_at",
        "state",
    ],
    "properties": {
        "correction_id": _COUNT,
        "action": {"enum": list(CORRECTION_ACTIONS)},
        "document_id": {"type": ["integer", "null"]},
        **dict.fromkeys(("source_id", "uri", "text", "with", "reason", "actor", "made_at"), _TEXT),
        "original": {**_TEXT, "description": "The words that are corrected; empty for the whole document."},
        "questions": {"type": "array", "items": _TEXT},
        "at": _COUNT,
        "state": {"enum": ["counts", "lost", "undone"], "description": "`lost`: its words are no longer there."},
        "undone_by": _OR_NULL,
        "undone_at": _OR_NULL,
    },
}
_CORRECTIONS: Mapping[str, Any] = {
    "type": "object",
    "required": ["corrections", "next"],
    "properties": {
        "corrections": {"type": "array", "items": _CORRECTION},
        "next": {"type": ["integer", "null"], "description": "For `before`."},
    },
}


class DocumentRoutes:
    """``/v1/documents``."""

    def __init__(self, library: Library, handler: RequestHandler) -> None:
        self._library = library
        self._handler = handler

    @route(
        "GET",
        "/v1/documents",
        "registry",
        storage_operation("Documents by source and address, failures among them", _PAGE, query=DocumentsQueryShape),
    )
    async def list(self, request: Request) -> Response:
        return await self._handler.pool.run(lambda: self._list(request))

    @route(
        "GET", "/v1/documents/{document_id}", "search", storage_operation("A document, and how it was read", _SHOWN)
    )
    async def show(self, request: Request) -> Response:
        return await self._handler.pool.run(lambda: self._show(request))

    @route(
        "PATCH",
        "/v1/documents/{document_id}",
        "ingest",
        storage_operation(
            "Set title, days or tags of a document in place; what is not given stays",
            _SHOWN,
            body=DetailsRequest,
        ),
    )
    async def set(self, request: Request) -> Response:
        principal = request.state.principal
        if principal.agent_id is not None:
            raise missing("document")
        number = document_number(request)
        return await self._handler.work(request, lambda body: self._set(number, body, principal))

    @route(
        "GET",
        "/v1/documents/{document_id}/passages",
        "search",
        storage_operation(
            "The passages of a document in its order, as far as its terms allow", _PASSAGES, query=PassagesQueryShape
        ),
    )
    async def passages(self, request: Request) -> Response:
        return await self._handler.pool.run(lambda: self._passages(request))

    @route(
        "GET",
        "/v1/documents/{document_id}/history",
        "ingest",
        storage_operation(
            "The versions of a document, the newest first, and what changed from one to the next", _HISTORY
        ),
    )
    async def history(self, request: Request) -> Response:
        if request.state.principal.agent_id is not None:
            raise missing("document")  # what it was is not an agent's to know
        return await self._handler.pool.run(lambda: self._history(request))

    def _history(self, request: Request) -> Response:
        try:
            return json_response(self._library.document_history(document_number(request)))
        except NotFound as error:
            raise missing("document") from error

    def _list(self, request: Request) -> Response:
        wanted = queried(request, DocumentsQueryShape)
        try:
            found = self._library.list_documents(request.state.principal, **wanted.model_dump())
        except NotFound as error:
            raise missing("source") from error
        return json_response({"documents": list(found.documents), "next": found.next or None})

    def _show(self, request: Request) -> Response:
        try:
            return json_response(self._library.document(document_number(request), request.state.principal))
        except NotFound as error:
            raise missing("document") from error

    def _set(self, number: int, body: object, principal: Principal) -> Response:
        wanted = checked(DetailsRequest, body)
        try:
            number = self._library.details_desk.set_details(number, wanted, principal.actor)
            return json_response(self._library.document(number, principal))
        except NotFound as error:
            raise missing("document") from error

    def _passages(self, request: Request) -> Response:
        wanted = queried(request, PassagesQueryShape)
        number, principal = document_number(request), request.state.principal
        try:
            found = self._library.document_passages(number, principal, **wanted.model_dump())
        except NotFound as error:
            raise missing("document") from error
        return json_response(asdict(found))


def document_number(request: Request) -> int:
    """The document id in a path, as ``12`` or ``document-12``; 404 for anything else."""
    match = _NUMBER.fullmatch(request.path_params["document_id"])
    if match is None:
        raise missing("document")
    return int(match[1])


class CorrectionRoutes:
    """``/v1/corrections``. For operators only: agents cannot correct documents."""

    def __init__(self, library: Library, handler: RequestHandler) -> None:
        self._library = library
        self._handler = handler

    @route(
        "GET",
        "/v1/corrections",
        "ingest",
        storage_operation(
            "Corrections, also undone ones, the newest first", _CORRECTIONS, query=CorrectionsQueryShape
        ),
    )
    async def list(self, request: Request) -> Response:
        operator(request.state.principal)
        return await self._handler.pool.run(lambda: self._list(request))

    @route(
        "POST",
        "/v1/corrections",
        "ingest",
        storage_operation(
            "Correct a passage or exclude a document; the next answer has it",
            _CORRECTION,
            body=CorrectionRequest,
        ),
    )
    async def make(self, request: Request) -> Response:
        principal = request.state.principal
        operator(principal)
        return await self._handler.work(request, lambda body: self._make(body, principal))

    @route("DELETE", "/v1/corrections/{correction_id}", "ingest", storage_operation("Undo a correction", _CORRECTION))
    async def undo(self, request: Request) -> Response:
        return await self._handler.pool.run(lambda: self._undo(request))

    def _list(self, request: Request) -> Response:
        wanted = queried(request, CorrectionsQueryShape)
        try:
            found = self._library.corrections(**wanted.model_dump())
        except NotFound as error:
            raise missing("document") from error
        full = len(found) == wanted.limit
        return json_response({"corrections": found, "next": found[-1]["correction_id"] if full else None})

    def _make(self, body: object, principal: Principal) -> Response:
        wanted = checked(CorrectionRequest, body)
        try:
            return json_response(self._library.correct(wanted, principal.actor))
        except NotFound as error:
            raise Problem(404, "not_found", _with_hint(error)) from error

    def _undo(self, request: Request) -> Response:
        principal, number = request.state.principal, request.path_params["correction_id"]
        if principal.agent_id is not None or not number.isdecimal() or len(number) > _MOST_DIGITS:
            raise missing("correction")  # what is there is not an agent's to know
        try:
            return json_response(self._library.undo_correction(int(number), principal.actor))
        except NotFound as error:
            raise missing("correction") from error
        except Conflict as error:
            raise Problem(409, error.code, _with_hint(error)) from error


def _with_hint(error: KnowledgeError) -> str:
    return msg("{what}: {why}", what=error.message, why=error.hint) if error.hint else error.message
