"""``/v1/groups``: who belongs to which group, as the library itself knows it; for administrators."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field
from starlette.requests import Request
from starlette.responses import Response

from wenyuan.catalog.groups import MAX_MEMBERS
from wenyuan.contract.bodies import Strict
from wenyuan.core.errors import NotFound
from wenyuan.core.principals import parse_groups
from wenyuan.server.handling import RequestHandler, json_response, missing
from wenyuan.server.openapi import storage_operation
from wenyuan.server.route import route
from wenyuan.wire.search_requests import checked

if TYPE_CHECKING:
    from wenyuan.catalog.catalog import Catalog

Members = Annotated[list[str], Field(max_length=MAX_MEMBERS)]


class GroupMembersShape(Strict):
    """All members of a group."""

    members: Annotated[Members, Field(description="`user:li`, or `group:hr` for all who are in that one.")]


class GroupChangeShape(Strict):
    """Members that a group gains and loses."""

    add: Members = Field(default_factory=list, description="`user:li` or `group:hr`.")
    remove: Members = Field(default_factory=list, description="Likewise; who is no member is passed over.")


_TEXT, _COUNT = {"type": "string"}, {"type": "integer", "minimum": 0}
_GROUP: Mapping[str, Any] = {
    "type": "object",
    "required": ["group", "count"],
    "properties": {"group": _TEXT, "count": {**_COUNT, "description": "Members; a group within it counts as one."}},
}
_MEMBERS: Mapping[str, Any] = {
    "type": "object",
    "required": ["group", "count", "members"],
    "properties": {**_GROUP["properties"], "members": {"type": "array", "items": _TEXT}},
}
_GROUPS: Mapping[str, Any] = {
    "type": "object",
    "required": ["groups"],
    "properties": {"groups": {"type": "array", "items": _GROUP}},
}


class GroupRoutes:
    """``/v1/groups``. A change counts for the next question."""

    def __init__(self, catalog: Catalog, handler: RequestHandler) -> None:
        self._catalog, self._handler = catalog, handler

    @route("GET", "/v1/groups", "admin", storage_operation("The groups that the library knows", _GROUPS))
    async def list(self, request: Request) -> Response:
        return await self._handler.pool.run(lambda: self._list(request))

    @route("GET", "/v1/groups/{group}", "admin", storage_operation("The members of a group", _MEMBERS))
    async def show(self, request: Request) -> Response:
        return await self._handler.pool.run(lambda: self._show(self._name(request)))

    @route(
        "PUT",
        "/v1/groups/{group}",
        "admin",
        storage_operation(
            "Let a group have these members and no others; none removes it", _GROUP, body=GroupMembersShape
        ),
    )
    async def put(self, request: Request) -> Response:
        return await self._handler.work(request, lambda body: self._put(request, checked(GroupMembersShape, body)))

    @route(
        "PATCH",
        "/v1/groups/{group}",
        "admin",
        storage_operation("Take members into a group and out of it", _GROUP, body=GroupChangeShape),
    )
    async def change(self, request: Request) -> Response:
        return await self._handler.work(request, lambda body: self._change(request, checked(GroupChangeShape, body)))

    def _list(self, request: Request) -> Response:
        self._open_to(request)
        groups = self._catalog.groups()
        return json_response({"groups": [{"group": name, "count": count} for name, count in groups.items()]})

    def _show(self, name: str) -> Response:
        try:
            members = self._catalog.members(name)
        except NotFound as error:
            raise missing("group") from error
        return json_response({"group": name, "count": len(members), "members": list(members)})

    def _put(self, request: Request, wanted: GroupMembersShape) -> Response:
        name = self._name(request)
        return json_response({"group": name, "count": self._catalog.set_group(name, wanted.members)})

    def _change(self, request: Request, wanted: GroupChangeShape) -> Response:
        name = self._name(request)
        count = self._catalog.change_group(name, add=wanted.add, remove=wanted.remove)
        return json_response({"group": name, "count": count})

    def _name(self, request: Request) -> str:
        self._open_to(request)
        (name,) = parse_groups([request.path_params["group"]], "group")
        return name

    @staticmethod
    def _open_to(request: Request) -> None:
        """Who belongs where is not an agent's to know."""
        if request.state.principal.agent_id is not None:
            raise missing("group")
