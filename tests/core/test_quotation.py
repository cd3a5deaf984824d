"""What signs, context, order and extent make of a claim, and what is no change however it is written."""

from __future__ import annotations

import pytest

from wenyuan.core.quotation import left_out, whole
from wenyuan.core.tokens import tokens_of
from wenyuan.core.verification import compared_with


def kind(claim: str, text: str) -> str:
    found = compared_with(tokens_of(claim), text)
    return "" if found is None else found.kind


@pytest.mark.parametrize(
    ("claim", "text"),
    [
        ("The pump is safe at high pressure", "It is not true that the pump is safe at high pressure."),
        ("Store petrol in the cellar.", "It is forbidden to store petrol in the cellar."),
        ("The valve must be closed by hand.", "Unless the safety officer agrees, the valve must be closed by hand."),
        ("Managers may approve expenses above 500 euros.", "Only managers may approve expenses above 500 euros."),
        ("任何人不得进入锅炉房", "除检修人员外，任何人不得进入锅炉房。"),
        (
            "应当立即组织作业人员撤离危险区域。",
            "施工单位应当安全巡视，发现危及人身安全的紧急情况，应当立即组织作业人员撤离危险区域。",
        ),
        ("应当立即停止使用。", "使用单位应当每日检查，发生故障，应当立即停止使用。"),
        ("The pump can be started dry.", "The manual wrongly says that the pump can be started dry."),
        ("进入公园应当使用牵引绳", "犬只进入公园应当使用牵引绳；导盲犬除外。"),
        ("犬只进入公园应当使用牵引绳", "犬只进入公园应当使用牵引绳；导盲犬除外。"),
        ("Dogs must be kept on a lead.", "Dogs must be kept on a lead. However, this does not apply to guide dogs."),
    ],
)
def test_a_part_that_the_rest_governs_is_no_quote(claim: str, text: str) -> None:
    """A condition, an exception, a negation or a report that was left out is named with what it governs."""
    found = compared_with(tokens_of(claim), text)
    assert found is not None
    assert found.kind in ("part", "negation_changed")
    assert found.changes[0].was


@pytest.mark.parametrize(
    ("claim", "text"),
    [
        ("Store the reagent at 20 °C.", "Store the reagent at −20 °C."),
        ("Store the reagent at 20 °C.", "Store the reagent at -20 °C."),
        ("The tolerance is +2 mm.", "The tolerance is ±2 mm."),
        ("The pH is ≤7 in the tank.", "The pH is ≥7 in the tank."),
        ("工作温度为−60 ℃。", "工作温度为60 ℃。"),
        ("The count is 10 6 per litre.", "The count is 10^6 per litre."),
        ("The count is 106 per litre.", "The count is 10⁶ per litre."),
        ("Use the bolt A12 for the frame.", "Use the bolt A-12 for the frame."),
        ("The line carries 48 V.", "The line carries −48 V."),
        ("The fee is USD 45 for each copy.", "The fee is EUR 45 for each copy."),
        ("The fee is GBP 45 for each copy.", "The fee is CHF 45 for each copy."),
        ("The fee is £45 for each copy.", "The fee is €45 for each copy."),
        ("Mix resin and hardener at 1:3.", "Mix resin and hardener at 3:1."),
        ("The dose is 5 mg daily.", "The dose is 5 µg daily."),
        ("The dose is 5 mg daily.", "The dose is 0.5 mg daily."),
    ],
)
def test_signs_and_codes_count(claim: str, text: str) -> None:
    """Another sign, bound, power, currency, ratio or code is another number."""
    assert kind(claim, text) in ("number_changed", "unit_changed", "paraphrase")
    assert kind(text, text) == "verbatim"


@pytest.mark.parametrize(
    ("claim", "text"),
    [
        ("The count is 10^6 per litre.", "The count is 10⁶ per litre."),
        ("保修期为1年。", "保修期为12个月。"),
        ("The warranty lasts 2 years.", "The warranty lasts 24 months."),
        ("试用期为六个月。", "试用期为半年。"),
        ("The pool waits one minute.", "The pool waits 60 seconds."),
        ("Leave ends after 28 days.", "Leave ends after four weeks."),
        ("本办法自2025-03-01起施行。", "本办法自2025年3月1日起施行。"),
        ("The job runs at 2:00 every day.", "The job runs at 02:00 every day."),
        ("食堂6:00开放。", "食堂6时开放。"),
        ("You cannot share your key.", "You can't share your key."),
        ("You can’t share your key.", "You can't share your key."),
        ("The effective date is March 1, 2025.", "The effective date is 2025-03-01."),
        ("The shop opens at 9 a.m. on weekdays.", "The shop opens at 9:00 on weekdays."),
        ("Ages 5-20 are admitted.", "Ages 5–20 are admitted."),
        ("温度为-5℃至10℃。", "温度为零下5℃至10℃。"),
        ("After 10 minutes the pump stops.", "- After 10 minutes the pump stops."),
    ],
)
def test_the_same_in_another_form_is_verbatim(claim: str, text: str) -> None:
    """Spans of time, dates, times of day and contractions have one form each."""
    assert kind(claim, text) == "verbatim"


@pytest.mark.parametrize(
    ("claim", "text"),
    [
        ("气温应不低于5℃时方可施工。", "气温不低于5℃时方可施工。"),
        ("员工应当在三天内提交申请。", "员工须在三天内提交申请。"),
        ("Severity 2 incidents are answered within 4 hours.", "Severity 1 incidents are answered within 1 hour."),
        (
            "The option sets the port; the default value is 7600.",
            "The option sets the port; the value must be a number.",
        ),
        ("Employees submit the form to the manager.", "The manager submits the form to employees."),
    ],
)
def test_what_is_not_shown_to_differ_is_not_called_changed(claim: str, text: str) -> None:
    """Another word for a duty, another thing with its own number, or a number that the text does not have at that place."""
    assert kind(claim, text) in ("", "verbatim", "paraphrase")


@pytest.mark.parametrize(
    ("claim", "text"),
    [
        ("Backups run before the upgrade.", "Backups run after the upgrade."),
        ("Some staff may use the lift.", "All staff may use the lift."),
        ("Backups run before the upgrade is started.", "Backups run after the upgrade is started."),
        ("甲方应当在三日内通知乙方", "乙方应当在三日内通知甲方。"),
        ("部分员工应当参加年度体检。", "所有员工应当参加年度体检。"),
        ("验收之后应当清理现场。", "验收之前应当清理现场。"),
        ("Only managers may sign contracts above 5 million.", "Managers may sign contracts above 5 million."),
    ],
)
def test_order_and_extent_that_differ_are_named(claim: str, text: str) -> None:
    """Before and after, all and some, only, and two names in each other's place."""
    assert kind(claim, text) == "relation_changed"


@pytest.mark.parametrize(
    ("text", "part", "expected"),
    [
        ("进入公园应当使用牵引绳；导盲犬除外。请爱护草坪。", "牵引绳", "进入公园应当使用牵引绳；导盲犬除外。"),
        ("应当提交：申请书；身份证；照片。窗口当日办结。", "身份证", "应当提交：申请书；身份证；照片。"),
        (
            "Dogs are kept on a lead. However, this does not apply to guide dogs. Be kind.",
            "Dogs",
            "Dogs are kept on a lead. However, this does not apply to guide dogs.",
        ),
        ("One. Two. Three.", "Two", "Two."),
    ],
)
def test_a_sentence_is_whole_with_its_list_and_its_exception(text: str, part: str, expected: str) -> None:
    """What ends in a semicolon goes on, and what begins with *but* belongs to what stands before."""
    start, end = whole(text, text.index(part), text.index(part) + len(part))
    assert text[start:end] == expected


@pytest.mark.parametrize(
    ("claim", "text"),
    [("工作压力≤16兆帕。", "工作压力≥16兆帕。"), ("The pressure is ≤ 16 MPa.", "The pressure is ≥ 16 MPa.")],
)
def test_a_bound_before_a_quantity_counts(claim: str, text: str) -> None:
    assert kind(claim, text) == "number_changed"


def test_two_words_for_the_same_duty_are_no_change() -> None:
    assert kind("经理可以批准支出，不需要董事会同意。", "经理可以批准支出，无需董事会同意。") == "paraphrase"


def test_all_is_what_is_said_without_it() -> None:
    assert (
        kind("All invoices must be kept for seven years.", "Invoices must be kept for seven years.") == "paraphrase"
    )
    assert kind("GB50300-2013 的要求", "GB 50300-2013 的要求") == "verbatim"


def test_a_clause_of_its_own_may_stand_alone() -> None:
    """A clause beside another one that is no condition is whole enough."""
    text = "The pump is safe at high pressure, and the valve opens at 5 bar."
    assert left_out(text, 0, len("The pump is safe at high pressure")) == ""


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("On bereavement or hospital stay, a librarian may extend all loans.", "a librarian may extend all loans."),
        ("4.2 In the cellar, smoking is allowed.", "smoking is allowed."),
        ("For children under six, entry is free.", "entry is free."),
        ("遇有六级大风，塔吊停止作业。", "塔吊停止作业。"),
        ("第五条 对新入职人员，培训期为三天。", "培训期为三天。"),
    ],
)
def test_what_a_sentence_opens_with_governs_the_rest(text: str, part: str) -> None:
    """Of what, when or where the rest holds is not left out without a word."""
    assert left_out(text, text.index(part), len(text))


def test_a_number_before_a_sentence_governs_nothing() -> None:
    """Nor does *for example*."""
    for text in ("4.2 Smoking is allowed.", "For example, smoking is allowed.", "第五条 培训期为三天。"):
        part = text[-len("培训期为三天。") :] if "培" in text else "moking is allowed."
        begin = text.index(part) - (0 if "培" in text else 1)
        assert left_out(text, begin, len(text)) == ""
