"""The probability that a scope holds an answer to a question at all, from its best passages.

    z = 6.7 · nearness + 29 · apart + 7.8 · margin + 2.7 · coverage − 4.5 · strange − 1.11,   P = 1 / (1 + e^−z)

``nearness`` is a cosine that does not depend on the collection: between the question and the best passage, each centred by the
mean of general texts of its kind and language (`service.search.general_texts`). ``apart`` is how much nearer the best passage
is, by its text and its label together, than general passages about everything are: a question about the weather is nearer to those, and a
passage that is near by chance is seldom called so, too. ``margin`` is how far the
first candidate stands before the second. ``coverage`` is the share of what the question's words say (`content_words`) that
one of the first passages says, in the same words or in neighbouring ones (`word_neighbours`). No statistics of the library are needed, so P holds within a filter and in a library of
twenty files, too.

A code that the question names and that stands nowhere in scope bounds P by `WITHOUT_ITS_CODE`; one that stands there is an
answer's place: P is 1. Where all things that it names stand nowhere in scope, P is `WITHOUT_ITS_THINGS` at most; where a name does, or
where the first passage does not speak of a day or a season that it names, `WITHOUT_ITS_NAME`.

The coefficients are logistic regressions on judged collections large and small, among them small libraries of companies:
their own questions, questions about neighbouring subjects, and questions of other collections. Nineteen in twenty questions
that reach a library are taken to have an answer there. docs/explanation/scoring.md shows the results on collections that
were left out (`python bench/transfer.py`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

VERSION = 7
"""Changes with the form or its numbers; recorded with every answer."""

Strictness = Literal["off", "lenient", "normal", "strict"]
ABSTAIN: Mapping[str, float] = {"off": 0.0, "lenient": 0.6, "normal": 0.75, "strict": 0.88}
"""The least probability that there is an answer, by `search.abstain`, chosen by what each costs: an answer that is withheld
is the worse error. What each keeps and refuses is in docs/explanation/scoring.md."""

WITHOUT_ITS_CODE = 0.3
"""The most that P can be where the scope lacks a code that the question names."""

WITHOUT_ITS_THINGS = 0.6
"""The most that P is said to be where all things that the question names stand nowhere in scope. It refuses nothing, since people call
things by other names than texts do."""

WITHOUT_ITS_NAME = 0.5
"""The same where a word that it writes as a name (*Perth*, *Docker*) stands nowhere in scope, and where it names a day or a season
(端午节, *on Sundays*) that the first passage does not speak of; see `core.text.named_days`."""

MEASURED_WITH = "multilingual-e5-small", "q4-int7-damped"
"""The encoder, by id and quantisation of its fingerprint, whose vectors the numbers below are for; with others, those of other
weights under the same public id included, they were not measured."""

ALONE = 0.03
"""How far the only passage found counts as standing before others."""
ACROSS = 0.3
"""The coverage of a question whose best passage is in another language, which shares no words with it."""
FIRST = 10
"""How many of the first passages the question's words are looked for in."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """The features of a question's best passages from which `Model` computes the probability of an answer.

    Attributes:
        keyword: The best passage's keyword score, 0..1, in the wording of the question that fits it best.
        nearness: Its cosine without what all questions and all passages have in common, −1..1; 0 without an encoder.
        apart: By how much the best mean of the cosines to the text and to the label of a passage is larger than the mean of the largest to
            general passages; of the text alone where a passage has no label; 0 without an encoder.
        margin: How far the first candidate's score lies above the second's; `ALONE` where there is one only.
        coverage: The share of what the question's words say that one passage says, 0..1; `ACROSS` across languages.
        strange: The question looks like no text.
    """

    keyword: float
    nearness: float = 0.0
    apart: float = 0.0
    margin: float = 0.0
    coverage: float = 0.0
    strange: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """A logistic model of whether the scope holds an answer; the attributes are its coefficients."""

    keyword: float = 0.0
    nearness: float = 0.0
    apart: float = 0.0
    margin: float = 0.0
    coverage: float = 0.0
    strange: float = -4.5
    intercept: float

    def probability(self, standing: Standing) -> float:
        """The probability that the scope holds an answer, 0..1."""
        logit = (
            self.intercept
            + self.keyword * standing.keyword
            + self.nearness * standing.nearness
            + self.apart * standing.apart
            + self.margin * standing.margin
            + self.coverage * standing.coverage
            + self.strange * standing.strange
        )
        return 1.0 / (1.0 + math.exp(-logit))


MODELS: Mapping[str, Model] = {
    "hybrid": Model(nearness=6.7, apart=29.0, margin=7.8, coverage=2.7, intercept=-1.11),
    "other": Model(nearness=5.0, keyword=9.0, margin=2.0, intercept=-0.45),
    "keyword-only": Model(keyword=9.3, intercept=-0.05),
}
"""By mode of the library. With another encoder than the measured one, whose cosines may lie further apart, the likelier of the two
last ones counts."""
