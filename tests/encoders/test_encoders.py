"""Checks of vectors, the hashing double, and encoders from local model directories."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from wenyuan.core.errors import ConfigError, EncoderTimeout, VectorRejected
from wenyuan.core.ports import Deadline, Encoder
from wenyuan.core.scoring.vector_checks import checked_vectors
from wenyuan.encoders.checking import HashingEncoder
from wenyuan.encoders.onnx_session import encode_each

# --- checks -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("array", "says"),
    [
        ([[1.0, float("nan")]], "NaN"),
        ([[1.0, float("inf")]], "infinity"),
        ([[1e300, 1e300]], "too large"),
        ([[0.0, 0.0]], "zero"),
        ([[1e-45, 0.0]], "zero"),
        ([[1.0, 2.0, 3.0]], "3 dimensions, expected 2"),
        ([[1.0]], "1 dimensions, expected 2"),
        ([[1.0, 0.0], [0.0, 1.0]], "1 texts went in, 2 vectors came out"),
        ([], "expected rows"),
        ([1.0, 2.0], "1 axes"),
        ([[1.0, 2.0], [1.0]], "different lengths"),
        ([["1.0", "2.0"]], "not numbers"),
        ([[1.0, None]], "not numbers"),
        ([[True, False]], "not numbers"),
        ([{"a": 1}], "not numbers"),
        ([[1j, 2.0]], "not numbers"),
        (None, "not numbers"),
        ("向量", "not numbers"),
    ],
)
def test_what_is_no_vector_is_rejected(array: Any, says: str) -> None:
    """NaN, infinity, zero, a wrong count or dimension, and what is no number are refused with the reason."""
    with pytest.raises(VectorRejected, match=says) as caught:
        checked_vectors(array, 1, 2, "encoder x")
    assert caught.value.component == "encoder x"


@given(hnp.arrays(np.float64, (3, 5), elements=st.floats(-1e6, 1e6)).filter(lambda a: (abs(a).max(1) > 1e-6).all()))
def test_checked_vectors_have_length_one_and_keep_their_direction(array: np.ndarray) -> None:
    """Rows come back as float32 of length 1 that point where they pointed."""
    rows = checked_vectors(array, 3, 5, "x")
    assert rows.dtype == np.float32
    assert np.allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-6)
    assert np.allclose((rows * array).sum(1), np.linalg.norm(array, axis=1), rtol=1e-5)


def test_no_texts_make_no_rows() -> None:
    """An empty question has an empty answer of the right width."""
    assert checked_vectors([], 0, 7, "x").shape == (0, 7)


def test_a_model_that_says_always_the_same_is_found_out() -> None:
    """One vector for different texts is refused, and two of the texts are named."""
    with pytest.raises(VectorRejected, match=r"2 different texts.*报销.*travel"):
        checked_vectors([[1, 2]] * 2, 2, 2, "x", texts=["报销", "travel"])


@pytest.mark.parametrize(
    "texts",
    [
        ["报销", "报销"],
        ["报销？", "报销?"],
        ["ＡＢＣ", "abc"],
        ["café", "cafe"],
        ["？", "！"],
        ["长" * 300 + "甲", "长" * 300 + "乙"],
    ],
)
def test_texts_that_a_model_may_see_as_one_may_have_one_vector(texts: list[str]) -> None:
    """Width, case, accents, punctuation and what lies behind the cut do not make two texts different."""
    assert len(checked_vectors([[1, 2]] * 2, 2, 2, "x", texts=texts)) == 2


def test_different_vectors_of_different_texts_pass() -> None:
    """The test for a constant model lets a working one through."""
    assert len(checked_vectors([[1, 2], [2, 1]], 2, 2, "x", texts=["报销", "travel"])) == 2


# --- running ------------------------------------------------------------------------------------------------------


def one_hot(text: str) -> np.ndarray:
    row = np.zeros(4, np.float32)
    row[int(text)] = 2
    return row


@pytest.mark.parametrize("threads", [1, 3])
def test_vectors_come_back_in_the_order_of_their_texts(threads: int) -> None:
    """However many threads work, row i belongs to text i and progress adds up in the caller's thread."""
    told: list[tuple[int, int]] = []

    def slow_first(text: str) -> np.ndarray:
        time.sleep(0.02 if text == "0" else 0)
        return one_hot(text)

    rows = encode_each(
        slow_first,
        list("0123012"),
        dimension=4,
        threads=threads,
        component="x",
        progress=lambda n: told.append((n, threading.get_ident())),
    )
    assert rows.argmax(1).tolist() == [0, 1, 2, 3, 0, 1, 2]
    assert told == [(1, threading.get_ident())] * 7


@pytest.mark.parametrize("threads", [1, 3])
def test_a_deadline_stops_the_work(threads: int) -> None:
    """Once the moment has passed no further text is encoded and the timeout is raised."""
    done: list[str] = []
    now = [0.0]

    def one(text: str) -> np.ndarray:
        done.append(text)
        now[0] += 1
        return one_hot(text)

    with pytest.raises(EncoderTimeout, match="x: the deadline passed"):
        encode_each(
            one,
            ["1"] * 50,
            dimension=4,
            threads=threads,
            component="x",
            deadline=Deadline(at=3.0, clock=lambda: now[0]),
        )
    assert 3 <= len(done) <= 3 + threads


@pytest.mark.parametrize("threads", [1, 3])
def test_one_bad_text_fails_all(threads: int) -> None:
    """A vector of another dimension or of zeros is never put between good ones."""
    for bad in (np.zeros(4, np.float32), np.ones(5, np.float32)):
        with pytest.raises(VectorRejected):
            encode_each(
                lambda t, bad=bad: bad if t == "2" else one_hot(t),
                list("0123"),
                dimension=4,
                threads=threads,
                component="x",
            )


# --- hashing ------------------------------------------------------------------------------------------------------


@given(st.text(), st.integers(8, 300))
def test_every_text_has_a_hashed_vector(text: str, dimension: int) -> None:
    """The double encodes whatever it is given, and always alike."""
    encoder = HashingEncoder(dimension)
    row = encoder.encode_queries([text])
    assert row.shape == (1, dimension)
    assert np.array_equal(row, encoder.encode_passages([text]))


@pytest.mark.parametrize(
    ("query", "near", "far"),
    [
        ("差旅费如何报销", "差旅费报销须在十五日内提交单据", "脚手架搭设应当编制专项方案"),
        ("refund policy", "our refund policy for customers", "the scaffold must be inspected"),
        ("ＧＢ 50300 验收", "gb 50300 建筑工程验收", "annual leave of employees"),
    ],
)
def test_texts_that_share_words_are_nearer(query: str, near: str, far: str) -> None:
    """A text with words of the query has a higher cosine than one without, in Chinese and in English."""
    q, a, b = HashingEncoder().encode_passages([query, near, far])
    assert q @ a > q @ b + 0.1


def test_hashed_vectors_are_the_same_in_every_process() -> None:
    """The double does not depend on Python's salted hash."""
    code = (
        "from wenyuan.encoders.checking import HashingEncoder;"
        "print(HashingEncoder(16).encode_queries(['知识 base']).round(4).tolist())"
    )
    here = HashingEncoder(16).encode_queries(["知识 base"]).round(4).tolist()
    there = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    assert json.loads(there.stdout) == here


def test_the_double_keeps_the_socket_s_promises() -> None:
    """It is an `Encoder`, tells progress, honours a deadline, and refuses a dimension too small."""
    encoder = HashingEncoder()
    told: list[int] = []
    assert isinstance(encoder, Encoder)
    assert encoder.encode_passages(["一", "two"], progress=told.append).shape == (2, 256)
    assert sum(told) == 2
    assert encoder.encode_queries([]).shape == (0, 256)
    with pytest.raises(EncoderTimeout):
        encoder.encode_queries(["late"], deadline=Deadline(at=1.0, clock=lambda: 2.0))
    with pytest.raises(ConfigError):
        HashingEncoder(4)
