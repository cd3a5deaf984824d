"""Redaction of documents and questions, changes of redaction policy, and name recognisers."""

from __future__ import annotations

import hashlib
import hmac
import importlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from wenyuan.core.errors import ConfigError, DocumentRejected, KnowledgeError, msg
from wenyuan.core.model import Document, Source
from wenyuan.core.redaction.erased_values import ErasedValues
from wenyuan.core.redaction.findings import NameRecognizer
from wenyuan.core.redaction.known_values import KnownValues
from wenyuan.core.redaction.named_places import NamedPlace
from wenyuan.core.redaction.policy import RedactionPolicy, parse_policy
from wenyuan.core.redaction.redact import Redaction
from wenyuan.service.ingest.person_names import model_version, names_in

# Redaction as a source's sensitivity demands, with this library's own key for pseudonyms.


@dataclass(frozen=True, slots=True)
class NameRecogniser:
    """A recogniser of personal names.

    Attributes:
        find: Folded text → spans ``[start, end)`` in it.
        version: Differs whenever it would find other names.
    """

    find: NameRecognizer
    version: str


def load_names(place: str) -> NameRecogniser:
    """The name recogniser of the setting ``redaction.ner``: ``lac`` (`names_in`) or ``module:function``.

    Its attribute ``version``, if it has one, is its version: when it changes, documents are read again.

    Raises:
        ConfigError: there is no such function, or its model is not installed.
    """
    if place == "lac":
        return NameRecogniser(names_in, f"lac@{model_version()}")
    module, _, name = place.partition(":")
    try:
        found = getattr(importlib.import_module(module), name)
    except (ImportError, ValueError, AttributeError, TypeError) as error:
        raise ConfigError(
            msg("redaction.ner: cannot load {place}: {error}", place=repr(place), error=error),
            component="redaction",
            hint="write module:function; the module must be importable",
        ) from error
    if not callable(found):
        raise ConfigError(msg("redaction.ner: {place} is no function", place=repr(place)), component="redaction")
    return NameRecogniser(found, f"{place}@{getattr(found, 'version', '')}")


@dataclass(frozen=True)
class Redactor:
    """The redaction of one source's documents before storage."""

    policy: RedactionPolicy
    key: bytes = b""
    names: NameRecogniser | None = None
    erased: ErasedValues | None = None

    @classmethod
    def of(
        cls,
        source: Source,
        key: bytes = b"",
        names: NameRecogniser | None = None,
        erased: ErasedValues | None = None,
    ) -> Redactor:
        """The redactor for a source: its ``sensitivity``, modified by the setting ``redaction: {actions: {…}}``.

        Raises:
            InvalidRequest: the setting is wrong, all faults at once.
        """
        policy = parse_policy({"level": source.sensitivity, **source.settings.get("redaction", {})})
        return cls(policy, key, names, erased)

    def leaves(self, text: str) -> bool:
        """Whether a text contains nothing to redact, so that it may be stored as it is."""
        try:
            return self.text(text) == text
        except Exception:  # a document with it is refused with the reason
            return False

    @property
    def fingerprint(self) -> str:
        """Part of document fingerprints: changes whenever the redacted text could change."""
        found = self.policy.fingerprint(self.key)
        asked = self.names is not None and self.policy.actions["person"] != "keep"
        return f"{found}:{self.names.version}" if self.names is not None and asked else found

    @cached_property
    def redaction(self) -> Redaction:
        """The redaction by this policy."""
        return Redaction(self.policy, self.key, None if self.names is None else self.names.find, self.erased)

    def text(self, text: str) -> str:
        """Redact a text, such as an error message."""
        return self.redaction.text(text).text

    def uri(self, uri: str, known: Sequence[NamedPlace] = ()) -> str:
        """Redact an address, such as a file's; see `Redaction.uri`."""
        return self.redaction.uri(uri, known)

    def identity(self, uri: str) -> str:
        """What tells an address from every other one without saying it: a hash with the library's key."""
        told = b"address\0" + uri.encode("utf-8", "surrogatepass")
        return hmac.new(self.key, told, hashlib.sha256).hexdigest()

    def document(self, document: Document, values: KnownValues | None = None) -> tuple[Document, Mapping[str, int]]:
        """The redacted document, and the number of redacted values by kind; see `Redaction.document`.

        Raises:
            DocumentRejected: it cannot be redacted, so it is not ingested.
        """
        try:
            clean, counts = self.redaction.document(document, values)
        except KnowledgeError:
            raise
        except Exception as error:  # any exception: a text that was not searched is not ingested
            raise DocumentRejected(
                msg("it cannot be redacted ({kind})", kind=type(error).__name__), component="redaction"
            ) from error
        return replace(clean, uri=self.uri(document.uri)), counts

    def named(self, document: Document, values: KnownValues) -> Document:
        """A redacted document whose title and facets show none of the values of its file, in whatever way they name it."""
        named = self.redaction.named
        facets = {
            name: named(value, values) if isinstance(value, str) else value
            for name, value in document.metadata.items()
        }
        return replace(document, title=named(document.title, values), metadata=facets)

    def places(self, uri: str, values: KnownValues, begin: int = 0) -> tuple[NamedPlace, ...]:
        """Where an address names values of its file; see `Redaction.places`."""
        return self.redaction.places(uri, values, begin)
