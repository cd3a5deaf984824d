"""What a collection is like as far as somebody may see it."""

from __future__ import annotations

from collections.abc import Mapping

from wenyuan.core.hidden_documents import HiddenDocuments
from wenyuan.core.ports import Encoder, Engine
from wenyuan.core.scoring.formula import BRIDGE
from wenyuan.core.scoring.law_factor import LAW
from wenyuan.core.text.analysis import OWN

WITHIN_SIGHT = "within_sight"
"""Among the recorded traits of an answer: 1 where its statistics left out what the caller may not see."""
BOTH = 0.05
"""The share of passages that the rarer language has at least in a library of two."""
FIRST_ARTICLES = tuple(f"{OWN}article:{number}" for number in range(1, 6))
"""Terms of which every law has some."""


class SightTraits:
    """Languages and statutes of what is left without the documents that a caller may not see; see `core.scoring.formula.Traits`."""

    def __init__(self, engine: Engine, encoder: Encoder | None) -> None:
        self._engine, self._encoder = engine, encoder

    def of(self, uncounted: HiddenDocuments) -> Mapping[str, float]:
        """The traits that depend on it.

        Raises:
            EngineError: the engine cannot count.
        """
        chinese = self._engine.chinese_share(uncounted=uncounted)
        both = self._encoder is not None and min(chinese, 1.0 - chinese) >= BOTH
        law = LAW if self._engine.information(FIRST_ARTICLES, uncounted=uncounted) else 0.0
        return {"bridge": BRIDGE if both else 0.0, "law": law, WITHIN_SIGHT: 1.0}
