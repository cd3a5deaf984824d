"""The HTTP server as an ASGI application: a thin layer with strict validation over a `Service`."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute

from wenyuan.server.access import KeyRing, Route, declared, guarded
from wenyuan.server.handling import FAULT_HEADER, STATUS_HEADER, RequestHandler, routes_of
from wenyuan.server.metrics import Metrics, Probes
from wenyuan.server.middleware import GuardMiddleware, RequestMetrics
from wenyuan.server.openapi import document_of
from wenyuan.server.problems import Problem
from wenyuan.server.routes.answers import Answers
from wenyuan.server.routes.ask import Dify, Fragments, Knowledge, Mcp, Stores
from wenyuan.server.routes.audit import Audit
from wenyuan.server.routes.documents import CorrectionRoutes, DocumentRoutes
from wenyuan.server.routes.evaluations import Evaluations, Feedback
from wenyuan.server.routes.governance import KeyRoutes, Synonyms, Tasks, ToolPages
from wenyuan.server.routes.originals import Originals
from wenyuan.server.routes.registry import Agents, IngestJobs, SourceList, Sources
from wenyuan.server.routes.rules import Rules, United
from wenyuan.server.routes.uploads import Uploads
from wenyuan.server.settings import (
    Authenticate,
    FaultSwitch,
    KnowledgeService,
    ServerSettings,
    Service,
    open_on_loopback,
)

if TYPE_CHECKING:
    from wenyuan.service.library import Library

__all__ = ["FAULT_HEADER", "STATUS_HEADER", "create_app"]


_SIMPLE = (Fragments, SourceList, Metrics, Probes)
_LIBRARY = (
    Fragments, Knowledge, Answers, ToolPages, Dify, Mcp, Stores, Sources, DocumentRoutes, CorrectionRoutes, Originals,
    Uploads, Agents, Tasks, Synonyms, Audit, Feedback, Evaluations, United, Rules, KeyRoutes, Metrics, Probes,
)  # fmt: skip
ROUTES: tuple[Route, ...] = tuple(one for part in _LIBRARY for _, one in declared(part))
"""All that a server can have."""
PUBLIC = frozenset(one.path for one in ROUTES if one.right is None)
"""Paths that need no principal: probes carry no keys."""


def create_app(
    service: Service,
    *,
    settings: ServerSettings | None = None,
    authenticate: Authenticate = open_on_loopback,
    fault: FaultSwitch | None = None,
) -> Starlette:
    """The ASGI application that serves a service.

    Args:
        service: What answers; it is called from several threads.
        authenticate: Who is calling, see `Authenticate`.
        fault: Only for conformance tests: with it, a request whose header ``X-Wenyuan-Fault`` names a part is
            answered inside ``fault(name)``, so that a real failure can be asked for. Without it the
            header means nothing.
    """
    settings = settings or ServerSettings()
    traffic = RequestMetrics(ROUTES)
    document = openapi_document(settings, governed=isinstance(service, KnowledgeService))
    parts = _parts(service, RequestHandler(settings, fault, _library_id(service)), authenticate)
    parts += [Metrics(service, traffic), Probes(service, document)]
    app = Starlette(
        routes=_routes(parts),
        middleware=[
            Middleware(GuardMiddleware, authenticate=authenticate, settings=settings, traffic=traffic, public=PUBLIC)
        ],
        exception_handlers={HTTPException: _no_route},
    )
    app.router.redirect_slashes = False
    return app


def openapi_document(settings: ServerSettings, *, governed: bool = True) -> Mapping[str, Any]:
    """The OpenAPI document of a server with these settings.

    Args:
        governed: Whether the service behind it knows agents, sources and keys.
    """
    simple = tuple(one for part in _SIMPLE for _, one in declared(part))
    return document_of(settings, ROUTES if governed else simple, ROUTES)


def _library_id(service: Service) -> str:
    return str(service.catalog.library_id()) if isinstance(service, KnowledgeService) else ""


def _parts(service: Service, handler: RequestHandler, authenticate: Authenticate) -> list[object]:
    """The route handlers for a service: all of them for a library, fewer for a service without agents and keys."""
    if not isinstance(service, KnowledgeService):
        return [Fragments(service, handler), SourceList(service, handler)]
    library, runs = cast("Library", service), IngestJobs()
    keys_changed = authenticate.forget if isinstance(authenticate, KeyRing) else lambda: None
    return [
        Fragments(service, handler), Knowledge(service, handler), Answers(service, handler), ToolPages(),
        Dify(library, handler), Mcp(library, handler),
        Stores(library, handler), Sources(library, handler, time.time, runs), DocumentRoutes(library, handler),
        CorrectionRoutes(library, handler), Originals(library, handler), Uploads(library, handler, runs), Agents(library, handler, keys_changed),
        Tasks(library, handler), Synonyms(library, handler), Audit(library, handler), Feedback(library, handler),
        Evaluations(library, handler), United(library, handler), Rules(library, handler),
        KeyRoutes(library.catalog, handler, keys_changed, time.time),
    ]  # fmt: skip


def _routes(parts: Iterable[object]) -> Sequence[BaseRoute]:
    """One route per path, for declared handlers only."""
    # A pack is called as its author likes, and a name may have a slash in it.
    checked = {
        (one.method, one.path.replace("{pack}", "{pack:path}")): guarded(one.right, getattr(part, name))
        for part in parts
        for name, one in declared(type(part))
    }
    return routes_of(checked, _no_method)


async def _no_method(_request: Request, allow: Mapping[str, str]) -> Response:
    raise Problem(405, "method_not_allowed", "this path has no such method", headers=allow)


async def _no_route(_request: Request, error: Exception) -> Response:
    """404 for an unknown path."""
    assert isinstance(error, HTTPException)
    raise Problem(error.status_code, "not_found", "there is nothing at this path")
