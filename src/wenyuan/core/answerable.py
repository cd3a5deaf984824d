"""Whether what may be searched holds an answer at all: the probability that the best passage is more than the nearest one.

    z = 11.6 · nearness + 5.1 · keyword − .52 · ln(passages) − 3.8,   P = 1 / (1 + e^−z)

``nearness`` is a cosine that no collection bends: the query less what all questions have in common, to the best passage less
what all passages in its language have in common (the means of some forty texts about everything, see `service.general`).
``keyword`` is that passage's keyword score. ``passages``, at most `MOST`, is how many the vector leg found in scope: the best
of a hundred passages is nearer to any question than the best of five. So nothing is measured of a library, and P is as good in
a filter as in all of it.

The numbers are a logistic regression over questions of 16 judged collections, of other collections, of other documents, with
their answers taken out, and nonsense; docs/explanation/scoring.md says what it does for collections that are left out
(`python bench/transfer.py`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

__all__ = ["ABSTAIN", "MEASURED_WITH", "MODELS", "MOST", "VERSION", "Model", "Standing"]

VERSION = 1
"""Changes with the form or its numbers; recorded with every answer."""

ABSTAIN = {"lenient": 0.06, "normal": 0.09, "strict": 0.2}
"""The least probability that there is an answer, by `search.abstain`. What each keeps and refuses is in
docs/explanation/scoring.md."""

MOST = 100
"""Passages in scope beyond which more of them change nothing."""

MEASURED_WITH = "multilingual-e5-small"
"""The encoder, by the id of its fingerprint, whose vectors the numbers below are for; with others they were not measured."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """How the best passage stands to a query.

    Attributes:
        keyword: Its keyword score, 0..1, in the wording of the query that fits it best.
        nearness: Its cosine without what all questions and all passages have in common, −1..1; 0 without an encoder.
        passages: How many were found in scope, as far as that is counted; at least 1.
        across: It is in another language than the query: that it shares no words says nothing.
        strange: The query looks like no text.
    """

    keyword: float
    nearness: float = 0.0
    passages: int = 1
    across: bool = False
    strange: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """What each of these is worth, in logits."""

    nearness: float = 0.0
    keyword: float
    passages: float = 0.0
    across: float = 0.0
    strange: float = -2.5
    intercept: float

    def probability(self, standing: Standing) -> float:
        """That the scope holds an answer, 0..1."""
        logit = (
            self.intercept
            + self.nearness * standing.nearness
            + self.keyword * standing.keyword
            + self.passages * math.log(min(MOST, max(1, standing.passages)))
            + self.across * standing.across
            + self.strange * standing.strange
        )
        return 1.0 / (1.0 + math.exp(-logit))


MODELS: Mapping[str, Model] = {
    "hybrid": Model(nearness=11.6, keyword=5.1, passages=-0.52, across=1.4, intercept=-3.8),
    "keyword-only": Model(keyword=9.3, intercept=-3.3),
}
"""By mode of the library. With an encoder that was not measured, the likelier of the two counts."""
