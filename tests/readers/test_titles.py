"""Titles are plain text, whatever the format that they are written in."""

from __future__ import annotations

import pytest

from wenyuan.readers.assemble import plain_title
from wenyuan.readers.selection import read_guarded


@pytest.mark.parametrize(
    ("name", "reader", "content", "title"),
    [
        ("leave.md", "markdown:read_markdown", '---\ntitle: "请<em>假</em> **制度** &amp; `附则`"\n---\n\n# 一\n\n正文一段。\n', "请假 制度 & 附则"),
        ("leave.html", "html:read_html", "<html><head><title>A &lt;em&gt;new&lt;/em&gt; rule</title></head><body><p>Words of the rule stand here.</p></body></html>", "A new rule"),
        ("faq.jsonl", "jsonl:read_jsonl", '{"title": "Leave <b>and</b> <i>pay</i>", "text": "Ten days a year, paid in full."}\n', "Leave and pay"),
    ],
)  # fmt: skip
def test_a_title_has_no_markup(name: str, reader: str, content: str, title: str) -> None:
    """Front matter, the title of a page, a record: tags and emphasis are how words are set, not words."""
    (document,) = read_guarded(content.encode(), uri=f"file:///{name}", name=name, reader=f"wenyuan.readers.{reader}")
    assert document.title == title


@pytest.mark.parametrize(
    "title", ["<em>: The Emphasis element", "x < y and y > z", "C* and a_b_c", "Vector<T> of <T>"]
)
def test_what_only_looks_like_markup_stays(title: str) -> None:
    """Tags that are never closed are what the page is about."""
    assert plain_title(title) == title
