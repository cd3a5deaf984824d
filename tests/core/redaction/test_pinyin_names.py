"""Names in Pinyin in either order, and what looks like them."""

from __future__ import annotations

import pytest

from wenyuan.core.redaction.policy import policy_for
from wenyuan.core.redaction.redact import redact


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("CC Xin Zheng; ZENG Zhiwei", "Xin Zheng"),
        ("CC Xin Zheng; ZENG Zhiwei", "ZENG Zhiwei"),
        ("Attendees: Peng Shan, Tian Ye, Guihua Pan", "Guihua Pan"),
        ("Sun Lili（李鑫）负责海外客户", "Sun Lili"),
        ("PM Liang Kai，QA Wang Fang", "Wang Fang"),
        ("Ask Han Mei or Jia Song about the invoice.", "Jia Song"),
        ("Meiling HUANG from the Shanghai office said the parts are late.", "Meiling HUANG"),
    ],
)
def test_pinyin_is_a_name_in_either_order_and_with_a_surname_in_capitals(text: str, name: str) -> None:
    """Syllables of Pinyin with a surname first or last are a Chinese name."""
    assert name not in redact(text, policy_for("restricted")).text


@pytest.mark.parametrize(
    "text", ["Hong Kong Office will present the figures.", "Tai Chi class at noon.", "Dim Sum on Friday", "Wuhan Plant, Line Two", "The Chang Jiang bridge is closed.", "Yin Yang symbol"]
)  # fmt: skip
def test_places_and_things_in_pinyin_stay(text: str) -> None:
    """Words that are written in Pinyin but name nobody stay."""
    assert redact(text, policy_for("restricted")).text == text
