"""A line of millions of letters is cut into passages with memory in proportion to it, and counted as if it were looked at whole."""

from __future__ import annotations

import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wenyuan.core.model import Block, Document
from wenyuan.core.text import token_meter
from wenyuan.core.text.chunking import chunk
from wenyuan.core.text.token_meter import Meter

LINES = {
    "words": "complaints are answered within days by the owner ",
    "letters": "x",
    "Chinese": "投诉须在二十四小时内由责任部门答复",
    "sentences": "Up to five days may be carried over. ",
    "numbers": "12345678901 ",
}


def document(text: str) -> Document:
    return Document(
        uri="file:///a.txt",
        title="a",
        text=text,
        sha256="",
        media_type="text/plain",
        blocks=(Block(kind="paragraph", start=0, end=len(text)),),
    )


def peak(text: str) -> int:
    """Bytes that cutting a text takes at most, beside the text."""
    tracemalloc.start()
    try:
        chunk(document(text))
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("line", LINES.values(), ids=LINES)
def test_memory_grows_less_than_ten_times_as_fast_as_the_line(line: str) -> None:
    """What is known of each letter and word is held for a part of the line alone."""
    small, large = (peak(line * (size // len(line))) for size in (400_000, 800_000))
    assert large - small < 10 * 400_000


@pytest.mark.parametrize("line", LINES.values(), ids=LINES)
def test_no_letter_of_a_long_line_is_lost_and_no_passage_is_too_long(line: str) -> None:
    """The pieces of a line that is looked at in parts are its passages, in order."""
    text = (line * (450_000 // len(line))).strip()
    drafts = chunk(document(text))
    pieces = [text[draft.start : draft.end] for draft in drafts]
    assert "".join("".join(piece.split()) for piece in pieces) == "".join(text.split())
    assert max(Meter(piece)(0, len(piece)) for piece in pieces) <= 40_000


@given(st.text("ab1 二。😀é", max_size=60), st.data())
def test_a_text_in_windows_counts_as_a_whole(text: str, data: st.DataObject) -> None:
    """Whatever windows a long text is looked at in, each of its parts costs the same, and reaches as far."""
    start = data.draw(st.integers(0, max(0, len(text) - 1)))
    end = data.draw(st.integers(start, len(text)))
    whole, parts = Meter(text), Meter(text)
    told = whole(start, end), whole.reach(start, 900) if text else 0
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(token_meter, "_WINDOW", 5)
        patch.setattr(token_meter, "_HELD", 2)
        assert (parts(start, end), parts.reach(start, 900) if text else 0) == told
