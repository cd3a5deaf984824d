"""A graph in memory for tests: small, exact, and it counts its reads."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date

from wenyuan.core.ports import Deadline
from wenyuan.core.rules.graph import Edge, GraphNode, LexiconEntry, StatementSaid, Support, View
from wenyuan.core.rules.model import Evidence, Node, Statement
from wenyuan.core.rules.schema import Schema
from wenyuan.core.rules.schema_parser import parse_schema

STRENGTHS = ("mandatory", "recommended", "informative")
DAY = date(2026, 6, 1)

SCHEMA_TREE: dict[str, object] = {
    "scope_kind": "engineering_type",
    "kinds": {
        "engineering_type": {"zh": "工程类型", "en": "engineering type"},
        "process": {"zh": "工序", "en": "process"},
        "hazard": {"zh": "危险源", "en": "hazard"},
        "safety_measure": {"zh": "安全措施", "en": "safety measure"},
        "emergency_action": {"zh": "应急处置", "en": "emergency action"},
        "equipment": {"zh": "设备", "en": "equipment"},
        "requirement": {"zh": "强制要求", "en": "requirement"},
    },
    "relations": {
        "is_a": {"zh": "属于", "en": "is a"},
        "part_of": {"zh": "部分于", "en": "part of", "from": ["process"], "to": ["process"]},
        "requires_equipment": {
            "zh": "需要设备",
            "en": "requires equipment",
            "from": ["process"],
            "to": ["equipment"],
            "sentence": {"zh": "{src}应配备{dst}", "en": "{src} requires {dst}"},
        },
        "produces_hazard": {"zh": "产生危险源", "en": "produces hazard", "from": ["process"], "to": ["hazard"]},
        "mitigated_by": {"zh": "防控措施", "en": "mitigated by", "from": ["hazard"], "to": ["safety_measure"]},
        "responded_by": {"zh": "应急处置", "en": "responded by", "from": ["hazard"], "to": ["emergency_action"]},
        "triggers": {"zh": "触发", "en": "triggers", "from": ["process"], "to": ["requirement"]},
    },
    "parameters": {
        "depth_m": {"type": "number", "unit": "m", "zh": "开挖深度", "en": "excavation depth"},
        "floors": {"type": "integer", "zh": "层数", "en": "floors"},
        "soil": {"type": "string", "zh": "土质", "en": "soil"},
        "at_night": {"type": "boolean", "zh": "夜间施工", "en": "night work"},
    },
    "patterns": {
        "process_requirements": {
            "start": "process",
            "inherit": {"via": ["is_a", "part_of"], "max_depth": 3},
            "collect": {
                "equipment": ["requires_equipment"],
                "hazards": ["produces_hazard"],
                "safety_measures": ["produces_hazard", "mitigated_by"],
                "emergency": ["produces_hazard", "responded_by"],
                "mandatory": ["triggers"],
            },
        }
    },
}


def example_schema() -> Schema:
    """The schema of a small safety pack."""
    return parse_schema(SCHEMA_TREE)


def soon(seconds: float = 60.0) -> Deadline:
    """A deadline on a clock that stands still: it passes at once (negative) or never."""
    return Deadline(at=seconds, clock=lambda: 0.0)


def view(trusts: Mapping[str, int] | None = None, *, day: date = DAY) -> View:
    """What may be seen: by default the source ``std`` with trust 5."""
    return View(trusts={"std": 5} if trusts is None else trusts, day=day)


@dataclass(frozen=True)
class _Stored:
    number: int
    src: int
    dst: int
    statement: Statement


def _in_view(said: Statement, view: View) -> bool:
    valid = (said.valid_from or DAY.min) <= view.day <= (said.valid_until or DAY.max)
    seen = any(view.support(e.source_id, e.uri, e.trust) is not None for e in said.evidences)
    return said.status == "approved" and valid and seen


class MemoryGraph:
    """The `Graph` socket over lists; nodes are found again by their key."""

    def __init__(self, shuffle: random.Random | None = None) -> None:
        self.stored: dict[int, Node] = {}
        self.numbers: dict[str, int] = {}
        self.statements: list[_Stored] = []
        self.by_src: dict[tuple[int, str], list[_Stored]] = {}
        self.by_dst: dict[tuple[int, str], list[_Stored]] = {}
        self.reads: list[tuple[tuple[int, ...], tuple[str, ...]]] = []
        self.shuffle = shuffle

    def add(self, node: Node) -> int:
        """Store a node and give its number; one that is there keeps it."""
        number = self.numbers.setdefault(node.key, len(self.numbers) + 1)
        self.stored[number] = node
        return number

    def node(self, kind: str, name: str, *, scope: Sequence[str] = (), **labels: str) -> int:
        """Store a node with the key ``kind/name``."""
        return self.add(Node(key=f"{kind}/{name}", kind=kind, name=name, scope=tuple(scope), labels=labels))

    def put(self, statement: Statement) -> int:
        """Store a statement about nodes that are there, and give its number."""
        src, dst = self.numbers[statement.src], self.numbers[statement.dst]
        stored = _Stored(len(self.statements) + 1, src, dst, statement)
        self.statements.append(stored)
        self.by_src.setdefault((src, statement.rel), []).append(stored)
        self.by_dst.setdefault((dst, statement.rel), []).append(stored)
        return stored.number

    def say(
        self,
        src: int,
        rel: str,
        dst: int,
        when: str = "",
        *,
        source: str = "std",
        trust: int | None = None,
        **more: object,
    ) -> int:
        """Store ``src —rel→ dst`` with one evidence."""
        evidence = Evidence(source_id=source, uri=f"urn:{source}", clause="第一条", trust=trust)
        values = {"condition": when, "evidences": (evidence,), **more}
        return self.put(Statement(src=self.stored[src].key, rel=rel, dst=self.stored[dst].key, **values))  # type: ignore[arg-type]

    def edges(
        self,
        nodes: Sequence[int],
        relations: Sequence[str],
        *,
        view: View,
        limit: int,
        deadline: Deadline,
        inverse: bool = False,
    ) -> list[Edge]:
        deadline.check("memory graph")
        if view.at is not None:
            raise NotImplementedError("the graph in memory knows no past")
        self.reads.append((tuple(nodes), tuple(relations)))
        index = self.by_dst if inverse else self.by_src
        found = [
            stored
            for number in set(nodes)
            for rel in set(relations)
            for stored in index.get((number, rel), ())
            if _in_view(stored.statement, view)
        ]
        found.sort(key=lambda s: (STRENGTHS.index(s.statement.strength), -s.statement.weight, s.number))
        edges = [self._edge(stored, view, inverse) for stored in found[: limit + 1]]
        if self.shuffle:
            self.shuffle.shuffle(edges)
        return edges

    def _edge(self, stored: _Stored, view: View, inverse: bool) -> Edge:
        said = stored.statement
        supports = tuple(
            Support(
                source_id=e.source_id, uri=e.uri, clause=e.clause, quote=e.quote, reviewer=e.reviewer,
                trust=trust,
            )
            for e in said.evidences
            if (trust := view.support(e.source_id, e.uri, e.trust)) is not None
        )  # fmt: skip
        return Edge(
            statement_id=stored.number, src=stored.src, rel=said.rel, dst=stored.dst, condition=said.condition,
            strength=said.strength, sentence=said.sentence, weight=said.weight,
            end=self._read(stored.src if inverse else stored.dst), evidences=supports,
        )  # fmt: skip

    def _read(self, number: int) -> GraphNode:
        node = self.stored[number]
        return GraphNode(
            node_id=number, key=node.key, kind=node.kind, name=node.name, labels=node.labels, scope=node.scope
        )

    def nodes(self, node_ids: Sequence[int], *, deadline: Deadline) -> Mapping[int, GraphNode]:
        deadline.check("memory graph")
        return {number: self._read(number) for number in node_ids if number in self.stored}

    def lexicon(self) -> Iterator[LexiconEntry]:
        for number, node in self.stored.items():
            ways = [(node.name, "pref", 1.0)]
            ways += [(label, "pref", 1.0) for label in node.labels.values()]
            ways += [(alias.text, alias.type, alias.weight) for alias in node.aliases]
            ways += [(code, "code", 1.0) for code in node.codes.values()]
            for text, kind, weight in dict.fromkeys(ways):
                yield LexiconEntry(
                    node_id=number, kind=node.kind, text=text, type=kind, weight=weight, scope=node.scope
                )

    def said(self, most: int) -> Sequence[StatementSaid]:
        approved = [one for one in self.statements if one.statement.status == "approved"]
        return [
            StatementSaid(
                statement_id=one.number, src=self._read(one.src), rel=one.statement.rel, dst=self._read(one.dst),
                sentence=one.statement.sentence,
            )
            for one in (approved if len(approved) <= most else ())
        ]  # fmt: skip

    def check(self, relations: Sequence[str]) -> None:
        used = {stored.statement.rel for stored in self.statements}
        assert not used or used & set(relations)

    def version(self) -> int:
        return len(self.stored) + len(self.statements)
