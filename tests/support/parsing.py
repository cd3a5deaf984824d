"""What strangers wrote, parsed in a process of its own, for connectors that a test opens itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from warm_readers import WarmSandbox


def parse(
    function: str,
    content: bytes,
    arguments: Mapping[str, Any] = {},
    *,
    name: str,
    seconds: float | None = None,
) -> Any:
    """See `wenyuan.core.connectors.Parse`."""
    with WarmSandbox() as sandbox:
        return sandbox.call(function, content, arguments, name=name, seconds=seconds)
