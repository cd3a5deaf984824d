"""The console's pages of sources: what is held, how fresh it is, and what can be done with it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import wenyuan
from console_door import HOSTILE, Browser, console, served
from governed_door import key
from patience import HANGS
from wenyuan.console.sources import freshness, pace
from wenyuan.core.errors import CatalogBusy, Counted
from wenyuan.i18n.translation import texts
from wenyuan.server.routes.ingest_jobs import IngestJobs
from wenyuan.service.ingest.progress import Progress


def until(true: Callable[[], bool]) -> None:
    """What a page begins goes on when it takes longer than a second, and is followed."""
    for _ in range(200):
        if true():
            return
        time.sleep(0.05)
    raise AssertionError("never")


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[tuple[str, Any]]:
    with console(tmp_path, ingest_roots=(tmp_path,)) as found:
        yield found


def test_the_list_names_every_source(opened: tuple[str, Any]) -> None:
    """Each with its domain, trust and counts; a hostile title is text."""
    seen = Browser(opened[0]).get("/console/sources")
    assert seen.count("tbody tr") == 4
    assert f"题 {HOSTILE}" in seen.text("tbody")
    assert seen.count("main script") == 0
    row = next(tr.text() for tr in seen.tree.css("tbody tr") if "crm_policy" in tr.text())
    assert "★★★★★" in row


def test_what_fails_comes_first(opened: tuple[str, Any]) -> None:
    """A source whose refresh failed stands at the top, with the reason in the reader's language."""
    url, library = opened
    folder = Path(library.catalog.source("wiki").path)
    next(folder.iterdir()).unlink()
    folder.rmdir()
    browser = Browser(url, "zh")
    assert browser.post("/console/sources/wiki/refresh").status == 303
    first = browser.get("/console/sources").tree.css_first("tbody tr")
    assert "wiki" in first.text()
    assert "上次更新失败" in first.text()
    page = browser.get("/console/sources/wiki")
    assert "失败" in page.text("#live .notice.failed h2")


def test_a_source_is_added_edited_and_removed(opened: tuple[str, Any], tmp_path: Path) -> None:
    """The forms do what the API does: a folder is taken in, its trust changed, and it is gone again."""
    url, library = opened
    (tmp_path / "faq").mkdir()
    (tmp_path / "faq" / "a.md").write_text("# 假期\n\n年假可以结转五天。\n", encoding="utf-8")
    browser = Browser(url)
    fields = {
        "source_id": "faq",
        "type": "static_doc",
        "path": str(tmp_path / "faq"),
        "trust_level": 4,
        "tags": "a，b",
    }
    assert browser.post("/console/sources/+new", fields).location == "/console/sources/faq"
    until(lambda: "1 added" in browser.get("/console/sources/faq").text("#live .notice.good"))
    assert library.catalog.source("faq").tags == ("a", "b")
    form = browser.get("/console/sources/faq/edit")
    assert form.tree.css_first("select[name=trust_level] option[selected]").text() == "4"
    assert browser.post("/console/sources/faq/edit", {"title": "假期问答", "trust_level": 2}).status == 303
    changed = library.catalog.source("faq")
    assert (changed.title, changed.trust, changed.path) == ("假期问答", 2, str(tmp_path / "faq"))
    assert browser.post("/console/sources/faq/remove").location == "/console/sources/faq"
    assert browser.post("/console/sources/faq/remove", {"sure": "yes"}).location == "/console/sources"
    assert browser.get("/console/sources/faq").status == 404


def test_an_older_page_does_not_undo_a_change(opened: tuple[str, Any]) -> None:
    """A form that was opened before somebody else changed the source is refused, and the page says so."""
    url, library = opened
    browser = Browser(url)
    seen = browser.get("/console/sources/wiki/edit").tree.css_first("input[name=seen]").attributes["value"]
    library.catalog.put_source(replace(library.catalog.source("wiki"), title="他人改的"))
    page = browser.post("/console/sources/wiki/edit", {"title": "我改的", "trust_level": 2, "seen": seen})
    assert page.status == 409
    assert "changed or removed meanwhile" in page.body
    assert library.catalog.source("wiki").title == "他人改的"


@pytest.mark.parametrize(
    ("fields", "wrong"),
    [
        ({"source_id": "no such id!", "type": "static_doc"}, "source_id"),
        ({"source_id": "x", "type": "static_doc", "path": "docs"}, "path"),
        ({"source_id": "x", "type": "api", "settings": "{"}, "settings"),
        ({"source_id": "x", "type": "api", "settings": "[1]"}, "settings"),
        ({"source_id": "x", "type": "api", "effective_from": "2024-13-01"}, "effective_from"),
        ({"source_id": "x", "type": "api", "refresh_cycle": "sometimes"}, "refresh_cycle"),
    ],
)
def test_a_form_with_a_fault_comes_back(opened: tuple[str, Any], fields: dict[str, str], wrong: str) -> None:
    """The fault stands at its field, what was typed is still there, and nothing was registered."""
    seen = Browser(opened[0]).post("/console/sources/+new", fields)
    assert seen.status == 400
    assert seen.text(f"#wrong-{wrong}")
    assert seen.tree.css_first("input[name=source_id]").attributes["value"] == fields["source_id"]
    assert "x" not in {source.source_id for source in opened[1].sources()}


def test_a_path_that_is_not_allowed_is_refused(opened: tuple[str, Any]) -> None:
    """A folder outside those of ``server.ingest_roots`` cannot be named by a form either."""
    seen = Browser(opened[0]).post("/console/sources/+new", {"source_id": "x", "type": "static_doc", "path": "/etc"})
    assert seen.status == 403
    assert "ingest_roots" in seen.text(".notice.bad")


def test_a_form_cannot_name_another_route(opened: tuple[str, Any]) -> None:
    """An id with a slash in it leads nowhere."""
    browser = Browser(opened[0])
    assert browser.send("GET", "/console/sources/..%2Fkeys").status == 404
    assert browser.post("/console/sources/..%2Fkeys/remove", {"sure": "yes"}).status == 404


def test_an_agents_key_changes_no_source(tmp_path: Path) -> None:
    """It sees the sources of its scope, without where they lie, and each change is refused."""
    with console(tmp_path, needs_keys=True, ingest_roots=(tmp_path,)) as (url, library):
        browser = Browser(url)
        browser.sign_in(key(library, "registry", "ingest", agent="other"))
        assert browser.get("/console/sources").count("tbody tr") == 1
        page = browser.get("/console/sources/wiki")
        assert page.status == 200
        assert str(tmp_path) not in page.body
        assert browser.get("/console/sources/crm_policy").status == 404
        for path in ("refresh", "remove", "edit"):
            assert browser.post(f"/console/sources/wiki/{path}", {"sure": "yes", "title": "x"}).status == 403
        assert library.catalog.source("wiki").title == "wiki"


def test_a_refresh_under_way_is_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """While files are taken in, the page says how far it is and asks again every second; then how it ended."""
    (tmp_path / "docs").mkdir()
    for number in range(40):
        (tmp_path / "docs" / f"{number}.md").write_text(
            f"# 投诉处理 {number}\n\n需在 24 小时内响应。\n", encoding="utf-8"
        )
    settings = {"encoder": {"kind": "hashing"}, "cache": {"seconds": 0}}
    go_on = threading.Event()
    with wenyuan.open(tmp_path / "library", create=True, **settings) as library:
        library.catalog.put_source(wenyuan.Source(source_id="many", path=str(tmp_path / "docs")))
        embed = library.encoder.encode_passages
        monkeypatch.setattr(
            library.encoder, "encode_passages", lambda *a, **more: (go_on.wait(HANGS), embed(*a, **more))[1]
        )
        with served(library) as url:
            browser = Browser(url)
            poster = threading.Thread(target=browser.post, args=("/console/sources/many/refresh",))
            poster.start()
            seen = followed(url, "#live[hx-trigger]", "40 files")
            go_on.set()
            poster.join()
            assert "of 40 files" in seen
            assert "40 added" in followed(url, "#live .notice.good", "added")


def followed(url: str, selector: str, word: str) -> str:
    """What the page of the source says of its refresh, once it has this on it."""
    until = time.monotonic() + HANGS / 2
    while time.monotonic() < until:
        page = Browser(url).get("/console/sources/many")
        if page.count(selector) and word in page.text("#live"):
            return page.text("#live")
        time.sleep(0.05)
    raise AssertionError(f"the page never had {selector} with {word!r}")


@pytest.mark.parametrize(
    ("state", "kind", "word"),
    [
        ({"refreshing": "host-1", "failures_in_a_row": 2}, "static_doc", "busy"),
        ({"failures_in_a_row": 1, "stale_since": "2026-01-01T00:00:00+00:00"}, "static_doc", "failed"),
        ({"stale_since": "2026-01-01T00:00:00+00:00"}, "static_doc", "overdue"),
        ({}, "api", "outside"),
        ({}, "static_doc", "never"),
        ({"next_refresh": "2027-01-01T00:00:00+00:00"}, "static_doc", "fresh"),
    ],
)
def test_one_word_for_how_a_source_is_doing(state: dict[str, Any], kind: str, word: str) -> None:
    """What needs somebody most is what is said."""
    assert freshness(state, kind) == word


def test_pace() -> None:
    """Files a second and seconds left follow from what was done; before the first file there is nothing to say."""
    at = {"files": 10, "files_total": 40, "passages": 1, "embedded": 0, "name": "a"}
    assert pace({"running": True, "seconds": 5.0, "progress": at}) == {"rate": 2.0, "left": 15}
    assert pace({"running": True, "seconds": 5.0, "progress": None}) == {}
    assert pace(None) == {}


def test_a_refused_second_run_hides_nothing() -> None:
    """While a run is under way, one that is refused does not take its place; a failure is kept as the last end."""
    runs = IngestJobs()
    with runs.of("a") as first:
        first.tell(Progress(files=1, files_total=2, passages=3, embedded=0, name="x"))
        with pytest.raises(CatalogBusy), runs.of("a"):
            raise CatalogBusy("another is at it", component="refresh")
        assert runs.told("a")["running"]
        assert runs.told("a")["progress"]["files"] == 1
        first.ended = {"status": "SUCCESS", "report": None}
    assert runs.told("a")["last"] == {"status": "SUCCESS", "report": None}
    with pytest.raises(RuntimeError), runs.of("a"):
        raise RuntimeError("password=hunter2")
    assert runs.told("a")["last"]["error_message"] == "internal error"
    runs.forget("a")
    assert runs.told("a")["last"] is None


def test_the_settings_of_a_source_are_edited(opened: tuple[str, Any]) -> None:
    """The form has them as JSON; what is no JSON is told, what is unchanged is not sent, and blank removes them."""
    url, library = opened
    browser = Browser(url)
    path = "/console/sources/wiki/edit"
    fields = {"title": "Wiki", "trust_level": 2}
    assert browser.post(path, {**fields, "settings": '{"redaction": {"actions": {"email": "drop"}}}'}).status == 303
    until(lambda: library.catalog.source("wiki").settings == {"redaction": {"actions": {"email": "drop"}}})
    assert '"email"' in browser.get(path).text("textarea[name=settings]")
    wrong = browser.post(path, {**fields, "settings": "{"})
    assert wrong.status == 400
    assert "JSON" in wrong.text("small.wrong")
    assert browser.post(path, fields).status == 303
    assert library.catalog.source("wiki").settings == {"redaction": {"actions": {"email": "drop"}}}
    assert browser.post(path, {**fields, "settings": ""}).status == 303
    until(lambda: library.catalog.source("wiki").settings == {})


@pytest.mark.parametrize(
    ("files", "seconds", "said"),
    [(40, 10.0, "4.0 files a second"), (1, 30.0, "2.0 files a minute"), (1, 1200.0, "0.1 files a minute")],
)
def test_a_slow_run_says_files_a_minute(files: int, seconds: float, said: str) -> None:
    """No pace is nought."""
    told = pace({"seconds": seconds, "progress": {"files": files, "files_total": 100}})
    key = "run_rate" if "rate" in told else "run_rate_slow"
    assert said in texts("console", "en")[key].format(
        rate=Counted(told.get("rate", told.get("minute"))), left=told["left"]
    )


def test_a_passage_stands_below_its_title_without_marks(opened: tuple[str, Any], tmp_path: Path) -> None:
    """The heading of a short Markdown file is not said again, with its mark, as the beginning of its text."""
    url, library = opened
    (tmp_path / "boiler").mkdir()
    (tmp_path / "boiler" / "boiler.md").write_text("# Boiler\n\nThe boiler is swept every autumn.\n", "utf-8")
    library.add(wenyuan.Source(source_id="boiler", path=str(tmp_path / "boiler")))
    shown = Browser(url).get("/console/search?q=when+is+the+boiler+swept").text("p.text")
    assert "swept" in shown
    assert "#" not in shown


def test_a_source_without_an_id_is_given_one(opened: tuple[str, Any]) -> None:
    """Whoever writes in other letters gives a title, and no id; a second one gets another."""
    browser = Browser(opened[0], "zh")
    made = [
        browser.post("/console/sources/+new", {"source_id": "", "type": "static_doc", "title": title}).location
        for title in ("人事与制度", "门店运营")
    ]
    assert len({*made}) == 2 and all(one.startswith("/console/sources/source-") for one in made)
    assert "人事与制度" in browser.get(made[0]).text("h1")
