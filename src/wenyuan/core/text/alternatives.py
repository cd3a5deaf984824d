"""Words of which one excludes the other: north and south, before and after, Monday and Friday; in Chinese and English.

Two texts that are equal but for such words lie close together as vectors, and ask for different things.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from wenyuan.core.text.folding import fold, simplified

_PLACE = "门区侧边楼面校院翼厅座站口段岸"
# Of each class its members, and of each member how it is written; a Chinese character in brackets counts before the name of a place only.
_CLASSES: Mapping[str, Sequence[str]] = {
    "direction": ("north northern northbound northwards [北]", "south southern southbound southwards [南]",
                  "east eastern eastbound eastwards [东]", "west western westbound westwards [西]"),
    "weekday": ("monday mondays 周一 星期一 礼拜一", "tuesday tuesdays 周二 星期二 礼拜二", "wednesday wednesdays 周三 星期三 礼拜三",
                "thursday thursdays 周四 星期四 礼拜四", "friday fridays 周五 星期五 礼拜五", "saturday saturdays 周六 星期六 礼拜六",
                "sunday sundays 周日 周天 星期日 星期天 礼拜天"),
    "month": ("january", "february", "april", "june", "july", "august", "september", "october", "november", "december"),
    "order": ("before prior 之前 以前 事前 事先", "after afterwards 之后 以后 事后"),
    "daytime": ("morning mornings 上午 早上 早晨", "afternoon afternoons 下午", "evening evenings 晚上 傍晚"),
    "season": ("spring 春季 春天", "summer 夏季 夏天", "autumn 秋季 秋天", "winter 冬季 冬天"),
    "side": ("left-hand 左边 左侧 左手", "right-hand 右边 右侧 右手"),
    "level": ("upstairs 楼上", "downstairs 楼下"),
    "opening": ("open opens opening 开门 开馆 营业 开启", "close closes closing closed 关门 闭馆 打烊 关闭"),
    "switch": ("enable enables enabling 启用 打开", "disable disables disabling 停用 禁用"),
    "amount": ("increase increases raise raising 增加 提高 上调", "decrease decreases reduce reducing lower lowering 减少 降低 下调"),
    "least": ("minimum least 最少 最低 至少", "maximum most 最多 最高 至多"),
    "trade": ("buy buying buyer buyers purchase 购买 买方 买家", "sell selling seller sellers 出售 卖方 卖家"),
    "border": ("import imports importing 进口", "export exports exporting 出口货物 出口商品"),
    "way in": ("entrance entry entrances 入口", "exit exits 出口在 出口处"),
    "transfer": ("upload uploads uploading 上传", "download downloads downloading 下载"),
    "post": ("send sending sends outgoing 发送 寄出", "receive receiving receives incoming 接收 收到"),
    "setup": ("install installing installation 安装", "uninstall uninstalling 卸载 拆除"),
    "sex": ("men mens male 男士 男性 男厕 男职工", "women womens female 女士 女性 女厕 女职工"),
    "work": ("employer employers 雇主 用人单位", "employee employees 员工 雇员 劳动者"),
    "rent": ("landlord landlords 房东 出租人", "tenant tenants 租客 租户 承租人"),
    "reach": ("domestic 国内 境内", "international abroad overseas 国际 国外 境外"),
    "roof": ("indoor indoors inside 室内", "outdoor outdoors outside 室外 户外"),
    "travel": ("arrival arrivals arrive arriving 到达 入境", "departure departures depart departing 出发 离境"),
    "term": ("full-time 全职", "part-time 兼职"),
    "rank": ("first 第一", "second 第二", "third 第三"),
}  # fmt: skip
_LATIN: Mapping[str, tuple[str, int]] = {
    word: (name, at)
    for name, members in _CLASSES.items()
    for at, member in enumerate(members)
    for word in member.split()
    if word.isascii() and word[0] != "["
}
_HAN = tuple(
    (re.compile(f"{word[1]}(?:[{_PLACE}](?!子))" if word[0] == "[" else re.escape(word)), (name, at))
    for name, members in _CLASSES.items()
    for at, member in enumerate(members)
    for word in member.split()
    if not word.isascii()
)
_WORD = re.compile("[a-z]+(?:-[a-z]+)?")

Alternatives = Mapping[str, frozenset[int]]
"""Of each class that a text has a word of, which members."""


def alternatives_in(text: str) -> Alternatives:
    """The words of a text that exclude others, by their class, whatever the language."""
    folded = simplified(fold(text))
    said = {_LATIN[word] for word in _WORD.findall(folded) if word in _LATIN}
    if not folded.isascii():
        said |= {member for form, member in _HAN if form.search(folded)}
    return {name: frozenset(at for other, at in said if other == name) for name, _ in said}


def exclude(one: Alternatives, other: Alternatives) -> bool:
    """Whether two texts say different members of one class, and none in common."""
    return any(name in other and members.isdisjoint(other[name]) for name, members in one.items())
