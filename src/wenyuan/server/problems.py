"""Problem details (RFC 9457), errors in the formats of other protocols, and the worker pool."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus

from starlette.responses import Response

from wenyuan.core.errors import Conflict, Fault, InvalidRequest, KnowledgeError, NotPermitted, as_sent
from wenyuan.wire.contract import encode

# Problem details (RFC 9457): the one form of every answer that is not an answer of the contract.


PROBLEM_JSON = "application/problem+json"


def problem_body(
    status: int, code: str, detail: str, request_id: str, faults: tuple[Fault, ...] = ()
) -> dict[str, object]:
    """The members of a problem document; the title is the status' own phrase."""
    return {
        "type": "about:blank",
        "title": HTTPStatus(status).phrase,
        "status": status,
        "code": code,
        "detail": detail,
        **as_sent(detail),
        "errors": [{"path": fault.path, "message": fault.message, **as_sent(fault.message)} for fault in faults],
        "request_id": request_id,
    }


class Problem(Exception):
    """An exception that becomes a problem document.

    Args:
        code: For programs, one word per reason.
        detail: For people, without anything from the request body.
        headers: Further response headers, such as Retry-After.
    """

    def __init__(
        self,
        status: int,
        code: str,
        detail: str,
        *,
        faults: tuple[Fault, ...] = (),
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(detail)
        self.status = status
        self.code = code
        self.detail = detail
        self.faults = faults
        self.headers = dict(headers or {})

    @classmethod
    def of(cls, error: Exception) -> Problem:
        """The problem for an exception; an unexpected one is a 500 without details."""
        match error:
            case Problem():
                return error
            case Conflict():
                return cls(409, error.code, str(error))
            case InvalidRequest():
                return cls(400, error.code, str(error), faults=error.faults)
            case NotPermitted():
                return cls(403, error.code, str(error))
            case KnowledgeError():
                return cls(503, error.code, str(error))
        return cls(500, "internal_error", "an internal error; the server's log has it under this request id")

    @classmethod
    def unauthenticated(cls, detail: str) -> Problem:
        """401: credentials are missing or wrong."""
        return cls(401, "unauthenticated", detail, headers={"WWW-Authenticate": "Bearer"})

    def response(self, request_id: str) -> Response:
        """The HTTP response."""
        return Response(
            encode(problem_body(self.status, self.code, self.detail, request_id, self.faults)),
            status_code=self.status,
            headers=self.headers,
            media_type=PROBLEM_JSON,
        )
