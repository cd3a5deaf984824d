"""``/.well-known/oauth-protected-resource``: who gives tokens for this server (RFC 9728, as MCP asks for it)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.requests import Request
from starlette.responses import Response

from wenyuan.server.handling import json_response
from wenyuan.server.openapi import read_operation
from wenyuan.server.problems import Problem
from wenyuan.server.route import route
from wenyuan.server.token_callers import METADATA, protected_resource

if TYPE_CHECKING:
    from wenyuan.oidc_settings import OidcSettings

_CONTENT = {
    "application/json": {
        "schema": {
            "type": "object",
            "required": ["resource", "authorization_servers"],
            "properties": {
                "resource": {"type": "string"},
                "authorization_servers": {"type": "array", "items": {"type": "string"}},
                "bearer_methods_supported": {"type": "array", "items": {"type": "string"}},
                "scopes_supported": {"type": "array", "items": {"type": "string"}},
            },
        }
    }
}


class ResourceMetadata:
    """The metadata of the server as a resource that tokens are for, and of its MCP door."""

    def __init__(self, settings: OidcSettings) -> None:
        self._settings = settings

    @route(
        "GET",
        METADATA,
        None,
        read_operation("protected_resource", "Who gives tokens for this server", _CONTENT, 404, 500),
    )
    async def whole(self, _request: Request) -> Response:
        return self._described("")

    @route(
        "GET",
        METADATA + "/mcp",
        None,
        read_operation("protected_resource_mcp", "Who gives tokens for its MCP door", _CONTENT, 404, 500),
    )
    async def mcp(self, _request: Request) -> Response:
        return self._described("/mcp")

    def _described(self, path: str) -> Response:
        settings = self._settings
        if not (settings.issuer and settings.address and settings.audience):
            raise Problem(404, "not_found", "this server takes no tokens of an issuer")
        return json_response(protected_resource(settings, path))
