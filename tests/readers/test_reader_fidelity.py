"""What was read of a file is counted against what it holds."""

from __future__ import annotations

from wenyuan.core.model import Document
from wenyuan.readers.assemble import Original, Piece, assemble
from wenyuan.readers.text import measured


def made(*pieces: Piece) -> Document:
    return assemble(pieces, Original(b"x", "file:///a.x", "a.x"))


def test_another_order_loses_nothing() -> None:
    """White space, hidden characters and the order do not count; each character does as often as it stands there."""
    document = measured(
        made(Piece("paragraph", "第二条 退费"), Piece("paragraph", "Article 1")), "Article\u200b 1\n第二条退费"
    )
    assert document.fidelity
    assert (document.fidelity.lost, document.fidelity.invented, document.fidelity.kept) == (0, 0, 1.0)
    assert document.fidelity.source_characters == document.fidelity.read_characters == 13


def test_what_is_missing_and_what_is_new_are_told_apart() -> None:
    """A footer that was not read is lost; a word that the file does not have is invented."""
    fidelity = measured(made(Piece("paragraph", "正文 new")), ["正文", "页脚 1"]).fidelity
    assert fidelity
    assert (fidelity.lost, fidelity.invented, fidelity.kept) == (3, 3, 0.4)


def test_bars_marks_and_what_is_added_on_purpose_are_not_invented() -> None:
    """A table's bars, a list's marks and an automatic number stand in no file."""
    document = made(
        Piece("clause", "第一条 总则"), Piece("table", "甲 | –\n1 | 2"), Piece("list", "- one\n  2. two"),
    )  # fmt: skip
    fidelity = measured(document, "总则 甲12 one two", added="第一条").fidelity
    assert fidelity
    assert (fidelity.lost, fidelity.invented, fidelity.tables) == (0, 0, 1)


def test_without_another_way_to_count_nothing_is_claimed() -> None:
    """Where the file's own text cannot be counted apart, no share of it is told."""
    fidelity = measured(made(Piece("paragraph", "abc")), None, pages=2, pictures=1, warnings=["w"]).fidelity
    assert fidelity
    assert (fidelity.source_characters, fidelity.kept, fidelity.read_characters) == (None, None, 3)
    assert (fidelity.pages, fidelity.pictures, fidelity.warnings) == (2, 1, ("w",))
