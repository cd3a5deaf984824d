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
        assert moved.count("li.card") == 0
        held = browser.get("/console/conflicts", state="second")
        assert "as was decided" in held.text("li.card") and "newer" in held.text("li.card")
