"""Where both languages answer, a question is answered first from documents of its own language."""

from __future__ import annotations

from pathlib import Path

import wenyuan

RULES = (
    ("Annual leave",
     "Employees with three years of service have ten days of annual leave; unused days expire at the end of March.",
     "年休假", "工龄满三年的员工每年有十天年休假，未休天数在次年三月底作废。",
     "how many days of annual leave do I have after three years", "工作三年有几天年假"),
    ("Lost badge",
     "A lost badge is reported to reception at once; a new one costs twenty yuan and is ready the next day.",
     "门禁卡遗失", "门禁卡遗失应立即到前台挂失，补办费用二十元，次日领取。",
     "what does it cost when I lose my badge", "门卡丢了补一张多少钱"),
    ("Travel by train",
     "Journeys of less than five hours are made by train in second class; first class needs approval by the head of department.",
     "火车出行", "五小时以内的行程乘坐火车二等座，一等座须部门负责人批准。",
     "may I go first class on the train", "坐高铁能买一等座吗"),
    ("Hotel rates",
     "In large cities a hotel may cost five hundred yuan a night, elsewhere three hundred and fifty.",
     "住宿标准", "大城市住宿每晚不超过五百元，其他城市三百五十元。",
     "how expensive may the hotel be", "出差住酒店一晚最多多少"),
    ("Passwords",
     "Passwords have twelve characters or more and are changed every ninety days.",
     "密码", "密码不少于十二位，每九十天更换一次。",
     "how often do I have to change the password", "密码多久换一次"),
    ("Visitors",
     "Visitors are met at the gate and wear a yellow card all the time.",
     "访客", "访客由员工到门口迎接，全程佩戴黄色访客证。",
     "what must a visitor wear", "客人进来要戴什么"),
    ("Overtime",
     "Overtime is approved before it is done and is taken as time off within two months.",
     "加班", "加班须事先批准，两个月内调休。",
     "by when do I take time off for overtime", "加班调休多久之内要休完"),
    ("Fire drill",
     "The fire drill takes place twice a year; everybody gathers in the car park behind building B.",
     "消防演习", "消防演习每年两次，全体人员在B栋后面的停车场集合。",
     "where do we gather in the fire drill", "消防演习在哪里集合"),
    ("Expense claims",
     "Expenses are claimed within thirty days with the original invoice; later ones are not paid.",
     "报销", "费用应在三十天内凭发票原件报销，逾期不予报销。",
     "until when can I claim expenses", "发票多久之内要报销"),
    ("Remote work",
     "Working from home is possible on two days a week after the probation period.",
     "居家办公", "试用期满后每周可居家办公两天。",
     "how many days may I work from home", "一周能在家办公几天"),
)  # fmt: skip
"""Of each rule title and text in English and in Chinese, and a question in each."""


def test_each_question_is_answered_in_its_language(tmp_path: Path) -> None:
    """Ten rules that a library has in both languages, each asked for in both, in other words than it says."""
    for number, (title, text, chinese_title, chinese, _, _) in enumerate(RULES):
        (tmp_path / f"{number}-en.md").write_text(f"# {title}\n\n{text}\n", "utf-8")
        (tmp_path / f"{number}-zh.md").write_text(f"# {chinese_title}\n\n{chinese}\n", "utf-8")
    search = {"abstain": "off", "deadline": 60}
    with wenyuan.open(tmp_path / "library", create=True, search=search) as library:
        library.add(wenyuan.Source(source_id="rules", path=str(tmp_path)))
        assert library.search("leave", limit=1).hits
        for *_, english, han in RULES:
            for question, language in ((english, "en"), (han, "zh")):
                answer = library.search(question, limit=3)
                first = answer.passages[answer.hits[0].passage_id]
                number = next(n for n, rule in enumerate(RULES) if question in rule)
                assert f"{number}-{language}.md" in first.uri, (question, first.uri)
