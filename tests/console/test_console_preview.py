"""The page that shows how a file would be cut, and the form that sets the details of a document, in both languages."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import wenyuan
from console_door import Browser, console
from wenyuan.service.uploads import Given


@pytest.fixture
def place(tmp_path: Path) -> Iterator[tuple[str, Any]]:
    with console(tmp_path) as (url, library):
        library.catalog.put_source(wenyuan.Source(source_id="own", title="Own", trust=2))
        yield url, library


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_file_is_shown_before_it_is_taken_in(place: tuple[str, Any], language: str) -> None:
    """Its passages with headings and sizes; markup in it is text; the source has no document by it."""
    url, library = place
    browser = Browser(url, language)
    assert browser.get("/console/sources/own/preview").count("main form") == 4
    text = "# 投诉<script>alert(1)</script>\n\n投诉须在两天内答复。\n"
    seen = browser.upload("/console/sources/own/preview", {}, "a.md", text.encode())
    assert seen.status == 200
    assert seen.count("main script") == 0
    assert "两天内答复" in seen.text("li.passage")
    assert library.list_documents(source="own").documents == ()
    assert browser.upload("/console/sources/own/preview", {}, "a.docx", b"no archive").status == 400


@pytest.mark.parametrize("language", ["en", "zh"])
def test_details_are_set_in_the_form(place: tuple[str, Any], tmp_path: Path, language: str) -> None:
    """Title, day and tags of the form count; the page that follows has them, and says what is as the file again."""
    url, library = place
    (tmp_path / "pump.md").write_text("# Pump\n\nIt is checked each year.\n", "utf-8")
    library.upload("own", [Given(name="pump.md", path=tmp_path / "pump.md")])
    (held,) = library.list_documents(source="own").documents
    browser = Browser(url, language)
    fields = {
        "title": "Pump 2",
        "effective_from": "",
        "effective_until": "2030-01-31",
        "tags": "year=2026",
        "reason": "",
    }
    seen = browser.post(f"/console/documents/{held['document_id']}/details", fields)
    assert seen.status == 303
    assert browser.get(seen.location).count("form input[name=as_read]") == 3
    (held,) = library.list_documents(source="own").documents
    told = library.document(held["document_id"])
    assert (told["title"], told["effective_until"], told["tags"]) == ("Pump 2", "2030-01-31", {"year": 2026})
    refused = browser.post(
        f"/console/documents/{held['document_id']}/details", {**fields, "effective_from": "2031-01-01"}
    )
    assert refused.status == 400
