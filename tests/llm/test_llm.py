"""The language model behind HTTP, against a real server on this machine that misbehaves on demand."""

from __future__ import annotations

import json
import socket
import threading
import time
import traceback
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from liars_server import KEY, Free, Server, lying
from wenyuan.catalog.tasks import TaskLedger
from wenyuan.catalog.token_ledger import TokenLedger
from wenyuan.core.errors import ConfigError, LlmBudgetSpent, LlmError, LlmRejected, LlmTimeout, LlmUnavailable
from wenyuan.core.ports import Deadline, LanguageModel
from wenyuan.i18n.translation import translated
from wenyuan.llm import chat_model
from wenyuan.llm.chat_model import ChatModel
from wenyuan.llm.guard import CircuitBreaker
from wenyuan.runtime import json_endpoint
from wenyuan.settings import LlmSettings

SCHEMA = {"type": "object", "properties": {"claims": {"type": "array"}}, "required": ["claims"]}
MESSAGES = [
    {"role": "system", "content": "Answer with JSON."},
    {
        "role": "user",
        "content": json.dumps({"passages": [{"id": "p#1", "text": "客户投诉应当在24小时内首次响应。"}]}),
    },
]


def read(value: Any) -> list[Any]:
    """The claims of an answer."""
    if not isinstance(value, dict) or not isinstance(value.get("claims"), list):
        raise ValueError("claims is no list")
    return list(value["claims"])


@pytest.fixture(scope="module")
def running() -> Iterator[Server]:
    with lying() as server:
        yield server


@pytest.fixture
def server(running: Server, monkeypatch: pytest.MonkeyPatch) -> Server:
    running.begin("perfect")
    monkeypatch.setattr(json_endpoint, "_BACKOFF", 0.01)
    return running


def opened(server: Server, budget: Any = None, **more: Any) -> ChatModel:
    chosen = {"url": server.url, "model": "m-7b", "key": KEY, "timeout": 30, **more}
    return ChatModel(LlmSettings(**chosen), Free() if budget is None else budget)


def soon(seconds: float = 30.0) -> Deadline:
    return Deadline(time.monotonic() + seconds, time.monotonic)


def ask(model: ChatModel, deadline: Deadline | None = None) -> Any:
    return model.ask(MESSAGES, schema=SCHEMA, read=read, deadline=deadline or soon())


def test_an_answer_comes_with_its_tokens_and_cost(server: Server) -> None:
    """The request is the protocol's; what the endpoint says was used is counted, and has its price."""
    budget = Free()
    model = opened(server, budget, price_in=2.0, price_out=10.0)
    assert isinstance(model, LanguageModel)
    reply = ask(model)
    assert [claim["passage"] for claim in reply.value] == ["p#1"]
    assert (reply.tokens_in, reply.tokens_out) == (100, 20)
    assert reply.cost == pytest.approx(0.0004)
    assert budget.used == 120
    use = model.use()
    assert (use.calls, use.tokens_in, use.tokens_out) == ({"ok": 1}, 100, 20)
    path, sent, body = server.seen[0]
    assert (path, sent) == ("/v1/chat/completions", f"Bearer {KEY}")
    assert body["response_format"]["json_schema"]["schema"] == SCHEMA
    assert {k: body[k] for k in ("model", "messages", "stream", "temperature", "max_tokens")} == {
        "model": "m-7b", "messages": MESSAGES, "stream": False, "temperature": 0, "max_tokens": 2_000,
    }  # fmt: skip
    model.close()


@pytest.mark.parametrize(
    "usage",
    [
        None,
        {},
        {"prompt_tokens": -1, "completion_tokens": "20"},
        {"prompt_tokens": 10**30, "completion_tokens": 10**30},
    ],
)
def test_tokens_are_estimated_where_the_endpoint_does_not_say(server: Server, usage: Any) -> None:
    """Or says what no column holds."""
    server.usage = usage
    reply = ask(opened(server))
    assert 10 < reply.tokens_in < 1_000
    assert 10 < reply.tokens_out < 1_000


def test_thoughts_that_are_only_in_the_sum_are_tokens_that_were_written(server: Server) -> None:
    """Some endpoints count them nowhere else, and they cost the day's budget as the others do."""
    server.usage = {"prompt_tokens": 40, "completion_tokens": 2, "total_tokens": 542}
    reply = ask(opened(server))
    assert (reply.tokens_in, reply.tokens_out) == (40, 502)


@pytest.mark.parametrize("around", ['{"claims": ["\ud800"]}', '{"claims": ["\\ud800"]}', "hm \ud800"])
def test_half_of_a_surrogate_pair_is_no_failure_of_ours(server: Server, around: str) -> None:
    """It is a question mark, in what is read and in what the model is shown of its nonsense."""
    server.around = around
    model = opened(server)
    if around.startswith("hm"):
        with pytest.raises(LlmRejected):
            ask(model)
        assert server.seen[1][2]["messages"][2]["content"] == "hm ?"
    else:
        assert ask(model).value == ["?"]


@pytest.mark.parametrize("around", ["```json\n{}\n```", "<think>\nhm {\n</think>\n{}", "  {}\n"])
def test_what_models_write_around_the_object_is_left_out(server: Server, around: str) -> None:
    """Fences and thoughts are no second question."""
    server.around = around
    assert len(ask(opened(server)).value) == 1
    assert len(server.seen) == 1


def test_an_endpoint_that_knows_no_schema_is_asked_without(server: Server) -> None:
    """It is found out once, and remembered."""
    server.formless = True
    model = opened(server)
    ask(model)
    ask(model)
    assert ["response_format" in body for _, _, body in server.seen] == [True, True, False, False]


@pytest.mark.parametrize(("boundless", "bounds"), [(False, [True, True]), (True, [True, False, False])])
def test_bounds_are_left_out_where_an_endpoint_refuses_them(
    server: Server, boundless: bool, bounds: list[bool]
) -> None:
    """A schema says how long a text may be; an endpoint that does not know that is still asked with the schema."""
    server.boundless = boundless
    model = opened(server)
    schema = {"type": "object", "properties": {"claims": {"type": "array", "maxItems": 3}}, "required": ["claims"]}
    for _ in range(2):
        model.ask(MESSAGES, schema=schema, read=read, deadline=soon())
    assert ["maxItems" in str(body["response_format"]) for _, _, body in server.seen] == bounds


@pytest.mark.parametrize("fault", ["cut", "wrong schema", "prose"])
def test_nonsense_is_asked_for_once_more(server: Server, fault: str) -> None:
    """The second question says what was wrong; a second nonsense is a failure, and both are paid for."""
    budget = Free()
    model = opened(server, budget)
    server.faults = [fault]
    assert ask(model).tokens_in == 200
    repair = server.seen[1][2]["messages"]
    assert [m["role"] for m in repair] == ["system", "user", "assistant", "user"]
    server.begin(fault)
    with pytest.raises(LlmRejected, match="not of the form"):
        ask(model)
    assert len(server.seen) == 2
    assert budget.used == 480
    assert model.use().calls == {"ok": 1, "llm_rejected": 1}


@pytest.mark.parametrize(
    ("fault", "kind", "says", "asked"),
    [
        ("html", LlmUnavailable, "not JSON", 1),
        ("401", LlmUnavailable, "HTTP 401", 1),
        ("500", LlmUnavailable, "HTTP 500", 1),
        ("429", LlmUnavailable, "HTTP 429", 1),  # it asks to wait longer than anybody does
        ("redirect", LlmUnavailable, "redirect .HTTP 307., which is refused", 1),
        ("large", LlmUnavailable, "too large", 1),
        ("endless", LlmUnavailable, "too large", 1),
        ("error after 200", LlmUnavailable, "answered with an error", 1),
        ("no choices", LlmUnavailable, "no chat completion", 1),
        ("breaks off", LlmUnavailable, "connection failed", 3),
    ],
)
def test_a_wrong_answer_is_an_error_that_names_who_and_what(
    server: Server, fault: str, kind: type[LlmError], says: str, asked: int
) -> None:
    """Every fault raises, names model, host and port, is there in Chinese, and never shows the key, nor what was said."""
    server.begin(fault)
    model = opened(server)
    with pytest.raises(kind, match=says) as caught:
        ask(model)
    assert str(caught.value).startswith(f"llm m-7b at 127.0.0.1:{server.server_port}: ")
    assert KEY not in "".join(traceback.format_exception(caught.value))
    assert translated(caught.value.message) != caught.value.message
    assert len(server.seen) == asked
    model.close()


def test_a_drip_ends_at_the_time_of_an_answer(server: Server) -> None:
    """However the bytes come; it is not asked again."""
    server.begin("drip")
    model = opened(server, timeout=0.3)
    with pytest.raises(LlmTimeout):
        ask(model)
    assert len(server.seen) == 1
    assert server.gone.wait(60)


def test_whoever_is_gone_is_not_waited_for(server: Server) -> None:
    """The connection is closed, so that the model can stop, long before the time is up."""
    server.begin("drip")
    model, gone = opened(server, timeout=300), threading.Event()
    with ThreadPoolExecutor(1) as pool:
        asking = pool.submit(ask, model, soon(300).unless(gone.is_set))
        while not server.seen:
            time.sleep(0.01)
        gone.set()
        with pytest.raises(LlmTimeout):
            asking.result(60)
    assert server.gone.wait(60)


def test_who_hangs_up_leaves_the_model_to_others(server: Server) -> None:
    """However often it happens: it is no failure of the model, which is asked by the next."""
    model = opened(server, timeout=300)
    for _ in range(5):
        server.begin("drip")
        with pytest.raises(LlmTimeout):
            ask(model, soon(300).unless(lambda: bool(server.seen)))
    server.begin("perfect")
    assert len(ask(model).value) == 1
    assert model.use().calls == {"gone": 5, "ok": 1}


def test_silence_is_noticed_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that sends nothing at all holds nobody who is gone."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        gone = threading.Event()
        model = ChatModel(
            LlmSettings(url=f"http://127.0.0.1:{silent.getsockname()[1]}", model="m", timeout=300), Free()
        )
        with ThreadPoolExecutor(1) as pool:
            asking = pool.submit(ask, model, soon(300).unless(gone.is_set))
            connection, _ = silent.accept()
            with connection:
                connection.recv(65_536)
                gone.set()
                with pytest.raises(LlmTimeout):
                    asking.result(60)


def test_only_so_many_are_asked_at_once(server: Server) -> None:
    """Who finds no place in its time is told so."""
    server.begin("drip")
    model, gone = opened(server, concurrency=1, timeout=300), threading.Event()
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(ask, model, soon(300).unless(gone.is_set))
        while not server.seen:
            time.sleep(0.01)
        with pytest.raises(LlmTimeout, match="taken"):
            ask(model, soon(0.05))
        gone.set()
        with pytest.raises(LlmTimeout):
            first.result(60)
    assert len(server.seen) == 1


def test_after_failures_in_a_row_it_is_left_alone(server: Server) -> None:
    """Then nobody waits for it; after a while one call finds out whether it is back."""
    server.begin("500")
    model = opened(server)
    now = [100.0]
    model._guard._breaker = CircuitBreaker(lambda: now[0])
    for _ in range(5):
        with pytest.raises(LlmUnavailable, match="HTTP 500"):
            ask(model)
    with pytest.raises(LlmUnavailable, match="failed 5 times in a row; asked again in 15 s"):
        ask(model)
    assert len(server.seen) == 5
    now[0] += 16
    server.begin("perfect")
    assert len(ask(model).value) == 1
    assert len(ask(model).value) == 1


def test_the_first_who_looks_again_looks_alone() -> None:
    now = [0.0]
    breaker = CircuitBreaker(lambda: now[0])
    for _ in range(5):
        breaker.failed()
    now[0] = 20.0
    breaker.check("llm")
    with pytest.raises(LlmUnavailable):
        breaker.check("llm")


def spent(folder: Path, tokens: int) -> int:
    """How many times one of several could use so many tokens of a day's hundred."""
    tasks = TaskLedger(folder)
    ledger, times = TokenLedger(tasks, most=100), 0
    try:
        while True:
            ledger.settle(ledger.reserve(tokens), tokens, tokens)
            times += 1
    except LlmBudgetSpent:
        return times
    finally:
        tasks.close()


def test_the_tokens_of_a_day_are_those_of_all(tmp_path: Path) -> None:
    """Two that have a connection each use no more together than one may; the next day begins anew."""
    with ThreadPoolExecutor(2) as pool:
        assert sum(pool.map(spent, [tmp_path] * 2, [10] * 2)) == 10
    tasks = TaskLedger(tmp_path)
    later = TokenLedger(tasks, most=100, clock=lambda: time.time() + 86_400)
    assert later.used_today() == 0
    day = later.reserve(60)
    with pytest.raises(LlmBudgetSpent, match="60 of the 100 tokens") as caught:
        later.reserve(50)
    assert "llm.tokens_a_day" in caught.value.hint
    later.settle(day, 60, 5)
    assert later.used_today() == 5
    tasks.close()


def test_out_of_budget_nobody_is_asked(server: Server, tmp_path: Path) -> None:
    tasks = TaskLedger(tmp_path)
    model = opened(server, TokenLedger(tasks, most=200))
    with pytest.raises(LlmBudgetSpent):
        ask(model)
    assert server.seen == []
    assert model.use().calls == {"llm_budget_spent": 1}
    tasks.close()


@pytest.mark.parametrize("url", ["localhost:8000", "ftp://h", "http://user:pass@h"])
def test_a_url_that_cannot_be_used_is_refused(url: str) -> None:
    with pytest.raises(ConfigError, match="the llm's URL") as caught:
        ChatModel(LlmSettings(url=url, model="m"), Free())
    assert "pass@" not in str(caught.value)


def test_a_model_has_a_name() -> None:
    with pytest.raises(ConfigError, match=r"llm\.model"):
        ChatModel(LlmSettings(url="http://h"), Free())


def test_nothing_of_a_conversation_is_logged(server: Server, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("DEBUG", logger=chat_model.log.name):
        ask(opened(server))
    assert "tokens in" in caplog.text
    assert "客户投诉" not in caplog.text
