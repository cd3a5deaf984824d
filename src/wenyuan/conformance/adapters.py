"""Conformance of other people's work: adapters that put other retrieval frameworks to the cases, and tests for authors of
connectors (`docs/connectors.md`).
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Mapping
from contextlib import closing, suppress
from typing import Any
from urllib.parse import urlsplit

from wenyuan.conformance.report import CaseResult
from wenyuan.conformance.targets import Answer, HttpTarget, PythonTarget
from wenyuan.core.connectors import MOST_BYTES, Connector, Entry, Known, ListingCut, leads_up
from wenyuan.core.errors import ConfigError, DocumentRejected, InvalidRequest, KnowledgeError, msg

__all__ = ["ADAPTERS", "LAWS", "AdapterTarget", "check_connector"]


# An adapter says what a retriever says, in the words of the contract, and repairs nothing: what has no score gets none,
# too many results stay too many, an empty list stays an empty success. Raising is a framework's only word for failure,
# so whatever it raises is FAILED, but for ``TypeError`` and ``ValueError``, with which it refuses a request.

Headers = Mapping[str, str]
Way = Callable[[Mapping[str, Any], Headers], Iterable[Mapping[str, Any]]]
"""Asks a retriever: members of a request, further headers → fragments."""

KEY = "WENYUAN_ADAPTER_KEY"
"""Environment variable with the bearer token for an adapter that is given a URL."""


class AdapterTarget:
    """A retriever of another protocol as a `Target`.

    Args:
        kind: One of `ADAPTERS`.
        spec: ``module:factory`` for frameworks, a URL for services.

    Raises:
        ConfigError: nothing there.
    """

    takes_bytes = False

    def __init__(self, kind: str, spec: str) -> None:
        if kind not in ADAPTERS:
            raise ConfigError(
                msg("there is no adapter {kind}: {adapters}", kind=repr(kind), adapters=", ".join(ADAPTERS))
            )
        self._way = ADAPTERS[kind](spec)
        self.takes_headers = kind in SERVICES  # so that a fault header reaches them
        self.name = f"{kind} {spec}"

    def ask(self, request: Mapping[str, Any], headers: Headers | None = None) -> Answer:
        """The retriever's response to a request, valid or not."""
        try:
            fragments = list(self._way(request, headers or {}))
        except (TypeError, ValueError, InvalidRequest) as error:
            return Answer(400, None, msg("{kind}: {error}", kind=type(error).__name__, error=error), by_http=False)
        except Exception as error:  # whatever it is: the framework has no other word for failure
            body: dict[str, Any] = {"status": "FAILED", "fragments": [], "error_message": _said(error)}
        else:
            body = {"status": "SUCCESS", "fragments": fragments}
        return Answer(200, body, repr(body), by_http=False)

    def send(self, body: bytes, headers: Headers) -> Answer:
        """Bytes cannot be sent through an adapter.

        Raises:
            TypeError: always.
        """
        raise TypeError("an adapter takes values, not bytes")

    def close(self) -> None:
        """Does nothing: no connection is kept open."""


def _said(error: Exception) -> str:
    return msg("{kind}: {error}", kind=type(error).__name__, error=error)


def _fragment(content: object, metadata: Mapping[str, Any], score: object, source: object) -> dict[str, Any]:
    """A fragment from the available values; missing members are left out, for the cases to find."""
    told = {"source": source, "content": content, "retrieval_score": score}
    return {name: value for name, value in told.items() if value is not None} | {"metadata": dict(metadata)}


def _langchain(spec: str) -> Way:
    retriever = PythonTarget.made(spec)

    def ask(request: Mapping[str, Any], _headers: Headers) -> Iterable[Mapping[str, Any]]:
        for document in retriever.invoke(request.get("query"), k=request.get("max_results")):
            told = document.metadata
            score = told.get("retrieval_score", told.get("score", told.get("relevance_score")))
            yield _fragment(document.page_content, told, score, told.get("source"))

    return ask


def _llamaindex(spec: str) -> Way:
    retriever = PythonTarget.made(spec)

    def ask(request: Mapping[str, Any], _headers: Headers) -> Iterable[Mapping[str, Any]]:
        for found in retriever.retrieve(request.get("query")):
            told = found.node.metadata
            yield _fragment(found.node.get_content(), told, found.score, told.get("source", told.get("file_path")))

    return ask


def _haystack(spec: str) -> Way:
    component = PythonTarget.made(spec)
    warm_up = getattr(component, "warm_up", None)
    if callable(warm_up):
        warm_up()

    def ask(request: Mapping[str, Any], _headers: Headers) -> Iterable[Mapping[str, Any]]:
        for document in component.run(query=request.get("query"), top_k=request.get("max_results"))["documents"]:
            told = document.meta
            yield _fragment(document.content, told, document.score, told.get("source", told.get("file_path")))

    return ask


def _dify(url: str) -> Way:
    def ask(request: Mapping[str, Any], headers: Headers) -> Iterable[Mapping[str, Any]]:
        setting = {"top_k": request.get("max_results"), "score_threshold": 0.0}
        body = {"knowledge_id": os.environ.get("WENYUAN_ADAPTER_KNOWLEDGE", "all"), "retrieval_setting": setting}
        answer = _posted(f"{url.rstrip('/')}/retrieval", {**body, **_query(request)}, headers)
        for record in _list(answer, "records"):
            told = record.get("metadata") or {}
            yield _fragment(record.get("content"), told, record.get("score"), told.get("source"))

    return ask


def _lightrag(url: str) -> Way:
    def ask(request: Mapping[str, Any], headers: Headers) -> Iterable[Mapping[str, Any]]:
        body = {"mode": "mix", "top_k": request.get("max_results"), "chunk_top_k": request.get("max_results")}
        answer = _posted(f"{url.rstrip('/')}/query/data", {**body, **_query(request)}, headers)
        if answer.get("status") != "success":
            raise RuntimeError(str(answer.get("message") or answer))
        for chunk in _list(answer.get("data"), "chunks"):
            yield _fragment(chunk.get("content"), chunk, chunk.get("score"), chunk.get("file_path"))

    return ask


def _query(request: Mapping[str, Any]) -> dict[str, Any]:
    return {"query": request["query"]} if "query" in request else {}


def _posted(url: str, body: Mapping[str, Any], headers: Headers) -> Mapping[str, Any]:
    """The JSON object a service responds with.

    Raises:
        ValueError: it refuses the request (4xx).
        RuntimeError: it has no answer.
    """
    token = os.environ.get(KEY)
    sent = {"Content-Type": "application/json", **({"Authorization": f"Bearer {token}"} if token else {}), **headers}
    answer = HttpTarget(url).send(json.dumps(body).encode(), sent)
    if answer.refused:
        raise ValueError(str(answer))
    if not answer.returned or not isinstance(answer.body, dict):
        raise RuntimeError(str(answer))
    return answer.body


def _list(holder: object, name: str) -> list[Mapping[str, Any]]:
    found = holder.get(name) if isinstance(holder, dict) else None
    if not isinstance(found, list) or not all(isinstance(one, dict) for one in found):
        raise RuntimeError(f"the answer has no array {name!r}")
    return found


SERVICES = frozenset(("dify", "lightrag"))
"""The adapters that are given a URL."""

ADAPTERS: Mapping[str, Callable[[str], Way]] = {
    "langchain": _langchain,
    "llamaindex": _llamaindex,
    "haystack": _haystack,
    "dify": _dify,
    "lightrag": _lightrag,
}


# Conformance tests for connector authors (`docs/connectors.md`).
#
# A test suite of one's own asks that no law of ``check_connector(open_mine)`` has failed, where ``open_mine()`` makes a
# connector over something that holds a few entries and does not change meanwhile; a second argument may change one.

_MOST_FETCHED = 5
_LONGEST_KEY = 2_000
_LARGEST_NOTE = 1_000_000
Open = Callable[[], Connector]


class _Broken(AssertionError):
    """A requirement is violated; the message says how."""


def check_connector(make: Open, change: Callable[[], object] | None = None) -> tuple[CaseResult, ...]:
    """Check every requirement on a connector; fetches a few entries.

    Args:
        make: Makes a new connector over the same things.
        change: Changes the bytes of at least one entry there, and leaves at least one as it is; asked for last.
    """
    found = [_tried(name, law, make) for name, law in LAWS.items()]
    if change is not None:
        found.append(_tried("a-change-is-seen", lambda opened: _change_is_seen(opened, change), make))
    return tuple(found)


def _tried(name: str, law: Callable[[Open], None], make: Open) -> CaseResult:
    try:
        law(make)
    except _Broken as broken:
        return CaseResult(name, False, str(broken), str(broken))
    except Exception as error:
        told = msg("{kind}: {error}", kind=type(error).__name__, error=error)
        return CaseResult(name, False, told, told)
    return CaseResult(name, True, "")


def _listed(make: Open, known: Known | None = None) -> list[Entry]:
    with closing(make()) as connector:
        found: list[Entry] = []
        with suppress(ListingCut):
            found += connector.list(known or Known())
        return found


def _demand(holds: bool, told: str) -> None:
    if not holds:
        raise _Broken(told)


def _entries_are_sound(make: Open) -> None:
    entries = _listed(make)
    _demand(bool(entries), "nothing was listed")
    keys = [entry.key for entry in entries]
    _demand(len(set(keys)) == len(keys), "a key was listed twice")
    for entry in entries:
        _demand(
            0 < len(entry.key) <= _LONGEST_KEY, msg("the key {key} is empty or too long", key=repr(entry.key[:80]))
        )
        _demand(not leads_up(entry.key), msg("the key {key} holds a step '..'", key=repr(entry.key)))
        _demand(bool(urlsplit(entry.uri).scheme), msg("{uri} is no absolute address", uri=repr(entry.uri)))
        _demand("#" not in entry.uri, msg("{uri} has a fragment", uri=repr(entry.uri)))
        _demand(bool(entry.name) and "/" not in entry.name, msg("{name} is no name of a file", name=repr(entry.name)))
        _demand(len(entry.note) <= _LARGEST_NOTE, msg("the note of {key} is too large", key=repr(entry.key)))


def _listing_is_steady(make: Open) -> None:
    first, second = ({entry.key: entry for entry in _listed(make)} for _ in range(2))
    _demand(first.keys() == second.keys(), "two listings of the same things differ")
    for key, entry in first.items():
        told = msg("the version or address of {key} changed though nothing did", key=repr(key))
        _demand((entry.version, entry.uri) == (second[key].version, second[key].uri), told)


def _memory_changes_nothing(make: Open) -> None:
    first = {entry.key: entry for entry in _listed(make)}
    for complete in (True, False):
        again = {entry.key: entry.version for entry in _listed(make, Known(entries=first, complete=complete))}
        told = "with what was remembered, something else is listed"
        _demand(again == {key: entry.version for key, entry in first.items()}, told)


def _what_is_listed_can_be_fetched(make: Open) -> None:
    with closing(make()) as connector:
        for count, entry in enumerate(connector.list(Known())):
            if count >= _MOST_FETCHED:
                break
            content = connector.fetch(entry, MOST_BYTES)
            _demand(isinstance(content, bytes), msg("what was fetched of {key} is not bytes", key=repr(entry.key)))
            sized = entry.size in (None, len(content))
            _demand(sized, msg("{key} has another size than was listed", key=repr(entry.key)))


def _what_was_listed_before_can_be_fetched(make: Open) -> None:
    entries = _listed(make)[:_MOST_FETCHED]
    with closing(make()) as connector:
        for entry in entries:
            _demand(isinstance(connector.fetch(entry, MOST_BYTES), bytes), "what was fetched is not bytes")


def _fetching_is_bounded(make: Open) -> None:
    entries = _listed(make)
    with closing(make()) as connector:
        large = next((e for e in entries[:_MOST_FETCHED] if len(connector.fetch(e, MOST_BYTES)) > 1), None)
        if large is None:
            return
    with closing(make()) as connector:
        try:
            content = connector.fetch(large, 1)
        except DocumentRejected:
            return
    raise _Broken(
        msg("of {key} {count} bytes were given where 1 was allowed", key=repr(large.key), count=len(content))
    )


def _what_is_not_there_is_rejected(make: Open) -> None:
    entries = _listed(make)
    missing = Entry(key=f"{entries[0].key}-gone", uri=entries[0].uri, name=entries[0].name, version="gone")
    with closing(make()) as connector:
        try:
            connector.fetch(missing, MOST_BYTES)
        except DocumentRejected:
            return
        except KnowledgeError as error:
            raise _Broken(msg("of an entry that is not there it said: {error}", error=error)) from error
    raise _Broken("of an entry that is not there it gave bytes")


def _closing_twice_is_harmless(make: Open) -> None:
    connector = make()
    connector.close()
    connector.close()


def _change_is_seen(make: Open, change: Callable[[], object]) -> None:
    before = {entry.key: entry for entry in _listed(make)}
    change()
    after = {entry.key: entry for entry in _listed(make, Known(entries=before, complete=True))}
    both = [key for key in before if key in after]
    changed = [key for key in both if not after[key].version or after[key].version != before[key].version]
    _demand(bool(changed) or before.keys() != after.keys(), "a change was not seen")
    versioned = [key for key in both if after[key].version]
    _demand(
        len(changed) < len(both) or not versioned, "everything has another version, though not everything changed"
    )


LAWS: dict[str, Callable[[Open], None]] = {
    "entries-are-sound": _entries_are_sound,
    "listing-is-steady": _listing_is_steady,
    "memory-changes-nothing": _memory_changes_nothing,
    "what-is-listed-can-be-fetched": _what_is_listed_can_be_fetched,
    "what-was-listed-before-can-be-fetched": _what_was_listed_before_can_be_fetched,
    "fetching-is-bounded": _fetching_is_bounded,
    "what-is-not-there-is-rejected": _what_is_not_there_is_rejected,
    "closing-twice-is-harmless": _closing_twice_is_harmless,
}
