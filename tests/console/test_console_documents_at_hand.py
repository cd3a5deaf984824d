"""One list of the documents of all sources in the console: filters, order, pages, and what is done to many at once."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import wenyuan
from console_door import Browser, console
from governed_door import key
from wenyuan.console import sign_in
from wenyuan.core.document_choice import SORTS
from wenyuan.service.document_details import DetailsRequest
from wenyuan.service.uploads import Given

PATH = "/console/documents"


@pytest.fixture
def place(tmp_path: Path) -> Iterator[tuple[str, Any]]:
    with console(tmp_path) as (url, library):
        yield url, library


def uploaded(library: Any, folder: Path, *names: str) -> list[int]:
    """Documents of a source that takes uploads."""
    library.catalog.put_source(wenyuan.Source(source_id="own", title="Own", trust=2))
    files = []
    for name in names:
        (folder / name).write_text(f"# {name}\n\n增压泵 {name} 每 500 小时检查。\n", encoding="utf-8")
        files.append(Given(name=name, path=folder / name))
    library.upload("own", files)
    return [one["document_id"] for one in library.list_documents(source="own").documents]


@pytest.mark.parametrize("language", ["en", "zh"])
def test_documents_of_all_sources_stand_in_one_list(place: tuple[str, Any], language: str) -> None:
    """Whatever source they are of, with its trust; words, trust and source narrow the list; hostile names are text."""
    browser = Browser(place[0], language)
    seen = browser.get(PATH)
    assert (seen.status, seen.count("tbody tr"), seen.count("main script"), seen.count("main img")) == (200, 4, 0, 0)
    assert browser.get(PATH, trust="5").count("tbody tr") == 1
    assert browser.get(PATH, source="wiki").count("tbody tr") == 1
    assert browser.get(PATH, q="投诉处理").count("tbody tr") == 1
    assert browser.get(PATH, kind="pdf").count("tbody tr") == 0
    assert browser.get(PATH, kind="md", since="2020-01-01").count("tbody tr") == 4
    assert browser.get(PATH, until="2020-01-01").count("tbody tr") == 0


@pytest.mark.parametrize(
    "query",
    [
        {"fidelity": "x"},
        {"sort": "x"},
        {"since": "x"},
        {"since": "2024-05-21", "until": "2024-05-20"},
        {"after": "x"},
        {"source": "none"},
        {"state": "failed", "kind": "pdf"},
    ],
)
def test_what_cannot_be_chosen_is_refused(place: tuple[str, Any], query: dict[str, str]) -> None:
    """A choice that cannot be made is refused on the page, never left out."""
    seen = Browser(place[0]).get(PATH, **query)
    assert seen.status in (400, 404)
    assert seen.count(".notice.bad") == 1


@pytest.mark.parametrize("sort", SORTS)
def test_pages_of_every_order_have_each_document_once(place: tuple[str, Any], sort: str) -> None:
    """Page by page, whatever the order, each document comes once, in the order of the whole list."""
    whole = [one["document_id"] for one in place[1].list_documents(sort=sort).documents]
    assert len(set(whole)) == 4
    found, after = [], ""
    while True:
        page = place[1].list_documents(sort=sort, limit=1, after=after)
        found += [one["document_id"] for one in page.documents]
        after = page.next
        if not after:
            break
    assert found == whole


def test_many_are_disabled_and_enabled_at_once(place: tuple[str, Any]) -> None:
    """What is disabled is not found any more, and is again once it is enabled; each page says what was done to how many."""
    url, library = place
    browser = Browser(url)
    numbers = [one["document_id"] for one in library.list_documents().documents][:2]
    seen = browser.post(PATH, {"action": "disable", "document": numbers})
    assert "2 documents disabled" in seen.text("[role=status]")
    excluded = [one for one in library.list_documents().documents if one["excluded"]]
    assert len(excluded) == 2
    seen = browser.post(PATH, {"action": "disable", "document": [excluded[0]["document_id"], "x"], "title-x": "<b>y"})
    assert "0 documents disabled" in seen.text("[role=status]") and "<b>y" in seen.text("[role=status] li")
    browser.post(PATH, {"action": "enable", "document": [one["document_id"] for one in excluded]})
    assert not any(one["excluded"] for one in library.list_documents().documents)


def test_deleting_many_needs_a_confirmation(place: tuple[str, Any], tmp_path: Path) -> None:
    """Without the tick nothing goes; with it those of uploads go, and others are refused by name."""
    url, library = place
    browser = Browser(url)
    numbers = uploaded(library, tmp_path, "a.md", "b.md")
    assert "Nothing was done" in browser.post(PATH, {"action": "delete", "document": numbers}).text("[role=status]")
    [other] = [one["document_id"] for one in library.list_documents(source="wiki").documents]
    seen = browser.post(
        PATH, {"action": "delete", "sure": "yes", "document": [*numbers, other], f"title-{other}": "Wiki"}
    )
    assert "2 documents deleted" in seen.text("[role=status]") and "Wiki" in seen.text("[role=status] li")
    assert library.list_documents(source="own").documents == ()
    assert len(library.list_documents(source="wiki").documents) == 1


def test_who_may_not_see_a_document_finds_no_trace_of_it(tmp_path: Path) -> None:
    """Hidden documents are neither listed nor counted, whatever the order; a key without the right sees no list."""
    with console(tmp_path, needs_keys=True) as (url, library):
        [wiki] = library.list_documents(source="wiki").documents
        library.set_readers(wiki["document_id"], {"readers": ["user:li"], "deny": []})
        browser = Browser(url)
        browser.sign_in(key(library, "registry", "ingest"))
        for sort in SORTS:
            assert browser.get(PATH, sort=sort).count("tbody tr") == 3
        plain = Browser(url)
        plain.sign_in(key(library, "search"))
        assert plain.get(PATH).status == 403


def test_an_address_that_was_passed_on_leads_to_the_document_as_it_is_now(
    place: tuple[str, Any], tmp_path: Path
) -> None:
    """Details and a new version give a document and its passages other numbers; the old ones lead there. What went stays away."""
    url, library = place
    (number,) = uploaded(library, tmp_path, "pump.md")
    passage = library.document_passages(number).passages[0]["passage_id"]
    browser = Browser(url)
    library.details_desk.set_details(number, DetailsRequest(title="Pumps"))
    (now,) = [one["document_id"] for one in library.list_documents(source="own").documents]
    assert now != number
    assert browser.get(f"{PATH}/{number}").headers["location"] == f"{PATH}/{now}"
    assert browser.get(f"/console/passages/{passage}").headers["location"].startswith(f"{PATH}/{now}?")
    (tmp_path / "pump.md").write_text("# pump.md\n\n每 300 小时检查。\n", encoding="utf-8")
    library.replace_document(now, Given(name="pump.md", path=tmp_path / "pump.md"))
    assert "300" in browser.get(browser.get(f"{PATH}/{number}").headers["location"]).body
    (now,) = [one["document_id"] for one in library.list_documents(source="own").documents if one["state"] == "live"]
    library.delete_document(now)
    assert browser.get(f"{PATH}/{number}").status == 404


@pytest.mark.parametrize(
    ("rights", "buttons", "model"),
    [(("admin",), 4, 1), (("ingest", "registry", "search"), 4, 0), (("registry", "search"), 0, 0)],
)
def test_who_signed_in_is_offered_what_the_key_may(
    tmp_path: Path, rights: tuple[str, ...], buttons: int, model: int
) -> None:
    """The chosen are acted on by those with the right for it, however they came in; so is the page of the model shown."""
    with console(tmp_path) as (url, library):
        key(library, "admin")
        browser = Browser(url)
        browser.sign_in(key(library, *rights))
        assert browser.get(PATH).count("button[name=action]") == buttons
        assert browser.get("/console/health").count("a[href='/console/model']") == model


def test_every_right_that_a_page_asks_for_is_found_at_signing_in() -> None:
    """A right that a page or its module looks for in the session is one that signing in looks for."""
    named: set[str] = set()
    for file in (Path(sign_in.__file__).parent).rglob("*"):
        if file.suffix not in (".py", ".html"):
            continue
        text = file.read_text(encoding="utf-8")
        named.update(
            re.findall(r"'(\w+)' in visit\.rights", text), re.findall(r'"(\w+)" in (?:visit\.)?rights', text)
        )
        for several in re.findall(r"visit\.rights & \{([^}]*)\}", text):
            named.update(re.findall(r"\w+", several))
    assert {"admin", "ingest", "registry"} <= named
    assert named <= sign_in._TRIED.keys()
