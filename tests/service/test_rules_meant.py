"""How near a question is to rules: by what is nearest of a rule's sentence and names."""

from __future__ import annotations

import pytest

from wenyuan.service.rules.meaning import MeantRules
from wenyuan.service.rules.name_vectors import Nearness

SENTENCE, END, SUBJECT = 1, 10, 20


def meant(sentence: float, end: float, subject: float) -> MeantRules:
    return MeantRules(Nearness({END: end, SUBJECT: subject}, {SENTENCE: sentence}), 0.6)


@pytest.mark.parametrize("near", [(0.3, 0.8, 0.2), (0.3, 0.2, 0.8)])
def test_a_name_nearer_than_the_sentence_is_what_the_rule_says(near: tuple[float, float, float]) -> None:
    """A name in daily words lies nearer to a spoken question than the sentence of the rule."""
    rule = meant(*near)
    as_said = meant(max(near), *near[1:])
    assert rule.of(SENTENCE, END, SUBJECT) == pytest.approx(as_said.of(SENTENCE, END, SUBJECT))


def test_among_rules_of_one_thing_their_sentences_count() -> None:
    """All of them have the name of what they are about: what tells them apart is what each says."""
    near, far = meant(0.7, 0.3, 0.8), meant(0.3, 0.3, 0.8)
    assert near.of(SENTENCE, END, SUBJECT) == far.of(SENTENCE, END, SUBJECT)
    assert near.of(SENTENCE, END, SUBJECT, names=0.5) > far.of(SENTENCE, END, SUBJECT, names=0.5)
