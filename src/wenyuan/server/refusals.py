"""How each protocol hears that there is no answer: by its path, so that refusals before any route speak it, too."""

from __future__ import annotations

from collections.abc import Mapping

from starlette.datastructures import Headers
from starlette.responses import Response

from wenyuan.server.problems import Problem
from wenyuan.server.token_callers import METADATA
from wenyuan.wire.contract import encode
from wenyuan.wire.dify import dify_error
from wenyuan.wire.vector_stores import store_error

DIFY = "/retrieval"
MCP_DOOR = "/mcp"
_STORES = "/v1/vector_stores"


def refusal(problem: Problem, request_id: str, path: str, headers: Headers) -> Response:
    """A problem in the error format of the path's protocol; a problem document for our own routes."""
    if path == MCP_DOOR and METADATA in (told := problem.headers.get("WWW-Authenticate", "")):
        problem.headers["WWW-Authenticate"] = told.replace(f'{METADATA}"', f'{METADATA}{MCP_DOOR}"')
    if path == DIFY:
        return _dify(problem, request_id, headers)
    return _stores(problem) if path == _STORES or path.startswith(_STORES + "/") else problem.response(request_id)


def _dify(problem: Problem, request_id: str, headers: Headers) -> Response:
    """Error in Dify's format. When an endpoint is registered Dify accepts any status but 403, 404 and 502, so a wrong
    key must give 403, not 401.
    """
    status, why = _status(problem), problem.detail
    body = dify_error(problem.code, status, why, request_id)
    if problem.code == "unauthenticated":
        told = headers.get("authorization", "").lower().startswith("bearer ")
        status = 403
        body = dify_error("not_permitted", status, why, request_id) if told else {**body, "error_code": 1001}
    return _json(body, status, problem.headers)


def _stores(problem: Problem) -> Response:
    status = _status(problem)
    code = {"unauthenticated": "invalid_api_key"}.get(problem.code, problem.code)
    param = problem.faults[0].path if problem.faults else None
    return _json(store_error(code, status, problem.detail, param), status, problem.headers)


def _status(problem: Problem) -> int:
    """HTTP status in other protocols: a store that our routes name in the body is part of the path there, so 404 if
    unknown.
    """
    return 404 if problem.code == "unknown_domain" else problem.status


def _json(body: Mapping[str, object], status: int, headers: Mapping[str, str]) -> Response:
    return Response(encode(body), status, headers, media_type="application/json")
