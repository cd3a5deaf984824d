"""Reads the texts of `redaction_texts`: their values filled in, and where they stand."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator

from redaction import written
from redaction_texts import DECOYS, TEXTS
from redaction_values import value


def items(draw: random.Random) -> Iterator[tuple[str, str, list[tuple[int, int]]]]:
    """Kind, text, and the spans of its values."""
    for kind, lines in TEXTS.items():
        for line in lines.strip().splitlines():
            yield kind, *_filled(line.replace("\\n", "\n"), draw)


def _filled(line: str, draw: random.Random) -> tuple[str, list[tuple[int, int]]]:
    text, spans = "", []
    for place, marked in re.findall(r"([^«]*)(?:«([^»]*)»)?", line):
        made = re.match(r"@(cn_id|bank_card|cn_uscc)(?::(\w+))?\Z", marked)
        said = written(value(draw, made[1]), made[2] or "as is") if made else marked
        text += place
        if said:
            spans.append((len(text), len(text) + len(said)))
        text += said
    return text, spans


def decoys() -> list[str]:
    """Texts without a value."""
    return DECOYS.strip().splitlines()
