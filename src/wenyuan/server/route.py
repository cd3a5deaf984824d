"""A route with its operation, declared beside its handler."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from starlette.requests import Request
from starlette.responses import Response

Handler = Callable[[Request], Awaitable[Response]]
Described = Callable[["Route", int], Mapping[str, Any]]
F = TypeVar("F", bound=Callable[..., Awaitable[Response]])


@dataclass(frozen=True, slots=True)
class Operation:
    """A route's description in the OpenAPI document; made by the functions of `server.openapi`.

    Attributes:
        described: Given the route, and the HTTP status of answers that say FAILED.
        takes, gives: Shapes that it refers to.
    """

    described: Described
    takes: tuple[type[Any], ...] = ()
    gives: tuple[type[Any], ...] = ()


@dataclass(frozen=True, slots=True)
class Route:
    """One HTTP method on one path.

    Attributes:
        right: That the caller needs; None: open to everybody, who is not even asked for a key.
        instead: Another right that will do; then the handler tells what its caller may see.
        operation: None: the document does not name it.
    """

    method: str
    path: str
    right: str | None
    operation: Operation | None
    instead: str | None = None


def route(
    method: str, path: str, right: str | None, operation: Operation | None, *, instead: str | None = None
) -> Callable[[F], F]:
    """Decorator that declares a route of a handler; one handler may have several."""

    def declare(handler: F) -> F:
        told = handler.__dict__
        told["routes"] = (Route(method, path, right, operation, instead), *told.get("routes", ()))
        return handler

    return declare


def declared(owner: type) -> Iterator[tuple[str, Route]]:
    """The declared routes of a class, each with the name of its handler."""
    for name, member in vars(owner).items():
        for one in getattr(member, "routes", ()):
            yield name, one
