"""The language model over HTTP and in the console: what is set up, a test question, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import wenyuan
from chat_api import Body, chat_api
from console_door import Browser, served
from governed_door import governed_server, key, send
from http_door import assert_problem
from wenyuan.core.errors import InvalidRequest, LlmError


def replying(body: Body) -> Body:
    """A model that says what it was asked."""
    return {"content": json.dumps({"answer": f"heard: {body['messages'][-1]['content']}"})}


def test_what_is_set_up_is_shown_without_its_secrets(tmp_path: Path) -> None:
    """Address, model and budget; not the key; tokens of a test question are counted."""
    with chat_api(replying) as (url, asked):
        llm = {"url": url, "model": "small", "key": "sk-hidden", "tokens_a_day": 50_000}
        with wenyuan.open(tmp_path / "library", create=True, encoder={"kind": "none"}, llm=llm) as library:
            before = library.model_desk.setup()
            assert "hidden" not in str(before) and before.address == url
            assert (before.model, before.tokens_a_day, before.used_today) == ("small", 50_000, 0)
            trial = library.model_desk.ask("Who are you? 13812345678")
            assert trial.answer.startswith("heard: Who are you?") and trial.tokens_in > 0
            assert library.model_desk.setup().used_today > 0
            assert len(asked) == 1
            with served(library) as place:
                for language, used in (("en", "of 50,000"), ("zh", "上限 50,000")):
                    browser = Browser(place, language)
                    seen = browser.get("/console/model")
                    assert used in seen.text("dl.facts") and "hidden" not in seen.text("main")
                    told = browser.post("/console/model", {"question": "<b>hello</b>"})
                    assert "heard: <b>hello</b>" in told.text("#trial") and told.count("#trial b") == 0
    with wenyuan.open(tmp_path / "library", encoder={"kind": "none"}, llm=llm) as library:
        with pytest.raises(LlmError):  # its server is gone
            library.model_desk.ask("hello")
        with served(library) as place:
            assert Browser(place).post("/console/model", {"question": "hello"}).count("#trial .notice.bad") == 1


def test_without_a_model_it_says_how_to_set_one_up(tmp_path: Path) -> None:
    """The page shows the lines of the settings; a question is refused; one that is none as well."""
    with wenyuan.open(tmp_path / "library", create=True, encoder={"kind": "none"}) as library:
        assert library.model_desk.setup().address == ""
        for question in (" ", "x" * 2_001):
            with pytest.raises(InvalidRequest):
                library.model_desk.ask(question)
        with served(library) as place:
            browser = Browser(place, "zh")
            assert "尚未设置语言模型" in browser.get("/console/model").text("main")
            assert browser.post("/console/model", {"question": "你是谁"}).status == 503


def test_administrators_alone_see_the_model(tmp_path: Path) -> None:
    """Every other right is refused; unknown members are named."""
    with governed_server(tmp_path) as (url, library):
        other = key(library, "registry", "search", "audit", "ingest")
        assert_problem(send(url, "GET", "/v1/model", None, other), 403, "not_permitted")
        admin = key(library, "admin")
        assert send(url, "GET", "/v1/model", None, admin).json["address"] == ""
        assert_problem(send(url, "POST", "/v1/model", {"question": "x", "more": 1}, admin), 400, "invalid_request")
