"""The library over MCP, asked by the protocol's own client: over HTTP and stdio, for revisions old and new."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from mcp import MCPError

import wenyuan
from doors import AGENT, attach_optional, broken, foreign_library, served
from governed_door import key, send
from http_door import JSON, assert_problem, call
from mcp_clients import MODES, calling, over_http, over_stdio
from rules_door import BOOK
from wenyuan import RetrievalRequest
from wenyuan.core.errors import Message, received
from wenyuan.mcp.tools import TOOLS
from wenyuan.readers.rulebooks.selection import read_book

QUERY = "客户投诉多久响应"
NAMES = [
    "search", "fetch", "retrieve_fragments", "infer_rules", "get_context", "verify", "answer", "list_sources", "list",
    "read", "grep",
]  # fmt: skip
NEEDING = ("infer_rules", "answer")
"""Tools that are offered where the library has rules, or a language model."""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with foreign_library(tmp_path_factory.mktemp("mcp")) as found:
        yield found


@pytest.fixture(scope="module")
def url(library: Any) -> Iterator[str]:
    with served(library) as address:
        yield address


@pytest.fixture(scope="module")
def keyed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Any]]:
    with foreign_library(tmp_path_factory.mktemp("keyed")) as library, served(library, needs_keys=True) as address:
        yield address, library


def fragments(url: str, query: str = QUERY, most: int = 5) -> list[dict[str, Any]]:
    body = {"query": query, "max_results": most}
    return send(url, "POST", "/v1/retrieve_fragments", body).json["fragments"]


def without_audit(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{**f, "metadata": {k: v for k, v in f["metadata"].items() if k != "audit_id"}} for f in found]


@pytest.mark.parametrize("mode", MODES)
def test_every_revision_finds_the_same_tools(url: str, mode: str) -> None:
    """Those that are offered, in one order, each with a schema, a description, and the hint that it only reads."""

    async def use(client: Any) -> Any:
        return (await client.list_tools()).tools

    tools = over_http(url, use, mode=mode)
    assert [tool.name for tool in tools] == [name for name in NAMES if name not in NEEDING]
    for tool in tools:
        assert tool.description
        assert tool.input_schema["type"] == "object"
        assert tool.annotations.read_only_hint is True
        assert tool.annotations.destructive_hint is False
        assert tool.annotations.open_world_hint is False


def test_tools_are_offered_where_the_library_has_what_they_need(tmp_path: Path) -> None:
    """`infer_rules` with rules, `answer` with a language model; they are in the list as soon as there are any."""

    async def use(client: Any) -> Any:
        return [tool.name for tool in (await client.list_tools()).tools]

    model = {"url": "http://127.0.0.1:9/v1", "model": "m"}
    opened = wenyuan.open(tmp_path / "library", create=True, encoder={"kind": "none"}, llm=model)
    with opened as made, served(made) as address:
        assert over_http(address, use) == [name for name in NAMES if name != "infer_rules"]
        (tmp_path / "book.yaml").write_text(BOOK, "utf-8")
        made.rules.take(read_book(tmp_path / "book.yaml"))
        assert over_http(address, use) == NAMES


@pytest.mark.parametrize("mode", MODES)
def test_fragments_are_the_contracts(url: str, mode: str) -> None:
    """The structured value is the response of the contract; beside it stands a text for each fragment."""
    for query in (QUERY, "database connection pool"):
        result = over_http(url, calling("retrieve_fragments", query=query, max_results=5), mode=mode)
        assert not result.is_error
        value = result.structured_content
        assert value["status"] == "SUCCESS"
        assert without_audit(value["fragments"]) == without_audit(fragments(url, query))
        texts = [block.text for block in result.content]
        assert len(texts) == 1 + len(value["fragments"])
        for text, fragment in zip(texts[1:], value["fragments"], strict=True):
            assert fragment["source"] in text
            assert fragment["content"].split("\n")[0] in text
        assert {block.annotations.priority for block in result.content[1:]} == {0.6}


@pytest.mark.parametrize("mode", ["2026-07-28", "legacy"])
def test_search_and_fetch_have_the_shapes_that_connectors_need(url: str, mode: str) -> None:
    """`results` with id, title and url; then the document: both as one JSON text and as a structured value."""

    async def use(client: Any) -> Any:
        found = await client.call_tool("search", {"query": QUERY})
        first = found.structured_content["results"][0]
        return found, first, await client.call_tool("fetch", {"id": first["id"]})

    found, first, read = over_http(url, use, mode=mode)
    for result in (found, read):
        assert not result.is_error
        (text,) = result.content
        assert json.loads(text.text) == result.structured_content
    assert [r["id"] for r in found.structured_content["results"]] == [
        f["metadata"]["passage_id"] for f in fragments(url, most=10)
    ]
    assert all(set(r) == {"id", "title", "url"} and all(r.values()) for r in found.structured_content["results"])
    value = read.structured_content
    assert set(value) == {"id", "title", "text", "url", "metadata"}
    assert (value["id"], value["url"]) == (first["id"], first["url"])
    assert "客户投诉需在 24 小时内第一次响应" in value["text"]
    assert value["metadata"]["trust"] == 5


def test_an_agent_answers_by_files_alone(url: str) -> None:
    """list, grep and read lead from the sources to the line that answers; each says what the next needs."""

    async def use(client: Any) -> Any:
        sources = (await client.call_tool("list", {})).structured_content["entries"]
        (document,) = (await client.call_tool("list", {"path": "/policy/"})).structured_content["entries"]
        found = (await client.call_tool("grep", {"pattern": "[0-9]+ 小时", "regex": "true"})).structured_content
        hit = next(one for one in found["matches"] if one["path"] == document["path"])
        asked = {"path": hit["path"], "line": hit["line"], "lines": 1}
        return sources, hit, (await client.call_tool("read", asked)).structured_content

    sources, hit, read = over_http(url, use)
    assert [one["path"] for one in sources] == ["/law/", "/policy/", "/wiki/"]
    assert read["text"] == hit["text"]
    assert "24 小时" in read["text"]


def test_a_path_that_is_not_there_is_told_in_tools(url: str) -> None:
    """What to do next is a tool of this door, not a command of a terminal that its client does not have."""

    async def use(client: Any) -> Any:
        wrong = [("read", {"path": "/none"}), ("list", {"path": "/policy/none.md"}), ("read", {"path": "/policy/"}),
                 ("grep", {"path": "/none", "pattern": "a"})]  # fmt: skip
        return [await client.call_tool(name, given) for name, given in wrong]

    for told in over_http(url, use):
        assert told.is_error
        assert "wenyuan fs" not in told.content[0].text
        assert "the tool list with path /" in told.content[0].text


def test_a_long_text_is_read_in_parts(url: str) -> None:
    """No more tokens than are wanted at once, and nothing lost between the parts."""

    async def use(client: Any) -> Any:
        whole = (await client.call_tool("read", {"path": "/policy/policy.md"})).structured_content["text"]
        parts, cursor = "", None
        while True:
            asked = {"path": "/policy/policy.md", "max_tokens": 500} | ({"cursor": cursor} if cursor else {})
            value = (await client.call_tool("read", asked)).structured_content
            parts, cursor = parts + value["text"], value.get("next_cursor")
            if cursor is None:
                return whole, parts

    whole, parts = over_http(url, use)
    assert parts == whole


def test_the_other_tools_answer(url: str) -> None:
    """Sources without paths, snippets for a prompt, and why no rules follow."""
    listed = over_http(url, calling("list_sources")).structured_content["sources"]
    assert {s["source_id"] for s in listed} == {"policy", "law", "wiki"}
    assert all("path" not in source for source in listed)
    context = over_http(url, calling("get_context", retrieval_query=QUERY)).structured_content
    assert context["CONTEXT_DATA"]["knowledge_snippets"][0]["source"].startswith("policy#")
    rules = over_http(url, calling("infer_rules", context="基坑开挖"))
    assert rules.structured_content["items"] == []
    assert rules.structured_content["reason"]


def test_rules_that_were_cut_are_said_to_be(tmp_path: Path) -> None:
    """A model that reads only the text is told that there are more, and which names are not known."""
    (tmp_path / "book.yaml").write_text(BOOK, "utf-8")
    with foreign_library(tmp_path, rules={"max_rules": 1}) as library, served(library) as address:
        library.rules.take(read_book(tmp_path / "book.yaml"))
        asked = calling("infer_rules", processes=["深基坑开挖", "登月"], parameters={"depth_m": 6})
        found = over_http(address, asked)
    assert found.structured_content["truncated"] == ["2 rules cut at 1", "mandatory rules left out: 1"]
    cut = "NOT all of them: 2 rules cut at 1, mandatory rules left out: 1"
    assert found.content[0].text == f"1 rule; not known here: 登月; {cut}"


def test_nothing_found_says_so(url: str) -> None:
    """An empty answer is a success that names how many sources were searched."""
    result = over_http(url, calling("retrieve_fragments", query="zqxv jwkp"))
    assert not result.is_error
    assert result.structured_content == {"status": "SUCCESS", "fragments": []}
    assert "No match: 3 sources were searched" in result.content[0].text


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("tool", ["search", "retrieve_fragments", "get_context"])
def test_a_failure_is_an_error_that_the_model_sees(library: Any, url: str, mode: str, tool: str) -> None:
    """`isError` with the reason: never an empty result."""
    asked = {"retrieval_query" if tool == "get_context" else "query": QUERY}
    with broken(library):
        result = over_http(url, calling(tool, **asked), mode=mode)
    assert result.is_error
    assert "FAILED" in result.content[0].text
    assert "not an empty answer" in result.content[0].text
    assert "the index is gone" in result.content[0].text
    if tool == "retrieve_fragments":
        assert result.structured_content["status"] == "FAILED"
        assert "the index is gone" in result.structured_content["error_message"]
        why = received(result.structured_content["error_message"], result.structured_content["translatable"])
        assert isinstance(why, Message)


def test_a_failure_is_counted_as_one(library: Any, url: str) -> None:
    """The HTTP answer says FAILED in a header, for the metrics."""
    body = {
        "jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": {"name": "retrieve_fragments", "arguments": {"query": QUERY}},
    }  # fmt: skip
    headers = {**JSON, "Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2025-06-18"}
    with broken(library):
        answer = call(url, "POST", "/mcp", body, headers)
    assert (answer.status, answer.headers["X-Retrieval-Status"]) == (200, "FAILED")
    assert answer.json["result"]["isError"] is True


@pytest.mark.parametrize(
    ("tool", "arguments", "said"),
    [
        ("retrieve_fragments", {}, "query is required"),
        ("retrieve_fragments", {"query": QUERY, "max_results": "three"}, "must be an integer"),
        ("retrieve_fragments", {"query": QUERY, "topn": 3}, "topn is unknown"),
        ("retrieve_fragments", {"query": QUERY, "context": {"as_of": "soon"}}, "must be a date"),
        ("retrieve_fragments", {"query": QUERY, "domain": "polcy"}, "did you mean 'policy'"),
        ("search", {"query": " "}, "must not be blank"),
        ("fetch", {"id": "policy#999"}, "nothing to read"),
        ("fetch", {"id": "wiki#1"}, "nothing to read"),
        ("fetch", {"id": "../../etc/passwd"}, "nothing to read"),
        ("fetch", {"id": "policy#%2e%2e"}, "nothing to read"),
        ("infer_rules", {}, "is required"),
        ("get_context", {"retrieval_query": QUERY, "agent_id": "nobody"}, "nobody"),
    ],
)
def test_what_is_wrong_with_a_call_is_told_to_the_model(
    url: str, tool: str, arguments: dict[str, Any], said: str
) -> None:
    """Refused, with the reason, as a result that the model can correct."""
    result = over_http(url, calling(tool, **arguments))
    assert result.is_error
    assert result.content[0].text.startswith("REFUSED")
    assert said in result.content[0].text


def test_a_tool_that_is_not_there_is_a_protocol_error(url: str) -> None:
    """-32602, with the tools that there are."""

    async def use(client: Any) -> Any:
        with pytest.raises(MCPError, match="there is no tool 'drop'") as caught:
            await client.call_tool("drop", {})
        return caught.value.code

    assert over_http(url, use) == -32602


def test_a_degraded_answer_warns(tmp_path: Path) -> None:
    """An optional source that is down is named in the text and in each fragment; with nothing found it is an error."""
    with foreign_library(tmp_path) as library, served(library) as url:
        attach_optional(library)
        result = over_http(url, calling("retrieve_fragments", query=QUERY))
        assert not result.is_error
        assert "WARNING: source elsewhere did not answer" in result.content[0].text
        assert {f["metadata"]["degraded"] for f in result.structured_content["fragments"]} == {"source elsewhere"}
        assert over_http(url, calling("retrieve_fragments", query="zqxv jwkp")).is_error


def test_copyright_is_obeyed(tmp_path: Path) -> None:
    """A source that allows no excerpt gives title, address and notice; one with a limit gives no more than that."""
    with foreign_library(tmp_path) as library, served(library) as url:
        first = over_http(url, calling("search", query=QUERY)).structured_content["results"][0]["id"]
        policy = library.catalog.source("policy")
        for terms, check in (
            ("deny", lambda text: "24 小时" not in text and "no excerpt" in text and "file:" in text),
            ("excerpt<=5", lambda text: len(text) <= 5),
            ("allow", lambda text: "24 小时" in text),
        ):
            library.catalog.put_source(replace(policy, copyright=terms))
            value = over_http(url, calling("fetch", id=first)).structured_content
            assert check(value["text"]), (terms, value)
            assert bool(value["metadata"].get("notice")) == (terms != "allow")


def test_documents_are_resources(url: str) -> None:
    """Each document is listed and can be read; what is not there is a protocol error."""

    async def use(client: Any) -> Any:
        listed = (await client.list_resources()).resources
        texts = [(await client.read_resource(one.uri)).contents[0].text for one in listed]
        templates = (await client.list_resource_templates()).resource_templates
        ref = (await client.call_tool("search", {"query": QUERY})).structured_content["results"][0]["id"]
        by_passage = await client.read_resource("wenyuan://passages/" + ref.replace("#", "/"))
        for uri in ("wenyuan://documents/999", "file:///etc/passwd", "wenyuan://documents/../1", "x"):
            with pytest.raises(MCPError):
                await client.read_resource(uri)
        return listed, texts, templates, by_passage.contents[0].text

    listed, texts, templates, by_passage = over_http(url, use)
    assert len(listed) == 3
    assert any("24 小时" in text for text in texts)
    assert "24 小时" in by_passage
    assert templates[0].uri_template.startswith("wenyuan://passages/")


@pytest.mark.parametrize("mode", ["2026-07-28", "legacy"])
def test_a_key_is_needed_and_bounds_what_is_seen(keyed: tuple[str, Any], mode: str) -> None:
    """An agent's key finds, reads and lists only what its scope holds."""
    url, library = keyed
    token = key(library, "retrieve", "search", agent=AGENT["agent_id"])

    async def use(client: Any) -> Any:
        listed = await client.call_tool("list_sources", {})
        found = await client.call_tool("retrieve_fragments", {"query": "database connection pool 客户投诉"})
        foreign = await client.call_tool("retrieve_fragments", {"query": "pool", "domain": "wiki"})
        absent = await client.call_tool("retrieve_fragments", {"query": "pool", "domain": "none"})
        resources = (await client.list_resources()).resources
        return listed, found, foreign, absent, resources

    listed, found, foreign, absent, resources = over_http(url, use, token=token, mode=mode)
    assert {s["source_id"] for s in listed.structured_content["sources"]} == {"policy", "law"}
    assert {f["metadata"]["source_id"] for f in found.structured_content["fragments"]} == {"policy", "law"}
    assert foreign.is_error
    assert foreign.content[0].text.replace("wiki", "none") == absent.content[0].text
    assert len(resources) == 2
    wiki = over_http(url, calling("search", query="database connection pool"), token=key(library, "retrieve"))
    read = over_http(url, calling("fetch", id=wiki.structured_content["results"][0]["id"]), token=token)
    assert read.is_error
    assert "nothing to read" in read.content[0].text


def test_a_tool_needs_its_right(keyed: tuple[str, Any]) -> None:
    """A key that may only retrieve gets no context and no rules."""
    url, library = keyed
    token = key(library, "retrieve")
    for tool in TOOLS:
        arguments = (
            {"query": "x", "id": "x"} if tool.right == "retrieve" else {"retrieval_query": "x", "context": "x"}
        )
        result = over_http(url, calling(tool.name, **arguments), token=token)
        assert ("needs a key with the right" in result.content[0].text) is (tool.right != "retrieve")


def test_without_a_key_there_is_no_protocol(keyed: tuple[str, Any]) -> None:
    """401 with how to authenticate, before anything is read."""
    for token in (None, "x"):
        answer = send(keyed[0], "POST", "/mcp", {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}, token)
        assert_problem(answer, 401, "unauthenticated")
        assert answer.headers["WWW-Authenticate"] == "Bearer"


DISCOVER = {
    "jsonrpc": "2.0", "id": 1, "method": "server/discover",
    "params": {
        "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
            "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        }
    },
}  # fmt: skip
MODERN = {
    **JSON, "Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2026-07-28",
    "Mcp-Method": "server/discover",
}  # fmt: skip


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"Origin": "http://127.0.0.1:6274"}, 200),
        ({"Origin": "http://localhost:3000"}, 200),
        ({"Origin": "https://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": "http://127.0.0.1.evil.example"}, 403),
        ({"Host": "evil.example"}, 403),
        ({"Host": "evil.example", "Origin": "http://evil.example"}, 403),
        ({"Mcp-Method": "tools/list"}, 400),
        ({"MCP-Protocol-Version": "2099-01-01"}, 400),
        ({"Content-Type": "text/plain"}, 415),
        ({"Accept": "text/html"}, 406),
    ],
)
def test_headers_that_do_not_fit_are_refused(url: str, headers: dict[str, str], status: int) -> None:
    """Pages of other sites, foreign host names, and headers that contradict the body."""
    answer = call(url, "POST", "/mcp", DISCOVER, {**MODERN, **headers})
    assert answer.status == status, answer.body
    if status == 200:
        assert answer.json["result"]["instructions"].startswith("Wenyuan")


def test_an_origin_can_be_allowed(library: Any) -> None:
    """By name, in the settings."""
    with served(library, allowed_origins=("https://chat.example",)) as url:
        for origin, status in (("https://chat.example", 200), ("https://chat.example.evil", 403)):
            assert call(url, "POST", "/mcp", DISCOVER, {**MODERN, "Origin": origin}).status == status


@pytest.mark.parametrize(
    "body", [b"", b"{", b"[]", b"null", b"[1]", b'"x"', b'{"jsonrpc":"2.0","id":1}', b"[" * 5000]
)
def test_what_is_no_request_is_refused(url: str, body: bytes) -> None:
    """Garbage gets a 400, whatever the revision."""
    for headers in (MODERN, {**MODERN, "MCP-Protocol-Version": "2025-06-18"}):
        assert call(url, "POST", "/mcp", body, headers).status == 400


def test_there_is_no_stream_to_listen_to(url: str) -> None:
    """Nothing is kept between requests, so GET and DELETE are not there."""
    for method in ("GET", "DELETE"):
        assert_problem(call(url, method, "/mcp", None, MODERN), 405, "method_not_allowed")


def test_every_answer_and_every_reading_is_audited(library: Any, url: str) -> None:
    """The audit names the door, what was read and how much of it."""
    first = over_http(url, calling("search", query=QUERY)).structured_content["results"][0]["id"]
    read = over_http(url, calling("fetch", id=first)).structured_content
    library.recorder.log.flush()
    retrieval = library.audit.list(kind="retrieval", limit=1)[0]
    reading = library.audit.list(kind="fetch", limit=1)[0]
    assert retrieval.record["door"] == "mcp"
    assert (reading.record["object"], reading.record["door"]) == (first, "mcp")
    assert reading.record["quoted_chars"] == len(read["text"])
    assert read["metadata"]["audit_id"] == reading.audit_id
    assert library.audit.verify().ok


@pytest.mark.parametrize("mode", MODES)
def test_an_agent_on_this_machine_speaks_over_stdio(tmp_path: Path, mode: str) -> None:
    """The command is started by the client, answers as the server does, and is bound to an agent when told so."""
    with foreign_library(tmp_path) as library:
        expected = [
            f.source for f in library.retrieve_fragments(RetrievalRequest(query=QUERY, max_results=5)).fragments
        ]
        folder = library.folder

    async def use(client: Any) -> Any:
        found = await client.call_tool("retrieve_fragments", {"query": QUERY, "max_results": 5})
        read = await client.call_tool(
            "fetch", {"id": found.structured_content["fragments"][0]["metadata"]["passage_id"]}
        )
        listed = await client.call_tool("list_sources", {})
        return found, read, listed

    found, read, listed = over_stdio(folder, use, mode=mode, agent="support" if mode == "auto" else "")
    if mode != "auto":
        assert [f["source"] for f in found.structured_content["fragments"]] == expected
    assert "24 小时" in read.structured_content["text"]
    visible = {source["source_id"] for source in listed.structured_content["sources"]}
    assert visible == ({"policy", "law"} if mode == "auto" else {"policy", "law", "wiki"})


def test_a_bug_is_an_error_without_particulars(library: Any, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What nobody foresaw fails, too, and tells nothing of the inside."""

    def fall(*_args: Any, **_named: Any) -> Any:
        raise RuntimeError("password=hunter2 in /srv/secret.py")

    monkeypatch.setattr(library, "fragments", fall)
    result = over_http(url, calling("retrieve_fragments", query=QUERY))
    assert result.is_error
    assert result.structured_content["status"] == "FAILED"
    assert "hunter2" not in result.content[0].text
