"""What every agent in `examples` must do, run as it stands there against a chat API and a real library."""

from __future__ import annotations

import contextlib
import io
import os
import runpy
import subprocess
import sys
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from chat_api import NOTHING, chat_api, researcher
from doors import broken, foreign_library, served
from governed_door import key
from wenyuan import RetrievalRequest

EXAMPLES = Path(__file__).parents[2] / "examples"
QUESTIONS = ("客户投诉多久响应？", "How many connections does the database pool hold?")


@pytest.fixture(scope="module")
def asked_library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Any, str, str]]:
    with foreign_library(tmp_path_factory.mktemp("examples")) as found, served(found, needs_keys=True) as url:
        yield found, url, key(found, "retrieve")


class LoopLaws:
    """Subclasses name their example."""

    example: str
    root = True
    """Whether the chat API's URL ends with its version."""
    inside = False
    """Whether it is run in this process but for one question; another process takes long to begin."""

    def run(self, chat: str, library: tuple[Any, str, str], question: str) -> subprocess.CompletedProcess[str]:
        world = {
            **{name: value for name, value in os.environ.items() if name != "CHAT_MODEL"},
            "CHAT_URL": chat if self.root else chat.removesuffix("/v1"), "CHAT_KEY": "k", "OPENAI_MAX_RETRIES": "0",
            "WENYUAN_URL": library[1], "WENYUAN_KEY": library[2], **({} if self.root else {"CHAT_MODEL": "any"}),
        }  # fmt: skip
        command = [str(EXAMPLES / self.example), question]
        if not self.inside or question == QUESTIONS[0]:
            world |= {"PYTHONPATH": os.pathsep.join(sys.path), "PYTHONIOENCODING": "utf-8"}
            return subprocess.run(
                [sys.executable, *command],
                check=False, env=world, capture_output=True, text=True, encoding="utf-8", timeout=240,
            )  # fmt: skip
        out, errors, code = io.StringIO(), io.StringIO(), 0
        with (
            patch.dict(os.environ, world, clear=True), patch.object(sys, "argv", command),
            contextlib.redirect_stdout(out), contextlib.redirect_stderr(errors),
        ):  # fmt: skip
            try:
                runpy.run_path(command[0], run_name="__main__")
            except Exception:
                traceback.print_exc()
                code = 1
        return subprocess.CompletedProcess(command, code, out.getvalue(), errors.getvalue())

    @pytest.mark.parametrize("question", QUESTIONS)
    def test_it_answers_from_the_library(self, asked_library: tuple[Any, str, str], question: str) -> None:
        """What it says is the library's best fragment, with its source; the model was given a tool's result once."""
        with chat_api(researcher) as (chat, asked):
            done = self.run(chat, asked_library, question)
        assert done.returncode == 0, done.stderr
        request = RetrievalRequest(query=question, max_results=5)
        best = asked_library[0].retrieve_fragments(request).fragments[0]
        assert done.stdout.strip() == f"{best.content} <{best.source}>"
        assert len(asked) == 2

    def test_what_is_not_there_is_said_not_to_be_there(self, asked_library: tuple[Any, str, str]) -> None:
        """An empty answer of the library reaches the model as one."""
        with chat_api(researcher) as (chat, asked):
            done = self.run(chat, asked_library, "zqxv jwkp")
        assert (done.stdout.strip(), len(asked)) == (NOTHING, 2), done.stderr

    def test_a_failure_ends_the_loop(self, asked_library: tuple[Any, str, str]) -> None:
        """A FAILED answer is an error of the program that says why; the model is not asked again."""
        with chat_api(researcher) as (chat, asked), broken(asked_library[0]):
            done = self.run(chat, asked_library, QUESTIONS[1])
        assert done.returncode != 0
        assert "the index is gone" in done.stderr
        assert (done.stdout, len(asked)) == ("", 1)
