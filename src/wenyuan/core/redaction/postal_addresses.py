"""Rules for Chinese postal addresses: 省 市 区 路 号, read backwards from the house number."""

from __future__ import annotations

import re

from wenyuan.core.redaction.matching import IN_HAN, Rule, Span
from wenyuan.core.redaction.text_view import TextView
from wenyuan.core.text.folding import HAN

_PROVINCES = (
    "北京|天津|上海|重庆|河北|山西|辽宁|吉林|黑龙江|江苏|浙江|安徽|福建|江西|山东|河南|湖北|湖南|广东|海南|四川|贵州|云南"
    "|陕西|甘肃|青海|台湾|内蒙古|广西|西藏|宁夏|新疆|香港|澳门"
)
_PROVINCE = re.compile(_PROVINCES)
_CITIES_OF_THEIR_OWN = frozenset({"香港", "澳门"})
DISTRICT = re.compile(
    rf"(?:{_PROVINCES})(?:省|市|(?:壮族|回族|维吾尔)?自治区|特别行政区)?|[{HAN}]{{2,7}}?(?:自治州|[省市区县州盟旗])"
)
"""A province, city or district, as it begins an address."""

_NUMBER = "[0-9a-z甲乙丙丁东南西北一二三四五六七八九十百零〇]"
_UNITS = "号楼|号院|号|弄|栋|幢|座|塔|单元|室|楼|层|户|组|社"
# A street, and a number with its unit; 三号线, 3号文, 一号机 number other things.
_HOUSE = re.compile(
    rf"[路街道巷弄胡同村庄里苑园区镇乡屯](?:(?:[一二三四五六七八九十0-9东西南北中]{{1,2}}|(?!的)[{HAN}]{{2}})段)?(?:\s?[副附]?(?:{_NUMBER}|[0-9]-){{1,6}}(?:{_UNITS})(?![线文令机门桩梯柜泵灯口]))"
    rf"(?:[\s,]?[{HAN}]{{0,8}}?(?:{_NUMBER}|[0-9]-){{1,6}}(?:{_UNITS})){{0,4}}(?:\s?[0-9]{{2,4}}(?![0-9\-]))?(?:之(?:[0-9]{{1,2}}|[一二三四五]))?"
    rf"(?:[ ]?(?:[{HAN}]{{2,10}})?(?:大厦|广场|中心|园区?|苑|城|府|湾|小区|公寓|写字楼|楼)?[0-9a-z]{{1,4}}-[0-9a-z]{{1,5}}(?![0-9a-z\-]))?"
)
_STREET = re.compile(r"[路街道巷弄胡同村庄里苑园镇乡屯]")
_BEFORE = re.compile(rf"[{HAN}0-9a-z()\- ]{{0,40}}\Z")
_LEAD = re.compile(
    r"(?:住址|地址|住所|位于|坐落于?|地处|家住|现住|住在|住|寄[到至往]|送[到至往]|在|于|至|到|从|是|为|往)[:\s是为]*"
)
_ADMIN = re.compile(r"[省市区县州盟旗]")


def _house(view: TextView, match: re.Match[str]) -> Span | None:
    """From the first division named before the street; without one it is no address."""
    before = _BEFORE.search(view.lower, max(0, match.start() - 40), match.start())
    low = before.start() if before else match.start()
    window = view.lower[low : match.start() + 1]
    start = _first_division(window)
    if start is None or not _STREET.search(window, start):
        return None
    return low + start, match.end(), view.lower[low + start : match.end()].replace(" ", "")


_OF_A_STREET = re.compile("[东西南北中一二三四]?(?:路|大道|街|道|大街|巷)")


def _first_division(window: str) -> int | None:
    """Where an address begins: its province, else what follows the last cue word before its first division."""
    province = _PROVINCE.search(window)
    admin = _ADMIN.search(window, province.end() if province else 1)
    streets = province and (_OF_A_STREET.match(window, province.end()) or admin is None)
    if province and streets and province[0] not in _CITIES_OF_THEIR_OWN:  # 南昌县澄湖北大道, 江岸区天津路
        admin = _ADMIN.search(window, 1, province.start())
        province = None
    if province and (admin or province[0] in _CITIES_OF_THEIR_OWN):
        return province.start()
    if not admin:
        return None
    leads = [lead.end() for lead in _LEAD.finditer(window, 0, admin.start()) if lead.end() <= admin.start() - 1]
    if leads:
        return leads[-1]
    start = max(0, admin.start() - 3)
    return start + len(window[start:]) - len(window[start:].lstrip(" -()"))


_SAID = re.compile(
    rf"(?:地址|住址|住所|居住地|户籍地|户籍所在地)(?:\s?[:是为]\s?|\s)[*\"“]{{0,3}}(?P<place>[{HAN}](?:[{HAN}0-9a-z()#\-]|[ ](?=[{HAN}0-9])){{4,60}}+)(?!\*)"
)
_LOCAL = re.compile(rf"[路街道巷弄村庄里苑园镇乡屯号室栋幢座]|{_PROVINCES}")


def _named_address(view: TextView, match: re.Match[str]) -> Span | None:
    """What a form calls an address, up to the next punctuation mark."""
    place = match["place"].rstrip(" -#")
    if not _ADMIN.search(place) or not _LOCAL.search(place):
        return None
    start = match.start("place")
    return start, start + len(place), place.replace(" ", "")


# What no name of a place has in it: where such a character stands, the address has ended.
_ENDS = "[的在到了是被把从让给并也都又去找看说请及或]|和(?![平田谐睦兴县顺龙静硕政布])"
_ALONG = rf"(?!{_ENDS})[{HAN}]|[0-9a-z#\-]|[ ](?=[{HAN}0-9])|\([{HAN}0-9a-z]{{1,10}}\)"
_FROM_ABOVE = re.compile(rf"(?:{_PROVINCES})(?:{_ALONG}){{6,60}}+")
_FROM_A_CITY = re.compile(rf"市(?:{_ALONG}){{6,60}}+")
_DIVISIONS = re.compile(rf"[{HAN}]{{1,7}}?(?:自治州|新区|街道|[市区县州盟旗镇乡])")
_LAST = re.compile(
    rf"(?:{_NUMBER}|[0-9]-){{1,6}}(?:{_UNITS}|队|期|区)(?:之(?:[0-9]{{1,2}}|[一二三四五]))?|[0-9]{{1,4}}(?:-[0-9]{{1,4}}){{1,3}}|(?<![0-9])[0-9]{{3,4}}(?![0-9])"
    r"|大厦|广场|小区|花园|[花雅]苑|公寓|商厦|写字楼|家园|新村|中心|山庄|别墅|大[楼院]|宿舍|公馆|委会|街坊|工业[区园]|科技园|产业园|园区|(?:[路街段巷]|大道)(?:与[^与]{2,8}[路街道])?(?:交(?:叉?口|[汇会]处?))?[东西南北]?[侧段]?"
)
_WAY = re.compile(r"[路街巷弄村镇乡号]|大道|胡同|社区")
_LEAST_DIVISIONS = 2
_CITY = re.compile(rf"(?:\A|[^{HAN}]|住址|地址|住所|位于|坐落|住在|[在住于至到往是为])(?P<city>[{HAN}]{{2,3}})\Z")


def _from_above(view: TextView, match: re.Match[str]) -> Span | None:
    """From a province down over two divisions and a street to the last number or building that is named."""
    end = _last_place(match[0])
    return (match.start(), match.start() + end, match[0][:end].replace(" ", "")) if end else None


def _from_a_city(view: TextView, match: re.Match[str]) -> Span | None:
    """The same where no province is named: 苏州市姑苏区…."""
    before = _CITY.search(view.lower, max(0, match.start() - 8), match.start())
    if before is None:
        return None
    start = before.start("city")
    end = _last_place(view.lower[start : match.end()])
    return (start, start + end, view.lower[start : start + end].replace(" ", "")) if end else None


def _last_place(place: str) -> int:
    """Where the last number or building ends in what begins like an address, if two divisions and a street stand before it; else 0."""
    below = [division.end() for division in _DIVISIONS.finditer(place)]
    if len(below) < _LEAST_DIVISIONS:
        return 0
    ends = [last.end() for last in _LAST.finditer(place, below[1])]
    return ends[-1] if ends and _WAY.search(place, below[0], ends[-1]) else 0


RULES = (
    Rule("address", _HOUSE, _house, signs=IN_HAN),
    Rule("address", _FROM_ABOVE, _from_above, signs=IN_HAN),
    Rule("address", _FROM_A_CITY, _from_a_city, needs=("市",)),
    Rule("address", _SAID, _named_address, needs=("地址", "住址", "住所", "居住地", "户籍")),
)
