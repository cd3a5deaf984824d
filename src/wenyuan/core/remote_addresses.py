"""Addresses of remote sources: which are one, and what is wrong with one."""

from __future__ import annotations

import re
from ipaddress import ip_address
from urllib.parse import SplitResult, unquote, urlsplit

from wenyuan.core.addresses import is_web_address
from wenyuan.core.secret_settings import scrubbed


def is_remote(path: str) -> bool:
    """Whether a source's path is an address for a connector rather than a local file or folder."""
    return is_web_address(path)


def connector_scheme(path: str) -> str:
    """The scheme of an address in lower case: ``https``, ``s3``, ``git+https``."""
    return path.partition(":")[0].strip().lower()


def checked_address(text: str) -> str:
    """Normal form of a source's address.

    Raises:
        ValueError: nothing may be read by it, whatever the connector.
    """
    address = text.strip()
    scheme, slashes, rest = address.partition("://")
    if not slashes:
        raise ValueError("is no address: after its scheme stands ://")
    if scheme.lower() == "file":
        raise ValueError("begins with file://; write the path itself")
    if any(c < " " or c in "\\\x7f" for c in address):
        raise ValueError("must hold no control character or backslash")
    if "@" in rest.partition("/")[0] or scrubbed("", address) != address:
        raise ValueError(
            "holds a user name or a secret; name an environment variable in the source's settings instead"
        )
    if leads_up(rest):
        raise ValueError("holds a step '..', which may lead anywhere")
    if fault := _local_fault(address):
        raise ValueError(fault)
    if needs_host(scheme):
        try:
            parts = urlsplit(address)
            named = bool(parts.hostname) and (parts.port is None or parts.port > 0)
            ascii_host(parts.hostname or "none")
        except ValueError:
            raise ValueError("is no address: its host or port cannot be read") from None
        if not named:
            raise ValueError("names no host")
    return f"{scheme.lower()}://{rest}"


def needs_host(scheme: str) -> bool:
    """Whether addresses of that scheme name a network host."""
    return scheme.lower() in _WITH_HOST


_WITH_HOST = frozenset(
    "http https git+http git+https imap imaps sftp ssh ftp webdav webdavs smb".split()
)  # fmt: skip
_STEPS = re.compile(r"[/\\]|::")


def leads_up(path: str) -> bool:
    """Whether a path, key or name contains a ``..`` step, in any encoding."""
    plain = unquote(unquote(path))
    return any(step.strip() == ".." for text in (path, plain) for step in _STEPS.split(text))


def local_places(path: str) -> tuple[str, ...]:
    """The local paths that an address reads: ``git+file:///srv/repo``, ``zip://*::file:///srv/a.zip``."""
    found = []
    for part in path.split("::"):
        scheme, slashes, rest = part.partition("://")
        if slashes and scheme.lower() == "git+file":
            found.append(unquote(rest.partition("#")[0].partition("?")[0]))
        elif slashes and scheme.lower() == "file":
            found.append(rest)
        elif slashes and "::" not in path and scheme.lower() in _ARCHIVES:
            found.append(rest.partition("!")[0])
    return tuple(found)


_ARCHIVES = frozenset(("zip", "tar"))
_MEMBER = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*:/.*", re.DOTALL)


def _local_fault(address: str) -> str:
    """Why nothing is read by an address with ``::``, or by a local path; ``""`` where it is understood.

    What is understood of ``::`` is a folder of an archive, and where the archive lies.
    """
    first, *others = address.split("::")
    if not others:
        whole = all(place.startswith("/") for place in local_places(address))
        return "" if whole else "names a file of this machine by a path that does not begin with /"
    inner = others[0]
    if len(others) > 1 or connector_scheme(first) not in _ARCHIVES or not _MEMBER.fullmatch(inner):
        return "holds '::' otherwise than zip://FOLDER::ADDRESS or tar://FOLDER::ADDRESS"
    if connector_scheme(inner) in _ARCHIVES:
        return "names an archive within an archive"
    if connector_scheme(inner) == "file" and not inner[5:].startswith("///"):
        return "names a file of this machine by a path that does not begin with /"
    return ""


def ascii_host(host: str) -> str:
    """A host as it is sent and looked up: an IPv6 address, or a name in its IDNA form, so that ``127。0。0。1`` is the
    address that it leads to.

    Raises:
        ValueError: it is neither.
    """
    if ":" in host:
        return str(ip_address(host.partition("%")[0]))
    if not host or any(c <= " " or c == "\x7f" for c in host):
        raise ValueError("no host")
    name = host.encode("idna").decode("ascii").lower()
    if not _HOST.fullmatch(name):
        raise ValueError("no host")
    return name


_HOST = re.compile(r"[a-z0-9_.\-]{1,253}")


def host_of(parts: SplitResult) -> str:
    """Host and port, in ASCII where the host has such a form."""
    host = parts.hostname or ""
    try:
        host = ascii_host(host)
    except ValueError:  # it is shown as it is written, and never connected to
        host = host.encode("ascii", "backslashreplace").decode()
    shown = f"[{host}]" if ":" in host else host
    return shown if parts.port is None else f"{shown}:{parts.port}"
