"""What the parser of the command line refuses: told in both languages, and as JSON, like every other failure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner, Result

import wenyuan
from listening import listening
from wenyuan.cli.options import setting
from wenyuan.cli.root import app
from wenyuan.core.access import RIGHTS

USAGE = [
    (["search"], "Missing argument 'query'", "缺少参数 'query'", "wenyuan search -h"),
    (["search", "x", "-k", "many"], "'--limit': must be an integer\n", "的值有误：应为整数\n", "wenyuan search -h"),
    (
        ["serve", "--port", "99999"],
        "'--port': must be at most 65535",
        "'--port' 的值有误：不能大于 65535",
        "wenyuan serve -h",
    ),
    (
        ["worker", "--poll", "0"],
        "'--poll': must be at least 0.1",
        "'--poll' 的值有误：不能小于 0.1",
        "wenyuan worker -h",
    ),
    (["worker", "--poll", "x"], "'--poll': must be a number\n", "'--poll' 的值有误：应为数字\n", "wenyuan worker -h"),
    (["search", "x", "-k"], "Option '-k' requires an argument", "选项 '-k' 需要一个值", "wenyuan search -h"),
    (["search", "x", "--bogus"], "No such option: --bogus", "没有选项 --bogus", "wenyuan search -h"),
    (["search", "x", "--limt", "3"], "Possible options: --limit", "相近的有：--limit", "wenyuan search -h"),
    (["search", "a", "b", "c"], "unexpected extra argument(s) (b c)", "多余的参数：b c", "wenyuan search -h"),
    (["search", "x", "--as-of", "soon"], "'soon' is not a date", "'soon' 不是", "wenyuan search -h"),
    (["add", "", "--source", "x"], "'PATH': must not be empty", "'PATH' 的值有误：不能为空", "wenyuan add -h"),
    *(
        (["connect", "dify", "--url", url], f"{url!r} is not an address", f"{url!r} 不是", "wenyuan connect -h")
        for url in ("nonsense", "", "ftp://host", "http://", "http://host:port", "localhost:8765", "http://a b")
    ),
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


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("max_pages=200", 200),
        ("allow_private=true", True),
        ("since=2026-01-05", "2026-01-05"),
        ("since=2026-02-30", "2026-02-30"),
        ("exclude=['/旧/*', \"/old/*\"]", ["/旧/*", "/old/*"]),
        ("名称=制度", "制度"),
        ("name=*.md", "*.md"),
        ("name=!!python/name:os.system", "!!python/name:os.system"),
        ("size=.inf", ".inf"),
    ],
)
def test_a_setting_is_read_as_in_a_registry_file(written: str, value: object) -> None:
    """A day stays text, and what is no plain value is the text as it was typed."""
    name, read = setting(written)
    assert (name, read) == (written.partition("=")[0], value)
    assert type(read) is type(value)


def test_a_group_without_a_command_shows_its_help() -> None:
    """Nothing typed after a group is a question, not a mistake: it shows what there is."""
    done = run("source")
    assert "wenyuan source list" in done.output
    assert "Failed" not in done.output


def test_nothing_typed_at_all_shows_help() -> None:
    """The first that many type is the name of the program."""
    done = run()
    assert "wenyuan demo" in done.output
    assert not isinstance(done.exception, Exception) or isinstance(done.exception, SystemExit)


class Broken(BaseHTTPRequestHandler):
    """A service elsewhere that has lost its mind."""

    def do_POST(self) -> None:
        self.send_error(500)

    def log_message(self, *_: object) -> None:
        """It says nothing."""


def test_a_broken_source_elsewhere_leads_to_that_source(tmp_path: Path) -> None:
    """What to do next is to look at where the source lies: the library's own doctor knows nothing of it."""
    with listening(ThreadingHTTPServer(("127.0.0.1", 0), Broken)) as url:
        with wenyuan.open(tmp_path / "library", create=True, encoder={"kind": "none"}) as library:
            settings = {"url": f"{url}/v1/retrieve_fragments", "allow_private": True}
            library.catalog.put_source(wenyuan.Source(source_id="partner", type="api", path="", settings=settings))
        done = run("--library", str(tmp_path / "library"), "search", "complaint")
    assert done.exit_code == 1
    assert "HTTP 500" in done.stderr
    assert done.stderr.rstrip().endswith("wenyuan source show partner")


def commands_of(group: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """Every command that does something, by its name."""
    for word, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands_of(command, f"{name} {word}".strip())
        else:
            yield f"{name} {word}".strip(), command


def test_every_command_has_the_shared_options() -> None:
    """They stand after a command's own, in one order; without a library, or JSON, are only those that know neither."""
    every = ["--library", "--lang", "--json"]
    lacking = {
        "conformance": "--library",
        "demo": "--library",
        "encoder check": "--library",
        "okf check": "--library",
        "mcp": "--json",
    }
    found = dict(commands_of(typer.main.get_command(app)))
    assert len(found) > 50
    for name, command in found.items():
        wanted = [option for option in every if option != lacking.get(name)]
        shared = [option for one in command.params for option in one.opts if option in every]
        assert (name, shared) == (name, wanted)
        assert [one.opts[0] for one in command.params[-len(wanted) :]] == wanted


def test_the_help_of_keys_names_every_right() -> None:
    """What a key may be given stands in the help, erasing too."""
    told = " ".join(run("key", "create", "--help").stdout.split())
    assert ", ".join(RIGHTS) in told
