"""Claims in other words than the sentence that they change, or keep."""

from __future__ import annotations

import pytest

from wenyuan.core.rewording import reworded
from wenyuan.core.tokens import tokens_of

EN = (
    "Administrators must rotate all access keys at least once every 180 days. Smoke alarms are tested twice a year. "
    "Severity 1 incidents are answered within 15 minutes, severity 2 incidents within 4 hours. "
    "It is forbidden to store petrol in the cellar, and smoking there is prohibited."
)
ZH = (
    "管理员应当至少每180天更换一次全部访问密钥。一级故障应在15分钟内响应，二级故障应在4小时内响应。"
    "出发前48小时内取消行程的，旅费不予退还。"
)


@pytest.mark.parametrize(
    ("claim", "text", "was", "said"),
    [
        ("Every access key has to be rotated by an administrator once in 90 days.", EN, "180 days", "90 days"),
        ("Incidents of severity 1 get an answer within 45 minutes.", EN, "15 minutes", "45 minutes"),
        ("所有访问密钥至少每90天由管理员更换一次。", ZH, "180天", "90天"),
        ("一级故障的响应时间为45分钟。", ZH, "15分钟", "45分钟"),
        ("口令至少8位。", "第七条 口令长度不少于 12 位，每年更换一次。", "12", "8"),
        (
            "值班医师要在30分钟之内到场。",
            "2. 通知值班医师，15 分钟内到场查看；\n3. 家属探视每次 30 分钟。",
            "15 分钟",
            "30分钟",
        ),
    ],
)
def test_a_number_that_nothing_near_has_is_told(claim: str, text: str, was: str, said: str) -> None:
    """It stands where the sentence has another one of the same unit, in the clause that has most of the claim."""
    found = reworded(tokens_of(claim), [text])
    assert found is not None
    assert (found.kind, found.change.was, found.change.said) == ("number_changed", was, said)


@pytest.mark.parametrize(
    ("claim", "text"),
    [("Petrol may be stored in the cellar.", EN), ("出发前48小时内取消行程，可以退还旅费。", ZH)],
)
def test_a_denial_that_is_left_out_is_told(claim: str, text: str) -> None:
    found = reworded(tokens_of(claim), [text])
    assert found is not None
    assert found.kind == "negation_changed"


@pytest.mark.parametrize(
    ("claim", "text"),
    [
        ("Every access key has to be rotated by an administrator once in 180 days.", EN),
        ("Severity 2 incidents get an answer within 4 hours.", EN),
        ("Petrol must not be stored in the cellar.", EN),
        ("Fire doors are painted once in 90 days.", EN),
        ("Guards of the museum rotate once in 90 days.", EN),
        ("Smoke alarms are tested by 3 electricians.", EN),
        ("所有访问密钥至少每180天由管理员更换一次。", ZH),
        ("二级故障的响应时间为4小时。", ZH),
        ("锅炉的响应时间为45分钟。", ZH),
        ("出发前48小时内取消行程的，不退还旅费。", ZH),
    ],
)
def test_what_says_the_same_or_speaks_of_something_else_is_no_change(claim: str, text: str) -> None:
    """The same number at its place, another thing with its own number, or a number of something that is not counted there."""
    assert reworded(tokens_of(claim), [text]) is None
