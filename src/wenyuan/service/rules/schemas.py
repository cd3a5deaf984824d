"""The schemas of a library's packs, as the catalog keeps them: ``{"packs": {name: tree}}`` under one key."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from wenyuan.core.errors import CatalogUnavailable, InvalidRequest, msg
from wenyuan.core.rules.schema import Schema, merged
from wenyuan.core.rules.schema_parser import parse_schema

SCHEMAS = "rules/schema"


def schema_of(trees: Mapping[str, Any]) -> Schema:
    """The merged schema of packs; empty if there are none.

    Raises:
        InvalidRequest: one is of a wrong form, or two packs contradict one another.
    """
    whole = Schema()
    for name, tree in trees.items():
        whole = merged(whole, parse_schema(tree, where=f"schema of {name}", known=whole))
    return whole


def stored_trees(stored: Any) -> dict[str, Any]:
    """The schema of each pack, from its stored form.

    Raises:
        CatalogUnavailable: that has another form than what is written there.
    """
    trees = {} if stored is None else stored.get("packs") if isinstance(stored, Mapping) else None
    if not isinstance(trees, Mapping):
        raise _damaged(f"{stored!r:.60}")
    return dict(trees)


def stored_schema(stored: Any) -> Schema:
    """The merged schema of all packs, from their stored form.

    Raises:
        CatalogUnavailable: the stored form is damaged; the caller is not at fault.
    """
    try:
        return schema_of(stored_trees(stored))
    except InvalidRequest as error:
        raise _damaged(error.message) from error


def _damaged(why: str) -> CatalogUnavailable:
    return CatalogUnavailable(
        msg("the stored schema of the rules is damaged: {why}", why=why),
        component="catalog",
        hint="restore the library's catalog from a backup",
    )
