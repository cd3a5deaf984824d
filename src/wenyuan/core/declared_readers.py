"""What a document itself says of who may read it."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping

from wenyuan.core.errors import InvalidRequest, msg
from wenyuan.core.model import Facet
from wenyuan.core.principals import NOBODY, AccessList, parse_access_list

KEYS = ("readers", "deny")
"""Of a document's metadata, in whatever case."""
UNREADABLE = "?"
"""Value of a key that stands in a document and says no list."""


_SAID = re.compile(r"[ \t]*[\"']?(readers?|deny)[\"']?[ \t]*[:=]")
_HEAD_LINES = 60


def said_twice(source: str) -> bool:
    """Whether a text of keys and values says ``readers`` or ``deny`` more than once, so that it is not clear which counts."""
    said = [match[1] for line in source.splitlines() if (match := _SAID.match(line.casefold()))]
    return len(said) != len(set(said))


def looks_declared(text: str) -> bool:
    """Whether a line at the beginning of a document's text looks as if it should say who may read it: front matter that was not
    understood as such.
    """
    head = text[:20_000].splitlines()[:_HEAD_LINES]
    return any(_SAID.match(unicodedata.normalize("NFKC", line).casefold()) for line in head)


def without_readers(metadata: Mapping[str, Facet]) -> dict[str, Facet]:
    """Metadata without what it says of readers."""
    return {
        name: value
        for name, value in metadata.items()
        if unicodedata.normalize("NFKC", name).casefold().strip() not in KEYS
    }


def declared_readers(metadata: Mapping[str, Facet]) -> tuple[AccessList | None, str]:
    """The list that a document's metadata says, and why nobody may read it, where that cannot be read; None: it says none."""
    named = {unicodedata.normalize("NFKC", name).casefold().strip(): value for name, value in metadata.items()}
    given = {name: value for name, value in named.items() if name in KEYS}
    if "reader" in named and "readers" not in given:  # a letter is missing, and nobody is shut out in silence
        given["readers"] = UNREADABLE
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
