"""Derived rules in words, in both languages."""

from __future__ import annotations

from rules_graph import MemoryGraph
from rules_pit import SCHEMA, Pit, named, run
from wenyuan.core.rules.sentences import condition_note, derivation, rule_sentence


def test_a_rule_is_a_sentence_in_either_language() -> None:
    """Its own sentence goes first, then the relation's template, then the labels."""
    pit = Pit()
    pit.graph.say(
        pit.deep, "requires_equipment", pit.graph.node("equipment", "监测仪"), sentence={"zh": "必须监测。"}
    )
    rules = named(pit.infer())
    own = rules["equipment", "监测仪"]
    assert rule_sentence(own, SCHEMA, "zh") == rule_sentence(own, SCHEMA, "zh-Hant") == "必须监测。"
    assert rule_sentence(own, SCHEMA, "en") == "deep excavation requires 监测仪"
    pump = rules["equipment", "降水井"]
    assert rule_sentence(pump, SCHEMA, "zh") == "深基坑开挖应配备降水井"
    measure = rules["safety_measures", "分层开挖"]
    assert rule_sentence(measure, SCHEMA, "zh") == "坍塌 —防控措施→ 分层开挖"
    assert rule_sentence(measure, SCHEMA, "en") == "collapse —mitigated by→ digging in layers"


def test_names_in_a_template_stay_as_they_are() -> None:
    """A name that looks like a place of the template is not filled in again."""
    graph = MemoryGraph()
    odd = graph.node("process", "{dst}{src}")
    graph.say(odd, "requires_equipment", graph.node("equipment", "{src}"))
    (rule,) = run(graph, odd).rules
    assert rule_sentence(rule, SCHEMA, "en") == "{dst}{src} requires {src}"


def test_a_derivation_is_written_as_a_chain() -> None:
    """All steps with their labels, in the language that is asked for."""
    rules = named(Pit().infer())
    chain = rules["safety_measures", "分层开挖"]
    assert derivation(chain, SCHEMA, "zh") == "深基坑开挖 —产生危险源→ 坍塌 —防控措施→ 分层开挖"
    assert derivation(rules["equipment", "挖掘机"], SCHEMA, "en") == (
        "deep excavation —is a→ earthwork —requires equipment→ excavator"
    )


def test_a_derivation_says_what_its_condition_lacks() -> None:
    """The condition stands behind the chain, and the parameter that would verify it, with its unit."""
    pit = Pit()
    key = ("mandatory", "专家论证")
    open_rule, met = named(pit.infer())[key], named(pit.infer(parameters={"depth_m": 6}))[key]
    assert derivation(open_rule, SCHEMA, "zh") == (
        "深基坑开挖 —触发→ 专家论证（条件：开挖深度 ≥ 5 m）（条件未核实：需要参数 depth_m，开挖深度，单位 m）"
    )
    assert condition_note(open_rule, SCHEMA, "en") == (
        " (condition: excavation depth ≥ 5 m) (condition not verified: it needs depth_m, excavation depth, unit m)"
    )
    assert (
        derivation(met, SCHEMA, "en")
        == "deep excavation —triggers→ expert review (condition: excavation depth ≥ 5 m)"
    )
