"""The console's page of what a change touches, in both languages."""

from __future__ import annotations

from pathlib import Path

from console_door import Browser, console
from governed_door import key

ASKED = "客户投诉几小时响应"


def test_a_document_is_asked_about_and_the_last_changes_are_shown(tmp_path: Path) -> None:
    """What was quoted and reads otherwise is shown then and now, as text; what is not there is said, with what was typed."""
    with console(tmp_path) as (url, library):
        browser = Browser(url, "zh")
        assert "没有哪次改动" in browser.get("/console/impact").text("main")
        assert library.search(ASKED, sources=["crm_policy"]).hits
        library.change_review.begin()
        file = tmp_path / "docs" / "crm_policy" / "crm_policy.md"
        file.write_text(file.read_text("utf-8").replace("24 小时", "48 小时 <b>"), "utf-8")
        library.ingest("crm_policy")
        assert library.change_review.review() is not None
        seen = browser.get("/console/impact")
        assert "不同的 1 次" in seen.text(".card") and (seen.count("main b"), seen.count("main del")) == (0, 1)
        refused = browser.post("/console/impact", {"target": "crm_policy#99999", "days": "30"})
        assert (refused.status, refused.count('input[value="crm_policy#99999"]')) == (404, 1)
        number = next(iter(library.catalog.live_documents("crm_policy").values()))[0]
        assert "不同的 1 次" in browser.post("/console/impact", {"target": str(number), "days": "7"}).text(".card")


def test_a_key_without_the_right_sees_neither_page_nor_menu(tmp_path: Path) -> None:
    """It tells what others asked, and needs the right ``audit``."""
    with console(tmp_path, needs_keys=True) as (url, library):
        browser = Browser(url)
        browser.sign_in(key(library, "search", "registry"))
        assert browser.get("/console/impact").status == 403
        assert browser.get("/console/search").count('nav a[href="/console/impact"]') == 0
