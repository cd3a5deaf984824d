"""What callers of other machines are answered: addresses under the service, and no paths of this machine."""

from __future__ import annotations

import json
from collections.abc import Iterator
from http import HTTPStatus
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

import pytest

import wenyuan
from console_door import Browser, console
from governed_door import BODIES, RIGHT_OF, SUPPORT, at, governed_server, key
from http_door import JSON, Answer, call
from wenyuan.core.model import Source
from wenyuan.server.remote_callers import base_of, is_elsewhere
from wenyuan.service.file_addresses import FileAddresses

FROM_AFAR = {**JSON, "X-Forwarded-For": "203.0.113.9", "Host": "kb.example"}
TEXT = "# 备份\n\n客户投诉的备份在 /nowhere 与 file:///etc/other.md，每日一次。\n"
Served = tuple[str, Any, Path]


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("afar")
    with governed_server(folder, rate_per_key=0) as (url, library):
        (folder / "手册").mkdir()
        (folder / "手册" / "价目 1.md").write_text(TEXT, "utf-8")
        (folder / "手册" / "broken.pdf").write_bytes(b"%PDF-1.4 broken")
        library.add(wenyuan.Source(source_id="manual", path=str(folder / "手册"), copyright="allow"))
        (folder / "one.md").write_text("# 一\n\n客户投诉只有一页。\n", "utf-8")
        library.add(wenyuan.Source(source_id="one", path=str(folder / "one.md"), copyright="allow"))
        yield url, library, folder


def asked(served: Served, method: str, path: str, body: object, token: str) -> Answer:
    return call(served[0], method, path, body, {**FROM_AFAR, "Authorization": f"Bearer {token}"})


@pytest.mark.parametrize("door", ["operator", "agent", "administrator"])
def test_no_route_names_a_path_of_this_machine(served: Served, door: str) -> None:
    """Whatever of all routes is asked from afar, no answer has an address of a file of this machine, and none but an
    administrator's has one of its paths, refusals included.
    """
    agent = "support" if door == "agent" else None
    rights = ("retrieve", "search", "audit", "ingest") if door != "administrator" else ("admin",)
    served[1].catalog.put_agent(
        wenyuan.core.access.parse_agent({**SUPPORT, "knowledge_scope": [{"domain": "manual"}, {"domain": "wiki"}]})
    )
    token = key(served[1], *rights, agent=agent)
    audit = str(served[1].audit.list(limit=1)[0].audit_id)
    seen, wrong = 0, []
    for method, path in RIGHT_OF:
        if method == "DELETE" or path == "/mcp" or RIGHT_OF[method, path] is None:
            continue
        for document in ("3", "4", "5"):
            answer = asked(
                served,
                method,
                at(path, source_id="manual", document_id=document, audit_id=audit),
                BODIES.get(path),
                token,
            )
            if "Content-Disposition" in answer.headers:
                continue
            seen += answer.status < 300
            if "file:///" in answer.body.decode().replace("file:///etc/other.md", ""):
                wrong.append((method, path, "address"))
            if door != "administrator" and str(served[2]) in answer.body.decode():
                wrong.append((method, path, "path"))
    assert seen > 20
    assert wrong == []


def test_what_is_told_here_is_what_it_was(served: Served) -> None:
    """A caller of this machine is given the files' own addresses."""
    body = {"query": "备份", "max_results": 3}
    found = call(
        served[0],
        "POST",
        "/v1/retrieve_fragments",
        body,
        {**JSON, "Authorization": f"Bearer {key(served[1], 'retrieve')}"},
    )
    assert any("file:///" in one["source"] for one in found.json["fragments"])


def test_an_address_under_the_service_gives_the_file(served: Served) -> None:
    """The address of a fragment opens the file that it is of, to whom may see it; nothing else below a source opens."""
    token = key(served[1], "retrieve", "search")
    found = asked(served, "POST", "/v1/retrieve_fragments", {"query": "备份 每日一次", "max_results": 1}, token).json
    address = found["fragments"][0]["source"]
    assert address.startswith("http://kb.example/v1/sources/manual/files/")
    assert found["fragments"][0]["content"].count("/nowhere") == 1  # what a document says stays
    given = asked(served, "GET", quote(urlsplit(address).path, safe="/%"), None, token)
    assert (given.status, given.body.decode()) == (200, TEXT)
    one = asked(served, "POST", "/v1/retrieve_fragments", {"query": "只有一页", "max_results": 1}, token).json
    assert urlsplit(one["fragments"][0]["source"]).path == "/v1/sources/one/files/one.md"
    assert asked(served, "GET", "/v1/sources/one/files/one.md", None, token).status == 200
    for path in (
        "manual/files/none.md",
        "manual/files/../one.md",
        "manual/files/%2e%2e/one.md",
        "one/files/x",
        "none/files/a",
        "wiki/files//etc/passwd",
    ):
        assert asked(served, "GET", f"/v1/sources/{path}", None, token).status == HTTPStatus.NOT_FOUND, path
    hidden = key(served[1], "search", agent="other")
    assert asked(served, "GET", quote(urlsplit(address).path, safe="/%"), None, hidden).status == HTTPStatus.NOT_FOUND


def test_an_address_that_was_given_is_understood(served: Served) -> None:
    """A verification that cites the address under the service is of that document."""
    token = key(served[1], "retrieve", "search")
    found = asked(served, "POST", "/v1/retrieve_fragments", {"query": "备份 每日一次", "max_results": 1}, token).json[
        "fragments"
    ][0]
    body = {"answer": "客户投诉的备份每日一次 [1]。", "citations": {"1": found["source"]}}
    told = asked(served, "POST", "/v1/verify", body, token)
    assert told.status == 200
    assert json.dumps(told.json, ensure_ascii=False).count("unknown_citations") == 0 or not told.json["claims"][
        0
    ].get("unknown_citations")


def test_over_mcp_too(served: Served) -> None:
    """A tool's result, JSON within JSON, has no address of this machine."""
    token = key(served[1], "retrieve", "search")
    body = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": "search", "arguments": {"query": "备份 每日一次"}},
    }
    headers = {**FROM_AFAR, "Accept": "application/json, text/event-stream", "Authorization": f"Bearer {token}"}
    answer = call(served[0], "POST", "/mcp", body, headers).body.decode()
    assert "备份" in answer
    assert str(served[2]) not in answer
    assert "kb.example/v1/sources/manual/files/" in answer


@pytest.mark.parametrize(
    ("peer", "headers", "elsewhere"),
    [
        ("127.0.0.1", {"host": "127.0.0.1:80"}, False),
        ("::1", {"host": "localhost"}, False),
        (None, {"host": "localhost"}, False),
        ("127.0.0.1", {"host": "kb.example"}, True),
        ("127.0.0.1", {"host": "localhost", "x-forwarded-for": "203.0.113.9"}, True),
        ("127.0.0.1", {"host": "localhost", "forwarded": "for=203.0.113.9"}, True),
        ("203.0.113.9", {"host": "localhost"}, True),
        ("172.17.0.1", {"host": "127.0.0.1"}, True),
    ],
)
def test_who_is_elsewhere(peer: str | None, headers: dict[str, str], elsewhere: bool) -> None:
    """Whoever connects from another machine, names this one otherwise, or comes through a proxy that says so."""
    scope = {
        "type": "http",
        "client": peer and (peer, 1),
        "headers": [(n.encode(), v.encode()) for n, v in headers.items()],
    }
    assert is_elsewhere(scope) is elsewhere


def test_a_host_that_is_none_is_not_put_into_addresses() -> None:
    """A Host header with markup or a path in it makes addresses that begin with a slash."""
    scope = {"type": "http", "headers": [(b"host", b'x/"><script>')]}
    assert base_of(scope) == ""


def test_folders_with_a_common_beginning_are_told_apart(tmp_path: Path) -> None:
    """`docs` is not the beginning of `docs-old`, and of nested roots the inner one counts."""
    for name in ("docs/inner", "docs-old"):
        (tmp_path / name).mkdir(parents=True)
    sources = [Source(source_id=n, path=str(tmp_path / p)) for n, p in (("a", "docs"), ("b", "docs/inner"))]
    known = FileAddresses(sources, tmp_path / "uploads")
    sent = f'{{"source":"file://{tmp_path}/docs/x.md","uri":"file://{tmp_path}/docs/inner/y.md#z","url":"file://{tmp_path}/docs-old/w.md"}}'
    told = json.loads(known.outward(sent.encode(), "https://kb"))
    assert told == {
        "source": "https://kb/v1/sources/a/files/x.md",
        "uri": "https://kb/v1/sources/b/files/inner/y.md#z".replace("inner/", ""),
        "url": "file:w.md",
    }
    back = json.loads(known.inward(json.dumps(told).encode(), "https://kb"))
    assert back["source"] == f"file://{tmp_path}/docs/x.md"
    assert back["uri"] == f"file://{tmp_path}/docs/inner/y.md#z"


def test_the_console_shows_no_paths_to_a_browser_elsewhere(tmp_path: Path) -> None:
    """Pages asked for through a proxy have no address of a file of this machine."""
    with console(tmp_path) as (url, library):
        browser = Browser(url)
        near = browser.get("/console/search", q="客户投诉").text("body")
        token = key(library, "search", "retrieve", "admin")
        browser.sign_in(token)
        number = next(iter(library.catalog.live_documents("wiki").values()))[0]
        for page in (
            "/console/search?q=客户投诉",
            f"/console/documents/{number}",
            "/console/audit",
            "/console/sources/wiki",
        ):
            shown = browser.send("GET", page, X_Forwarded_For="203.0.113.9")
            assert shown.status == 200
            assert "file:///" not in shown.body, page
        assert near
