"""For whom a call of MCP asks: ``_meta`` of the request, for clients whose one connection serves many people."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from wenyuan.core.access import Principal
from wenyuan.core.errors import Fault, InvalidRequest, listed, msg

ON_BEHALF_OF = "wenyuan/on_behalf_of"
"""``user:li``, or a list of that and of the groups that they are in, ``group:hr``."""
_HEADER = "X-Wenyuan-On-Behalf-Of"


def represented(principal: Principal, meta: Mapping[str, Any] | None) -> Principal:
    """The caller of a request, on behalf of whom its ``_meta`` names.

    Raises:
        NotPermitted: the caller has no right to say so.
        InvalidRequest: it is no name, is spelt in another way, or a header says it, too: it is not passed over.
    """
    given = [name for name in meta or {} if "behalf" in str(name).casefold()]
    if not meta or not given:
        return principal
    if given != [ON_BEHALF_OF] or principal.on_behalf_of:
        why = msg(
            "must be said once: by {name} in _meta, or by the header {header}", name=ON_BEHALF_OF, header=_HEADER
        )
        raise InvalidRequest(listed([Fault("_meta", why)]), faults=(Fault("_meta", why),))
    return principal.acting_for(meta[ON_BEHALF_OF])
