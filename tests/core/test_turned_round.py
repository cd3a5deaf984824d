"""A condition said the other way round: what is allowed only with something is forbidden without it."""

from __future__ import annotations

import pytest

from wenyuan.core.denials import turned_round
from wenyuan.core.rewording import reworded
from wenyuan.core.tokens import tokens_of
from wenyuan.core.verification import compared_with

RULES = (
    "取得健康证明后方可上岗。经主管批准后方可进入机房。戴好安全帽才能进入现场。检验合格的材料才可以使用。持证人员方能操作吊车。"
    "办理动火手续后方可动火。"
    "You may enter only with a badge. The crane may be used only after it has been inspected. Only staff with a permit can weld here."
)
SAME = (
    "没有健康证明不得上岗。", "未经主管批准不得进入机房。", "不戴安全帽不许进入现场。", "检验不合格的材料不能使用。",
    "没有证的人员不能操作吊车。", "未办理动火手续禁止动火。", "未取得健康证明的不能上岗。", "没有主管批准，谁都不得进入机房。",
    "Without a badge you may not enter.", "You must not enter if you have no badge.",
    "The crane must not be used before it has been inspected.", "Staff without a permit cannot weld here.",
)  # fmt: skip
OTHER = (
    "取得健康证明后不得上岗。", "经主管批准后也不得进入机房。", "戴好安全帽不能进入现场。", "检验合格的材料不能使用。",
    "You may not enter with a badge.", "The crane must not be used after it has been inspected.", "Staff with a permit cannot weld here.",
)  # fmt: skip


def kind_of(claim: str) -> str | None:
    """What a claim is found to have changed; None: nothing."""
    tokens = tokens_of(claim)
    compared, other = compared_with(tokens, RULES), reworded(tokens, [RULES])
    kind = compared.kind if compared is not None else None
    return kind if kind is not None and kind.endswith("_changed") else None if other is None else other.kind


@pytest.mark.parametrize("claim", SAME)
def test_forbidden_without_what_it_is_allowed_with_is_no_change(claim: str) -> None:
    """Two denials, one of the condition and one of the act, say what the permission under that condition says."""
    assert kind_of(claim) is None


@pytest.mark.parametrize("claim", OTHER)
def test_one_denial_alone_is_still_told(claim: str) -> None:
    """What is forbidden although the condition is met is another thing."""
    assert kind_of(claim) in ("modality_changed", "negation_changed")


def test_a_permission_without_a_condition_is_not_turned_round() -> None:
    """What anybody may do, and what nobody may do without something, differ."""
    assert not turned_round("Without a badge you may not enter.", "Visitors may enter.")
    assert not turned_round("没有批准不得进入机房。", "机房可以进入。")
