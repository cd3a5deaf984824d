"""The interface of connectors."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

from wenyuan.core.errors import SourceError
from wenyuan.core.model import Source

MOST_BYTES = 50_000_000
"""No larger file is read, so none is fetched."""

LIBRARY_SETTINGS = frozenset(
    ("base_uri", "encoder", "format", "llm", "passage_size", "readers", "redaction", "required", "retention")
)
"""Settings of a source that the library reads itself, whatever the connector; a folder, a file and uploads have no others."""


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


@runtime_checkable
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

    # A connector that knows who may read an entry has a method ``permissions(entry) -> AccessList``, too (see
    # `core.principals`), which raises what `fetch` raises. It is asked for each entry of each listing where the source
    # says ``readers: {from: [permissions]}``; what it cannot tell, nobody may read until a later run.

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
