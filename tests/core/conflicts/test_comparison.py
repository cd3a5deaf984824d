"""Which statements of two passages contradict one another, and which only look so."""

from __future__ import annotations

import pytest

from wenyuan.core.conflicts.comparison import contradiction, is_form
from wenyuan.core.conflicts.statement import ComparedStatement, statements_of
from wenyuan.core.model import Passage

NUMBERS = iter(range(1, 1_000_000))


def passage(text: str, title: str, *headings: str) -> Passage:
    """A passage of a document of its own."""
    number = next(NUMBERS)
    return Passage(
        passage_id=number, source_id="s", document_id=number, uri=f"file:///{number}", title=title, headings=headings,
        text=text, sha256="", start=0, end=len(text),
    )  # fmt: skip


def only(text: str, title: str, *headings: str) -> ComparedStatement:
    (one,) = statements_of(passage(text, title, *headings))
    return one


@pytest.mark.parametrize(
    ("kind", "one", "other"),
    [
        ("number_changed", "客户投诉应当在 24 小时内回复客户并登记。", "客户投诉应当在 48 小时内回复客户并登记。"),
        ("number_changed", "A complaint is answered within 5 working days.", "A complaint is answered within 7 working days."),
        ("number_changed", "出差住宿标准为每人每天 350 元。", "出差住宿标准为每人每天400元。"),
        ("number_changed", "投诉应当在24小时内答复。", "投诉应当在48小时内答复。"),
        ("number_changed", "产品保修期为12个月。", "产品保修期为24个月。"),
        ("unit_changed", "Backups of the ledger are kept for 30 days.", "Backups of the ledger are kept for 30 weeks."),
        ("date_changed", "年度体检报名截止到 9 月 15 日。", "年度体检报名截止到 9 月 30 日。"),
        ("negation_changed", "Visitors may take photographs in the hall.", "Visitors may not take photographs in the hall."),
        ("negation_changed", "试用期员工可以申请远程办公。", "试用期员工不可以申请远程办公。"),
        ("modality_changed", "Drivers must report the damage to the depot.", "Drivers may report the damage to the depot."),
        ("number_changed", "- 审批通过后 3 个工作日内完成账号开通。", "（二）审批通过后五个工作日内完成账号开通。"),
    ],
)  # fmt: skip
def test_another_figure_or_duty_in_the_same_words_contradicts(kind: str, one: str, other: str) -> None:
    """In two documents of different titles, whatever their numbering and spaces; told with both words."""
    found = contradiction(only(one, "客户服务制度"), only(other, "Questions of new colleagues"))
    assert found is not None and found.kind == kind
    assert found.changes and found.changes[0].was != found.changes[0].said


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("客户投诉应当在 24 小时内回复。", "客户投诉应当在一天内回复。"),
        ("A complaint is answered within 48 hours.", "A complaint is answered within two days."),
        ("出差住宿标准为每人每天 350 元。", "经理出差住宿标准为每人每天 500 元。"),
        ("HR-850 的额定压力为 6 bar。", "HR-900 的额定压力为 8 bar。"),
        ("工作满 1 年不满 10 年的员工年休假为 5 天。", "工作满 10 年不满 20 年的员工年休假为 10 天。"),
        ("本办法自 2024 年 3 月 1 日起施行。", "本办法自 2026 年 3 月 1 日起施行。"),
        ("情节严重的，处五千元以上罚款。", "情节严重的，处一万元以上罚款。"),
        ("The fee for such items is 5 euros.", "The fee for such items is 8 euros."),
        ("单位有前两款行为的，依照第一款的规定处罚。", "单位有前三款行为的，依照第一款的规定处罚。"),
        ("保证金的没收适用刑事诉讼法第十五条的规定。", "保证金的没收适用刑事诉讼法第十六条的规定。"),
        (
            "Deposits are returned as section 4 of the lease says.",
            "Deposits are returned as section 6 of the lease says.",
        ),
        ("The train to the plant leaves from platform 3.", "The train to the plant leaves from platform 7."),
        ("Visitors of the plant wait in room 204.", "Visitors of the plant wait in room 206."),
        ("3号会议室可以容纳二十位客人。", "5号会议室可以容纳二十位客人。"),
        ("第2组负责清点仓库的器材。", "第3组负责清点仓库的器材。"),
        ("Copies of the ledger are kept for 90 days.", "Copies of the ledger are kept for three months."),
        ("Is a complaint answered within 5 working days?", "Is a complaint answered within 7 working days?"),
    ],
)
def test_what_agrees_or_is_of_another_thing_does_not_contradict(one: str, other: str) -> None:
    """Equal amounts, other roles, products and cases, days of effect, statements that lean on others, questions."""
    for first in statements_of(passage(one, "客户服务制度")):
        for second in statements_of(passage(other, "Questions of new colleagues")):
            assert contradiction(first, second) is None


def test_titles_that_differ_by_one_word_are_of_other_things() -> None:
    """Rules for managers and for trainees, two products, two headings of grades; two versions are of the same."""
    said = ("每年带薪休假 10 天，须提前两周申请。", "每年带薪休假 5 天，须提前两周申请。")
    pairs = (
        ("经理休假手册", "实习生休假手册"),
        ("KL-320 说明书", "KL-450 说明书"),
        ("休假办法（成年）", "休假办法（少年）"),
    )
    for titles in pairs:
        assert contradiction(only(said[0], titles[0]), only(said[1], titles[1])) is None
    versions = only(said[0], "休假制度（2024 年版）"), only(said[1], "休假制度 V2.1（试行）")
    assert contradiction(*versions) is not None
    sections = only(said[0], "手册", "甲类岗位休假"), only(said[1], "手册", "乙类岗位休假")
    assert contradiction(*sections) is None


def test_rows_of_two_price_lists_are_compared_by_what_they_are_of() -> None:
    """The same row with another price contradicts; another row, and the head of the table, do not."""
    table = "| 房型 | 价格 |\n|---|---|\n| 标准间 | {} 元 |\n| 豪华间 | {} 元 |\n"
    first = list(statements_of(passage(table.format(280, 480), "客房价目表（2024）")))
    second = list(statements_of(passage(table.format(300, 480), "客房价目表（2025）")))
    assert [one.text for one in first] == ["| 标准间 | 280 元 |", "| 豪华间 | 480 元 |"]
    found = [(one.text, other.text) for one in first for other in second if contradiction(one, other)]
    assert found == [("| 标准间 | 280 元 |", "| 标准间 | 300 元 |")]


def test_a_form_that_many_fill_in_differently_is_no_contradiction() -> None:
    """Except between two versions of one section."""
    said = [
        only(f"借用的投影器材按每日 {price} 元收取押金。", title)
        for price, title in zip((5, 8, 9, 4, 7), "甲乙丙丁戊", strict=True)
    ]
    assert is_form(said) and not is_form(said[:4])
    assert contradiction(said[0], said[1], form=False) is not None
    assert contradiction(said[0], said[1], form=True) is None
    versions = [only(said[0].text, "借用规则 2024"), only(said[1].text, "借用规则 2025")]
    assert contradiction(*versions, form=True) is not None


def test_numbers_and_marks_before_a_statement_are_not_part_of_it() -> None:
    """Of its place in the passage, the words themselves are given; long sentences and headings are none."""
    text = f"## 第二条 时限\n\n2.1 **投诉**应在 24 小时内回复。\n\n{'长' * 700} 24 小时。"
    (one,) = statements_of(passage(text, "制度"))
    assert (one.text, one.quote) == ("投诉应在 24 小时内回复。", "**投诉**应在 24 小时内回复。")
