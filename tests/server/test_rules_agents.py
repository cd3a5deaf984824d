"""Which rules an agent may read by their number, and what it is told of those that it was given."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from governed_door import key, send
from http_door import assert_problem
from rules_door import AGENTS, BOOK, rules_server
from wenyuan.core.access import Principal, parse_agent
from wenyuan.core.errors import NotPermitted
from wenyuan.readers.rulebooks.selection import read_book

PIT = {"processes": ["深基坑开挖"]}


KINDS = (
    ("挖掘机", "evidence: [{source: code_a}]"),
    ("旧规定", "valid_until: 2020-01-01, evidence: [{source: code_a}]"),
    ("新规定", "valid_from: 2099-01-01, evidence: [{source: code_a}]"),
    ("草稿", "evidence: [{source: code_a, trust: 1}]"),
    ("两处", "evidence: [{source: code_a, trust: 1, quote: 低}, {source: code_b, trust: 4, quote: 高}]"),
    ("驳回", "evidence: [{source: code_a}]"),
    ("待审", "status: proposed, evidence: [{source: code_a}]"),
)
"""By what it leads to, how a statement is written: one that is served to all, and those that are not."""


def shown(served: tuple[str, Any], path: str, *, agent: str | None = None) -> Any:
    return send(served[0], "GET", path, None, key(served[1], "registry", agent=agent))


@pytest.mark.parametrize(
    ("least", "served_ones"), [(1, {"挖掘机", "草稿", "两处"}), (4, {"挖掘机", "两处"}), (5, {"挖掘机"})]
)
def test_an_agent_reads_the_statements_that_are_served_to_it(
    tmp_path: Path, least: int, served_ones: set[str]
) -> None:
    """By its number, too, a statement is there for an agent when it is approved, valid, and trusted enough."""
    ends = "".join(f"  - {{kind: equipment, name: {name}}}\n" for name, _ in KINDS)
    said = "".join(f"  - {{src: 深基坑开挖, rel: requires_equipment, dst: {name}, {rest}}}\n" for name, rest in KINDS)
    book = BOOK.split("  - {kind: equipment")[0] + ends + "statements:\n" + said
    (tmp_path / "pack.yaml").write_text(book, "utf-8")
    with rules_server(tmp_path) as served:
        library = served[1]
        assert not library.rules.take(read_book(tmp_path / "pack.yaml")).errors
        every = range(1, len(KINDS) + 1)
        names = {n: shown(served, f"/v1/rules/statements/{n}").json["dst"]["name"] for n in every}
        library.rules.review([n for n, name in names.items() if name == "驳回"], "reject", reason="内部意见")
        library.catalog.put_agent(parse_agent({**AGENTS[0], "min_trust": least}))
        bound = Principal(key_id="k", agent_id="builder")
        found = send(served[0], "POST", "/v1/infer_rules", PIT, key(library, "search", agent="builder")).json["items"]
        assert {item["metadata"]["name"] for item in found} == served_ones
        for number, name in names.items():
            path, ref = f"/v1/rules/statements/{number}", f"code_a#rule-{number}"
            assert shown(served, path).status == 200  # to who reviews, all are there
            answer = shown(served, path, agent="builder")
            if name not in served_ones:
                assert_problem(answer, 404, "not_found")
                with pytest.raises(NotPermitted, match="nothing to read"):
                    library.fetch(ref, bound)
                continue
            trusts = [e["trust"] for e in answer.json["evidences"]]
            assert trusts
            assert min(trusts) >= least
            read = library.fetch(ref, bound)
            assert read.metadata["trust"] == max(trusts)
            assert all(("低" in text) == (least == 1) for text in (read.text, str(answer.json)) if "高" in text)


def test_a_replay_tells_an_agent_not_why_a_rule_was_withdrawn(tmp_path: Path) -> None:
    """That a rule is withdrawn is told to the agent that got it; what the reviewer said of it, to the operator."""
    (tmp_path / "pack.yaml").write_text(BOOK, "utf-8")
    with rules_server(tmp_path) as (url, library):
        assert not library.rules.take(read_book(tmp_path / "pack.yaml")).errors
        found = send(url, "POST", "/v1/infer_rules", PIT, key(library, "search", agent="builder")).json
        library.rules.review([found["items"][0]["metadata"]["statement_id"]], "reject", reason="内部意见")
        for agent, knows in (("builder", False), (None, True)):
            token = key(library, "audit", agent=agent)
            again = send(url, "POST", f"/v1/audit/{found['audit_id']}/replay", {}, token).json
            withdrawn = [one["detail"] for one in again["differences"] if one["what"] == "rule withdrawn"]
            assert len(withdrawn) == 1
            assert ("内部意见" in withdrawn[0]) == knows


@pytest.mark.parametrize("agent", [None, "builder", "support"])
def test_what_is_guessed_names_no_rules_of_others(tmp_path: Path, agent: str | None) -> None:
    """A text that nearly says a name is told that name only where a rule about it is in the asker's scope."""
    (tmp_path / "pack.yaml").write_text(BOOK, "utf-8")
    with rules_server(tmp_path) as (url, library):
        library.rules.take(read_book(tmp_path / "pack.yaml"))
        asked = {"context": "Deep excavaton works"}
        answer = send(url, "POST", "/v1/infer_rules", asked, key(library, "search", agent=agent)).json
        if agent == "support":
            assert (answer["items"], answer["recognised"]) == ([], [])
            assert answer["reason"] == "no entity recognised"
        else:
            assert {one["name"] for one in answer["recognised"]} == {"深基坑开挖"}
            assert len(answer["items"]) == 2


@pytest.mark.parametrize("asked", [{"context": "深基坑开挖"}, {"processes": ["深基坑开挖"]}])
def test_an_exact_name_is_not_confirmed_to_whoever_sees_no_rule_of_it(
    tmp_path: Path, asked: dict[str, object]
) -> None:
    """To an agent, what only others' rules speak of is answered like a name that the graph does not know."""
    (tmp_path / "pack.yaml").write_text(BOOK, "utf-8")
    with rules_server(tmp_path) as (url, library):
        library.rules.take(read_book(tmp_path / "pack.yaml"))
        unknown = {name: "没有的工序" if name == "context" else ["没有的工序"] for name in asked}
        foreign, absent = (
            send(url, "POST", "/v1/infer_rules", body, key(library, "search", agent="support")).json
            for body in (asked, unknown)
        )
        assert foreign["unmatched_processes"] == asked.get("processes", [])
        assert {n: v for n, v in foreign.items() if n not in ("audit_id", "unmatched_processes")} == {
            n: v for n, v in absent.items() if n not in ("audit_id", "unmatched_processes")
        }
        for agent in ("builder", None):
            own = send(url, "POST", "/v1/infer_rules", asked, key(library, "search", agent=agent)).json
            assert (len(own["recognised"]), own["unmatched_processes"], len(own["items"])) == (1, [], 2)
