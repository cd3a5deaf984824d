"""How a probability is said to people."""

from __future__ import annotations

import pytest

from wenyuan.core.likelihood import likelihood, percent


@pytest.mark.parametrize(
    ("scores", "said", "best"),
    [
        ((), "none", "<1 %"),
        ((0.004,), "none", "<1 %"),
        ((0.019, 0.006), "hardly", "2 %"),
        ((0.049,), "hardly", "5 %"),
        ((0.2, 0.32), "perhaps", "32 %"),
        ((0.02, 0.7), "likely", "70 %"),
        ((0.5,), "likely", "50 %"),
    ],
)
def test_the_most_likely_passage_says_what_an_answer_is_called(
    scores: tuple[float, ...], said: str, best: str
) -> None:
    """Found is what is more likely an answer than not; two in a hundred are not found."""
    assert (likelihood(scores), percent(scores)) == (said, best)
