"""Fusion: what is shown adds up, the adjustments stay in their bounds, and the order is the score's."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fused import candidates
from wenyuan.core.model import Passage
from wenyuan.core.ports import Hit, Ranking
from wenyuan.core.scoring.fusion import (
    CLIMB,
    CONTEXT_BOUND,
    Fusion,
    Leeway,
    Request,
    Topic,
    adjusted,
    explain,
    reference_of,
    title_terms,
)
from wenyuan.core.text.analysis import terms
from wenyuan.core.text.structure import CLAUSE

shares = st.floats(0, 1)
cosines = st.floats(-1, 1)
passage_ids = st.integers(1, 8)
scales = st.tuples(st.floats(-0.5, 0.8), st.floats(0.05, 0.5)).map(lambda t: (t[0], t[0] + t[1]))
words = st.sampled_from(
    ["连接池 超时", "第十三条", "依照第十三条", "GB 50300-2013", "安全", "safety of scaffolds", ""]
)
uris = st.sampled_from(["file:///a/one.md#x", "file:///a/two.md", "file:///b/one.md", "urn:x"])
queries = st.sampled_from(["第13条", "Article 13", "GB/T 50300", "GB 50300-2013 第13条", "投诉"])


def passage(**more: Any) -> Passage:
    values: dict[str, Any] = {
        "passage_id": 1, "source_id": "s", "document_id": 1, "uri": "file:///a/one.md", "title": "", "headings": (),
        "text": "文", "sha256": "0" * 64, "start": 0, "end": 1,
    }  # fmt: skip
    return Passage(**values | more)


passages = st.builds(
    lambda document_id, uri, title, heading, text, trust: passage(
        document_id=document_id, uri=uri, title=title, headings=(heading,), text=text, trust=trust
    ),
    st.integers(1, 2), uris, words, words, words, st.integers(1, 5),
)  # fmt: skip
topics = st.none() | st.builds(
    lambda document_id, folder, weights: Topic(document_id=document_id, folder=folder, weights=weights),
    st.none() | st.integers(1, 2),
    st.sampled_from(["", "file:///a/", "file:///b/"]),
    st.dictionaries(st.sampled_from(terms("连接池 安全 scaffolds 第十三条 fallen")), st.floats(0, 12)),
)


def among(hits: Sequence[Hit]) -> Leeway:
    return Leeway.among([hit.score for hit in hits])


def asked(found: Passage, topic: Topic | None = None, query: str = "", hits: Sequence[Hit] = ()) -> Request:
    """The request as the service makes it, with the same information for every term."""
    reference = reference_of(query)
    known = title_terms(found).union(reference.terms() if reference else ())
    return Request(topic=topic, leeway=among(hits), reference=reference, information=dict.fromkeys(known, 2.0))


@st.composite
def rankings(draw: st.DrawFn) -> tuple[list[Hit], float]:
    """What one or two legs found, fused, and the weight."""
    weight = draw(shares)
    keyword = draw(st.none() | st.dictionaries(passage_ids, shares, min_size=1))
    least = 0 if keyword is not None else 1
    vector = draw(
        st.dictionaries(passage_ids, cosines, min_size=1)
        if keyword is None
        else st.none() | st.dictionaries(passage_ids, cosines, min_size=least)
    )
    laws = draw(st.dictionaries(passage_ids, st.floats(0.9, 1.0)))
    return candidates(Fusion(weight=weight, scale=draw(scales)), keyword, vector, laws).hits(), weight


@given(rankings())
def test_fused_is_a_ranking(made: tuple[list[Hit], float]) -> None:
    """What is fused is a valid ranking: within 0..1, falling, each passage once, ties by id."""
    hits, _ = made
    assert list(Ranking(hits)) == sorted(hits, key=lambda h: (-h.score, h.passage_id))


@given(st.dictionaries(passage_ids, shares), st.dictionaries(passage_ids, cosines), shares, scales)
def test_fused_parts(
    keyword: dict[int, float], vector: dict[int, float], weight: float, scale: tuple[float, float]
) -> None:
    """Every passage of either leg is there, with both scores and its cosine, and they add up."""
    hits = candidates(Fusion(weight=weight, scale=scale), keyword, vector).hits()
    assert {h.passage_id for h in hits} == keyword.keys() | vector.keys()
    for hit in hits:
        p = hit.parts
        assert p["keyword"] == keyword.get(hit.passage_id, 0.0)
        assert hit.score == p["fused"] == pytest.approx(weight * p["vector"] + (1 - weight) * p["keyword"], abs=1e-9)
        if hit.passage_id in vector:
            assert p["cosine"] == vector[hit.passage_id]
        else:
            assert p["vector"] == 0.0
            assert "cosine" not in p


def test_one_leg() -> None:
    """With one leg configured its score is the score, whatever the weight."""
    (hit,) = candidates(Fusion(weight=0.7, scale=(0.0, 1.0)), {7: 0.4}, None).hits()
    assert (hit.score, dict(hit.parts)) == (0.4, {"keyword": 0.4, "fused": 0.4})
    (hit,) = candidates(Fusion(weight=0.7, scale=(0.7, 1.0)), None, {7: 0.85}).hits()
    assert hit.score == pytest.approx(0.5, abs=1e-9)
    assert hit.parts == pytest.approx({"cosine": 0.85, "vector": 0.5, "fused": 0.5}, abs=1e-9)


def recomputed(parts: Any) -> float:
    """The score from its parts, by the formula that `explain` prints."""
    product = parts["fused"] * parts.get("law", 1.0) * (1.0 + parts.get("context", 0.0))
    return float(min(1.0, product) + parts.get("identifier", 0.0))


@given(rankings(), passages, topics, queries)
def test_parts_add_up(made: tuple[list[Hit], float], found: Passage, topic: Topic | None, query: str) -> None:
    """Whatever adjusts a score, its parts give the score again to 1e-6, and it stays within 0..1."""
    for hit in made[0]:
        final = adjusted(hit, found, asked(found, topic, query, made[0]))
        assert final.score == pytest.approx(recomputed(final.parts), abs=1e-6)
        assert 0.0 <= final.score <= 1.0
        assert (final.passage_id, final.origin) == (hit.passage_id, hit.origin)
        assert final.parts.items() >= hit.parts.items()


def number(text: str, name: str, default: float = 0.0) -> float:
    match = re.search(rf"(− )?{name} ([0-9.]+[0-9])", text)
    return (-1 if match[1] else 1) * float(match[2]) if match else default


@given(rankings(), passages, topics, queries)
def test_explanation_adds_up(made: tuple[list[Hit], float], found: Passage, topic: Topic | None, query: str) -> None:
    """A person who computes with the numbers of an explanation gets the score that stands at its end."""
    hits, weight = made
    for hit in hits:
        final = adjusted(hit, found, asked(found, topic, query, hits))
        told = explain(final, weight)
        assert float(told.rpartition("→ ")[2]) == pytest.approx(final.score, abs=5.1e-4)
        product = number(told, " =") * number(told, "law", 1.0) * (1 + number(told, "context"))
        capped = min(1.0, product) if ", at most 1" in told else product
        assert capped + number(told, "identifier") == pytest.approx(final.score, abs=3e-3)
        if "·vector" in told:
            sides = re.match(r"([0-9.]+)·vector ([0-9.]+) \+ ([0-9.]+)·keyword ([0-9.]+) = ([0-9.]+)", told)
            assert sides is not None
            w, v, u, k, total = map(float, sides.groups())
            assert w * v + u * k == pytest.approx(total, abs=0.012)


def test_explanation_says_that_it_is_capped() -> None:
    """A score that context would lift above 1 is explained as 1, with the reason."""
    (hit,) = candidates(Fusion(weight=0.7, scale=(0.0, 1.0)), {1: 1.0}, {1: 1.0}).hits()
    own = passage(document_id=1)
    told = explain(adjusted(hit, own, asked(own, Topic(document_id=1, weights={}), hits=[hit])), 0.7)
    assert told == "0.70·vector 1.000 + 0.30·keyword 1.000 = 1.000 · (1 + context 0.120), at most 1 → 1.000"


@given(rankings(), passages, topics, queries)
def test_context_is_bounded(made: tuple[list[Hit], float], found: Passage, topic: Topic | None, query: str) -> None:
    """Context never lowers a score and never adds more than 15 % of it."""
    for hit in made[0]:
        for named in ("", query):
            without = adjusted(hit, found, asked(found, None, named)).score
            having = adjusted(hit, found, asked(found, topic, named, made[0])).score
            assert without - 1e-12 <= having <= without * (1 + CONTEXT_BOUND) + 1e-12


def test_context_prefers_what_is_near() -> None:
    """The document at hand gains most, then its siblings, then nothing; and what fits the topic gains more."""
    topic = Topic(document_id=1, folder="file:///a/", weights={"连接": 2.0, "接池": 2.0})
    own = topic.fit(passage(document_id=1))
    sibling = topic.fit(passage(document_id=2, uri="file:///a/two.md#x"))
    stranger = topic.fit(passage(document_id=3, uri="file:///b/three.md"))
    assert own > sibling > stranger == 0.0
    fitting = topic.fit(passage(document_id=3, uri="file:///b/three.md", headings=("连接池",)))
    assert fitting > topic.fit(passage(document_id=3, uri="file:///b/three.md", text="连接")) > 0.0
    assert topic.fit(passage(document_id=1, title="连接池")) == 1.0


def standing(*scores: float) -> list[Hit]:
    return [Hit(passage_id=i, score=score, parts={"fused": score}) for i, score in enumerate(scores, 1)]


def test_context_settles_what_the_words_leave_open() -> None:
    """Of passages side by side that of the document at hand comes first; past one far ahead of all others it does not come."""
    here, there = Topic(document_id=1, weights={"连接": 2.0}), passage(document_id=2, text="无")
    own = passage(document_id=1, text="连接")

    def second(hits: list[Hit]) -> tuple[float, float]:
        request = asked(own, here, hits=hits)
        return adjusted(hits[0], there, request).score, adjusted(hits[1], own, request).score

    side_by_side = standing(0.62, 0.61, 0.6, 0.59, 0.58, 0.57, 0.56, 0.55, 0.54, 0.53)
    first, lifted = second(side_by_side)
    assert lifted == pytest.approx(0.61 + CLIMB * 0.09)
    assert lifted > first == 0.62
    first, lifted = second(standing(0.62, *(hit.score - 0.04 for hit in side_by_side[1:])))
    assert lifted < first


def test_context_decides_in_a_crowd() -> None:
    """Where nothing stands out, what fits may come up from far below; the change from one to the other is gradual."""
    own, here = passage(document_id=1), Topic(document_id=1, weights={})

    def gained(step: float) -> float:
        hits = standing(*(0.6 - step * n for n in range(40)))
        request = Request(topic=here, leeway=among(hits))
        return adjusted(hits[20], own, request).score / hits[20].score - 1

    assert gained(0.002) == pytest.approx(0.8 * CONTEXT_BOUND)
    assert gained(0.002) > gained(0.0055) > gained(0.006) > gained(0.0065)
    assert gained(0.008) < gained(0.009)


def test_leeway_is_told_by_ten_candidates() -> None:
    """More than ten do not count; fewer count as ten that go on alike; one has nobody to come past."""
    ten = standing(*(0.9 - 0.02 * n for n in range(10)))
    assert among(ten).climb == pytest.approx(CLIMB * 0.18)
    assert among([*ten, *standing(0.1)]) == among(ten)
    assert among(ten[:4]).climb == pytest.approx(CLIMB * 0.18)
    assert among(ten[:1]) == among([]) == Leeway(share=CONTEXT_BOUND)
    assert Leeway(0.1, 0.1).of(0.0, 1.0) == 0.0


def test_trust_is_noted_and_counts_in_the_end() -> None:
    """A score stays as it is, whatever the trust: that is a factor of the probability, see `calibrate`."""
    hit = Hit(passage_id=1, score=0.5, parts={"fused": 0.5})
    made = [adjusted(hit, passage(trust=t), Request()) for t in range(1, 6)]
    assert {one.score for one in made} == {0.5}
    assert [one.parts["trust"] for one in made] == pytest.approx([0.98, 0.99, 1.0, 1.01, 1.02])


@pytest.mark.parametrize(
    "query", ["第十三条", "第13条", "Article 13", "ａｒｔｉｃｌｅ　１３", "GB/T 50300", "GB50300—2013"]
)
@pytest.mark.parametrize("score", [0.0, 0.4, 0.9])
def test_identifiers_lift(query: str, score: float) -> None:
    """Of equal hits the one with a named identifier in its own headings comes first, before those that mention it."""
    hit = Hit(passage_id=1, score=score, parts={"fused": score})
    found = [
        passage(headings=("第１３条", "GB 50300-2013")),
        passage(text="见第十三条，GB50300-2013。"),
        passage(headings=("第十四条",)),
    ]
    own, citing, neither = (adjusted(hit, p, asked(p, None, query)).score for p in found)
    assert own > max(citing, neither)
    assert citing > 0.0
    assert neither <= score


@pytest.mark.parametrize(
    "spellings",
    [
        ("第十三条", "第13条", "第１３條", "Article 13", "ARTICLE 13", "ａｒｔｉｃｌｅ　１３", "Article\u00a013"),
        ("GB 50300-2013 的驗收", "GB/T 50300—2013的验收", "ＧＢ ５０３００－２０１３ 的验收"),
    ],
)
def test_spellings_name_the_same(spellings: tuple[str, ...]) -> None:
    """All spellings of a query refer to the same place in the same way."""
    first, *others = map(reference_of, spellings)
    assert first is not None
    for other in others:
        assert other is not None
        assert (other.named, other.clause) == (first.named, first.clause)


@pytest.mark.parametrize(
    ("query", "doubtful"),
    [
        ("手机怎么删除第一条短信", True), ("置顶第一條聊天", True), ("第三款车多少钱", True), ("今天语文第二节课讲什么", True),
        ("违反第二十条会怎样", False), ("第二十条违反会怎样处理", False), ("根据第三条处理", False), ("按第五条办", False), ("第五条能否豁免", False),
        ("第五章法律责任", False), ("民法典第四十二条禁止什么", False), ("第二十条修改了什么", False),
        ("how to recall part 1 of the message", True), ("what happens in chapter 3 of the novel", True),
        ("第十三条", False), ("第十三条规定了什么", False), ("第十三条是怎么说的", False), ("第一条第二款", False),
        ("《数据安全法》第九条处罚标准", False), ("劳动法第三条赔偿标准", False), ("第九条 赔偿", False), ("第９条，赔偿", False),
        ("Article 13 of the Policy", False), ("Chapter 3 of the Act", False), ("what does section 3 say", False),
    ],
)  # fmt: skip
def test_what_is_counted_is_no_clause(query: str, doubtful: bool) -> None:
    """The first message lifts no article 1, but of a document whose title the query has; and takes nothing from others."""
    reference = reference_of(query)
    assert reference is not None and reference.doubtful == doubtful
    own = tuple(match[0] for match in CLAUSE.finditer(query))
    hit = Hit(passage_id=1, score=0.4, parts={"fused": 0.4})
    other, of_title = passage(headings=own, title="承包法"), passage(headings=own, title=query)
    assert (adjusted(hit, other, asked(other, None, query)).score > 0.4) == (not doubtful)
    if doubtful:
        assert adjusted(hit, of_title, asked(of_title, None, query)).score > 0.4
        assert adjusted(hit, passage(headings=()), asked(other, None, query)).score == 0.4


def test_a_code_beside_a_count_still_counts() -> None:
    reference = reference_of("GB 50300-2013 第一条短信")
    assert reference is not None and (reference.clause, reference.named) == (
        False,
        reference_of("GB 50300-2013").named,
    )  # type: ignore[union-attr]


def test_identifiers_need_to_be_named() -> None:
    """A query that names no identifier lifts no passage for having one."""
    hit = Hit(passage_id=1, score=0.4, parts={"fused": 0.4})
    found = passage(headings=("第十三条",))
    assert adjusted(hit, found, asked(found, None, "同意的取得")).score == 0.4


@given(rankings(), passages, queries)
def test_lift_keeps_order(made: tuple[list[Hit], float], found: Passage, query: str) -> None:
    """Among passages with the same identifiers the better one stays better."""
    final = [adjusted(hit, found, asked(found, None, query)).score for hit in made[0]]
    assert final == sorted(final, reverse=True)


@pytest.mark.parametrize(
    ("parts", "score", "says"),
    [
        ({"link": 0.9, "weight": 0.5}, 0.45, "link 0.900 · weight 0.500 → 0.450"),
        ({"outside": 0.95, "trust": 1.1}, 1.0, "outside 0.950 · trust 1.100, at most 1 → 1.000"),
    ],
)
def test_a_score_of_another_kind_is_explained_as_a_product(parts: dict[str, float], score: float, says: str) -> None:
    """A rule, and a hit of a source elsewhere, have no keyword and no vector: their parts are factors."""
    assert explain(Hit(passage_id=1, score=score, parts=parts), 0.7) == says
