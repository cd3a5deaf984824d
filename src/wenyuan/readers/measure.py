"""How much of a file its document holds: characters counted on both sides."""

from __future__ import annotations

from collections import Counter
from typing import Any

from wenyuan.core.fidelity import Fidelity
from wenyuan.readers.assemble import clean


def characters(text: str) -> Counter[str]:
    """How often each visible character stands in a text, white space apart."""
    counts = Counter(clean(text)[0])
    return Counter({character: count for character, count in counts.items() if not character.isspace()})


def measured(text: str, own: str, *, added: str = "", **told: Any) -> Fidelity:
    """The record of a document, its characters compared with the file's own, as multisets.

    Args:
        text: Of the document.
        own: The file's own text, in any order.
        added: What stands in `text` besides: the signs between cells, what is repeated in merged ones.
        told: The other attributes of `Fidelity`.
    """
    source, read = characters(own), characters(text)
    proper = read - characters(added)
    return Fidelity(
        source_characters=source.total(),
        read_characters=read.total(),
        lost=(source - proper).total(),
        invented=(proper - source).total(),
        **told,
    )
