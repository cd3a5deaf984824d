"""Routes of rules, and uploads of rule files."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from datetime import date
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from starlette.requests import Request
from starlette.responses import Response

from wenyuan.core.access import Principal
from wenyuan.core.errors import Fault, InvalidRequest, NotFound, did_you_mean, msg, without
from wenyuan.packs.shipped import located
from wenyuan.readers.rulebooks.selection import read_book
from wenyuan.server.handling import RequestHandler, RequestKind, json_response, missing
from wenyuan.server.openapi import question_operation, storage_operation
from wenyuan.server.route import route
from wenyuan.server.routes.audit import queried
from wenyuan.server.routes.registry import allowed_path, operator
from wenyuan.service.rules.unified import UnifiedRequest
from wenyuan.wire import rules as shapes
from wenyuan.wire import unified
from wenyuan.wire.contract import failed_body
from wenyuan.wire.files import FileShape, bytes_of
from wenyuan.wire.search_requests import checked

if TYPE_CHECKING:
    from wenyuan.catalog.rules.rows import HeldStatement
    from wenyuan.core.rules.book import Book
    from wenyuan.core.rules.graph import View
    from wenyuan.service.library import Library


# A file that came with a request, on disk for as long as it is read.


_UNUSUAL = re.compile(r"[^\w.\- ]")
_MOST_BYTES = 200  # of a name on disk, where file systems take 255; its end says what the file is


@contextmanager
def uploaded(file: FileShape) -> Iterator[Path]:
    """Write an uploaded file under its own name to a private temporary folder; yields its path.

    Raises:
        InvalidRequest: it is not base64; or what was raised within, without where the file lay for that moment.
    """
    content = bytes_of(file)
    with TemporaryDirectory(prefix="wenyuan-upload-") as folder:
        end = _UNUSUAL.sub("_", file.name).encode()[-_MOST_BYTES:].decode(errors="ignore")
        path = Path(folder) / (end.lstrip(".") or "file")
        path.write_bytes(content)
        try:
            yield path
        except InvalidRequest as error:
            told = without(error.message, folder + os.sep)
            raise InvalidRequest(told, faults=error.faults, hint=error.hint) from None


# Rules over HTTP: unified retrieval and inference, and keeping the rules that they answer from.
#
# A key that is bound to an agent gets answers from the sources of its scope. Of the graph itself it sees single
# statements that would be served to it; everything else is the operator's, and to it not there.


_MOST_DIGITS = 18  # of a number that a database can hold


class UnifiedRoutes:
    """``retrieve`` and ``infer_rules``."""

    def __init__(self, library: Library, handler: RequestHandler) -> None:
        self._library = library
        self._handler = handler

    @route(
        "POST",
        "/v1/retrieve",
        "search",
        question_operation(
            "retrieve",
            "Rules above similar cases above templates",
            UnifiedRequest,
            unified.UnifiedAnswerShape,
        ),
    )
    async def retrieve(self, request: Request) -> Response:
        principal: Principal = request.state.principal
        return await self._handler.ask(
            request,
            RequestKind(
                unified.unified_from_wire,
                lambda asked: unified.unified_to_wire(self._library.retrieve(asked, principal)),
                _no_items,
            ),
        )

    @route(
        "POST",
        "/v1/infer_rules",
        "search",
        question_operation(
            "infer_rules", "Rules that follow for processes", unified.InferRequestShape, unified.InferAnswerShape
        ),
    )
    async def infer_rules(self, request: Request) -> Response:
        principal: Principal = request.state.principal
        return await self._handler.ask(
            request,
            RequestKind(
                unified.infer_from_wire,
                lambda asked: unified.infer_to_wire(self._library.infer_rules(asked, principal)),
                _no_rules,
                waits=lambda asked: asked.link == "llm",
            ),
        )


def _no_items(why: str) -> Mapping[str, Any]:
    return failed_body(why, items=[], regulations=[], cases=[], query_context={})


def _no_rules(why: str) -> Mapping[str, Any]:
    return failed_body(why, items=[], recognised=[], unmatched_processes=[], truncated=[], notes=[])


# --- for the OpenAPI document ---------------------------------------------------------------------------------
_TEXT, _COUNT, _OBJECT = {"type": "string"}, {"type": "integer"}, {"type": "object"}
_NEXT = {"type": ["integer", "null"], "description": "The value of `after` for the next page; null: there is none."}


def _list(item: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": item}


def _members(**members: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": members, "required": list(members)}


_STATEMENT = _members(
    statement_id=_COUNT, status={"enum": ["proposed", "approved", "rejected", "retired"]}, src=_OBJECT,
    relation=_TEXT, dst=_OBJECT, condition=_TEXT, strength=_TEXT, evidences=_list(_OBJECT),
)  # fmt: skip

_PROPOSALS = _members(
    status={"enum": ["SUCCESS", "FAILED"]}, source=_TEXT, dry_run={"type": "boolean"}, model=_TEXT,
    clauses={**_COUNT, "description": "Of the source, that the model may be shown."}, read=_COUNT, read_before=_COUNT,
    left={**_COUNT, "description": "Still to be read: ask again."}, proposed=_list(_OBJECT), counts=_OBJECT,
    refused=_list(_OBJECT), withheld=_OBJECT, unreadable=_list(_TEXT), tokens_in=_COUNT, tokens_out=_COUNT,
    cost={"type": "number"}, stopped={"type": "string", "description": "Why the run ended before the source did."},
)  # fmt: skip


class RuleRoutes:
    """``/v1/rules``."""

    def __init__(self, library: Library, handler: RequestHandler) -> None:
        self._library = library
        self._handler = handler

    @route(
        "GET",
        "/v1/rules",
        "registry",
        storage_operation(
            "Counts, packs and schema of the rules graph; with any parameter, its nodes",
            {
                "oneOf": [
                    _members(version=_COUNT, counts=_OBJECT, packs=_list(_TEXT), schema=_OBJECT),
                    _members(nodes=_list(_OBJECT), next=_NEXT),
                ]
            },
            query=shapes.RulesQueryShape,
        ),
    )
    async def overview(self, request: Request) -> Response:
        operator(request.state.principal)
        listed = bool(request.query_params)
        return await self._handler.pool.run(lambda: self._nodes(request) if listed else self._overview())

    @route(
        "GET",
        "/v1/rules/nodes/{node_id}",
        "registry",
        storage_operation(
            "A node, and the statements in force from it and into it",
            _members(node=_OBJECT, out=_list(_OBJECT), **{"in": _list(_OBJECT)}, truncated=_list(_TEXT)),
            query=shapes.NodeQueryShape,
        ),
    )
    async def node(self, request: Request) -> Response:
        return await self._handler.pool.run(lambda: self._node(request))

    @route(
        "GET",
        "/v1/rules/statements/{statement_id}",
        "registry",
        storage_operation(
            "A statement by number or key, with its evidence, what became of it, and its reviews", _STATEMENT
        ),
    )
    async def statement(self, request: Request) -> Response:
        return await self._handler.pool.run(lambda: self._statement(request))

    @route(
        "GET",
        "/v1/rules/review",
        "registry",
        storage_operation(
            "Statements that wait for a review",
            _members(statements=_list(_STATEMENT), next=_NEXT),
            query=shapes.QueueQueryShape,
        ),
    )
    async def queue(self, request: Request) -> Response:
        operator(request.state.principal)
        return await self._handler.pool.run(lambda: self._queue(request))

    @route(
        "POST",
        "/v1/rules/review",
        "registry",
        storage_operation(
            "Approve, reject or retire statements, all or none",
            {
                **_members(action=_TEXT, changed=_COUNT),
                "properties": {
                    "action": _TEXT,
                    "changed": _COUNT,
                    "left": {**_COUNT, "description": "Meant by the text, and still to be decided on."},
                },
            },
            body=shapes.ReviewShape,
        ),
    )
    async def review(self, request: Request) -> Response:
        operator(request.state.principal)
        return await self._handler.work(request, self._review)

    @route(
        "POST",
        "/v1/rules/import",
        "registry",
        storage_operation(
            "Import rules, or tell what that would change",
            _members(
                pack=_TEXT,
                dry_run={"type": "boolean"},
                complete={"type": "boolean"},
                counts=_OBJECT,
                sources=_list(_TEXT),
                faults=_list(_OBJECT),
                diff=_OBJECT,
                change={"type": ["integer", "null"]},
            ),
            body=shapes.ImportShape,
        ),
    )
    async def take(self, request: Request) -> Response:
        operator(request.state.principal)
        return await self._handler.work(request, self._take)

    @route(
        "POST",
        "/v1/rules/propose",
        "registry",
        storage_operation(
            "Have the language model read a part of a source for rules; what passes the checks waits for a review",
            _PROPOSALS,
            body=shapes.ProposeShape,
        ),
    )
    async def propose(self, request: Request) -> Response:
        operator(request.state.principal)
        return await self._handler.work(request, self._propose, waits=True)

    @route(
        "DELETE",
        "/v1/rules/packs/{pack}",
        "registry",
        storage_operation(
            "Take back all that a pack has brought; what others support stays",
            _members(pack=_TEXT, nodes_retired=_COUNT, statements_retired=_COUNT, evidences_removed=_COUNT),
        ),
    )
    async def remove(self, request: Request) -> Response:
        return await self._handler.pool.run(lambda: self._remove(request))

    def _overview(self) -> Response:
        graph, kept = self._library.catalog.rules, self._library.rules
        return json_response(
            {
                "version": graph.version(),
                "counts": graph.counts(),
                "packs": list(kept.packs()),
                "schema": shapes.schema_to_wire(kept.schema()),
            }
        )

    def _nodes(self, request: Request) -> Response:
        wanted = queried(request, shapes.RulesQueryShape)
        known = self._library.rules.schema().kinds
        if wanted.kind is not None and wanted.kind not in known:
            message = msg(
                "there is no kind {kind}{near}", kind=repr(wanted.kind), near=did_you_mean(wanted.kind, known)
            )
            raise InvalidRequest(message, faults=(Fault("kind", message),))
        found = self._library.catalog.rules.find_nodes(
            wanted.q or "", kind=wanted.kind, limit=wanted.limit, after=wanted.after
        )
        following = found[-1].node_id if len(found) == wanted.limit else None
        return json_response({"nodes": [shapes.node_to_wire(node) for node in found], "next": following})

    def _node(self, request: Request) -> Response:
        wanted = queried(request, shapes.NodeQueryShape)
        number = _number(request.path_params["node_id"])
        if request.state.principal.agent_id is not None or not isinstance(number, int):
            raise missing("node")
        try:
            node, edges, more = self._library.rules_around(number, wanted.limit)
        except NotFound as error:
            raise missing("node") from error
        schema, cite = self._library.rules.schema(), self._library.cited.now()
        listed = {
            direction: [shapes.edge_to_wire(edge, schema, cite) for edge in found]
            for direction, found in edges.items()
        }
        return json_response({"node": shapes.node_to_wire(node), **listed, "truncated": list(more)})

    def _statement(self, request: Request) -> Response:
        principal: Principal = request.state.principal
        view = None if principal.agent_id is None else self._library.readable_rules(principal)
        held = self._found(_number(request.path_params["statement_id"]), view)
        if view is not None:  # who decided what, and which sources went, is the operator's business
            seen = held.seen(view)
            if not seen:
                raise missing("statement")
            return json_response(self._described([replace(held, evidences=seen, reason="")])[0])
        fate = self._library.catalog.rules.statement_fate(held.statement_id, date.today())
        told = {name: fate[name] for name in ("state", "since_seq", "since", "lost", "reviews")}
        return json_response(self._described([held], places=True)[0] | told)

    def _found(self, which: int | str, view: View | None = None) -> HeldStatement:
        try:
            return self._library.catalog.rules.statement(which, view)
        except NotFound as error:
            raise missing("statement") from error

    def _described(self, held: list[HeldStatement], *, places: bool = False) -> list[dict[str, Any]]:
        """Statements as JSON; `places`: each quote with the number of the passage that has it."""
        ends = self._library.rules.ends(held)
        trusts = {source.source_id: source.trust for source in self._library.sources()}
        schema, cite = self._library.rules.schema(), self._library.cited.now()
        place = self._library.cited.places() if places else None
        return [shapes.statement_to_wire(one, ends, trusts, schema, cite, place) for one in held]

    def _queue(self, request: Request) -> Response:
        wanted = queried(request, shapes.QueueQueryShape)
        held = list(self._library.catalog.rules.proposed(wanted.limit, wanted.after))
        following = held[-1].statement_id if len(held) == wanted.limit else None
        return json_response({"statements": self._described(held, places=True), "next": following})

    def _review(self, body: object) -> Response:
        wanted = checked(shapes.ReviewShape, body)
        told: dict[str, Any] = {"action": wanted.action}
        numbers = wanted.statement_ids
        if isinstance(numbers, str):
            numbers, told["left"] = self._library.rules.meant(numbers, wanted.action, most=shapes.MAX_LISTED)
        for number in numbers:
            self._found(number)
        told["changed"] = self._library.rules.review(
            numbers, wanted.action, reason=wanted.reason, seen=wanted.seen or ""
        )
        return json_response(told)

    def _take(self, body: object) -> Response:
        wanted = shapes.import_from_wire(body)
        with self._book(wanted) as book:
            report = self._library.rules.take(
                book, dry_run=wanted.dry_run, default_source=wanted.default_source, default_status=wanted.status
            )
        return json_response(shapes.report_to_wire(report, dry_run=wanted.dry_run))

    @contextmanager
    def _book(self, wanted: shapes.ImportShape) -> Iterator[Book]:
        if wanted.pack is not None:
            with located(wanted.pack) as folder:
                yield read_book(folder)
        elif wanted.file is not None:
            with uploaded(wanted.file) as path:
                yield read_book(path)
        else:
            yield read_book(self._allowed(wanted.path or ""))

    def _allowed(self, path: str) -> Path:
        """Refuse paths outside the allowed folders, and links in a folder that lead out of them."""
        roots = self._handler.settings.ingest_roots
        real = allowed_path(path, roots)
        for link in (found for found in real.rglob("*") if found.is_symlink()):
            allowed_path(str(link), roots)
        return real

    def _propose(self, body: object) -> Response:
        wanted = shapes.propose_from_wire(body)
        try:
            report = self._library.propose_rules(wanted)
        except NotFound as error:
            raise missing("source") from error
        return json_response(shapes.proposals_to_wire(report))

    def _remove(self, request: Request) -> Response:
        pack = request.path_params["pack"]
        if request.state.principal.agent_id is not None or pack not in self._library.rules.packs():
            raise missing("pack")
        report = self._library.rules.retire_pack(pack)
        counts = {
            name: getattr(report, name) for name in ("nodes_retired", "statements_retired", "evidences_removed")
        }
        return json_response({"pack": pack, **counts})


def _number(text: str) -> int | str:
    """A statement's number; any other text is taken as its key."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= _MOST_DIGITS else text
