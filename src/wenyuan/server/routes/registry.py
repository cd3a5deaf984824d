"""The registry over HTTP: sources and agents.

A key that is bound to an agent sees that agent and the sources of its scope, and changes nothing; to it, what is
another's is not there. A folder can be named only below those that the settings allow.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from starlette.requests import Request
from starlette.responses import Response

from wenyuan.core.access import MAX_DOMAINS, MAX_TOP_K, Agent, Principal, agent_to_wire, parse_agent
from wenyuan.core.errors import (
    ConfigError,
    Fault,
    InvalidRequest,
    NotPermitted,
    SourceError,
    as_sent,
    did_you_mean,
    listed,
    msg,
)
from wenyuan.core.model import Source
from wenyuan.core.registry import Registry
from wenyuan.core.remote_addresses import is_remote, local_places
from wenyuan.core.source_entries import parse_source, shown_source, source_to_wire, supersession_faults
from wenyuan.server.etags import check_version, version_of
from wenyuan.server.handling import RequestHandler, json_response, missing
from wenyuan.server.openapi import SOURCES_LISTED, storage_operation
from wenyuan.server.problems import Problem
from wenyuan.server.route import route
from wenyuan.server.routes.ingest_jobs import IngestJobs
from wenyuan.server.service_port import Service
from wenyuan.service.ingest.registry import plan, read_stricter, store
from wenyuan.service.operations.freshness import describe_state
from wenyuan.service.operations.refresh import RefreshOutcome, Worker

if TYPE_CHECKING:
    from wenyuan.service.ingest.progress import IngestReport
    from wenyuan.service.library import Library


_FIXED = ("source_id", "type", "path")
"""What a source is: with another value it would be another source."""


_OPERATORS = frozenset(("path", "settings", "state", "reason", "refreshing", "failures"))
"""What an agent's key is not told: where a source lies and why a refresh of it failed is the operator's business."""


def operator(principal: Principal) -> None:
    """Refuse a key that is bound to an agent, which could widen its own scope."""
    if principal.agent_id is not None:
        raise NotPermitted("a key that is bound to an agent changes nothing in the registry")


def allowed_path(path: str, ingest_roots: Sequence[Path]) -> Path:
    """The real path (links resolved) of a path given by a client.

    Raises:
        InvalidRequest: it is no valid path, or not absolute.
        NotPermitted: it is not below a folder of ``server.ingest_roots``.
    """
    roots = [Path(os.path.realpath(root)) for root in ingest_roots]
    if not path:
        raise InvalidRequest("path is required", faults=(Fault("path", "is required"),))
    if not roots:
        raise NotPermitted(
            "no folder may be named over HTTP: name those that may in wenyuan.toml, [server] ingest_roots, "
            "and start the server again"
        )
    if "\0" in path or not Path(path).is_absolute():
        raise InvalidRequest("path must be absolute", faults=(Fault("path", "must be an absolute path"),))
    real = Path(os.path.realpath(path))
    if not any(real.is_relative_to(root) for root in roots):
        raise NotPermitted("the path does not lie below a folder of the setting server.ingest_roots")
    return real


_MOST_FAILURES = 200
"""Documents that could not be read, with the reason, that are told of one source; `counts` has how many there are."""


# --- for the OpenAPI document ---------------------------------------------------------------------------------
_TEXT, _OBJECT, _TRUST = {"type": "string"}, {"type": "object"}, {"type": "integer", "minimum": 1, "maximum": 5}
_SCOPE = {
    "type": "object",
    "required": ["domain"],
    "additionalProperties": False,
    "properties": {
        "domain": {"type": "string", "minLength": 1},
        "top_k": {
            "anyOf": [{"type": "integer", "minimum": 1, "maximum": MAX_TOP_K}, {"enum": ["auto", "confidence"]}]
        },
    },
}
_AGENT: Mapping[str, Any] = {
    "type": "object",
    "required": ["agent_id", "knowledge_scope"],
    "additionalProperties": False,
    "properties": {
        "agent_id": {"type": "string", "pattern": "^[A-Za-z0-9_.-]{1,64}$"},
        "title": _TEXT,
        "knowledge_scope": {"type": "array", "items": _SCOPE, "minItems": 1, "maxItems": MAX_DOMAINS},
        "min_trust": _TRUST,
        "allow_low_trust": {"type": "boolean"},
        "token_budget": {"type": "integer", "minimum": 50, "maximum": 100_000},
    },
}
_SOURCE: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        **{name: {} for name in source_to_wire(Source(source_id="x"))},
        "source_id": _TEXT,
        "trust_level": {"type": ["integer", "null"], "minimum": 1, "maximum": 5},
        "trust": {"type": ["integer", "null"], "minimum": 1, "maximum": 5, "description": "The same as trust_level."},
        "settings": {"type": ["object", "null"]},
    },
    "additionalProperties": False,
}
_DESCRIBED_SOURCE: Mapping[str, Any] = {
    "type": "object", "required": ["source_id"], "properties": {"source_id": _TEXT, "counts": _OBJECT},
}  # fmt: skip
_REFRESHED = {
    "type": "object",
    "required": ["status"],
    "properties": {"status": {"enum": ["SUCCESS", "FAILED"]}, "error_message": _TEXT, "translatable": _OBJECT},
}


_listed = route("GET", "/v1/sources", "registry", SOURCES_LISTED)


class SourceList:
    """``/v1/sources`` of a service that can only list its sources."""

    def __init__(self, service: Service, handler: RequestHandler) -> None:
        self._service = service
        self._handler = handler

    @_listed
    async def list(self, _request: Request) -> Response:
        return await self._handler.pool.run(lambda: json_response({"sources": list(self._service.list_sources())}))


class SourceRoutes:
    """``/v1/sources``."""

    def __init__(
        self, library: Library, handler: RequestHandler, clock: Callable[[], float], runs: IngestJobs
    ) -> None:
        self._library = library
        self._handler = handler
        self._clock = clock
        self._runs = runs

    @_listed
    async def list(self, request: Request) -> Response:
        return await self._handler.pool.run(lambda: self._list(request.state.principal))

    @route(
        "GET",
        "/v1/sources/{source_id}",
        "registry",
        storage_operation("A source, what is held of it, and how", _DESCRIBED_SOURCE, versioned=True),
    )
    async def show(self, request: Request) -> Response:
        return await self._handler.pool.run(lambda: self._show(request))

    @route(
        "POST",
        "/v1/sources",
        "registry",
        storage_operation(
            "Register a source; one with a path is taken in before this answers, to one without documents are uploaded",
            _DESCRIBED_SOURCE,
            statuses=(201,),
            body={**_SOURCE, "required": ["source_id"]},
        ),
    )
    async def add(self, request: Request) -> Response:
        operator(request.state.principal)
        return await self._handler.work(request, self._add)

    @route(
        "PATCH",
        "/v1/sources/{source_id}",
        "registry",
        storage_operation("Change what is said of a source", _DESCRIBED_SOURCE, body=_SOURCE, versioned=True),
    )
    async def change(self, request: Request) -> Response:
        return await self._handler.work(request, lambda body: self._change(request, body))

    @route(
        "DELETE",
        "/v1/sources/{source_id}",
        "registry",
        storage_operation(
            "Remove a source with all that is held of it",
            {
                "type": "object",
                "required": ["source_id", "documents"],
                "properties": {"source_id": _TEXT, "documents": {"type": "integer"}},
            },
            versioned=True,
        ),
    )
    async def remove(self, request: Request) -> Response:
        return await self._handler.pool.run(lambda: self._remove(request))

    @route(
        "POST",
        "/v1/sources/{source_id}/refresh",
        "ingest",
        storage_operation("Read a source anew; answers when it is done, also with FAILED", _REFRESHED),
    )
    async def refresh(self, request: Request) -> Response:
        return await self._handler.pool.run(lambda: self._refresh(self._found(request, to_change=True)))

    @route(
        "GET",
        "/v1/sources/{source_id}/refresh",
        "ingest",
        storage_operation("How the refresh of a source is getting on"),
    )
    async def watch(self, request: Request) -> Response:
        return await self._handler.pool.run(
            lambda: json_response(self._runs.told(self._found(request, to_change=True).source_id))
        )

    def _found(self, request: Request, *, to_change: bool = False) -> Source:
        source_id = request.path_params["source_id"]
        return source_of(self._library, request.state.principal, source_id, to_change=to_change)

    def _list(self, principal: Principal) -> Response:
        visible = _visible(self._library, principal)
        listed = [s for s in self._library.list_sources() if visible(str(s["source_id"]), str(s["domain"]))]
        if principal.agent_id is not None:
            listed = [{name: value for name, value in s.items() if name not in _OPERATORS} for s in listed]
        return json_response({"sources": listed})

    def _show(self, request: Request) -> Response:
        source = self._found(request)
        shown = self._described(source)
        if request.state.principal.agent_id is not None:
            shown = {name: value for name, value in shown.items() if name not in _OPERATORS}
        return json_response(shown, headers={"ETag": version_of(shown_source(source))})

    def _described(self, source: Source) -> dict[str, Any]:
        state = self._library.catalog.source_states().get(source.source_id)
        return {
            **shown_source(source),
            "counts": dict(self._library.catalog.counts(source.source_id)),
            "failures": dict(islice(self._library.catalog.failures(source.source_id).items(), _MOST_FAILURES)),
            "state": describe_state(state, source, self._clock()),
        }

    def _add(self, body: object) -> Response:
        source = parse_source(_object(body))
        if source.source_id in {known.source_id for known in self._library.sources()}:
            raise Problem(409, "conflict", "there is a source of that id; change it with PATCH")
        self._check_supersession(source)
        if source.type != "static_doc" or not source.path:  # it is searched elsewhere, or waits for uploads
            self._library.catalog.put_source(source)
            return json_response(self._described(source), 201)
        try:
            allowed = self._allowed(source)
            with self._runs.of(source.source_id) as run:
                report = self._library.add(allowed, run.tell)
                run.ended = {"status": "SUCCESS", "report": plain_report(report)}
        except (SourceError, ConfigError) as error:
            raise Problem(400, error.code, str(error)) from error
        return json_response(self._described(source) | {"report": plain_report(report)}, 201)

    def _allowed(self, source: Source) -> Source:
        if is_remote(source.path):
            for local in local_places(source.path):
                allowed_path(local, self._handler.settings.ingest_roots)
            return source
        real = allowed_path(source.path, self._handler.settings.ingest_roots)
        return parse_source({**source_to_wire(source), "path": str(real)})

    def _change(self, request: Request, body: object) -> Response:
        self._found(request, to_change=True)  # which says first that it may not be changed
        given = _object(body)
        faults = [
            Fault(name, "cannot be changed; remove the source and add it anew") for name in _FIXED if name in given
        ]
        if faults:
            raise InvalidRequest(listed(faults), faults=tuple(faults))
        with self._library.catalog.writing():  # what is not given stays as it is now, whoever changes it meanwhile
            source = self._found(request, to_change=True)
            check_version(request, shown_source(source))
            kept = source_to_wire(source)
            if "trust" in given:
                kept.pop("trust_level")
            changed = parse_source({**kept, **given})
            self._check_supersession(changed)
            # As with a registry file: what has to be read differently is due at once.
            wanted = Registry(sources=(changed,), sections=frozenset({"sources"}))
            planned = plan(self._library, wanted)
            store(self._library, planned)
        reports = [_outcome_json(outcome) for outcome in read_stricter(self._library, planned)]
        told = self._described(changed) | ({"refresh": reports[0]} if reports else {})
        return json_response(told, headers={"ETag": version_of(shown_source(changed))})

    def _check_supersession(self, source: Source) -> None:
        others = [known for known in self._library.sources() if known.source_id != source.source_id]
        known = {other.source_id for other in others}
        faults = [
            Fault("supersedes", msg("names {old}, which is no source", old=repr(old)))
            for old in source.supersedes
            if old not in known
        ]
        faults += [Fault("supersedes", fault.message) for fault in supersession_faults([source], others)]
        if faults:
            raise InvalidRequest(faults[0].message, faults=tuple(faults))

    def _remove(self, request: Request) -> Response:
        source = self._found(request, to_change=True)
        check_version(request, shown_source(source))
        documents = self._library.remove(source.source_id)
        self._runs.forget(source.source_id)
        return json_response({"source_id": source.source_id, "documents": documents})

    def _refresh(self, source: Source) -> Response:
        with self._runs.of(source.source_id) as run:
            outcome = Worker(self._library).refresh(source.source_id, run.tell)
            run.ended = _outcome_json(outcome)
        state = self._described(source)["state"]
        return json_response({"source_id": source.source_id, "state": state, **_outcome_json(outcome)})


def _visible(library: Library, principal: Principal) -> Callable[[str, str], bool]:
    """A predicate on id and domain of a source: whether the caller may see it."""
    if principal.agent_id is None:
        return lambda _id, _domain: True
    scope = {entry.domain for entry in library.catalog.agent(principal.agent_id).knowledge_scope}
    return lambda _id, domain: domain in scope


def source_of(library: Library, principal: Principal, source_id: str, *, to_change: bool) -> Source:
    """The source of that id, if the caller may see it and, with `to_change`, change it.

    Raises:
        Problem: 404.
        NotPermitted: it may be known of only.
    """
    visible = _visible(library, principal)
    for source in library.sources():
        if source.source_id == source_id and visible(source.source_id, source.domain):
            if to_change:
                operator(principal)
            return source
    raise missing("source")


class Agents:
    """``/v1/agents``."""

    def __init__(self, library: Library, handler: RequestHandler, keys_changed: Callable[[], None]) -> None:
        self._library = library
        self._handler = handler
        self._keys_changed = keys_changed

    @route(
        "GET",
        "/v1/agents",
        "registry",
        storage_operation(
            "The agents",
            {
                "type": "object",
                "required": ["agents"],
                "properties": {"agents": {"type": "array", "items": _AGENT}},
            },
        ),
    )
    async def list(self, request: Request) -> Response:
        return await self._handler.pool.run(lambda: self._list(request.state.principal))

    @route("GET", "/v1/agents/{agent_id}", "registry", storage_operation("An agent", _AGENT, versioned=True))
    async def show(self, request: Request) -> Response:
        return await self._handler.pool.run(lambda: _agent_response(self._found(request)))

    @route(
        "POST",
        "/v1/agents",
        "registry",
        storage_operation(
            "Put an agent: a new one, or instead of the one of that id",
            _AGENT,
            statuses=(200, 201),
            body=_AGENT,
            versioned=True,
        ),
    )
    async def put(self, request: Request) -> Response:
        operator(request.state.principal)
        return await self._handler.work(request, lambda body: self._put(request, body))

    @route(
        "DELETE",
        "/v1/agents/{agent_id}",
        "registry",
        storage_operation(
            "Remove an agent, and revoke its keys",
            {
                "type": "object",
                "required": ["agent_id", "keys_revoked"],
                "properties": {"agent_id": _TEXT, "keys_revoked": {"type": "integer"}},
            },
            versioned=True,
        ),
    )
    async def remove(self, request: Request) -> Response:
        try:
            return await self._handler.pool.run(lambda: self._remove(request))
        finally:
            self._keys_changed()

    def _list(self, principal: Principal) -> Response:
        own = principal.agent_id
        agents = [a for a in self._library.catalog.agents() if own in (None, a.agent_id)]
        return json_response({"agents": [agent_to_wire(agent) for agent in agents]})

    def _found(self, request: Request) -> Agent:
        own, wanted = request.state.principal.agent_id, request.path_params["agent_id"]
        for agent in self._library.catalog.agents():
            if agent.agent_id == wanted and own in (None, wanted):
                found: Agent = agent
                return found
        raise missing("agent")

    def _put(self, request: Request, body: object) -> Response:
        agent = parse_agent(_object(body))
        domains = sorted({source.domain for source in self._library.sources()})
        faults = [
            Fault(
                f"knowledge_scope[{i}].domain",
                msg("no source has that domain{near}", near=did_you_mean(entry.domain, domains)),
            )
            for i, entry in enumerate(agent.knowledge_scope)
            if entry.domain not in domains
        ]
        if faults:
            raise InvalidRequest(listed(faults, "{place}: {fault}"), faults=tuple(faults))
        with self._library.catalog.writing():
            known = {a.agent_id: a for a in self._library.catalog.agents()}.get(agent.agent_id)
            check_version(request, None if known is None else agent_to_wire(known))
            self._library.catalog.put_agent(agent)
        return _agent_response(agent, 201 if known is None else 200)

    def _remove(self, request: Request) -> Response:
        agent = self._found(request)
        operator(request.state.principal)
        check_version(request, agent_to_wire(agent))
        revoked = self._library.catalog.remove_agent(agent.agent_id)
        return json_response({"agent_id": agent.agent_id, "keys_revoked": revoked})


def _agent_response(agent: Agent, status: int = 200) -> Response:
    shown = agent_to_wire(agent)
    return json_response(shown, status, {"ETag": version_of(shown)})


def _outcome_json(outcome: RefreshOutcome) -> dict[str, Any]:
    """The outcome of a refresh as JSON values."""
    told = {
        "status": "FAILED" if outcome.failure else "SUCCESS",
        "report": None if outcome.report is None else plain_report(outcome.report),
    }
    return told | ({"error_message": outcome.failure, **as_sent(outcome.failure)} if outcome.failure else {})


def plain_report(report: IngestReport) -> dict[str, Any]:
    """A report's members as JSON values."""
    members = {field.name: getattr(report, field.name) for field in fields(report)}
    return {name: dict(value) if isinstance(value, Mapping) else value for name, value in members.items()}


def _object(body: object) -> Mapping[str, Any]:
    if not isinstance(body, dict):
        raise InvalidRequest("the body must be an object", faults=(Fault("$", "must be an object"),))
    return body
