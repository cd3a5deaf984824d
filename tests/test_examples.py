"""The agents in `examples`, run as they stand there against a chat API of the tests' own and a real library."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from doors import broken, foreign_library, served
from governed_door import key
from test_docs_agent_loop import chat_api

EXAMPLES = Path(__file__).parents[1] / "examples"
QUESTION = "客户投诉多久响应？"


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Any, str, str]]:
    with foreign_library(tmp_path_factory.mktemp("examples")) as found, served(found, needs_keys=True) as url:
        yield found, url, key(found, "retrieve")


def model(messages: list[dict[str, Any]]) -> dict[str, Any]:
    """Looks the question up, then quotes the first thing that was found."""
    if messages[-1]["role"] == "user":
        arguments = json.dumps({"query": messages[-1]["content"]}, ensure_ascii=False)
        called = {"id": "c1", "type": "function", "function": {"name": "search_knowledge", "arguments": arguments}}
        return {"content": None, "tool_calls": [called]}
    found = json.loads(messages[-1]["content"])
    return {"content": f"{found[0]['content']} <{found[0]['source']}>" if found else "The library says nothing."}


def run(example: str, chat: str, url: str, token: str, question: str = QUESTION) -> subprocess.CompletedProcess[str]:
    environment = {
        **os.environ, "CHAT_URL": chat, "WENYUAN_URL": url, "WENYUAN_KEY": token,
        "PYTHONPATH": os.pathsep.join(sys.path), "PYTHONIOENCODING": "utf-8", "OPENAI_MAX_RETRIES": "0",
    }  # fmt: skip
    command = [sys.executable, str(EXAMPLES / example), question]
    return subprocess.run(
        command, check=False, env=environment, capture_output=True, text=True, encoding="utf-8", timeout=120
    )


def test_the_agent_answers_from_the_library(library: tuple[Any, str, str]) -> None:
    """What it says is a quotation with its source; what is not there, it says is not there."""
    _, url, token = library
    with chat_api(model) as (chat, asked):
        done = run("openai_agent.py", chat, url, token)
        assert done.returncode == 0, done.stderr
        assert "24 小时" in done.stdout
        assert "policy.md" in done.stdout
        assert [m["role"] for m in asked[-1]["messages"]] == ["system", "user", "assistant", "tool"]
        assert run("openai_agent.py", chat, url, token, "zqxv jwkp").stdout == "The library says nothing.\n"


def test_a_failure_ends_the_loop(library: tuple[Any, str, str]) -> None:
    """The model is not asked again, so it cannot answer from what it remembers."""
    found, url, token = library
    with chat_api(model) as (chat, asked), broken(found):
        done = run("openai_agent.py", chat, url, token)
    assert done.returncode != 0
    assert "the index is gone" in done.stderr
    assert len(asked) == 1
