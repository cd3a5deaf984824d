"""Versions of what is edited: who changes it may say which one he has seen, and is told where there is another."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from starlette.requests import Request

from wenyuan.core.errors import Conflict, msg


def version_of(shown: Mapping[str, Any]) -> str:
    """The value of ``ETag`` for a thing as it is shown: equal for equal content."""
    said = json.dumps(shown, ensure_ascii=True, sort_keys=True, default=str)
    return f'"{hashlib.sha256(said.encode()).hexdigest()[:16]}"'


def check_version(request: Request, shown: Mapping[str, Any] | None) -> None:
    """Conflict where the request says in ``If-Match`` what its caller has seen, and that is no longer so.

    To be called while nobody else can write.

    Args:
        shown: What there is; None: nothing.
    """
    wanted = request.headers.get("if-match")
    if wanted is None:
        return
    versions = {one.strip() for one in wanted.split(",")}
    if shown is not None and versions & {"*", version_of(shown)}:
        return
    raise Conflict(
        msg("it was changed or removed meanwhile, and is not what {version} names", version=wanted[:100]),
        hint="get it again and change that; who changed it: wenyuan audit list --kind registry",
    )
