"""Candidates that need not be scored by both legs: leaving them out changes no answer."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from itertools import compress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import wenyuan
from fused import candidates as fused
from wenyuan.core.ports import Hit
from wenyuan.core.scoring.fusion import Candidates, Fusion, column
from wenyuan.core.scoring.probability import CURVES, NEAR, Candidate, Field, candidate
from wenyuan.core.text.analysis import query_terms
from wenyuan.service.search import legs
from wenyuan.service.search.candidates import Cutoff, above, contenders

PASSAGES = 300
SUBJECTS = ("投诉", "合同", "消防", "税务", "档案", "采购", "安全", "leave", "travel", "scaffold")
ACTS = ("期限", "登记", "审批", "复核", "赔偿", "notice", "record", "refund")


@st.composite
def candidates(draw: st.DrawFn) -> tuple[dict[int, float], dict[int, float], dict[int, float], float]:
    """All keyword scores, those that one leg found, cosines, and the ceiling of the others; ties are frequent."""
    steps = st.integers(0, 12).map(lambda n: n / 12)
    rows = st.tuples(st.integers(1, 60), steps, st.none() | steps, st.booleans())
    found = draw(st.lists(rows, min_size=1, max_size=40, unique_by=lambda row: row[0]))
    ceiling = draw(steps)
    words = {i: score for i, score, _, _ in found}
    cosines = {i: cosine for i, _, cosine, _ in found if cosine is not None}
    known = {i: score for i, score, _, by_words in found if by_words or score > ceiling or i not in cosines}
    return words, known, cosines, ceiling


fusions = st.builds(
    Fusion,
    weight=st.sampled_from((0.3, 0.55, 0.7, 0.9)),
    scale=st.sampled_from(((0.0, 1.0), (0.4, 0.9))),
)
floors = st.sampled_from((0.0, 0.2, 0.5, 0.8))

kept = st.dictionaries(st.integers(1, 60), st.sampled_from((0.9, 0.95, 0.99)))


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(candidates(), fusions, floors, st.integers(1, 8), st.lists(st.integers(1, 5), max_size=3), st.booleans(), kept)
def test_what_is_left_out_is_in_no_answer(
    found: tuple[dict[int, float], dict[int, float], dict[int, float], float],
    fusion: Fusion,
    floor: float,
    limit: int,
    trusts: list[int],
    in_context: bool,
    laws: dict[int, float],
) -> None:
    """Whatever the scores, floor, limit, trust, context and laws, the candidates of an answer and their rivals are those of all."""
    words, known, cosines, ceiling = found
    cut = Cutoff.of(floor, limit, trusts, in_context)
    everything = fused(fusion, words, cosines, laws)
    everyone = list(words.keys() | cosines.keys())
    may = contenders(
        column(known, everyone), column(cosines, everyone), ceiling, fusion, cut, column(laws, everyone, 1.0)
    )
    chosen = set(compress(everyone, may))
    some = fused(
        fusion,
        {i: s for i, s in words.items() if i in chosen}, {i: c for i, c in cosines.items() if i in chosen}, laws,
    )  # fmt: skip

    def given_of(found: Candidates) -> list[Hit]:
        return cut.liftable(found.taken(above(found.scores, floor))).hits()

    assert given_of(some) == given_of(everything)
    one = Candidate(-1, 0.5, 0.4, 0.6)
    rivals, all_rivals = (
        Field([candidate(hit, {}) for hit in found.hits()], CURVES["hybrid"]) for found in (some, everything)
    )
    assert (rivals.spread, rivals.evidence(one)) == pytest.approx(
        (all_rivals.spread, all_rivals.evidence(one)), abs=1e-9
    )


def test_most_need_no_second_score() -> None:
    """Of two hundred candidates, half of them without a keyword score, only those need one that are in the answer or rivals of it."""
    known = {i: 0.9 - i / 200 for i in range(100)}
    cosines = {i: 0.95 - i / 400 for i in range(200)}
    fusion = Fusion(weight=0.7, scale=(0.0, 1.0))
    everyone = range(200)
    may = contenders(
        column(known, everyone),
        column(cosines, everyone),
        known[99],
        fusion,
        Cutoff.of(0.0, 10, [3], in_context=False),
    )
    assert np.flatnonzero(may).tolist() == list(range(NEAR))


def made_of(folder: Path, places: Sequence[str]) -> wenyuan.Library:
    """A library of two sources; its documents name places in their titles or texts, in turns."""
    draw = random.Random(4)
    for trust in (2, 5):
        (folder / f"s{trust}").mkdir()
        for n in range(PASSAGES // 2):
            told = "，".join(draw.choice(SUBJECTS) + draw.choice(ACTS) for _ in range(draw.randint(2, 9)))
            heading, mention = places[n % len(places)], places[n // 7 % len(places)]
            text = f"# {draw.choice(SUBJECTS)} {n}{heading}\n\n{told}。{mention}\n"
            (folder / f"s{trust}" / f"{n}.md").write_text(text, "utf-8")
    made = wenyuan.open(
        folder / "library", create=True, encoder={"kind": "hashing"}, search={"deadline": 20, "depth": 40}
    )
    for trust in (2, 5):
        made.add(wenyuan.Source(source_id=f"s{trust}", path=str(folder / f"s{trust}"), trust=trust))
    return made


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[wenyuan.Library]:
    with made_of(tmp_path_factory.mktemp("library"), [""]) as made:
        yield made


@pytest.fixture(scope="module")
def clauses(tmp_path_factory: pytest.TempPathFactory) -> Iterator[wenyuan.Library]:
    places = (" 第三条", "依照第十三条", " Article 3", " GB 50300-2013", "", "", "", "", "")
    with made_of(tmp_path_factory.mktemp("clauses"), places) as made:
        yield made


@pytest.mark.parametrize("limit", [1, 5, 15])  # twice as many are looked at: some may be copies
@pytest.mark.parametrize("context", [{}, {"task_id": "消防 审批"}])
def test_answers_are_the_same(
    library: wenyuan.Library, limit: int, context: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A library answers as it does when each candidate is scored by both legs, to the last digit of every part."""
    draw = random.Random(limit)
    asked = [" ".join(draw.choices(SUBJECTS + ACTS, k=draw.randint(1, 4))) for _ in range(25)]

    def answers() -> list[Any]:
        return [library.search(q, limit=limit, context=context or None) for q in asked]

    quick = answers()
    spared: list[int] = []

    def all_of_them(keyword: Any, cosines: Any, *rest: Any) -> Any:
        spared.append(int((~contenders(keyword, cosines, *rest)).sum()))
        return np.ones(len(keyword), bool)

    monkeypatch.setattr(legs, "contenders", all_of_them)
    for one, other in zip(quick, answers(), strict=True):
        assert list(one.hits) == [h._replace(parts=pytest.approx(dict(h.parts), abs=1e-6)) for h in other.hits]
    assert sum(spared) > 0
    assert all(query_terms(q) for q in asked)


@pytest.mark.parametrize("limit", [1, 5, 30])
@pytest.mark.parametrize("context", [{}, {"task_id": "消防 审批"}])
@pytest.mark.parametrize("floor", [None, 0.3])
def test_answers_about_a_place_are_the_same(
    clauses: wenyuan.Library,
    limit: int,
    context: dict[str, Any],
    floor: float | None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A question that names a clause or a standard is answered as it is when every candidate is read for it."""
    draw = random.Random(limit)
    named = ("第３条", "第十三条", "article 13", "GB 50300", "第九百条")
    asked = [f"{draw.choice(named)} {' '.join(draw.choices(SUBJECTS + ACTS, k=2))}" for _ in range(25)]
    own = clauses._retriever._own_search
    monkeypatch.setattr(own, "_settings", own._settings.model_copy(update={"floor": floor}))

    def answers() -> list[Any]:
        return [clauses.search(q, limit=limit, context=context or None) for q in asked]

    quick = answers()
    spared: list[int] = []
    placed = Cutoff.placed

    def all_of_them(cut: Cutoff, hits: Candidates, naming: Any) -> Candidates:
        spared.append(len(hits.scores) - len(placed(cut, hits, naming).scores))
        return hits

    monkeypatch.setattr(Cutoff, "placed", all_of_them)
    assert [list(one.hits) for one in quick] == [list(other.hits) for other in answers()]
    assert any("identifier" in hit.parts for one in quick for hit in one.hits)
    assert limit == 30 or sum(spared) > 0
