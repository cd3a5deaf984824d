"""What a document itself says of who may read it."""

from __future__ import annotations

from collections.abc import Mapping

from wenyuan.core.errors import InvalidRequest, msg
from wenyuan.core.model import Facet
from wenyuan.core.principals import NOBODY, AccessList, parse_access_list

KEYS = ("readers", "deny")
"""Of a document's metadata, in whatever case."""
UNREADABLE = "?"
"""Value of a key that stands in a document and says no list."""


def without_readers(metadata: Mapping[str, Facet]) -> dict[str, Facet]:
    """Metadata without what it says of readers."""
    return {name: value for name, value in metadata.items() if name.casefold() not in KEYS}


def declared_readers(metadata: Mapping[str, Facet]) -> tuple[AccessList | None, str]:
    """The list that a document's metadata says, and why nobody may read it, where that cannot be read; None: it says none."""
    given = {name.casefold(): value for name, value in metadata.items() if name.casefold() in KEYS}
    if not given:
        return None, ""
    try:
        return parse_access_list({name: _names(value) for name, value in given.items()}), ""
    except InvalidRequest as error:
        why = error.message[:300]
        return NOBODY, msg("what it says of its readers cannot be read, so nobody may read it: {why}", why=why)


def _names(value: Facet) -> object:
    """The names in a value, which hold no comma; what is no text is no list."""
    return (
        [name for part in value.split(",") if (name := part.strip())] or UNREADABLE
        if isinstance(value, str)
        else value
    )
