"""What a model proposes as rules: what is right may wait for a review, each lie is refused for its own reason."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest

from proposal_parts import BAN, LIARS, PLAN, REVIEW, SCHEMAS, both, changed, passage_of, shown
from wenyuan.core.answering import Shown
from wenyuan.core.rules import proposal_case
from wenyuan.core.rules.model import Node
from wenyuan.core.rules.proposal_case import GATES
from wenyuan.core.rules.proposal_checks import judge
from wenyuan.core.rules.proposal_form import clause_of
from wenyuan.core.rules.proposal_prompt import form_of, messages, read_proposals
from wenyuan.core.rules.proposals import REASONS, JudgedProposal, KnownRules, KnownStatement, Proposal
from wenyuan.core.rules.schema_parser import parse_schema

LANGUAGES = ("zh", "en")


def holdings(language: str, nodes: tuple[Node, ...] = (), *statements: tuple[str, str, KnownStatement]) -> KnownRules:
    return KnownRules.of(parse_schema(SCHEMAS[language]), {node.key: node for node in nodes}, statements)


def judged(language: str, *said: Proposal, held: KnownRules | None = None) -> list[JudgedProposal]:
    return judge(said, shown(language), held or holdings(language))


@pytest.mark.parametrize("language", LANGUAGES)
def test_what_the_clauses_say_may_wait_for_a_review(language: str) -> None:
    """With the quote out of the stored text, the clause's number, and names that are new."""
    found = judged(language, REVIEW[language], PLAN[language], BAN[language])
    assert [one.reason for one in found] == ["", "", ""]
    first = found[0].statement
    assert first is not None
    assert (first.status, first.condition) == ("proposed", REVIEW[language].condition)
    assert first.evidences[0].quote in passage_of(language, 1).text
    assert first.evidences[0].uri == "file:///law.md"
    assert first.evidences[0].clause == {"zh": "第十条", "en": "Article 4"}[language]
    assert {node.key for node in found[0].nodes} == {first.src, first.dst}


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("liar", LIARS)
def test_each_lie_is_refused_for_its_reason(language: str, liar: str) -> None:
    said, reason = LIARS[liar]
    (found,) = judged(language, said[language])
    assert (found.reason, found.statement) == (reason, None)
    assert found.reason in REASONS


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("liar", [liar for liar, (_, reason) in LIARS.items() if reason in GATES])
def test_each_gate_holds_its_liar_alone(language: str, liar: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the gate the lie would wait for a review."""
    said, reason = LIARS[liar]
    monkeypatch.setattr(proposal_case, "GATES", GATES - {reason})
    (found,) = judged(language, said[language])
    assert (found.reason, found.statement is None) == ("", False)


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_paraphrase_lends_no_words_to_the_rule(language: str) -> None:
    """The rule is then said by its relation; only whole quoted sentences are its own words."""
    said = changed(
        PLAN,
        zh={"text": "基坑工程开工前，施工单位应当编制专项施工方案。"},
        en={"text": "All invoices must be subject to encrypted storage."},
    )
    (found,) = judged(language, said[language])
    assert found.statement is not None
    assert found.statement.sentence == {}


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_same_twice_is_proposed_once(language: str) -> None:
    found = judged(language, PLAN[language], PLAN[language], both(PLAN, strength="mandatory")[language])
    assert [one.reason for one in found] == ["", "duplicate_statement", "duplicate_statement"]


def graph(language: str, status: str, **other: Any) -> KnownRules:
    """A graph that holds what the first clause says, or something near to it."""
    (found,) = judged(language, REVIEW[language])
    assert found.statement is not None
    said = found.statement
    standing = KnownStatement(7, said.rel, said.condition, said.strength, status)._replace(**other)
    return holdings(language, found.nodes, (said.src, said.dst, standing))


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize(
    ("status", "reason"),
    [
        ("approved", "in_force"), ("proposed", "proposed_before"), ("rejected", "rejected_before"),
        ("retired", "retired_before"),
    ],
)  # fmt: skip
def test_what_stands_in_the_graph_is_not_proposed_again(language: str, status: str, reason: str) -> None:
    """Also where its condition is spaced or its number written otherwise; least of all what a person has rejected."""
    held = graph(language, status)
    same = REVIEW[language].condition
    whole = re.sub(r"\.0(?!\d)", "", same)
    assert whole != same
    for condition in (same, same.replace(" ", ""), whole):
        (found,) = judged(language, REVIEW[language]._replace(condition=condition), held=held)
        assert (found.reason, found.rival) == (reason, 7)


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize(
    "other",
    [{"condition": "{name} > 3.0"}, {"condition": ""}, {"strength": "recommended"}, {"rel": "forbids"}],
)
def test_what_contradicts_a_rule_in_force_is_refused(language: str, other: dict[str, str]) -> None:
    """Another threshold for the same, no condition where there was one, another strength, a ban of what is demanded."""
    name = {"zh": "depth_m", "en": "age_years"}[language]
    held = graph(language, "approved", **{key: value.format(name=name) for key, value in other.items()})
    (found,) = judged(language, REVIEW[language], held=held)
    assert (found.reason, found.rival) == ("conflict", 7)


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_name_that_the_graph_has_is_its_node(language: str) -> None:
    """By an alias, too; as another kind it is refused."""
    kind, name = {"zh": ("process", "深基坑施工"), "en": ("record", "Bills")}[language]
    alias = {"zh": "基坑工程", "en": "Invoices"}[language]
    node = Node(key="n/1", kind=kind, name=name, labels={language: alias})
    (found,) = judged(language, PLAN[language], held=holdings(language, (node,)))
    assert found.statement is not None and found.statement.src == "n/1"
    assert [new.name for new in found.nodes] == [PLAN[language].dst]
    wrong = Node(key="n/1", kind=PLAN[language].dst_kind, name=alias)
    (found,) = judged(language, PLAN[language], held=holdings(language, (wrong,)))
    assert found.reason == "wrong_kind"


@pytest.mark.parametrize(
    ("language", "text", "unit", "good", "bad"),
    [
        ("zh", "深度达到五米的基坑工程，应当组织专家论证。", "cm", "value >= 500.0", "value >= 5.0"),
        ("zh", "深度未满５米的基坑工程，应当组织专家论证。", "m", "value < 5.0", "value >= 5.0"),
        (
            "en",
            "Pits of five metres or more must be subject to expert review.",
            "cm",
            "value >= 500.0",
            "value >= 5.0",
        ),
        ("en", "Pits shallower than 5 m must be subject to expert review.", "m", "value < 5.0", "value < 6.0"),
    ],
)
def test_a_number_is_read_in_the_parameters_unit(language: str, text: str, unit: str, good: str, bad: str) -> None:
    """500 cm are five metres: a threshold in another unit is the same number of the clause."""
    schema = parse_schema({**SCHEMAS[language], "parameters": {"value": {"type": "number", "unit": unit}}})
    passage = replace(passage_of(language, 1), text=text)
    first, last = {"zh": (text[:4], text[-5:]), "en": (text[:10], text[-14:])}[language]
    src, dst = {"zh": ("基坑工程", "专家论证"), "en": ("Pits", "expert review")}[language]
    said = REVIEW[language]._replace(src=src, dst=dst, text=text, first=first, last=last)
    reasons = [
        judge([said._replace(condition=condition)], [Shown(passage, text)], KnownRules.of(schema, {}, ()))[0].reason
        for condition in (good, bad)
    ]
    assert reasons == ["", "number_changed"]


def test_the_model_is_told_no_name_that_its_passages_do_not_have() -> None:
    """Names of other sources may not be shown to it."""
    nodes = (
        Node(key="a", kind="process", name="基坑工程"), Node(key="b", kind="process", name="秘密工序"),
        Node(key="c", kind="process", name="内部名称", labels={"zh": "专家论证"}),
    )  # fmt: skip
    told = messages(holdings("zh", nodes), shown("zh"))[1]["content"]
    assert "基坑工程" in told and "专家论证" in told
    assert "秘密工序" not in told and "内部名称" not in told


def test_the_form_of_a_reply_has_closed_lists() -> None:
    item = form_of(parse_schema(SCHEMAS["zh"]))["properties"]["statements"]["items"]
    assert item["properties"]["relation"]["enum"] == ["demands", "forbids"]
    assert set(item["required"]) == set(Proposal._fields)


@pytest.mark.parametrize(
    "value",
    [
        None, [], {}, {"statements": "none"}, {"statements": [1]}, {"statements": [{}]},
        {"statements": [PLAN["zh"]._asdict() | {"src": ""}]}, {"statements": [PLAN["zh"]._asdict() | {"src": 3}]},
        {"statements": [PLAN["zh"]._asdict() | {"strength": "eternal"}]},
        {"statements": [PLAN["zh"]._asdict() | {"text": "x" * 2_000}]}, {"statements": [PLAN["zh"]._asdict()] * 61},
        {"statements": [PLAN["zh"]._asdict() | {"status": "approved", "first": "\0"}]},
    ],
)  # fmt: skip
def test_a_reply_of_another_form_is_refused(value: Any) -> None:
    with pytest.raises(ValueError, match="statements"):
        read_proposals(value)


@pytest.mark.parametrize(
    ("said", "dst", "reason"),
    [
        (BAN["zh"], "不得超载堆放", ""), (BAN["en"], "must not public disclosure", ""),
        (PLAN["zh"], "无需专项施工方案", "negation_changed"), (PLAN["en"], "no encrypted storage", "negation_changed"),
    ],
)  # fmt: skip
def test_a_negation_in_a_name_is_one_of_the_clause(said: Proposal, dst: str, reason: str) -> None:
    """A name may be a ban where the clause bans; it turns no duty into one."""
    language = "zh" if said in (BAN["zh"], PLAN["zh"]) else "en"
    (found,) = judged(language, said._replace(dst=dst))
    assert found.reason == reason


def test_a_model_cannot_approve() -> None:
    """What else it writes beside the members that there are is nothing."""
    (said,) = read_proposals({"statements": [PLAN["zh"]._asdict() | {"status": "approved", "trust": 5}]})
    (found,) = judged("zh", said)
    assert found.statement is not None and found.statement.status == "proposed"


def test_the_clause_is_the_numbered_line_above_the_quote() -> None:
    passage = replace(passage_of("zh", 1), text="第三条 总则。\n第四条 基坑应当支护。")
    assert clause_of(passage, 9) == "第四条"
    assert clause_of(replace(passage, text="基坑应当支护。", headings=("第五条 支护",)), 0) == "第五条"


@pytest.mark.parametrize(
    ("language", "lead_in", "item", "reason"),
    [
        ("zh", "下列基坑工程应当组织专家论证：", "（一）占用道路的，专家论证；", ""),
        ("zh", "下列基坑工程较为常见：", "（一）占用道路的，专家论证；", "modality_changed"),
        ("en", "Invoices must be subject to:", "(a) secure deletion after use;", ""),
        ("en", "Invoices are often subject to:", "(a) secure deletion after use;", "modality_changed"),
    ],
)
def test_an_entry_of_a_list_binds_as_what_opens_the_list(language: str, lead_in: str, item: str, reason: str) -> None:
    """The duty stands above the entries, and so may the subject."""
    passage = replace(passage_of(language, 1), text=f"{lead_in}\n\n{item}")
    first, last = {"zh": ("占用道路", "的，专家论证"), "en": ("secure deletion", "after use")}[language]
    text = {"zh": "占用道路的，专家论证", "en": "secure deletion after use"}[language]
    said = REVIEW[language]._replace(condition="", text=text, first=first, last=last)
    (found,) = judge([said], [Shown(passage, passage.text)], holdings(language))
    assert found.reason == reason


@pytest.mark.parametrize(
    ("language", "text", "dst"),
    [
        ("zh", "基坑工程不得超载堆放，剩余材料必须当班清退。", "剩余材料清退"),
        ("en", "Invoices must not be copied, and the originals must be subject to secure deletion.", "deletion of originals"),
    ],
)  # fmt: skip
def test_a_ban_in_another_part_of_the_sentence_is_not_of_this_rule(language: str, text: str, dst: str) -> None:
    passage = replace(passage_of(language, 1), text=text)
    first, last = {"zh": (text[:6], text[-6:]), "en": (text[:20], text[-18:])}[language]
    said = PLAN[language]._replace(dst=dst, text=text, passage="law#1", first=first, last=last)
    reasons = [
        judge([said._replace(relation=name)], [Shown(passage, text)], holdings(language))[0].reason
        for name in ("demands", "forbids")
    ]
    assert reasons == ["", "negation_changed"]


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_subject_may_stand_in_a_clause_before(language: str) -> None:
    """Of the same document only."""
    before, clause = {
        "zh": ("第一条 本办法适用于基坑工程。", "第二条 施工单位应当编制专项施工方案。"),
        "en": ("Article 1 This policy is about invoices.", "Article 2 They must be subject to encrypted storage."),
    }[language]
    one, two = (replace(passage_of(language, n), text=text) for n, text in ((1, before), (2, clause)))
    one, two = replace(one, title=""), replace(two, title="")
    first, last = {"zh": ("施工单位应当", "专项施工方案"), "en": ("They must be", "encrypted storage")}[language]
    said = PLAN[language]._replace(
        text=clause.split(maxsplit=1 if language == "zh" else 2)[-1], first=first, last=last
    )
    for document, reason in ((1, ""), (2, "end_not_said")):
        other = replace(one, document_id=document)
        (found,) = judge([said], [Shown(other, before), Shown(two, clause)], holdings(language))
        assert found.reason == reason
