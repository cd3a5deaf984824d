"""Rerankers from local model directories, with tiny models made here."""

from __future__ import annotations

import json
import math
import time
from pathlib import Path

import pytest
from tokenizers import Tokenizer
from tokenizers.processors import TemplateProcessing

from cross_encoder_model import BIAS, make_cross_encoder
from wenyuan.core.errors import RerankerTimeout, RerankerUnavailable, ScoresRejected
from wenyuan.core.ports import Deadline, Reranker
from wenyuan.core.scoring.blending import probability
from wenyuan.encoders.cross_encoder import CrossEncoder

WORDS = [*"年假有几天员工每", "annual", "leave", "year", "lift", "days"]


def soon() -> Deadline:
    return Deadline(time.monotonic() + 30, time.monotonic)


@pytest.mark.parametrize("threads", [1, 3])
def test_query_and_text_go_in_as_one_pair(tmp_path: Path, threads: int) -> None:
    """Shared words, Chinese and English, raise the logit; its sigmoid is the score, in the order of the texts."""
    make_cross_encoder(tmp_path, WORDS)
    made = CrossEncoder(tmp_path, threads=threads)
    got = made.rerank("annual leave 年假", ["year", "年 year", "annual leave 年假", "leave"], deadline=soon())
    assert got == pytest.approx([probability(BIAS + 1 + shared) for shared in (0, 1, 4, 1)], abs=1e-6)
    assert made.rerank("leave", [], deadline=soon()) == []
    assert isinstance(made, Reranker)
    made.close()


def test_two_logits_are_one_by_their_distance(tmp_path: Path) -> None:
    """A model with a logit for "not relevant" and one for "relevant" gives their softmax."""
    make_cross_encoder(tmp_path / "one", WORDS)
    make_cross_encoder(tmp_path / "two", WORDS, outputs=2)
    asked = ("leave 年", ["leave", "年 leave", "year"])
    one, two = (CrossEncoder(tmp_path / name).rerank(*asked, deadline=soon()) for name in ("one", "two"))
    assert one == pytest.approx(two)


def test_a_graph_with_its_own_sigmoid_is_taken_at_its_word(tmp_path: Path) -> None:
    """With `logits` off the numbers count as they are, and any outside 0..1 are refused."""
    make_cross_encoder(tmp_path, WORDS)
    with pytest.raises(ScoresRejected, match=r"not in 0\.\.1"):
        CrossEncoder(tmp_path, logits=False)


def test_long_pairs_are_cut(tmp_path: Path) -> None:
    """What the directory says about length holds; the longer of the two is cut first."""
    make_cross_encoder(tmp_path, WORDS)
    (tmp_path / "config.json").write_text(json.dumps({"max_position_embeddings": 12}), "utf-8")
    made = CrossEncoder(tmp_path)
    short, long = made.rerank("leave", ["year " * 7 + "leave", "year " * 60 + "leave"], deadline=soon())
    assert short == pytest.approx(probability(BIAS + 2))
    assert long == pytest.approx(probability(BIAS + 1))
    assert made.rerank("leave " * 40, ["leave"], deadline=soon())[0] > 0.5


def test_the_fingerprint_follows_what_scores_depend_on(tmp_path: Path) -> None:
    """Another model, another length: another fingerprint."""
    make_cross_encoder(tmp_path / "a", WORDS)
    make_cross_encoder(tmp_path / "b", WORDS, scale=2.0)
    prints = {
        CrossEncoder(tmp_path / "a", name="m").fingerprint,
        CrossEncoder(tmp_path / "b", name="m").fingerprint,
        CrossEncoder(tmp_path / "a", name="m", max_tokens=24).fingerprint,
    }
    assert len(prints) == 3


def test_a_deadline_that_has_passed_stops_the_work(tmp_path: Path) -> None:
    """It is looked at before every text."""
    make_cross_encoder(tmp_path, WORDS)
    made = CrossEncoder(tmp_path, threads=1)
    ticks = iter(range(100))
    with pytest.raises(RerankerTimeout, match=f"reranker {tmp_path.name}"):
        made.rerank("leave", ["year"] * 50, deadline=Deadline(at=10.0, clock=lambda: float(next(ticks))))
    assert next(ticks) < 15


@pytest.mark.parametrize(("scale", "says"), [(math.nan, "NaN"), (math.inf, "NaN or infinite"), (0.0, "same score")])
def test_a_model_that_says_nothing_is_refused_at_once(tmp_path: Path, scale: float, says: str) -> None:
    """NaN, infinity and a constant are found out when the model is opened, not in an answer."""
    make_cross_encoder(tmp_path, WORDS, scale=scale)
    with pytest.raises(ScoresRejected, match=says):
        CrossEncoder(tmp_path)


def test_a_classifier_of_other_things_is_refused(tmp_path: Path) -> None:
    """Three numbers for a pair are no relevance; the message says how many there were."""
    make_cross_encoder(tmp_path, WORDS, outputs=3)
    with pytest.raises(RerankerUnavailable, match="3 numbers for a pair"):
        CrossEncoder(tmp_path)


@pytest.mark.parametrize("missing", ["model.onnx", "tokenizer.json", "config"])
def test_a_directory_that_is_not_whole_is_refused(tmp_path: Path, missing: str) -> None:
    """What is missing or cannot be read is named, and the failure is a reranker's."""
    make_cross_encoder(tmp_path, WORDS)
    if missing == "config":
        (tmp_path / "config.json").write_text("{", "utf-8")
    else:
        (tmp_path / missing).unlink()
    with pytest.raises(RerankerUnavailable, match=missing):
        CrossEncoder(tmp_path)


def test_a_broken_model_is_refused(tmp_path: Path) -> None:
    """A file that is no model, and a tokenizer that is no tokenizer, raise in our own words."""
    make_cross_encoder(tmp_path, WORDS)
    (tmp_path / "tokenizer.json").write_text("{}", "utf-8")
    with pytest.raises(RerankerUnavailable, match=r"tokenizer\.json"):
        CrossEncoder(tmp_path)
    make_cross_encoder(tmp_path, WORDS)
    (tmp_path / "model.onnx").write_bytes(b"not a model")
    with pytest.raises(RerankerUnavailable, match="refuses the model"):
        CrossEncoder(tmp_path)


def test_a_tokenizer_that_leaves_nothing_is_a_failure(tmp_path: Path) -> None:
    """No token, no score."""
    make_cross_encoder(tmp_path, WORDS)
    tokenizer = Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    tokenizer.post_processor = TemplateProcessing(single="$A", pair="$A $B:1", special_tokens=[])
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    made = CrossEncoder(tmp_path)
    with pytest.raises(ScoresRejected, match="leaves nothing"):
        made.rerank(" ", [" "], deadline=soon())
