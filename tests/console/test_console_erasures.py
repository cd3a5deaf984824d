"""The console's page of erasures: a plan first, then the erasure, its certificate and holds; in both languages."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from console_door import Browser, console
from governed_door import key
from wenyuan.core.model import Source

NAME = "李慕白"
FORM = {"kind": "person", "values": f"{NAME}\r\n13822223333", "reference": "request 7", "do": "plan"}


@pytest.fixture
def place(tmp_path: Path) -> Iterator[tuple[str, Any]]:
    with console(tmp_path) as (url, library):
        (tmp_path / "staff").mkdir()
        (tmp_path / "staff" / "a.md").write_text(f"# 值班\n\n{NAME}值夜班，电话 13822223333。\n", "utf-8")
        library.add(Source(source_id="staff", path=str(tmp_path / "staff")))
        yield url, library


def test_a_plan_is_shown_before_anything_is_erased(place: tuple[str, Any]) -> None:
    """The plan has counts by place and source, and no text of a document; without the tick nothing is erased."""
    seen = Browser(place[0]).post("/console/erasures", FORM)
    assert seen.status == 200
    assert "staff: 1 document" in seen.text("[role=status]")
    assert "值夜班" not in seen.text("[role=status]")
    Browser(place[0]).post("/console/erasures", {**FORM, "do": "erase"})
    assert place[1].erasures.list_all() == []
    chinese = Browser(place[0], "zh").post("/console/erasures", FORM)
    assert "将抹除的内容" in chinese.text("[role=status] h2")


def test_an_erasure_is_done_and_checked(place: tuple[str, Any]) -> None:
    """Confirmed, it is erased; the page lists it, and checks its certificate."""
    browser = Browser(place[0])
    seen = browser.post("/console/erasures", {**FORM, "do": "erase", "sure": "yes"})
    (done,) = place[1].erasures.list_all()
    assert done.state == "done"
    assert done.erasure_id in seen.text("[role=status]")
    assert not any(NAME in one.text for one in place[1].search("值夜班").passages.values())
    checked = browser.post(f"/console/erasures/{done.erasure_id}", {"do": "verify"})
    assert checked.count("li.card [role=status] .state.ok") == 4
    assert browser.get("/console/erasures").count("li.card") == 1


def test_a_hold_is_set_and_lifted(place: tuple[str, Any]) -> None:
    """A hold forbids the erasure, as the plan says; lifted, it forbids nothing."""
    browser = Browser(place[0])
    held = {"kind": "source", "source_id": "staff", "reference": "case 9", "do": "hold"}
    assert browser.post("/console/erasures", held).location == "/console/erasures"
    seen = browser.post("/console/erasures", FORM)
    assert "case 9" in seen.text("[role=status]")
    assert seen.count("button[value=erase]") == 0
    (hold,) = place[1].erasures.holds()
    assert browser.post(f"/console/holds/{hold.hold_id}", {}).location == "/console/erasures"
    assert place[1].erasures.holds() == []


def test_what_is_too_short_is_refused(place: tuple[str, Any]) -> None:
    """A name of one character is refused with the reason, and what was typed stays."""
    seen = Browser(place[0]).post("/console/erasures", {**FORM, "values": "李"})
    assert seen.status == 400
    assert "too short" in seen.text("main")


def test_a_key_without_the_right_sees_no_erasures(tmp_path: Path) -> None:
    """The page is for who may erase; the page of the service's state leads there only then."""
    with console(tmp_path, needs_keys=True) as (url, library):
        browser = Browser(url)
        browser.sign_in(key(library, "search", "registry", "audit"))
        assert browser.get("/console/erasures").status == 403
        assert browser.get("/console/health").count('a[href="/console/erasures"]') == 0
        browser = Browser(url)
        browser.sign_in(key(library, "search", "erase"))
        assert browser.get("/console/erasures").status == 200
        assert browser.get("/console/health").count('a[href="/console/erasures"]') == 1
