"""What stands in `examples/hosts` has the form that the hosts take, and tells a failure as one.

The rules of form are those of the hosts' public schemas: the manifest of dify-plugin, `mcpServers` of Claude and Cursor, and what
Open WebUI reads of a tool's file.
"""

from __future__ import annotations

import ast
import importlib.util
import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import typer.main
import yaml
from pydantic import BaseModel

import wenyuan
from scripted_server import FRAGMENT, SUCCESS, Scripted, reply, scripted
from wenyuan.cli.root import app
from wenyuan.server.app import ROUTES

HOSTS = Path(__file__).parents[2] / "examples" / "hosts"
DIFY = HOSTS / "dify"
FAILED = {"status": "FAILED", "fragments": [], "error_message": "engine keyword: connection refused"}
Ask = Callable[[str], str]


def read(name: str) -> Any:
    text = (HOSTS / name).read_text("utf-8")
    return json.loads(text) if name.endswith(".json") else yaml.safe_load(text)


def loaded(file: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"hosts_{file.stem}", file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_clients_of_mcp_name_the_door_or_the_command() -> None:
    """An address with the key as a bearer token, out of the environment; or a command with options that it has."""
    paths = {one.path for one in ROUTES}
    for name in ("claude/.mcp.json", "cursor/mcp.json"):
        (server,) = read(name)["mcpServers"].values()
        assert server["url"].endswith("/mcp") and "/mcp" in paths
        assert re.fullmatch(r"Bearer \$\{(env:)?WENYUAN_KEY(:-none)?\}", server["headers"]["Authorization"])
        assert set(server) <= {"type", "url", "headers"}
    (started,) = read("claude/claude_desktop_config.json")["mcpServers"].values()
    assert (set(started), started["command"]) == ({"command", "args"}, "wenyuan")
    command, *options = started["args"]
    known = typer.main.get_command(app).commands[command]  # type: ignore[attr-defined]
    taken = {option for parameter in known.params for option in parameter.opts} | {"--library"}
    assert {one for one in options if one.startswith("--")} <= taken


def test_the_manifest_of_dify_is_whole() -> None:
    """Members, names and versions as dify-plugin's models want them; each file that it names is there, and reads."""
    told = read("dify/manifest.yaml")
    wanted = {
        "version",
        "type",
        "author",
        "name",
        "label",
        "description",
        "icon",
        "created_at",
        "resource",
        "plugins",
        "meta",
    }
    assert set(told) == wanted
    assert (told["version"], told["type"]) == (wenyuan.__version__, "plugin")
    assert re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", told["author"]) and re.fullmatch(r"[a-z0-9_-]{1,128}", told["name"])
    assert (DIFY / "_assets" / told["icon"]).is_file()
    assert set(told["meta"]) == {"version", "arch", "runner"}
    assert (DIFY / f"{told['meta']['runner']['entrypoint']}.py").is_file()
    assert isinstance(told["resource"]["memory"], int)
    for name in told["plugins"]["tools"]:
        provider = read(f"dify/{name}")
        assert {"author", "name", "label", "description", "icon"} <= set(provider["identity"])
        assert all({"type", "required", "label"} <= set(one) for one in provider["credentials_for_provider"].values())
        assert provider["credentials_for_provider"]["key"]["type"] == "secret-input"
        sources = [provider["extra"]["python"]["source"]]
        for tool in (read(f"dify/{one}") for one in provider["tools"]):
            assert {"name", "author", "label"} <= set(tool["identity"])
            assert set(tool["description"]) == {"human", "llm"}
            for one in tool["parameters"]:
                assert one["form"] in ("llm", "form") and one["type"] in ("string", "number")
                assert {"name", "label", "human_description"} <= set(one) and (
                    one["form"] == "form" or "llm_description" in one
                )
            sources.append(tool["extra"]["python"]["source"])
        for source in sources:
            ast.parse((DIFY / source).read_text("utf-8"))


def test_both_languages_are_said() -> None:
    """Whatever Dify shows to people is there in both."""

    def labels(tree: Any) -> Any:
        if isinstance(tree, dict):
            if "en_US" in tree:
                yield tree
            for one in tree.values():
                yield from labels(one)
        elif isinstance(tree, list):
            for one in tree:
                yield from labels(one)

    shown = [one for file in DIFY.rglob("*.yaml") for one in labels(yaml.safe_load(file.read_text("utf-8")))]
    assert len(shown) > 10
    assert all(set(one) == {"en_US", "zh_Hans"} and all(one.values()) for one in shown)


def test_the_tool_of_open_webui_has_what_it_reads() -> None:
    """A head with title and version, `Tools` with `Valves`, and a typed, described method for each tool."""
    module = loaded(HOSTS / "open_webui" / "wenyuan_tool.py")
    head = dict(line.split(": ", 1) for line in (module.__doc__ or "").strip().splitlines())
    assert {"title", "description", "version", "license"} <= set(head)
    assert head["version"] == wenyuan.__version__
    assert issubclass(module.Tools.Valves, BaseModel)
    assert "key" in module.Tools.Valves.model_fields
    method = module.Tools.search_library
    assert method.__annotations__ == {"query": str, "return": str}
    assert ":param query:" in (method.__doc__ or "")


def at(server: Scripted) -> str:
    return f"http://127.0.0.1:{server.port}"


def open_webui(url: str) -> str:
    tools = loaded(HOSTS / "open_webui" / "wenyuan_tool.py").Tools()
    tools.valves = tools.Valves(url=url, key="k-123")
    return str(tools.search_library("连接池"))


def dify(url: str) -> str:
    module = loaded(DIFY / "tools" / "asking.py")
    try:
        return json.dumps(module.fragments({"url": url, "key": "k-123"}, "连接池", 5), ensure_ascii=False)
    except module.Failed as error:
        return f"FAILED: {error}"


@pytest.mark.parametrize("ask", [open_webui, dify])
def test_a_failure_is_told_as_one(ask: Ask) -> None:
    """FAILED, another status, no JSON, a missing member, nobody there and a redirect; the key goes to nobody else."""
    with scripted(reply(200, SUCCESS)) as server:
        assert FRAGMENT["content"] in ask(at(server))
        assert b"Bearer k-123" in server.requests[0]
    with scripted(reply(200, {"status": "SUCCESS", "fragments": []})) as server:
        assert "FAILED" not in ask(at(server))
    broken = (
        reply(200, FAILED), reply(503, FAILED), reply(200, raw=b"<html>"), reply(200, {"status": "SUCCESS"}),
        reply(403, {"detail": "no such key"}), reply(200, {"status": "SUCCESS", "fragments": [{}]}), b"SSH-2.0\r\n",
    )  # fmt: skip
    for answer in broken:
        with scripted(answer) as server:
            assert "FAILED" in ask(at(server)), answer
            url = at(server)
    assert "FAILED" in ask(url)
    with scripted(reply(200, SUCCESS)) as other:
        with scripted(reply(307, None, f"Location: {at(other)}/v1/retrieve_fragments", raw=b"")) as server:
            assert "FAILED" in ask(at(server))
        assert other.requests == []


def test_nothing_of_ours_is_imported() -> None:
    """A host has no package of ours: what runs there needs the host's and the standard library."""
    allowed = {*sys.stdlib_module_names, "pydantic", "dify_plugin", "tools"}
    for file in HOSTS.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            names = (
                [one.name for one in node.names]
                if isinstance(node, ast.Import)
                else [node.module or ""]
                if isinstance(node, ast.ImportFrom)
                else []
            )
            assert {name.partition(".")[0] for name in names} <= allowed, file
