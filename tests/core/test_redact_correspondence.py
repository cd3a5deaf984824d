"""Names in mails, minutes, chats and rosters: each kind of place is known, and what looks like a name there stays."""

from __future__ import annotations

import pytest

from wenyuan.core.redaction.given_names import is_pinyin
from wenyuan.core.redaction.policy import policy_for
from wenyuan.core.redaction.redact import Redaction

REDACTION = Redaction(policy_for("restricted"), b"k" * 32)
FOUND = [
    ("裴文静｜渠道经理｜华东大区", "裴文静"),
    ("柯以敏 敬上", "柯以敏"),
    ("@甄子豪 麻烦把周报发一下", "甄子豪"),
    ("佟丽娟：收到，下午给你\n屈臣：好的", "佟丽娟"),
    ("戚文波 2025-03-01 09:12\n服务器已经重启", "戚文波"),
    ("会议由宫雪梅主持。", "宫雪梅"),
    ("经柴玉远提议，一致同意。", "柴玉远"),
    ("快递已由水均怡代收。", "水均怡"),
    ("周二 步惊云\n周三 甘露露", "步惊云"),
    ("考勤异常：芦苇杭 迟到 2 次", "芦苇杭"),
    ("抄报：岳鹏飞 窦文涛", "窦文涛"),
    ("柯雪梅强调，不能放松。", "柯雪梅"),
    ("Cc: Pawel Zielinski; Dana Whitmore", "Dana Whitmore"),
    ("Thanks again,\n\nBeatrix Holloway\nRegional Sales Director", "Beatrix Holloway"),
    ("On Tue at 9:14 AM Colin Abernathy wrote:", "Colin Abernathy"),
    ("Minutes taken by Oonagh Thackeray.", "Oonagh Thackeray"),
    ("ACTION: Zebulon Falk to update it by Friday.", "Zebulon Falk"),
    ("Lorna Beckett joined the call.", "Lorna Beckett"),
    ("@Quentin Sharp can you look?", "Quentin Sharp"),
    ("Hi Imogen,\nplease call me.", "Imogen"),
    ("RE: Morris Adler v. Union Bank", "Morris Adler"),
    ("Cao Jianming will pick you up.", "Cao Jianming"),
    ("the list has Xie Dongmei on it", "Xie Dongmei"),
]
STAYS = [
    "会议由安全部主持。", "由项目部牵头", "成交价：每件 100 元。", "@所有人 请看通知", "周一 例会\n周二 培训", "金额 2025-03-01 到账",
    "经董事会批准，", "与支持部门沟通。", "毛利率：按月计算的。", "哈希链说明不了什么。",
    "Night Shift joined the call.", "The list has Long Time on it", "Gary IN and Beverly Hills CA", "San Francisco CA was named by San Jose CA.",
    "Approved by Perini Company", "Quarterly Review raised it", "WeChat ID: none", "Beijing Team said so", "Grace Period said", "Virginia Beach wrote",
    "Thanks again,\n\nRegional Sales Director", "Hello World, again", "Dear Team,\n\nMain Contract",
]  # fmt: skip


@pytest.mark.parametrize(("text", "name"), FOUND)
def test_a_name_is_known_by_its_place(text: str, name: str) -> None:
    """It is gone, and counted as a person's."""
    redacted = REDACTION.text(text)
    assert name not in redacted.text
    assert redacted.counts["person"]


@pytest.mark.parametrize("text", STAYS)
def test_what_is_no_person_stays(text: str) -> None:
    """Offices, companies, places, labels and headings in the same places."""
    assert REDACTION.text(text).text == text


@pytest.mark.parametrize(
    ("words", "name"),
    [("Zhang Wei", True), ("Ouyang Jing", True), ("Luo Wenjing", True), ("Song List", False), ("Long Time", False), ("Beijing Team", False), ("Ma Said", False)],
)  # fmt: skip
def test_pinyin_is_told_from_english(words: str, name: bool) -> None:
    """A surname, and one or two syllables of Pinyin that are no English word."""
    assert is_pinyin(words.split()) is name
