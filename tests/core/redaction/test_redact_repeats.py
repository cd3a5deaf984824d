"""A value that is redacted in one place of a document is redacted in all of them."""

from __future__ import annotations

import time

from wenyuan.core.model import Block, Document
from wenyuan.core.redaction.policy import KINDS, RedactionPolicy
from wenyuan.core.redaction.redact import Redaction, redact

DROP = RedactionPolicy(level="restricted", actions=dict.fromkeys(KINDS, "drop"))


def test_a_value_is_gone_wherever_it_stands() -> None:
    """Before and after the place where a word told it, in other spacing, in the title, in facets and cells."""
    text = "G53316444 arrived; Anna Kowalska too.\n护照号 G53316444，签发人：司马光辉\n后来司马光辉说 G 5331 6444。\nReceived by: Anna Kowalska"
    document = Document(
        uri="file:///a.md",
        title="G53316444",
        text=text,
        blocks=(Block(kind="paragraph", start=0, end=len(text), label="Anna Kowalska"),),
        sha256="0",
        notes=("司马光辉",),
        metadata={"tag": "g53316444"},
    )
    redacted, _ = Redaction(DROP).document(document)
    for value in ("5331", "司马", "Kowalska", "53316444"):
        assert value not in repr((redacted.text, redacted.title, redacted.notes, redacted.metadata, redacted.blocks))
    assert Redaction(DROP).document(redacted) == (redacted, {})


def test_short_values_are_left_to_the_rules() -> None:
    """A Chinese name of two characters is no part of a longer word, and one Latin word is no name elsewhere."""
    assert redact("签发人：高明\n这个办法很高明。\n高明\n", DROP).text == "签发人：⟦姓名⟧\n这个办法很高明。\n⟦姓名⟧\n"
    assert "Mark the page" in redact("Name: Mark\nMark the page", DROP).text
    assert redact("护照 G53316444，型号 AG533164441", DROP).text == "护照 ⟦护照⟧，型号 AG533164441"


def test_time_is_linear_in_repeats() -> None:
    """Many values and many places that begin like one of them cost a bounded time for a character."""

    def seconds(count: int) -> float:
        values = "".join(f"护照号 G{10_000_000 + number}\n" for number in range(count)) + "g g1 g10 " * count
        begun = time.process_time()
        redact(values, DROP)
        return time.process_time() - begun

    for _ in range(3):
        short, long = seconds(250), seconds(2_000)
        if long < min(3.0, 24 * short):
            return
    raise AssertionError((short, long))
