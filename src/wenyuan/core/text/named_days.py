"""Days and seasons that a question names (端午节, 周六, *Christmas*, *on Sundays*), and whether a text speaks of them.

Of the questions of public sets that name a feast, a day of the week or a season 37 of 38 have it in the passage that answers them. A text
speaks of a day, too, where it says so in other words (新年, 工作日, *weekdays*), of a span in which it may lie (周一至周五), or of all days
(每天, *daily*); of a feast, where it speaks of feasts (节假日, *public holidays*) and names no other one. Months and times of the day are left
out: rules that hold for them seldom name them.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from wenyuan.core.text.folding import fold


class NamedDay(NamedTuple):
    """A day or a season that a question names.

    Attributes:
        shown: As it is asked, folded.
        said_as: Matches what a text says that speaks of it.
        feast: A text that speaks of feasts in general may mean it.
    """

    shown: str
    said_as: re.Pattern[str]
    feast: bool = False

    def is_meant_in(self, folded: str) -> bool:
        """Whether a text speaks of the day.

        Args:
            folded: The text; see `core.text.folding.fold`.
        """
        if self.said_as.search(folded):
            return True
        return self.feast and (
            _AND_OTHERS.search(folded) is not None
            or (_ANY_FEAST.search(folded) is not None and _NAMED_FEAST.search(folded) is None)
        )


_ANY_FEAST = re.compile(r"节假日|节日|假日|假期|法定假|法定节|(?<![a-z])holidays?(?![a-z])|(?<![a-z])festiv")
_AND_OTHERS = re.compile(
    r"等(?:国家|法定|重大|传统){0,3}(?:节|假)|(?<![a-z])(?:all|other|every|each|any) (?:public |bank )?holidays?(?![a-z])"
)
_FEASTS = (
    ("春节|过年|大年(?:初[一二三四五六七])?|(?:lunar|chinese) new year", "春节|过年|新春|新年|大年|除夕|new year"),
    (
        "元旦|new year'?s?(?: day| eve)?",
        r"元旦|新年|1 ?月 ?1 ?日|new year|(?<![a-z])january(?![a-z])|(?<![a-z])december(?![a-z])",
    ),
    ("除夕", "除夕|春节|大年"),
    ("元宵节?", "元宵|正月十五"),
    ("清明节?(?!上河)", "清明"),
    ("端午节?", "端午"),
    ("七夕节?", "七夕"),
    ("中秋节?", "中秋"),
    ("重阳节?", "重阳"),
    ("国庆[节日]?", "国庆|十一|10 ?月 ?1 ?日"),
    ("劳动节|五一(?:节|长假|放假|假期|期间)|labou?r day", "劳动节|五一|5 ?月 ?1 ?日|labou?r day"),
    ("儿童节|六一节", "儿童节|六一"),
    ("妇女节|三八节", "妇女节|三八"),
    ("教师节", "教师节"),
    (
        "圣诞节?|christmas(?: day| eve)?|xmas|boxing day",
        r"圣诞|christmas|xmas|boxing day|(?<![a-z])december(?![a-z])|12 ?月 ?2[456]",
    ),
    ("good friday|easter(?: (?:sunday|monday))?", "good friday|easter"),
    ("thanksgiving(?: day)?", "thanksgiving"),
    ("hallowe'?en", "hallowe'?en"),
)
_ANY_MONTH = r"[\d一二三四五六七八九十] ?月|(?<![a-z])(?:january|february|march|april|may|june|july|august|september|october|november|december)(?![a-z])"
_SEASONS = (
    ("春[天季]", "春"),
    ("夏[天季]|summer", r"夏|暑|(?<![a-z])summer"),
    ("秋[天季]|autumn", r"秋|(?<![a-z])autumn|(?<![a-z])fall(?![a-z])"),
    ("冬[天季]|winter", r"冬|寒|采暖|(?<![a-z])winter"),
    ("暑假", "暑|夏|假期"),
    ("寒假", "寒假|冬|假期"),
)
_WEEK = {
    "一": "mon(?:days?)?", "二": "tue(?:s(?:days?)?)?", "三": "wed(?:nesdays?)?", "四": "thu(?:rs(?:days?)?)?", "五": "fri(?:days?)?",
    "六": "sat(?:urdays?)?", "日": "sun(?:days?)?",
}  # fmt: skip
_CHINESE_WEEK, _REST = "(?:周|星期|礼拜)", "六日天末"
_ENGLISH_WEEK = f"(?:{'|'.join(_WEEK.values())})"
_ANY_DAY = (
    r"每日|每天|天天|全年|全天候|无休|7 ?[x×*] ?24|(?<![a-z])daily(?![a-z])|(?<![a-z])(?:every|each|any|all) days?(?![a-z])|(?<![a-z])24/7(?![a-z])|(?<![a-z])days of the week(?![a-z])"
    rf"|{_CHINESE_WEEK}[一二三四五六](?:至|到|[-—–~])|(?<![a-z]){_ENGLISH_WEEK}\.? ?(?:to|until|till|through|[-–—]) ?{_ENGLISH_WEEK}(?![a-z])"
)
_FREE = rf"{_CHINESE_WEEK}[{_REST}]|双休|休息日|公休|(?<![a-z])(?:weekends?|{_WEEK['六']}|{_WEEK['日']})(?![a-z])"
_WORKING = r"工作日|(?<![a-z])(?:week|working )days?(?![a-z])"
_CHINESE_DAY = re.compile(
    rf"(?<![一二两三四五六七八九十几半]){_CHINESE_WEEK}([一二三四五{_REST}])(?![次天个回小时遍趟名人年月岁期份共])"
)
_ENGLISH_DAY = re.compile(
    r"(?<![a-z])(mon|tues|wednes|thurs|fri|satur|sun)days?(?![a-z])|(?<![a-z])weekends?(?![a-z])"
)


def named_days(question: str) -> tuple[NamedDay, ...]:
    """The feasts, days of the week and seasons that a question names, each once."""
    folded = fold(question)
    found: dict[str, NamedDay] = {}
    for asked, said_as, feast in _NAMES:
        for match in asked.finditer(folded):
            found.setdefault(match[0], NamedDay(match[0], said_as, feast))
    feasts = " ".join(found)
    for match in (*_CHINESE_DAY.finditer(folded), *_ENGLISH_DAY.finditer(folded)):
        if match[0] not in feasts:  # Good Friday is no Friday
            found.setdefault(match[0], NamedDay(match[0], _SAID_AS[_day_of(match[1])]))
    return tuple(found.values())


def _day_of(word: str | None) -> str:
    """Of a Chinese or English word for a day of the week, None for the weekend: its key in `_SAID_AS`."""
    if word is None or word in _REST:
        return "日"
    return word if word in _WEEK else next(day for day, said in _WEEK.items() if said.startswith(word[:3]))


def _asked(pattern: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![a-z])(?:{pattern})(?![a-z])")


_NAMES = (
    *((_asked(asked), re.compile(said), True) for asked, said in _FEASTS),
    *((_asked(asked), re.compile(f"{said}|{_ANY_MONTH}"), False) for asked, said in _SEASONS),
)
_NAMED_FEAST = _asked("|".join(asked for asked, _ in _FEASTS))
_SAID_AS = {
    day: re.compile(
        "|".join((_FREE,) if day in _REST else (_CHINESE_WEEK + day, rf"(?<![a-z]){said}(?![a-z])", _WORKING))
        + f"|{_ANY_DAY}"
    )
    for day, said in _WEEK.items()
}
