"""How a claim stands to a text: its words, or what of them was changed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wenyuan.core.claims import Claim, claims_of
from wenyuan.core.places import ClaimDifference
from wenyuan.core.tokens import tokens_of
from wenyuan.core.verification import compared_with, stitched

ZH = (
    "客户投诉应当在24小时内首次响应，并登记投诉编号。不得拒绝登记。年假未休完的，可以延至次年三月底。"
    "开挖深度超过5m的基坑应当组织专家论证。本办法自2026年1月1日起施行。"
)
EN = (
    "Employees must not share passwords with anyone. Unused leave of up to five days may be carried over until "
    "31 March 2025. The pool times out after 30 seconds of waiting. Receipts are kept for seven years."
)


def kind(claim: str, text: str) -> str:
    found = compared_with(tokens_of(claim), text)
    return "" if found is None else found.kind


@pytest.mark.parametrize(
    ("claim", "text"),
    [
        ("客户投诉应当在24小时内首次响应，并登记投诉编号。", ZH),
        ("客户投诉应当在二十四小时内首次响应", ZH),
        ("客户投诉应当在２４　小时内首次响应，", ZH),
        ("客戶投訴應當在24小時內首次響應", ZH),
        ("本办法自２０２６年１月１日起施行", ZH),
        ("Unused leave of up to 5 days may be carried over until 31 March 2025", EN),
        ("UNUSED LEAVE of up to five days may be carried over until 31 March 2025", EN),
        ("Receipts are kept for 7 years", EN),
    ],
)
def test_the_same_words_in_any_form_are_verbatim(claim: str, text: str) -> None:
    """Width, case, marks, Traditional characters and the way a number is written make no difference."""
    assert kind(claim, text) == "verbatim"


@pytest.mark.parametrize(
    ("claim", "text", "expected"),
    [
        ("客户投诉应当在48小时内首次响应，并登记投诉编号。", ZH, "number_changed"),
        ("客户投诉应当在24分钟内首次响应，并登记投诉编号。", ZH, "unit_changed"),
        ("年假未休完的，可以延至次年四月底。", ZH, "date_changed"),
        ("本办法自2027年1月1日起施行。", ZH, "date_changed"),
        ("客户投诉可以在24小时内首次响应，并登记投诉编号。", ZH, "modality_changed"),
        ("开挖深度超过5m的基坑无需组织专家论证。", ZH, "modality_changed"),
        ("客户投诉不应当在24小时内首次响应，并登记投诉编号。", ZH, "negation_changed"),
        ("年假未休完的，不可以延至次年三月底。", ZH, "negation_changed"),
        ("开挖深度低于5m的基坑应当组织专家论证。", ZH, "number_changed"),
        ("Unused leave of up to seven days may be carried over until 31 March 2025.", EN, "number_changed"),
        ("Unused leave of up to five weeks may be carried over until 31 March 2025.", EN, "unit_changed"),
        ("Unused leave of up to five days may be carried over until 31 March 2026.", EN, "date_changed"),
        ("Unused leave of up to five days must be carried over until 31 March 2025.", EN, "modality_changed"),
        ("Unused leave of up to five days may not be carried over until 31 March 2025.", EN, "negation_changed"),
        ("Employees must share passwords with anyone.", EN, "negation_changed"),
        ("Receipts are not kept for seven years.", EN, "negation_changed"),
        ("The pool times out after 30 minutes of waiting.", EN, "unit_changed"),
    ],
)
def test_what_was_changed_is_told(claim: str, text: str, expected: str) -> None:
    """One number, unit, date, negation, or word of may and must that differs is named, with both wordings."""
    found = compared_with(tokens_of(claim), text)
    assert found is not None
    assert found.kind == expected
    assert found.changes
    for change in found.changes:
        assert change.was in text
        assert change.said in claim


@pytest.mark.parametrize(("claim", "text"), [("拒绝登记", ZH), ("share passwords with anyone", EN)])
def test_words_behind_a_negation_are_not_quoted_without_it(claim: str, text: str) -> None:
    assert kind(claim, text) == "negation_changed"


def test_the_change_shows_both_sides() -> None:
    found = compared_with(tokens_of("客户投诉应当在48小时内首次响应，并登记投诉编号。"), ZH)
    assert found is not None
    assert found.changes == (ClaimDifference("24小时", "48小时"),)
    ((start, end),) = found.spans
    assert ZH[start:end] == "客户投诉应当在24小时内首次响应，并登记投诉编号"


@pytest.mark.parametrize(
    ("claim", "text"),
    [
        ("今天天气很好。", ZH),
        ("The connection pool gives up when it has waited long enough.", EN),
        ("基坑由谁负责组织论证？", ZH),
    ],
)
def test_other_words_are_not_called_changed(claim: str, text: str) -> None:
    """What says it in other words, or says something else, is neither verbatim nor changed."""
    assert kind(claim, text) in ("", "paraphrase")


@pytest.mark.parametrize(
    ("claim", "text"),
    [
        ("开挖深度超过5m的基坑，年假未休完的，可以延至次年三月底。", ZH),
        ("Employees must not share passwords times out after 30 seconds of waiting.", EN),
    ],
)
def test_pieces_of_several_sentences_are_stitched(claim: str, text: str) -> None:
    """Each piece is named with its place; one sentence with a word left out is no such thing."""
    pieces = stitched(tokens_of(claim), [text])
    assert len(pieces) == 2
    assert all(text[start:end] for _, (start, end) in pieces)
    assert not stitched(tokens_of(text.split("。" if text is ZH else ". ", maxsplit=1)[0]), [text])


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("投诉应在24小时内响应[1]。年假可延。[2,3]", [("投诉应在24小时内响应。", "1"), ("年假可延。", "2 3")]),
        ("按规定执行（来源：policies#12）。", [("按规定执行。", "policies#12")]),
        ("按规定执行【第2条】。", [("按规定执行。", "第2条")]),
        ("Leave is five days. [^1] It ends [[policies#3]].", [("Leave is five days.", "1"), ("It ends.", "policies#3")]),
        ("See it (source: https://a.example/b).", [("See it.", "https://a.example/b")]),
        ("A [link](https://a.example) is no mark.", [("A [link](https://a.example) is no mark.", "")]),
        ("[1] 先有标记。", [("先有标记。", "1")]),
        ("……。!!", []),
    ],
)  # fmt: skip
def test_marks_of_sources(answer: str, expected: list[tuple[str, str]]) -> None:
    """A mark belongs to the sentence that it stands in, or behind."""
    assert claims_of(answer) == [Claim(text, tuple(cited.split())) for text, cited in expected]


texts = st.text(st.sampled_from("客户投诉应当在24小时内不得可以。，；ﬁﾊﾞ\n .,5mМИaé"), min_size=0, max_size=60)


@given(texts, texts)
def test_any_text_is_compared(claim: str, text: str) -> None:
    """Whatever the characters: spans lie within the text, and a text that has words is verbatim in itself."""
    found = compared_with(tokens_of(claim), text)
    if found is not None:
        assert all(0 <= start < end <= len(text) for start, end in found.spans)
    if tokens_of(text).tokens:
        assert kind(text, text) == "verbatim"


@pytest.mark.parametrize(
    ("claim", "text"),
    [
        ("The keys are handed over by 1 September at noon.", "The keys are handed over no later than 1 September at noon."),
        ("Staff of five years or more have 28 days of leave.", "Staff of at least five years have 28 days of leave."),
        ("Leave longer than three days needs a certificate.", "Leave of more than three days needs a certificate."),
        ("Adults take 0.5 g every six hours.", "Adults take 500 mg every 6 hours."),
        ("Trips cancelled less than two days before departure are not refunded.", "Trips cancelled less than 48 hours before departure are not refunded."),
        ("Severity 2 incidents are answered within 4 hours.", "Severity 1 incidents are answered within 15 minutes, severity 2 incidents within 4 hours."),
        ("Copies are kept for ninety days.", "Copies run every night at 02:00 and are kept for 90 days."),
        ("Hand luggage has to fit into a frame.", "Hand luggage may weigh up to 8 kg and must fit into a frame."),
        ("Store the vials between −25 and −15 °C.", "Store the vials at −25 °C to −15 °C."),
        ("管理员必须每180天至少更换一次全部密钥。", "管理员应当至少每180天更换一次全部密钥。"),
        ("面值少于100元的礼品卡三年后失效。", "面值不足100元的礼品卡三年后失效。"),
        ("手提行李重量在8公斤以内，尺寸不限。", "手提行李重量不超过8公斤，尺寸不限。"),
        ("本品禁止用于重度肾病患者。", "本品禁用于重度肾病患者。"),
        ("锅炉房内严禁存放汽油，任何时候不得吸烟。", "严禁在锅炉房内存放汽油，任何时候不得吸烟。"),
        ("没有质量问题的，退货运费由买家承担。", "商品有质量问题的，退货运费由商家承担；没有质量问题的，由买家承担。"),
        ("确认无裂缝后才能施工，并做好记录。", "确认无裂缝后方可施工，并做好记录。"),
    ],
)  # fmt: skip
def test_the_same_in_other_words_is_not_called_changed(claim: str, text: str) -> None:
    """Other words of a bound, a duty or a span of time, and one of two things that a sentence says."""
    assert kind(claim, text) in ("", "verbatim", "part", "paraphrase")


@pytest.mark.parametrize(
    ("claim", "text", "expected"),
    [
        ("The buyer pays the seller before the seller ships.", "The seller pays the buyer before the buyer ships.", "relation_changed"),
        ("Photographs are allowed in the yard, but not in the hall.", "Photographs are allowed in the hall, but not in the yard.", "relation_changed"),
        ("管理员应当至少每180天更换一次部分密钥。", "管理员应当至少每180天更换一次全部密钥。", "relation_changed"),
        ("具备资格的护士能输血，并由第二人核对姓名。", "只有具备资格的护士才能输血，并由第二人核对姓名。", "relation_changed"),
        ("大部分密钥应当每180天更换一次。", "全部密钥应当每180天更换一次。", "relation_changed"),
        ("All common household disinfectants will work.", "Most common household disinfectants will work.", "relation_changed"),
        ("加班须事后经部门负责人批准。", "加班须事先经部门负责人批准。", "relation_changed"),
        ("Staff have 28 days of leave a month.", "Staff have 28 days of leave a year.", "unit_changed"),
        ("每逾期一日支付总价的百分之三作为违约金。", "每逾期一日支付总价的千分之三作为违约金。", "unit_changed"),
        ("每逾期一日支付总价的千分之五作为违约金。", "每逾期一日支付总价的千分之三作为违约金。", "number_changed"),
        ("A third person checks the name of the patient.", "A second person checks the name of the patient.", "number_changed"),
        ("Racks lower than 2 m need rails on all sides.", "Racks higher than 2 m need rails on all sides.", "number_changed"),
        ("Noise above 85 dB may be measured again.", "Noise above 85 dB must be measured again.", "modality_changed"),
        ("十二岁以下儿童免费乘车。", "十二岁以下儿童由成人陪同的，免费乘车。", "part"),
        ("到期后 60 天发提醒；到期后账号冻结。", "1. 到期前 60 天发提醒；到期后账号冻结。\n2. 首次购买后 7 天内可退款。", "relation_changed"),
        ("各病区护士长负责清点、送收；护理员负责审核数量。", "- 被服中心负责洗涤。\n- 各病区护理员负责清点、送收；护士长负责审核数量。", "relation_changed"),
        ("The hall opens after 09:00 or before 19:30 with a key.", "2.3 The hall opens before 09:00 or after 19:30 with a key.", "relation_changed"),
        ("The claim is sent to Finance by the first Friday of the month.", "5.2 The claim is sent to Finance by the last Friday of the month.", "relation_changed"),
        ("双方应当在合同首页签字并加盖公章。", "双方应当在合同末页签字并加盖公章。", "relation_changed"),
    ],
)  # fmt: skip
def test_what_a_sentence_says_otherwise_is_named(claim: str, text: str, expected: str) -> None:
    """Parties, order, extent, periods, shares, places in an order, and a condition in the middle."""
    assert kind(claim, text) == expected


@pytest.mark.parametrize(
    ("claim", "text"),
    [
        ("Staff get a laptop on the first day, and it stays the property of the firm.", "Staff get a laptop on the first day. It stays the property of the firm."),
        ("礼品卡三年后一律失效，并且礼品卡不得兑换现金。", "礼品卡三年后一律失效。礼品卡不得兑换现金。"),
        ("试用期最长不超过六个月，同时试用期工资不低于八成。", "试用期最长不超过六个月。试用期工资不低于八成。"),
    ],
)  # fmt: skip
def test_neighbouring_sentences_that_are_joined_are_not_stitched(claim: str, text: str) -> None:
    """Both are said, one after the other."""
    assert not stitched(tokens_of(claim), [text])


@pytest.mark.parametrize(
    ("claim", "text"),
    [
        ("The gym is in the basement; bring your badge with you, as you need it to get back in.", "The gym is in the basement. Make sure you bring your badge with you, as you need it to get back in."),
        ("礼品卡三年后一律失效，不得兑换现金或者转让给他人。", "礼品卡三年后一律失效。礼品卡不得兑换现金或者转让给他人。"),
    ],
)  # fmt: skip
def test_neighbouring_sentences_in_one_are_not_stitched_for_a_few_words_left_out(claim: str, text: str) -> None:
    """Nothing of weight is left out between them."""
    assert kind(claim, text) != "stitched"


@pytest.mark.parametrize(
    ("claim", "text"),
    [
        ("It is not true that the pump is safe at high pressure.", "Read this. The pump is safe at high pressure."),
        ("The pump is safe at high pressure is a myth.", "The pump is safe at high pressure."),
        ("有人误以为省级部门可以补充本地区的范围。", "省级部门可以补充本地区的范围。"),
        ("并非专家对论证报告负责并签字确认。", "专家对论证报告负责并签字确认。"),
        ("省级部门可以补充本地区的范围的说法是错误的。", "省级部门可以补充本地区的范围。"),
    ],
)
def test_a_claim_that_denies_a_whole_sentence_changes_it(claim: str, text: str) -> None:
    """Whether the words that deny stand before it or behind it."""
    assert kind(claim, text) == "negation_changed"


@pytest.mark.parametrize(
    "text", ["It is not true that the pump is safe at high pressure.", "有人误以为省级部门可以补充本地区的范围。"]
)
def test_a_denial_that_the_text_has_itself_is_verbatim(text: str) -> None:
    assert kind(text, text) == "verbatim"


@pytest.mark.parametrize(
    ("claim", "text"), [("水泵在高压下安全？", "水泵在高压下安全。"), ("The pump is safe?", "The pump is safe.")]
)
def test_a_question_is_no_quote(claim: str, text: str) -> None:
    assert kind(claim, text) == "paraphrase"


@pytest.mark.parametrize(
    ("claim", "text", "was", "said"),
    [
        ("The pool closes at 22:30.", "The pool closes at 21:30.", "21:30", "22:30"),
        ("游泳馆 晚上10点闭馆，周一除外。", "游泳馆 晚上9点闭馆，周一除外。", "晚上9点", "晚上10点"),
    ],
)
def test_a_time_of_day_is_shown_without_what_stands_beside_it(claim: str, text: str, was: str, said: str) -> None:
    """With the part of the day that it belongs to, and no blank."""
    found = compared_with(tokens_of(claim), text)
    assert found is not None
    assert found.changes == (ClaimDifference(was, said),)
