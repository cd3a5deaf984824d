"""The model of the rules graph: nodes, directed statements and their evidence."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import Literal, get_args

from wenyuan.core.anchors import address_of, without_clause
from wenyuan.core.errors import InvalidRequest, msg

# The values of the rules graph: nodes, directed typed statements about them, and the evidence for each.


Strength = Literal["mandatory", "recommended", "informative"]
StatementStatus = Literal["proposed", "approved", "rejected", "retired"]
AliasType = Literal["pref", "alt", "abbr", "typo", "code"]


@dataclass(frozen=True, slots=True)
class EntryPlace:
    """Where an entry was written: file and line (1-based), or sheet and row as ``cell`` (``工序!5``)."""

    file: str = ""
    line: int | None = None
    cell: str = ""

    def __str__(self) -> str:
        where = self.cell or (str(self.line) if self.line is not None else "")
        return f"{self.file}:{where}" if where else self.file


@dataclass(frozen=True, slots=True, kw_only=True)
class Alias:
    """An alternative name of a node; ``weight`` (0..1] is the confidence that it means this node."""

    text: str
    language: str = ""
    type: AliasType = "alt"
    weight: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """An entity that statements refer to.

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
    place: EntryPlace = field(default=EntryPlace(), compare=False)

    def __post_init__(self) -> None:
        if not self.key.strip() or not self.kind or not self.name.strip():
            raise InvalidRequest(
                msg(
                    "a node needs key, kind and name, not {key}, {kind}, {name}",
                    key=repr(self.key),
                    kind=repr(self.kind),
                    name=repr(self.name),
                )
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """A source that supports a statement: a document or clause, with the quoted words.

    Attributes:
        uri: The document, with an anchor where it has one there; one that only repeats the clause is left out.
        clause: As people say it (``第十条``).
        quote: Verbatim words of the source; may be empty.
        trust: 1..5, at most the source's own; None: the source's.
        reviewer: Who has compared it with the source; ``""``: not reviewed yet.
        verified: The library holds a document of the source that has the words: it has compared them itself.
    """

    source_id: str
    uri: str
    clause: str = ""
    quote: str = ""
    trust: int | None = None
    reviewer: str = ""
    place: EntryPlace = field(default=EntryPlace(), compare=False)
    verified: bool = field(default=False, compare=False)

    def __post_init__(self) -> None:
        if self.trust is not None and (type(self.trust) is not int or not 1 <= self.trust <= 5):
            raise InvalidRequest(
                msg("the trust of an evidence is {trust}; it must be an integer from 1 to 5", trust=repr(self.trust))
            )
        if not self.source_id:
            raise InvalidRequest("an evidence names its source")
        object.__setattr__(self, "uri", without_clause(self.uri, self.clause))

    @property
    def address(self) -> str:
        """The URI to open, with its fragment."""
        return address_of(self.uri, self.clause, self.quote)

    @property
    def quote_sha256(self) -> str:
        return hashlib.sha256(self.quote.encode()).hexdigest() if self.quote else ""


def statement_key(src: str, rel: str, dst: str, condition: str = "") -> str:
    """The identity of a statement: subject, relation, object and condition, without its evidence."""
    return hashlib.sha256("\x00".join((src, rel, dst, condition)).encode()).hexdigest()[:32]


@dataclass(frozen=True, slots=True, kw_only=True)
class StatementTerms:
    """What a statement says, as it is written and as it is kept.

    Attributes:
        condition: A CEL expression over the request's parameters (``depth_m >= 5.0``); ``""``: always.
        sentence: The rule as a sentence, by language; where it is missing, one is made from the relation.
        valid_from, valid_until: Days, the last one inclusive.
        weight: 0..1, how typical it is.
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
    place: EntryPlace = field(default=EntryPlace(), compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement(StatementTerms):
    """``src —rel→ dst``, directed and typed.

    Attributes:
        src, dst: Keys of nodes.
        status: Only ``approved`` is served.
    """

    status: StatementStatus = "approved"
    evidences: tuple[Evidence, ...] = ()

    def __post_init__(self) -> None:
        if self.strength not in get_args(Strength):
            raise InvalidRequest(
                msg(
                    "{strength} is no strength: {strength2}",
                    strength=repr(self.strength),
                    strength2=", ".join(get_args(Strength)),
                )
            )
        if self.status not in get_args(StatementStatus):
            raise InvalidRequest(
                msg(
                    "{status} is no status: {statementstatus}",
                    status=repr(self.status),
                    statementstatus=", ".join(get_args(StatementStatus)),
                )
            )
        if not 0.0 <= self.weight <= 1.0:
            raise InvalidRequest(
                msg("the weight of a statement is {weight}; it must be from 0 to 1", weight=repr(self.weight))
            )
        if self.valid_from and self.valid_until and self.valid_until < self.valid_from:
            raise InvalidRequest(
                msg(
                    "valid_until {valid_until} lies before valid_from {valid_from}",
                    valid_until=self.valid_until,
                    valid_from=self.valid_from,
                )
            )

    @property
    def key(self) -> str:
        return statement_key(self.src, self.rel, self.dst, self.condition)
