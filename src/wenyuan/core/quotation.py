"""What a whole sentence is that may stand alone, and what of it governs a part that was taken out of it.

*The pump is safe at high pressure* is no statement of a text that says *It is not true that the pump is safe at high
pressure*. A sentence is whole with the head of its list and with the exception that follows it.
"""

from __future__ import annotations

import re

from wenyuan.core.text.boundaries import sentences

Span = tuple[int, int]

_MOST = 1_500
"""Characters of what is joined to one sentence."""
_ITEM_ENDS = "；;:："
_TURN = re.compile(r"\s*[（(]?(?:但|不过|然而|(?:but|however)(?![a-z]))", re.IGNORECASE)
"""How a part begins that takes something back of the part before it in the same sentence."""
_EXCEPTION = re.compile(
    r"\s*(?:[（(]?(?:例外|除外|上述[^。]{0,20}不适用|前款[^。]{0,20}不适用)|[^。；;.，,]{1,20}(?:除外|例外|不在此限|不适用此)"
    r"|(?:however, )?(?:except|unless|excluding|th(?:is|ese)(?: rules?)? (?:does|do) not apply)(?![a-z]))",
    re.IGNORECASE,
)
"""How a sentence begins that is an exception of the one before it."""
_BEFORE_MAIN = re.compile(r"\s*(?:except|unless|excluding)(?![a-z])[^,]*,", re.IGNORECASE)
_MAIN = re.compile(r"\s(?:must|shall|may|can|should|will|is|are|was|were|has|have|do|does)(?![a-z])", re.IGNORECASE)
"""The verb of a main clause that stands behind its condition."""
_GOVERNS = re.compile(
    r"如果?|假如|倘若|若|只有|只要|仅|唯|才|除|非经|未经|除非|否则|直到|禁止|严禁|不得|不准|不许|不应|不能|不可|不是|并非|并不|没有|未|勿|错误|误|谣|据称|据说|声称|曾|原|拟"
    r"|时(?=[，,])|的(?=[，,])|后(?=[，,])|前(?=[，,])|情况下|情形下|条件下|期间|范围内|例外|除外|但|不过|然而|为限|为前提|特殊|可能"
    r"|(?<![a-z])(?:if|unless|except|only|when|whenever|where|while|until|till|before|after|provided|providing|case|without|with|subject|not|no|never|nor"
    r"|neither|forbidden|prohibited|wrong|wrongly|false|falsely|incorrect|incorrectly|untrue|myth|alleged|allegedly|reportedly"
    r"|claim|claims|claimed|rumou?r|once|as long as|so long as|during|but|however|although|though|excluding|other than|rather than|instead|may|might"
    r"|could|would|should|formerly|previously|proposed|draft|planned|used to|n['’]t|[a-z]+n['’]t|whether|doubt|doubtful|unlikely)(?![a-z])",
    re.IGNORECASE,
)
_OPENS = re.compile(
    r"(?:\s|[#>*+•·●○■▪◆\-|]+|第[\d零〇一二三四五六七八九十百千]+[章节条款项]|[（(]?[\d一二三四五六七八九十a-z]{1,4}[）)、.．]|\d+(?:\.\d+)+)*"
    r"(?:(?:on|upon|in|at|for|from|within|under|by|to|over|since|outside|inside|apart|besides|beyond|between|throughout|following|depending|because"
    r"|due|owing|given|pending|as|having|being)(?![a-z])[^,]*,|(?:遇|凡|逢|每逢|对于?|在|经|因|为|按照?|根据|依据|自|从|随着|当|发生|发现|出现|涉及|属于)[^，]*，)",
    re.IGNORECASE,
)
"""How a sentence begins that says first of what, when or where the rest holds."""
_IN_CASE = re.compile(r"[，；,;]\s*(?:遇|凡|逢|每逢|当|发现|发生|出现|涉及|属于|一旦|对于?)[^，；,;]*[，,]\s*\Z")
"""The clause before a part that says in which case it holds: 发现险情，立即撤离."""
_LEADS = re.compile(
    r"(?:\s|[#>*+•·●○■▪◆\-|]+|[\"“‘'「『(（]|第[\d零〇一二三四五六七八九十百千]+[章节条款项]|[（(]?[\d一二三四五六七八九十a-z]{1,4}[）)、.．]|\d+(?:\.\d+)+"
    r"|(?:因此|所以|此外|同时|另外|并且|而且|其中|即|也就是说|总之|例如|比如)[，,]?|(?:therefore|thus|hence|in addition|also|moreover|furthermore|and|so|then|note|finally|"
    r"first|second|third|that is|namely|for example)[,:]?(?![a-z])|[，,：:—、])*\Z",
    re.IGNORECASE,
)
_ENDS_CLAUSE = re.compile(r"[，,；;：:。.!！?？—、\n（(]\s*[\"”’」』）)]*\s*\Z|\A\s*\Z")
_BEGINS_CLAUSE = re.compile(
    r"\s*[\"”’」』）)]*\s*(?:[，,；;：:。.!！?？—、\n（(|]|\Z|(?:and|while|whereas)(?![a-z]))", re.IGNORECASE
)


def whole(text: str, start: int, end: int) -> Span:
    """The span extended to whole sentences, with the list that they stand in and the exception behind them.

    A part that ends in ``；`` or ``:`` goes on in the next one; what begins with *but* or *except* belongs to what stands before.
    """
    parts = sentences(text)
    touched = [n for n, (a, b) in enumerate(parts) if a < end and start < b]
    if not touched:
        return start, end
    first, last = touched[0], touched[-1]
    while first and _goes_on(text, parts, first - 1) and parts[last][1] - parts[first - 1][0] <= _MOST:
        first -= 1
    while last + 1 < len(parts) and _goes_on(text, parts, last) and parts[last + 1][1] - parts[first][0] <= _MOST:
        last += 1
    return parts[first][0], parts[last][1]


def _goes_on(text: str, parts: list[Span], number: int) -> bool:
    """Whether a part of a text is continued by the next one."""
    end, follows = parts[number][1], parts[number + 1]
    return text[end - 1] in _ITEM_ENDS or (
        _EXCEPTION.match(text, *follows) is not None and not _is_own_exception(text[slice(*follows)])
    )


def _is_own_exception(follows: str) -> bool:
    """Whether what begins as an exception is one of itself: *Unless X, Y must Z*."""
    return _BEFORE_MAIN.match(follows) is not None and _MAIN.search(follows.rpartition(",")[2]) is not None


def _takes_back(follows: str, before: str) -> bool:
    """Whether what follows is an exception, or, after a semicolon, a turn."""
    return (_EXCEPTION.match(follows) is not None and not _is_own_exception(follows)) or (
        before[-1:] in _ITEM_ENDS and _TURN.match(follows) is not None
    )


_COORDINATED = re.compile(r"(?:[，,、；;]|(?<![a-z])(?:and|or)(?: that)?|和|及|并且?|且)\s*\Z", re.IGNORECASE)
_CONDITION = re.compile(
    r"如果?|假如|倘若|若|只有|只要|仅|除|非经|未经|除非|否则|(?<![a-z])(?:if|unless|except|only|provided|until|where|when)(?![a-z])",
    re.IGNORECASE,
)


def governs(words: str) -> bool:
    """Whether words that stand in the middle of a sentence govern what is left without them.

    What is one of several things said of the same (*run every night and*) does not, unless it is a condition.
    """
    if _COORDINATED.search(words) is not None:
        return _CONDITION.search(words) is not None or "的，" in words
    return _GOVERNS.search(words) is not None


def conditional(words: str) -> bool:
    """Whether a condition, an exception or *only* is among these words."""
    return _CONDITION.search(words) is not None


def left_out(text: str, start: int, end: int) -> str:
    """The words of a whole sentence that a part of it leaves out although they govern it; ``""``: it may stand alone.

    A part may stand alone that begins and ends with a clause where nothing outside is a condition, an exception, a negation or
    the report of what another says.
    """
    first, last = whole(text, start, end)
    before, after = text[first:start], text[end:last]
    head = _LEADS.match(before) is not None
    tail = not after.strip(' \t\r\n"”’」』）)】》*_.。!！?？…；;:：，,|')
    if head and tail:
        return ""
    items = [n for n in sentences(text, first, last) if n[0] < end and start < n[1]]
    own_first, own_last = items[0][0], items[-1][1]
    listed = before.rfind("：") + before.rfind(":") > -2
    near = text[own_first:start]
    head_of_list = re.split("[：:]", text[first:own_first])[0] if listed and own_first > first else ""
    rest = text[end:own_last]
    follows = text[own_last:last]
    cut_before = not head and _ENDS_CLAUSE.search(near) is None and _LEADS.match(near) is None
    cut_after = _BEGINS_CLAUSE.match(rest) is None
    opened = not head and _OPENS.match(near) is not None
    opened = opened or _IN_CASE.search(near) is not None
    governed = opened or _GOVERNS.search(near) or _GOVERNS.search(rest) or _GOVERNS.search(head_of_list)
    if cut_before or governed or cut_after:
        return " … ".join(filter(None, (" ".join(before.split())[-200:], " ".join((rest or follows).split())[:200])))
    if _takes_back(follows, text[:own_last].rstrip()):
        return " ".join(follows.split())[:200]
    return ""
