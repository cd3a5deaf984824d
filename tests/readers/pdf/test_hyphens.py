"""A word that a printed line's end parts is one word; a compound keeps its hyphen."""

from __future__ import annotations

import pytest

from wenyuan.readers.pdf.page import PrintedLine
from wenyuan.readers.pdf.paragraphs import Words, joined


@pytest.mark.parametrize(
    ("lines", "elsewhere", "text"),
    [
        (("the infor-", "mation desk"), (), "the information desk"),
        (("the infor-", "mation desk"), ("an infor-mation", "information"), "the information desk"),
        (("a well-", "known fact"), ("a well-known one",), "a well-known fact"),
        (("a well-", "known fact"), ("a well-meant word", "known to all"), "a well-known fact"),
        (("carried for-", "ward to"), ("asked for more", "and so on"), "carried forward to"),
        (("state-of-", "the-art pumps"), (), "state-of-the-art pumps"),
        (("die Überprü-", "fung der"), (), "die Überprüfung der"),
        (("сведения инфор-", "мации и"), (), "сведения информации и"),
        (("le porte-", "fenêtre bleu"), ("une porte-fenêtre",), "le porte-fenêtre bleu"),
        (("a long\u2010", "term plan"), ("its long\u2010term aim",), "a long\u2010term plan"),
        (("the soft\u00ad", "ware of"), ("soft-ware",), "the software of"),
        (("pages 10-", "12 of"), (), "pages 10-12 of"),
    ],
)
def test_a_hyphen_at_a_lines_end_is_decided_by_the_rest_of_the_document(
    lines: tuple[str, ...], elsewhere: tuple[str, ...], text: str
) -> None:
    """By the word as one, the word with its hyphen, and compounds with the same beginning, in any script with letters."""
    printed = [PrintedLine(line, 1) for line in lines]
    assert joined(printed, Words([*lines, *elsewhere])).text == text
