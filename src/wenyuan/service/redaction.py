"""Redaction as a source's sensitivity demands, with this library's own key for pseudonyms."""

from __future__ import annotations

import os
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from wenyuan.core.errors import ConfigError, DocumentRejected, KnowledgeError
from wenyuan.core.model import Document, Source
from wenyuan.core.redact import RedactionPolicy, parse_policy, redact_document, redact_uri

__all__ = ["Redactor", "library_key"]


@dataclass(frozen=True, slots=True)
class Redactor:
    """What is done to every document of one source before it is stored."""

    policy: RedactionPolicy
    key: bytes

    @classmethod
    def of(cls, source: Source, key: bytes) -> Redactor:
        """By ``sensitivity``, changed by the source's setting ``redaction: {actions: {…}}``.

        Raises:
            InvalidRequest: the setting is wrong, all faults at once.
        """
        return cls(parse_policy({"level": source.sensitivity, **source.settings.get("redaction", {})}), key)

    @property
    def fingerprint(self) -> str:
        return self.policy.fingerprint(self.key)

    def uri(self, uri: str) -> str:
        return redact_uri(uri, self.policy, self.key)

    def document(self, document: Document) -> tuple[Document, Mapping[str, int]]:
        """The document without what must not be stored, and how many values of each kind that were.

        Raises:
            DocumentRejected: it cannot be redacted, so it is not taken in.
        """
        try:
            clean, counts = redact_document(document, self.policy, self.key)
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
