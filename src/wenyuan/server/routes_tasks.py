"""Profiles of tasks over HTTP: what tasks are about, by their ids. Operators only: an agent cannot say it of itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from starlette.requests import Request
from starlette.responses import Response

from wenyuan.core.errors import Fault, InvalidRequest, NotPermitted
from wenyuan.core.profiles import MOST, MOST_CHARS, TaskProfile, parse_profile, profile_to_wire
from wenyuan.core.suggest import did_you_mean
from wenyuan.server.access import Handler
from wenyuan.server.desk import Desk, json_response, missing
from wenyuan.server.routes_registry import operator
from wenyuan.service.governed import governed

if TYPE_CHECKING:
    from wenyuan.service.facade import Library

__all__ = ["TASKS_DESCRIBED", "Tasks"]


class Tasks:
    """``/v1/tasks``."""

    def __init__(self, library: Library, desk: Desk) -> None:
        self._library = library
        self._desk = desk
        self.handlers: Mapping[tuple[str, str], Handler] = {
            ("GET", "/v1/tasks"): self.list,
            ("POST", "/v1/tasks"): self.put,
            ("GET", "/v1/tasks/{profile_id}"): self.show,
            ("DELETE", "/v1/tasks/{profile_id}"): self.remove,
        }

    async def list(self, request: Request) -> Response:
        operator(request.state.principal)
        return await self._desk.pool.run(self._list)

    async def show(self, request: Request) -> Response:
        operator(request.state.principal)
        return await self._desk.pool.run(lambda: json_response(profile_to_wire(self._found(request))))

    async def put(self, request: Request) -> Response:
        operator(request.state.principal)
        return await self._desk.work(request, self._put)

    async def remove(self, request: Request) -> Response:
        operator(request.state.principal)
        return await self._desk.pool.run(lambda: self._remove(request))

    def _list(self) -> Response:
        return json_response({"profiles": [profile_to_wire(one) for one in governed(self._library).profiles()]})

    def _found(self, request: Request) -> TaskProfile:
        for profile in governed(self._library).profiles():
            if profile.profile_id == request.path_params["profile_id"]:
                return profile
        raise missing("profile")

    def _put(self, body: object) -> Response:
        if not isinstance(body, dict):
            raise InvalidRequest("the body must be an object", faults=(Fault("$", "must be an object"),))
        profile = parse_profile(body)
        known = sorted({source.domain for source in self._library.sources()})
        faults = tuple(
            Fault(f"domains[{at}]", f"no source has that domain{did_you_mean(domain, known)}")
            for at, domain in enumerate(profile.domains)
            if domain not in known
        )
        if faults:
            raise InvalidRequest("; ".join(f"{f.path}: {f.message}" for f in faults), faults=faults)
        new = profile.profile_id not in {one.profile_id for one in governed(self._library).profiles()}
        governed(self._library).put_profile(profile)
        return json_response(profile_to_wire(profile), 201 if new else 200)

    def _remove(self, request: Request) -> Response:
        try:
            governed(self._library).remove_profile(request.path_params["profile_id"])
        except NotPermitted as error:
            raise missing("profile") from error
        return json_response({"profile_id": request.path_params["profile_id"]})


_TEXTS = {"type": "array", "maxItems": MOST, "items": {"type": "string", "minLength": 1, "maxLength": MOST_CHARS}}
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
TASKS_DESCRIBED: Mapping[tuple[str, str], Mapping[str, Any]] = {
    ("GET", "/v1/tasks"): {
        "summary": "What tasks are about",
        "answer": {"type": "object", "properties": {"profiles": {"type": "array", "items": _PROFILE}}},
    },
    ("GET", "/v1/tasks/{profile_id}"): {"summary": "What tasks of one kind are about", "answer": _PROFILE},
    ("POST", "/v1/tasks"): {
        "summary": "Say what tasks of one kind are about; answers to them change at once",
        "statuses": (200, 201),
        "answer": _PROFILE,
        "requestBody": {"required": True, "content": {"application/json": {"schema": _PROFILE}}},
    },
}
"""What the OpenAPI document says of the routes."""
