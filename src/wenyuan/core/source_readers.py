"""What a source's settings say of who may read its documents: ``settings.readers``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from wenyuan.core.addresses import file_uri
from wenyuan.core.errors import ConfigError, Fault, InvalidRequest, listed, msg
from wenyuan.core.model import Source
from wenyuan.core.path_patterns import fits, parse_pattern
from wenyuan.core.principals import AccessList, parse_access_list
from wenyuan.core.remote_addresses import is_remote

READERS = "readers"
"""The setting."""
MAX_PATTERNS = 1_000
SET, BY_PATTERN, IN_DOCUMENT, WITH_UPLOAD = "set", "registry", "document", "upload"
"""Origins of lists: given by name, by a pattern of the source, by the document itself, and with an uploaded file. Others are ``sidecar/N`` and
``permissions/N``, of the file and the folders above it."""
FRONT_MATTER, PERMISSIONS = "front_matter", "permissions"
ORIGINS = (FRONT_MATTER, PERMISSIONS)
"""What of the documents themselves may say who reads them, where the setting ``from`` has it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceReaders:
    """Who may read the documents of a source.

    Attributes:
        enforce: Whether a document without readers is seen by nobody but administrators.
        documents: Patterns of paths with the list of what they fit; of several the first one counts.
        origins: Some of `ORIGINS`.
    """

    enforce: bool = False
    documents: tuple[tuple[str, AccessList], ...] = ()
    origins: frozenset[str] = frozenset()

    def number_of(self, path: str) -> int | None:
        """Which pattern counts for a path; None where none fits."""
        return next((number for number, (pattern, _) in enumerate(self.documents) if fits(pattern, path)), None)

    def of(self, path: str) -> AccessList | None:
        """The list of a document by its path; None where no pattern fits."""
        number = self.number_of(path)
        return None if number is None else self.documents[number][1]


NO_READERS = SourceReaders()


def readers_of(source: Source) -> SourceReaders:
    """What a source says of readers.

    Raises:
        ConfigError: it is registered with what says nothing, so that nobody knows who may read.
    """
    told = source.settings.get(READERS)
    if told is None:
        return NO_READERS
    try:
        return parse_source_readers(told)
    except InvalidRequest as error:
        raise ConfigError(
            error.message,
            component=f"source {source.source_id}",
            hint="correct its settings.readers: wenyuan source set",
        ) from error


def parse_source_readers(value: object, path: str = "settings.readers") -> SourceReaders:
    """Parse the setting; InvalidRequest lists the faults."""
    faults: list[Fault] = []
    if not isinstance(value, Mapping):
        value, faults = {}, [Fault(path, "must be a mapping with enforce, documents or from")]
    faults += [
        Fault(f"{path}.{str(key)[:64]}", "is not known here")
        for key in value
        if key not in ("enforce", "documents", "from")
    ]
    enforce, listed_patterns, origins = value.get("enforce", False), value.get("documents", []), value.get("from", [])
    if type(enforce) is not bool:
        faults.append(Fault(f"{path}.enforce", "must be true or false"))
    if not isinstance(origins, (list, tuple)) or any(one not in ORIGINS for one in origins):
        faults.append(Fault(f"{path}.from", msg("must be a list of some of: {origins}", origins=", ".join(ORIGINS))))
        origins = ()
    patterns = []
    if not isinstance(listed_patterns, (list, tuple)) or len(listed_patterns) > MAX_PATTERNS:
        faults.append(Fault(f"{path}.documents", msg("must be a list of at most {most} entries", most=MAX_PATTERNS)))
        listed_patterns = ()
    for number, entry in enumerate(listed_patterns):
        place = f"{path}.documents[{number}]"
        try:
            if not isinstance(entry, Mapping) or "path" not in entry or len(entry) == 1:
                why = msg("must have a path, and readers or deny")
                raise InvalidRequest(why, faults=(Fault(place, why),))
            rest: dict[str, Any] = {key: given for key, given in entry.items() if key != "path"}
            patterns.append((parse_pattern(entry["path"], f"{place}.path"), parse_access_list(rest, place)))
        except InvalidRequest as error:
            faults += error.faults
    if faults:
        raise InvalidRequest(listed(faults[:10]), faults=tuple(faults))
    return SourceReaders(enforce=enforce, documents=tuple(patterns), origins=frozenset(origins))


def path_within(source: Source, uri: str) -> str:
    """A document's path as patterns are compared with it: from the source's folder or address on, without what tells
    the parts of one file apart.
    """
    remote = is_remote(source.path)
    root = source.path.rstrip("/") if remote else _file_address(source.path)
    below = root and uri.startswith(root) and uri[len(root) : len(root) + 1] in ("", "/")
    plain = (uri[len(root) :] if below else uri).partition("#")[0]
    if not remote:
        plain = plain.partition("?")[0]
    return unquote(plain).strip("/") or unquote(uri).rpartition("/")[2]


def _file_address(path: str) -> str:
    """The address of a source's folder or file; ``""`` without any."""
    return file_uri(Path(path).absolute()) if path else ""
