"""Feedback on answers: in process, over HTTP, by the client and on the command line; and what tuning learns from it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from command_line import run
from governed_door import governed_server, key, send
from http_door import assert_problem
from tuning_parts import ENCODER, golden, new_house
from wenyuan.client import Client
from wenyuan.core.errors import InvalidRequest, KnowledgeError, NotFound
from wenyuan.service.learning.lessons import judged_pairs
from wenyuan.service.learning.tuning import LEAST_QUESTIONS

QUESTION = {"query": "客户投诉", "max_results": 5}
Served = tuple[str, Any]


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with governed_server(tmp_path_factory.mktemp("feedback")) as found:
        yield found


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with new_house(tmp_path_factory.mktemp("house")) as made:
        yield made


def answered(served: Served, token: str) -> tuple[str, list[str]]:
    """An answer over HTTP: its id, and the refs of its fragments."""
    found = send(served[0], "POST", "/v1/retrieve_fragments", QUESTION, token).json
    metadata = [fragment["metadata"] for fragment in found["fragments"]]
    return metadata[0]["audit_id"], [told["passage_id"] for told in metadata]


def given(served: Served, audit_id: str, token: str, **said: Any) -> Any:
    return send(served[0], "POST", "/v1/feedback", {"audit_id": audit_id, **said}, token)


def of(library: Any, audit_id: str) -> dict[tuple[str, str], bool]:
    return {(j.ref, j.actor): j.good for j in library.catalog.feedback() if j.audit_id == audit_id}


def test_a_caller_judges_the_parts_of_an_answer(served: Served) -> None:
    """What is kept is told, and is in the catalog under the caller's key."""
    token = key(served[1], "retrieve", "search")
    audit_id, (first, second, *_) = answered(served, token)
    said = given(served, audit_id, token, good=[first], bad=[second])
    assert (said.status, said.json) == (200, {"audit_id": audit_id, "kept": {first: True, second: False}})
    actor = token.split("_")[1]
    assert of(served[1], audit_id) == {(first, actor): True, (second, actor): False}


def test_the_last_word_of_each_caller_counts(served: Served) -> None:
    """Who changes their mind replaces what they said; what others said stays."""
    one, other = key(served[1], "retrieve", "search"), key(served[1], "search", "audit")
    audit_id, (first, *_) = answered(served, one)
    given(served, audit_id, one, good=[first])
    given(served, audit_id, other, good=[first])
    given(served, audit_id, one, bad=[first])
    assert of(served[1], audit_id) == {(first, one.split("_")[1]): False, (first, other.split("_")[1]): True}


def test_what_is_anothers_is_not_there(served: Served) -> None:
    """Another key's answer, another agent's, a change's record and no record at all are the same 404."""
    library = served[1]
    asker = key(library, "retrieve", "search")
    audit_id, (first, *_) = answered(served, asker)
    changed = library.audit.list(kind="registry", limit=1)[0].audit_id
    for token in (key(library, "search"), key(library, "admin", agent="support")):
        told = [given(served, name, token, good=[first]) for name in (audit_id, changed, "a-none")]
        for answer in told:
            assert_problem(answer, 404, "not_found")
        assert len({answer.json["detail"] for answer in told}) == 1
    assert of(library, audit_id) == {}


def test_an_agents_keys_judge_what_the_agent_was_given(served: Served) -> None:
    """Two keys of one agent judge each other's answers."""
    asker, other = (key(served[1], "retrieve", "search", agent="support") for _ in range(2))
    audit_id, (first, *_) = answered(served, asker)
    recorded = served[1].audit.show(audit_id).record.get("agent")
    assert recorded == "support"
    assert given(served, audit_id, other, good=[first]).status == 200


@pytest.mark.parametrize(
    "said",
    [{}, {"good": ["none#1"]}, {"good": [1]}, {"good": ["0"]}, {"right": []}, {"good": ["1"], "bad": ["1"]}],
)
def test_feedback_that_makes_no_sense_is_refused(served: Served, said: dict[str, Any]) -> None:
    """Nothing said, a part of another answer, both right and wrong, other members: 400, and nothing is kept."""
    token = key(served[1], "retrieve", "search")
    audit_id, _ = answered(served, token)
    assert_problem(given(served, audit_id, token, **said), 400, "invalid_request")
    assert of(served[1], audit_id) == {}


def test_feedback_is_audited(served: Served) -> None:
    """The record names the answer, the caller and what was said, and the chain holds."""
    token = key(served[1], "retrieve", "search")
    audit_id, (first, *_) = answered(served, token)
    given(served, audit_id, token, good=["1"])
    (record,) = served[1].audit.list(kind="feedback", limit=1)
    assert (record.record["object"], record.principal) == (audit_id, token.split("_")[1])
    assert record.record["changes"] == {"good": [None, [first]]}
    assert served[1].audit.verify().ok


def test_the_client_gives_feedback(served: Served) -> None:
    """By address as well as by ref; another's answer is an exception."""
    token = key(served[1], "retrieve", "search")
    with Client(served[0], key=token) as client:
        fragments = client.retrieve_fragments("客户投诉", max_results=2)
        audit_id = fragments[0].metadata["audit_id"]
        kept = client.feedback(audit_id, good=[fragments[0].source], bad=[fragments[1].metadata["passage_id"]])
        assert list(kept.values()) == [True, False]
        with pytest.raises(KnowledgeError, match="no such answer"):
            client.feedback("a-none", good=["1"])


def test_the_command_line_gives_feedback(tmp_path: Path) -> None:
    """By rank, in both languages, and as JSON; an unknown answer ends with code 2."""
    with new_house(tmp_path) as made:
        audit_id = made.search("formal3 formal5", limit=3).audit_id
    folder, world = tmp_path / "library", {"WENYUAN_ENCODER__DIMENSION": str(ENCODER["dimension"])}
    shown = run("feedback", audit_id, "--good", 1, "--bad", 3, "--library", folder, "--lang", "zh", **world)
    assert shown.exit_code == 0, shown.output
    assert "正确  house#" in shown.stdout
    assert "已保存 2 条" in shown.stdout
    told = run("feedback", audit_id, "--good", 1, "--json", "--library", folder, **world)
    assert list(json.loads(told.stdout)["kept"].values()) == [True]
    unknown = run("feedback", "a-none", "--good", 1, "--library", folder, **world)
    assert unknown.exit_code == 2
    assert "there is no answer 'a-none'" in unknown.output


def test_tuning_learns_from_feedback(house: Any) -> None:
    """Judged answers are lessons as golden pairs are; what is called wrong teaches nothing."""
    pairs = golden(house.folder.parent, LEAST_QUESTIONS)
    for pair in pairs:
        answer = house.search(pair.question, limit=100)
        right = pair.answer.rpartition("/")[2]
        rank = next(n for n, h in enumerate(answer.hits, 1) if right in answer.passages[h.passage_id].uri)
        house.give_feedback(answer.audit_id, good=[str(rank)], bad=["1"] if rank > 1 else [])
    report = house.tune(dry_run=True)
    assert report.questions == LEAST_QUESTIONS
    assert report.outcome == "would be adopted"
    with pytest.raises(InvalidRequest, match="nothing to learn from"):
        house.tune(feedback=False)


def test_more_voices_against_than_for_make_no_answer(tmp_path: Path) -> None:
    """Each caller has one voice for each part of an answer, and voices on the same question are counted together."""
    with new_house(tmp_path) as made:

        def said(question: str, **parts: list[str]) -> None:
            made.give_feedback(made.search(question, limit=2).audit_id, **parts)

        said("formal3 formal5", good=["1", "2"])
        assert made.tune(dry_run=True).pairs == {"feedback": 2}
        said("formal3 formal5", bad=["1"])
        said(" ｆｏｒｍａｌ3 formal5", bad=["1"])
        said("formal5", bad=["2"])
        pairs, lost = judged_pairs(made.catalog.feedback(), made.audit.show, made.catalog)
        best = [
            made.search("formal3 formal5").passages[h.passage_id].ref for h in made.search("formal3 formal5").hits
        ]
    graded = {(pair.question, pair.answer): pair.grade for pair in pairs}
    assert (graded["formal3 formal5", best[0]], graded["formal3 formal5", best[1]]) == (0.0, 1.0)
    assert (len(graded), lost) == (3, 0)


def test_what_was_said_of_a_text_outlives_a_change_elsewhere_in_its_document(tmp_path: Path) -> None:
    """Lines above it move it; a text that is another one now is no longer the one that was judged."""
    with new_house(tmp_path) as made:
        file = tmp_path / "house" / "rule-000.md"
        source = made.catalog.source("house")
        file.write_text("# One\n\nformal1 word\n\n# Two\n\nformal2 word\n", "utf-8")
        made.add(source)
        answer = made.search("word", limit=2)
        refs = {answer.passages[hit.passage_id].text.split()[-2]: hit.passage_id for hit in answer.hits}
        made.give_feedback(answer.audit_id, good=["1", "2"])
        file.write_text("formal9\n\n# One\n\nformal1 word\n\n# Two\n\nformal2 changed\n", "utf-8")
        made.add(source)
        assert not made.catalog.passages(list(refs.values()))
        report = made.tune(dry_run=True)
        assert (report.questions, report.unknown) == (1, 1)
        (pair,) = (
            p
            for p in judged_pairs(made.catalog.feedback(), made.audit.show, made.catalog)[0]
            if p.answer != f"house#{refs['formal2']}"
        )
        (passage,) = made.catalog.passages([int(pair.answer.partition("#")[2])]).values()
    assert passage.text.endswith("formal1 word")


def test_a_judgement_whose_question_is_not_kept_is_counted(tmp_path: Path) -> None:
    """Where queries are not kept, feedback cannot be learned from, and the report says how much was lost."""
    with new_house(tmp_path, audit={"keep_queries": False}) as made:
        audit_id = made.search("formal3 formal5").audit_id
        made.give_feedback(audit_id, good=["1"])
        report = made.tune(golden(tmp_path, 3))
    assert (report.lost, report.pairs) == (1, {"golden": 3})


def test_without_an_audit_there_is_nothing_to_judge(tmp_path: Path) -> None:
    """A library whose audit is switched off says so."""
    with new_house(tmp_path, audit={"enabled": False}) as made, pytest.raises(KnowledgeError, match="switched off"):
        made.give_feedback("a-none", good=["1"])


def test_an_unknown_answer_is_refused(house: Any) -> None:
    """In process, too, with where to look for answers."""
    with pytest.raises(NotFound, match="there is no answer 'a-none'"):
        house.give_feedback("a-none", good=["1"])
