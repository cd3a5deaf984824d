"""``wenyuan rules propose``: what a person sees, what a program reads, and what is kept when it is killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from command_line import Run, runner
from liars_server import KEY, Server, lying
from patience import HANGS
from proposal_library import MORE, proposing, saying
from proposal_parts import LIARS, PLAN, REVIEW
from wenyuan.catalog import Catalog

WAITING = {"zh": "有 1 条规则待您审核", "en": "1 rule waits for your review"}
REFUSED = {"zh": "数字不符", "en": "number changed"}
LEFT = {"zh": "还有 3 个条款未读", "en": "3 clauses are left"}


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with lying() as running:
        yield running


@pytest.fixture(params=["zh", "en"])
def language(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def settings(server: Server) -> dict[str, str]:
    return {
        "WENYUAN_ENCODER__KIND": "hashing", "WENYUAN_LLM__URL": server.url, "WENYUAN_LLM__MODEL": "m-7b", "WENYUAN_LLM__KEY": KEY,
    }  # fmt: skip


@pytest.fixture
def command(tmp_path: Path, server: Server, language: str) -> Run:
    server.begin("perfect")
    wrong = LIARS["number of the condition"][0][language]
    server.lie = saying(language, wrong, PLAN[language])
    with proposing(tmp_path, language, server):
        pass
    call = runner(tmp_path / "library", **settings(server))
    return lambda *args, **more: call(*args, "--lang", language, **more)


def test_a_person_sees_what_waits_with_its_clause_and_what_was_refused(command: Run, language: str) -> None:
    """Refused proposals are counted by reason; --explain has each with its clause. The queue has what waits."""
    shown = command("rules", "propose", "law", "--explain").stdout
    flat = "".join(shown.split())
    for words in (
        WAITING[language],
        REFUSED[language],
        PLAN[language].dst,
        PLAN[language].text,
        REVIEW[language].text,
    ):
        assert "".join(words.split()) in flat
    queue = "".join(command("rules", "review").stdout.split())
    assert "".join(PLAN[language].text.split()) in queue
    assert {"zh": "第十一条", "en": "Article5"}[language] in queue
    assert "".join(REVIEW[language].text.split()) not in queue


def test_a_program_reads_all_of_it(command: Run, language: str) -> None:
    told = json.loads(command("rules", "propose", "law", "--json").stdout)
    assert (told["status"], told["read"], told["left"], told["counts"]) == ("SUCCESS", 4, 0, {"number_changed": 1})
    assert told["proposed"][0]["quote"] == PLAN[language].text
    assert json.loads(command("rules", "review", "--json").stdout)["statements"][0]["status"] == "proposed"


def test_it_reads_as_far_as_it_may_and_says_how_to_go_on(command: Run, language: str) -> None:
    assert LEFT[language] in command("rules", "propose", "law", "--limit", 1).stdout
    assert json.loads(command("rules", "propose", "law", "--json", "--tokens", 50).stdout)["read"] == 0
    told = json.loads(command("rules", "propose", "law", "--json", "--dry-run").stdout)
    assert (told["read"], told["read_before"], told["proposed"][0]["statement_id"]) == (3, 1, None)


def test_a_model_that_fails_is_told_with_what_is_kept(command: Run, language: str, server: Server) -> None:
    command("rules", "propose", "law", "--limit", 2)
    server.begin("500")
    told = json.loads(command("rules", "propose", "law", "--json", code=1).stdout)
    assert (told["status"], told["read"], told["read_before"], told["error"]["code"]) == (
        "FAILED",
        0,
        2,
        "llm_unavailable",
    )
    command("rules", "propose", "denied", code=2)
    command("rules", "propose", "nowhere", code=2)
    command("rules", "propose", "law", "--limit", 0, code=2)


def test_killed_in_the_middle_it_goes_on_where_it_was(tmp_path: Path, server: Server, language: str) -> None:
    """By SIGKILL while the model writes: what was answered before is kept, and not asked again."""
    server.begin("perfect")
    # Clauses of two documents are not asked about together.
    with proposing(tmp_path, language, server) as library:
        (tmp_path / "law" / "more.md").write_text(MORE[language], "utf-8")
        library.ingest("law")
    asked, killed = threading.Event(), threading.Event()
    answer = saying(language, PLAN[language])

    def lie(told: Any) -> Any:
        if len(server.seen) == 2:
            asked.set()
            killed.wait(HANGS)
        return answer(told)

    server.lie = lie
    line = [sys.executable, "-m", "wenyuan.cli", "rules", "propose", "law"]
    world = {**os.environ, **settings(server), "WENYUAN_LIBRARY": str(tmp_path / "library")}
    child = subprocess.Popen(line, env=world, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        assert asked.wait(HANGS)
        child.send_signal(signal.SIGKILL)
        child.wait(HANGS)
    finally:
        killed.set()
        child.kill()
    first = {passage["text"] for passage in server.told[0]["passages"]}
    catalog = Catalog.open(tmp_path / "library")
    try:
        assert len(catalog.rules.proposed()) == 1
    finally:
        catalog.close()
    server.seen.clear()
    server.lie = answer
    call = runner(tmp_path / "library", **settings(server))
    told = json.loads(call("rules", "propose", "law", "--json").stdout)
    assert (told["read_before"], told["left"]) == (len(first), 0)
    assert first.isdisjoint(passage["text"] for one in server.told for passage in one["passages"])
