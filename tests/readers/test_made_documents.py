"""Made documents whose text is known, from easy to hard: what is read of them is measured as docs/fidelity.md tells."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

_BENCH = Path(__file__).resolve().parents[2] / "bench"


@pytest.fixture(scope="module")
def measuring() -> Any:
    sys.path.insert(0, str(_BENCH))
    try:
        yield import_module("fidelity")
    finally:
        sys.path.remove(str(_BENCH))


def test_made_documents_are_read_whole_in_order_and_with_their_tables(measuring: Any) -> None:
    """At most two characters in a thousand are wrong, each cell is at its place, and no more than a word in a hundred is lost."""
    documents = measuring.all_made()
    assert len({made.suffix for made in documents}) > 10
    for made in documents:
        text, _ = measuring.ours(made)
        tables = [unit for unit in made.units if not isinstance(unit, str)]
        about = f"{made.kind}, {made.hard}"
        own = text.removeprefix(f"{made.apart[0]}\n\n") if made.apart else text  # a running head is kept once
        assert measuring.error_rate(made, own) <= 0.002, about
        assert measuring.cells(tables, text) in (None, 1.0), about
        assert (measuring.tau(made, text) or 1.0) == 1.0, about
        assert measuring.lost(made, text) <= 0.01, about


def test_the_measures_see_what_is_wrong(measuring: Any) -> None:
    """Letters, order, cells and words that are not as they should be each show in their figure."""
    made = measuring.Made(
        "x", "", ".txt", b"", ["One two three four five.", "Six seven eight nine ten.", [["a", "7"], ["b", "8"]]]
    )
    right = "One two three four five.\n\nSix seven eight nine ten.\n\na | 7\nb | 8"
    turned = "Six seven eight nine ten.\n\nOne two three four five.\n\na | 8\nb | 7"
    tables = [made.units[2]]
    assert (measuring.error_rate(made, right), measuring.cells(tables, right), measuring.tau(made, right)) == (
        0,
        1,
        1,
    )
    assert measuring.error_rate(made, right.replace("three", "tree")) == pytest.approx(1 / 45, abs=0.01)
    assert measuring.error_rate(made, turned) > 0.5
    assert measuring.cells(tables, turned) == 0.5
    assert measuring.tau(made, turned) < 0
    assert measuring.lost(made, right.replace("eight nine", "")) == pytest.approx(2 / 14)
