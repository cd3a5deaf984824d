"""Names in sentences without a cue: what their characters or words, and what stands around them, say together."""

from __future__ import annotations

import pytest

from wenyuan.core.redaction.policy import policy_for
from wenyuan.core.redaction.redact import Redaction

REDACTION = Redaction(policy_for("restricted"), b"a key of this tenant, 32 bytes..")

CHINESE = {
    "今天的晨会王丽华没到，说是孩子发烧。": "王丽华",
    "报销单已经交给财务陈志强，预计周五到账。": "陈志强",
    "谢婷出差了，有急事打他手机。": "谢婷",
    "合同一式两份，由韩东升与程立新各执一份。": "韩东升 程立新",
    "钥匙在欧阳志远那里，他六点下班。": "欧阳志远",
    "# 作者 唐晓玲 2024-05-06 修改了超时时间": "唐晓玲",
    "本次事故中，彭海燕手部受伤，已送医。": "彭海燕",
    "// TODO(夏玲): 这里要加锁": "夏玲",
    "我把文件放在司马雪桌上了。": "司马雪",
    "我妈叫傅雪，我爸叫程立新。": "傅雪 程立新",
}
CALLED = {
    "麻烦问一下王工，图纸改好没有？": "王工",
    "小陈说下午三点开会。": "小陈",
    "这事得周主任点头才行。": "周主任",
    "让阿强把样品寄过来": "阿强",
    "他外号大熊，大家都这么叫。": "大熊",
    "The boss, Anna Walters (aka Bear), agreed.": "Bear",
}
ENGLISH = {
    "We are sorry to announce that Tomasz Kowalski is leaving the company.": "Tomasz Kowalski",
    "According to Siobhan Kelly, the door was open.": "Siobhan Kelly",
    "Please transfer the money to Ngozi Eze, account at Barclays.": "Ngozi Eze",
    "Is Bronwyn Hughes in? There is a parcel for her.": "Bronwyn Hughes",
    "Our driver was called Zoltanka Quarrabee.": "Zoltanka Quarrabee",
    "The car belongs to Saskia de Vries.": "Saskia de Vries",
}
STAYS = [
    "高兴的是大家都来了。",
    "施工单位负责现场管理。",
    "成功的关键在于坚持。",
    "目的制造、使用、许诺销售的，依法处理。",
    "老师说下午三点开会。",
    "老板请大家吃饭。",
    "施工前应当检查。",
    "昵称不能为空。",
    "何总是迟到的人",
    "Quarterly Review will be held in the Board Room.",
    "Northern Rail and Central Park are closed.",
    "Please ask the Help Desk about the Risk Register.",
    "Elastic Search and Apache Kafka run on port 9200.",
]


@pytest.mark.parametrize(("text", "names"), [*CHINESE.items(), *CALLED.items()])
def test_a_name_in_any_sentence_is_found(text: str, names: str) -> None:
    """Its characters, and what general text would have in their place, tell it; so does how somebody is called."""
    redacted = REDACTION.text(text).text
    assert not [name for name in names.split() if name in redacted]


@pytest.mark.parametrize(("text", "name"), ENGLISH.items())
def test_an_english_name_in_any_sentence_is_found(text: str, name: str) -> None:
    """Names from many countries, and words that English hardly has where somebody is spoken of."""
    assert name not in REDACTION.text(text).text


@pytest.mark.parametrize("text", STAYS)
def test_words_that_could_begin_a_name_stay(text: str) -> None:
    """Words of general text that begin with a surname, offices, products and places."""
    assert REDACTION.text(text).text == text


def test_names_in_a_row_without_anything_between_them_settle() -> None:
    """A mark beside a name is no edge of it, nor a part: what is left behind a round of redaction is no name in the next."""
    once = REDACTION.text("王丽华张晓峰刘思琪" * 40 + "王丽" * 40 + " Anna Smith Omar Hassan" * 40).text
    assert "⟦姓名⟧" in once
    assert REDACTION.text(once).text == once
