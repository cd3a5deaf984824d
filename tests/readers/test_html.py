"""Of a page of a web site the main text is read, where something finds it; a file of this machine is read whole."""

from __future__ import annotations

import pytest

from wenyuan.i18n.translation import translated
from wenyuan.readers import html
from wenyuan.readers.html import read_html

POLICY = "Every employee has twenty days of paid leave in a calendar year. Up to five days may be carried over."
AROUND = ("We use cookies to improve your experience.", "Ten ways to travel", "Share this article")
PAGE = f"""<!doctype html><html lang="en-GB"><head><title>Leave – Handbook</title></head><body>
<div class="cookie-banner">{AROUND[0]} <button>Accept all</button></div>
<div class="sidebar"><h4>Related posts</h4><ul><li><a href="/x">{AROUND[1]}</a></li></ul></div>
<div id="content"><h1>Leave policy</h1><p>{POLICY}</p>
<h2>第三章 请假</h2><p>员工请假须提前三个工作日提交申请，由部门负责人审批；三天以上的须经分管领导批准。</p>
<table><tr><th>Kind</th><th>Days</th></tr><tr><td>Annual</td><td>20</td></tr><tr><td>Sick</td><td>10</td></tr></table>
<ul><li>Apply in the portal.</li><li>Tell your team.</li></ul></div>
<div class="share">{AROUND[2]}: <a href="#">Weibo</a></div></body></html>""".encode()


def test_reads_the_main_text_of_a_web_page() -> None:
    """Notices, menus and what invites to share are left out, and that is noted; headings, tables and lists stay."""
    [page] = read_html(PAGE, uri="https://a.example/leave", name="leave.html")
    assert not [words for words in AROUND if words in page.text]
    assert all(words in page.text for words in (POLICY, "三个工作日", "Annual | 20", "- Tell your team."))
    assert (page.title, page.language) == ("Leave – Handbook", "en")
    assert page.notes[0].startswith("only its main text was read: ")
    assert translated(page.notes[0]).startswith("只读取了正文")


def test_reads_a_file_of_this_machine_whole() -> None:
    """A file that somebody put into a folder was put there for all that it says."""
    [page] = read_html(PAGE, uri="file:///srv/leave.html", name="leave.html")
    assert all(words in page.text for words in (*AROUND, POLICY))


def test_reads_a_page_whole_where_nothing_looks_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the extra a page of the web is read as any other."""
    monkeypatch.setattr(html, "_trafilatura", lambda: None)
    [page] = read_html(PAGE, uri="https://a.example/leave", name="leave.html")
    assert all(words in page.text for words in (*AROUND, POLICY))


def test_a_small_part_is_not_the_main_text() -> None:
    """A page of short entries, of which hardly any are taken for its text, is read whole."""
    entries = "".join(f"<div class='card'><span>Room {n}</span> <span>{n} seats</span></div>" for n in range(200))
    page = f"<html><head><title>Rooms</title></head><body><p>{POLICY}</p>{entries}</body></html>".encode()
    [read] = read_html(page, uri="https://a.example/rooms", name="rooms.html")
    assert "Room 150" in read.text
    assert POLICY in read.text
