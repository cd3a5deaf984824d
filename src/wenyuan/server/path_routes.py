"""Routes that know all methods of their path: which there are is told for the path, not for the first that fits."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Match, Route
from starlette.types import Receive, Scope, Send

Answer = Callable[[Request], Awaitable[Response]]


class _Path(Route):
    """Route for a path with all its methods; also takes unsupported methods, so that no more general route answers
    them.
    """

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        match, child = super().matches(scope)
        return (Match.FULL if match is Match.PARTIAL else match), child

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self.app(scope, receive, send)


def routes_of(
    handlers: Mapping[tuple[str, str], Answer], no_method: Callable[[Request, Mapping[str, str]], Awaitable[Response]]
) -> list[Route]:
    """One route per path, literal paths before those with parameters.

    ``HEAD`` is answered as ``GET``, and ``OPTIONS`` with the methods that there are.

    Args:
        handlers: By method and path.
        no_method: Answers what the path has no method for; it is given the header that names those it has.
    """
    by_path: dict[str, dict[str, Answer]] = {}
    for (method, path), handler in handlers.items():
        by_path.setdefault(path, {})[method] = handler
    written_out_first = sorted(by_path.items(), key=lambda entry: "{" in entry[0])
    return [_Path(path, _dispatch(methods, no_method), methods=list(methods)) for path, methods in written_out_first]


def _dispatch(methods: Mapping[str, Answer], no_method: Any) -> Answer:
    allow = {"Allow": allowed_on(methods)}

    async def answer(request: Request) -> Response:
        handler = methods.get("GET" if request.method == "HEAD" else request.method)
        if handler is not None:
            return await handler(request)
        if request.method == "OPTIONS":
            return Response(status_code=204, headers=allow)
        refused: Response = await no_method(request, allow)
        return refused

    return answer


def allowed_on(methods: Iterable[str]) -> str:
    """The value of ``Allow`` on a path with these methods."""
    given = set(methods)
    return ", ".join(sorted(given | {"OPTIONS"} | ({"HEAD"} if "GET" in given else set())))
