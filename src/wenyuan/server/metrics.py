"""Routes about the service itself: metrics for Prometheus, health, and the OpenAPI 3.1 document, which is generated from
the models that validate requests and responses.
"""

from __future__ import annotations

import logging
import re
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, partial
from http import HTTPStatus
from itertools import accumulate
from typing import Any, Protocol, runtime_checkable

from prometheus_client import CONTENT_TYPE_PLAIN_0_0_4, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector
from pydantic import BaseModel
from pydantic.json_schema import models_json_schema
from starlette.requests import Request
from starlette.responses import Response

from wenyuan import wire as shapes
from wenyuan.core.errors import VERSION, KnowledgeError, NotPermitted
from wenyuan.core.ports import ModelUse
from wenyuan.core.restrictions import REFUSED
from wenyuan.runtime import BOUNDS, Timing
from wenyuan.server import ServerSettings, Service
from wenyuan.server.access import Operation, Route, route
from wenyuan.server.examples import SECURITY, told_by_example
from wenyuan.server.handling import json_response
from wenyuan.server.numbers import Numbers, NumbersNow
from wenyuan.server.problems import PROBLEM_JSON, Pool
from wenyuan.server.request_schemas import JSON, REF, any_json, as_strict_json
from wenyuan.service.operations import SourceHealth
from wenyuan.service.operations.health import LibraryStats
from wenyuan.service.operations.refresh import WorkerProgress
from wenyuan.service.search.execution import CacheCounts
from wenyuan.wire import ReadinessShape
from wenyuan.wire.rules import FileShape, body_schema
from wenyuan.wire.strict_json import MAX_DEPTH

# Generates the OpenAPI 3.1 document from the models that validate requests and responses.

_WIRE_RULES = (
    "Bodies are strict JSON (RFC 8259, UTF-8): no NaN or Infinity, no key twice, no NUL, no half surrogate pair, "
    f"at most {MAX_DEPTH} levels, integers up to 2^53, and `3.0` is not an integer."
)


@cache
def _schemas(routes: tuple[Route, ...]) -> dict[str, Any]:
    """Schemas of the request and response models used by routes, and of those common to all routes."""
    takes: dict[type[BaseModel], None] = {shapes.ContextShape: None, FileShape: None}
    gives: dict[type[BaseModel], None] = {shapes.ProblemShape: None}
    for declared in routes:
        if declared.operation is not None:
            takes |= dict.fromkeys(declared.operation.takes)
            gives |= dict.fromkeys(declared.operation.gives)
    _, document = models_json_schema(
        [*((m, "validation") for m in takes), *((m, "serialization") for m in gives)],
        ref_template=f"{REF}{{model}}",
    )
    schemas: dict[str, Any] = document["$defs"]
    schemas["ContextShape"]["additionalProperties"] = JSON
    schemas["ContextShape"]["propertyNames"] = {"pattern": r"^[^\u0000]*$", "not": {"enum": list(REFUSED)}}
    schemas["ContextShape"]["maxProperties"] = shapes.MAX_CONTEXT_KEYS
    return {**schemas, "Json": any_json()}


_OBJECT = {"type": "object"}
_PARAMETER = re.compile(r"\{([a-z_]+)\}")
_HEADERS = {
    "X-Request-Id": {
        "description": "Names the request in the server's log.",
        "schema": {"type": "string"},
        "required": True,
    }
}
_STATUS_HEADER = {
    "X-Retrieval-Status": {"schema": {"type": "string", "enum": ["SUCCESS", "FAILED"]}, "required": True}
}
_FILES = {
    "multipart/form-data": {
        "schema": {
            "type": "object",
            "required": ["file"],
            "properties": {"file": {"type": "array", "items": {"type": "string", "format": "binary"}}},
        }
    }
}
_RETRY_AFTER = {"Retry-After": {"description": "Seconds.", "schema": {"type": "integer"}}}


def content_of(shape: type[BaseModel], media_type: str = "application/json") -> dict[str, Any]:
    """Content with a schema that is a component of the document."""
    return {media_type: {"schema": {"$ref": f"{REF}{shape.__name__}"}}}


def _problem(status: int) -> dict[str, Any]:
    headers = {**_HEADERS, **(_RETRY_AFTER if status in (429, 503) else {})}
    return {
        "description": HTTPStatus(status).phrase,
        "headers": headers,
        "content": content_of(shapes.ProblemShape, PROBLEM_JSON),
    }


def _problems(*statuses: int) -> dict[str, Any]:
    return {str(status): _problem(status) for status in statuses}


def _in_words_of(error: type[BaseModel], *statuses: int) -> dict[str, Any]:
    """Error responses in the format of another protocol."""
    return {
        str(status): {"description": HTTPStatus(status).phrase, "headers": _HEADERS, "content": content_of(error)}
        for status in statuses
    }


def _in_path(route: Route) -> list[dict[str, Any]]:
    return [
        {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}
        for name in _PARAMETER.findall(route.path)
    ]


@cache
def _in_query(shape: type[BaseModel] | None) -> list[dict[str, Any]]:
    properties = {} if shape is None else shape.model_json_schema()["properties"]
    return [{"name": name, "in": "query", "required": False, "schema": told} for name, told in properties.items()]


def _parameters(route: Route, query: type[BaseModel] | None) -> dict[str, Any]:
    told = _in_path(route) + _in_query(query)
    return {"parameters": told} if told else {}


# What a route can say of itself: each of these makes the `Operation` that is declared beside its handler.


def got(
    name: str,
    summary: str,
    answer: Mapping[str, Any] | type[BaseModel],
    *problems: int,
    also: Mapping[str, Any] | None = None,
) -> Operation:
    """A GET operation without a body.

    Args:
        answer: Its shape, or its content by media type.
        problems: The statuses of other answers.
        also: Further content of the last of them.
    """
    gives, content = ((answer,), content_of(answer)) if isinstance(answer, type) else ((), answer)
    responses = {"200": {"description": summary, "headers": _HEADERS, "content": content}, **_problems(*problems)}
    if also is not None:
        last = responses[str(problems[-1])]
        responses[str(problems[-1])] = {**last, "content": {**also, **last["content"]}}
    return Operation(
        lambda _route, _failed: {"operationId": name, "summary": summary, "responses": responses}, gives=gives
    )


def asked(name: str, summary: str, takes: type[BaseModel], gives: type[BaseModel], *problems: int) -> Operation:
    """A question whose response may have status FAILED."""

    def described(_route: Route, failed: int) -> dict[str, Any]:
        answer = {
            "description": "The answer: read `status` first.",
            "headers": {**_HEADERS, **_STATUS_HEADER},
            "content": content_of(gives),
        }
        responses = {"200": answer, **_problems(400, 401, 403, *problems, 408, 413, 415, 429, 500, 503)}
        if failed != 200:
            problem = responses.get(str(failed)) or _problem(failed)
            responses[str(failed)] = {
                **problem,
                "description": "The answer has status FAILED, or there is none.",
                "content": {**content_of(gives), **problem["content"]},
            }
        return {
            "operationId": name,
            "summary": summary,
            "description": _WIRE_RULES,
            "requestBody": {"required": True, "content": content_of(takes)},
            "responses": responses,
        }

    return Operation(described, takes=(takes,), gives=(gives,))


def foreign(
    name: str,
    summary: str,
    takes: type[BaseModel] | None,
    gives: type[BaseModel],
    error: type[BaseModel],
    *,
    query: type[BaseModel] | None = None,
) -> Operation:
    """A question in another protocol, which has its own error format."""

    def described(route: Route, _failed: int) -> dict[str, Any]:
        if takes is None:
            ok = {"description": summary, "headers": _HEADERS, "content": content_of(gives)}
            errors = _in_words_of(error, 400, 401, 403, 429, 500, 503)
        else:
            headers = {**_HEADERS, **_STATUS_HEADER}
            ok = {"description": "What was found, perhaps nothing.", "headers": headers, "content": content_of(gives)}
            errors = _in_words_of(error, 400, 401, 403, 404, 408, 413, 415, 429, 500, 503)
        body = {} if takes is None else {"requestBody": {"required": True, "content": content_of(takes)}}
        told = {"operationId": name, "summary": summary, "responses": {"200": ok, **errors}}
        return {**told, **body, **_parameters(route, query)}

    return Operation(described, takes=() if takes is None else (takes,), gives=(gives, error))


def kept(
    summary: str = "",
    answer: Mapping[str, Any] = _OBJECT,
    *,
    statuses: Sequence[int] = (200,),
    query: type[BaseModel] | None = None,
    body: type[BaseModel] | Mapping[str, Any] | None = None,
    required: bool = True,
    files: bool = False,
) -> Operation:
    """An operation that reads or changes stored data.

    Args:
        answer: The schema of the answer.
        query: The parameters of its query.
        body: The shape, or the schema, of its body.
        required: Whether there must be one.
        files: Whether its body is a form with files.
    """
    takes = body_schema(body) if isinstance(body, type) else {"content": {"application/json": {"schema": body}}}

    def described(route: Route, _failed: int) -> dict[str, Any]:
        ok = {"description": "Done.", "headers": _HEADERS, "content": {"application/json": {"schema": answer}}}
        return {
            "operationId": _named(route),
            "summary": summary or f"Needs the right {route.right}",
            "responses": {
                **{str(status): ok for status in statuses},
                **_problems(400, 401, 403, 404, 408, 409, 413, 415, 429, 500, 503),
            },
            **_parameters(route, query),
            **({"requestBody": {"required": True, "content": _FILES}} if files else {}),
            **({} if body is None else {"requestBody": {**takes, "required": required}}),
        }

    return Operation(described)


def file_given(summary: str, types: Iterable[str], *, query: type[BaseModel] | None = None) -> Operation:
    """An operation that returns a file.

    Args:
        types: Its media types.
    """
    content = {kind: {"schema": {"type": "string", "format": "binary"}} for kind in sorted(types)}

    def described(route: Route, _failed: int) -> dict[str, Any]:
        ok = {"description": summary, "headers": _HEADERS, "content": content}
        return {
            "operationId": _named(route),
            "summary": summary,
            "responses": {"200": ok, **_problems(400, 401, 403, 404, 409, 429, 500, 503)},
            **_parameters(route, query),
        }

    return Operation(described)


def _named(route: Route) -> str:
    words = [part for part in route.path.split("/")[2:] if not part.startswith("{")]
    return "_".join([route.method.lower(), *words, *(["one"] if _in_path(route) else [])])


def _protocol(_route: Route, _failed: int) -> dict[str, Any]:
    anything = {"application/json": {"schema": {"type": "object"}}}
    answer = {"description": "A JSON-RPC response.", "headers": _HEADERS, "content": anything}
    problems = _problems(400, 401, 403, 404, 406, 408, 413, 415, 429, 500, 501, 503)
    for status in ("400", "404", "406", "500"):  # by what of the protocol is wrong, in its own words
        problems[status]["content"] = {**anything, **problems[status]["content"]}
    taken = {"description": "A notification was taken.", "headers": _HEADERS}
    return {
        "operationId": "mcp",
        "summary": "The Model Context Protocol, stateless",
        "requestBody": {"required": True, "content": anything},
        "responses": {"200": answer, "202": taken, **problems},
    }


MCP = Operation(_protocol)
"""A protocol of its own: https://modelcontextprotocol.io."""

SOURCES_LISTED = got("list_sources", "The registered sources", shapes.SourceListShape, 401, 403, 429, 500, 503)


def document_of(settings: ServerSettings, served: Iterable[Route], known: Iterable[Route]) -> dict[str, Any]:
    """The document of a server with these settings.

    Args:
        served: The routes that it has.
        known: All that a server can have: whose shapes are described.
    """
    paths: dict[str, dict[str, Any]] = {}
    for declared in served:
        if declared.operation is not None:
            told = declared.operation.described(declared, settings.failed_http_status)
            told = told_by_example(told, open_to_all=declared.right is None)
            paths.setdefault(declared.path, {})[declared.method.lower()] = told
    paths, schemas = as_strict_json(paths, _schemas(tuple(known)))
    return {
        "openapi": "3.1.0",
        "info": {"title": "Wenyuan", "version": VERSION, "description": _WIRE_RULES},
        "paths": paths,
        "components": {"schemas": schemas, "securitySchemes": dict(SECURITY)},
    }


# Metrics and health routes, with Prometheus text exposition.

Counted = Iterable[tuple[tuple[str, ...], float]]
"""Numbers, each with the values of its labels."""


class MetricFamilies(Collector):
    """Metric families for exposition; empty ones are left out."""

    def __init__(self, families: Iterable[Metric]) -> None:
        self._families = families

    def collect(self) -> Iterator[Metric]:
        return (family for family in self._families if family.samples)


def histogram(name: str, told: str, labels: tuple[str, ...], timings: Mapping[tuple[str, ...], Timing]) -> Metric:
    """Durations as a histogram: cumulative counts at `BOUNDS`, in seconds."""
    family = HistogramMetricFamily(name, told, labels=labels)
    bounds = (*(f"{bound:g}" for bound in BOUNDS), "+Inf")
    for values, timing in sorted(timings.items()):
        family.add_metric(values, list(zip(bounds, accumulate(timing.classes), strict=True)), timing.seconds)
    return family


def counter(name: str, told: str, labels: tuple[str, ...], counted: Counted) -> Metric:
    """Counters by the values of their labels."""
    family = CounterMetricFamily(name, told, labels=labels)
    for values, count in counted:
        family.add_metric(values, count)
    return family


def _gauge(name: str, told: str, value: float) -> Metric:
    return GaugeMetricFamily(name, told, value=value)


# Probes, and what describes the rest.


_log = logging.getLogger("wenyuan.server")
_LIVE = {"application/json": {"schema": {"type": "object", "properties": {"live": {"const": True}}}}}


class Probes:
    """Health and readiness probes. They have their own threads, so that load cannot make them fail.

    Args:
        document: The OpenAPI document of the server.
    """

    def __init__(self, service: Service, document: Mapping[str, Any]) -> None:
        self._service = service
        self._document = document
        self._pool = Pool(2, 16)

    @route("GET", "/livez", None, got("livez", "Whether the process runs", _LIVE, 500))
    async def livez(self, _request: Request) -> Response:
        return json_response({"live": True})

    @route(
        "GET",
        "/readyz",
        None,
        got("readyz", "Whether the service can answer", ReadinessShape, 500, 503, also=content_of(ReadinessShape)),
    )
    async def readyz(self, request: Request) -> Response:
        return await self._pool.run(partial(self._readiness, request.state.request_id))

    @route("GET", "/openapi.json", None, None)
    async def openapi(self, _request: Request) -> Response:
        return json_response(self._document)

    def _readiness(self, request_id: str) -> Response:
        try:
            state = self._service.readiness()
            ready, parts = state.ready, {name: _shown(part) for name, part in state.parts.items()}
        except Exception as error:
            known = isinstance(error, KnowledgeError)
            _log.error("readiness could not be told: request_id=%s: %s", request_id, error, exc_info=not known)
            reason = str(error) if known else f"internal error (request {request_id})"
            ready, parts = False, {"service": {"state": "failed", "detail": reason}}
        return json_response({"ready": ready, "parts": parts}, 200 if ready else 503)


def _shown(part: Mapping[str, object]) -> dict[str, object]:
    """A part's state without its hints: a prober cannot act on the server."""
    return {name: value for name, value in part.items() if name != "hint"}


# ``/metrics``: how the server and its library are doing, for Prometheus.
#
# Labels come from closed sets (doors, outcomes, legs, states) and from the ids of the sources that are registered.


_STARTED = time.time()


@runtime_checkable
class _Measured(Protocol):
    def vitals(self) -> LibraryStats: ...


_NUMBERS = got(
    "metrics", "Numbers for Prometheus; needs the right audit", {"text/plain": {"schema": {"type": "string"}}},
    401, 403, 429, 500, 503,
)  # fmt: skip


class Metrics:
    """``/metrics``. It has its own threads, so that metrics stay readable under load."""

    def __init__(self, service: object, numbers: NumbersNow) -> None:
        self._service = service
        self._numbers = numbers
        self._pool = Pool(1, 8)

    @route("GET", "/metrics", "audit", _NUMBERS)
    async def show(self, request: Request) -> Response:
        if request.state.principal.agent_id is not None:
            raise NotPermitted("a key that is bound to an agent cannot see the numbers of the whole library")
        return await self._pool.run(self._show)

    def _show(self) -> Response:
        numbers = self._numbers.all()
        families = [*_of_traffic(numbers), *_of_process(numbers.resident)]
        if (shared := self._numbers.shared) is not None:
            families += _of_processes(*shared.processes())
        if isinstance(self._service, _Measured):
            vitals = self._service.vitals()
            families += _of_library(vitals if numbers.work is None else vitals.beside(numbers.work))
        return Response(generate_latest(MetricFamilies(families)), media_type=CONTENT_TYPE_PLAIN_0_0_4)


def _of_traffic(traffic: Numbers) -> Iterator[Metric]:
    by = ("door", "status", "outcome")
    answered = sorted(traffic.requests.items())
    yield counter("wenyuan_http_requests_total", "Requests that were answered.", by, answered)
    yield histogram(
        "wenyuan_http_request_duration_seconds", "Time until the answer was sent.", ("door",), traffic.durations
    )
    yield _gauge("wenyuan_http_requests_in_flight", "Requests that are open, this one included.", traffic.open)
    refused = [((), traffic.limited)]
    yield counter("wenyuan_http_rate_limited_total", "Requests that were refused with 429.", (), refused)


def _of_process(resident: int) -> Iterator[Metric]:
    yield _gauge("process_start_time_seconds", "When the server was loaded, in seconds since the epoch.", _STARTED)
    if resident:
        yield _gauge("process_resident_memory_bytes", "Memory of the serving processes.", resident)


def _of_processes(ready: int, restarts: int) -> Iterator[Metric]:
    yield _gauge("wenyuan_processes", "Serving processes that take connections.", ready)
    yield counter("wenyuan_processes_restarted_total", "Processes started in place of others.", (), [((), restarts)])


def _of_library(vitals: LibraryStats) -> Iterator[Metric]:
    yield from _of_sources(vitals)
    yield histogram(
        "wenyuan_leg_duration_seconds",
        "Time of the legs of requests; source is empty for the library's own index.",
        ("leg", "source", "state"),
        vitals.legs,
    )
    yield from _of_cache("cache", "Answers", vitals.cache)
    if vitals.query_vectors is not None:
        yield from _of_cache("query_vector", "Vectors of queries", vitals.query_vectors)
    lag = vitals.index
    yield _gauge("wenyuan_index_lag_changes", "Changes of the catalog that the index has not seen.", lag.changes)
    yield _gauge("wenyuan_index_lag_seconds", "Age of the oldest of them.", lag.seconds)
    if vitals.worker is not None:
        yield from _of_worker(vitals.worker)
    used = [use for use in (vitals.llm, vitals.judge) if use is not None]
    if used:
        yield from _of_models(used)
    if vitals.audit is not None:
        audit = vitals.audit
        yield counter("wenyuan_audit_records_total", "Audit records ever written.", (), [((), audit.records)])
        yield _gauge("wenyuan_audit_waiting", "Audit records that are not durable yet.", audit.waiting)
        yield _gauge("wenyuan_audit_flush_lag_seconds", "Age of the oldest of them.", audit.lag)
        yield _gauge("wenyuan_audit_failing", "Whether the audit cannot be written.", audit.failing)


def _of_cache(name: str, what: str, counts: CacheCounts) -> Iterator[Metric]:
    asked = [(("hit",), counts.hits), (("miss",), counts.misses), (("joined",), counts.joined)]
    yield counter(f"wenyuan_{name}_requests_total", f"{what} asked of the cache.", ("result",), asked)
    yield _gauge(f"wenyuan_{name}_entries", f"{what} that are kept.", counts.values)
    yield _gauge(f"wenyuan_{name}_bytes", "What they take, about.", counts.bytes)


def _of_models(used: Sequence[ModelUse]) -> Iterator[Metric]:
    counts = sum((Counter(use.calls) for use in used), Counter[str]())
    calls = [((outcome,), float(count)) for outcome, count in sorted(counts.items())]
    yield counter("wenyuan_llm_calls_total", "Questions to the language model, by outcome.", ("outcome",), calls)
    tokens = [(("in",), sum(use.tokens_in for use in used)), (("out",), sum(use.tokens_out for use in used))]
    yield counter("wenyuan_llm_tokens_total", "Tokens of language model and judge.", ("direction",), tokens)
    cost = sum(use.cost for use in used)
    yield counter("wenyuan_llm_cost_total", "Cost of the language model, at the settings' prices.", (), [((), cost)])


def _of_worker(done: WorkerProgress) -> Iterator[Metric]:
    yield _gauge("wenyuan_worker_up", "Whether the worker of this process is at work or waits for it.", done.alive)
    yield _gauge("wenyuan_worker_in_trouble", "Whether its last round broke off.", bool(done.trouble))
    yield _gauge("wenyuan_worker_looked_seconds", "Time since it began to look for what is due.", done.looked)
    outcomes = [(("refreshed",), done.refreshed), (("failed",), done.failed)]
    yield counter(
        "wenyuan_worker_refreshes_total", "Refreshes by the worker of this process.", ("outcome",), outcomes
    )


def _of_sources(vitals: LibraryStats) -> Iterator[Metric]:
    def each(name: str, told: str, value: Callable[[SourceHealth], float | None]) -> Metric:
        family = GaugeMetricFamily(name, told, labels=("source",))
        for health in vitals.sources:
            if (found := value(health)) is not None:
                family.add_metric((health.source.source_id,), found)
        return family

    def since(at: float | None) -> float | None:
        return None if at is None else max(0.0, vitals.at - at)

    counts = vitals.counts
    for name in ("documents", "passages"):
        yield each(f"wenyuan_source_{name}", f"Live {name}.", lambda h, n=name: counts[h.source.source_id][n])  # type: ignore[misc]
    yield each("wenyuan_source_documents_failed", "Documents that cannot be read.",
               lambda h: counts[h.source.source_id]["failures"])  # fmt: skip
    yield each("wenyuan_source_last_success_age_seconds", "Time since the last refresh that succeeded.",
               lambda h: since(h.state.last_success))  # fmt: skip
    yield each("wenyuan_source_failures_in_a_row", "Refreshes that failed since one succeeded.",
               lambda h: h.state.failures)  # fmt: skip
    yield each("wenyuan_source_overdue", "Whether its refresh is overdue.", lambda h: h.stale_since is not None)
    yield each("wenyuan_source_overdue_seconds", "For how long its refresh is overdue.",
               lambda h: since(h.stale_since))  # fmt: skip
    waiting = sum(health.due for health in vitals.sources)
    yield _gauge("wenyuan_refresh_queue", "Sources that are due and that no worker is at.", waiting)
