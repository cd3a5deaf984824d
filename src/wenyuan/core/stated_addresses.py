"""Addresses that documents state of themselves: which may be shown and opened as the source of a text."""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import unquote

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*")
_URN = re.compile(r"[A-Za-z0-9][A-Za-z0-9\-]{0,31}:\S+")
_WEB = re.compile(r"//(?P<host>\[[0-9A-Fa-f:.]+\]|[^\s/?#@:\[\]]+)(?P<port>(?::[0-9]{0,5})?)(?P<rest>(?:[/?].*)?)")
_USUAL_PORT = {"http": ":80", "https": ":443"}
_SCRIPTS = frozenset(("javascript", "data", "vbscript", "blob", "filesystem", "about"))
"""What a browser runs or makes up instead of opening what lies elsewhere."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Holder:
    """A document with a given address: its source, and that source's trust."""

    source_id: str
    document_id: int
    trust: int


def scheme_of(address: str) -> str:
    """The scheme of an address in lower case, as browsers parse it; ``""`` without one."""
    # Browsers leave out white space and controls before they look: "java\nscript:" is a script.
    name, found, _ = re.sub(r"[\x00-\x20]", "", address).partition(":")
    return name.lower() if found and _SCHEME.fullmatch(name) else ""


def is_script(address: str) -> bool:
    """Whether a browser would execute an address (``javascript:``) or render content from it (``data:``)."""
    return scheme_of(address) in _SCRIPTS


def stated_address(text: str) -> str:
    """Normal form of an address stated in a document, without its fragment; ``""`` if it is not allowed.

    That is ``http`` and ``https`` with a host and without a user, and ``urn``.
    """
    address = text.partition("#")[0]
    if any(c <= " " or c in '\\"<>`\x7f' for c in address):
        return ""
    scheme, _, rest = address.partition(":")
    if scheme.lower() == "urn" and _URN.fullmatch(rest):
        name, _, special = rest.partition(":")
        return f"urn:{name.lower()}:{special}"
    found = _WEB.fullmatch(rest) if scheme.lower() in _USUAL_PORT else None
    if found is None:
        return ""
    port = "" if found["port"] in (":", _USUAL_PORT[scheme.lower()]) else found["port"]
    return f"{scheme.lower()}://{found['host'].lower()}{port}{found['rest']}"


def lies_under(address: str, base: str) -> bool:
    """Whether an address is below another one, without ``..`` steps that leave it."""
    plain = unquote(address)
    steps = re.split(r"[/?#\\]", plain)
    return address.startswith(base) and ".." not in steps and not any(c <= " " for c in plain)
