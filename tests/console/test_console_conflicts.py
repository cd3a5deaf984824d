"""The console's page of statements that contradict one another, in both languages."""

from __future__ import annotations

from pathlib import Path

from console_door import Browser, console
from wenyuan.core.model import Source

RULES = "# 客户服务制度\n\n客户投诉应当在 24 小时内回复客户并登记 <b>台账</b>。\n"
TALK = "# 新员工问答\n\n客户投诉应当在 48 小时内回复客户并登记 <b>台账</b>。\n"


def test_a_conflict_is_shown_side_by_side_and_decided(tmp_path: Path) -> None:
    """Both clauses as text with the words that differ; the decision moves it; nothing is missing in Chinese."""
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "a.txt").write_text(RULES, "utf-8")
    (tmp_path / "more" / "b.txt").write_text(TALK, "utf-8")
    with console(tmp_path) as (url, library):
        library.add(Source(source_id="more", path=str(tmp_path / "more")))
        browser = Browser(url)
        assert "have changed" in browser.get("/console/conflicts").text("main")
        found = browser.post("/console/conflicts", {})
        assert (found.status, found.count("li.card"), found.count("main b")) == (200, 1, 0)
        card = found.text("li.card")
        assert "24 小时" in card and "48 小时" in card and "another number" in card and "for the owner" in card
        assert found.count('nav a[href="/console/conflicts"]') == 1
        chinese = Browser(url, "zh").get("/console/conflicts")
        assert "数值不同" in chinese.text("li.card") and "请负责人判定" in chinese.text("li.card")
        (one,) = library.conflicts.listed()
        moved = browser.post(
            f"/console/conflicts/{one.conflict_id}", {"decision": "second", "note": "newer", "source": ""}
        )
        assert moved.status == 303
        shown = browser.get(moved.location)
        assert shown.count("li.card") == 0 and "Noted: " in shown.text(".notice.good")
        held = browser.get("/console/conflicts", state="second")
        assert "as was decided" in held.text("li.card") and "newer" in held.text("li.card")


def test_whoever_searches_is_told_what_was_decided(tmp_path: Path) -> None:
    """Beside the passage that lost stands which one holds instead, beside the other that it holds; before, that nobody decided."""
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "a.txt").write_text(RULES, "utf-8")
    (tmp_path / "more" / "b.txt").write_text(TALK, "utf-8")
    with console(tmp_path) as (url, library):
        library.add(Source(source_id="more", path=str(tmp_path / "more")))
        library.conflicts.find()
        (one,) = library.conflicts.listed()
        browser = Browser(url, "zh")
        before = browser.get("/console/search", q="客户投诉多久回复").text("#answer")
        assert before.count("存在矛盾") == 2
        library.conflicts.decide(one.conflict_id, "first")
        after = browser.get("/console/search", q="客户投诉多久回复").text("#answer")
        assert "存在矛盾" not in after
        assert after.count("以此处为准（依判定）") == after.count("》为准（依判定）") == 1
