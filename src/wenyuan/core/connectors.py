"""The interface of connectors, and addresses of remote sources.

A connector lists entries and fetches one at a time. Both are bounded and stateless: what the next listing must know
is stored by the library and given back.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from ipaddress import ip_address
from typing import Any, Protocol
from urllib.parse import SplitResult, unquote, urlsplit

from wenyuan.core.access import scrubbed
from wenyuan.core.addresses import is_web_address
from wenyuan.core.errors import SourceError
from wenyuan.core.model import Source

MOST_BYTES = 50_000_000
"""No larger file is read, so none is fetched."""

LIBRARY_SETTINGS = frozenset(("base_uri", "redaction", "required"))
"""Settings of a source that the library reads itself, whatever the connector."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """An item listed by a connector, such as a file or page.

    Attributes:
        key: What it is fetched by; the same at every listing for as long as it is there, at most 2,000 characters.
        uri: Where people find it: absolute, without a fragment. It is what answers cite.
        name: As of a file: its suffix says which reader takes it.
        version: Another text whenever the bytes are others: an etag, a revision, size and time; none of the
            document's words. ``""`` where it is unknown without fetching; then the entry is fetched at every run.
        size: In bytes; None where it is not known.
        modified: Seconds since the epoch; None where it is not known.
        note: Data that the connector needs at its next listing, see `Known`.
        facts: Metadata added to the entry's documents, such as ``commit``.
    """

    key: str
    uri: str
    name: str
    version: str = ""
    size: int | None = None
    modified: float | None = None
    note: str = ""
    facts: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """The entries of the last run, given back to the connector.

    Attributes:
        entries: By key, as they were listed. What holds a value that the source's redaction takes out is not remembered.
        complete: Whether the listing ran to its end.
    """

    entries: Mapping[str, Entry] = field(default_factory=dict)
    complete: bool = False


class ListingCut(SourceError):
    """The listing stopped at a configured limit: listed entries count, and no missing entry is taken as removed."""


class Connector(Protocol):
    """Reads a remote source; created for one run over one source.

    It is used by one thread at a time.
    """

    def list(self, known: Known) -> Iterator[Entry]:
        """All entries, each once, in any order; ending without an error means that the list is complete.

        An entry may be fetched as soon as it is given, before the next one is asked for.

        Raises:
            ListingCut: a limit was reached; raised at the end, after what was found.
            SourceError: it cannot be listed, or not to its end.
        """

    def fetch(self, entry: Entry, most: int) -> bytes:
        """The bytes of an entry, from this listing or an earlier one.

        Args:
            most: No more than so many bytes are taken.

        Raises:
            DocumentRejected: this one cannot be had: it is gone, refused, or larger than `most`.
            SourceError: nothing can be had at the moment.
        """

    def close(self) -> None:
        """Close connections and delete temporary files; may be called twice."""


class Parse(Protocol):
    """Runs a function on what strangers wrote in a process of its own, within limits of time, memory and answer."""

    def __call__(
        self,
        function: str,
        content: bytes,
        arguments: Mapping[str, Any] = {},
        *,
        name: str,
        seconds: float | None = None,
    ) -> Any:
        """What the function returns.

        Args:
            function: ``module:function``; it is called with the content, and the arguments by name.
            arguments: Values of JSON, as the result must be.
            name: What is parsed, for error messages.
            seconds: How long it may take, where that is not the time for reading a document.

        Raises:
            DocumentRejected: the function refuses or fails, or goes beyond a limit.
            SourceError: the process does not start.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class Opening:
    """What a connector factory receives: source, settings and permissions. The factory must not connect yet.

    Attributes:
        source: Its registry entry.
        settings: The source's settings, without those that the library reads itself.
        secret: The value of an environment variable, by its name; ConfigError where sources may not read it or it is
            not set. Settings hold names of variables alone, under a name that ends in ``_env``.
        readable: Whether a file of this name can be read at all: others need not be fetched.
        parse: Parses what the other side sent: whatever is more than a linear look at bounded bytes.
        allow_private: Whether loopback and private networks may be connected to.
    """

    source: Source
    settings: Mapping[str, Any]
    secret: Callable[[str], str]
    readable: Callable[[str], bool]
    parse: Parse
    allow_private: bool = False

    @property
    def url(self) -> str:
        return self.source.path

    @property
    def component(self) -> str:
        """Name of the connector in error messages."""
        return f"source {self.source.source_id}"


Factory = Callable[[Opening], Connector]
"""Makes a connector; ConfigError where a setting is wrong or something must be installed. No network is used."""


# Addresses.


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
