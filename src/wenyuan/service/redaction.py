"""Redaction as a source's sensitivity demands, with this library's own key for pseudonyms."""

from __future__ import annotations

import importlib
import os
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from wenyuan.core.errors import ConfigError, DocumentRejected, KnowledgeError
from wenyuan.core.model import Document, Source
from wenyuan.core.redact import (
    NameRecognizer,
    Redaction,
    RedactionPolicy,
    parse_policy,
)

__all__ = ["Names", "Redactor", "library_key", "load_names"]


_KNOWN = {"lac": "wenyuan.service.names_lac:find"}


@dataclass(frozen=True, slots=True)
class Names:
    """A recogniser of names of persons, from outside.

    Attributes:
        find: Folded text → spans ``[start, end)`` in it.
        version: Differs whenever it would find other names.
    """

    find: NameRecognizer
    version: str


def load_names(place: str) -> Names:
    """The function that the setting ``redaction.ner`` names: ``lac`` (see `service.names_lac`) or ``module:function``.

    Its attribute ``version``, if it has one, counts as its version: with another one, documents are read anew.

    Raises:
        ConfigError: there is no such function.
    """
    module, _, name = _KNOWN.get(place, place).partition(":")
    try:
        found = getattr(importlib.import_module(module), name)
    except (ImportError, ValueError, AttributeError, TypeError) as error:
        raise ConfigError(
            f"redaction.ner: cannot load {place!r}: {error}",
            component="redaction",
            hint="write module:function; the module must be importable",
        ) from error
    if not callable(found):
        raise ConfigError(f"redaction.ner: {place!r} is no function", component="redaction")
    return Names(found, f"{place}@{getattr(found, 'version', '')}")


@dataclass(frozen=True)
class Redactor:
    """What is done to every document of one source before it is stored."""

    policy: RedactionPolicy
    key: bytes = b""
    names: Names | None = None

    @classmethod
    def of(cls, source: Source, key: bytes = b"", names: Names | None = None) -> Redactor:
        """By ``sensitivity``, changed by the source's setting ``redaction: {actions: {…}}``.

        Raises:
            InvalidRequest: the setting is wrong, all faults at once.
        """
        return cls(parse_policy({"level": source.sensitivity, **source.settings.get("redaction", {})}), key, names)

    @property
    def fingerprint(self) -> str:
        """What a document's fingerprint holds: it differs whenever another text would be written."""
        found = self.policy.fingerprint(self.key)
        asked = self.names is not None and self.policy.actions["person"] != "keep"
        return f"{found}:{self.names.version}" if self.names is not None and asked else found

    @cached_property
    def redaction(self) -> Redaction:
        """What redacts by this policy."""
        return Redaction(self.policy, self.key, None if self.names is None else self.names.find)

    def text(self, text: str) -> str:
        """A text that is told, a reason say."""
        return self.redaction.text(text).text

    def uri(self, uri: str) -> str:
        """An address, a file's say."""
        return self.redaction.uri(uri)

    def document(self, document: Document) -> tuple[Document, Mapping[str, int]]:
        """The document without what must not be stored, and how many values of each kind that were.

        Raises:
            DocumentRejected: it cannot be redacted, so it is not taken in.
        """
        try:
            clean, counts = self.redaction.document(document)
        except KnowledgeError:
            raise
        except Exception as error:  # whatever broke: a text that was not searched is not taken in
            raise DocumentRejected(
                f"it cannot be redacted ({type(error).__name__})", component="redaction"
            ) from error
        return replace(clean, uri=self.uri(document.uri)), counts


def library_key(folder: Path) -> bytes:
    """32 random bytes in ``pseudonym.key``, made at the first call, readable by the owner alone."""
    path = folder / "pseudonym.key"
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        key = path.read_bytes()
        if len(key) != 32:
            raise ConfigError(
                f"{path} is damaged: {len(key)} bytes, not 32", hint="restore it from a backup"
            ) from None
        return key
    except OSError as error:
        raise ConfigError(f"cannot write {path}: {error.strerror}") from error
    with os.fdopen(handle, "wb") as file:
        file.write(secrets.token_bytes(32))
        file.flush()
        os.fsync(file.fileno())
    return path.read_bytes()
