"""What the server answers is what its document says, route by route; and every path tells its methods."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jsonschema_rs
import pytest

import wenyuan
from console_door import served as with_pages
from governed_door import BODIES, OTHER, RIGHT_OF, at, governed_server, key, send
from http_door import JSON, Answer, assert_problem, call, raw
from wenyuan.core.errors import received
from wenyuan.core.text.folding import has_han
from wenyuan.i18n.translation import translated
from wenyuan.server.problems import PROBLEM_JSON

Served = tuple[str, Any]
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE")
ROUTES = sorted((method, path) for method, path in RIGHT_OF if path != "/openapi.json")
PROFILE = {"profile_id": "p", "terms": ["投诉"]}
SYNONYMS = {"synonyms": [{"term": "晚交楼", "synonym": "逾期交付"}]}


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with governed_server(tmp_path_factory.mktemp("documented"), rate_per_key=0) as found:
        yield found


@pytest.fixture(scope="module")
def document(served: Served) -> dict[str, Any]:
    said: dict[str, Any] = call(served[0], "GET", "/openapi.json", None, {}).json
    return said


def undocumented(document: dict[str, Any], method: str, path: str, answer: Answer) -> str:
    """What of an answer the document does not say of a route; ``""`` when it says all."""
    responses = document["paths"][path][method.lower()]["responses"]
    if str(answer.status) not in responses:
        return f"{method} {path}: {answer.status} is not among {sorted(responses)}: {answer.body[:200]!r}"
    told = responses[str(answer.status)]
    if "content" not in told:
        return "" if not answer.body else f"{method} {path}: {answer.status} has a body"
    if not answer.body and answer.status >= 400:
        return ""  # of a protocol that says nothing more
    kind = str(answer.headers["Content-Type"]).partition(";")[0]
    if kind not in told["content"]:
        return f"{method} {path}: {answer.status} as {kind}, not {sorted(told['content'])}"
    if "json" not in kind:
        return ""
    schema = {**told["content"][kind]["schema"], "components": document["components"]}
    wrong = next(iter(jsonschema_rs.Draft202012Validator(schema).iter_errors(answer.json)), None)
    return "" if wrong is None else f"{method} {path}: {answer.status}: {wrong.message}"


def english(answer: Answer) -> list[str]:
    """What of a problem document cannot be said in Chinese."""
    if answer.headers["Content-Type"] != PROBLEM_JSON or not answer.body:
        return []
    problem = answer.json
    told = [(problem["detail"], problem), *((fault["message"], fault) for fault in problem["errors"])]
    said = [translated(received(text, beside.get("translatable"))) for text, beside in told]
    return [text for text in said if not has_han(text)]


NONE = dict.fromkeys(
    ("source_id", "agent_id", "profile_id", "pack", "vector_store_id", "document_id", "passage_id", "correction_id"),
    "none",
)
SITUATIONS: dict[str, dict[str, Any]] = {
    "well": {},
    "nothing there": {"ids": NONE},
    "no object": {"body": []},
    "an unknown member": {"body": {"xyzzy": 1}},
    "no JSON": {"body": b"{"},
    "no body": {"body": None, "headers": {}},
    "another media type": {"headers": {"Content-Type": "text/plain"}},
    "compressed": {"headers": {**JSON, "Content-Encoding": "gzip"}},
    "too large": {"body": b'"' + b"x" * 1_100_000 + b'"'},
    "a parameter that is none": {"query": "?limit=0"},
    "no key": {"token": None},
    "no such key": {"token": "x"},
    "a key without the right": {"rights": ()},
    "an agent's key": {"agent": "other"},
    "a page of another site": {"headers": {**JSON, "Origin": "https://evil.example"}},
}


@pytest.mark.parametrize("situation", sorted(SITUATIONS))
def test_every_answer_is_documented(served: Served, document: dict[str, Any], situation: str) -> None:
    """Status, media type and body of each route's answer, when all is well and when it is not; then Chinese can say why."""
    url, library = served
    told = SITUATIONS[situation]
    token = key(library, *told.get("rights", ("admin",)), agent=told.get("agent"))
    token = told.get("token", token)
    said = []
    for method, path in ROUTES:
        ids = NONE if method == "DELETE" else told.get("ids", {})  # what is there, the other situations need
        body = told.get(
            "body", {**BODIES, "/v1/tasks": PROFILE, "/v1/synonyms": SYNONYMS}.get(path) if method != "GET" else None
        )
        headers = {**told.get("headers", JSON), **({"Authorization": f"Bearer {token}"} if token else {})}
        answer = call(url, method, at(path, **ids) + told.get("query", ""), body, headers)
        said += [undocumented(document, method, path, answer), *english(answer)]
    assert list(filter(None, said)) == []


def test_what_is_made_is_told_as_made(served: Served, document: dict[str, Any]) -> None:
    """201 for what is new, 200 for what takes the place of another, 409 for what is there; all documented."""
    url, library = served
    token = key(library, "admin")
    source = {"source_id": "elsewhere", "type": "api", "settings": {"url": "http://127.0.0.1:9"}}
    made = (
        ("/v1/synonyms", {"term": "封顶", "synonym": "主体结构完工"}, (201, 200)),
        ("/v1/tasks", {**PROFILE, "profile_id": "q"}, (201, 200)),
        ("/v1/agents", {**OTHER, "agent_id": "third"}, (201, 200)),
        ("/v1/sources", source, (201, 409)),
        ("/v1/keys", {"rights": ["search"]}, (201, 201)),
    )
    for path, body, statuses in made:
        for status in statuses:
            answer = send(url, "POST", path, body, token)
            assert (answer.status, undocumented(document, "POST", path, answer)) == (status, "")
    for path in ("/v1/sources/elsewhere", "/v1/agents/third", "/v1/tasks/q"):
        pattern = next(p for _, p in ROUTES if p.startswith(path.rpartition("/")[0] + "/{") and p.endswith("}"))
        for method in ("GET", "DELETE"):
            answer = send(url, method, path, token=token)
            assert (answer.status, undocumented(document, method, pattern, answer)) == (200, "")


def test_asking_too_often_is_documented(tmp_path: Any, document: dict[str, Any]) -> None:
    """429 is among the answers of every route that needs a key, and says when to come again."""
    with governed_server(tmp_path, rate_per_key=0.001) as (url, library):
        for method, path in ROUTES:
            if RIGHT_OF[method, path] is None:
                continue
            token = key(library, "admin")
            send(url, "GET", "/v1/agents", token=token)
            answer = send(url, method, at(path), BODIES.get(path) if method != "GET" else None, token)
            assert (answer.status, undocumented(document, method, path, answer)) == (429, "")
            assert int(answer.headers["Retry-After"]) >= 1


MCP = {**JSON, "Accept": "application/json, text/event-stream"}


@pytest.mark.parametrize("version", ["2026-07-28", "2025-06-18"])
@pytest.mark.parametrize(
    "body", [{"jsonrpc": "2.0", "id": 1, "method": "tools/list"}, {"jsonrpc": "2.0", "id": 1, "method": "none/such"},
             {"jsonrpc": "2.0", "method": "notifications/initialized"}, {"jsonrpc": "2.0", "id": 1}],
)  # fmt: skip
def test_what_mcp_answers_is_documented(
    served: Served, document: dict[str, Any], version: str, body: dict[str, Any]
) -> None:
    """Results, errors and acknowledgements of the protocol are among the answers of its path."""
    url, library = served
    headers = {**MCP, "MCP-Protocol-Version": version, "Authorization": f"Bearer {key(library, 'admin')}"}
    answer = call(url, "POST", "/mcp", body, {**headers, "Mcp-Method": str(body.get("method", ""))})
    assert undocumented(document, "POST", "/mcp", answer) == ""


# -- which methods a path has --------------------------------------------------------------------------------------
PATHS = sorted({path for _, path in RIGHT_OF})


@pytest.mark.parametrize("path", PATHS)
def test_a_path_tells_its_methods(served: Served, path: str) -> None:
    """``OPTIONS`` and a refusal list exactly the methods that are not refused so, and that the table has."""
    url, library = served
    token = key(library, "admin", agent="other")  # which changes nothing
    where = at(path)
    listed = send(url, "OPTIONS", where, token=token)
    assert (listed.status, listed.body) == (204, b"")
    allowed = set(listed.headers["Allow"].split(", "))
    served_ones = {m for m in METHODS if send(url, m, where, BODIES.get(path), token).status not in (405,)}
    assert allowed == served_ones | {"OPTIONS"}
    table = {method for method, other in RIGHT_OF if other == path}
    assert allowed == table | {"OPTIONS"} | ({"HEAD"} if "GET" in table else set())
    for method in {"PUT", "TRACE", "PROPFIND"} - table:
        refused = send(url, method, where, None, token)
        assert refused.status == 405
        assert set(refused.headers["Allow"].split(", ")) == allowed
        if not path.startswith(("/retrieval", "/v1/vector_stores")):
            assert_problem(refused, 405, "method_not_allowed")


def test_options_need_a_key_where_the_path_does(served: Served) -> None:
    """Nobody without a key learns anything of a guarded path; a path that is none has no methods."""
    assert_problem(send(served[0], "OPTIONS", "/v1/sources"), 401, "unauthenticated")
    assert send(served[0], "OPTIONS", "/livez").headers["Allow"] == "GET, HEAD, OPTIONS"
    assert_problem(send(served[0], "OPTIONS", "/nowhere", token=key(served[1], "admin")), 404, "not_found")


def test_a_page_tells_its_methods(tmp_path: Any) -> None:
    """So do the pages of the console, those that are shown and taken by one address too."""
    made = wenyuan.open(tmp_path / "library", create=True, encoder={"kind": "none"})
    with made as library, with_pages(library) as url:
        for path, allowed in (
            ("/console/search", "GET, HEAD, OPTIONS"),
            ("/console/sources/+new", "GET, HEAD, OPTIONS, POST"),
            ("/console/sign-in", "GET, HEAD, OPTIONS, POST"),
            ("/console/sign-out", "OPTIONS, POST"),
            ("/", "GET, HEAD, OPTIONS"),
        ):
            assert call(url, "OPTIONS", path, None, {}).headers["Allow"] == allowed
            refused = call(url, "PUT", path, None, {})
            assert (refused.status, refused.headers["Allow"]) == (405, allowed)
        assert call(url, "OPTIONS", "/console/nowhere", None, {}).status == 404


@pytest.mark.parametrize("host", ["[", "[::1", "a b", "%", "x" * 300])
@pytest.mark.parametrize("path", ["/livez", "/readyz", "/openapi.json", "/openapi-tools.json", "/llms.txt"])
def test_a_strange_host_is_no_error_of_ours(served: Served, path: str, host: str) -> None:
    """What everybody may read is read under any name, and no name makes the server fail."""
    said = raw(served[0], f"GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode())
    assert said.startswith((b"HTTP/1.1 200 ", b"HTTP/1.1 400 ")), said[:300]
