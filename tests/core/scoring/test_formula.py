"""Scores: the numbers by hand, the bounds by property."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wenyuan.core.scoring.formula import (
    K1,
    KNEE,
    PAIRED,
    VECTOR_WEIGHT,
    B,
    bm25,
    idf,
    quantised_length,
    rescale,
    squash,
    term_weights,
    trust_factor,
)
from wenyuan.core.scoring.fusion import Fusion

lengths = st.integers(0, 2_000_000_000)
shares = st.floats(0, 1)


def lucene(length: int) -> int:
    """What is left of a length in Lucene's one-byte form: below 24 all, above, 24 and four significant bits."""
    if length < 24:
        return length
    rest = length - 24
    shift = max(0, rest.bit_length() - 4)
    return 24 + (rest >> shift << shift)


def test_lengths_are_exact_to_forty() -> None:
    """Lengths up to 40 are kept as they are; 41 is the first that is not."""
    assert [quantised_length(n) for n in range(41)] == list(range(41))
    assert quantised_length(41) == 40


@pytest.mark.parametrize(
    ("length", "kept"), [(43, 42), (55, 54), (56, 56), (59, 56), (60, 60), (100, 96), (1_000, 984), (10_000, 9_240)]
)
def test_known_lengths(length: int, kept: int) -> None:
    """Longer lengths are cut to these."""
    assert quantised_length(length) == kept


@given(lengths)
def test_lengths_are_lucenes(length: int) -> None:
    """A length is quantised as Lucene does, never up and by less than an eighth."""
    kept = quantised_length(length)
    assert kept == lucene(length)
    assert kept <= length
    assert length - kept <= length / 8


@given(lengths, lengths)
def test_lengths_keep_their_order(one: int, other: int) -> None:
    """A longer passage never counts as shorter."""
    assert quantised_length(min(one, other)) <= quantised_length(max(one, other))


@pytest.mark.parametrize(
    ("documents", "with_term", "expected"),
    [
        (10, 1, math.log(1 + 9.5 / 1.5)),
        (10, 10, math.log(1 + 0.5 / 10.5)),
        (10, 0, math.log(22)),
        (1, 1, math.log(4 / 3)),
    ],
)
def test_idf_by_hand(documents: int, with_term: int, expected: float) -> None:
    """The information of a term is ln(1 + (N − n + ½) / (n + ½))."""
    assert idf(documents, with_term) == pytest.approx(expected, abs=1e-12)


@given(st.integers(0, 10**9), st.data())
def test_idf_falls(documents: int, data: st.DataObject) -> None:
    """A term's information is positive, and less the more passages hold it."""
    few = data.draw(st.integers(0, documents))
    many = data.draw(st.integers(few, documents))
    assert idf(documents, few) >= idf(documents, many) > 0


def test_bm25_by_hand() -> None:
    """BM25 of two terms in a passage of 20 terms, where the average is 16, is this number."""
    # norm = 1.2 · (0.25 + 0.75 · 20/16) = 1.425;  2 · 2.2 · 3/(3 + 1.425) + 0.5 · 2.2 · 1/(1 + 1.425)
    found = bm25({"a": 3, "b": 1, "other": 9}, 20, 16.0, {"a": 2.0, "b": 0.5, "absent": 7.0})
    assert found == pytest.approx(2.983050847 + 0.453608247, abs=1e-8)
    assert (K1, B) == (1.2, 0.75)


def test_bm25_of_an_average_passage() -> None:
    """A passage of average length that has every term once scores the sum of their information."""
    assert bm25({"a": 1, "b": 1}, 30, 30.0, {"a": 2.0, "b": 0.5}) == pytest.approx(2.5, abs=1e-12)


def test_bm25_quantises_the_length() -> None:
    """A passage of 43 terms scores as one of 42, not as one of 44."""
    scores = [bm25({"a": 1}, length, 50.0, {"a": 1.0}) for length in (42, 43, 44)]
    assert scores[0] == scores[1] > scores[2]


@given(
    st.dictionaries(st.sampled_from("abcdef"), st.integers(1, 1_000)),
    st.dictionaries(st.sampled_from("abcdef"), st.floats(0, 20)),
    st.integers(1, 100_000),
    st.floats(1, 10_000),
)
def test_bm25_bounds(counts: dict[str, int], weights: dict[str, float], length: int, average: float) -> None:
    """BM25 is never negative, nor more than 2.2 times the information of the terms, and rises with each hit."""
    score = bm25(counts, length, average, weights)
    assert 0.0 <= score <= (K1 + 1) * math.fsum(weights.values()) + 1e-9
    for term, count in counts.items():
        assert bm25({**counts, term: count + 1}, length, average, weights) >= score


def test_weights_of_terms() -> None:
    """An own identifier or a pair that no passage has asks for nothing; an unknown word keeps its information."""
    weights = term_weights(10, {"池": 2, "zxqv": 0, "#article:13": 0, "@article:13": 0, "@article:14": 1})
    assert weights == {"池": idf(10, 2), "zxqv": idf(10, 0), "#article:13": idf(10, 0), "@article:14": idf(10, 1)}
    assert term_weights(10, {"motor": 2, "motor~vehicl": 1, "vehicl~zxqv": 0}) == {
        "motor": idf(10, 2),
        "motor~vehicl": PAIRED * idf(10, 1),
    }


@pytest.mark.parametrize(
    ("cosine", "scale", "expected"),
    [
        (0.85, (0.7, 1.0), 0.5),
        (0.7, (0.7, 1.0), 0.0),
        (0.2, (0.7, 1.0), 0.0),
        (1.0, (0.7, 1.0), 1.0),
        (0.3, (0.0, 1.0), 0.3),
    ],
)
def test_rescale_by_hand(cosine: float, scale: tuple[float, float], expected: float) -> None:
    """A cosine is placed between the two ends of its encoder's scale."""
    assert rescale(cosine, scale) == pytest.approx(expected, abs=1e-12)


def test_no_score_is_a_negative_zero() -> None:
    """It would be shown with its sign."""
    assert [str(float(rescale(one, (0.0, 1.0)))) for one in (-0.0, -0.5, float("nan"))] == ["0.0"] * 3
    assert not np.signbit(
        rescale(np.full(9, -0.0), (0.0, 1.0))
    ).any()  # numpy takes either zero, by the length of a row


@given(st.floats(-1, 1.000001), st.floats(-1, 1.000001), st.floats(-0.5, 0.9), st.floats(0.05, 1))
def test_rescale_bounds(one: float, other: float, low: float, width: float) -> None:
    """Rescaled cosines lie within 0..1 and keep their order."""
    scale = (low, low + width)
    below, above = rescale(min(one, other), scale), rescale(max(one, other), scale)
    assert 0.0 <= below <= above <= 1.0


def fused(keyword: float | None, vector: float | None, weight: float = 0.7) -> float:
    fusion, legs = Fusion(weight=weight, scale=(0.0, 1.0)), (keyword, vector)
    return float(fusion.scores(*(None if leg is None else np.array([leg]) for leg in legs))[0])


def test_fuse_by_hand() -> None:
    """Two legs are weighted; a leg that is not configured leaves the score to the other."""
    assert fused(0.5, 0.8) == pytest.approx(0.71, abs=1e-12)
    assert fused(0.5, 0.8, VECTOR_WEIGHT) == pytest.approx(0.725, abs=1e-12)
    assert fused(0.5, None) == 0.5
    assert fused(None, 0.8) == 0.8
    assert fused(0.0, None) == 0.0


def test_fuse_nothing() -> None:
    """Without any leg there is no score, and that is an error."""
    with pytest.raises(ValueError, match="no leg"):
        fused(None, None)


@given(st.floats(0, 2.2), st.floats(0, 2.2))
def test_squash(one: float, other: float) -> None:
    """A share is kept up to the knee; above, it stays below 1, below itself, and in order."""
    below, above = squash(min(one, other)), squash(max(one, other))
    assert 0.0 <= below <= above < 1.0
    assert above <= max(one, other)
    assert squash(min(one, KNEE)) == min(one, KNEE)
    if abs(one - other) > 1e-9:
        assert below < above


@given(shares, shares, shares)
def test_fuse_bounds(keyword: float, vector: float, weight: float) -> None:
    """A fused score lies between the scores of the legs."""
    assert min(keyword, vector) - 1e-12 <= fused(keyword, vector, weight) <= max(keyword, vector) + 1e-12


def test_trust_factor() -> None:
    """Trust 3 changes nothing, and each level is worth five hundredths: .9 to 1.1."""
    assert [trust_factor(t) for t in range(1, 6)] == pytest.approx([0.98, 0.99, 1.0, 1.01, 1.02], abs=1e-12)
    assert trust_factor(3) == 1.0
