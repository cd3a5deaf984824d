"""Documents over HTTP, by the SDK and on the command line; each key is told of what it may see."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from typer.testing import CliRunner

from governed_door import key, send
from http_door import assert_problem
from scanned import scans
from wenyuan.cli.root import app
from wenyuan.client import Client
from wenyuan.core.access import parse_agent
from wenyuan.core.errors import InvalidRequest
from wenyuan.server.app import create_app
from wenyuan.server.keys import KeyRing
from wenyuan.server.running import start_in_thread
from wenyuan.settings import ServerSettings

Served = tuple[str, Any]


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with scans(tmp_path_factory.mktemp("documents"), search={"deadline": 60}) as library:
        for agent, domain in (("desk", "duty"), ("other", "elsewhere")):
            library.catalog.put_agent(parse_agent({"agent_id": agent, "knowledge_scope": [{"domain": domain}]}))
        ring = KeyRing(library.catalog, open_without_keys=False)
        url, stop = start_in_thread(create_app(library, authenticate=ring, settings=ServerSettings()), grace=1)
        try:
            yield url, library
        finally:
            stop()


def test_lists_pages_and_passages(served: Served) -> None:
    """Page by page, each document once; the client asks for the same; passages with boxes and doubts."""
    url, library = served
    token = key(library, "registry", "search")
    whole = send(url, "GET", "/v1/documents", token=token).json
    assert ([one["state"] for one in whole["documents"]], whole["next"]) == (["failed", "live", "live"], None)
    with Client(url, key=token) as client:
        seen: list[Any] = []
        after = None
        while True:
            page = client.documents(source="duty", after=after, limit=2)
            seen += page["documents"]
            if (after := page["next"]) is None:
                break
        assert seen == whole["documents"]
        (scan,) = client.documents(q="scan.md", state="live")["documents"]
        assert client.document(scan["document_id"])["fidelity"]["ocr_pages"] == 2
        (passage,) = client.document_passages(scan["document_id"], limit=1)["passages"]
        assert [one["text"] for one in passage["uncertain"]] == ["24"]
        assert passage["boxes"][0]["page"] == 1
        with pytest.raises(InvalidRequest):
            client.documents(state="gone")
    named = send(url, "GET", f"/v1/documents/document-{scan['document_id']}", token=token)
    assert named.json["uri"] == scan["uri"]


def test_rights_and_scopes(served: Served) -> None:
    """A list is the registry's, words are for who may search; to an agent another's document is not there."""
    url, library = served
    operator = key(library, "registry", "search")
    number = send(url, "GET", "/v1/documents?state=live&limit=1", token=operator).json["documents"][0]["document_id"]
    assert_problem(send(url, "GET", "/v1/documents", token=key(library, "search")), 403, "not_permitted")
    for path in (f"/v1/documents/{number}", f"/v1/documents/{number}/passages"):
        assert_problem(send(url, "GET", path, token=key(library, "registry")), 403, "not_permitted")
        assert send(url, "GET", path, token=key(library, "search", agent="desk")).status == 200
        hidden = send(url, "GET", path, token=key(library, "search", agent="other"))
        absent = send(url, "GET", path.replace(f"/{number}", "/987654"), token=operator)
        assert (hidden.status, hidden.json["detail"]) == (absent.status, absent.json["detail"])
    mine = send(url, "GET", "/v1/documents", token=key(library, "registry", agent="desk")).json["documents"]
    assert [(one["state"], one["failure"]) for one in mine] == [("live", None), ("live", None)]
    assert_problem(send(url, "GET", "/v1/documents?source=none", token=operator), 404, "not_found")
    for query in ("limit=0", "state=x", "after=!!!", "after=AAAA", "xyzzy=1"):
        assert_problem(send(url, "GET", f"/v1/documents?{query}", token=operator), 400, "invalid_request")


def test_the_command_line_shows_documents(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """As JSON and for people, in both languages; the doctor names what was read worst."""
    library = served[1]
    monkeypatch.setenv("WENYUAN_ENCODER__KIND", "hashing")
    where = ["--library", str(library.folder)]
    run = CliRunner().invoke
    told = json.loads(run(app, ["document", "list", *where, "--json"]).stdout)
    assert [one["state"] for one in told["documents"]] == ["failed", "live", "live"]
    number = str(told["documents"][1]["document_id"])
    shown = run(app, ["document", "show", number, "--passages", *where, "--lang", "zh"]).output
    for words in ("由图像识别：2", "识别的平均置信度：90.0%", "识别不确定：24（0.41）", "the seal was not read"):
        assert words in shown
    listed = run(app, ["document", "list", *where, "--lang", "en"])
    assert listed.exit_code == 0
    assert "mend or replace the file, then: wenyuan ingest duty" in listed.output
    assert run(app, ["document", "show", "987654", *where]).exit_code == 2
    checked = json.loads(run(app, ["doctor", *where, "--json"]).stdout)
    (reading,) = (one for one in checked["checks"] if one["name"] == "reading")
    assert [one["score"] for one in reading["more"]["documents"]] == [0.9]
