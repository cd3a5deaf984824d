"""Excerpts of a table keep its header."""

from __future__ import annotations

import pytest

from wenyuan.cli.snippets import snippet
from wenyuan.cli.wrapping import cells
from wenyuan.core.text.bodies import body
from wenyuan.core.text.passage_tables import table_headers
from wenyuan.core.text.summaries import summarize

ZH = "## 期限\n\n下表列明借用期限。\n\n| 类别 | 借用期限 | 押金 |\n|---|---|---|\n" + "\n".join(
    f"| 第{n}类设备（{n}号库房保管，须提前登记并由负责人签字） | {n * 3} 天 | {n * 100} 元 |" for n in range(1, 21)
)
EN = "Loans of equipment\nKind | Term | Deposit\n" + "\n".join(
    f"Kind {n}, kept in store {n} and signed out by its keeper | {n * 3} days | {n * 100} yuan" for n in range(1, 21)
)


@pytest.mark.parametrize(
    ("text", "query", "header", "row"),
    [(ZH, "第17类设备 1700 元", "| 类别 | 借用期限 | 押金 |", "| 51 天 |"), (EN, "kind 17 for 1700 yuan", "Kind | Term | Deposit", "1700 yuan")],
)  # fmt: skip
def test_a_row_stands_behind_the_header_of_its_table(text: str, query: str, header: str, row: str) -> None:
    """In a summary, word for word and within its budget, and in what the command line shows of a passage."""
    summary = summarize(text, query)
    assert summary.elided
    assert header in summary.text
    assert row in summary.text
    assert all(text[a:b] in summary.text for a, b in summary.spans)
    shown = "".join(piece for piece, _ in snippet(body(text, ()), query))
    assert header in shown
    assert row in shown
    assert cells(shown) <= 290


def test_rows_without_their_header_have_none() -> None:
    """The first row of a table that began before the passage is not taken for one; prose with a bar is no table."""
    assert table_headers("\n".join(f"Kind {n} | {n} days" for n in range(1, 6))) == []
    assert table_headers("one | two\nthree lines of prose\nwithout bars 1") == []


def test_a_header_as_long_as_the_summary_is_left_out() -> None:
    """The row that answers comes first: a header that would take half of the room does not displace it."""
    wide = " | ".join(f"column that is described at length {'x' * n}" for n in range(12))
    rows = "\n".join(" | ".join([f"item {n}", *["0"] * 11]) for n in range(1, 60))
    assert "item 41" in summarize(f"{wide}\n{rows}", "item 41").text
