"""The measurements of a cross-encoder and of mined synonyms: their parts, on a few texts."""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

BENCH = Path(__file__).resolve().parents[2] / "bench"


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Imports a script of the folder; afterwards none of them is known."""
    monkeypatch.syspath_prepend(str(BENCH))
    yield importlib.import_module
    for name in ("mining", "reranking", "cross_encoder", "transfer", "scoring"):
        sys.modules.pop(name, None)


def test_synonyms_are_told_by_definitions_abbreviations_and_same_answers(bench: Any) -> None:
    mining = bench("mining")
    records = [
        ("", "根据《中华人民共和国海关法》（以下简称《海关法》）的规定，由住房和城乡建设部（住建部）负责。"),
        (
            "",
            "Wear Personal Protective Equipment (PPE). The Green Fields Company (hereinafter referred to as “GFC”) pays.",
        ),
        ("", "Ask Information Technology (IT) about it, and the Bureau of Land Management (BLM)."),
        ("How do I cancel my plan", "Write to us."),
        ("How do I end my plan", "Write  to us."),
        ("", "He went up the hill (and came down (twice)); the Fund (the money) and 大米（食用香料）."),
    ]
    told = {kind: [(e.term, e.synonym) for e in entries] for kind, entries in mining.mined(records).items()}
    assert told == {
        "definitions": [("中华人民共和国海关法", "海关法"), ("Green Fields Company", "GFC")],
        "abbreviations": [
            ("住建部", "住房和城乡建设部"),
            ("PPE", "Personal Protective Equipment"),
            ("BLM", "Bureau of Land Management"),
        ],
        "same answers": [("cancel", "end")],
    }


@pytest.mark.integration
def test_mined_synonyms_are_measured_and_leave_the_library_as_it_was(
    bench: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    mining, folder = bench("mining"), tmp_path / "small"
    folder.mkdir()
    texts = [
        "Personal protective equipment (PPE) is kept in the store.",
        "Ladders are kept in the yard.",
        "No smoking.",
    ]
    lines = (json.dumps({"_id": f"e{n}", "text": text}) for n, text in enumerate(texts))
    (folder / "corpus.jsonl").write_text("\n".join(lines))
    (folder / "queries.jsonl").write_text('{"_id": "q0", "text": "PPE"}\n{"_id": "q1", "text": "ladders"}')
    (folder / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\nq0\te0\t1\nq1\te1\t1\n")
    figures = mining.measured(folder, tmp_path / "cache", 10, 1)
    shown = capsys.readouterr().out
    assert figures == [
        0,
        0,
        0,
        0.5,
        0,
        0,
        0,
        0,
        0,
        0.5,
        0,
        0,
    ]  # half of the questions say it, and are answered as before
    assert "| small | 2 | 0, 0: 0 / 0 (0, 0) | 1, 1: 0 / 0 (0, 0) |" in shown
    assert "abbreviations: PPE ↔ Personal protective equipment" in shown
    _, library = mining.opened(folder, tmp_path / "cache")
    with library:
        assert library.catalog.synonyms() == ()


@pytest.mark.integration
def test_the_graph_in_two_parts_makes_the_vectors_of_the_encoder(bench: Any) -> None:
    """What reads question and passage apart is the encoder itself, up to where they are read together."""
    cross = bench("cross_encoder")
    text = "差旅费报销应当在返回后十五个工作日内提交单据。"
    reader, encoder = cross.Reader(), cross.builtin.load_builtin()
    arrays = cross.graph.graph_weights(cross.encoders_weights.read_weights(cross.encoders_weights.find_weights()))
    upper = cross.session(arrays, [cross.BETWEEN, "shares"], "pooled")
    states, shares = reader.pair("报销", text)
    begin = len(states) - len(reader._pieces(f"passage: {text}"))
    assert not shares[2, :begin].any()
    feed = {cross.BETWEEN: states[None, begin:].astype(np.float32), "shares": shares[2:, begin:]}
    vector = upper.run(None, feed)[0][0, 0]
    (whole,) = encoder.encode_passages([text])
    assert vector @ whole / np.linalg.norm(vector) > 0.999


def test_a_reranker_moves_only_what_it_reads(bench: Any) -> None:
    reranking = bench("reranking")
    found = [(n, f"e{n}", 0.9 - 0.05 * n, int(n == 11)) for n in range(14)]
    logits = [float(n == 11) * 40 for n in range(14)]
    orders = dict(reranking.orders(found, logits, [1.0, 0.0], [1.0, 1.0]))
    assert orders["alone 10"][:3] == orders["shipped"][:3] == found[:3]
    assert orders["alone 20"][0] == found[11]
    assert orders["blended 20"].index(found[11]) < 11
    assert reranking.worth_of(orders["alone 20"], [1]) == (1.0, 1.0)
    assert reranking.worth_of(found, [1]) == (0.0, 0.0)
