"""Conformance tests for connector authors (`docs/connectors.md`).

A test suite of one's own asks that no law of ``check_connector(open_mine)`` has failed, where ``open_mine()`` makes a
connector over something that holds a few entries and does not change meanwhile; a second argument may change one.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing, suppress
from urllib.parse import urlsplit

from wenyuan.conformance.report import CaseResult
from wenyuan.core.connectors import MOST_BYTES, Connector, Entry, Known, ListingCut
from wenyuan.core.errors import DocumentRejected, KnowledgeError, msg
from wenyuan.core.remote_addresses import leads_up

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
    found = [_try_law(name, law, make) for name, law in LAWS.items()]
    if change is not None:
        found.append(_try_law("a-change-is-seen", lambda opened: _change_is_seen(opened, change), make))
    return tuple(found)


def _try_law(name: str, law: Callable[[Open], None], make: Open) -> CaseResult:
    try:
        law(make)
    except _Broken as broken:
        return CaseResult(name, False, str(broken), str(broken))
    except Exception as error:
        told = msg("{kind}: {error}", kind=type(error).__name__, error=error)
        return CaseResult(name, False, told, told)
    return CaseResult(name, True, "")


def _list_entries(make: Open, known: Known | None = None) -> list[Entry]:
    with closing(make()) as connector:
        found: list[Entry] = []
        with suppress(ListingCut):
            found += connector.list(known or Known())
        return found


def _demand(holds: bool, told: str) -> None:
    if not holds:
        raise _Broken(told)


def _entries_are_sound(make: Open) -> None:
    entries = _list_entries(make)
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
    first, second = ({entry.key: entry for entry in _list_entries(make)} for _ in range(2))
    _demand(first.keys() == second.keys(), "two listings of the same things differ")
    for key, entry in first.items():
        told = msg("the version or address of {key} changed though nothing did", key=repr(key))
        _demand((entry.version, entry.uri) == (second[key].version, second[key].uri), told)


def _memory_changes_nothing(make: Open) -> None:
    first = {entry.key: entry for entry in _list_entries(make)}
    for complete in (True, False):
        again = {entry.key: entry.version for entry in _list_entries(make, Known(entries=first, complete=complete))}
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
    entries = _list_entries(make)[:_MOST_FETCHED]
    with closing(make()) as connector:
        for entry in entries:
            _demand(isinstance(connector.fetch(entry, MOST_BYTES), bytes), "what was fetched is not bytes")


def _fetching_is_bounded(make: Open) -> None:
    entries = _list_entries(make)
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
    entries = _list_entries(make)
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
    before = {entry.key: entry for entry in _list_entries(make)}
    change()
    after = {entry.key: entry for entry in _list_entries(make, Known(entries=before, complete=True))}
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
