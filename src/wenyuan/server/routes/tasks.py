"""Profiles of tasks over HTTP: what tasks are about, by their ids. Operators only: an agent cannot say it of itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from starlette.requests import Request
from starlette.responses import Response

from wenyuan.core.errors import Fault, InvalidRequest, NotFound, did_you_mean, listed, msg
from wenyuan.core.task_profiles import MOST, TaskProfile, parse_profile, profile_to_wire
from wenyuan.core.task_profiles import MOST_CHARS as PROFILES_MOST_CHARS
from wenyuan.server.etags import check_version, version_of
from wenyuan.server.handling import RequestHandler, json_response, missing
from wenyuan.server.openapi import storage_operation
from wenyuan.server.route import route
from wenyuan.server.routes.registry import operator

if TYPE_CHECKING:
    from wenyuan.service.library import Library


_TEXTS = {
    "type": "array",
    "maxItems": MOST,
    "items": {"type": "string", "minLength": 1, "maxLength": PROFILES_MOST_CHARS},
}
_PROFILE: Mapping[str, Any] = {
    "type": "object",
    "required": ["profile_id"],
    "additionalProperties": False,
    "properties": {
        "profile_id": {"type": "string", "minLength": 1, "maxLength": 64},
        "title": {"type": "string"},
        "tasks": {**_TEXTS, "description": "Ids of tasks; one that ends in * stands for all that begin so."},
        "domains": {**_TEXTS, "description": "Domains in which such tasks look first."},
        "terms": {**_TEXTS, "description": "What such tasks speak of."},
    },
}


class Tasks:
    """``/v1/tasks``."""

    def __init__(self, library: Library, handler: RequestHandler) -> None:
        self._library = library
        self._handler = handler

    @route(
        "GET",
        "/v1/tasks",
        "registry",
        storage_operation(
            "What tasks are about",
            {"type": "object", "properties": {"profiles": {"type": "array", "items": _PROFILE}}},
        ),
    )
    async def list(self, request: Request) -> Response:
        operator(request.state.principal)
        return await self._handler.pool.run(self._list)

    @route(
        "GET",
        "/v1/tasks/{profile_id}",
        "registry",
        storage_operation("What tasks of one kind are about", _PROFILE, versioned=True),
    )
    async def show(self, request: Request) -> Response:
        operator(request.state.principal)
        return await self._handler.pool.run(lambda: _profile_response(self._found(request)))

    @route(
        "POST",
        "/v1/tasks",
        "registry",
        storage_operation(
            "Say what tasks of one kind are about; answers to them change at once",
            _PROFILE,
            statuses=(200, 201),
            body=_PROFILE,
            versioned=True,
        ),
    )
    async def put(self, request: Request) -> Response:
        operator(request.state.principal)
        return await self._handler.work(request, lambda body: self._put(request, body))

    @route("DELETE", "/v1/tasks/{profile_id}", "registry", storage_operation(versioned=True))
    async def remove(self, request: Request) -> Response:
        operator(request.state.principal)
        return await self._handler.pool.run(lambda: self._remove(request))

    def _list(self) -> Response:
        return json_response({"profiles": [profile_to_wire(one) for one in self._library.catalog.profiles()]})

    def _found(self, request: Request) -> TaskProfile:
        for profile in self._library.catalog.profiles():
            if profile.profile_id == request.path_params["profile_id"]:
                return profile
        raise missing("profile")

    def _put(self, request: Request, body: object) -> Response:
        if not isinstance(body, dict):
            raise InvalidRequest("the body must be an object", faults=(Fault("$", "must be an object"),))
        profile = parse_profile(body)
        known = sorted({source.domain for source in self._library.sources()})
        faults = tuple(
            Fault(f"domains[{at}]", msg("no source has that domain{near}", near=did_you_mean(domain, known)))
            for at, domain in enumerate(profile.domains)
            if domain not in known
        )
        if faults:
            raise InvalidRequest(listed(faults, "{place}: {fault}"), faults=faults)
        with self._library.catalog.writing():
            there = {one.profile_id: one for one in self._library.catalog.profiles()}.get(profile.profile_id)
            check_version(request, None if there is None else profile_to_wire(there))
            self._library.catalog.put_profile(profile)
        return _profile_response(profile, 201 if there is None else 200)

    def _remove(self, request: Request) -> Response:
        there = {one.profile_id: one for one in self._library.catalog.profiles()}.get(
            request.path_params["profile_id"]
        )
        check_version(request, None if there is None else profile_to_wire(there))
        try:
            self._library.catalog.remove_profile(request.path_params["profile_id"])
        except NotFound as error:
            raise missing("profile") from error
        return json_response({"profile_id": request.path_params["profile_id"]})


def _profile_response(profile: TaskProfile, status: int = 200) -> Response:
    shown = profile_to_wire(profile)
    return json_response(shown, status, {"ETag": version_of(shown)})
