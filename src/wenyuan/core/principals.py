"""Who may read a document: the names of people and groups, access lists of such names, and whose eyes a thread reads with."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass
from functools import lru_cache, reduce
from typing import Any

from wenyuan.core.errors import Fault, InvalidRequest, listed, msg

EVERYONE = "everyone"
"""The name that every principal has."""
MAX_NAMES = 10_000
"""Names in one access list, and groups of one principal."""
_NAME = re.compile(r"(?:user|group):[^\s,;\"']{1,128}")
_GROUP = re.compile(r"[^\s,;:\"']{1,128}")


def parse_name(value: object, path: str = "readers") -> str:
    """The name of a reader, ``user:…``, ``group:…`` or ``everyone``, in one form: full-width and capital letters as the
    plain ones.

    Raises:
        InvalidRequest: it is none.
    """
    plain = unicodedata.normalize("NFKC", value).casefold() if isinstance(value, str) and len(value) <= 200 else ""
    if plain != EVERYONE and not (_NAME.fullmatch(plain) and plain.isprintable()):
        why = msg('must be "everyone", or "user:" or "group:" with 1 to 128 characters, no space, comma or quote')
        raise InvalidRequest(listed([Fault(path, why)]), faults=(Fault(path, why),))
    return plain


def parse_groups(value: object, path: str = "groups") -> frozenset[str]:
    """The groups of a principal, ``hr`` or ``group:hr`` each, as names of readers; InvalidRequest lists every fault."""
    entries = list(value) if isinstance(value, (list, tuple, set, frozenset)) else None
    if entries is None or len(entries) > MAX_NAMES:
        why = msg("must be a list of at most {most} names", most=MAX_NAMES)
        raise InvalidRequest(listed([Fault(path, why)]), faults=(Fault(path, why),))
    found: set[str] = set()
    faults: list[Fault] = []
    for number, entry in enumerate(entries):
        written = f"group:{entry}" if isinstance(entry, str) and _GROUP.fullmatch(entry) else entry
        try:
            name = parse_name(written, f"{path}[{number}]")
            if not name.startswith("group:"):
                raise InvalidRequest("", faults=(Fault(f"{path}[{number}]", "must be the name of a group"),))
            found.add(name)
        except InvalidRequest as error:
            faults += error.faults
    if faults:
        raise InvalidRequest(listed(faults[:10]), faults=tuple(faults))
    return frozenset(found)


def parse_user(value: object, path: str = "user") -> str:
    """Somebody's name, ``user:li``; InvalidRequest for another."""
    name = parse_name(value, path)
    if not name.startswith("user:"):
        why = msg('must begin with "user:"')
        raise InvalidRequest(listed([Fault(path, why)]), faults=(Fault(path, why),))
    return name


def parse_represented(value: object, path: str = "on_behalf_of") -> frozenset[str]:
    """The names of whom somebody acts for: of one person, ``user:li``, and of the groups that they are in.

    Args:
        value: One name, several with commas between, or a list of them.

    Raises:
        InvalidRequest: they are no names, or not those of one person.
    """
    given = value.split(",") if isinstance(value, str) else value
    if not isinstance(given, (list, tuple, set, frozenset)) or len(given) > MAX_NAMES:
        why = msg("must be a list of at most {most} names", most=MAX_NAMES)
        raise InvalidRequest(listed([Fault(path, why)]), faults=(Fault(path, why),))
    names = frozenset(parse_name(name.strip() if isinstance(name, str) else name, path) for name in given)
    if sum(name.startswith("user:") for name in names) != 1 or EVERYONE in names:
        why = msg('must name one person, "user:li", and may name groups of theirs, "group:hr"')
        raise InvalidRequest(listed([Fault(path, why)]), faults=(Fault(path, why),))
    return names


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessList:
    """Who may read a document. Somebody denied may not, whatever else is said.

    Attributes:
        readers: Names of those who may; empty: nobody; None: it is not said, so that whoever is not denied may.
        deny: Names of those who may not.
    """

    readers: frozenset[str] | None = None
    deny: frozenset[str] = frozenset()

    def admits(self, names: frozenset[str]) -> bool:
        """Whether somebody with these names may read."""
        return self.deny.isdisjoint(names) and (self.readers is None or not self.readers.isdisjoint(names))

    def written(self) -> dict[str, Any]:
        """As in a file; the inverse of `parse_access_list`."""
        told: dict[str, Any] = {} if self.readers is None else {"readers": sorted(self.readers)}
        return told | ({"deny": sorted(self.deny)} if self.deny else {})

    def narrowed(self, other: AccessList) -> AccessList:
        """The list of those that both let read, as far as one list can say it; never of more."""
        both = (one for one in (self.readers, other.readers) if one is not None)
        return AccessList(
            readers=reduce(frozenset.intersection, both)
            if self.readers is not None or other.readers is not None
            else None,
            deny=self.deny | other.deny,
        )


NOBODY = AccessList(readers=frozenset())
"""The list that nobody is on."""


def parse_access_list(value: object, path: str = "") -> AccessList:
    """Parse ``{"readers": ["group:hr"], "deny": ["user:li"]}``; either may be left out.

    Raises:
        InvalidRequest: listing the faults, the first ten in its message.
    """
    at = f"{path}." if path else ""
    faults: list[Fault] = []
    if not isinstance(value, Mapping):
        faults.append(Fault(path or "readers", "must be an object with readers and deny"))
    else:
        faults += [
            Fault(f"{at}{str(key)[:64]}", "is not known here") for key in value if key not in ("readers", "deny")
        ]
    lists: dict[str, frozenset[str]] = {}
    for key in ("readers", "deny"):
        given = value.get(key) if isinstance(value, Mapping) else None
        if given is None:
            continue
        if not isinstance(given, (list, tuple)) or len(given) > MAX_NAMES:
            faults.append(Fault(f"{at}{key}", msg("must be a list of at most {most} names", most=MAX_NAMES)))
            continue
        names = set()
        for number, entry in enumerate(given):
            try:
                names.add(parse_name(entry, f"{at}{key}[{number}]"))
            except InvalidRequest as error:
                faults += error.faults
        lists[key] = frozenset(names)
    if faults:
        raise InvalidRequest(listed(faults[:10]), faults=tuple(faults))
    return AccessList(readers=lists.get("readers"), deny=lists.get("deny", frozenset()))


@dataclass(frozen=True, slots=True)
class Sight:
    """With whose eyes documents are read.

    Attributes:
        all_of: The names of each who must be allowed: of the caller, and of whom it acts for.
        digest: A text that those share who have the same names.
    """

    all_of: tuple[frozenset[str], ...]
    digest: str

    @classmethod
    def of(cls, *names: Iterable[str]) -> Sight:
        all_of = tuple(frozenset(some) | {EVERYONE} for some in names)
        whole = hashlib.sha256()
        for some in all_of:
            whole.update("\n".join(sorted(some)).encode() + b"\0")
        return cls(all_of, whole.hexdigest())

    def admitted_by(self, access: AccessList) -> bool:
        """Whether an access list lets all of them read."""
        return all(access.admits(names) for names in self.all_of)


@lru_cache(1_024)
def sight_of(*names: frozenset[str] | None) -> Sight:
    """The eyes of a principal, and of whom it acts for; None sees all. Made once for each, since one may be in thousands of
    groups.
    """
    return Sight.of(*(some for some in names if some is not None))


_SIGHT: ContextVar[Sight | None] = ContextVar("wenyuan_sight", default=None)


@contextmanager
def reading_as(sight: Sight | None) -> Iterator[None]:
    """A context in which this thread, and those that work for it, read documents with these eyes; None: with all rights."""
    token = _SIGHT.set(sight)
    try:
        yield
    finally:
        _SIGHT.reset(token)


def seeing_as(sight: Sight | None) -> AbstractContextManager[None]:
    """As `reading_as`, for a caller: one with all rights takes nothing off, so that what is asked within somebody's request
    stays within what they may see.
    """
    return nullcontext() if sight is None else reading_as(sight)


def sight_now() -> Sight | None:
    """With whose eyes this thread reads; None: with all rights."""
    return _SIGHT.get()
