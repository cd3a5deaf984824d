"""The schemas of a library's packs, as the catalog keeps them: ``{"packs": {name: tree}}`` under one key."""

from __future__ import annotations

from typing import Any

from wenyuan.core.rules.schema import Schema, merged
from wenyuan.core.rules.schema_reading import parse_schema

__all__ = ["SCHEMAS", "schema_of"]

SCHEMAS = "rules/schema"


def schema_of(stored: Any) -> Schema:
    """The schemas of all packs laid over one another; an empty one when there are none.

    Raises:
        InvalidRequest: two packs contradict one another.
    """
    whole = Schema()
    for name, tree in (stored or {}).get("packs", {}).items():
        whole = merged(whole, parse_schema(tree, where=f"schema of {name}", known=whole))
    return whole
