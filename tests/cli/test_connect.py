"""What `wenyuan connect` prints works when it is pasted, and what tool builders and models read is true."""

from __future__ import annotations

import ast
import json
import os
import re
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import jsonschema_rs
import pytest
from mcp import Client, StdioServerParameters
from typer.testing import CliRunner

from doors import foreign_library, served
from governed_door import key, send
from http_door import EchoService, call, serving
from mcp_clients import calling, over_http
from wenyuan.cli.connections import RECIPES
from wenyuan.cli.root import app
from wenyuan.mcp.tools import TOOLS
from wenyuan.runtime.installation import install_command
from wenyuan.wire.contract import RetrievalRequestShape
from wenyuan.wire.search import ContextRequestShape
from wenyuan.wire.unified import InferRequestShape

QUERY = "客户投诉多久响应"
HASHING = {"WENYUAN_ENCODER__KIND": "hashing"}  # what the library was made with


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with foreign_library(tmp_path_factory.mktemp("connect")) as found:
        yield found


@pytest.fixture(scope="module")
def url(library: Any) -> Iterator[str]:
    with served(library) as address:
        yield address


def pieces(target: str, url: str, folder: Path, *options: str) -> dict[str, str]:
    """What is printed for a target, by where it goes."""
    arguments = ["connect", target, "--url", url, "--library", str(folder), "--json", *options]
    result = CliRunner().invoke(app, arguments, env=HASHING)
    assert result.exit_code == 0, result.output
    return {piece["where"]: piece["text"] for piece in json.loads(result.stdout)["pieces"]}


@pytest.mark.parametrize("language", ["zh", "en"])
@pytest.mark.parametrize("target", sorted(RECIPES))
def test_every_target_is_told_in_both_languages(target: str, language: str, tmp_path: Path) -> None:
    """Something to paste, with the address, and where the key comes from."""
    arguments = ["connect", target, "--url", "http://kb.example:9000", "--library", str(tmp_path), "--lang", language]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    assert "http://kb.example:9000" in result.stdout
    assert ("密钥" if language == "zh" else "API key") in result.stderr or target == "haystack"


@pytest.mark.parametrize("target", ["claude", "cursor"])
@pytest.mark.parametrize("language", ["zh", "en"])
def test_nothing_is_printed_that_could_not_start(target: str, language: str, tmp_path: Path) -> None:
    """Without a library the command fails, and names the command that makes one; with a URL the rest is printed."""
    arguments = ["connect", target, "--library", str(tmp_path / "none"), "--lang", language]
    done = CliRunner().invoke(app, arguments)
    assert (done.exit_code, done.stdout) == (1, "")
    assert f"{tmp_path / 'none'} init" in done.stderr
    assert ("没有知识库" if language == "zh" else "no library") in done.stderr
    done = CliRunner().invoke(app, [*arguments, "--url", "http://kb.example:9000"])
    assert done.exit_code == 0
    assert "http://kb.example:9000/mcp" in done.stdout
    assert str(tmp_path) not in done.stdout
    assert f"{tmp_path / 'none'} init" in done.stderr
    assert ("已略去" if language == "zh" else "Left out") in done.stderr


@pytest.mark.parametrize(("language", "said"), [("zh", "未安装 MCP"), ("en", "MCP is not installed")])
def test_the_package_that_is_missing_is_named(library: Any, language: str, said: str, monkeypatch: Any) -> None:
    """Before anything is printed, with the command that installs it."""
    monkeypatch.setattr("wenyuan.cli.mcp.find_spec", lambda _name: None)
    arguments = ["connect", "claude", "--library", str(library.folder), "--lang", language]
    done = CliRunner().invoke(app, arguments)
    assert (done.exit_code, done.stdout) == (1, "")
    assert said in done.stderr
    assert install_command("mcp") in done.stderr
    told = json.loads(CliRunner().invoke(app, [*arguments, "--url", "http://kb.example", "--json"]).stdout)
    assert [piece["where"] for piece in told["pieces"]] == ["claude_code_http"]
    assert told["left_out"]["hint"] == install_command("mcp")


def test_the_program_that_is_named_is_the_one_that_was_checked(
    library: Any, url: str, tmp_path: Path, monkeypatch: Any
) -> None:
    """Another program of this name on the path may lack what was found here."""
    (tmp_path / "wenyuan").touch(mode=0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    told = json.loads(pieces("claude", url, library.folder)["claude_desktop"])["mcpServers"]["wenyuan"]
    assert told["command"] == sys.executable


def test_what_claude_and_cursor_start_answers(library: Any, url: str, tmp_path: Path, monkeypatch: Any) -> None:
    """The command in the printed configuration is a working MCP server."""
    monkeypatch.setenv("PATH", str(tmp_path))  # no installed program is found: the interpreter is named
    for target, where in (("claude", "claude_desktop"), ("cursor", "cursor_stdio")):
        told = json.loads(pieces(target, url, library.folder)[where])["mcpServers"]["wenyuan"]
        assert set(told) == {"command", "args"}
    environment = {"PYTHONPATH": os.pathsep.join(sys.path), **HASHING}
    command = StdioServerParameters(**told, env=environment)

    async def run() -> Any:
        async with Client(command, read_timeout_seconds=30) as client:
            return await client.call_tool("search", {"query": QUERY})

    assert anyio.run(run).structured_content["results"]


def test_what_cursor_and_claude_code_are_given_by_url_answers(library: Any, url: str) -> None:
    """The printed address is the server's MCP endpoint."""
    remote = json.loads(pieces("cursor", url, library.folder)["cursor_http"])["mcpServers"]["wenyuan"]
    assert remote["url"] == f"{url}/mcp"
    assert over_http(remote["url"].removesuffix("/mcp"), calling("search", query=QUERY)).structured_content["results"]
    words = shlex.split(pieces("claude", url, library.folder)["claude_code_http"])
    assert words[:3] == ["claude", "mcp", "add"]
    assert f"{url}/mcp" in words


def test_what_dify_is_given_answers(library: Any, url: str) -> None:
    """Endpoint and id of the printed form are those that Dify would call."""
    told = dict(line.split(": ", 1) for line in pieces("dify", url, library.folder)["dify_fields"].splitlines())
    body = {"knowledge_id": told["External Knowledge ID"], "query": QUERY, "retrieval_setting": {"top_k": 3}}
    assert send(told["API Endpoint"], "POST", "/retrieval", body).json["records"]


@pytest.mark.parametrize("target", ["langchain", "llamaindex", "haystack", "openai"])
def test_printed_python_is_python(target: str, library: Any, url: str) -> None:
    """It compiles, and names only modules of ours that there are."""
    code = pieces(target, url, library.folder)["python"]
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith("wenyuan"):
            path = Path(__file__).parents[2] / "src" / (str(node.module).replace(".", "/") + ".py")
            assert path.is_file()
            assert all(f"{name.name}" in path.read_text("utf-8") for name in node.names)


@pytest.mark.parametrize(("target", "package"), [
    ("langchain", "langchain-core"), ("llamaindex", "llama-index-core"), ("haystack", "haystack-ai"), ("openai", "openai"),
])  # fmt: skip
def test_what_is_installed_is_this_copy(target: str, package: str, library: Any, url: str) -> None:
    """Adapters need this program, from where it came; a client of OpenAI's needs nothing of ours."""
    told = pieces(target, url, library.folder)["install"]
    ours = [] if target == "openai" else [package]
    assert told == (install_command(beside=ours, pip=["pip"]) if ours else f"pip install {package}")
    assert not re.search(r"install wenyuan( |$)", told)


def test_printed_python_for_openai_runs(tmp_path: Path) -> None:
    """As it stands there, with a key."""
    with foreign_library(tmp_path) as library, served(library, needs_keys=True) as url:
        found: dict[str, Any] = {}
        exec(pieces("openai", url, library.folder, "--key", key(library, "retrieve"))["python"], found)
        with found["client"]:
            assert found["page"].data


def test_without_a_url_the_settings_say_where(tmp_path: Path) -> None:
    """Host and port of the library's own settings."""
    (tmp_path / "wenyuan.toml").write_text('[server]\nhost = "0.0.0.0"\nport = 9123\n', encoding="utf-8")
    result = CliRunner().invoke(app, ["connect", "dify", "--library", str(tmp_path), "--json"])
    assert json.loads(result.stdout)["url"] == "http://127.0.0.1:9123"


def test_an_unknown_target_is_wrong_usage(tmp_path: Path) -> None:
    """With the targets that there are."""
    result = CliRunner().invoke(app, ["connect", "clippy", "--library", str(tmp_path)])
    assert result.exit_code == 2
    assert "claude" in result.stderr


# --- for tool builders and models -----------------------------------------------------------------------------
BODIES = {
    "/v1/retrieve_fragments": ({"query": QUERY, "max_results": 3}, RetrievalRequestShape),
    "/v1/context": ({"retrieval_query": QUERY}, ContextRequestShape),
    "/v1/infer_rules": ({"context": QUERY}, InferRequestShape),
}


def test_tools_are_described_without_what_builders_cannot_read(url: str) -> None:
    """OpenAPI 3.0 with a server, an id for each tool, and neither references, unions nor nulls."""
    document = call(url, "GET", "/openapi-tools.json").json
    assert document["openapi"].startswith("3.0.")
    assert document["servers"] == [{"url": url}]
    text = json.dumps(document)
    assert not any(word in text for word in ('"$ref"', '"anyOf"', '"oneOf"', '"null"', '"const"'))
    assert {op["post"]["operationId"] for op in document["paths"].values()} == {
        "retrieve_fragments", "get_context", "infer_rules",
    }  # fmt: skip


@pytest.mark.parametrize("path", sorted(BODIES))
def test_described_tools_are_as_described(url: str, path: str) -> None:
    """A request and its answer are valid by the document, which names only members that the server knows."""
    operation = call(url, "GET", "/openapi-tools.json").json["paths"][path]["post"]
    takes = operation["requestBody"]["content"]["application/json"]["schema"]
    gives = operation["responses"]["200"]["content"]["application/json"]["schema"]
    body, shape = BODIES[path]
    assert set(takes["properties"]) <= set(shape.model_fields)
    assert jsonschema_rs.Draft202012Validator(takes).is_valid(body)
    answer = send(url, "POST", path, body)
    assert answer.status == 200
    assert jsonschema_rs.Draft202012Validator(gives).is_valid(answer.json)
    assert set(gives["properties"]) - {"error_message", "reason"} <= set(answer.json)


def test_models_can_read_how_to_ask(url: str) -> None:
    """`/llms.txt` names addresses that there are, without a key."""
    answer = call(url, "GET", "/llms.txt")
    assert answer.headers["Content-Type"].startswith("text/plain")
    text = answer.body.decode()
    assert text.startswith("# Wenyuan")
    for path in ("/mcp", "/openapi.json", "/openapi-tools.json", "/v1/retrieve_fragments"):
        assert f"{url}{path}" in text
    assert "FAILED" in text
    for tool in TOOLS:
        assert f"\n- {tool.name}: " in text


def test_a_service_without_sources_has_none_of_it() -> None:
    """These pages describe doors that only a library has."""
    with serving(EchoService()) as url:
        assert call(url, "GET", "/llms.txt").status == 404
