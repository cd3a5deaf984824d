"""Verdicts over HTTP, by the SDK, over MCP and on the command line: the same for the same answer."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len
from typer.testing import CliRunner

import wenyuan
from governed_door import governed_server, key, send
from wenyuan.cli.root import app
from wenyuan.client import Client
from wenyuan.core.access import Principal
from wenyuan.core.errors import EngineUnavailable, InvalidRequest, RetrievalFailed
from wenyuan.i18n.translation import texts
from wenyuan.mcp.tools import TOOLS
from wenyuan.service.verification import VERDICTS as VERDICTS_OF_ALL

ANSWER = "客户投诉需在 48 小时内第一次响应 [1]。客户投诉需在 24 小时内第一次响应，并登记投诉编号【1】。龘靐齉 zzqx。"
BODY: dict[str, Any] = {"answer": ANSWER, "citations": {"1": "crm_policy"}}
VERDICTS = ["number_changed", "verbatim", "nothing_found"]


@pytest.fixture(scope="module")
def door(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Any]]:
    with governed_server(tmp_path_factory.mktemp("verify")) as made:
        yield made


def verdicts(body: Any) -> list[str]:
    return [claim["verdict"] for claim in body["claims"]]


def test_every_door_says_the_same(door: tuple[str, Any]) -> None:
    """HTTP, SDK, MCP's tool: equal but for the record's id."""
    url, library = door
    mine = key(library, "search")
    found = send(url, "POST", "/v1/verify", BODY, mine)
    assert found.status == 200
    assert found.json["status"] == "SUCCESS"
    assert verdicts(found.json)[:2] == VERDICTS[:2]
    assert verdicts(found.json)[2] in (
        "nothing_found",
        "not_judged",
    )  # by whatever the encoder of the tests takes it for
    assert sum(found.json["counts"].values()) == 3
    with Client(url, key=mine) as client:
        by_client = client.verify(ANSWER, citations={"1": "crm_policy"})
    (tool,) = (one for one in TOOLS if one.name == "verify")
    by_tool = tool(library, BODY, Principal()).value
    for other in (by_client, by_tool):
        assert {**other, "audit_id": None} == {**found.json, "audit_id": None}


def test_claims_with_their_sources(door: tuple[str, Any]) -> None:
    """Claims may come one by one, each with what it cites; an agent's key sees its own sources only."""
    url, library = door
    body = {
        "claims": [
            {"text": "客户投诉需在 24 小时内第一次响应", "sources": ["crm_policy"]},
            {"text": "客户投诉一般三天内响应就可以了"},
        ]
    }
    assert verdicts(send(url, "POST", "/v1/verify", body, key(library, "search")).json) == ["verbatim", "verbatim"]
    found = send(url, "POST", "/v1/verify", body, key(library, "search", agent="support")).json
    assert verdicts(found)[0] == "verbatim"
    assert all(e["source_id"] != "wiki" for claim in found["claims"] for e in claim["evidence"])


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({}, "answer"),
        ({"answer": "x", "claims": [{"text": "x"}]}, "answer"),
        ({"answer": ""}, "answer"),
        ({"claims": []}, "claims"),
        ({"claims": [{"text": "x"}] * 1_000}, "claims"),
        ({"claims": [{"text": "字" * 100_000}]}, "claims[0].text"),
        ({"claims": [{"txt": "x"}]}, "claims[0].txt"),
        ({"answer": "x", "min_trust": 9}, "min_trust"),
        ({"answer": "x", "as_of": "yesterday"}, "as_of"),
        ({"answer": "x", "citations": {"1": 2}}, "citations"),
        ({"answer": "!!! …"}, "claims"),
    ],
)
def test_what_is_no_answer(door: tuple[str, Any], body: Any, said: str) -> None:
    """Refused with the place that is at fault, before anything is looked for."""
    url, library = door
    found = send(url, "POST", "/v1/verify", body, key(library, "search"))
    assert found.status == 400
    assert said in json.dumps(found.json)


def test_rights(door: tuple[str, Any]) -> None:
    """It takes the right to search, and a key."""
    url, library = door
    assert send(url, "POST", "/v1/verify", BODY, None).status == 401
    assert send(url, "POST", "/v1/verify", BODY, key(library, "retrieve")).status == 403


def test_a_failure_is_no_verdict(door: tuple[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """FAILED, with the reason and no claim; the SDK raises."""
    url, library = door

    def broken(*_: Any, **__: Any) -> Any:
        raise EngineUnavailable("it is gone", component="engine")

    monkeypatch.setattr(library.engine, "keyword", broken)
    mine = key(library, "search")
    found = send(url, "POST", "/v1/verify", BODY, mine).json
    assert (found["status"], found["claims"]) == ("FAILED", [])
    assert "it is gone" in found["error_message"]
    with Client(url, key=mine) as client:
        with pytest.raises(RetrievalFailed, match="gone"):
            client.verify(ANSWER)
        with pytest.raises(InvalidRequest):
            client.verify(ANSWER, min_trust=0)


def test_every_verdict_has_its_words() -> None:
    """In both languages, at the command line and in the console."""
    for language in ("en", "zh"):
        for door in ("command_line", "console"):
            assert {f"verdict_{name}" for name in VERDICTS_OF_ALL} <= texts(door, language).keys()


@pytest.mark.parametrize("language", ["en", "zh"])
def test_on_the_command_line(tmp_path: Path, language: str) -> None:
    """A text, a file or standard input; verdicts in the caller's language, or as JSON as over HTTP."""
    folder = tmp_path / "library"
    with wenyuan.open(folder, create=True, encoder={"kind": "none"}) as library:
        (tmp_path / "docs").mkdir()
        (tmp_path / "docs" / "a.md").write_text(
            "# 投诉\n\n客户投诉需在 24 小时内第一次响应，并登记投诉编号。\n", "utf-8"
        )
        library.add(wenyuan.Source(source_id="crm_policy", path=str(tmp_path / "docs")))
    (tmp_path / "answer.txt").write_text(ANSWER, "utf-8")
    common = ["--library", str(folder), "--cite", "1=crm_policy"]
    world = {"WENYUAN_ENCODER__KIND": "none", "LC_ALL": "C.UTF-8", "COLUMNS": "80"}

    def run(*args: str) -> Any:
        return CliRunner().invoke(app, ["verify", *args], env=world, prog_name="wenyuan")

    done = run(str(tmp_path / "answer.txt"), "--lang", language, *common)
    assert done.exit_code == 0, done.output
    assert ("number changed" if language == "en" else "数字不符") in done.stdout
    assert "48 小时" in done.stdout
    assert "24 小时" in done.stdout
    assert max(cell_len(line) for line in done.stdout.splitlines() if "file://" not in line) <= 80
    assert verdicts(json.loads(run(ANSWER, "--json", *common).stdout)) == VERDICTS
    listed = CliRunner().invoke(app, ["audit", "list", "--lang", language, "--library", str(folder)], env=world)
    assert listed.exit_code == 0, listed.output
    assert ("number changed" if language == "en" else "数字不符") in listed.stdout
    (record,) = re.findall("a-[0-9a-z]{26}", listed.stdout)[:1]
    shown = CliRunner().invoke(
        app, ["audit", "show", record, "--lang", language, "--library", str(folder)], env=world
    )
    assert shown.exit_code == 0, shown.output
    assert "48 小时" in shown.stdout
    again = CliRunner().invoke(
        app, ["audit", "replay", record, "--lang", language, "--library", str(folder)], env=world
    )
    assert again.exit_code == 0, again.output
    exact = ["audit", "replay", record, "--exact", "--lang", language, "--library", str(folder)]
    assert CliRunner().invoke(app, exact, env=world).exit_code == 2
    by_input = CliRunner().invoke(app, ["verify", "-", "--json", *common], env=world, input=ANSWER)
    assert verdicts(json.loads(by_input.stdout)) == VERDICTS
    assert run(ANSWER, "--cite", "nothing", "--library", str(folder), "--lang", language).exit_code == 2
