"""Addresses of files under a service, as callers of other machines are given them, in golden files: the documents that they name."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING
from urllib.parse import unquote

from wenyuan.core.addresses import readable

if TYPE_CHECKING:
    from wenyuan.catalog.catalog import Catalog

_UNDER_A_SERVICE = re.compile(
    r"https?://[^/?#\s]+/v1/sources/([^/?#\s]{1,600})/files/([^?#\s]{1,4000})(?:#(.*))?", re.DOTALL
)


def documents_under(catalog: Catalog, addresses: Iterable[str]) -> Mapping[str, str]:
    """By address under whichever service, that of the document in the library; others are left out.

    Of several documents that end with the path, it is the one nearest to the folder that the source is read from.
    """
    found: dict[str, str] = {}
    held: dict[str, list[tuple[str, str]]] = {}
    for address in addresses:
        told = _UNDER_A_SERVICE.fullmatch(address.strip())
        if told is None:
            continue
        source = unquote(told[1])
        if source not in held:
            held[source] = [(readable(uri), uri) for uri in catalog.live_documents(source)]
        ending = "/" + readable(f"x://{told[2]}").removeprefix("x://")
        near = min((uri for name, uri in held[source] if name.endswith(ending)), key=len, default=None)
        if near is not None:
            found[address] = near if told[3] is None else f"{near}#{told[3]}"
    return found
