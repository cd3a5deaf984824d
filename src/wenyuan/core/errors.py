"""The tree of errors, by what the caller can do about them; and messages, which carry their template and values.

::

    KnowledgeError
    ├── InvalidRequest          the request is malformed                    HTTP 400
    │   ├── UnknownDomain       it names a domain that is not there, or not the caller's
    │   └── Conflict            it does not fit what is held now
    ├── NotPermitted            the principal may not                       HTTP 403
    │   └── NotFound            what is named is not there, or the principal must not know that it is
    │       └── UnknownName     nothing that the caller may see is called so
    ├── ConfigError             a setting is wrong: refuse to start
    ├── SourceError             a source or a document cannot be taken in
    │   ├── DocumentRejected    this one document, with the reason
    │   │   └── NoDocument      it holds none, and is left out
    │   └── OriginalUnavailable the file that a document was read from is not there as it was
    │       ├── OriginalGone    it is not where it was
    │       └── OriginalChanged its bytes are others than those that were read
    ├── CatalogError            the system of record
    │   ├── CatalogUnavailable  cannot be opened, read or written (disk full, unreadable)
    │   ├── CatalogBusy         another process is writing
    │   │   └── VectorsGone     what was to be stored with a document was removed meanwhile: embed it again
    │   ├── TextsGone           texts of an earlier change are not kept any more: the past cannot be asked
    │   └── CatalogVersion      written by another version of the program
    ├── EngineError             a search index
    │   ├── EngineUnavailable   not there, refused, broken
    │   ├── EngineTimeout       the deadline passed
    │   ├── IndexMismatch       built with another analyser or encoder, or behind the catalog
    │   └── IndexCorrupt        its files do not say what they should
    ├── EncoderError            text → vector
    │   ├── EncoderUnavailable  not installed, refused, broken
    │   ├── EncoderTimeout      the deadline passed
    │   ├── EncoderMismatch     another model than the one the index was built with
    │   └── VectorRejected      NaN, infinity, zero, wrong dimension, wrong count
    ├── RerankerError           query and text → how well the text answers it
    │   ├── RerankerUnavailable not installed, refused, broken
    │   ├── RerankerTimeout     it did not answer in its time
    │   └── ScoresRejected      NaN, infinity, outside 0..1, a text left out or scored twice
    ├── LlmError                a language model
    │   ├── LlmUnavailable      none is set up, cannot be reached, refused, broken
    │   ├── LlmTimeout          it did not answer in its time
    │   ├── LlmRejected         it answered with something that is not what was asked for
    │   └── LlmBudgetSpent      the tokens of the day are used up
    └── RetrievalFailed         the caller's side: an answer said FAILED
        └── Closed              what was asked had been closed before

An exception is the only way for a part to say that it failed; an empty result never is. Adapters translate their driver's
exceptions here, each in one place, with ``raise … from error``. Only ``service.library`` turns a `KnowledgeError` into a FAILED response.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import wraps
from string import Formatter
from types import FunctionType
from typing import Any, TypeVar

__all__ = [
    "CatalogBusy",
    "CatalogError",
    "CatalogUnavailable",
    "CatalogVersion",
    "Closed",
    "ConfigError",
    "Conflict",
    "DocumentRejected",
    "EncoderError",
    "EncoderMismatch",
    "EncoderTimeout",
    "EncoderUnavailable",
    "EngineError",
    "EngineTimeout",
    "EngineUnavailable",
    "Fault",
    "IndexCorrupt",
    "IndexMismatch",
    "InvalidRequest",
    "KnowledgeError",
    "LlmBudgetSpent",
    "LlmError",
    "LlmRejected",
    "LlmTimeout",
    "LlmUnavailable",
    "Message",
    "NoDocument",
    "NotFound",
    "NotPermitted",
    "OriginalChanged",
    "OriginalGone",
    "OriginalUnavailable",
    "RerankerError",
    "RerankerTimeout",
    "RerankerUnavailable",
    "RetrievalFailed",
    "ScoresRejected",
    "SourceError",
    "TextsGone",
    "UnknownDomain",
    "UnknownName",
    "VectorRejected",
    "VectorsGone",
    "as_sent",
    "joined",
    "msg",
    "received",
    "said_by",
    "without",
]


# Messages with their template and values, so that they can be translated, here or where they are sent to.

Value = str | tuple[str, ...]


class Message(str):
    """A string that also carries its English template and values.

    Attributes:
        template: With a ``{name}`` for each value; it is the key of the message in other languages.
        values: Texts, which may be `Message` themselves; several of them are set apart by ``"; "``.
    """

    __slots__ = ("template", "values")
    template: str
    values: Mapping[str, Value]

    def __new__(cls, template: str, values: Mapping[str, Value]) -> Message:
        shown = {name: value if isinstance(value, str) else "; ".join(value) for name, value in values.items()}
        made = super().__new__(cls, template.format_map(shown))
        made.template, made.values = template, values
        return made

    def __reduce__(self) -> tuple[type[Message], tuple[str, Mapping[str, Value]]]:
        return Message, (self.template, self.values)


def msg(template: str, /, **values: object) -> str:
    """Make a `Message`: ``msg("there is no source {name}", name=repr(name))``."""
    return Message(template, {name: _text(value) for name, value in values.items()})


def joined(messages: Iterable[object]) -> str:
    """Several messages joined to one."""
    return Message("{messages}", {"messages": tuple(map(_text, messages))})


def said_by(error: Exception) -> str:
    """The text of an exception; the `Message` that it was made with, where that is all it says."""
    said = error.args[0] if error.args else None
    return said if isinstance(said, Message) and said == str(error) else str(error)


def without(text: str, part: str) -> str:
    """A text without `part`, wherever that stands; of a `Message`, it is taken out of the values."""
    plain = text.replace(part, "")
    if not isinstance(text, Message):
        return plain
    values = {
        name: without(value, part) if isinstance(value, str) else tuple(without(one, part) for one in value)
        for name, value in text.values.items()
    }
    made = Message(text.template, values)
    return made if made == plain else plain


def _text(value: object) -> str:
    if isinstance(value, Exception):
        return said_by(value)
    return value if isinstance(value, str) else format(value)


# Messages in JSON: beside the text stands what it is made of, so that who receives it need not find the template again.


TRANSLATABLE = "translatable"
"""The member beside a text that has its template and values."""

MOST_CHARS = 16_000  # of a message, and of all that it is made of
MOST_PARTS = 500  # texts and messages within a message
MOST_DEPTH = 8  # of messages within messages


def as_sent(text: str) -> dict[str, Any]:
    """The members to send beside a text: none, or `TRANSLATABLE` where it is a `Message` that `received` would take.

    Its value is ``{"template": …, "values": {name: value}}``; a value is a text, such an object, or an array of both.
    Nothing is sent that the text does not show.
    """
    if not isinstance(text, Message):
        return {}
    parts = _parts(text)
    return {TRANSLATABLE: parts} if isinstance(received(str(text), parts), Message) else {}


def received(text: str, parts: object) -> str:
    """A received text as the `Message` that it was, or unchanged where its parts are missing, too many, or not its own.

    Args:
        parts: The value of `TRANSLATABLE` beside it, from whoever sent it: of any type and size.
    """
    if parts is None:
        return text
    try:
        made = _message(parts, _Room())
    except (ValueError, TypeError):
        return text
    return made if made == text else text


def _parts(message: Message) -> dict[str, Any]:
    said = {name: message.values[name] for _, name, _, _ in Formatter().parse(message.template) if name is not None}
    return {
        "template": message.template,
        "values": {n: _part(v) if isinstance(v, str) else list(map(_part, v)) for n, v in said.items()},
    }


def _part(value: str) -> str | dict[str, Any]:
    return _parts(value) if isinstance(value, Message) else str(value)


class _Room:
    """What is left to a message that is being read, in characters and parts."""

    def __init__(self) -> None:
        self.chars, self.parts = MOST_CHARS, MOST_PARTS

    def take(self, text: object) -> str:
        """Count a text; ValueError where it is none, or one too many."""
        if not isinstance(text, str):
            raise ValueError("no text")
        self.chars -= len(text)
        self.parts -= 1
        if self.chars < 0 or self.parts < 0:
            raise ValueError("too large")
        return text


def _message(parts: object, room: _Room, depth: int = 1) -> Message:
    """The message of its parts; ValueError for what is none."""
    if not isinstance(parts, dict) or depth > MOST_DEPTH:
        raise ValueError("no message")
    template, values = room.take(parts.get("template")), parts.get("values")
    fields = list(Formatter().parse(template))
    names = [name for _, name, spec, conversion in fields if name is not None and not spec and not conversion]
    if len(names) < sum(name is not None for _, name, _, _ in fields) or not all(map(str.isidentifier, names)):
        raise ValueError("a template with more than names in it")
    if not isinstance(values, dict) or set(values) != set(names):
        raise ValueError("other values than those of the template")
    read = {name: _value(value, room, depth) for name, value in values.items()}
    shown = {name: value if isinstance(value, str) else "; ".join(value) for name, value in read.items()}
    if sum(len(fixed) for fixed, _, _, _ in fields) + sum(len(shown[name]) for name in names) > MOST_CHARS:
        raise ValueError("too large")  # a value that is named often enough would fill the memory
    return Message(template, read)


def _value(value: object, room: _Room, depth: int) -> Value:
    if isinstance(value, list):
        return tuple(_one(part, room, depth) for part in value)
    return _one(value, room, depth)


def _one(value: object, room: _Room, depth: int) -> str:
    return _message(value, room, depth + 1) if isinstance(value, dict) else room.take(value)


class KnowledgeError(Exception):
    """Base of all errors of the service.

    Args:
        message: What failed and why, in one sentence without secrets.
        component: The part that failed, e.g. ``"engine local/keyword"``; part of the message.
        hint: What to do next, e.g. a command; shown by the command line.
    """

    code = "knowledge_error"

    def __init__(self, message: str, *, component: str = "", hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.component = component
        self.hint = hint

    def __str__(self) -> str:
        if not self.component:
            return self.message
        return msg("{component}: {message}", component=self.component, message=self.message)


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault in a request: its place (a JSON path such as ``context.task_id``) and message."""

    path: str
    message: str


def listed(faults: Iterable[Fault], form: str = "{place} {fault}") -> str:
    """Several faults joined to one message, each with its place."""
    return joined(msg(form, place=fault.path, fault=fault.message) for fault in faults)


class InvalidRequest(KnowledgeError):
    """The request is malformed; `faults` lists every fault."""

    code = "invalid_request"

    def __init__(self, message: str, *, faults: tuple[Fault, ...] = (), hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.faults = faults


class Conflict(InvalidRequest):
    """The request conflicts with the present state: it is already done, or something else depends on it."""

    code = "conflict"


class UnknownDomain(InvalidRequest):
    code = "unknown_domain"


class NotPermitted(KnowledgeError):
    code = "not_permitted"


class NotFound(NotPermitted):
    """The named thing does not exist or is not visible to the caller; the two look the same.

    In responses its code is ``not_permitted``, as for a refusal, unless a route answers 404.
    """


class UnknownName(NotFound):
    """No visible node, kind or relation has that name; raised so that it is not taken for an empty result."""

    code = "unknown_name"


class ConfigError(KnowledgeError):
    code = "config_error"


class SourceError(KnowledgeError):
    code = "source_error"


class DocumentRejected(SourceError):
    """One document cannot be ingested; others go on."""

    code = "document_rejected"


class NoDocument(DocumentRejected):
    """A file may hold a document and holds none, as a file of settings: it is left out, not failed."""

    code = "no_document"


class OriginalUnavailable(SourceError):
    """The original file of a document is not available in the state in which it was read."""

    code = "original_unavailable"


class OriginalGone(OriginalUnavailable):
    code = "original_gone"


class OriginalChanged(OriginalUnavailable):
    code = "original_changed"


class CatalogError(KnowledgeError):
    code = "catalog_error"


class CatalogUnavailable(CatalogError):
    code = "catalog_unavailable"


class CatalogBusy(CatalogError):
    code = "catalog_busy"


class VectorsGone(CatalogBusy):
    """Stored vectors that were to be reused have been removed meanwhile."""

    code = "vectors_gone"


class TextsGone(CatalogError):
    """An earlier state of the library is incomplete: a source was removed or redacted anew since.

    Args:
        change: Of the catalog.
        source_id: The source; ``""`` where the caller may not know it.
    """

    code = "texts_gone"

    def __init__(self, change: int, source_id: str = "") -> None:
        said = msg("the texts of change {change} are not kept any more", change=change)
        if source_id:
            said = msg("{what}: {source_id} was removed or redacted anew since", what=said, source_id=source_id)
        super().__init__(said, hint="compare with the library as it is instead")
        self.change = change
        self.source_id = source_id


class CatalogVersion(CatalogError):
    code = "catalog_version"


class EngineError(KnowledgeError):
    code = "engine_error"


class EngineUnavailable(EngineError):
    code = "engine_unavailable"


class EngineTimeout(EngineError):
    code = "engine_timeout"


class IndexMismatch(EngineError):
    code = "index_mismatch"


class IndexCorrupt(EngineError):
    code = "index_corrupt"


class EncoderError(KnowledgeError):
    code = "encoder_error"


class EncoderUnavailable(EncoderError):
    code = "encoder_unavailable"


class EncoderTimeout(EncoderError):
    code = "encoder_timeout"


class EncoderMismatch(EncoderError):
    code = "encoder_mismatch"


class VectorRejected(EncoderError):
    code = "vector_rejected"


class RerankerError(KnowledgeError):
    code = "reranker_error"


class RerankerUnavailable(RerankerError):
    code = "reranker_unavailable"


class RerankerTimeout(RerankerError):
    code = "reranker_timeout"


class ScoresRejected(RerankerError):
    code = "scores_rejected"


class LlmError(KnowledgeError):
    code = "llm_error"


class LlmUnavailable(LlmError):
    code = "llm_unavailable"


class LlmTimeout(LlmError):
    code = "llm_timeout"


class LlmRejected(LlmError):
    """What the model wrote cannot be used.

    Attributes:
        tokens_in, tokens_out: What it used for that, as it counts.
        cost: As of a `ModelReply`.
    """

    code = "llm_rejected"
    tokens_in = tokens_out = 0
    cost = 0.0


class LlmBudgetSpent(LlmError):
    code = "llm_budget_spent"


class RetrievalFailed(KnowledgeError):
    """Client side: the service answered FAILED or could not be reached. There is no answer, which differs from an
    empty one.
    """

    code = "retrieval_failed"


class Closed(RetrievalFailed):
    """A library, client or retriever was used after it was closed."""

    code = "closed"


# A word that a person may have meant.


def did_you_mean(word: str, known: Iterable[str], *, cutoff: float = 0.6) -> str:
    """``"; did you mean 'allow'?"``, or ``""`` when no known word has a similarity of at least `cutoff` (0..1)."""
    near = get_close_matches(word[:64].lower(), sorted(known), n=1, cutoff=cutoff)
    return msg("; did you mean {near}?", near=repr(near[0])) if near else ""


# Closed objects refuse calls: none of their methods returns a result or waits for a lost resource.


T = TypeVar("T")
_AFTERWARDS = ("close", "__exit__")  # may be called again
_ENTERING = ("__enter__", "__aenter__")


def refusal(thing: object) -> Closed:
    """The error for using a closed object."""
    return Closed(
        msg("this {kind} is closed, and answers nothing any more", kind=type(thing).__name__), hint="open it again"
    )


def refusing_once_closed(*but: str) -> Callable[[type[T]], type[T]]:
    """Class decorator: public methods and properties raise `Closed` once an object's ``_closed`` is true.

    Those of its bases too; ``close`` sets it, and may be called twice.

    Args:
        but: Methods that handle a closed object themselves.
    """

    def guarded(cls: type[T]) -> type[T]:
        for name in dir(cls):
            found = inspect.getattr_static(cls, name)
            if name in (*_AFTERWARDS, *but) or (name.startswith("_") and name not in _ENTERING):
                continue
            if isinstance(found, FunctionType):
                setattr(cls, name, _refusing(found))
            elif isinstance(found, property) and found.fget is not None:
                setattr(cls, name, property(_refusing(found.fget), found.fset, found.fdel, found.__doc__))
        return cls

    return guarded


def _refusing(call: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(call)
    def asked(self: Any, *given: Any, **named: Any) -> Any:
        if self._closed:
            raise refusal(self)
        return call(self, *given, **named)

    return asked


# How many, in English: the noun and what goes with it follow the number.


class Counted(str):
    """A message value with plural forms: ``{count:fault|faults}`` becomes ``1 fault`` or ``2 faults``.

    Raises:
        ValueError: what stands after the colon is not the two forms, the singular first.
    """

    __slots__ = ()

    def __format__(self, forms: str) -> str:
        if not forms:
            return str(self)
        one, separator, many = forms.partition("|")
        if not separator:
            raise ValueError(f"{forms!r} are not two forms like 'fault|faults'")
        return f"{self} {one if self == '1' else many}"
