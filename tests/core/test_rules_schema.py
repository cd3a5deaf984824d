"""What a schema may say, and what is said about one that is wrong."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest

from rules_graph import SCHEMA_TREE, example_schema
from wenyuan.core.errors import InvalidRequest
from wenyuan.core.rules.schema import InferenceLimits, Inherit, Parameter, Schema, label_in, merged
from wenyuan.core.rules.schema_parser import parse_schema


def faults_of(tree: object, **more: Any) -> dict[str, str]:
    with pytest.raises(InvalidRequest) as caught:
        parse_schema(tree, **more)
    return {fault.path: fault.message for fault in caught.value.faults}


def with_change(path: str, value: object) -> dict[str, Any]:
    tree: dict[str, Any] = copy.deepcopy(SCHEMA_TREE)
    *parents, last = path.split(".")
    at = tree
    for key in parents:
        at = at.setdefault(key, {})
    at[last] = value
    return tree


def test_a_schema_is_read_into_values() -> None:
    """Kinds, relations, parameters, patterns and limits are what the tree says."""
    schema = example_schema()
    assert schema.kinds["hazard"].labels == {"zh": "危险源", "en": "hazard"}
    assert schema.relations["triggers"].sources == ("process",)
    assert schema.parameters["depth_m"] == Parameter(
        "depth_m", "number", "m", {"zh": "开挖深度", "en": "excavation depth"}
    )
    pattern = schema.patterns["process_requirements"]
    assert pattern.inherit == Inherit(("is_a", "part_of"), 3)
    assert pattern.collect["safety_measures"] == ("produces_hazard", "mitigated_by")
    assert schema.limits == InferenceLimits(2000, 500)


def test_a_tree_comes_back_through_json() -> None:
    """What to_tree gives is JSON, and parses to the same schema."""
    for tree in (SCHEMA_TREE, with_change("limits", {"max_frontier": 7, "max_results": 3}), {}):
        schema = parse_schema(tree)
        assert parse_schema(json.loads(json.dumps(schema.to_tree()))) == schema


def test_all_faults_are_told_at_once() -> None:
    """Every fault has its own path, and nothing stops at the first one."""
    faults = faults_of(
        {
            "kinds": {"process": {"zh": ""}, "statements": {}, "a/b": {}},
            "relations": {
                "uses": {"form": ["process"], "to": ["proces"]},
                "weight": {"sentence": {"zh": "{src}要{what}"}},
            },
            "parameters": {"depth": {"type": "numbr"}, "深度": {"type": "number"}},
            "patterns": {"p": {"start": "hazard", "collect": {"x": ["use"], "y": []}, "inherit": {"max_depth": 99}}},
            "limits": {"max_frontier": 0, "max_result": 3},
            "scope_kind": 7,
        },
        where="pack.yaml",
    )
    paths = """kinds.process.zh kinds.statements kinds.a/b relations.uses.form relations.uses.to[0] relations.weight
        relations.weight.sentence.zh parameters.depth.type parameters.深度 patterns.p.start patterns.p.collect.x[0]
        patterns.p.collect.y patterns.p.inherit.via patterns.p.inherit.max_depth limits.max_frontier limits
        scope_kind""".split()
    assert set(faults) == {f"pack.yaml.{path}" for path in paths}
    assert "did you mean 'from'" in faults["pack.yaml.relations.uses.form"]
    assert "did you mean 'process'" in faults["pack.yaml.relations.uses.to[0]"]
    assert "did you mean 'number'" in faults["pack.yaml.parameters.depth.type"]
    assert "did you mean 'max_results'" in faults["pack.yaml.limits"]


@pytest.mark.parametrize(
    "tree", [[], "schema", 3, {"kinds": ["process"]}, {"kind": {}}, {1: {}}, {"patterns": {"p": 1}}]
)
def test_a_tree_of_the_wrong_shape_is_a_fault(tree: object) -> None:
    """Whatever stands there instead of an object is refused, never skipped."""
    assert faults_of(tree)


def test_a_chain_has_to_hang_together() -> None:
    """A step has to lead from a kind that the step before leads to, and the first one from the start."""
    at = "patterns.process_requirements.collect.x"
    assert "'mitigated_by' leads from hazard" in faults_of(with_change(at, ["mitigated_by"]))[f"schema.{at}[0]"]
    assert f"schema.{at}[1]" in faults_of(with_change(at, ["produces_hazard", "triggers"]))
    assert "schema.patterns.process_requirements.inherit.via" in faults_of(
        with_change("patterns.process_requirements.inherit.via", ["is_a", "mitigated_by"])
    )
    assert parse_schema(with_change(at, ["is_a", "produces_hazard"])), "is_a leads from any kind to any kind"


def test_any_language_is_a_label_and_a_mistyped_field_is_not() -> None:
    """Tags such as de and zh-Hant are labels; ``unti`` is a mistake for ``unit``."""
    at = "parameters.depth_m"
    schema = parse_schema(with_change(at, {"type": "number", "de": "Tiefe", "zh-Hant": "開挖深度", "yue": "深度"}))
    assert schema.parameters["depth_m"].labels["zh-Hant"] == "開挖深度"
    assert "did you mean 'unit'" in faults_of(with_change(f"{at}.unti", "m"))[f"schema.{at}.unti"]


def test_a_schema_may_name_what_another_one_has_brought() -> None:
    """A second pack's pattern can use the first one's kinds and relations, and holds only its own."""
    tree = {"patterns": {"hazards_only": {"start": "process", "collect": {"h": ["produces_hazard"]}}}}
    assert faults_of(tree)
    second = parse_schema(tree, known=example_schema())
    assert not second.kinds
    assert set(merged(example_schema(), second).patterns) == {"process_requirements", "hazards_only"}


def test_equal_definitions_merge_and_labels_add_up() -> None:
    """Merging a schema with itself or with nothing changes nothing; a further language is added."""
    schema = example_schema()
    assert merged(schema, schema) == merged(schema, Schema()) == merged(Schema(), schema) == schema
    other = parse_schema({"kinds": {"process": {"fr": "opération"}}, "limits": {"max_results": 9}})
    both = merged(schema, other)
    assert both.kinds["process"].labels == {"zh": "工序", "en": "process", "fr": "opération"}
    assert both.limits.max_results == 9


def test_contradictions_are_named_all_at_once() -> None:
    """Two schemas that say different things of one name are not merged, and every such name is listed."""
    other = parse_schema(
        {
            "kinds": {"process": {"zh": "过程"}},
            "relations": {"triggers": {}},
            "parameters": {"depth_m": {"type": "integer", "unit": "m"}},
            "scope_kind": "process",
        }
    )
    with pytest.raises(InvalidRequest) as caught:
        merged(example_schema(), other)
    assert {f.path for f in caught.value.faults} == {
        "kinds.process.labels.zh", "relations.triggers.sources", "relations.triggers.targets",
        "parameters.depth_m.type", "scope_kind",
    }  # fmt: skip
    assert "'工序'" in caught.value.message
    assert "'过程'" in caught.value.message


def test_a_label_falls_back() -> None:
    """A regional tag falls back on its language, then on English, on any, on the id."""
    assert label_in({"zh": "工序", "en": "process"}, "zh-Hant", "p") == "工序"
    assert label_in({"zh": "工序", "en": "process"}, "fr", "p") == "process"
    assert label_in({"zh": "工序"}, "fr", "p") == "工序"
    assert label_in({}, "zh", "p") == "p"


def test_kinds_and_relations_have_aliases() -> None:
    """Aliases are read, written back, and added up where two packs give some; what is no list of texts is a fault."""
    tree = {
        "kinds": {"hazard": {"zh": "危险源", "aliases": ["危险因素"]}, "safety_measure": {}},
        "relations": {"mitigated_by": {"from": ["hazard"], "to": ["safety_measure"], "aliases": ["风险缓解"]}},
    }
    first = parse_schema(tree)
    assert first.relations["mitigated_by"].names == ("mitigated_by", "风险缓解")
    assert parse_schema(first.to_tree()) == first
    tree["relations"]["mitigated_by"]["aliases"] = ["控制措施", "风险缓解"]
    both = merged(first, parse_schema(tree))
    assert both.relations["mitigated_by"].aliases == ("风险缓解", "控制措施")
    assert both.kinds["hazard"].aliases == ("危险因素",)
    for wrong in ("风险缓解", [1], [" "]):
        tree["relations"]["mitigated_by"]["aliases"] = wrong
        with pytest.raises(InvalidRequest) as caught:
            parse_schema(tree)
        assert [f.path for f in caught.value.faults] == ["schema.relations.mitigated_by.aliases"]
