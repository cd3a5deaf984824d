"""Chinese postal addresses by their divisions, streets and ends."""

from __future__ import annotations

import pytest

from wenyuan.core.redaction.policy import policy_for
from wenyuan.core.redaction.redact import redact


@pytest.mark.parametrize(
    "address",
    [
        "四川省绵阳市安州区界牌镇石堰村3社21号",
        "安徽省合肥市蜀山区望江西路与潜山路交口西环中心广场3栋2104",
        "广东省佛山市顺德区容桂街道高黎居委会桂洲大道中63号",
        "苏州市姑苏区干将西路平江花园",
        "河北省保定市徐水区安肃镇盛源大街北段东侧",
        "台北市大安區忠孝東路四段325號9樓之3",
    ],
)
@pytest.mark.parametrize("said", ["住{}", "请寄到{}，谢谢", "{}的业主反映漏水"])
def test_an_address_goes_from_its_province_or_city_to_its_last_number_or_building(address: str, said: str) -> None:
    """Two divisions and a street are an address, whatever stands between the street and the number."""
    left = redact(said.format(address), policy_for("restricted")).text
    assert address not in left
    assert address[-3:] not in left


@pytest.mark.parametrize(
    "text", ["浙江省科技中心召开了会议", "四川省成都市的三家商店搬到二楼", "上海市浦东新区人民政府服务中心", "北京市朝阳区有三百个小区"]
)  # fmt: skip
def test_offices_and_districts_are_no_addresses(text: str) -> None:
    """Without a street or a number a place is nobody's address."""
    assert redact(text, policy_for("restricted")).text == text
