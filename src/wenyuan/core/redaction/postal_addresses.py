"""Rules for Chinese postal addresses: 省 市 区 路 号, read backwards from the house number."""

from __future__ import annotations

import re

from wenyuan.core.redaction.matching import IN_HAN, Rule, Span
from wenyuan.core.redaction.text_view import HAN, TextView

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
_UNITS = "号楼|号院|号|弄|栋|幢|座|塔|单元|室|楼|层|户|组"
# A street, and a number with its unit; 三号线, 3号文, 一号机 number other things.
_HOUSE = re.compile(
    rf"[路街道巷弄胡同村庄里苑园区镇乡屯](?:[一二三四五六七八九十0-9东西南北中]{{1,2}}段)?(?:\s?(?:{_NUMBER}|[0-9]-){{1,6}}(?:{_UNITS})(?![线文令机门桩梯柜泵灯口]))"
    rf"(?:[\s,]?[{HAN}]{{0,8}}?(?:{_NUMBER}|[0-9]-){{1,6}}(?:{_UNITS})){{0,4}}(?:\s?[0-9]{{2,4}}(?![0-9\-]))?"
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


def _first_division(window: str) -> int | None:
    """Where an address begins: its province, else what follows the last cue word before its first division."""
    province = _PROVINCE.search(window)
    admin = _ADMIN.search(window, province.end() if province else 1)
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


RULES = (
    Rule("address", _HOUSE, _house, signs=IN_HAN),
    Rule("address", _SAID, _named_address, needs=("地址", "住址", "住所", "居住地", "户籍")),
)
