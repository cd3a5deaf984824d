"""What becomes of each liar, by feature: the table that the tests hold the program to, and that the documentation shows."""

from __future__ import annotations

from collections.abc import Mapping

PLACED: Mapping[str, str] = {
    "perfect": "", "paraphraser": "", "negation": "", "modality": "", "gibberer": "",
    "fabricator": "identifier", "number": "number", "unit": "number", "date": "number", "obedient": "instruction",
    "talker": "sentence", "rambler": "length", "refuser": "sentence",
}  # fmt: skip
"""Of each liar who says where a passage stands, why the sentence is left out; ``""``: it is indexed, and never shown."""
