"""Where rules stand among passages: first where they answer, else behind what may answer."""

from __future__ import annotations

from dataclasses import replace

from wenyuan.core.model import Passage
from wenyuan.core.ports import Hit
from wenyuan.service.search.placement import ASIDE, merge_by_score, unbounded

QUESTION = "押金 退还 期限"
ARTICLE = Passage(
    passage_id=1, source_id="laws", document_id=1, uri="laws/1", title="租赁", headings=(), text="押金在合同终止后的退还期限为七日。",
    sha256="", start=0, end=0, language="zh", trust=3, domain="", collection="main", effective_from=None, effective_until=None,
    facets={},
)  # fmt: skip
RULE = replace(ARTICLE, passage_id=-1, title="消费者权益保护法", text="预付款纠纷：经营者应当履行约定。")
SAYS_ALL = replace(RULE, text="押金的退还期限：七日。")


def weights(terms: object) -> dict[str, float]:
    return dict.fromkeys(terms, 1.0)  # type: ignore[call-overload]


def order_of(score: float, link: float, rule: Passage = RULE) -> list[tuple[int, float]]:
    """Numbers and scores, of a passage with this score and a rule whose subject is meant with this confidence."""
    hit = Hit(-1, 0.6, "kg_rule", {"link": link, "asked": 1.0})
    found = merge_by_score([(Hit(1, score), ARTICLE)], [(hit, rule)], {-1}, QUESTION, 10, weights)
    return [(one.passage_id, one.score) for one, _ in found]


def test_a_guessed_rule_stands_behind_an_unlikely_passage_that_says_more() -> None:
    """Nothing probably answers, and the rule is about something that the question does not name."""
    assert order_of(0.3, 0.7) == [(1, 0.3), (-1, 0.3)]


def test_a_guessed_rule_that_says_as_much_goes_by_its_score() -> None:
    """It says what is asked for, as the passage does."""
    assert order_of(0.3, 0.7, SAYS_ALL) == [(-1, 0.6), (1, 0.3)]


def test_a_rule_of_what_is_named_goes_by_its_score_where_no_passage_is_likely() -> None:
    """Its subject stands in the question."""
    assert order_of(0.3, 1.0) == [(-1, 0.6), (1, 0.3)]


def test_beside_passages_a_guessed_rule_is_marked() -> None:
    """Where all are given, whoever joins them knows which stand aside."""
    hit = Hit(-1, 0.6, "kg_rule", {"link": 0.7, "asked": 1.0})
    found = unbounded([(Hit(1, 0.3), ARTICLE)], [(hit, RULE)], {-1}, QUESTION, weights)
    assert {one.passage_id: one.parts.get(ASIDE) for one, _ in found} == {-1: 1.0, 1: None}
