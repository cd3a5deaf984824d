"""The tutorials do what they say: every command of every page is run, and its output compared."""

from __future__ import annotations

from pathlib import Path

import pytest

from tutorial_steps import Step, followed, is_shown, steps

FOLDER = Path(__file__).parents[2] / "docs" / "tutorials"
ELSEWHERE = {"langchain"}
"""Followed where its framework is installed: tests/integrations/langchain."""

PAGES = sorted(page for page in FOLDER.glob("*.md") if page.name.partition(".")[0] not in ELSEWHERE)
LANG = {True: "zh_CN.UTF-8", False: "C.UTF-8"}


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_tutorial_can_be_followed(page: Path, tmp_path: Path) -> None:
    """In an empty folder, in the language of the page."""
    assert followed(page, tmp_path, LANG=LANG[page.name.endswith(".zh.md")], PYTHONUTF8="1") >= 5


@pytest.mark.parametrize("name", sorted({page.name.partition(".")[0] for page in FOLDER.glob("*.md")}))
def test_both_languages_take_the_same_steps(name: str) -> None:
    """A page and its Chinese one run the same programs, in the same order."""
    english, chinese = (
        [" ".join(step.command.split()[:2]) for step in steps((FOLDER / f"{name}{end}.md").read_text("utf-8"))]
        for end in ("", ".zh")
    )
    assert english == chinese


@pytest.mark.parametrize(
    ("shown", "printed", "same"),
    [
        (("a",), "a\n", True),
        (("a", "…", "d"), "a\nb\nc\nd\n", True),
        (("a", "…", "d"), "a\nd\n", True),
        (("took … ms",), "took 12 ms\n", True),
        (("took … ms",), "took 12 s\n", False),
        (("a",), "a\nb\n", False),
        (("a.b",), "axb\n", False),
        ((), "whatever\n", True),
    ],
)
def test_what_is_shown_is_compared(shown: tuple[str, ...], printed: str, same: bool) -> None:
    """Letter by letter, but for what is left out and for white space."""
    assert is_shown(Step("true", shown), printed) is same
