"""``wenyuan context``: from the library, from our server, and from a service that knows only the contract."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

import wenyuan
from foreign_service import FAILED, QUERY, foreign, fragment, success
from governed_door import fill, key
from wenyuan.cli.root import app
from wenyuan.server.app import create_app
from wenyuan.server.keys import KeyRing
from wenyuan.server.running import start_in_thread

Run = Callable[..., Result]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """The command line in this process, on a governed library."""
    with wenyuan.open(tmp_path / "library", create=True, encoder={"kind": "hashing"}) as library:
        fill(library, tmp_path / "docs")

    def call(*args: object, code: int = 0, **env: str) -> Result:
        world = {"WENYUAN_ENCODER__KIND": "hashing", "LC_ALL": "C.UTF-8", "COLUMNS": "80"}
        world |= {"WENYUAN_LIBRARY": str(tmp_path / "library"), **env}
        done = CliRunner().invoke(app, ["context", *map(str, args)], env=world, prog_name="wenyuan")
        assert done.exit_code == code, done.output
        return done

    return call


def test_from_the_library(run: Run) -> None:
    """An agent's context is shown with its trust, and what was withheld is counted, in both languages."""
    shown = run(QUERY).stdout
    assert "★★★★★  crm_policy#" in shown
    assert "24 小时" in shown
    assert "Withheld: " not in run(QUERY, "--allow-low-trust", "--token-budget", 2_000).stdout
    assert "片段" in run(QUERY, LC_ALL="zh_CN.UTF-8").stdout
    found = json.loads(run(QUERY, "--agent", "other", "--allow-low-trust", "--task", "t", "--json").stdout)
    sources = [snippet["source"] for snippet in found["CONTEXT_DATA"]["knowledge_snippets"]]
    assert [source.partition("#")[0] for source in sources] == ["wiki"]
    assert (found["status"], found["tokens"] > 0) == ("SUCCESS", True)


def test_from_any_service(run: Run, tmp_path: Path) -> None:
    """With a URL the bare contract is asked; our own server gives the same snippets, with the key of the environment."""
    answer = success(fragment("urn:a", "甲\x1b[31m", 0.9), fragment("urn:low", "乙", 0.8, trust=1))
    with foreign(answer) as (url, asked):
        shown = run(QUERY, "--url", url, "-k", 2).stdout
    assert asked[0]["max_results"] == 2
    assert "★★★☆☆  urn:a  [" in shown
    assert "trust-assumed" in shown
    assert "\x1b" not in shown
    assert "low trust 1" in shown
    with wenyuan.open(tmp_path / "library", encoder={"kind": "hashing"}) as library:
        url, stop = start_in_thread(
            create_app(library, authenticate=KeyRing(library.catalog, open_without_keys=False)), grace=1
        )
        try:
            run(QUERY, "--url", url, code=2)
            found = json.loads(run(QUERY, "--url", url, "--json", WENYUAN_KEY=key(library, "retrieve")).stdout)
        finally:
            stop()
    own = json.loads(run(QUERY, "--json").stdout)
    contents = [
        {snippet["content"] for snippet in answer["CONTEXT_DATA"]["knowledge_snippets"]} for answer in (found, own)
    ]
    assert contents[0] == contents[1] != set()


def test_a_failure_is_no_empty_context(run: Run) -> None:
    """FAILED ends the command with its reason, and nothing stands on standard output that could be injected."""
    with foreign(FAILED) as (url, _):
        done = run(QUERY, "--url", url, code=1)
        assert "数据库连接失败" in done.stderr
        assert done.stdout == ""
        told = json.loads(run(QUERY, "--url", url, "--json", code=1).stdout)
    assert told["status"] == "FAILED"
    assert "CONTEXT_DATA" not in told
    with foreign(success()) as (url, _):
        assert "No snippet" in run(QUERY, "--url", url).stdout


def test_the_hint_of_a_failure_elsewhere(run: Run) -> None:
    """What to do next is about the service that was asked, or the command line, not about the library here."""
    with foreign(FAILED) as (url, _):
        assert f"wenyuan conformance {url}" in run(QUERY, "--url", url, code=1).stderr
    assert "wenyuan context --help" in run(QUERY, "--url", "ftp://x", code=1, LC_ALL="zh_CN.UTF-8").stderr


def test_what_only_our_own_service_knows(run: Run) -> None:
    """A service that knows only the contract has no agents and no tasks: that is refused, not ignored."""
    assert "--agent" in run(QUERY, "--url", "http://127.0.0.1:1", "--agent", "support", code=2).output
