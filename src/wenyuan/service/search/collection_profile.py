"""What scores of a library's own passages look like."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from wenyuan.core.learning_records import KeptTuning
from wenyuan.core.ports import Encoder
from wenyuan.core.scoring.adapt import Tuning
from wenyuan.core.scoring.formula import Traits
from wenyuan.core.scoring.fusion import Fusion
from wenyuan.core.scoring.probability import Curve


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CollectionProfile:
    """Properties of a library at one change that scoring depends on; read once per request.

    Attributes:
        traits: Languages, laws and labels.
        curve: How scores become probabilities.
        fusion: How the scores of the legs become one.
        tuning: What was learned from judged questions; None for nothing.
        copies: Copies of passages are given, too, as answers of a former version did.
        recorded: All of this that an answer's record holds, by name.
    """

    traits: Traits
    curve: Curve
    fusion: Fusion
    tuning: Tuning | None
    copies: bool
    recorded: Mapping[str, float]


def fits(tuning: Tuning | KeptTuning, encoder: Encoder | None) -> bool:
    """Whether a tuning was learned with this encoder; vectors of different encoders are not comparable."""
    return encoder is not None and tuning.encoder in ("", encoder.fingerprint.key)
