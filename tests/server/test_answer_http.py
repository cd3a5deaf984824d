"""Answers over HTTP, as events, by the SDK, over MCP, on the command line and in the console: the same for the same question."""

from __future__ import annotations

import json
import re
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx2
import pytest
from typer.testing import CliRunner

from answer_library import DUTY, QUESTION, SECRET, answering
from console_door import Browser, Seen, served
from governed_door import key, send
from http_door import JSON, call
from liars_server import KEY, LIARS, Server, lying
from wenyuan.cli.root import app
from wenyuan.client import Client
from wenyuan.core.access import Principal
from wenyuan.core.errors import InvalidRequest, KnowledgeError, RetrievalFailed
from wenyuan.mcp.tools import TOOLS
from wenyuan.server.app import create_app
from wenyuan.server.keys import KeyRing
from wenyuan.server.running import start_in_thread
from wenyuan.settings import ServerSettings

Door = tuple[str, Any, Server]


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Door]:
    with lying() as server, answering(tmp_path_factory.mktemp("answer"), "zh", server) as library:
        ring = KeyRing(library.catalog, open_without_keys=False)
        url, stop = start_in_thread(create_app(library, authenticate=ring), grace=1)
        try:
            yield url, library, server
        finally:
            stop()


@pytest.fixture
def door(running: Door) -> Door:
    running[2].begin("perfect")
    running[1].answerer.llm._guard._breaker.worked()
    return running


def post(door: Door, body: Any, **bound: Any) -> Any:
    return send(door[0], "POST", "/v1/answer", body, key(door[1], "search", **bound))


def plain(body: Any) -> Any:
    """An answer without what differs each time."""
    return {name: value for name, value in body.items() if name not in ("audit_id", "generation")}


def test_every_door_says_the_same(door: Door) -> None:
    """HTTP, SDK, MCP's tool: equal but for the record's id; the answer, its claim and its quote."""
    url, library, _ = door
    found = post(door, {"query": QUESTION["zh"]})
    assert found.status == 200
    assert found.json["status"] == "SUCCESS"
    assert found.json["answer"] == f"{DUTY['zh']} [1]"
    (claim,) = found.json["claims"]
    (citation,) = claim["citations"]
    assert citation["quote"] == DUTY["zh"]
    assert citation["source"].startswith("file://")
    held = next(f for f in found.json["fragments"] if f["source"] == citation["ref"])
    assert held["content"][citation["start"] : citation["end"]] == citation["quote"]
    with Client(url, key=key(library, "search")) as client:
        by_client = client.answer(QUESTION["zh"], timeout=60)
    (tool,) = (one for one in TOOLS if one.name == "answer")
    by_tool = tool(library, {"query": QUESTION["zh"]}, Principal()).value
    assert plain(by_client) == plain(json.loads(json.dumps(by_tool))) == plain(found.json)
    shown = library.audit
    shown.flush()
    assert shown.show(found.json["audit_id"]).kind == "answer"


def test_what_was_dropped_is_told(door: Door) -> None:
    door[2].begin("number")
    body = post(door, {"query": QUESTION["zh"]}).json
    assert body["origin"] == "extractive"
    assert body["counts"] == {"number_changed": 1}
    assert body["dropped"][0]["changes"] == [{"was": "24小时", "said": "48小时"}]


def events(door: Door, body: Any) -> list[tuple[str, Any]]:
    """All events of a streamed answer."""
    headers = {"Authorization": f"Bearer {key(door[1], 'search')}"}
    found = []
    with httpx2.stream("POST", f"{door[0]}/v1/answer", json={**body, "stream": True}, headers=headers) as answer:
        assert answer.status_code == 200
        assert answer.headers["content-type"].startswith("text/event-stream")
        for event in "".join(answer.iter_text()).strip().split("\n\n"):
            name, _, data = event.partition("\n")
            found.append((name.removeprefix("event: "), json.loads(data.removeprefix("data: "))))
    return found


def requests(door: Door, outcome: str) -> int:
    """How many requests had an outcome so far."""
    shown = str(send(door[0], "GET", "/metrics", None, key(door[1], "audit")).body)
    found = re.findall(f'requests_total{{door="[a-z_]+",outcome="{outcome}",status="[0-9]+"}} ([0-9]+)', shown)
    return sum(map(int, found))


def counted(door: Door, outcome: str, count: int) -> None:
    """Wait until so many had it: a request is counted just after its last byte is out."""
    while requests(door, outcome) < count:
        time.sleep(0.01)


def test_a_streamed_answer(door: Door) -> None:
    """Stages, then checked claims, then the whole; what the model wrote unchecked is in none of them."""
    door[2].lie = lambda asked: {"claims": LIARS["perfect"](asked) + LIARS["number"](asked), "missing": ""}
    found = events(door, {"query": QUESTION["zh"]})
    assert [name for name, _ in found] == ["stage"] * 4 + ["claim", "dropped", "answer"]
    assert [told["stage"] for name, told in found if name == "stage"] == ["retrieved", "asked", "written", "checked"]
    assert found[-1][1]["status"] == "SUCCESS"
    assert found[4][1] == found[-1][1]["claims"][0]
    assert "48" not in json.dumps(found[:5], ensure_ascii=False)


def test_a_streamed_failure_says_so(door: Door) -> None:
    """The last event says FAILED; a request that is wrong is refused before anything is streamed."""
    door[2].begin("500")
    before = requests(door, "failed")
    name, told = events(door, {"query": QUESTION["zh"]})[-1]
    assert (name, told["status"], told["claims"]) == ("answer", "FAILED", [])
    counted(door, "failed", before + 1)
    assert "llm m-7b" in told["error_message"]
    assert post(door, {"query": "", "stream": True}).status == 400


def test_a_failure_names_the_model(door: Door) -> None:
    """FAILED with its component, the SDK raises, MCP says that it is an error; the key is nowhere."""
    door[2].begin("401")
    found = post(door, {"query": QUESTION["zh"]})
    assert (found.status, found.json["status"], found.json["answer"], found.json["claims"]) == (
        200,
        "FAILED",
        None,
        [],
    )
    assert "llm m-7b at 127.0.0.1" in found.json["error_message"]
    assert KEY not in json.dumps(found.json)
    with Client(door[0], key=key(door[1], "search")) as client:
        with pytest.raises(RetrievalFailed, match="llm m-7b"):
            client.answer(QUESTION["zh"])
        with pytest.raises(InvalidRequest):
            client.answer(QUESTION["zh"], limit=0)
        assert client.answer(QUESTION["zh"], on_failure="extract")["origin"] == "extractive"
    (tool,) = (one for one in TOOLS if one.name == "answer")
    with pytest.raises(KnowledgeError):
        tool(door[1], {"query": QUESTION["zh"]}, Principal())


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({}, "query"),
        ({"query": "  "}, "query"),
        ({"query": "x", "limit": 21}, "limit"),
        ({"query": "x", "on_failure": "guess"}, "on_failure"),
        ({"query": "x", "min_trust": 0}, "min_trust"),
        ({"query": "x", "as_of": "soon"}, "as_of"),
        ({"query": "x", "filters": {"and": 1}}, "and"),
        ({"query": "x", "streem": True}, "streem"),
    ],
)
def test_what_is_no_question(door: Door, body: Any, said: str) -> None:
    """Refused with the place that is at fault; nobody is asked."""
    found = post(door, body)
    assert found.status == 400
    assert said in json.dumps(found.json)
    assert door[2].seen == []


def test_rights(door: Door) -> None:
    """It takes the right to search; an agent is answered from its own sources, and for no other agent."""
    url, library, server = door
    body = {"query": QUESTION["zh"]}
    assert send(url, "POST", "/v1/answer", body, None).status == 401
    assert send(url, "POST", "/v1/answer", body, key(library, "retrieve")).status == 403
    assert post(door, {**body, "agent_id": "front"}, agent="support").status == 404
    assert post(door, {**body, "knowledge_scope": [{"domain": "desk"}]}, agent="support").status == 403
    assert server.seen == []
    assert post(door, body, agent="support").json["answer"] == f"{DUTY['zh']} [1]"
    assert {p["id"].partition("#")[0] for p in server.told[-1]["passages"]} == {"policy"}


def test_generated_summaries(door: Door) -> None:
    """Of a search and of a context: sentences that the model chose, and which of them are."""
    url, library, _ = door
    library.summarizer._kept.clear()
    mine = key(library, "search")
    found = send(url, "POST", "/v1/search", {"query": QUESTION["zh"], "summary": "generated"}, mine).json
    policy = next(p for p in found["passages"] if p["source_id"] == "policy")
    assert policy["summary_origin"] == "generated"
    assert DUTY["zh"] in policy["summary"]
    assert [leg["state"] for leg in found["coverage"]["legs"] if leg["name"] == "llm"] == ["ok"]
    built = send(url, "POST", "/v1/context", {"retrieval_query": QUESTION["zh"], "summary": "generated"}, mine).json
    assert any(DUTY["zh"] in one["content"] for one in built["CONTEXT_DATA"]["knowledge_snippets"])
    plain_search = send(url, "POST", "/v1/search", {"query": QUESTION["zh"]}, mine).json
    assert all("summary_origin" not in p for p in plain_search["passages"])
    assert send(url, "POST", "/v1/search", {"query": "x", "summary": "written"}, mine).status == 400


def test_rules_for_what_a_text_means(door: Door) -> None:
    """Without rules there is nothing to choose among, and nobody is asked; another way of linking is refused."""
    url, library, server = door
    mine = key(library, "search")
    body = {"context": QUESTION["zh"], "link": "llm"}
    found = send(url, "POST", "/v1/infer_rules", body, mine).json
    assert (found["status"], found["items"]) == ("SUCCESS", [])
    with Client(url, key=mine) as client:
        assert client.infer_rules(context=QUESTION["zh"], link="llm").items == ()
    assert server.seen == []
    assert send(url, "POST", "/v1/infer_rules", {**body, "link": "guess"}, mine).status == 400


@pytest.mark.parametrize(
    ("path", "asks"),
    [
        ("answer", {"query": QUESTION["zh"]}),
        ("answer", {"query": QUESTION["zh"], "stream": True}),
        ("search", {"query": QUESTION["zh"], "rewrite": True}),
        ("search", {"query": QUESTION["zh"], "summary": "generated"}),
        ("context", {"retrieval_query": QUESTION["zh"], "rewrite": True}),
        ("retrieve_fragments", {"query": QUESTION["zh"], "max_results": 3, "context": {"rewrite": True}}),
    ],
)
def test_whoever_hangs_up_ends_the_call(door: Door, path: str, asks: dict[str, Any]) -> None:
    """The model's connection is closed long before its time is up."""
    url, library, server = door
    server.begin("drip")
    before = requests(door, "gone")
    calls = library.vitals().llm.calls.get("gone", 0)
    body = json.dumps(asks).encode()
    place = urlsplit(url)
    with socket.create_connection((place.hostname, place.port or 80)) as caller:
        head = f"POST /v1/{path} HTTP/1.1\r\nHost: {place.netloc}\r\nContent-Type: application/json\r\n"
        head += f"Authorization: Bearer {key(library, 'search', 'retrieve')}\r\nContent-Length: {len(body)}\r\n\r\n"
        caller.sendall(head.encode() + body)
        while not server.seen:
            pass
    assert server.gone.wait(60)
    while library.vitals().llm.calls.get("gone", 0) == calls:
        time.sleep(0.01)
    counted(door, "gone", before + 1)


MCP = {
    **JSON,
    "Accept": "application/json, text/event-stream",
    "MCP-Protocol-Version": "2025-06-18",
    "Mcp-Method": "tools/call",
}


def tool_call(name: str, **arguments: Any) -> dict[str, Any]:
    """An MCP request that calls a tool."""
    params = {"name": name, "arguments": arguments}
    return {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/search", {"query": "x", "rewrite": True}),
        ("/v1/context", {"retrieval_query": "x", "rewrite": True}),
        ("/v1/retrieve_fragments", {"query": "x", "context": {"rewrite": True}, "max_results": 3}),
        ("/v1/search", {"query": QUESTION["zh"], "summary": "generated"}),
        ("/v1/answer", {"query": QUESTION["zh"]}),
        ("/mcp", tool_call("answer", query=QUESTION["zh"])),
        ("/mcp", tool_call("retrieve_fragments", query="x", context={"rewrite": True})),
        ("/mcp", tool_call("get_context", retrieval_query="x", rewrite=True)),
    ],
)
def test_who_waits_for_a_model_keeps_nobody_else_waiting(door: Door, path: str, body: dict[str, Any]) -> None:
    """A search of the library is answered while the model still writes, though the server has one thread for searches."""
    _, library, server = door
    go_on = threading.Event()

    def slow(_asked: Any) -> Any:
        go_on.wait(60)
        return {"questions": [], "claims": [], "missing": ""}

    server.lie = slow
    settings = ServerSettings(threads=1)
    ring = KeyRing(library.catalog, open_without_keys=False)
    url, stop = start_in_thread(create_app(library, settings=settings, authenticate=ring), grace=1)
    try:
        mine = key(library, "search", "retrieve")
        headers = {**MCP, "Authorization": f"Bearer {mine}"}
        waiting = threading.Thread(target=call, args=(url, "POST", path, body, headers))
        waiting.start()
        while not server.seen:
            time.sleep(0.01)
        assert send(url, "POST", "/v1/search", {"query": QUESTION["zh"]}, mine).json["status"] == "SUCCESS"
        assert waiting.is_alive()
    finally:
        go_on.set()
        waiting.join()
        stop()


def test_tokens_are_counted(door: Door) -> None:
    """In the metrics, by outcome and direction; and in the record."""
    before = door[1].vitals().llm
    audit_id = post(door, {"query": QUESTION["zh"]}).json["audit_id"]
    after = door[1].vitals().llm
    assert (after.tokens_in - before.tokens_in, after.tokens_out - before.tokens_out) == (100, 20)
    shown = send(door[0], "GET", "/metrics", None, key(door[1], "audit"))
    assert 'wenyuan_llm_calls_total{outcome="ok"}' in str(shown.body)
    door[1].audit.flush()
    record = door[1].audit.show(audit_id).record
    assert (record["tokens_in"], record["tokens_out"], record["model"]) == (100, 20, "m-7b")


def rewriting(asked: Any) -> Any:
    """A model that says every question in the same words."""
    if asked["task"] == "rewrite":
        return {"questions": [QUESTION["zh"], "投诉在 48 小时内响应吗"]}
    return {"claims": LIARS["perfect"](asked), "missing": ""}


def test_a_follow_up_question_at_every_door(door: Door) -> None:
    """Search, context, answer, the SDK and MCP say in which words it was asked, too; a conversation that is too long is refused."""
    url, library, server = door
    server.lie = rewriting
    mine = key(library, "search")
    asked: dict[str, Any] = {"rewrite": True, "history": [{"role": "user", "text": "客户投诉由谁处理？"}]}
    told = {"questions": [QUESTION["zh"]], "left_out": {"new_number": 1}}
    found = send(url, "POST", "/v1/search", {"query": "多快？", **asked}, mine).json
    assert found["metadata"]["rewritten"] == told
    assert [leg["state"] for leg in found["coverage"]["legs"] if leg["name"] == "llm"] == ["ok"]
    built = send(url, "POST", "/v1/context", {"retrieval_query": "多快？", **asked}, mine).json
    assert built["metadata"]["rewritten"] == told
    assert post(door, {"query": "多快？", **asked}).json["rewritten"] == told
    with Client(url, key=mine) as client:
        assert client.answer("多快？", timeout=60, **asked)["answer"] == f"{DUTY['zh']} [1]"
    (tool,) = (one for one in TOOLS if one.name == "answer")
    assert tool(library, {"query": "多快？", **asked}, Principal()).value["rewritten"] == told
    server.begin("perfect")
    for wrong in (
        {"rewrite": 1},
        {"history": asked["history"]},
        {"rewrite": True, "history": asked["history"] * 200},
    ):
        for path, name in (("search", "query"), ("context", "retrieval_query"), ("answer", "query")):
            assert send(url, "POST", f"/v1/{path}", {name: "x", **wrong}, mine).status == 400
    assert server.seen == []


# --- the console --------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def pages(running: Door) -> Iterator[str]:
    with served(running[1], needs_keys=True) as url:
        yield url


def browser(door: Door, pages: str, language: str = "en") -> Browser:
    found = Browser(pages, language)
    found.sign_in(key(door[1], "search", "audit", "registry"))
    return found


def asked(door: Door, pages: str, language: str = "en", **more: object) -> Seen:
    return browser(door, pages, language).post("/console/answer", {"query": QUESTION["zh"], **more})


@pytest.mark.parametrize(
    ("language", "words", "reason"),
    [("en", "in the source's words", "number changed"), ("zh", "与原文一致", "数字不符")],
)
def test_the_page_shows_claims_and_what_was_left_out(
    door: Door, pages: str, language: str, words: str, reason: str
) -> None:
    """Each claim with its quote and a link to its source; each claim that was dropped with its reason and both wordings."""
    door[2].lie = lambda asked: {
        "claims": LIARS["perfect"](asked) + LIARS["number"](asked),
        "missing": "投诉多久响应",
    }
    seen = asked(door, pages, language)
    assert seen.status == 200
    claim = seen.tree.css_first("#claim-1")
    assert claim.css_first(".text").text() == DUTY["zh"]
    assert claim.css_first(".badge").text() == words
    assert claim.css_first("blockquote").text() == DUTY["zh"]
    link = claim.css_first(".about a").attributes["href"] or ""
    assert link.startswith("/console/passages/")
    opened = browser(door, pages, language).get(link)
    assert opened.status == 303
    assert opened.location.startswith("/console/documents/")
    dropped = seen.tree.css_first(".dropped .hit")
    assert dropped.css_first(".verdict.number_changed").text() == reason
    assert "48小时" in dropped.css_first(".change").text()
    assert "投诉多久响应" in seen.text("#answer")
    assert SECRET["zh"] not in seen.body
    record = seen.tree.css_first(".summary a").attributes["href"] or ""
    assert record.startswith("/console/audit/a-")
    replayed = browser(door, pages, language).post(record)
    assert replayed.status == 200
    assert replayed.count(".notice.good") == 1


def test_the_page_of_a_failure(door: Door, pages: str) -> None:
    """FAILED with its reason; with extracts where these are asked for."""
    door[2].begin("500")
    assert "FAILED" in asked(door, pages).text("#answer")
    seen = asked(door, pages, extract="yes")
    assert "extracts" in seen.text(".notice")
    assert DUTY["zh"] in seen.text("#answer")


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_page_asks_on(door: Door, pages: str, language: str) -> None:
    """Below an answer the next question may ask on: the model is told the question before it, and its answer."""
    door[2].lie = rewriting
    first = asked(door, pages, language)
    assert first.count("input[name=follow]") == 1
    assert first.count(".also-asked") == 0
    hidden = {name: first.tree.css_first(f"input[name={name}]").attributes["value"] for name in ("before", "said")}
    seen = asked(door, pages, language, query="那有多快？", follow="yes", **hidden)
    assert QUESTION["zh"] in seen.text(".also-asked")
    told = next(one for one in door[2].told if one["task"] == "rewrite")
    assert [turn["text"] for turn in told["conversation"]] == [QUESTION["zh"], f"{DUTY['zh']} [1]"]
    door[2].begin("perfect")
    door[2].lie = rewriting
    asked(door, pages, language, rewrite="yes")
    assert "conversation" not in door[2].told[0]


def test_the_page_of_no_answer(door: Door, pages: str) -> None:
    door[2].begin("refuser")
    seen = asked(door, pages, "zh")
    assert seen.text(".summary h2") == "没有回答"
    assert "没有找到答案" in seen.text(".notice")
    assert browser(door, pages).get("/console/answer").status == 200
    assert asked(door, pages, query="").status == 400


# --- the command line ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("language", ["en", "zh"])
def test_on_the_command_line(tmp_path: Path, language: str) -> None:
    """The answer with its sources, what was left out and why, what was withheld; the record; and what to set without a model."""
    with lying() as server:
        with answering(tmp_path, language, None):
            pass
        world = {
            "WENYUAN_ENCODER__KIND": "hashing", "WENYUAN_SEARCH__ABSTAIN": "lenient", "WENYUAN_SEARCH__DEADLINE": "60",
            "LC_ALL": "C.UTF-8", "COLUMNS": "80",
        }  # fmt: skip
        common = ["--library", str(tmp_path / "library"), "--lang", language]

        def run(*args: str, **more: str) -> Any:
            return CliRunner().invoke(app, [*args, *common], env={**world, **more}, prog_name="wenyuan")

        missing = run("answer", QUESTION[language])
        assert missing.exit_code != 0
        assert "llm.url" in missing.output
        model = {"WENYUAN_LLM__URL": server.url, "WENYUAN_LLM__MODEL": "m-7b"}
        server.lie = lambda asked: {"claims": LIARS["perfect"](asked) + LIARS["modality"](asked), "missing": ""}
        done = run("answer", QUESTION[language], **model)
        assert done.exit_code == 0, done.output
        said = done.stdout.replace("\n", "").replace(" ", "")
        assert DUTY[language].replace(" ", "") in said
        assert ("must and may changed" if language == "en" else "要求程度不符") in done.stdout
        assert ("its source denies it" if language == "en" else "来源不允许") in done.stdout
        told = json.loads(run("answer", QUESTION[language], "--json", **model).stdout)
        assert told["answer"] == f"{DUTY[language]} [1]"
        listed = run("audit", "list", "--kind", "answer")
        (record,) = re.findall("a-[0-9a-z]{26}", listed.stdout)[:1]
        shown = run("audit", "show", record)
        assert shown.exit_code == 0, shown.output
        assert ("must and may changed" if language == "en" else "要求程度不符") in shown.stdout
        replayed = run("audit", "replay", record, **model)
        assert replayed.exit_code == 0, replayed.output
        assert len(server.seen) == 2


@pytest.mark.parametrize("language", ["en", "zh"])
def test_other_words_on_the_command_line(tmp_path: Path, language: str) -> None:
    """Which wordings were asked, which were left out and why; in the record, too; and that the model failed."""
    with lying() as server:
        with answering(tmp_path, language, None):
            pass
        world = {
            "WENYUAN_ENCODER__KIND": "hashing", "WENYUAN_SEARCH__ABSTAIN": "lenient", "WENYUAN_SEARCH__DEADLINE": "60",
            "LC_ALL": "C.UTF-8", "COLUMNS": "80", "WENYUAN_LLM__URL": server.url, "WENYUAN_LLM__MODEL": "m-7b",
        }  # fmt: skip
        common = ["--library", str(tmp_path / "library"), "--lang", language]

        def run(*args: str) -> Any:
            return CliRunner().invoke(app, [*args, *common], env=world, prog_name="wenyuan")

        server.lie = lambda asked: {"questions": [QUESTION[language], f"{QUESTION[language]} 48"]}
        before = tmp_path / "before.json"
        before.write_text(json.dumps([{"role": "user", "text": QUESTION[language]}]), "utf-8")
        how = ["--rewrite", "--history", str(before)]
        found = run("search", "多快？", "--explain", *how)
        assert found.exit_code == 0, found.output
        said = found.stdout.replace("\n", "").replace(" ", "")
        assert QUESTION[language].replace(" ", "") in said
        assert ("anumberthatnobodysaid" if language == "en" else "含有未提到过的数字") in said
        told = json.loads(run("search", "多快？", "--json", *how).stdout)
        assert told["rewritten"] == {"questions": [QUESTION[language]], "left_out": {"new_number": 1}}
        assert QUESTION[language] in run("audit", "show", told["audit_id"]).stdout
        server.begin("500")
        failed = run("search", QUESTION[language], "--rewrite")
        assert failed.exit_code == 0, failed.output
        assert ("in its own words alone" if language == "en" else "只按原问题检索") in failed.stdout
        assert run("search", "x", "--history", str(before)).exit_code != 0
