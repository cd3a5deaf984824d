"""What kinds of difference there are between a claim and a sentence."""

from __future__ import annotations

from typing import Literal

DifferenceKind = Literal[
    "number_changed", "unit_changed", "date_changed", "negation_changed", "modality_changed", "relation_changed"
]
