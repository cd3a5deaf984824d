"""Finds the numbers in recognised text that are uncertain: those with a character of low confidence."""

from __future__ import annotations

import itertools
import re
from collections.abc import Container, Iterator, Mapping, Sequence

from wenyuan.core.fidelity import Line, Uncertain

SURE = 0.98
"""A number whose least sure character is below this is uncertain; docs/ocr.md says how it was found."""

SURE_WORD = 0.8
"""A letter below this is uncertain, and the word with it; docs/ocr.md says how it was found."""

_WORD = re.compile(r"[\u3400-\u9fff]+|[A-Za-z\u00c0-\u024f]{2,}")
_DIGITS = "0-9０-９"
_HAN_DIGITS = "〇零一二三四五六七八九十百千万亿兩两廿卅壹贰叁肆伍陆柒捌玖拾佰仟萬億"
_NUMBER = rf"[{_DIGITS}]+(?:[.,:/．，：／×\-–—][{_DIGITS}]+)*"
# In the order in which they are looked for; what one has taken is not looked at again.
_KINDS = (
    ("date", rf"[{_DIGITS}〇零一二三四五六七八九]{{2,4}} ?年(?: ?[{_DIGITS}{_HAN_DIGITS}]{{1,3}} ?月(?: ?[{_DIGITS}{_HAN_DIGITS}]{{1,3}} ?[日号號])?)?"),
    ("date", rf"[{_DIGITS}{_HAN_DIGITS}]{{1,3}} ?月 ?[{_DIGITS}{_HAN_DIGITS}]{{1,3}} ?[日号號]"),
    ("date", r"(?<![0-9])[0-9]{4}[-./][0-9]{1,2}[-./][0-9]{1,2}(?![0-9])"),
    ("date", r"(?:[0-9]{1,2} )?(?:January|February|March|April|May|June|July|August|September|October|November|December)(?: [0-9]{1,2}(?![0-9]),?)?(?: [0-9]{4}(?![0-9]))?"),
    ("clause", rf"第 ?[{_DIGITS}{_HAN_DIGITS}]{{1,9}} ?[条條款项項章节節编編篇部分号號]"),
    ("clause", r"(?:Section|Article|Clause|Paragraph|Sec\.|Art\.|§) ?[0-9]+(?:\.[0-9]+)*(?: ?\([0-9a-z]{1,4}\))*"),
    ("amount", rf"(?:人民币|人民幣|新臺幣|新台币|港币|美元|USD|CNY|RMB|EUR|[¥￥$€£]) ?{_NUMBER}(?: ?[万亿萬億])?元?"),
    ("amount", rf"{_NUMBER}(?: ?[万亿萬億])?[元圆圓]"),
    ("amount", rf"[{_HAN_DIGITS}]{{2,}}[元圆圓]"),
    ("unit", rf"{_NUMBER} ?(?:[%‰℃℉°μΩ]|[kmcdMGT]?(?:m|g|Pa|V|W|A|Hz|L|l|s|h|B|bar|mol)[²³23]?(?![A-Za-z])|平方米|立方米|公里|千米|厘米|毫米|米|吨|噸|千克|公斤|克|升|小时|小時|分钟|分鐘|秒|工作日|个月|個月|日|天|年|月|周|倍|人|台|套|个|個|次|件|页|頁|层|層|days?|months?|years?|hours?|degrees?|percent|units?)"),
    ("unit", rf"[{_HAN_DIGITS}]{{1,}}(?:个工作日|個工作日|工作日|个月|個月|日内|日內|日以前|年以上|年以下|倍)"),
    ("number", _NUMBER),
    ("number", rf"[{_HAN_DIGITS}]{{2,}}"),
)  # fmt: skip
_PATTERNS = tuple((kind, re.compile(pattern)) for kind, pattern in _KINDS)
# What counts with a number: what stands right beside it, and the rest of one that a line's end breaks.
_BEFORE = re.compile(r"(?:[0-9０-９.,]+[ \n])?[A-Za-z0-9０-９.,%]*\Z")
_AFTER = re.compile(r"[A-Za-z0-9０-９.,%]*(?:[ \n][0-9０-９.,]+)?")
_BESIDE = 40  # characters to either side


def numbers(text: str) -> list[tuple[int, int, str]]:
    """Spans of the numbers in a text with their kind, in order, without overlaps."""
    taken = bytearray(len(text))
    found = []
    for kind, pattern in _PATTERNS:
        for match in pattern.finditer(text):
            start, end = match.span()
            if not any(taken[start:end]):
                taken[start:end] = b"\1" * (end - start)
                found.append((start, end, kind))
    return sorted(found)


def uncertain(text: str, lines: Sequence[Line], sure: Mapping[int, Sequence[float]]) -> tuple[Uncertain, ...]:
    """The uncertain numbers and words of a document.

    Letters and signs next to a number count with it, since they may be misread digits. So do digits of the next or
    previous line where a number ends at a line's end, since they may be the rest of it.

    Args:
        lines: Where its lines stand.
        sure: By the number of a line that was recognised, the confidence of each character of ``text[start:end]``.
    """
    known: dict[int, float] = {}
    for at, values in sure.items():
        known |= {lines[at].start + offset: value for offset, value in enumerate(values)}
    if not known:
        return ()
    found = [*_doubtful(text, known)]
    taken = {at for one in found for at in range(one.start, one.end)}
    return tuple(sorted([*found, *_doubtful_words(text, known, taken)]))


def _doubtful_words(text: str, known: Mapping[int, float], taken: Container[int]) -> Iterator[Uncertain]:
    """Words with a letter that was not read surely; of Chinese, which has no spaces, the characters in question."""
    for word in _WORD.finditer(text):
        low = [at for at in range(*word.span()) if known.get(at, 1.0) < SURE_WORD and at not in taken]
        if low and word[0] < "\u3400":
            yield Uncertain(*word.span(), "word", round(min(known[at] for at in low), 3))
            continue
        for _, run in itertools.groupby(enumerate(low), lambda each: each[1] - each[0]):
            places = [at for _, at in run]
            yield Uncertain(places[0], places[-1] + 1, "word", round(min(known[at] for at in places), 3))


def _doubtful(text: str, known: Mapping[int, float]) -> Iterator[Uncertain]:
    for start, end, kind in numbers(text):
        left = _BEFORE.search(text, max(0, start - _BESIDE), start)
        right = _AFTER.match(text, end, end + _BESIDE)
        first = left.start() if left else start
        last = right.end() if right else end
        least = min((known[at] for at in range(first, last) if at in known), default=1.0)
        if least < SURE:
            yield Uncertain(start, end, kind, round(least, 3))
