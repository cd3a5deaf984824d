"""The console's pages of documents: lists, one document beside its pages, and what is uploaded, replaced and deleted."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import wenyuan
from console_door import HOSTILE, Browser, Seen, console
from governed_door import key
from pdf_files import make_pdf
from wenyuan.console.documents import pieces_of
from wenyuan.core.fidelity import Fidelity

Opened = tuple[str, Any]
FENCE = "----fence7MA4YWxkTrZu0gW"
PDF = make_pdf([[(72, 700, "A pump is checked every 30 days.")], [(72, 700, "A valve is checked every 90 days.")]])


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Opened]:
    with console(tmp_path) as found:
        found[1].catalog.put_source(wenyuan.Source(source_id="desk", title="Desk", copyright="allow"))
        yield found


def sent(browser: Browser, path: str, *files: tuple[str, bytes], origin: str = "") -> Seen:
    """A form with files, as a browser without scripts sends it."""
    parts = [
        f'--{FENCE}\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\n\r\n'.encode()
        + content
        + b"\r\n"
        for name, content in files
    ]
    kind = {"Content_Type": f"multipart/form-data; boundary={FENCE}", "Origin": origin or browser.url}
    return browser.send("POST", path, b"".join(parts) + f"--{FENCE}--\r\n".encode(), **kind)


def uploaded(browser: Browser, *files: tuple[str, bytes]) -> Seen:
    after = sent(browser, "/console/sources/desk/documents", *files)
    assert (after.status, after.location) == (303, "/console/sources/desk/documents?report=1#report")
    return browser.get("/console/sources/desk/documents", report=1)


def test_the_report_names_every_file(opened: Opened) -> None:
    """Five files without scripts, one of them broken: four are taken in, the fifth is named with its reason, in Chinese, too."""
    browser = Browser(opened[0], "zh")
    good = [(f"{n}.md", f"# 第{n}份\n\n文字 {n}。".encode()) for n in range(3)]
    seen = uploaded(browser, *good, ("pump.pdf", PDF), ("broken.pdf", b"%PDF-1.4 nothing"))
    assert "已收录 4 个文件，1 个失败" in seen.text("#report h2")
    assert seen.count("#report .state.ok") == 4
    assert "已损坏" in seen.text("#report .why")
    assert seen.count("table tbody tr") == 5
    failed = browser.get("/console/sources/desk/documents", state="failed")
    assert "已损坏" in failed.text("tbody .why")
    assert "重新上传：wenyuan document upload desk" in failed.text("tbody .small")
    page = browser.get("/console/sources/desk/documents", q="pump")
    assert page.count("table tbody tr") == 1
    assert "没有这样的文档" in browser.get("/console/sources/desk/documents", q="zzz").text(".lead")


def test_failures_are_listed_with_what_helps(opened: Opened, tmp_path: Path) -> None:
    """Of a source that is read from a folder: the reason and the remedy, and no form that uploads."""
    (tmp_path / "docs" / "wiki" / "broken.pdf").write_bytes(b"%PDF-1.4 nothing")
    opened[1].ingest("wiki")
    seen = Browser(opened[0]).get("/console/sources/wiki/documents", state="failed")
    assert seen.count("table tbody tr") == 1
    assert "damaged" in seen.text("tbody .why")
    assert "wenyuan ingest wiki" in seen.text("tbody .small")
    assert seen.count("form.drop") == 0
    assert "read from elsewhere" in seen.text("main")


def test_a_document_of_which_nothing_can_be_counted_is_shown(opened: Opened, tmp_path: Path) -> None:
    """Its reader knows nothing but how many pictures it has: a dash in the list, and no share on its page."""
    library, browser = opened[1], Browser(opened[0])
    ingester = library.ingestion.ingester

    def reading(file: Path, uri: str) -> Any:
        return [replace(one, fidelity=Fidelity(source_characters=0, pictures=3)) for one in ingester.read(file, uri)]

    library.ingestion = replace(library.ingestion, ingester=replace(ingester, read=reading))
    (tmp_path / "docs" / "counted").mkdir()
    (tmp_path / "docs" / "counted" / "a.md").write_text("# A\n\nText.\n", "utf-8")
    library.add(wenyuan.Source(source_id="counted", path=str(tmp_path / "docs" / "counted")))
    listed = browser.get("/console/sources/counted/documents")
    assert listed.text("td.number:last-child") == "—"
    page = browser.get(str(listed.tree.css_first("tbody a").attributes["href"]))  # type: ignore[union-attr]
    assert (page.status, page.text("dl.facts").count("%")) == (200, 0)


def test_a_hit_leads_to_its_page(opened: Opened) -> None:
    """From the search page to the document, with its words marked, and its lines on the page of the original."""
    browser = Browser(opened[0])
    uploaded(browser, ("pump.pdf", PDF))
    found = browser.get("/console/search", q="how often is a valve checked")
    links = [a.attributes["href"] for a in found.tree.css("a[href^='/console/passages/']")]
    assert links
    number = links[0].partition("?")[0].rpartition("/")[2]
    there = browser.send("GET", links[0]).location
    assert there.endswith(f"#passage-{number}")
    page = browser.send("GET", there.partition("#")[0])
    assert "valve" in page.text("li.chosen mark")
    assert page.count(f"rect.on[data-of='{number}']") >= 1
    picture = browser.send("GET", page.tree.css_first(".paper img").attributes["src"])  # type: ignore[union-attr]
    assert (picture.status, picture.headers["Content-Type"]) == (200, "image/png")
    assert "form-action 'self'" in picture.headers["Content-Security-Policy"]


def test_a_document_without_pages_is_text(opened: Opened) -> None:
    """Its passages are read in order, markup in them is text, and the file is downloaded and never shown."""
    browser = Browser(opened[0])
    browser_pages = browser.get("/console/sources/hostile/documents")
    link = browser_pages.tree.css_first("tbody a").attributes["href"]  # type: ignore[union-attr]
    page = browser.get(str(link))
    assert HOSTILE in page.text(".passages")
    assert page.count("main script") == page.count("main img") == 0
    assert page.count(".originals") == 0
    file = browser.get(f"{link}/original")
    assert file.headers["Content-Disposition"].startswith("attachment")
    assert file.headers["Content-Type"] == "application/octet-stream"


def test_a_document_is_replaced_and_deleted(opened: Opened) -> None:
    """The new version is shown in its place; one that cannot be read changes nothing; to delete is said twice."""
    browser = Browser(opened[0])
    uploaded(browser, ("a.md", b"# A\n\nThe fee is 5 yuan."))
    first = browser.get("/console/sources/desk/documents").tree.css_first("tbody a").attributes["href"]  # type: ignore[union-attr]
    broken = sent(browser, f"{first}/replace", ("b.pdf", b"%PDF-1.4 nothing"))
    assert broken.status == 400
    assert "stays in force" in broken.text(".notice.bad")
    after = sent(browser, f"{first}/replace", ("b.md", b"# A\n\nThe fee is 9 yuan."))
    assert after.status == 303
    assert "9 yuan" in browser.get(after.location).text(".passages")
    now = after.location.partition("?")[0]
    assert "from another day" in browser.get(after.location).text(".notice.good")
    assert browser.get(str(first)).location == now
    assert browser.post(f"{now}/delete").location == now
    assert browser.post(f"{now}/delete", {"sure": "yes"}).location == "/console/sources/desk/documents"
    assert browser.get("/console/sources/desk/documents").count("table") == 0


def test_files_are_taken_from_our_own_pages_alone(opened: Opened) -> None:
    """Another site's form is refused before anything of it is read; so is an upload to a source that has a path."""
    browser = Browser(opened[0])
    for path in ("sources/desk/documents", "documents/1/replace"):
        assert sent(browser, f"/console/{path}", ("a.md", b"# A"), origin="https://evil.example").status == 403
    refused = sent(browser, "/console/sources/wiki/documents", ("a.md", b"# A"))
    assert refused.status == 400
    assert "read from" in refused.text(".notice.bad")
    assert opened[1].catalog.counts("desk")["documents"] == 0


def test_who_may_not_is_shown_less(tmp_path: Path) -> None:
    """A key that only searches sees a document's passages, not where it lies or the forms; another agent's is not there."""
    with console(tmp_path, needs_keys=True) as (url, library):
        browser = Browser(url)
        browser.sign_in(key(library, "search", agent="other"))
        live = library.catalog.live_documents("wiki")
        page = browser.get(f"/console/documents/{next(iter(live.values()))[0]}")
        assert page.status == 200
        assert page.count("form.stack") == 0
        other = next(iter(library.catalog.live_documents("crm_policy").values()))[0]
        assert browser.get(f"/console/documents/{other}").status == 404
        assert browser.get("/console/passages/1").status == 404


def test_pieces_cover_the_text() -> None:
    """Marks and doubts may overlap; nothing of the text is lost or said twice."""
    doubt = {"start": 4, "end": 8, "kind": "number", "confidence": 0.4}
    made = pieces_of("abcdefghij", ((2, 6),), (doubt,))
    assert "".join(piece for piece, _, _ in made) == "abcdefghij"
    assert [(piece, marked, bool(doubtful)) for piece, marked, doubtful in made] == [
        ("ab", False, False), ("cd", True, False), ("ef", True, True), ("gh", False, True), ("ij", False, False),
    ]  # fmt: skip
    assert pieces_of("", (), ()) == []
