"""Judges: in every dialect a number in 0..1, or an error that says who failed, and how."""

from __future__ import annotations

import time
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cross_encoder_model import make_cross_encoder
from judge_server import DIALECTS, JudgeServer, judging
from liars_server import KEY, Free
from wenyuan.core.errors import ConfigError, LlmRejected, LlmTimeout, LlmUnavailable, RerankerTimeout
from wenyuan.core.ports import Deadline, Judge, ModelUse, WritingJudge
from wenyuan.encoders.cross_encoder import LocalJudge
from wenyuan.i18n.translation import translated
from wenyuan.llm.judge import HttpJudge
from wenyuan.runtime import json_endpoint
from wenyuan.settings import JudgeSettings

ASKED = {
    "zh": ("客户投诉多久内首次响应？", ("客户投诉应当在24小时内首次响应。", "年假为五天。")),
    "en": (
        "When must a complaint be answered?",
        ("Complaints must be answered within 24 hours.", "Leave is five days."),
    ),
}
PATHS = {
    "decisions": "/v1/decisions", "systemone": "/v1/systemone", "logprobs": "/v1/chat/completions", "vote": "/v1/chat/completions",
}  # fmt: skip


@pytest.fixture(scope="module")
def running() -> Iterator[JudgeServer]:
    with judging() as server:
        yield server


@pytest.fixture
def server(running: JudgeServer, monkeypatch: pytest.MonkeyPatch) -> JudgeServer:
    running.begin("perfect")
    monkeypatch.setattr(json_endpoint, "_BACKOFF", 0.01)
    return running


def opened(server: JudgeServer, dialect: Any, budget: Any = None, **more: Any) -> HttpJudge:
    chosen = {"dialect": dialect, "url": server.url, "model": "j-1", "key": KEY, "timeout": 30, **more}
    return HttpJudge(JudgeSettings(**chosen), budget or Free())


def soon(seconds: float = 30.0) -> Deadline:
    return Deadline(time.monotonic() + seconds, time.monotonic)


def ask(judge: Judge, language: str = "zh", deadline: Deadline | None = None) -> float:
    question, passages = ASKED[language]
    return judge.sufficiency(question, passages, deadline=deadline or soon())


@pytest.mark.parametrize("language", ASKED)
@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("sure", [0.0, 0.2, 0.8, 1.0])
def test_the_number_is_the_judge_s(server: JudgeServer, dialect: str, language: str, sure: float) -> None:
    """In every dialect and both languages; question and passages are data, the key is a header, and tokens are counted."""
    server.sure = lambda question, passages: sure
    budget = Free()
    judge = opened(server, dialect, budget)
    assert isinstance(judge, Judge)
    assert not judge.local
    assert ask(judge, language) == pytest.approx(sure)
    question, passages = ASKED[language]
    assert server.states[0] == {"question": question, "passages": list(passages)}
    assert {(path, sent, body["model"]) for path, sent, body in server.seen} == {
        (PATHS[dialect], f"Bearer {KEY}", "j-1")
    }
    assert budget.used > 0
    judge.close()


@pytest.mark.parametrize(
    ("usage", "used"),
    [
        ({"prompt_tokens": 40, "completion_tokens": 2, "total_tokens": 42}, (40, 2)),
        ({"prompt_tokens": 40, "completion_tokens": 2, "total_tokens": 542}, (40, 502)),
        ({"total_tokens": 42}, (42, 0)),
        ({"prompt_tokens": 40, "completion_tokens": -1, "total_tokens": 41}, (40, 1)),
    ],
)
def test_its_tokens_are_counted(server: JudgeServer, usage: Any, used: tuple[int, int]) -> None:
    """As the endpoint tells them; a sum counts as what was sent."""
    server.instead = {"answers": [{"type": "predicate", "probability": 0.5}], "usage": usage}
    judge = opened(server, "decisions")
    for _ in range(2):
        ask(judge)
    assert judge.use() == ModelUse(tokens_in=2 * used[0], tokens_out=2 * used[1])


def test_letters_are_asked_in_both_orders(server: JudgeServer) -> None:
    """A judge that prefers the first option whatever it says is averaged to what it knows."""
    server.sure, server.bias = lambda question, passages: 0.5, 0.4
    assert ask(opened(server, "logprobs")) == pytest.approx(0.5)
    systems = [body["messages"][0]["content"] for _, _, body in server.seen]
    assert len(systems) == 2
    assert systems[0] != systems[1]
    assert server.seen[0][2]["logprobs"] is True


def test_an_endpoint_is_asked_in_the_form_that_it_takes(server: JudgeServer) -> None:
    """It is found out once, and remembered."""
    server.formless = True
    judge = opened(server, "logprobs")
    ask(judge)
    assert ["max_tokens" in body for _, _, body in server.seen] == [True, False, False]


@pytest.mark.parametrize("votes", [("Yes.", "No."), ("是", "否"), ("<think>hm, no?</think> 能", "不能")])
@pytest.mark.parametrize("one_at_a_time", [False, True])
def test_votes_are_counted(server: JudgeServer, votes: tuple[str, str], one_at_a_time: bool) -> None:
    """In both languages, and from endpoints that give one answer however many are asked for."""
    server.sure, server.votes, server.one_at_a_time = lambda question, passages: 0.6, votes, one_at_a_time
    assert ask(opened(server, "vote", samples=5)) == pytest.approx(0.6)
    assert len(server.seen) == (5 if one_at_a_time else 1)


def test_votes_that_say_nothing_are_no_number(server: JudgeServer) -> None:
    server.votes = ("Perhaps.", "I cannot say")
    with pytest.raises(LlmRejected):
        ask(opened(server, "vote"))


@pytest.mark.parametrize("said", [float("nan"), float("inf"), -0.1, 1.1, 1e400, 10**400, "0.9", None, True, [], {}])
@pytest.mark.parametrize("dialect", ["decisions", "systemone"])
def test_what_is_no_number_in_0_to_1_is_refused(server: JudgeServer, dialect: str, said: Any) -> None:
    server.sure = lambda question, passages: said
    with pytest.raises(LlmRejected, match="no number between 0 and 1") as caught:
        ask(opened(server, dialect))
    assert translated(caught.value.message) != caught.value.message
    assert dialect in caught.value.hint


@pytest.mark.parametrize(
    "instead",
    [
        {}, [], "yes", 7, {"answers": None}, {"answers": []}, {"answers": [{"type": "refusal", "name": "sufficient"}]},
        {"answers": {"sufficient": {}}}, {"choices": []}, {"choices": [{}]}, {"choices": [{"logprobs": None}]},
        {"choices": [{"logprobs": {"content": []}}]}, {"choices": [{"message": {"content": None}}] * 9},
        {"choices": [{"logprobs": {"content": [{"top_logprobs": [{"token": "The", "logprob": -0.1}]}]}}]},
        {"choices": [{"logprobs": {"content": [{"top_logprobs": [{"token": "A", "logprob": float("nan")}]}]}}]},
    ],
)  # fmt: skip
@pytest.mark.parametrize("dialect", DIALECTS)
def test_another_form_is_refused(server: JudgeServer, dialect: str, instead: Any) -> None:
    """Whatever an endpoint answers that is no answer in its dialect."""
    server.instead = instead
    with pytest.raises(LlmRejected):
        ask(opened(server, dialect))


@pytest.mark.parametrize(
    ("fault", "says"),
    [
        ("html", "not JSON"), ("401", "HTTP 401"), ("429", "HTTP 429"), ("500", "HTTP 500"), ("redirect", "redirect"),
        ("large", "too large"), ("endless", "too large"), ("error after 200", "answered with an error"),
        ("breaks off", "connection failed"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_fault_is_an_error_that_names_who_and_what(
    server: JudgeServer, dialect: str, fault: str, says: str
) -> None:
    """Every one raises, names model, host and port, is there in Chinese, and never shows the key."""
    server.begin(fault)
    judge = opened(server, dialect)
    with pytest.raises(LlmUnavailable, match=says) as caught:
        ask(judge)
    assert str(caught.value).startswith(f"judge j-1 at 127.0.0.1:{server.server_port}: ")
    assert KEY not in "".join(traceback.format_exception(caught.value))
    assert translated(caught.value.message) != caught.value.message
    judge.close()


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_drip_ends_in_time(server: JudgeServer, dialect: str) -> None:
    """At the time of the settings or that of the request, whichever is earlier."""
    for chosen, left in ((0.1, 30.0), (30.0, 0.1)):
        server.begin("drip")
        with pytest.raises(LlmTimeout):
            ask(opened(server, dialect, timeout=chosen), deadline=soon(left))
        assert server.gone.wait(60)


def test_after_failures_in_a_row_it_is_left_alone(server: JudgeServer) -> None:
    server.begin("500")
    judge = opened(server, "decisions")
    for _ in range(5):
        with pytest.raises(LlmUnavailable, match="HTTP 500"):
            ask(judge)
    with pytest.raises(LlmUnavailable, match="failed 5 times in a row"):
        ask(judge)
    assert len(server.seen) == 5


@pytest.mark.parametrize("dialect", ["logprobs", "vote"])
@pytest.mark.parametrize(
    ("written", "query"),
    [
        ("deadline of the reply", "deadline of the reply"), (" “答复的期限”\n", "答复的期限"), ("<think>hm</think>\nthe fee", "the fee"),
        ("NOTHING", ""), ("Nothing.", ""), ("无。", ""), ("没有", ""), ("nothing on fees", "nothing on fees"),
    ],
)  # fmt: skip
def test_what_is_missing_is_read_as_text(server: JudgeServer, dialect: str, written: str, query: str) -> None:
    """One call, in the form that the endpoint takes, whose tokens are counted; numbers are asked for as before."""
    server.lacks = lambda question, passages: written
    budget = Free()
    judge = opened(server, dialect, budget)
    question, passages = ASKED["zh"]
    assert isinstance(judge, WritingJudge)
    assert judge.missing(question, passages, deadline=soon()) == query
    assert server.lacking == [{"question": question, "passages": list(passages)}]
    assert (len(server.seen), budget.used) == (1, 50)
    server.formless = True
    assert judge.missing(question, passages, deadline=soon()) == query
    assert ask(judge) == pytest.approx(0.5, abs=0.11)
    before = len(server.seen)
    ask(judge)
    judge.missing(question, passages, deadline=soon())
    assert not any("max_tokens" in body for _, _, body in server.seen[before:])


@pytest.mark.parametrize("written", [None, "", "<think>hm</think>", 7])
def test_what_is_no_text_is_refused(server: JudgeServer, written: Any) -> None:
    server.lacks = lambda question, passages: written
    with pytest.raises(LlmRejected, match="wrote no text"):
        opened(server, "vote").missing(*ASKED["en"], deadline=soon())


@pytest.mark.parametrize(
    ("chosen", "says"),
    [
        ({"url": ""}, "judge.url is not set"), ({"model": " "}, "judge.model is not set"), ({"url": "ftp://x"}, "judge's URL must"),
        ({"url": "http://u:p@x"}, "password"), ({"key": "a b"}, "judge's key"),
    ],
)  # fmt: skip
def test_settings_that_cannot_be_used(server: JudgeServer, chosen: Any, says: str) -> None:
    with pytest.raises(ConfigError, match=says) as caught:
        opened(server, "decisions", **chosen)
    assert translated(caught.value.message) != caught.value.message


@pytest.mark.parametrize("language", ASKED)
def test_a_classifier_in_a_folder(tmp_path: Path, language: str) -> None:
    """Nothing leaves this process; a late one says so."""
    question, passages = ASKED[language]
    words = sorted(set(question.lower()) | set(question.lower().rstrip("?").split()))
    make_cross_encoder(tmp_path / "judge", words)
    judge = LocalJudge(tmp_path / "judge")
    assert isinstance(judge, Judge)
    assert judge.local
    assert 0.0 <= judge.sufficiency(question, passages[1:], deadline=soon()) < ask(judge, language) <= 1.0
    with pytest.raises(RerankerTimeout, match=r"^judge judge: the deadline passed"):
        ask(judge, language, soon(0.0))
    judge.close()
