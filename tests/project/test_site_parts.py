"""The documentation site before it is built: its navigation, how pages are staged, and what the check of the site sees."""

from __future__ import annotations

import sys
import tomllib
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import pytest

HOME = Path(__file__).parents[2]
sys.path.insert(0, str(HOME / "scripts"))

import build_site  # noqa: E402
import check_site  # noqa: E402

PAGE = '<article><h1 id="a">A</h1><ul><li>one</li></ul><a href="{link}">there</a></article>'


def test_every_page_has_one_place_in_the_navigation() -> None:
    """Each page of docs, in both languages; what the navigation names is there."""
    pages = [
        page.source for language in ("en", "zh") for _, tab in build_site.tabs(language) for _, s in tab for page in s
    ]
    assert list(check_site.outside(pages, HOME)) == []


def test_names_of_the_navigation_come_in_both_languages() -> None:
    """A tab and a section have a Chinese name, too."""
    text = (HOME / "scripts" / "documentation_site" / "navigation.toml").read_text("utf-8")
    for tab in tomllib.loads(text)["tab"]:
        for one in (tab, *tab.get("section", [])):
            assert any("\u4e00" <= character <= "\u9fff" for character in one["zh"]), one["en"]


@pytest.mark.parametrize(
    ("text", "staged"),
    [
        ("a\n- b\n- c\n", "a\n\n- b\n- c\n"),
        ("- a\n  - b\n\n    c\n- d\n", "- a\n    - b\n\n        c\n\n- d\n"),
        ("1. a\n   ```\n   - x\n   ```\n", "1. a\n    ```\n    - x\n    ```\n"),
        ("f =\n\n    1\n    + 2\n", "f =\n\n    1\n    + 2\n"),
        ("```\na\n- b\n```\n", "```\na\n- b\n```\n"),
    ],
)
def test_lists_are_staged_as_they_are_meant(text: str, staged: str) -> None:
    """Python-Markdown wants a blank line before a list and four spaces a level; code is left alone."""
    assert build_site.spaced(text) == staged


def test_links_go_where_the_pages_go() -> None:
    """To a page of the same language, to one of the other, to a file that is shown, and code is left alone."""
    page = build_site.page_of(Path("docs/connect.zh.md"), "en")
    linked: list[build_site.Page] = []
    text = "[a](rules.zh.md#b) [c](connect.md) [d](../examples/mcp_agent.py) `[e](f.md)`"
    assert build_site.rewritten(text, page, linked, [], twin=False) == (
        '[a](rules.md#b) <a href="../connect.html" hreflang="en">c</a> [d](files/examples/mcp_agent.py.md) `[e](f.md)`'
    )
    assert build_site.rewritten(text, page, [], [], twin=True).startswith("[a](rules.md#b) [c](../connect.md) ")
    assert [one.address for one in linked] == ["zh/rules", "connect", "zh/files/examples/mcp_agent.py"]


@pytest.mark.parametrize(
    ("link", "fault"),
    [
        ("a.html", None),
        ("a.html#a", None),
        ("https://example.org/x#y", None),
        ("b.html", "leads nowhere: b.html"),
        ("../b.html", "leads nowhere: ../b.html"),
        ("a.html#z", "has no such heading: a.html#z"),
        ("javascript:alert(1)", "a link of a strange kind: javascript:alert(1)"),
    ],
)
def test_a_link_that_leads_nowhere_is_seen(tmp_path: Path, link: str, fault: str | None) -> None:
    """A page that there is not, one outside the site, a heading that there is not."""
    file = tmp_path / "site" / "a.html"
    file.parent.mkdir()
    (tmp_path / "b.html").write_text("")
    file.write_text(PAGE.format(link=link), "utf-8")
    assert list(check_site.dead_links(file.parent, file)) == ([fault] if fault else [])


@pytest.mark.parametrize(
    "loads",
    [
        '<script src="https://example.org/x.js"></script>',
        '<link rel="stylesheet" href="//example.org/x.css">',
        '<img src="http://example.org/x.png">',
    ],
)
def test_what_comes_from_another_host_is_seen(tmp_path: Path, loads: str) -> None:
    """Scripts, styles, pictures, and what a style sheet loads; a mere link is none."""
    (tmp_path / "a.html").write_text(f'{loads}<a href="https://example.org/">x</a>', "utf-8")
    (tmp_path / "b.css").write_text("@font-face { src: url('https://example.org/x.woff') }", "utf-8")
    assert len(list(check_site.foreign(tmp_path))) == 2


def test_what_is_lost_on_a_page_is_seen(tmp_path: Path) -> None:
    """An item that the text has and the page has not."""
    (tmp_path / "a.md").write_text("# A\n\n- one\n- two\n", "utf-8")
    (tmp_path / "a.html").write_text(PAGE.format(link="a.html"), "utf-8")
    (fault,) = check_site.not_shown({"a": Path("a.md")}, tmp_path, tmp_path)
    assert fault == "a.md: 2 × li in the text, 1 on the page"


def test_what_a_text_has_is_counted_as_github_reads_it() -> None:
    """Headings, items, rows, blocks of code."""
    counted = check_site.intended("# A\n\n1. b\n   - c\n\n| d |\n|---|\n| e |\n\n```\n# f\n```\n")
    assert counted == Counter(heading=1, li=2, tr=2, pre=1)


def test_chinese_words_that_are_written_wrongly_are_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of the list, with its line; codespell is asked for the English ones where the site is built."""
    wrong = HOME / "scripts" / "documentation_site" / "wrong_words.zh.tsv"
    (tmp_path / "a.md").write_text("# 甲\n\n登陆之后\n", "utf-8")
    quiet = SimpleNamespace(stdout="", stderr="")
    monkeypatch.setattr(check_site.subprocess, "run", lambda *_, **__: quiet)
    assert list(check_site.misspelled([Path("a.md")], tmp_path, wrong, wrong)) == ["a.md:3: 登陆 ==> 登录"]


def test_lines_of_a_chinese_paragraph_are_one() -> None:
    """A browser shows the end of a line as a space; headings, tables, code and Latin words keep theirs."""
    text = "面向智能体，\n检索出去：\n- 第一项，\n  接着说 API\n的用法\n\n# 标题\n正文\n\n```text\n一行\n两行\n```\n\n|甲|\n乙\n"
    assert build_site.joined(text) == (
        "面向智能体，检索出去：\n- 第一项，接着说 API\n的用法\n\n# 标题\n正文\n\n```text\n一行\n两行\n```\n\n|甲|\n乙\n"
    )
