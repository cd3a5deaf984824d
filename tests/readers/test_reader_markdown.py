"""Markdown files."""

from datetime import date

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from wenyuan.core.errors import DocumentRejected
from wenyuan.core.text.chunking import chunk
from wenyuan.readers.markdown import read_markdown

PAGE = """---
title: Travel guide
effective_from: 2024-01-01
effective_until: "2025年12月31日"
language: en
keywords: [travel, leave]
version: 3
sidebar:
  navigation: travel
---
Read this first.

# Booking `flights` {#book}

<!-- secret
note --> Use the **desk**.

| Who | Where |
|-----|-------|
| All | Desk  |

- one
- two

```sh
# no heading <!-- kept -->
```

Setext
------

    indented code

> quoted

[link]: https://example.org
"""


def _read(text: str, name: str = "dir/guide.md"):
    (document,) = read_markdown(text.encode(), uri="file:///dir/guide.md", name=name)
    return document


def _outline(text: str):
    return [(b.kind, b.level, b.label) for b in _read(text).blocks if b.level]


def test_front_matter_becomes_fields():
    """Front matter gives title, dates, language and facets, and is no part of the text."""
    document = _read(PAGE)
    assert (document.title, document.language) == ("Travel guide", "en")
    assert (document.effective_from, document.effective_until) == (date(2024, 1, 1), date(2025, 12, 31))
    assert document.metadata == {"keywords": "travel, leave", "version": 3}
    assert document.text.startswith("Read this first.")


def test_blocks_by_kind():
    """Headings, paragraphs, tables, lists and code are told apart; link definitions are covered too."""
    document = _read(PAGE)
    assert [(b.kind, b.level, b.label) for b in document.blocks] == [
        ("paragraph", 0, ""), ("heading", 1, "Booking flights"), ("paragraph", 0, ""), ("table", 0, ""),
        ("list", 0, ""), ("code", 0, ""), ("heading", 2, "Setext"), ("code", 0, ""), ("paragraph", 0, ""),
        ("paragraph", 0, ""),
    ]  # fmt: skip


def test_lines_are_those_of_the_file():
    """Each block names its line in the file, front matter and comments counted."""
    document = _read(PAGE)
    lines = PAGE.split("\n")
    for block in document.blocks[:2] + document.blocks[3:]:
        first = document.text[block.start : block.end].split("\n")[0]
        assert first in lines[block.line - 1]


def test_comments_are_removed_outside_code():
    """HTML and template comments vanish with a note; what stands in code is text."""
    document = _read(PAGE)
    assert "secret" not in document.text
    assert "<!-- kept -->" in document.text
    assert "removed 1 comment" in document.notes
    page = _read(
        "a {% comment %}x{% endcomment %}b `<!-- c -->` <!--d-->\n\n~~~\n{% comment %}y{% endcomment %}\n~~~"
    )
    assert page.text == "a b `<!-- c -->` \n\n~~~\n{% comment %}y{% endcomment %}\n~~~"
    assert _read("open <!-- end").text == "open <!-- end"


def test_title_falls_back():
    """Without front matter the first level-1 heading is the title, without one the file's stem."""
    assert _read("intro\n\n# *投诉* 办法\n").title == "投诉 办法"
    assert _read("## only this\n").title == "guide"
    assert _read("手册\n====\n\n第一部分 总则\n\n内容。\n").title == "手册"
    parts = _read("员工手册\n\n第一部分 总则\n\n内容甲。\n\n第二部分 考勤\n\n内容乙。\n")
    assert parts.title == "guide"  # a part is no title of the whole
    assert [c.headings for c in chunk(parts) if "内容" in parts.text[c.start : c.end]] == [
        ("第一部分 总则",),
        ("第二部分 考勤",),
    ]


def test_clauses_in_paragraphs():
    """Articles in paragraphs become clauses below the heading they stand under."""
    text = "# 法\n\n## 第一章　总　则\n\n第一条 甲。\n\n乙。\n\n**第二条**　丙。\n第三条　丁。\n\n第三条规定的戊。"
    assert _outline(text) == [
        ("heading", 1, "法"), ("heading", 2, "第一章 总 则"), ("clause", 7, "第一条"), ("clause", 7, "第二条"),
        ("clause", 7, "第三条"),
    ]  # fmt: skip


def test_chapters_without_marks():
    """A chapter line in plain paragraphs is a heading too, above its articles."""
    kinds = [b[0] for b in _outline("第一章 总则\n\n第一条 甲。\n\n第二章 罚则\n\n第二条 乙。")]
    assert kinds == ["heading", "clause", "heading", "clause"]


def test_clauses_in_lists_and_quotes_stay():
    """A clause number in a list, a quote or code opens nothing."""
    assert _outline("- 第一条 甲。\n\n> 第一条 乙。\n\n```\n第一条 丙。\n```\n") == []


def test_rule_under_a_paragraph_is_no_heading():
    """A long paragraph above a dashed line stays a paragraph."""
    assert _outline("投诉应当受理。" * 30 + "\n---\n") == []


@pytest.mark.parametrize(
    "front",
    ["effective_from: soon", "effective_until: 2024-13-45x", "language: no", "title: [a, b]",
     "effective_from: 2025-01-01\neffective_until: 2024-01-01"],
)  # fmt: skip
def test_wrong_front_matter_is_refused(front):
    """A date or language that is none refuses the document: it would be served at the wrong time."""
    with pytest.raises(DocumentRejected, match="front matter"):
        _read(f"---\n{front}\n---\ntext")


def test_broken_yaml_is_read_line_by_line():
    """Front matter that is not valid YAML still gives its plain entries, with a note."""
    document = _read("---\ntitle: Leave: how to\nkeywords: 'leave'\n---\ntext")
    assert document.title == "Leave: how to"
    assert document.metadata == {"keywords": "leave"}
    assert any("not valid YAML" in note for note in document.notes)


def test_hidden_characters_in_front_matter_vanish():
    """An escape in front matter cannot bring a hidden character back."""
    document = _read('---\ntitle: "A\\u202eB"\nowner: "C\\u200bD"\nratio: .nan\n---\ntext')
    assert (document.title, document.metadata) == ("AB", {"owner": "CD"})


def test_rules_are_no_front_matter():
    """A page that begins with a rule keeps its text."""
    assert _read("---\n\nfirst\n\n---\nsecond").text == "---\n\nfirst\n\n---\nsecond"


@pytest.mark.parametrize("text", ["---\ntitle: x\n---\n", "<!-- nothing -->", " \n"])
def test_no_text_is_refused(text):
    """A page of front matter or comments alone is refused by name."""
    with pytest.raises(DocumentRejected, match="guide"):
        _read(text)


@given(st.text("# -`*<!>ab第一条 \n|~{%}投诉\u3000", min_size=1, max_size=100))
def test_any_markdown_is_covered_and_stable(text):
    """Any Markdown is covered by its blocks, and reading the text again gives the same text and blocks."""
    try:
        document = _read(text)
    except DocumentRejected:
        return
    again = _read(document.text)
    assert (again.text, again.blocks) == (document.text, document.blocks)


@given(st.text("ab第十三条 1.:/@#$%^()-+=|;'\",?。，《》*_`&!<>[]{}~\\\u3000\t", min_size=1, max_size=24))
def test_a_heading_is_called_what_the_parser_of_markup_makes_of_it(heading):
    """A heading without markup is not parsed, and is called the same as if it were."""
    try:
        document = _read(f"# {heading}\n\ntext")
    except DocumentRejected:
        return
    first = document.blocks[0]
    assume(first.kind == "heading")
    source = next(t.content for t in MarkdownIt("commonmark").parse(f"# {heading}\n") if t.type == "inline")
    parsed = MarkdownIt("commonmark").parseInline(source)[0].children or []
    plain = "".join(part.content for part in parsed if part.type != "html_inline")
    assume("{" not in plain)  # attributes are taken off
    assert first.label == " ".join(plain.split())


_COMMENTED = st.sampled_from(["<!--", "-->", "<", "!", "-", "{% comment %}", "{% endcomment %}", "a", "\n"])


@given(st.lists(_COMMENTED, max_size=14).map("".join))
def test_removed_comments_leave_no_comment(text):
    """Removing comments leaves none behind, however they are nested."""
    try:
        document = _read("x " + text)
    except DocumentRejected:
        return
    assert _read(document.text).text == document.text
