"""A small pack about a deep excavation, and short ways to ask it; for tests."""

from __future__ import annotations

import random
from typing import Any

from rules_graph import MemoryGraph, example_schema, soon, view
from wenyuan.core.rules.graph import Graph
from wenyuan.core.rules.inference import DerivedRule, Inference, Start, infer

SCHEMA = example_schema()


class Pit:
    """A small pack: a deep excavation, what it is a kind of, and what both need."""

    def __init__(self, shuffle: random.Random | None = None) -> None:
        g = self.graph = MemoryGraph(shuffle)
        self.deep = g.node("process", "深基坑开挖", en="deep excavation")
        self.dig = g.node("process", "土方开挖", en="earthwork")
        self.pump = g.node("equipment", "降水井", en="dewatering well")
        self.digger = g.node("equipment", "挖掘机", en="excavator")
        self.collapse = g.node("hazard", "坍塌", en="collapse")
        self.layers = g.node("safety_measure", "分层开挖", en="digging in layers")
        self.rescue = g.node("emergency_action", "撤离", en="evacuation")
        self.review = g.node("requirement", "专家论证", en="expert review")
        self.is_a = g.say(self.deep, "is_a", self.dig)
        self.needs_pump = g.say(self.deep, "requires_equipment", self.pump, strength="recommended")
        self.needs_digger = g.say(self.dig, "requires_equipment", self.digger)
        self.has_hazard = g.say(self.deep, "produces_hazard", self.collapse, weight=0.8)
        self.has_measure = g.say(self.collapse, "mitigated_by", self.layers)
        g.say(self.collapse, "responded_by", self.rescue)
        g.say(self.deep, "triggers", self.review, "depth_m >= 5.0")

    def infer(self, *starts: int, **more: Any) -> Inference:
        return run(self.graph, *(starts or (self.deep,)), **more)


def run(graph: Graph, *starts: int | Start, **more: Any) -> Inference:
    chosen = [s if isinstance(s, Start) else Start(s) for s in starts]
    return infer(graph, more.pop("schema", SCHEMA), chosen, **{"view": view(), "deadline": soon(), **more})


def named(result: Inference) -> dict[tuple[str, str], DerivedRule]:
    return {(rule.group, rule.end.name): rule for rule in result.rules}


def ends(result: Inference, group: str) -> list[str]:
    return [rule.end.name for rule in result.rules if rule.group == group]
