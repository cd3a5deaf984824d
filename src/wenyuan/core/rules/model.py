"""The values of the rules graph: nodes, directed typed statements about them, and the evidence for each."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import Literal, get_args

from wenyuan.core.errors import InvalidRequest
from wenyuan.core.rules.addresses import address_of, without_clause

__all__ = [
    "Alias",
    "AliasType",
    "Evidence",
    "Node",
    "Place",
    "Statement",
    "StatementStatus",
    "Strength",
    "statement_key",
]

Strength = Literal["mandatory", "recommended", "informative"]
StatementStatus = Literal["proposed", "approved", "rejected", "retired"]
AliasType = Literal["pref", "alt", "abbr", "typo", "code"]


@dataclass(frozen=True, slots=True)
class Place:
    """Where something was written: a file, and its line (1-based), or a sheet and row as ``cell`` (``工序!5``)."""

    file: str = ""
    line: int | None = None
    cell: str = ""

    def __str__(self) -> str:
        where = self.cell or (str(self.line) if self.line is not None else "")
        return f"{self.file}:{where}" if where else self.file


@dataclass(frozen=True, slots=True, kw_only=True)
class Alias:
    """Another way to write a node's name; ``weight`` (0..1] says how surely it means this node."""

    text: str
    language: str = ""
    type: AliasType = "alt"
    weight: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """A thing that statements are about.

    Attributes:
        key: Unique in the graph and stable: ``kind/name`` unless its author gave another.
        name: Its preferred name, in whichever language; ``labels`` has one for each language (``zh``, ``en``).
        codes: Its code in a classification, by scheme (``{"GB/T 13861": "2103"}``).
        scope: Names of the engineering types (or whatever the pack's scope kind is) it is limited to; empty: all.
    """

    key: str
    kind: str
    name: str
    labels: Mapping[str, str] = field(default_factory=dict)
    aliases: tuple[Alias, ...] = ()
    codes: Mapping[str, str] = field(default_factory=dict)
    scope: tuple[str, ...] = ()
    attributes: Mapping[str, str | int | float | bool] = field(default_factory=dict)
    place: Place = field(default=Place(), compare=False)

    def __post_init__(self) -> None:
        if not self.key.strip() or not self.kind or not self.name.strip():
            raise InvalidRequest(f"a node needs key, kind and name, not {self.key!r}, {self.kind!r}, {self.name!r}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What supports a statement: a place in a registered source, with the words it has there.

    Attributes:
        uri: The document, with an anchor where it has one there; one that only repeats the clause is left out.
        clause: As people say it (``第十条``).
        quote: Verbatim words of the source; may be empty.
        trust: 1..5, at most the source's own; None: the source's.
        reviewer: Who has compared it with the source; ``""``: nobody yet.
        verified: The library holds a document of the source that has the words: it has compared them itself.
    """

    source_id: str
    uri: str
    clause: str = ""
    quote: str = ""
    trust: int | None = None
    reviewer: str = ""
    place: Place = field(default=Place(), compare=False)
    verified: bool = field(default=False, compare=False)

    def __post_init__(self) -> None:
        if self.trust is not None and (type(self.trust) is not int or not 1 <= self.trust <= 5):
            raise InvalidRequest(f"the trust of an evidence is {self.trust!r}; it must be an integer from 1 to 5")
        if not self.source_id:
            raise InvalidRequest("an evidence names its source")
        object.__setattr__(self, "uri", without_clause(self.uri, self.clause))

    @property
    def address(self) -> str:
        """Where it is opened."""
        return address_of(self.uri, self.clause, self.quote)

    @property
    def quote_sha256(self) -> str:
        return hashlib.sha256(self.quote.encode()).hexdigest() if self.quote else ""


def statement_key(src: str, rel: str, dst: str, condition: str = "") -> str:
    """Identity of a statement: what it says of what, under which condition; not how well it is supported."""
    return hashlib.sha256("\x00".join((src, rel, dst, condition)).encode()).hexdigest()[:32]


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """``src —rel→ dst``, directed and typed.

    Attributes:
        src, dst: Keys of nodes.
        condition: A CEL expression over the request's parameters (``depth_m >= 5.0``); ``""``: always.
        sentence: The rule as a sentence, by language; where it is missing, one is made from the relation.
        valid_from, valid_until: Days, the last one inclusive.
        weight: 0..1, how typical it is.
        status: Only ``approved`` is served.
    """

    src: str
    rel: str
    dst: str
    condition: str = ""
    strength: Strength = "mandatory"
    sentence: Mapping[str, str] = field(default_factory=dict)
    valid_from: date | None = None
    valid_until: date | None = None
    weight: float = 1.0
    status: StatementStatus = "approved"
    evidences: tuple[Evidence, ...] = ()
    place: Place = field(default=Place(), compare=False)

    def __post_init__(self) -> None:
        if self.strength not in get_args(Strength):
            raise InvalidRequest(f"{self.strength!r} is no strength: {', '.join(get_args(Strength))}")
        if self.status not in get_args(StatementStatus):
            raise InvalidRequest(f"{self.status!r} is no status: {', '.join(get_args(StatementStatus))}")
        if not 0.0 <= self.weight <= 1.0:
            raise InvalidRequest(f"the weight of a statement is {self.weight!r}; it must be from 0 to 1")
        if self.valid_from and self.valid_until and self.valid_until < self.valid_from:
            raise InvalidRequest(f"valid_until {self.valid_until} lies before valid_from {self.valid_from}")

    @property
    def key(self) -> str:
        return statement_key(self.src, self.rel, self.dst, self.condition)
