"""``/v1/keys``: making, listing and revoking keys. A key bound to an agent sees and makes only that agent's."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field
from starlette.requests import Request
from starlette.responses import Response

from wenyuan.contract.bodies import Strict
from wenyuan.core.access import LONGEST_KEY_NAME, Key, Principal
from wenyuan.core.errors import Fault, InvalidRequest, NotPermitted
from wenyuan.core.principals import MAX_NAMES
from wenyuan.core.roles import ROLES, rights_of
from wenyuan.server.handling import RequestHandler, json_response, missing
from wenyuan.server.openapi import storage_operation
from wenyuan.server.route import route
from wenyuan.wire.search_requests import checked

if TYPE_CHECKING:
    from wenyuan.catalog.catalog import Catalog


Right = Literal["retrieve", "search", "ingest", "registry", "audit", "erase", "on_behalf_of", "admin"]

_ROLE_NAMES: dict[str, Any] = {"items": {"type": "string", "enum": list(ROLES)}}


class KeyRequestShape(Strict):
    """A key to be made."""

    agent_id: str | None = Field(None, description="The agent it acts for; without one, an operator's key.")
    name: Annotated[str, Field(max_length=LONGEST_KEY_NAME)] = Field("", description="What people call it.")
    rights: list[Right] = Field(default_factory=list, description="Besides those of its roles.")
    roles: Annotated[list[str], Field(max_length=len(ROLES), json_schema_extra=_ROLE_NAMES)] = Field(
        default_factory=list, description="Sets of rights; the key has theirs for good."
    )
    expires_at: float | None = Field(None, description="Seconds since the epoch; without, it does not expire.")
    user: str | None = Field(None, description="Reads documents as this person: `user:li`.")
    groups: Annotated[list[str], Field(max_length=MAX_NAMES)] = Field(
        default_factory=list, description="Reads documents as a member of these groups: `hr` or `group:hr`."
    )


class KeyEyesShape(Strict):
    """As whom a key reads documents."""

    user: str | None = Field(None, description="`user:li`; null for nobody. What is not given stays.")
    groups: Annotated[list[str], Field(max_length=MAX_NAMES)] = Field(
        [], description="All of them: `hr` or `group:hr`. What is not given stays."
    )


_TEXT, _MOMENT = {"type": "string"}, {"type": ["number", "null"], "description": "Seconds since the epoch."}
_KEY: Mapping[str, Any] = {
    "type": "object",
    "required": ["key_id", "name", "agent_id", "rights", "user", "groups", "created_at", "expires_at", "revoked_at"],
    "properties": {
        "user": {**_TEXT, "description": "As whom it reads documents, or nothing."},
        "groups": {"type": "array", "items": _TEXT},
        "key_id": _TEXT, "name": {**_TEXT, "description": "What people call it, or nothing."},
        "agent_id": {"type": ["string", "null"]}, "rights": {"type": "array", "items": _TEXT},
        "created_at": _MOMENT, "expires_at": _MOMENT, "revoked_at": _MOMENT,
        "key": {**_TEXT, "description": "The secret: of a key that was just made, and never again."},
    },
}  # fmt: skip


class KeyRoutes:
    """``/v1/keys``."""

    def __init__(
        self, catalog: Catalog, handler: RequestHandler, keys_changed: Callable[[], None], clock: Callable[[], float]
    ) -> None:
        self._catalog = catalog
        self._handler = handler
        self._keys_changed = keys_changed
        self._clock = clock

    @route(
        "GET",
        "/v1/keys",
        "admin",
        storage_operation(
            "The keys, without their secrets",
            {
                "type": "object",
                "required": ["keys"],
                "properties": {"keys": {"type": "array", "items": _KEY}},
            },
        ),
    )
    async def list(self, request: Request) -> Response:
        return await self._handler.pool.run(
            lambda: json_response({"keys": [key.described() for key in self._visible(request.state.principal)]})
        )

    @route(
        "POST",
        "/v1/keys",
        "admin",
        storage_operation(
            "Make a key", {**_KEY, "required": [*_KEY["required"], "key"]}, statuses=(201,), body=KeyRequestShape
        ),
    )
    async def create(self, request: Request) -> Response:
        try:
            return await self._handler.work(request, lambda body: self._create(body, request.state.principal))
        finally:
            self._keys_changed()

    @route(
        "PATCH",
        "/v1/keys/{key_id}",
        "admin",
        storage_operation(
            "Change as whom a key reads documents; counts for its next request", _KEY, body=KeyEyesShape
        ),
    )
    async def change(self, request: Request) -> Response:
        return await self._handler.work(request, lambda body: self._change(request, checked(KeyEyesShape, body)))

    @route(
        "DELETE",
        "/v1/keys/{key_id}",
        "admin",
        storage_operation(
            "Revoke a key",
            {
                "type": "object",
                "required": ["key_id", "revoked"],
                "properties": {"key_id": _TEXT, "revoked": {"const": True}},
            },
        ),
    )
    async def revoke(self, request: Request) -> Response:
        try:
            return await self._handler.pool.run(lambda: self._revoke(request))
        finally:
            self._keys_changed()

    def _visible(self, principal: Principal) -> tuple[Key, ...]:
        held = self._catalog.keys()
        return tuple(key for key in held if principal.agent_id in (None, key.agent_id))

    def _create(self, body: object, principal: Principal) -> Response:
        wanted = checked(KeyRequestShape, body)
        agent_id = wanted.agent_id or principal.agent_id
        if principal.agent_id not in (None, agent_id):
            raise missing("agent")
        if agent_id is not None and agent_id not in {agent.agent_id for agent in self._catalog.agents()}:
            raise missing("agent")
        if wanted.expires_at is not None and not wanted.expires_at > self._clock():
            raise InvalidRequest("expires_at is past", faults=(Fault("expires_at", "must lie in the future"),))
        rights = rights_of(wanted.roles).union(wanted.rights)
        if not rights:
            why = "a key needs at least one right"
            raise InvalidRequest(why, faults=(Fault("rights", why),))
        if not all(principal.may(right) for right in rights):
            raise NotPermitted("a key cannot give rights that it does not have")
        key, secret = self._catalog.create_key(
            agent_id,
            rights,
            wanted.expires_at,
            wanted.name,
            user=wanted.user or "",
            groups=wanted.groups,
        )
        return json_response(key.described() | {"key": secret}, 201)

    def _change(self, request: Request, wanted: KeyEyesShape) -> Response:
        key_id = request.path_params["key_id"]
        held = {key.key_id: key for key in self._visible(request.state.principal)}.get(key_id)
        if held is None:
            raise missing("key")
        given = wanted.model_fields_set
        if not given:
            raise InvalidRequest("nothing is said: give user, groups or both", faults=(Fault("user", "is missing"),))
        user = (wanted.user or "") if "user" in given else held.user
        groups = wanted.groups if "groups" in given else sorted(held.groups)
        return json_response(self._catalog.change_key(key_id, user=user, groups=groups).described())

    def _revoke(self, request: Request) -> Response:
        key_id = request.path_params["key_id"]
        if key_id not in {key.key_id for key in self._visible(request.state.principal)}:
            raise missing("key")
        self._catalog.revoke_key(key_id)
        return json_response({"key_id": key_id, "revoked": True})
