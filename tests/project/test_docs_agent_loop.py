"""The agent loop of the documentation, run as it stands there against a chat API of the tests' own."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from chat_api import Body, chat_api
from governed_door import governed_server, key
from wenyuan.core.errors import EngineUnavailable

DOCS = Path(__file__).parents[2] / "docs"
PAGES = ("agent-loop.md", "agent-loop.zh.md")


def blocks(page: str) -> list[str]:
    return re.findall(r"```python\n(.*?)```", (DOCS / page).read_text("utf-8"), re.DOTALL)


def snippets(message: dict[str, Any]) -> list[dict[str, Any]]:
    """The snippets that a message shows to the model."""
    shown, _ = json.JSONDecoder().raw_decode(message["content"])
    found: list[dict[str, Any]] = shown["CONTEXT_DATA"]["knowledge_snippets"]
    return found


def diligent(body: Body) -> Body:
    """Asks once more, then quotes the best snippet of each."""
    messages = body["messages"]
    if messages[-1]["role"] == "user":
        call = {"name": "get_knowledge", "arguments": json.dumps({"query": "个人数据存储"})}
        return {"content": None, "tool_calls": [{"id": "c1", "type": "function", "function": call}]}
    first, more = snippets(messages[1])[0], snippets(messages[-1])[0]
    return {"content": f"{first['source']}: {first['content']}\n{more['source']}: {more['content']}"}


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A governed library behind a real server, which the environment names as the page expects."""
    with governed_server(tmp_path) as (url, library):
        monkeypatch.setenv("WENYUAN_URL", url)
        monkeypatch.setenv("WENYUAN_KEY", key(library, "search", "retrieve", agent="support"))
        yield library


def run(page: str, chat_url: str, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Execute all code of a page but its last block; returns its names."""
    monkeypatch.setenv("CHAT_URL", chat_url)
    names: dict[str, Any] = {}
    for number, code in enumerate(blocks(page)[:3], 1):
        exec(compile(code, f"{page}, block {number}", "exec"), names)
    return names


@pytest.mark.parametrize("page", PAGES)
def test_it_answers(
    world: Any, page: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Scenario A: the model is given snippets, asks for more, and answers with sources."""
    with chat_api(diligent) as (url, asked):
        said = run(page, url, monkeypatch)["said"]
    assert re.search(r"crm_policy#\d+: (?s:.*)24 小时", said)
    assert re.search(r"regulation_cn_gdpr#\d+: (?s:.*)个人数据", said)
    assert said in capsys.readouterr().out
    assert [len(body["messages"]) for body in asked] == [2, 4]
    assert asked[0]["tools"][0]["function"]["name"] == "get_knowledge"
    assert all(snippet["trust"] >= 4 for snippet in snippets(asked[0]["messages"][1]))


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize("works", [0, 2])
def test_it_stops(
    world: Any, page: str, works: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Scenario B: when retrieval fails, at first or in the middle, the loop ends with an error and nothing is injected."""
    real, calls = world.engine.keyword, []

    def breaks(*args: Any, **more: Any) -> Any:
        calls.append(args)
        if len(calls) > works:  # one search of each of the agent's two domains
            raise EngineUnavailable("the index is gone", component="engine local")
        return real(*args, **more)

    monkeypatch.setattr(world.engine, "keyword", breaks)
    with chat_api(diligent) as (url, asked):
        assert run(page, url, monkeypatch)["said"] is None
    assert "stopped: " in (told := capsys.readouterr().out)
    assert "the index is gone" in told
    assert len(asked) == works // 2
    assert not any(message["role"] == "tool" for body in asked for message in body["messages"])


def test_turns_are_bounded(world: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A model that asks for ever is left after a few turns, with an error."""

    def insatiable(body: Body) -> Body:
        return diligent({"messages": body["messages"][:2]})

    with chat_api(insatiable) as (url, asked), pytest.raises(RuntimeError, match="no answer after 4 turns"):
        run(PAGES[0], url, monkeypatch)
    assert len(asked) == 4


@pytest.mark.parametrize("page", PAGES)
def test_with_another_service(
    world: Any, page: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The last block makes snippets from the bare contract."""
    with chat_api(lambda _: {"content": "好"}) as (url, _):
        names = run(page, url, monkeypatch)
        exec(blocks(page)[3], names)
    assert names["knowledge"].snippets
    assert capsys.readouterr().out.splitlines()[-1].startswith(str(len(names["knowledge"].snippets)))


def test_the_pages_are_in_step() -> None:
    """Both languages show the same code."""
    assert blocks(PAGES[0]) == blocks(PAGES[1])
    assert len(blocks(PAGES[0])) == 4
