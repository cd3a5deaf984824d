"""For whom a request asks: the header ``X-Wenyuan-On-Behalf-Of``."""

from __future__ import annotations

from urllib.parse import unquote

from starlette.datastructures import Headers

from wenyuan.core.access import Principal
from wenyuan.core.errors import Fault, InvalidRequest, listed, msg

ON_BEHALF_OF = "X-Wenyuan-On-Behalf-Of"
"""``user:li``, or with groups of that person ``user:li,group:hr``; UTF-8, with ``%`` as in addresses."""


def represented(principal: Principal, headers: Headers) -> Principal:
    """The caller of a request, on behalf of whom its header names.

    Raises:
        NotPermitted: the caller has no right to say so.
        InvalidRequest: the header is no name, stands twice, or is spelt in another way: it is not passed over.
    """
    given = [(name, value) for name, value in headers.items() if "behalf" in name]
    if not given:
        return principal
    if len(given) > 1 or given[0][0] != ON_BEHALF_OF.lower():
        why = msg("must be said once, by the header {header}", header=ON_BEHALF_OF)
        raise InvalidRequest(listed([Fault("on_behalf_of", why)]), faults=(Fault("on_behalf_of", why),))
    return principal.acting_for(_plain(given[0][1]))


def _plain(value: str) -> str:
    """The text of a header; a header is a sequence of bytes, of which each is one character here."""
    try:
        return unquote(value.encode("latin-1").decode(), errors="strict")
    except UnicodeError:
        return ""
