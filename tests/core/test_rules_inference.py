"""From nodes to derived rules: which hold, why, how sure, and in what order."""

from __future__ import annotations

import random
from dataclasses import replace
from datetime import date, timedelta
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rules_graph import DAY, MemoryGraph, soon, view
from rules_pit import SCHEMA, Pit, ends, named, run
from wenyuan.core.errors import CatalogError, EngineTimeout, InvalidRequest
from wenyuan.core.rules.inference import Inference, Start, rule_score, scope_names
from wenyuan.core.rules.schema import InferenceLimits


def test_a_chain_is_derived_with_each_of_its_steps() -> None:
    """A process leads over its hazard to the measure, and the path names both statements and both sources."""
    rule = named(Pit().infer())["safety_measures", "分层开挖"]
    assert [(s.src.name, s.edge.rel, s.edge.end.name) for s in rule.steps] == [
        ("深基坑开挖", "produces_hazard", "坍塌"),
        ("坍塌", "mitigated_by", "分层开挖"),
    ]
    assert (rule.start.name, rule.subject.name, rule.relation) == ("深基坑开挖", "坍塌", "mitigated_by")
    assert rule.evidences == rule.steps[-1].edge.evidences
    assert rule.state == "always"


def test_every_group_is_collected() -> None:
    """The groups of the pattern hold what their chains lead to, and nothing else."""
    assert set(named(Pit().infer(parameters={"depth_m": 6}))) == {
        ("equipment", "降水井"), ("equipment", "挖掘机"), ("hazards", "坍塌"), ("safety_measures", "分层开挖"),
        ("emergency", "撤离"), ("mandatory", "专家论证"),
    }  # fmt: skip


def test_what_holds_for_the_kind_above_is_inherited() -> None:
    """A rule of the more general process is found with the inheriting step in its path, one tenth less sure."""
    rule = named(Pit().infer())["equipment", "挖掘机"]
    assert [(s.edge.rel, s.inherited) for s in rule.steps] == [("is_a", True), ("requires_equipment", False)]
    assert (rule.depth, rule.subject.name, rule.start.name) == (1, "土方开挖", "深基坑开挖")
    assert rule.score == pytest.approx(0.9)


def test_inheritance_ends_at_its_depth() -> None:
    """Of a line of five more general processes the first three are inherited from."""
    graph = MemoryGraph()
    line = [graph.node("process", f"p{i}") for i in range(6)]
    for lower, upper in pairwise(line):
        graph.say(lower, "is_a", upper)
    for i, process in enumerate(line):
        graph.say(process, "requires_equipment", graph.node("equipment", f"e{i}"))
    result = run(graph, line[0])
    assert ends(result, "equipment") == ["e0", "e1", "e2", "e3"]
    assert [rule.score for rule in result.rules] == pytest.approx([1, 0.9, 0.81, 0.729])


def test_the_nearest_way_of_inheritance_wins() -> None:
    """A process that is reached both directly and over another one is one step away."""
    graph = MemoryGraph()
    low, middle, top = (graph.node("process", name) for name in ("low", "middle", "top"))
    graph.say(low, "is_a", middle)
    graph.say(middle, "is_a", top)
    graph.say(low, "part_of", top)
    graph.say(top, "requires_equipment", graph.node("equipment", "crane"))
    (rule,) = run(graph, low).rules
    assert (rule.depth, rule.others) == (1, ())


def test_a_condition_is_met_refused_or_marked() -> None:
    """At 6 m the review is needed, at 2 m it is not, and without a depth it is served, marked, with the name."""
    pit = Pit()
    met = named(pit.infer(parameters={"depth_m": 6}))["mandatory", "专家论证"]
    assert (met.state, met.score, met.missing) == ("met", 1.0, ())
    assert ("mandatory", "专家论证") not in named(pit.infer(parameters={"depth_m": 2}))
    unverified = named(pit.infer())["mandatory", "专家论证"]
    assert (unverified.state, unverified.missing) == ("unverified", ("depth_m",))
    assert unverified.score == pytest.approx(0.8)


def test_what_hangs_on_a_dropped_step_is_dropped() -> None:
    """A hazard that does not arise needs no measure."""
    pit = Pit()
    other = pit.graph.node("hazard", "涌水")
    pit.graph.say(pit.deep, "produces_hazard", other, "depth_m > 10.0")
    pit.graph.say(other, "mitigated_by", pit.graph.node("safety_measure", "止水帷幕"))
    assert "止水帷幕" not in ends(pit.infer(parameters={"depth_m": 6}), "safety_measures")
    rule = named(pit.infer())["safety_measures", "止水帷幕"]
    assert (rule.state, rule.missing) == ("unverified", ("depth_m",))


def test_a_wrong_parameter_is_refused_even_where_no_rule_asks() -> None:
    """A depth in words is an error of the request, whatever the graph holds."""
    with pytest.raises(InvalidRequest, match="depth_m"):
        run(MemoryGraph(), parameters={"depth_m": "six"})


def test_a_stored_condition_that_does_not_fit_is_the_librarys_fault() -> None:
    """A statement whose condition names what the schema lacks stops the inference and is named."""
    pit = Pit()
    number = pit.graph.say(pit.deep, "triggers", pit.pump, "width > 3")
    with pytest.raises(CatalogError, match=f"statement {number} "):
        pit.infer()


def test_the_score_by_hand() -> None:
    """Confidence × mean weight × factor of the weakest step's best evidence × condition × .9 per inherited step."""
    graph = MemoryGraph()
    low, top = graph.node("process", "low"), graph.node("process", "top")
    hazard, measure = graph.node("hazard", "h"), graph.node("safety_measure", "m")
    graph.say(low, "is_a", top, weight=1.0)
    graph.say(top, "produces_hazard", hazard, "depth_m > 1.0", weight=0.5, source="weak")
    graph.say(hazard, "mitigated_by", measure, weight=0.6, trust=4)
    (rule,) = [
        r for r in run(graph, Start(low, 0.9), view=view({"std": 5, "weak": 3})).rules if r.group == "safety_measures"
    ]
    assert rule.score == pytest.approx(0.9 * ((1.0 + 0.5 + 0.6) / 3) * 0.8 * 0.8 * 0.9)


@given(
    st.floats(0, 1), st.lists(st.floats(0, 1), max_size=6), st.lists(st.integers(1, 5), max_size=6), st.booleans(),
    st.integers(0, 6),
)  # fmt: skip
def test_scores_lie_between_0_and_1(
    confidence: float, weights: list[float], trusts: list[int], unverified: bool, depth: int
) -> None:
    """No confidence, weight, trust or depth gives a score outside 0..1."""
    score = rule_score(confidence=confidence, weights=weights, trusts=trusts, unverified=unverified, depth=depth)
    assert 0.0 <= score <= 1.0


def test_strength_goes_before_score() -> None:
    """A mandatory rule of low score stands before a recommended one of high score; then scores fall."""
    result = Pit().infer(parameters={"depth_m": 6})
    order = [("mandatory", "recommended", "informative").index(rule.strength) for rule in result.rules]
    assert order == sorted(order)
    assert [r.end.name for r in result.rules if r.strength == "recommended"] == ["降水井"]
    mandatory = [r.score for r in result.rules if r.strength == "mandatory"]
    assert mandatory == sorted(mandatory, reverse=True)


def test_a_measure_against_two_hazards_stands_under_both() -> None:
    """What is required of two things is two rules, however the paths to them compare."""
    pit = Pit()
    second = pit.graph.node("hazard", "滑坡")
    pit.graph.say(pit.deep, "produces_hazard", second, weight=0.2)
    pit.graph.say(second, "mitigated_by", pit.layers)
    found = [r for r in pit.infer().rules if r.end.name == "分层开挖"]
    assert [(r.subject.name, r.others) for r in found] == [("坍塌", ()), ("滑坡", ())]
    assert [r.score for r in found] == pytest.approx([0.9, 0.6])


def test_two_paths_to_one_end_of_one_subject_are_one_rule() -> None:
    """The better path is kept and the other one stands beside it, also where one of them is inherited."""
    pit = Pit()
    pit.graph.say(pit.dig, "produces_hazard", pit.collapse, weight=0.5)
    pit.graph.say(pit.deep, "requires_equipment", pit.digger)
    found = named(pit.infer())
    for group, end, first, second in (
        ("safety_measures", "分层开挖", ["坍塌", "分层开挖"], ["土方开挖", "坍塌", "分层开挖"]),
        ("equipment", "挖掘机", ["挖掘机"], ["土方开挖", "挖掘机"]),
    ):
        rule = found[group, end]
        assert [step.edge.end.name for step in rule.steps] == first
        assert [[step.edge.end.name for step in steps] for steps in rule.others] == [second]
    assert len([r for r in pit.infer().rules if r.end.name in ("分层开挖", "挖掘机")]) == 2


def test_circles_and_self_loops_come_to_an_end() -> None:
    """Nodes that inherit from one another or from themselves neither hang nor become their own rules."""
    pit = Pit()
    pit.graph.say(pit.dig, "is_a", pit.deep)
    pit.graph.say(pit.deep, "is_a", pit.deep)
    pit.graph.say(pit.deep, "produces_hazard", pit.deep)
    pit.graph.say(pit.collapse, "mitigated_by", pit.collapse)
    assert ends(pit.infer(), "hazards") == ["坍塌"]
    assert ends(pit.infer(), "safety_measures") == ["分层开挖"]


def test_the_graph_is_read_hop_by_hop() -> None:
    """Twenty starts cost as many reads as one: the levels of inheritance and the longest chain."""
    pit = Pit()
    processes = [pit.graph.node("process", f"工序{i}") for i in range(20)]
    for process in processes:
        pit.graph.say(process, "is_a", pit.deep)
    pit.graph.reads.clear()
    result = pit.infer(*processes)
    assert len(pit.graph.reads) <= 3 + 2
    assert len([r for r in result.rules if r.end.name == "分层开挖"]) == 20


def test_a_wide_fan_out_stays_within_its_limits_and_says_so(thorough: bool) -> None:
    """Very many hazards are cut to the limit by name, and the other relations are answered in full."""
    pit, hazards = Pit(), 100_000 if thorough else 5_000
    for i in range(hazards):
        pit.graph.say(pit.deep, "produces_hazard", pit.graph.node("hazard", f"h{i}"))
    result = pit.infer(limits=InferenceLimits(max_frontier=50, max_results=500))
    assert result.truncated == ("frontier of produces_hazard cut at 50",)
    assert len(ends(result, "hazards")) == 50
    assert ("equipment", "降水井") in named(result)
    assert result.statements_seen < 200


def test_too_many_rules_are_cut_from_below() -> None:
    """Of more rules than the limit the best ones are given, and that is said."""
    full = Pit().infer()
    cut = Pit().infer(limits=InferenceLimits(2000, 3))
    assert cut.truncated == ("rules cut at 3",)
    assert cut.rules == full.rules[:3]
    mandatory = {rule.steps[-1].edge.statement_id for rule in full.rules[3:] if rule.strength == "mandatory"}
    assert cut.mandatory_left == mandatory != set()
    assert full.mandatory_left == frozenset()


def test_a_cut_leaves_every_start_its_share() -> None:
    """Of 20 statements of one start and 3 of each of four others, 15 are kept: every one of the four keeps its 3."""
    graph = MemoryGraph()
    names = {"混凝土": 20, "钢筋": 3, "模板": 3, "砌体": 3, "抹灰": 3}
    starts = {name: graph.node("process", name) for name in names}
    for name, count in names.items():
        for i in range(count):
            strength = "mandatory" if name == "混凝土" else "informative"
            graph.say(starts[name], "triggers", graph.node("requirement", f"{name}{i}"), strength=strength)
    result = run(graph, *starts.values(), limits=InferenceLimits(2000, 15))
    kept = [rule.start.name for rule in result.rules]
    assert {name: kept.count(name) for name in names} == dict.fromkeys(names, 3)
    assert result.truncated == ("rules cut at 15",) and len(result.mandatory_left) == 17
    more = [r.start.name for r in run(graph, *starts.values(), limits=InferenceLimits(2000, 20)).rules]
    assert more.count("混凝土") == 8  # what the others do not use


def test_what_two_starts_share_counts_once_against_the_limit() -> None:
    """One statement that holds for two starts is given for both of them, and is one of those that a limit allows."""
    graph = MemoryGraph()
    hazard = graph.node("hazard", "坍塌")
    graph.say(hazard, "mitigated_by", graph.node("safety_measure", "支护"))
    starts = [graph.node("process", name) for name in ("开挖", "回填")]
    for start in starts:
        graph.say(start, "produces_hazard", hazard)
    result = run(graph, *starts, limits=InferenceLimits(2000, 3))
    assert result.truncated == () and len(result.rules) == 4


def test_paths_that_multiply_are_cut_too() -> None:
    """Fifty starts that share fifty hazards make 2,500 paths: more than the limit, and that is said."""
    graph = MemoryGraph()
    top = graph.node("process", "top")
    for i in range(50):
        graph.say(top, "produces_hazard", graph.node("hazard", f"h{i}"))
    starts = [graph.node("process", f"p{i}") for i in range(50)]
    for start in starts:
        graph.say(start, "is_a", top)
    result = run(graph, *starts, limits=InferenceLimits(max_frontier=100, max_results=1000))
    assert result.truncated == ("frontier of produces_hazard cut at 100",)
    assert len(result.rules) == 100


def test_inheritance_that_is_cut_is_named() -> None:
    """More general processes than the limit are not dropped in silence."""
    graph = MemoryGraph()
    low = graph.node("process", "low")
    for i in range(9):
        graph.say(low, "is_a", graph.node("process", f"top{i}"))
    assert run(graph, low, limits=InferenceLimits(5, 5)).truncated == (
        "inheritance of process_requirements cut at 5",
    )


def test_nothing_is_cut_at_the_limit_itself() -> None:
    """As many statements as the limit allows are all of them."""
    graph = MemoryGraph()
    low = graph.node("process", "low")
    for i in range(5):
        graph.say(low, "triggers", graph.node("requirement", f"r{i}"))
    result = run(graph, low, limits=InferenceLimits(5, 5))
    assert (result.truncated, len(result.rules)) == ((), 5)
    assert run(graph, low, limits=InferenceLimits(4, 5)).truncated == ("frontier of triggers cut at 4",)


def test_only_what_is_in_view_counts() -> None:
    """Statements of other sources, of other times and unapproved ones lead nowhere; trust follows the view."""
    pit = Pit()
    for name, more in {
        "他源": {"source": "other"},
        "过期": {"valid_until": DAY - timedelta(days=1)},
        "未来": {"valid_from": DAY + timedelta(days=1)},
        "待审": {"status": "proposed"},
        "已废": {"status": "retired"},
        "今日": {"valid_from": DAY, "valid_until": DAY},
    }.items():
        pit.graph.say(pit.deep, "triggers", pit.graph.node("requirement", name), **more)
    assert set(ends(pit.infer(), "mandatory")) == {"专家论证", "今日"}
    assert set(ends(pit.infer(view=view({"other": 2})), "mandatory")) == {"他源"}
    assert pit.infer(view=view({"other": 2})).rules[0].score == pytest.approx(0.7)
    assert "过期" in ends(pit.infer(view=view(day=date(2020, 1, 1))), "mandatory")
    assert pit.infer(view=view({})).rules == ()


@pytest.mark.parametrize("scope", ["房屋建筑", "engineering_type/房屋建筑", "engineering_type:房屋建築", "房屋建築"])
def test_what_is_limited_to_another_scope_is_left_out(scope: str) -> None:
    """Nodes of another engineering type are dropped however the type is written; those without a scope stay."""
    pit = Pit()
    for name, where in {"塔吊": ["房屋建筑"], "盾构机": ["地铁"], "泵车": ["地铁", "房屋建筑"]}.items():
        pit.graph.say(pit.deep, "requires_equipment", pit.graph.node("equipment", name, scope=where))
    assert set(ends(pit.infer(scope=scope), "equipment")) == {"塔吊", "泵车", "降水井", "挖掘机"}
    assert "盾构机" in ends(pit.infer(), "equipment")
    assert "盾构机" in ends(pit.infer(scope=" "), "equipment")


def test_the_scope_may_be_written_in_several_ways() -> None:
    """With all names of the type's node a node that is limited by the English one is found by the Chinese one."""
    pit = Pit()
    number = pit.graph.node("engineering_type", "房屋建筑", en="Building")
    house = pit.graph.nodes([number], deadline=soon())[number]
    pit.graph.say(pit.deep, "requires_equipment", pit.graph.node("equipment", "tower crane", scope=["building"]))
    assert "tower crane" in ends(pit.infer(scope=scope_names(house)), "equipment")
    assert "tower crane" not in ends(pit.infer(scope="Metro"), "equipment")


def test_starts_that_lead_nowhere_are_told() -> None:
    """A start out of scope, of a kind without pattern or gone is reported as such, not as an empty answer."""
    pit = Pit()
    metro = pit.graph.node("process", "盾构掘进", scope=["地铁"])
    result = pit.infer(pit.deep, metro, pit.layers, 999, scope="房屋建筑")
    assert [node.name for node in result.out_of_scope] == ["盾构掘进"]
    assert result.unmatched == (pit.layers, 999)
    assert {rule.start.name for rule in result.rules} == {"深基坑开挖"}
    assert pit.infer(metro, scope="地铁").out_of_scope == ()


def test_one_pattern_can_be_named() -> None:
    """Only the named pattern is followed; a name that is not there is refused with the nearest one."""
    pit = Pit()
    pattern = SCHEMA.patterns["process_requirements"]
    only = replace(pattern, name="only", inherit=None, collect={"tools": ("requires_equipment",)})
    schema = replace(SCHEMA, patterns={**SCHEMA.patterns, "only": only})
    assert set(named(pit.infer(pattern="only", schema=schema))) == {("tools", "降水井")}
    assert ("tools", "降水井") in named(pit.infer(schema=schema))
    with pytest.raises(InvalidRequest, match="did you mean 'process_requirements'"):
        pit.infer(pattern="proces_requirements")


def test_the_deadline_stops_the_work() -> None:
    """A deadline that has passed raises; it does not shorten the answer."""
    pit = Pit()
    with pytest.raises(EngineTimeout):
        pit.infer(deadline=soon(-1))
    with pytest.raises(EngineTimeout):
        pit.infer(999, deadline=soon(-1))
    with pytest.raises(EngineTimeout):
        run(MemoryGraph(), deadline=soon(-1))


def test_no_starts_no_rules() -> None:
    """Without a start nothing is derived and nothing is read."""
    graph = MemoryGraph()
    assert run(graph) == Inference(rules=())
    assert graph.reads == []


def test_a_start_named_twice_counts_once_with_the_surer_one() -> None:
    """Two links to one node are one start."""
    pit = Pit()
    result = run(pit.graph, Start(pit.deep, 0.3), Start(pit.deep, 0.7))
    assert [r.score for r in result.rules if r.end.name == "坍塌"] == pytest.approx([0.7 * 0.8])
    with pytest.raises(ValueError, match="confidence"):
        Start(1, float("nan"))


@settings(max_examples=40)
@given(st.data())
def test_the_order_of_the_edges_does_not_matter(data: st.DataObject) -> None:
    """However a graph orders its answers, the rules, their scores, their paths and what is cut are the same."""
    relations = ["is_a", "part_of", "requires_equipment", "produces_hazard", "mitigated_by", "triggers"]
    said = data.draw(
        st.lists(
            st.tuples(
                st.integers(1, 6), st.sampled_from(relations), st.integers(1, 6), st.sampled_from(["", "depth_m > 3.0"]),
                st.sampled_from([0.5, 1.0]), st.sampled_from(["mandatory", "informative"]),
            ),
            max_size=30, unique_by=lambda s: s[:4],
        )
    )  # fmt: skip
    limits = InferenceLimits(data.draw(st.integers(1, 20)), 10)
    results = []
    for seed in (None, 1, 2):
        graph = MemoryGraph(random.Random(seed) if seed else None)
        numbers = [graph.node("process", f"p{i}") for i in range(1, 7)]
        for src, rel, dst, when, weight, strength in said:
            graph.say(src, rel, dst, when, weight=weight, strength=strength)
        results.append(run(graph, *numbers[:2], limits=limits))
    assert results[0] == results[1] == results[2]
    for rule in results[0].rules:
        visited = [rule.start.node_id, *(step.edge.end.node_id for step in rule.steps)]
        assert len(set(visited)) == len(visited)
        assert 0 <= rule.score <= 1
