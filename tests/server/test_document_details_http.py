"""Details of documents over HTTP: who may set them, what is refused, and what the console's form sends."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from governed_door import key, send
from scanned import scans
from wenyuan.console.document_details import said_details
from wenyuan.console.forms import Form
from wenyuan.core.access import parse_agent
from wenyuan.server.app import create_app
from wenyuan.server.keys import KeyRing
from wenyuan.server.running import start_in_thread
from wenyuan.settings import ServerSettings

Served = tuple[str, Any]


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    with scans(tmp_path, engine="memory") as library:
        library.catalog.put_agent(parse_agent({"agent_id": "desk", "knowledge_scope": [{"domain": "duty"}]}))
        ring = KeyRing(library.catalog, open_without_keys=False)
        url, stop = start_in_thread(create_app(library, authenticate=ring, settings=ServerSettings()), grace=1)
        try:
            yield url, library
        finally:
            stop()


def number(library: Any) -> int:
    (one,) = library.list_documents(q="scan.md").documents
    found: int = one["document_id"]
    return found


def test_details_are_set_by_who_may_take_documents_in(served: Served) -> None:
    """A key with the right ``ingest`` sets them, and the answer is the document under its present number; the reader of documents may not, and to an agent there is no such document."""
    url, library = served
    path, body = f"/v1/documents/{number(library)}", {"title": "值班规定", "tags": {"年度": 2026}}
    assert send(url, "PATCH", path, body, key(library, "search")).status == 403
    assert send(url, "PATCH", path, body, key(library, "ingest", agent="desk")).status == 404
    told = send(url, "PATCH", path, body, key(library, "ingest"))
    assert (told.status, told.json["title"], told.json["tags"]) == (200, "值班规定", {"年度": 2026})
    assert told.json["document_id"] == number(library)
    seen = send(url, "GET", f"/v1/documents/{number(library)}", None, key(library, "search", agent="desk"))
    assert seen.json["title"] == "值班规定"
    assert "details" not in seen.json


def test_what_is_wrong_is_named(served: Served) -> None:
    """An unknown detail, a day that is none, and nothing at all are refused with their places; a former number is not found."""
    url, library = served
    former = number(library)
    path, token = f"/v1/documents/{former}", key(library, "ingest")
    for body, where in (({"owner": "li"}, "owner"), ({"effective_until": "soon"}, "effective_until"), ({}, "title")):
        refused = send(url, "PATCH", path, body, token)
        assert refused.status == 400
        assert where in str(refused.json)
    assert send(url, "PATCH", path, {"title": "一"}, token).status == 200
    assert send(url, "PATCH", path, {"title": "二"}, token).status == 404


def test_a_form_sends_what_was_changed_in_it() -> None:
    """What reads as before is not sent, a tag whose line is gone is taken away, and a day that was emptied is open."""
    document = {
        "title": "A",
        "effective_from": None,
        "effective_until": "2026-01-31",
        "tags": {"year": 2026, "unit": "x"},
    }
    same = {"title": "A", "effective_from": "", "effective_until": "2026-01-31", "tags": "year=2026\nunit=x"}
    assert said_details(Form(list(same.items())), document) == {}
    changed = {**same, "title": "B", "effective_until": "", "tags": "year=2027"}
    assert said_details(Form(list(changed.items())), document) == {
        "title": "B", "effective_until": "open", "tags": {"year": 2027, "unit": None},
    }  # fmt: skip
    assert said_details(Form([*changed.items(), ("as_read", "title"), ("as_read", "tags")]), document) == {
        "as_read": ["title", "tags"], "effective_until": "open",
    }  # fmt: skip
