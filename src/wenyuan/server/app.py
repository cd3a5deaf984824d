"""The HTTP server as an ASGI application, a thin layer with strict validation over a `Service`; and how it runs: start,
signals, shutdown, and the HTTP protocol class.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute

from wenyuan.server.buckets import SharedBuckets
from wenyuan.server.guard import GuardMiddleware
from wenyuan.server.handling import FAULT_HEADER, STATUS_HEADER, RequestHandler
from wenyuan.server.keys import KeyRing, guarded
from wenyuan.server.member import Member
from wenyuan.server.metrics import Metrics
from wenyuan.server.openapi import document_of
from wenyuan.server.path_routes import routes_of
from wenyuan.server.probes import Probes
from wenyuan.server.problems import Problem
from wenyuan.server.process_counts import NumbersNow, SharedNumbers
from wenyuan.server.remote_callers import RemoteAddresses
from wenyuan.server.request_metrics import RequestMetrics
from wenyuan.server.route import Route, declared
from wenyuan.server.routes.answers import Answers
from wenyuan.server.routes.ask import FragmentRoutes, KnowledgeRoutes
from wenyuan.server.routes.audit import Audit
from wenyuan.server.routes.backups import BackupRoutes
from wenyuan.server.routes.conflicts import ConflictRoutes
from wenyuan.server.routes.dify import Dify
from wenyuan.server.routes.document_readers import DocumentReaderRoutes
from wenyuan.server.routes.documents import CorrectionRoutes, DocumentRoutes
from wenyuan.server.routes.erasures import ErasureRoutes
from wenyuan.server.routes.evaluations import EvaluationRoutes, FeedbackRoutes
from wenyuan.server.routes.gaps import GapRoutes
from wenyuan.server.routes.golden_questions import GoldenQuestionRoutes
from wenyuan.server.routes.groups import GroupRoutes
from wenyuan.server.routes.impact import ImpactRoutes
from wenyuan.server.routes.ingest_jobs import IngestJobs
from wenyuan.server.routes.keys import KeyRoutes
from wenyuan.server.routes.mcp import Mcp
from wenyuan.server.routes.model import ModelRoutes
from wenyuan.server.routes.originals import OriginalRoutes
from wenyuan.server.routes.overview import OverviewRoutes
from wenyuan.server.routes.people import PeopleRoutes
from wenyuan.server.routes.previews import PreviewRoutes
from wenyuan.server.routes.quarantine import QuarantineRoutes
from wenyuan.server.routes.registry import Agents, SourceList, SourceRoutes
from wenyuan.server.routes.resource_metadata import ResourceMetadata
from wenyuan.server.routes.rules import RuleRoutes, UnifiedRoutes
from wenyuan.server.routes.synonyms import SynonymRoutes
from wenyuan.server.routes.tasks import Tasks
from wenyuan.server.routes.tool_pages import ToolPages
from wenyuan.server.routes.tree import TreeRoutes
from wenyuan.server.routes.uploads import UploadRoutes
from wenyuan.server.routes.vector_stores import Stores
from wenyuan.server.service_port import Authenticate, FaultSwitch, KnowledgeService, Service, open_on_loopback
from wenyuan.service.file_addresses import AddressBook
from wenyuan.service.operations.health import Health, LibraryWork
from wenyuan.settings import ServerSettings

if TYPE_CHECKING:
    from wenyuan.service.library import Library


@dataclass(frozen=True, slots=True)
class _Parts:
    """What the handlers of a library's resources are made of."""

    library: Library
    handler: RequestHandler
    book: AddressBook
    keys_changed: Callable[[], None]
    jobs: IngestJobs


_RESOURCES: Mapping[type, Callable[[_Parts], object]] = {
    FragmentRoutes: lambda of: FragmentRoutes(of.library, of.handler),
    KnowledgeRoutes: lambda of: KnowledgeRoutes(of.library, of.handler),
    Answers: lambda of: Answers(of.library, of.handler),
    ToolPages: lambda _: ToolPages(),
    Dify: lambda of: Dify(of.library, of.handler),
    Mcp: lambda of: Mcp(of.library, of.handler),
    Stores: lambda of: Stores(of.library, of.handler),
    SourceRoutes: lambda of: SourceRoutes(of.library, of.handler, time.time, of.jobs),
    DocumentRoutes: lambda of: DocumentRoutes(of.library, of.handler),
    TreeRoutes: lambda of: TreeRoutes(of.library, of.handler),
    DocumentReaderRoutes: lambda of: DocumentReaderRoutes(of.library, of.handler),
    CorrectionRoutes: lambda of: CorrectionRoutes(of.library, of.handler),
    OriginalRoutes: lambda of: OriginalRoutes(of.library, of.handler, of.book),
    PreviewRoutes: lambda of: PreviewRoutes(of.library, of.handler),
    UploadRoutes: lambda of: UploadRoutes(of.library, of.handler, of.jobs),
    BackupRoutes: lambda of: BackupRoutes(of.library, of.handler),
    QuarantineRoutes: lambda of: QuarantineRoutes(of.library, of.handler),
    Agents: lambda of: Agents(of.library, of.handler, of.keys_changed),
    Tasks: lambda of: Tasks(of.library, of.handler),
    SynonymRoutes: lambda of: SynonymRoutes(of.library, of.handler),
    Audit: lambda of: Audit(of.library, of.handler),
    OverviewRoutes: lambda of: OverviewRoutes(of.library, of.handler),
    GapRoutes: lambda of: GapRoutes(of.library, of.handler),
    ImpactRoutes: lambda of: ImpactRoutes(of.library, of.handler),
    ErasureRoutes: lambda of: ErasureRoutes(of.library, of.handler),
    ConflictRoutes: lambda of: ConflictRoutes(of.library, of.handler),
    FeedbackRoutes: lambda of: FeedbackRoutes(of.library, of.handler),
    ModelRoutes: lambda of: ModelRoutes(of.library, of.handler),
    GoldenQuestionRoutes: lambda of: GoldenQuestionRoutes(of.library, of.handler),
    EvaluationRoutes: lambda of: EvaluationRoutes(of.library, of.handler),
    UnifiedRoutes: lambda of: UnifiedRoutes(of.library, of.handler),
    RuleRoutes: lambda of: RuleRoutes(of.library, of.handler),
    GroupRoutes: lambda of: GroupRoutes(of.library.catalog, of.handler),
    KeyRoutes: lambda of: KeyRoutes(of.library.catalog, of.handler, of.keys_changed, time.time),
    PeopleRoutes: lambda of: PeopleRoutes(of.library.catalog, of.handler),
    ResourceMetadata: lambda of: ResourceMetadata(of.library.settings.oidc),
}
"""The resources of a library, each with how its handler is made; the OpenAPI document has them in this order."""
_SIMPLE = (FragmentRoutes, SourceList, Metrics, Probes)
"""Those of a service without agents and keys."""
ROUTES: tuple[Route, ...] = tuple(one for part in (*_RESOURCES, Metrics, Probes) for _, one in declared(part))
"""All that a server can have."""
_OF_EACH = (FragmentRoutes, KnowledgeRoutes, Answers, ToolPages, Dify, Mcp, Stores, UnifiedRoutes, Probes)
OF_EACH = tuple(one.path for part in _OF_EACH for _, one in declared(part))
"""Paths that each of several processes answers: questions, which take the time, and what is said of the process itself."""
_NO_DOCUMENTS = ("/v1/agents", "/v1/tasks", "/v1/people", "/metrics")
_LISTED = "/v1/documents"
PUBLIC = frozenset(one.path for one in ROUTES if one.right is None)
"""Paths that need no principal: probes carry no keys."""


def create_app(
    service: Service,
    *,
    settings: ServerSettings | None = None,
    authenticate: Authenticate = open_on_loopback,
    fault: FaultSwitch | None = None,
    member: Member | None = None,
) -> Starlette:
    """The ASGI application that serves a service.

    Args:
        service: What answers; it is called from several threads.
        authenticate: Who is calling, see `Authenticate`.
        fault: Only for conformance tests: with it, a request whose header ``X-Wenyuan-Fault`` names a part is
            answered inside ``fault(name)``, so that a real failure can be asked for. Without it the
            header means nothing.
        member: Which of several processes this is; None where it serves alone.
    """
    settings = settings or ServerSettings()
    traffic = RequestMetrics(ROUTES)
    numbers = NumbersNow(traffic, _work_of(service), None if member is None else SharedNumbers(member))
    buckets = None if member is None else SharedBuckets(member.limits, member.number, member.count)
    document = openapi_document(settings, governed=isinstance(service, KnowledgeService))
    book = _address_book(service, settings)
    parts = _parts(service, RequestHandler(settings, fault, _library_id(service)), authenticate, book)
    parts += [Metrics(service, numbers), Probes(service, document)]
    around = [] if book is None else [Middleware(RemoteAddresses, known=book)]
    app = Starlette(
        routes=_routes(parts, _hiding(service)),
        middleware=[
            *around,
            Middleware(
                GuardMiddleware, authenticate=authenticate, settings=settings, traffic=traffic, public=PUBLIC,
                buckets=buckets,
            ),
        ],
        exception_handlers={HTTPException: _no_route},
    )  # fmt: skip
    app.router.redirect_slashes = False
    app.state.numbers = numbers
    return app


def is_filtered(one: Route) -> bool:
    """Whether a route gives no more of documents than its caller may see: the doors of questions, lists, and what is about no
    document. Any other one is for whoever sees all of them.
    """
    return (
        one.right in (None, "retrieve", "search")
        or one.path.startswith(_NO_DOCUMENTS)
        or (one.method, one.path) == ("GET", _LISTED)
    )


def _work_of(service: Service) -> Callable[[], LibraryWork] | None:
    health = getattr(service, "health", None)
    return health.work if isinstance(health, Health) else None


def openapi_document(settings: ServerSettings, *, governed: bool = True) -> Mapping[str, Any]:
    """The OpenAPI document of a server with these settings.

    Args:
        governed: Whether the service behind it knows agents, sources and keys.
    """
    simple = tuple(one for part in _SIMPLE for _, one in declared(part))
    return document_of(settings, ROUTES if governed else simple, ROUTES)


def _library_id(service: Service) -> str:
    return str(service.catalog.library_id()) if isinstance(service, KnowledgeService) else ""


def _address_book(service: Service, settings: ServerSettings) -> AddressBook | None:
    """The addresses of a library's files; None for a service that has no catalog."""
    if not isinstance(service, KnowledgeService):
        return None
    library = cast("Library", service)
    return AddressBook(library.catalog, library.folder, map(str, settings.ingest_roots))


def _parts(
    service: Service, handler: RequestHandler, authenticate: Authenticate, book: AddressBook | None
) -> list[object]:
    """The route handlers for a service: all of them for a library, fewer for a service without agents and keys."""
    if book is None or not isinstance(service, KnowledgeService):
        return [FragmentRoutes(service, handler), SourceList(service, handler)]
    keys_changed = authenticate.forget if isinstance(authenticate, KeyRing) else lambda: None
    parts = _Parts(cast("Library", service), handler, book, keys_changed, IngestJobs())
    return [make(parts) for make in _RESOURCES.values()]


def _hiding(service: Service) -> Callable[[], bool]:
    """Whether something is hidden from those with whose eyes is read."""
    if not isinstance(service, KnowledgeService):
        return lambda: False
    catalog = service.catalog
    return lambda: catalog.hidden() is not None


def _routes(parts: Iterable[object], hides: Callable[[], bool]) -> Sequence[BaseRoute]:
    """One route per path, for declared handlers only."""
    # A pack is called as its author likes, and its name may have a slash in it, as a path has.
    checked = {
        (one.method, one.path.replace("{pack}", "{pack:path}").replace("{path}", "{path:path}")): guarded(
            one.right, getattr(part, name), instead=one.instead, filtered=is_filtered(one), hides=hides
        )
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


__all__ = ["FAULT_HEADER", "STATUS_HEADER", "create_app"]
