"""The rules graph as rows: values to rows, and rows to values."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any, cast, get_args

import sqlalchemy as sa

from wenyuan.core.errors import CatalogUnavailable, msg
from wenyuan.core.model import FOREVER
from wenyuan.core.rules.graph import GraphNode, Support, View
from wenyuan.core.rules.model import Alias, AliasType, Evidence, Node, Statement, StatementStatus, Strength
from wenyuan.core.text.folding import fold

# Between the rows of the rules graph and the values of `core.rules`.


_decode = json.JSONDecoder().raw_decode
STRENGTHS: tuple[Strength, ...] = get_args(Strength)


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldEvidence:
    """A stored evidence. ``removed_seq`` is None while it is live; of removed sources no text is kept."""

    evidence: Evidence
    pack: str
    seq: int
    removed_seq: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldNode:
    """A live node and the packs that define it; the first pack's definition counts."""

    node_id: int
    node: Node
    packs: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldStatement:
    """A statement with its current status and evidence.

    Attributes:
        statement: With its status, and its live evidence (when read for one pack: of that pack).
        src, dst: Numbers of its nodes.
        pack: The pack whose wording it has.
        reason: Why it has its status, where it was not its author who gave it.
        evidences: What supports it with where that came from; what did so once is there where it is asked for.
        seq: The commit since which it stands so.
    """

    statement_id: int
    statement: Statement
    src: int
    dst: int
    pack: str
    reason: str
    evidences: tuple[HeldEvidence, ...]
    seq: int

    @property
    def packs(self) -> tuple[str, ...]:
        """The packs whose evidence supports it now."""
        return tuple(dict.fromkeys(e.pack for e in self.evidences if e.removed_seq is None))

    def seen(self, view: View) -> tuple[HeldEvidence, ...]:
        """Its evidence visible in a view; empty where the statement itself is not visible."""
        said = self.statement
        starts, ends = said.valid_from or date.min, said.valid_until or date.max
        if said.status != "approved" or not starts <= view.day <= ends:
            return ()
        live = (held for held in self.evidences if held.removed_seq is None)
        return tuple(
            h for h in live if view.support(h.evidence.source_id, h.evidence.uri, h.evidence.trust) is not None
        )


def packed(value: Mapping[str, Any] | Iterable[Any]) -> str:
    """Canonical JSON: equal values give equal text."""
    plain: object = dict(value) if isinstance(value, Mapping) else list(value)
    return json.dumps(plain, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def unpacked(text: str) -> Any:
    """Inverse of `packed`; faster than `json.loads` since it skips no white space.

    Raises:
        CatalogUnavailable: it is no JSON: nothing here writes such a row.
    """
    try:
        return {} if text == "{}" else [] if text == "[]" else _decode(text)[0]
    except ValueError as error:
        raise CatalogUnavailable(
            msg("a row of the rules graph is no JSON: {text}", text=f"{text!r:.60}"), component="catalog"
        ) from error


def rank_of(strength: Strength) -> int:
    """Sort rank of a strength, 0 for mandatory; see `strength_of`."""
    return STRENGTHS.index(strength)


def strength_of(rank: int) -> Strength:
    return STRENGTHS[rank]


def day_of(ordinal: int) -> date | None:
    return date.fromordinal(ordinal) if 0 < ordinal < FOREVER else None


def node_row(node: Node) -> dict[str, Any]:
    """A node's own columns, without its number, packs and commits."""
    return {
        "key": node.key,
        "kind": node.kind,
        "name": node.name,
        "labels": packed(node.labels),
        "codes": packed(node.codes),
        "scope": packed(node.scope),
        "attributes": packed(node.attributes),
        "folded": fold("\n".join([node.name, *node.labels.values(), *node.codes.values()])),
    }


def alias_rows(node: Node) -> dict[tuple[str, str, str, float], dict[str, Any]]:
    """A node's aliases, each once."""
    return {
        (a.text, a.language, a.type, a.weight): {
            "text": a.text,
            "language": a.language,
            "type": a.type,
            "weight": a.weight,
            "folded": fold(a.text),
        }
        for a in node.aliases
    }


def statement_row(statement: Statement) -> dict[str, Any]:
    """A statement's columns beyond its identity; another pack with different values is a conflict."""
    return {
        "rank": STRENGTHS.index(statement.strength),
        "sentence": packed(statement.sentence),
        "valid_from": statement.valid_from.toordinal() if statement.valid_from else 0,
        "valid_until": statement.valid_until.toordinal() if statement.valid_until else FOREVER,
        "weight": float(statement.weight),
    }


def evidence_row(evidence: Evidence) -> dict[str, Any]:
    return {
        "source_id": evidence.source_id,
        "uri": evidence.uri,
        "clause": evidence.clause,
        "quote": evidence.quote,
        "quote_sha256": evidence.quote_sha256,
        "trust": evidence.trust,
        "reviewer": evidence.reviewer,
        "verified": int(evidence.verified),
    }


def graph_node(node_id: int, key: str, kind: str, name: str, labels: str, scope: str) -> GraphNode:
    return GraphNode(
        node_id=node_id, key=key, kind=kind, name=name, labels=unpacked(labels), scope=tuple(unpacked(scope))
    )


def support(row: Any, trust: int) -> Support:
    """A `Support` from (source_id, uri, clause, quote, own trust or None, reviewer, verified); `trust` is the
    source's in the view.
    """
    source_id, uri, clause, quote, _, reviewer, verified = row
    return Support(
        source_id=source_id, uri=uri, clause=clause, quote=quote, trust=trust, reviewer=reviewer,
        verified=bool(verified),
    )  # fmt: skip


def held_node(row: sa.RowMapping, aliases: Iterable[sa.RowMapping]) -> HeldNode:
    found = dict.fromkeys(
        Alias(text=a["text"], language=a["language"], type=cast("AliasType", a["type"]), weight=a["weight"])
        for a in aliases
    )
    node = Node(
        key=row["key"],
        kind=row["kind"],
        name=row["name"],
        labels=unpacked(row["labels"]),
        aliases=tuple(found),
        codes=unpacked(row["codes"]),
        scope=tuple(unpacked(row["scope"])),
        attributes=unpacked(row["attributes"]),
    )
    return HeldNode(node_id=row["node_id"], node=node, packs=tuple(unpacked(row["packs"])))


def held_evidence(row: Any) -> HeldEvidence:
    evidence = Evidence(
        source_id=row["source_id"],
        uri=row["uri"],
        clause=row["clause"],
        quote=row["quote"],
        trust=row["trust"],
        reviewer=row["reviewer"],
        verified=bool(row["verified"]),
    )
    return HeldEvidence(evidence=evidence, pack=row["pack"], seq=row["seq"], removed_seq=row["removed_seq"])


def held_statement(row: Any, keys: Mapping[int, str], evidences: Iterable[HeldEvidence]) -> HeldStatement:
    """A `HeldStatement` from its row; `keys` gives the key of each node number.

    Raises:
        CatalogUnavailable: one of its nodes was never there: the file is damaged.
    """
    if row["src"] not in keys or row["dst"] not in keys:
        why = msg("statement {statement_id} is about nodes that there are not", statement_id=row["statement_id"])
        raise CatalogUnavailable(why, component="catalog")
    found = tuple(evidences)
    statement = Statement(
        src=keys[row["src"]],
        rel=row["rel"],
        dst=keys[row["dst"]],
        condition=row["condition"],
        strength=strength_of(row["rank"]),
        sentence=unpacked(row["sentence"]),
        valid_from=day_of(row["valid_from"]),
        valid_until=day_of(row["valid_until"]),
        weight=row["weight"],
        status=cast("StatementStatus", row["status"]),
        evidences=tuple(e.evidence for e in found if e.removed_seq is None),
    )
    return HeldStatement(
        statement_id=row["statement_id"],
        statement=statement,
        src=row["src"],
        dst=row["dst"],
        pack=row["pack"],
        reason=row["reason"],
        evidences=found,
        seq=row["seq"],
    )
