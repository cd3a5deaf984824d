"""``wenyuan fs``: what it prints, for people and for programs."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from typer.testing import CliRunner, Result

from wenyuan.cli.root import app

Run = Callable[..., Result]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """The command line on a library of one source."""
    folder = tmp_path_factory.mktemp("fs")
    for name, text in {"a.md": "# 请假\n\n年假 10 天。\n", "b/c.md": "# Sick\n\nA note from day 4.\n"}.items():
        (folder / "docs" / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / "docs" / name).write_text(text, "utf-8")
    env = {"WENYUAN_LIBRARY": str(folder / "library"), "WENYUAN_ENCODER__KIND": "none", "LC_ALL": "C.UTF-8"}

    def run(*args: str, code: int = 0) -> Result:
        done = CliRunner().invoke(app, list(args), env=env, prog_name="wenyuan")
        assert done.exit_code == code, done.output
        return done

    run("add", str(folder / "docs"), "--source", "docs")
    return run


def test_a_tree_that_is_cut_says_so(run: Run) -> None:
    """To people and to programs; a whole one says that it is whole."""
    whole = json.loads(run("fs", "tree", "--json").stdout)
    assert [one["path"] for one in whole["entries"]] == ["/docs/", "/docs/a.md", "/docs/b/", "/docs/b/c.md"]
    assert [one["depth"] for one in whole["entries"]] == [0, 1, 1, 2]
    assert whole["more"] is False
    cut = json.loads(run("fs", "tree", "--limit", "2", "--json").stdout)
    assert (len(cut["entries"]), cut["more"]) == (2, True)
    assert "more than 2" in run("fs", "tree", "--limit", "2", "--lang", "en").output


def test_lines_are_printed_with_their_numbers(run: Run) -> None:
    """Of a document, and of what was found; a search that finds nothing is done, and says in how many documents."""
    assert run("fs", "cat", "/docs/a.md", "-n").stdout.splitlines()[2] == "     3  年假 10 天。"
    assert run("fs", "grep", "-E", "[0-9]+ 天").stdout.startswith("/docs/a.md:3: 年假 10 天。")
    assert "2" in run("fs", "grep", "加班", "--lang", "zh").output
    found = json.loads(run("fs", "grep", "加班", "--json").stdout)
    assert (found["matches"], found["documents"], found["more"]) == ([], 2, False)


@pytest.mark.parametrize(
    "wrong", [("cat", "/docs"), ("cat", "/nowhere"), ("ls", "/docs/none.md"), ("grep", "-E", "("), ("find", "")]
)
def test_a_mistake_has_its_reason(run: Run, wrong: tuple[str, ...]) -> None:
    """With the next command, and never as an empty list."""
    failed = json.loads(run("fs", *wrong, "--json", code=2).stdout)
    assert failed["status"] == "FAILED"
