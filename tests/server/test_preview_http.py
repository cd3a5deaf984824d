"""Previews over HTTP: who may look, what is refused, and that nothing is stored."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from governed_door import key
from scanned import scans
from wenyuan.core.access import parse_agent
from wenyuan.server.app import create_app
from wenyuan.server.keys import KeyRing
from wenyuan.server.running import start_in_thread
from wenyuan.settings import ServerSettings

Served = tuple[str, Any]
FILE = {"file": ("办法.md", "# 投诉办法\n\n投诉须在两天内答复。\n".encode(), "text/markdown")}


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


def asked(url: str, token: str, files: Any = FILE, **query: Any) -> Any:
    return httpx2.post(
        f"{url}/v1/preview", files=files, params=query, headers={"Authorization": f"Bearer {token}"}, timeout=30
    )


def test_a_file_is_looked_at_before_it_is_taken_in(served: Served) -> None:
    """Passages, sizes and what would be noted; the library has nothing of it, and no file stays behind."""
    url, library = served
    before = library.catalog.seq()
    told = asked(url, key(library, "ingest"), source="duty")
    assert told.status_code == 200
    (document,) = told.json()["documents"]
    assert document["title"] == "投诉办法"
    assert "两天" in document["passages"][0]["text"]
    assert document["passages"][0]["tokens"] > 0
    assert library.catalog.seq() == before
    incoming = library.folder / "uploads" / ".incoming"
    assert not incoming.exists() or not list(incoming.iterdir())


def test_who_may_not_take_documents_in_does_not_look(served: Served) -> None:
    """Neither a key without the right, nor one of an agent."""
    url, library = served
    assert asked(url, key(library, "search")).status_code == 403
    assert asked(url, key(library, "ingest", agent="desk")).status_code == 403


def test_what_cannot_be_shown_is_refused(served: Served) -> None:
    """No such source, a size out of bounds, no file, two files, a file that is no document: each with its reason."""
    url, library = served
    token = key(library, "ingest")
    assert asked(url, token, source="nowhere").status_code == 404
    assert asked(url, token, passage_size=5).status_code == 400
    assert asked(url, token, files={"note": (None, "x")}).status_code == 400
    assert asked(url, token, files=[("file", FILE["file"]), ("file", FILE["file"])]).status_code == 400
    broken = asked(url, token, files={"file": ("a.docx", b"no archive", "")})
    assert broken.status_code == 400
    assert broken.json()["detail"]
