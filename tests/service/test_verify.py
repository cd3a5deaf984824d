"""Verdicts on answers, against a library with sources of different trust, validity and terms, and with rules."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import pytest

import wenyuan
from wenyuan.core.access import Principal, parse_agent
from wenyuan.core.claims import Claim, claims_of
from wenyuan.core.errors import EngineUnavailable, InvalidRequest, KnowledgeError
from wenyuan.packs.shipped import located
from wenyuan.readers.rulebooks.selection import read_book
from wenyuan.service.audit.rerun import Replay
from wenyuan.service.verification import MOST_CHARS, MOST_CLAIMS, JudgedClaim, VerifyRequest, as_data

TEXTS = {
    "policy": "# 投诉处理\n\n客户投诉应当在24小时内首次响应，并登记投诉编号。\n\n投诉登记之后，应当在五个工作日内答复客户。\n",
    "old": "# 投诉处理（2019）\n\n客户投诉应当在72小时内首次响应，由前台登记。\n",
    "wiki": "# Wiki\n\nComplaints are usually answered within three days by whoever is there.\n",
    "manual": "# Pump manual\n\nThe pump must not run dry for more than ten seconds. "
    "Bearings are greased every 500 hours of operation with lithium grease.\n",
    "secret": "# Payroll\n\nSalaries are paid on the twenty-fifth day of each month without exception.\n",
}


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[wenyuan.Library]:
    folder: Path = tmp_path_factory.mktemp("verify")
    with wenyuan.open(folder / "library", create=True, encoder={"kind": "hashing"}, search={"deadline": 60}) as made:
        for name, text in TEXTS.items():
            (folder / name).mkdir()
            (folder / name / f"{name}.md").write_text(text, "utf-8")
        more: dict[str, dict[str, Any]] = {
            "policy": {"trust": 5}, "old": {"effective_until": date(2020, 12, 31)}, "wiki": {"trust": 2},
            "manual": {"copyright": "excerpt<=40"}, "secret": {},
        }  # fmt: skip
        for name, told in more.items():
            made.add(wenyuan.Source(source_id=name, path=str(folder / name), domain=name, **told))
        for agent, domain in (("support", "policy"), ("nobody", "wiki")):
            made.catalog.put_agent(parse_agent({"agent_id": agent, "knowledge_scope": [{"domain": domain}]}))
        with located("construction") as pack:
            made.rules.take(read_book(pack))
        yield made


def judged(library: wenyuan.Library, text: str, *cited: str, **more: Any) -> JudgedClaim:
    principal = more.pop("principal", Principal())
    request = VerifyRequest(claims=(Claim(text, cited),), **more)
    (found,) = library.verify(request, principal).claims
    return found


@pytest.mark.parametrize(
    ("text", "cited", "more", "verdict"),
    [
        ("客户投诉应当在 24 小时内首次响应，并登记投诉编号。", (), {}, "verbatim"),
        ("客户投诉应当在24小时内首次响应", ("policy",), {}, "verbatim"),
        ("客户投诉应当在48小时内首次响应，并登记投诉编号。", ("policy",), {}, "number_changed"),
        ("投诉登记之后，可以在五个工作日内答复客户。", (), {}, "modality_changed"),
        ("投诉登记之后，应当在五个月内答复客户。", (), {}, "unit_changed"),
        ("客户投诉应当在24小时内首次响应", ("wiki",), {}, "wrong_source"),
        ("客户投诉应当在72小时内首次响应，由前台登记。", (), {}, "not_in_force"),
        ("客户投诉应当在72小时内首次响应，由前台登记。", (), {"as_of": date(2020, 6, 1)}, "verbatim"),
        ("Complaints are usually answered within three days by whoever is there.", (), {}, "verbatim"),
        ("Complaints are usually answered within three days by whoever is there.", (), {"min_trust": 3}, "low_trust"),
        ("The pump must not run dry", (), {}, "part"),
        ("The pump must not run dry for more than ten seconds.", (), {}, "over_copyright"),
        ("The pump may run dry for more than ten seconds.", (), {}, "modality_changed"),
        ("The pump must not run dry greased every 500 hours of operation with lithium grease.", (), {}, "stitched"),
        ("开挖深度超过5m的基坑工程，不需要组织专家论证专项施工方案。", (), {}, "against_rule"),
        ("zzqx wvvk 龘靐齉", (), {}, "nothing_found"),
    ],
)  # fmt: skip
def test_verdicts(
    library: wenyuan.Library, text: str, cited: tuple[str, ...], more: dict[str, Any], verdict: str
) -> None:
    """Each kind of claim has the verdict that its kind is for."""
    assert judged(library, text, *cited, **more).verdict == verdict


def test_a_verdict_shows_where_it_comes_from(library: wenyuan.Library) -> None:
    """The quote is the passage's own text between its offsets, and each change is shown on both sides."""
    found = judged(library, "客户投诉应当在48小时内首次响应，并登记投诉编号。", "policy")
    (quoted,) = found.evidence
    assert quoted.passage.source_id == "policy"
    assert (
        quoted.quote
        == quoted.passage.text[quoted.start : quoted.end]
        == "客户投诉应当在24小时内首次响应，并登记投诉编号"
    )
    assert [(change.was, change.said) for change in found.changes] == [("24小时", "48小时")]


def test_all_findings_are_named_gravest_first(library: wenyuan.Library) -> None:
    found = judged(library, "客户投诉应当在72小时内首次响应，由前台登记。", "policy", min_trust=4)
    assert found.findings == ("wrong_source", "not_in_force", "low_trust")
    assert found.verdict == "wrong_source"


def test_a_rule_is_named_with_its_clause(library: wenyuan.Library) -> None:
    found = judged(library, "开挖深度超过5m的基坑工程，不需要组织专家论证专项施工方案。")
    assert found.rule is not None
    assert "#rule-" in found.rule.id
    assert found.rule.clause
    assert [(change.was, change.said) for change in found.changes] == [("应", "不需要")]


@pytest.mark.parametrize("mark", ["1", "policy", "POLICY_URI", "PASSAGE"])
def test_citations_in_every_form(library: wenyuan.Library, mark: str) -> None:
    """A mark with what it stands for, the id of a source, an address, the id of a passage."""
    text = "客户投诉应当在24小时内首次响应"
    passage = judged(library, text).evidence[0].passage
    told = {"1": "policy", "POLICY_URI": passage.uri, "PASSAGE": passage.ref}
    assert judged(library, text, mark, citations=told).verdict == "verbatim"
    assert judged(library, text, told.get(mark, mark)).verdict == "verbatim"


def test_what_is_no_source_is_told(library: wenyuan.Library) -> None:
    """A citation of nothing: the words are somewhere else, or nowhere; which of both is said."""
    found = judged(library, "客户投诉应当在24小时内首次响应", "no such thing")
    assert (found.verdict, found.unknown) == ("wrong_source", ("no such thing",))
    assert judged(library, "zzqx wvvk 龘靐齉", "policy#999999").unknown == ("policy#999999",)


def test_a_paraphrase_is_not_judged(library: wenyuan.Library) -> None:
    """It has the nearest passage, and no word or number of approval."""
    found = library.verify(VerifyRequest(claims=(Claim("投诉要多久内响应客户？"),)))
    (said,) = as_data(found)["claims"]
    assert said["verdict"] == "not_judged"
    assert said["evidence"]
    assert "probability" not in said


def test_an_agent_sees_its_own_sources_only(library: wenyuan.Library) -> None:
    """Another domain's words are not there for it, whether it cites them or not: told as what does not exist."""
    text = "Salaries are paid on the twenty-fifth day of each month without exception."
    passage = judged(library, text).evidence[0].passage
    support = Principal(agent_id="support")
    for cited in ((), ("secret",), (passage.uri,), (passage.ref,)):
        found = judged(library, text, *cited, principal=support)
        assert found.verdict in ("nothing_found", "not_judged")
        assert {one.passage.source_id for one in found.evidence} <= {"policy"}
        assert found.unknown == cited
    assert judged(library, "客户投诉应当在24小时内首次响应", principal=support).verdict == "verbatim"


def test_several_claims_of_one_text(library: wenyuan.Library) -> None:
    """Counts are of verdicts, in a fixed order, and the record of it is in the audit, with no text in the chain."""
    text = "客户投诉应当在24小时内首次响应[1]。投诉登记之后，应当在六个工作日内答复客户[1]。龘靐齉 zzqx wvvk。"
    found = library.verify(VerifyRequest(claims=tuple(claims_of(text)), citations={"1": "policy"}))
    assert dict(found.counts) == {"verbatim": 1, "number_changed": 1, "nothing_found": 1}
    library.audit.flush()
    kept = library.audit.show(found.audit_id)
    assert kept.kind == "verification"
    assert [claim["verdict"] for claim in kept.record["claims"]] == [
        "verbatim",
        "number_changed",
        "nothing_found",
    ]
    assert "投诉" not in str(kept.record)
    assert kept.query is not None
    assert len(kept.query["claims"]) == 3


PAIR = {
    "zh": ("客户投诉应当在24小时内首次响应[1]。客户投诉应当在72小时内首次响应[2]。", "客户投诉应当在48小时内首次响应，并登记投诉编号。"),
    "en": ("The pump must not run dry for more than ten seconds[1].", "The pump must not run dry for more than five seconds."),
}  # fmt: skip


@pytest.fixture
def own(tmp_path: Path) -> Iterator[wenyuan.Library]:
    """A library that a test may change."""
    with wenyuan.open(
        tmp_path / "library", create=True, encoder={"kind": "hashing"}, search={"deadline": 60}
    ) as made:
        for name in ("policy", "manual"):
            (tmp_path / name).mkdir()
            (tmp_path / name / f"{name}.md").write_text(TEXTS[name], "utf-8")
            made.add(wenyuan.Source(source_id=name, path=str(tmp_path / name), domain=name))
        made.catalog.put_agent(parse_agent({"agent_id": "support", "knowledge_scope": [{"domain": "policy"}]}))
        yield made


def verified(library: wenyuan.Library, text: str, principal: Principal | None = None) -> str:
    """The id of the record of a verification."""
    request = VerifyRequest(claims=tuple(claims_of(text)), citations={"1": "policy", "2": "manual"})
    return library.verify(request, principal or Principal()).audit_id


@pytest.mark.parametrize("language", PAIR)
def test_a_verification_is_replayed(own: wenyuan.Library, language: str) -> None:
    """The same claims, with what they cite, have the same verdicts; where the library has changed the verdict that differs is told."""
    audit_id = verified(own, " ".join(PAIR[language]))
    assert own.replay(audit_id) == Replay(identical=True)
    with pytest.raises(InvalidRequest, match="retrieval"):
        own.replay(audit_id, exact=True)
    name = "policy" if language == "zh" else "manual"
    path = Path(own.catalog.source(name).path) / f"{name}.md"
    path.write_text(
        path.read_text("utf-8").replace("24小时", "48小时").replace("ten seconds", "five seconds"), "utf-8"
    )
    own.ingest(name)
    changed = own.replay(audit_id)
    assert not changed.identical
    assert {one.what for one in changed.differences} == {"document changed"}
    own.remove(name)
    assert {one.what for one in own.replay(audit_id).differences} == {"source removed"}


def test_a_verdict_that_nothing_was_found_for_changes(own: wenyuan.Library, tmp_path: Path) -> None:
    """What was in no source then and is now: both verdicts are told."""
    audit_id = verified(own, "龘靐齉 zzqx wvvk。")
    (tmp_path / "policy" / "new.md").write_text("# 新\n\n龘靐齉 zzqx wvvk。\n", "utf-8")
    own.ingest("policy")
    (one,) = own.replay(audit_id).differences
    assert (one.what, one.detail) == ("verdict changed", "was nothing_found, is verbatim")


def test_a_verification_of_an_agent_is_replayed_in_its_scope(own: wenyuan.Library) -> None:
    audit_id = verified(own, PAIR["en"][1], Principal(agent_id="support"))
    own.audit.flush()
    assert own.audit.show(audit_id).record["claims"][0]["verdict"] != "number_changed"
    assert own.replay(audit_id).identical
    assert own.replay(audit_id, principal=Principal(agent_id="support")).identical


def test_what_became_of_a_passage_is_told_to_whom_may_see_its_source(own: wenyuan.Library) -> None:
    """An agent that may not see the source any more learns that the verdict differs, and not what was done to the document."""
    support = Principal(agent_id="support")
    audit_id = verified(own, PAIR["zh"][0], support)
    path = Path(own.catalog.source("policy").path) / "policy.md"
    path.write_text(path.read_text("utf-8").replace("24小时", "48小时"), "utf-8")
    own.ingest("policy")
    assert {one.what for one in own.replay(audit_id, principal=support).differences} == {"document changed"}
    own.catalog.put_agent(parse_agent({"agent_id": "support", "knowledge_scope": [{"domain": "manual"}]}))
    told = own.replay(audit_id, principal=support).differences
    assert {one.what for one in told} == {"verdict changed"}
    assert "file:" not in str(told)


def test_claims_are_kept_redacted_and_may_be_erased(own: wenyuan.Library) -> None:
    """A number of a person in a claim, or in what it cites, is kept nowhere; what is not kept cannot be judged again, and that is said."""
    phone = "13800138000"
    audit_id = own.verify(
        VerifyRequest(claims=(Claim(f"客户投诉应当在24小时内首次响应，电话{phone}。", (phone, "policy")),))
    ).audit_id
    own.audit.flush()
    kept = own.audit.show(audit_id)
    assert kept.query is not None
    assert phone not in str(kept.query) + str(kept.record)
    assert kept.query["sources"] == [["138****8000", "policy"]]
    assert kept.record["redacted"] == {"cn_mobile": 2}
    again = own.replay(audit_id)
    assert again.identical or [one.what for one in again.differences] == ["query redacted"]
    own.audit.erase_queries(audit_ids=[audit_id])
    gone = own.replay(audit_id)
    assert (gone.asked, [one.what for one in gone.differences]) == (False, ["query erased"])


def test_a_failure_is_no_verdict(library: wenyuan.Library, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the index cannot be asked nothing is said of any claim."""

    def broken(*_: Any, **__: Any) -> Any:
        raise EngineUnavailable("gone", component="engine")

    monkeypatch.setattr(library.engine, "keyword", broken)
    with pytest.raises(KnowledgeError, match="gone"):
        judged(library, "客户投诉应当在24小时内首次响应")
    library.audit.flush()
    (kept,) = library.audit.list(limit=1)
    assert (kept.record["door"], kept.record["status"]) == ("verify", "FAILED")


def test_what_lies_outside_the_scope_is_an_error(library: wenyuan.Library, monkeypatch: pytest.MonkeyPatch) -> None:
    """An index that gives another domain's passage is believed nothing; the passage is not shown."""
    text = "Salaries are paid on the twenty-fifth day of each month without exception."
    real, every = library.engine.keyword, frozenset(TEXTS)

    def wide(words: Any, *, scope: Any, **more: Any) -> Any:
        return real(words, scope=replace(scope, sources=every), **more)

    monkeypatch.setattr(library.engine, "keyword", wide)
    with pytest.raises(KnowledgeError, match="outside the scope"):
        judged(library, text, principal=Principal(agent_id="support"))


@pytest.mark.parametrize(
    ("claims", "said"),
    [
        ((), "claims must be 1 to"),
        ((Claim("x"),) * (MOST_CLAIMS + 1), "claims must be 1 to"),
        ((Claim(" "),), r"claims\[0\].text must have 1 to"),
        ((Claim("x"), Claim("字" * (MOST_CHARS + 1))), r"claims\[1\].text must have 1 to"),
    ],
)
def test_what_is_no_request(claims: tuple[Claim, ...], said: str) -> None:
    with pytest.raises(InvalidRequest, match=said):
        VerifyRequest(claims=claims)
    with pytest.raises(InvalidRequest, match="min_trust"):
        replace(VerifyRequest(claims=(Claim("x"),)), min_trust=9)


def test_what_is_in_force_is_compared_first(tmp_path: Path) -> None:
    """A claim in other words that the rule in force has is not judged by the rule that was repealed."""
    (tmp_path / "old.md").write_text("病假工资按照员工基本工资的60%按月发放。\n", "utf-8")
    (tmp_path / "new.md").write_text("病假期间的工资按照员工本人基本工资的80%按月发放给员工。\n", "utf-8")
    with wenyuan.open(tmp_path / "library", create=True, encoder={"kind": "none"}) as made:
        made.add(wenyuan.Source(source_id="old", path=str(tmp_path / "old.md"), effective_until=date(2024, 1, 1)))
        made.add(wenyuan.Source(source_id="new", path=str(tmp_path / "new.md")))
        found = judged(made, "病假工资按照员工基本工资的80%按月发放")
    assert found.verdict == "not_judged"
    assert "not_in_force" not in found.findings
