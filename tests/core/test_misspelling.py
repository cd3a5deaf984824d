"""Restrictions that are spelled wrongly are found, and ordinary keys of a context are left alone."""

from __future__ import annotations

import pytest

from wenyuan.core.misspelling import distance, meant_by
from wenyuan.core.restrictions import faults_of, misplaced_in

ORDINARY = """
    min_temperature domain_expert agent_name filter_size user_id session_id request_id trace_id conversation_id
    locale min_pressure max_depth max_load min_truss min_thrust min_rust filer filler fitter domain_name
    email_domain main_topic remain agency agenda gender age tone style channel platform device region project
    project_name customer customer_name filter_cartridge air_filter oil_filter user_agent agent_version
    agent_role trusted_by trustee trust_fund entrusted_to priority depth k user document_title document_type
    section clause processor processed_at procedure perimeter diameter parametric chapter_title chapters_done
    charter story historical history_of_changes newest dearest rewritten_by author written task task_name tasks
    ask mask_id result results max_speed maximum 章节 项目 客户 部门 设备 温度 工程 人员 领导 领用人 领土 过滤器型号 滤芯 智能制造 可信计算 来电号码 语音 日程
    期限 岗位 地区 领奖
""".split()
MISSPELT = [
    *"""
    min_trusts mintrusts min_trsut min_turst min_trut min_truste mim_trust min_trus nim_trust min-trusts
    MinTrusts MIN_TRSUT min_tust min_ttrust mini_trust min_trust_ min__trst domian doamin domani domaim domin
    domainn dommain domaine domian_ Domian DOMIAN d0main ｄｏｍｉａｎ ｆｉｌｔｅｒｓ filtre fitler fliter flter filterr filtr
    filter_ filtes Filtre filters_ fi1ter agent_ids agnet_id agent_idd agentt_id agent-ids agent_di aegnt_id
    agetn_id max_result maxresult max_reslts max_resuts max_results_ as_off asfo as__of source_document_url
    source_docment_uri source_document_uris metadata_fitler metadata_filterr score_treshold score_threshhold
    search_kwarg knowledge_scop knowlege_scope minimum_trus 領域 過濾 過濾條件 最低可信渡 过滤条见 知识领城 可信度_ 知识领域s
    """.split(),
    "filters ", " domain", "min trust ", "min\u200btrusts", "d\u043emain",
]  # fmt: skip


def test_ordinary_keys_of_a_context_are_accepted() -> None:
    """Words of their own near to a restriction, and restrictions as a part of another name, restrict nothing."""
    assert len(ORDINARY) >= 100
    assert [key for key in ORDINARY if faults_of({key: "x"})] == []
    assert [key for key in ORDINARY if misplaced_in({key: "x"}, ("query", "knowledge_id", "top_k"), {})] == []


def test_a_restriction_with_a_letter_amiss_is_refused() -> None:
    """In a context and in the body of another protocol; none of them is passed over."""
    assert len(MISSPELT) >= 80
    assert [key for key in MISSPELT if not faults_of({key: "x"})] == []
    assert [key for key in MISSPELT if not misplaced_in({key: "x"}, ("query",), {"filter": "filters"})] == []


@pytest.mark.parametrize(
    ("key", "meant"),
    [("min_trusts", "min_trust"), ("domian", "domain"), ("ｄｏｍｉａｎ", "domain"), ("agent_ids", "agent_id"), ("fitler", "filter"),
     ("procesess", "processes"), ("enginering_type", "engineering_type"), ("source_document_url", "source_document_uri")],
)  # fmt: skip
def test_what_was_meant_is_said(key: str, meant: str) -> None:
    """The fault names the restriction that is known."""
    assert [str(fault.message) for fault in faults_of({key: 3})] == [f"is not known here; did you mean {meant}?"]


def test_a_member_of_the_protocol_with_a_letter_amiss_is_named() -> None:
    """What the protocol itself knows is found before what it says otherwise."""
    own = ("query", "max_num_results", "ranking_options", "filters")
    told = {f.path: str(f.message) for f in misplaced_in({"max_num_result": 1, "rankng_options": {}}, own, {})}
    assert "max_num_results?" in told["max_num_result"]
    assert "ranking_options?" in told["rankng_options"]


def test_letters_amiss_are_counted() -> None:
    """Too many, missing, others, and neighbours exchanged count one each; beyond the bound nothing more is counted."""
    pairs = {("domian", "domain"): 1, ("domainn", "domain"): 1, ("dmain", "domain"): 1, ("domaim", "domain"): 1}
    assert {pair: distance(*pair, 2) for pair in pairs} == pairs
    assert distance("x" * 9, "domain", 2) == 3
    assert meant_by("domain", ["domain"]) is None
