"""Where a request comes from, as its headers say: from which host's name, and from a page of which site.

Programs send neither ``Origin`` nor ``Sec-Fetch-Site``. Browsers send them with whatever a page makes them send, and no
page can make them lie: https://fetch.spec.whatwg.org/#origin-header, https://www.w3.org/TR/fetch-metadata/.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from wenyuan.core.errors import NotPermitted

if TYPE_CHECKING:
    from starlette.datastructures import Headers


_SAFE = frozenset(("GET", "HEAD", "OPTIONS"))
_OWN_SITE = frozenset(("same-origin", "none"))  # none: no page at all made it send this
_AUTHORITY = re.compile(r"(?:\[([0-9A-Fa-f]{0,4}:[0-9A-Fa-f:.]{1,45})\]|([A-Za-z0-9._\-]{1,253}))(?::[0-9]{0,5})?")
_ORIGIN = re.compile(r"https?://([^/]+)")
_OF_THIS_MACHINE = frozenset(("/mcp",))
"""Paths that pages of this machine may ask, too: such as the protocol's own inspector, on another port."""


def is_loopback(host: str) -> bool:
    """Whether a host name or address is a loopback one."""
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def host_of(authority: str) -> str:
    """The name or address in ``host``, ``host:port`` or ``[address]:port``; ``""`` for anything else."""
    found = _AUTHORITY.fullmatch(authority)
    return (found[1] or found[2]) if found else ""


@lru_cache(maxsize=256)  # every request says one, and nearly all say the same
def names_loopback(authority: str) -> bool:
    """Whether a ``Host`` header names a loopback address."""
    return is_loopback(host_of(authority))


def check_page(method: str, path: str, headers: Headers, allowed: Sequence[str]) -> None:
    """Refuse requests that another site's page makes a browser send (CSRF), unless they only read.

    A page can make a browser send a request without a body to any server that the browser reaches, this machine's own
    among them, and need not see the answer to have done something.

    Args:
        allowed: Origins whose pages may, besides the server's own.

    Raises:
        NotPermitted: 403.
    """
    if method in _SAFE:
        return
    sites, origins = headers.getlist("sec-fetch-site"), headers.getlist("origin")
    if all(site in _OWN_SITE for site in sites) and (sites or not origins):
        return
    here = headers.get("host", "") if not sites else ""  # a browser's Sec-Fetch-Site header is trusted
    if not origins or not all(_lets_in(origin, here, path, allowed) for origin in origins):
        raise NotPermitted("requests from pages of this origin are not allowed; see server.allowed_origins")


def _lets_in(origin: str, here: str, path: str, allowed: Sequence[str]) -> bool:
    found = _ORIGIN.fullmatch(origin)
    authority = found[1].lower() if found else ""
    own = bool(authority) and authority == here.lower()
    return origin in allowed or own or (path in _OF_THIS_MACHINE and names_loopback(authority))


_READABLE = "Retry-After, X-Request-Id, X-Retrieval-Degraded, X-Retrieval-Status"
_PREFLIGHT_SECONDS = "600"
_NAMES = re.compile(r"[A-Za-z0-9\-]{1,64}(?:, ?[A-Za-z0-9\-]{1,64}){0,40}")


def leave_to_read(headers: Headers, allowed: Sequence[str]) -> dict[str, str]:
    """The headers with which a browser lets a page of an allowed origin read an answer (CORS); none for other callers.

    Cookies are not among what such a page may send: whoever is signed in at the console lends it nothing. It needs a key of its
    own where callers need one.
    """
    if not allowed:
        return {}
    origins = headers.getlist("origin")
    if len(origins) != 1 or origins[0] not in allowed:
        return {"Vary": "Origin"}
    return {
        "Vary": "Origin",
        "Access-Control-Allow-Origin": origins[0],
        "Access-Control-Expose-Headers": _READABLE,
    }


def preflight(method: str, headers: Headers, leave: Mapping[str, str]) -> dict[str, str] | None:
    """The headers that answer a browser's question whether an allowed origin's page may send a request; None where this is no
    such question. It is asked without a key, and tells nothing but what the settings allow.
    """
    asked = headers.get("access-control-request-method")
    if method != "OPTIONS" or asked is None or "Access-Control-Allow-Origin" not in leave:
        return None
    told = {
        "Access-Control-Allow-Methods": "GET, POST, PUT, PATCH, DELETE",
        "Access-Control-Max-Age": _PREFLIGHT_SECONDS,
    }
    names = headers.get("access-control-request-headers", "")
    return {**told, "Access-Control-Allow-Headers": names} if _NAMES.fullmatch(names) else told
