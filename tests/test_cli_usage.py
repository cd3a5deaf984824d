"""What the parser of the command line refuses: told in both languages, and as JSON, like every other failure."""

from __future__ import annotations

import json
import re

import pytest
from typer.testing import CliRunner, Result

from wenyuan.cli.root import app

USAGE = [
    (["search"], "Missing argument 'query'", "缺少参数 'query'", "wenyuan search -h"),
    (["search", "x", "-k", "many"], "valid integer", "应为整数", "wenyuan search -h"),
    (["search", "x", "-k"], "Option '-k' requires an argument", "选项 '-k' 需要一个值", "wenyuan search -h"),
    (["search", "x", "--bogus"], "No such option: --bogus", "没有选项 --bogus", "wenyuan search -h"),
    (["search", "x", "--limt", "3"], "Possible options: --limit", "相近的有：--limit", "wenyuan search -h"),
    (["search", "a", "b", "c"], "unexpected extra argument(s) (b c)", "多余的参数：b c", "wenyuan search -h"),
    (["search", "x", "--as-of", "soon"], "'soon' is not a date", "'soon' 不是", "wenyuan search -h"),
    (
        ["serch"],
        "No such command 'serch'. Did you mean 'search'",
        "没有命令 'serch'，您是否想用 'search'",
        "wenyuan -h",
    ),
    (["source", "shw"], "No such command 'shw'", "没有命令 'shw'", "wenyuan source -h"),
    (["source", "show"], "Missing argument", "缺少参数", "wenyuan source show -h"),
    (["ingest"], "name a source, or give --all", "请指定来源", "wenyuan ingest -h"),
]


def run(*args: str, **env: str) -> Result:
    world = {"LC_ALL": "C.UTF-8", "COLUMNS": "80", **env}
    return CliRunner().invoke(app, args, env=world, prog_name="wenyuan")


@pytest.mark.parametrize(("args", "english", "chinese", "following"), USAGE)
@pytest.mark.parametrize("locale", ["C.UTF-8", "zh_CN.UTF-8"])
def test_wrong_usage_is_told_in_the_readers_language(
    args: list[str], english: str, chinese: str, following: str, locale: str
) -> None:
    """What was wrong is said in the language of the locale, with the help of the command that was meant."""
    done = run(*args, LC_ALL=locale)
    said = chinese if locale.startswith("zh") else english
    assert (done.exit_code, done.stdout) == (2, "")
    assert said in done.stderr
    assert done.stderr.rstrip().endswith(following)


@pytest.mark.parametrize(
    "args",
    [
        ["--lang", "zh", "search", "x", "--bogus"],
        ["search", "x", "--bogus", "--lang", "zh"],
        ["search", "x", "-k", "many", "--lang=zh"],
        ["--bogus", "--lang", "zh"],
    ],
)
def test_the_language_counts_wherever_it_stands(args: list[str]) -> None:
    """The language that was asked for is spoken even where the parser gave up before it came to it."""
    done = run(*args)
    assert re.match("失败：wenyuan", done.stderr)


@pytest.mark.parametrize("args", [["search", "--bogus", "--json"], ["--json", "search", "x", "-k", "many"]])
def test_wrong_usage_as_json_is_one_document(args: list[str]) -> None:
    """With `--json` a refusal of the parser is one document on standard output, like every failure."""
    done = run(*args)
    document = json.loads(done.stdout)
    assert (done.exit_code, document["status"], document["error"]["code"]) == (2, "FAILED", "invalid_request")
    assert document["error"]["hint"] == "wenyuan search -h"


def test_a_group_without_a_command_shows_its_help() -> None:
    """Nothing typed after a group is a question, not a mistake: it shows what there is."""
    done = run("source")
    assert "wenyuan source list" in done.output
    assert "Failed" not in done.output
