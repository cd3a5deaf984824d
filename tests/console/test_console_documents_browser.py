"""Documents in a real browser: files that are dropped and chosen, and passages that are marked on their page."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import wenyuan
from chromium import SIZES, Windows, assert_accessible, started
from console_door import served
from copies import copied
from governed_door import SETTINGS
from pdf_files import make_pdf
from wenyuan.service.uploads import Given

pytestmark = [pytest.mark.browser, pytest.mark.integration]
PDF = make_pdf(
    [[(72, 800 - 20 * n, f"Clause {n} of page {page}: the pump is checked every {n + 10} days.") for n in range(30)] for page in (1, 2, 3)]
)  # fmt: skip


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    with started() as browser:
        yield browser


@pytest.fixture(scope="module")
def windows(chromium: Any) -> Windows:
    return Windows(chromium)


def empty(folder: Path) -> None:
    """Make a library whose one source has no document yet in a folder, for `copied`."""
    with wenyuan.open(folder / "library", create=True, **SETTINGS) as library:
        library.catalog.put_source(wenyuan.Source(source_id="desk", title="Desk 案头", copyright="allow"))


def with_pump(folder: Path) -> None:
    """Make a library with a PDF of three pages in a folder, for `copied`."""
    copied(empty, folder)
    with wenyuan.open(folder / "library", **SETTINGS) as library, library.uploads.incoming() as incoming:
        (incoming / "0").write_bytes(PDF)
        assert library.upload("desk", [Given(name="pump.pdf", path=incoming / "0")]).files[0].documents


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[tuple[str, Any]]:
    copied(empty, tmp_path)
    with wenyuan.open(tmp_path / "library", **SETTINGS) as library, served(library) as url:
        yield url, library


@pytest.fixture
def pump(tmp_path: Path) -> Iterator[str]:
    copied(with_pump, tmp_path)
    with wenyuan.open(tmp_path / "library", **SETTINGS) as library, served(library) as url:
        yield url


@pytest.fixture
def visit(windows: Windows) -> Iterator[Any]:
    """Opens pages, and at the end says whether the browser complained of any."""

    def opened(url: str, *, language: str = "en", size: str = "desktop") -> Any:
        page = windows.page(language, size)
        page.goto(url)
        return page

    with windows.visited():
        yield opened
    assert windows.heard == []


@pytest.mark.parametrize(("language", "size"), [("en", "desktop"), ("zh-CN", "phone")])
def test_five_files_of_which_one_is_broken(
    visit: Any, desk: tuple[str, Any], tmp_path: Path, language: str, size: str
) -> None:
    """Chosen and sent by a script that shows how far it is; the report has each, and the page is accessible."""
    files = {
        "pump.pdf": PDF,
        "broken.pdf": b"%PDF-1.4 nothing",
        **{f"{n}.md": f"# {n}\n\nText {n}.".encode() for n in range(3)},
    }
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    page = visit(f"{desk[0]}/console/sources/desk/documents", language=language, size=size)
    page.set_input_files("input[name=file]", [str(tmp_path / name) for name in files])
    page.click("form.drop button")
    page.wait_for_selector("#report")
    assert page.locator("#report .state.ok").count() == 4
    assert "broken.pdf" in page.inner_text("#report li:has(.state.failed)")
    assert page.locator("table tbody tr").count() == 5  # what failed stays listed
    assert_accessible(page)


def test_an_upload_that_was_refused_can_be_tried_again(
    windows: Windows, desk: tuple[str, Any], tmp_path: Path
) -> None:
    """Each time with the reason; once nothing is in its way, it goes through without the page being loaded anew."""
    url, library = desk
    (tmp_path / "a.md").write_text("# A\n\nAlpha.")
    before = library.catalog.source("desk")
    with windows.visited():
        page = windows.page()
        page.goto(f"{url}/console/sources/desk/documents")
        page.set_input_files("input[name=file]", str(tmp_path / "a.md"))
        library.catalog.put_source(replace(before, path=str(tmp_path)))
        for _ in range(2):
            page.click("form.drop button")
            page.wait_for_selector(".sending p:has-text('is read from')")
            assert page.locator(".sending progress").is_hidden()
        library.catalog.put_source(before)
        page.click("form.drop button")
        page.wait_for_selector("#report")
    assert [words for kind, words in windows.heard if kind != "console"] == []


def test_a_folder_is_dropped(visit: Any, desk: tuple[str, Any]) -> None:
    """Files with their folders are sent as soon as they are let go, and kept below the source's own folder."""
    page = visit(f"{desk[0]}/console/sources/desk/documents")
    page.evaluate(
        """() => {
            const file = (name, text) => ({ isFile: true, name, file: (found) => found(new File([text], name)) });
            const folder = (name, all) => ({ isFile: false, name, createReader: () => {
                let left = [all, []]; return { readEntries: (found) => found(left.shift()) }; } });
            const tree = folder("policies", [file("a.md", "# A\\n\\nAlpha."), folder("2026", [file("b.md", "# B\\n\\nBeta.")]), folder(".git", [file("c.md", "# C")])]);
            const event = new Event("drop", { bubbles: true, cancelable: true });
            event.dataTransfer = { items: [{ webkitGetAsEntry: () => tree }], files: [] };
            document.querySelector("[data-drop]").dispatchEvent(event);
        }"""
    )
    page.wait_for_selector("#report")
    home = desk[1].folder / "uploads" / "desk"
    assert sorted(one.relative_to(home).as_posix() for one in home.rglob("*.md")) == [
        "policies/2026/b.md", "policies/a.md",
    ]  # fmt: skip


@pytest.mark.parametrize(("language", "size"), [("zh-CN", "desktop"), ("en", "phone")])
def test_a_passage_is_marked_where_it_stands(visit: Any, pump: str, language: str, size: str) -> None:
    """One click from the hit; its lines are marked and in sight on the picture of the page, and so are those under the
    pointer or with the focus."""
    page = visit(f"{pump}/console/search?q=clause 25 of page 3", language=language, size=size)
    page.locator("a[href^='/console/passages/']").first.click()
    page.wait_for_selector("rect.on", state="attached")
    image = "document.querySelector('rect.on').closest('.paper').querySelector('img').naturalWidth"
    while not page.evaluate(image):  # the page's own policy lets no expression be watched
        page.wait_for_timeout(20)
    assert page.locator("li.chosen mark").count() >= 1
    assert "#passage-" in page.url
    box, column = (page.locator(one).first.bounding_box() for one in ("rect.on", ".originals"))
    assert column["y"] <= box["y"] <= column["y"] + column["height"]
    first = page.locator("[data-passage]").first
    number = first.get_attribute("data-passage")
    assert page.locator("rect.under").count() == 0 or page.locator(f"rect.under[data-of='{number}']").count() == 0
    first.focus()
    assert page.locator(f"rect.under[data-of='{number}']").count() >= 1
    page.locator("[data-passage]").nth(1).hover()
    assert page.locator(f"rect.under[data-of='{number}']").count() == 0
    assert_accessible(page)


def test_it_works_without_scripts(chromium: Any, desk: tuple[str, Any], tmp_path: Path) -> None:
    """The form sends, the page of the original is there, and the chosen passage is marked on it."""
    context = chromium.new_context(java_script_enabled=False)
    page = context.new_page()
    (tmp_path / "pump.pdf").write_bytes(PDF)
    page.goto(f"{desk[0]}/console/sources/desk/documents")
    assert not page.locator("input[webkitdirectory]").is_visible()
    page.set_input_files("input[name=file]", str(tmp_path / "pump.pdf"))
    page.click("form.drop button")
    page.goto(f"{desk[0]}/console/search?q=clause 2 of page 1")
    page.locator("a[href^='/console/passages/']").first.click()
    assert page.locator("rect.on").count() >= 1
    assert page.locator(".paper img").count() == 3
    context.close()


@pytest.mark.parametrize(("language", "size"), [("zh-CN", "desktop"), ("en", "phone")])
def test_a_correction_is_answered_with_and_undone(visit: Any, pump: str, language: str, size: str) -> None:
    """From a hit to its passage, corrected beside the page; the next search has it; undone, the words are back."""
    search = f"{pump}/console/search?q=clause 25 of page 3"
    page = visit(search, language=language, size=size)
    page.locator("a[href^='/console/passages/']").first.click()
    page.locator("li.chosen details.correct summary").click()
    assert_accessible(page)
    page.set_viewport_size(SIZES[size])
    page.fill("li.chosen textarea[name=text]", "Clause 25 of page 3: the pump is checked every 77 days.")
    page.locator("li.chosen form:has(textarea[name=text]) button").click()
    page.wait_for_selector("li.chosen:has-text('77 days')")
    assert page.locator("#corrected").count() == 1
    page.goto(search)
    assert "77 days" in page.inner_text(".hits")
    page.goto(f"{pump}/console/corrections")
    assert_accessible(page)
    page.locator("li.card form button").first.click()
    page.wait_for_selector("li.card:not(:has(form))")
    page.goto(search)
    assert "77 days" not in page.inner_text(".hits")
    assert "35 days" in page.inner_text(".hits")
