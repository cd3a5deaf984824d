"""The client uploads, replaces and deletes documents, and gets originals and pages."""

from __future__ import annotations

from pathlib import Path

import pytest

import wenyuan
from governed_door import governed_server, key
from pdf_files import make_pdf
from wenyuan.client import Client
from wenyuan.core.errors import InvalidRequest, NotPermitted, RetrievalFailed

PDF = make_pdf([[(72, 700, "A pump is checked every 30 days.")]])


def test_a_document_s_whole_life(tmp_path: Path) -> None:
    """Whatever its name holds; refusals are errors, and bytes are bytes."""
    name = '说明 "1".pdf'
    with governed_server(tmp_path) as (url, library):
        library.catalog.put_source(wenyuan.Source(source_id="desk", copyright="allow"))
        with Client(url, key=key(library, "ingest", "search", "registry")) as client:
            [file] = client.upload("desk", {name: PDF})["files"]
            assert (file["state"], file["name"]) == ("added", "说明 %221%22.pdf")
            number = file["documents"][0]
            assert client.original(number) == PDF
            assert client.page_picture(number, 1, width=200).startswith(b"\x89PNG")
            with pytest.raises(RetrievalFailed, match="no page 2"):
                client.page_picture(number, 2)
            [changed] = client.replace_document(number, "x.md", b"# Pump\n\nEvery 40 days.")["files"]
            assert client.delete_document(changed["documents"][0]) == {"source_id": "desk", "documents": 1}
            with pytest.raises(InvalidRequest, match="read from"):
                client.upload("wiki", {"a.md": b"# A"})
        with Client(url, key=key(library, "search")) as client, pytest.raises(NotPermitted):
            client.upload("desk", {"a.md": b"# A"})
