"""Reading notebooks of Jupyter: Markdown with its headings, code, and the beginning of what it gave."""

from __future__ import annotations

import json
from typing import Any

import pytest

from wenyuan.core.errors import DocumentRejected
from wenyuan.core.model import Document
from wenyuan.readers.notebook import read_ipynb


def read(*cells: Any) -> Document:
    content = json.dumps({"nbformat": 4, "cells": cells}).encode()
    (document,) = read_ipynb(content, uri="file:///a.ipynb", name="a.ipynb")
    return document


def test_markdown_code_and_what_it_gave() -> None:
    """Text may be one string or lines; pictures are counted; an error is its last line."""
    image = {"output_type": "display_data", "data": {"image/png": "AAAA", "text/plain": ["<Figure>"]}}
    document = read(
        {"cell_type": "markdown", "source": ["# 退费\n", "\n", "- 七日内"]},
        {"cell_type": "code", "source": "print(7)", "outputs": [{"output_type": "stream", "text": ["7\n"]}, image]},
        {
            "cell_type": "code",
            "source": "1/0",
            "outputs": [{"output_type": "error", "ename": "ZeroDivisionError", "evalue": "division by zero"}],
        },
    )
    assert [(block.kind, document.text[block.start : block.end]) for block in document.blocks] == [
        ("heading", "# 退费"), ("list", "- 七日内"), ("code", "print(7)"), ("code", "7"), ("code", "<Figure>"),
        ("code", "1/0"), ("code", "ZeroDivisionError: division by zero"),
    ]  # fmt: skip
    assert document.title == "退费"
    assert document.fidelity and (document.fidelity.lost, document.fidelity.pictures) == (0, 1)


def test_long_outputs_are_cut_and_a_reader_is_told() -> None:
    """Of a log only the beginning is read."""
    document = read(
        {"cell_type": "code", "source": "train()", "outputs": [{"output_type": "stream", "text": "x" * 3_000}]}
    )
    assert document.text.count("x") == 2_000
    assert document.fidelity and document.fidelity.lost == 1_000
    assert document.fidelity.warnings == ("of 1 outputs only the first 2000 characters are read",)


def test_cells_of_earlier_notebooks_and_of_comments_alone() -> None:
    """Version 3 keeps its cells in worksheets; a cell that says nothing is passed over."""
    cells = [
        {"cell_type": "heading", "level": 2, "source": "Fees"},
        {"cell_type": "markdown", "source": "<!-- x -->"},
        {"cell_type": "code", "input": "a"},
    ]
    content = json.dumps({"nbformat": 3, "worksheets": [{"cells": cells}]}).encode()
    (document,) = read_ipynb(content, uri="file:///a.ipynb", name="a.ipynb")
    assert document.text == "## Fees\n\na"


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b'{"a": 1}', "has no cells"),
        (b"[1]", "has no cells"),
        (b"{", "not well-formed JSON"),
        (b"[" * 100_000, "not well-formed JSON"),
        (json.dumps({"cells": [{"cell_type": "code", "source": ["", 7], "outputs": {"a": 1}}]}).encode(), "holds no text"),
        (json.dumps({"cells": [{}] * 20_001}).encode(), "20001 cells; at most 20000"),
    ],
)  # fmt: skip
def test_what_is_no_notebook_is_refused(content: bytes, reason: str) -> None:
    """Other JSON, and what nests without end."""
    with pytest.raises(DocumentRejected, match=reason):
        read_ipynb(content, uri="file:///a.ipynb", name="a.ipynb")
