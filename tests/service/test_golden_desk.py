"""Golden questions are made of a question and its passage, taken over from what was called right, asked, and let go."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import wenyuan
from governed_door import governed_server, key, send
from http_door import assert_problem
from wenyuan.core.errors import InvalidRequest, KnowledgeError, NotFound
from wenyuan.core.gaps import digest_of
from wenyuan.core.model import Source

LEAVE = "# 休假制度\n\n员工工作满一年后，每年享有五天带薪年假。\n"
ASKED = "年假有几天"


@pytest.fixture
def house(tmp_path: Path) -> Iterator[Any]:
    """A library about leave."""
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "leave.md").write_text(LEAVE, "utf-8")
    with wenyuan.create(tmp_path / "library") as library:
        library.add(Source(source_id="rules", path=str(tmp_path / "docs")))
        yield library


def test_a_question_is_kept_with_its_passage_and_asked(house: Any) -> None:
    """By the ref of a passage or the address of a document; equal words take its place; it is asked with the others."""
    (passage,) = house.search(ASKED).passages.values()
    house.golden_desk.keep(f" {ASKED}？ ", passage.ref)
    house.golden_desk.keep(ASKED, passage.uri)
    (kept,) = house.golden_desk.golden_questions()
    assert (kept.question, kept.answer, kept.origin, kept.actor) == (ASKED, passage.uri, "said", "local")
    figures = house.evaluate_kept().evaluation.figures
    assert figures["hit@1"] == 1.0
    assert house.golden_desk.remove(digest_of(ASKED)) == kept
    assert house.golden_desk.golden_questions() == ()


def test_what_is_no_golden_question_is_refused(house: Any) -> None:
    """A blank question, one that is too long, a passage and an address that are not there; nothing is kept."""
    for question in ("  ", "问" * 8_001):
        with pytest.raises(InvalidRequest):
            house.golden_desk.keep(question, "rules#1")
    for answer in ("rules#999", "nowhere", "other#1", "file:///nowhere.md"):
        with pytest.raises(NotFound):
            house.golden_desk.keep(ASKED, answer)
    with pytest.raises(NotFound):
        house.golden_desk.remove("0" * 16)
    assert house.golden_desk.golden_questions() == ()


def test_personal_data_is_taken_out_of_what_is_kept(house: Any) -> None:
    """As of every question that is kept."""
    house.golden_desk.keep("我的电话13812345678，年假有几天", "rules#1")
    assert "13812345678" not in str(house.golden_desk.golden_questions())


def test_what_was_called_right_is_taken_over(house: Any) -> None:
    """The questions of passages called right and not wrong; of one that is not kept any more it is said."""
    liked, disliked, gone = (house.search(text) for text in (ASKED, "年假多少天", "带薪年假几天"))
    for one, said in ((liked, "good"), (disliked, "bad"), (gone, "good")):
        house.give_feedback(one.audit_id, **{said: ["1"]})
    house.audit.erase_queries(audit_ids=[gone.audit_id])
    kept, unusable = house.golden_desk.keep_liked()
    assert ([one.question for one in kept], unusable) == ([ASKED], 1)
    assert house.golden_desk.golden_questions() == kept and kept[0].origin == "liked"


def test_without_an_audit_nobody_knows_what_was_called_right(tmp_path: Path) -> None:
    """It is said, and nothing is taken for nothing."""
    with (
        wenyuan.create(tmp_path / "silent", audit={"enabled": False}) as silent,
        pytest.raises(KnowledgeError, match="audit"),
    ):
        silent.golden_desk.keep_liked()


def test_over_http_operators_keep_them_and_agents_do_not(tmp_path: Path) -> None:
    """Kept, listed, forgotten; what is no request is 400, what is not there 404; an agent's key is refused."""
    path = "/v1/evaluations/questions"
    with governed_server(tmp_path) as (url, library):
        operator = key(library, "registry")
        said = {"question": "客户投诉多久响应", "answer": "wiki#3"}
        kept = send(url, "POST", path, said, operator)
        assert (kept.status, len(kept.json["kept"])) == (201, 1)
        assert send(url, "GET", path, None, operator).json["questions"] == kept.json["kept"]
        for wrong in ({}, {"question": "x", "liked": True}, {"question": "x", "other": 1}):
            assert_problem(send(url, "POST", path, wrong, operator), 400, "invalid_request")
        assert_problem(send(url, "POST", path, {**said, "answer": "wiki#999"}, operator), 404, "not_found")
        bound = key(library, "registry", agent="support")
        assert_problem(send(url, "GET", path, None, bound), 403, "not_permitted")
        digest = kept.json["kept"][0]["digest"]
        assert_problem(send(url, "DELETE", f"{path}/{digest}", None, bound), 404, "not_found")
        assert send(url, "DELETE", f"{path}/{digest}", None, operator).status == 200
        assert_problem(send(url, "DELETE", f"{path}/{digest}", None, operator), 404, "not_found")
