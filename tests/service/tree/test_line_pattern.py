"""Patterns that callers give."""

from __future__ import annotations

import pytest

from wenyuan.core.errors import InvalidRequest
from wenyuan.service.tree.line_pattern import MOST_PATTERN, line_pattern, name_pattern


@pytest.mark.parametrize(
    "pattern", ["(a+)+$", "(a|aa)*b", "(.*)*x", "([a-z]+)*1", "(a?){60}a{60}", "(x+x+)+y"], ids=str
)
def test_no_expression_takes_longer_than_the_line_is_long(pattern: str) -> None:
    """What holds a backtracking matcher for ever says no at once."""
    find = line_pattern(pattern, regex=True, case=False)
    assert find("a" * 200_000 + "!") is None or pattern == "(a?){60}a{60}"


@pytest.mark.parametrize("pattern", ["(", "a{1001}", "(?<=a)b", "\\1", "", "x" * (MOST_PATTERN + 1), "(?i"], ids=repr)
def test_what_cannot_be_matched_is_refused(pattern: str) -> None:
    """With the reason, before anything is read."""
    with pytest.raises(InvalidRequest):
        line_pattern(pattern, regex=True, case=False)


def test_a_text_stands_for_itself() -> None:
    """Signs of expressions are signs; width and case count as told."""
    assert line_pattern("a.b(c)", regex=False, case=False)("xx A.B(C)") == (3, 9)
    assert line_pattern("a.b", regex=False, case=False)("axb") is None
    assert line_pattern("Ab", regex=False, case=True)("xAB ab") is None
    assert line_pattern("第13条", regex=False, case=False)("依第１３条") is not None
    assert line_pattern("十三", regex=True, case=False)("第十三条") == (1, 3)


@pytest.mark.parametrize(
    ("form", "fits", "misses"),
    [
        ("*.md", ["/s/a.md", "/s/x/b.md"], ["/s/a.md.txt", "/s/amd"]),
        ("leave", ["/s/annual-Leave.md", "Leave policy"], ["/s/live.md"]),
        ("2025/*", ["/s/2025/a"], ["/s/2025/x/a", "/s/12025/a"]),
        ("2025/**", ["/s/2025/a", "/s/2025/x/a"], ["/s/2024/a"]),
        ("?.md", ["/s/a.md"], ["/s/ab.md"]),
        ("（试行）", ["管理办法(试行)"], ["管理办法"]),
        ("a*b*c*d*e*f*g*h*i*j*k", ["/s/abcdefghijk"], ["/s/" + "abcdefghij" * 2_000]),
    ],
)
def test_names_have_forms(form: str, fits: list[str], misses: list[str]) -> None:
    """Stars within a name or across them; what has none is looked for anywhere."""
    has = name_pattern(form)
    assert [one for one in fits if not has(one)] == []
    assert [one for one in misses if has(one)] == []
