"""How each protocol hears that there is no answer: by its path, so that refusals before any route speak it, too."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from starlette.datastructures import Headers
from starlette.responses import Response

from wenyuan.server.problem import Problem
from wenyuan.wire.dify import dify_error
from wenyuan.wire.shapes import encode

__all__ = ["DIFY", "refusal"]

DIFY = "/retrieval"

_Dialect = Callable[[Problem, str, Headers], Response]


def refusal(problem: Problem, request_id: str, path: str, headers: Headers) -> Response:
    """A problem in the words of the protocol that the path belongs to; a problem document for our own."""
    dialect = _DIALECTS.get(path)
    return problem.response(request_id) if dialect is None else dialect(problem, request_id, headers)


def _dify(problem: Problem, request_id: str, headers: Headers) -> Response:
    """Dify registers an endpoint whatever it answers but 403, 404 and 502: a wrong key must be 403, not 401."""
    status, why = 404 if problem.code == "unknown_domain" else problem.status, problem.detail
    body = dify_error(problem.code, status, why, request_id)
    if problem.code == "unauthenticated":
        told = headers.get("authorization", "").lower().startswith("bearer ")
        status = 403
        body = dify_error("not_permitted", status, why, request_id) if told else {**body, "error_code": 1001}
    return _json(body, status, problem.headers)


def _json(body: Mapping[str, object], status: int, headers: Mapping[str, str]) -> Response:
    return Response(encode(body), status, headers, media_type="application/json")


_DIALECTS: Mapping[str, _Dialect] = {DIFY: _dify}
