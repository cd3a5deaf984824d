"""Opposites in claims that are in other words than their sentence; and what only looks like one."""

from __future__ import annotations

import pytest

from wenyuan.core.reworded_duties import opposite
from wenyuan.core.rewording import reworded
from wenyuan.core.tokens import tokens_of

LIES = (
    ("The supervisor may extend the deadline by no more than ten working days.", "The deadline must be extended by the supervisor by up to ten working days.", "modality_changed"),
    ("All employees may work from home on up to two days a week.", "On up to two days a week, some employees can work from home.", "relation_changed"),
    ("All employees may work from home on up to two days a week.", "All employees can work from home on at least two days a week.", "number_changed"),
    ("Visitors must leave their phones at reception before they enter the clean room.", "After entering the clean room, visitors have to leave their phones at reception.", "relation_changed"),
    ("Batteries must not be stored above 40 °C.", "It is allowed to store batteries above 40 °C.", "negation_changed"),
    ("未成年人不得购买本产品。", "本产品可以由未成年人购买。", "negation_changed"),
    ("合同解除后，承租人应当在十日内返还房屋。", "承租人在合同解除后十天之内，可以把房屋返还。", "modality_changed"),
    ("合同解除后，承租人应当在十日内返还房屋。", "承租人在合同解除前十天之内，应当把房屋返还。", "relation_changed"),
    ("每名教师每学期至少听课十次。", "每学期，每名教师听课不超过十次。", "number_changed"),
)  # fmt: skip
TRUE = (
    ("The deadline must not be extended by more than ten days.", "The deadline may be extended by ten days at most."),
    ("The deadline may be extended by at most ten days.", "It is not allowed to extend the deadline by more than ten days."),
    ("A refund is granted if the ticket is returned at least 24 hours before departure.", "If the ticket is returned no later than 24 hours before departure, a refund is granted."),
    ("Leave your phone at reception before entering the room.", "Enter the room after leaving your phone at reception."),
    ("Staff may enter only with a badge.", "Staff must not enter without a badge."),
    ("取得合格证后方可上岗。", "必须取得合格证才能上岗。"),
    ("锅炉压力不得超过1.2兆帕。", "锅炉的压力最高可以到1.2兆帕。"),
    ("会议记录保存期限不少于五年。", "会议记录不得在保存不到五年时销毁。"),
    ("住房补贴可以在员工入职满一年以后申请。", "入职满一年的员工，可以申请住房补贴。"),
)  # fmt: skip


@pytest.mark.parametrize(("sentence", "claim", "kind"), LIES)
def test_an_opposite_is_found_in_other_words(sentence: str, claim: str, kind: str) -> None:
    """Nothing of it is aligned with the sentence; both have nearly the same words."""
    found = reworded(tokens_of(claim), [sentence])
    assert found is not None and found.kind == kind
    assert found.change.was != found.change.said


@pytest.mark.parametrize(("sentence", "claim"), TRUE)
def test_what_is_said_in_another_way_is_no_opposite(sentence: str, claim: str) -> None:
    """One denies what the other allows, or counts from the other end."""
    assert opposite(claim, sentence) is None
    assert opposite(sentence, claim) is None
