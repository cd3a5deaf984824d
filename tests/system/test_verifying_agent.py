"""The agent in `examples` that verifies its own draft and repairs it once: "verifying_agent.py"."""

from __future__ import annotations

import json
import runpy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agent_loops import EXAMPLES
from governed_door import governed_server
from scripted_server import Scripted, reply, scripted

EXAMPLE = EXAMPLES / "verifying_agent.py"
QUESTION = "客户投诉多久响应？"
RIGHT = "客户投诉需在 24 小时内第一次响应，并登记投诉编号。"
WRONG = RIGHT.replace("24", "48")


def said(text: str) -> bytes:
    return reply(200, {"choices": [{"message": {"role": "assistant", "content": text}}]})


def told(server: Scripted) -> list[Any]:
    """The messages of each turn."""
    return [json.loads(request.partition(b"\r\n\r\n")[2])["messages"] for request in server.requests]


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with governed_server(tmp_path_factory.mktemp("agent"), needs_keys=False) as (found, _):
        yield found


@pytest.mark.parametrize(
    ("drafts", "turns", "shown"),
    [
        ([f"{RIGHT} [crm_policy]"], 1, RIGHT),
        ([f"{WRONG} [crm_policy]", f"{RIGHT} [crm_policy]"], 2, RIGHT),
        ([f"{WRONG} [crm_policy]", f"{RIGHT} [crm_policy] {WRONG} [crm_policy]"], 2, RIGHT),
        ([f"{WRONG} [crm_policy]", f"{WRONG} [crm_policy]"], 2, "The library does not say."),
    ],
)
def test_it_repairs_once_and_gives_what_is_shown(
    url: str, drafts: list[str], turns: int, shown: str, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    """A wrong number is told to the model with what the source says; what is still wrong then is left out."""
    with scripted(*map(said, drafts)) as model:
        monkeypatch.setenv("CHAT_URL", f"http://127.0.0.1:{model.port}")
        monkeypatch.setenv("KNOWLEDGE_URL", url)
        monkeypatch.setattr("sys.argv", ["verifying_agent.py", QUESTION])
        with pytest.raises(SystemExit) as ended:
            runpy.run_path(str(EXAMPLE), run_name="__main__")
        assert ended.value.code == 0
        printed = capsys.readouterr().out
        assert printed.startswith(shown)
        assert "48" not in printed
        assert len(model.requests) == turns
        if turns == 2:
            repair = told(model)[1][-1]["content"]
            assert "number_changed" in repair
            assert "24 小时" in repair


def test_a_failure_is_said(monkeypatch: pytest.MonkeyPatch, capsys: Any, tmp_path: Path) -> None:
    """Where the service fails there is no answer."""
    with scripted(said("x")) as model, scripted(reply(200, {"status": "FAILED", "error_message": "down"})) as service:
        monkeypatch.setenv("CHAT_URL", f"http://127.0.0.1:{model.port}")
        monkeypatch.setenv("KNOWLEDGE_URL", f"http://127.0.0.1:{service.port}")
        monkeypatch.setattr("sys.argv", ["verifying_agent.py", QUESTION])
        with pytest.raises(SystemExit) as ended:
            runpy.run_path(str(EXAMPLE), run_name="__main__")
        assert ended.value.code == 1
        assert "down" in capsys.readouterr().err
        assert model.requests == []
