"""What passages are about, as far as titles and headings tell: may two statements in the same words be about different things?"""

from __future__ import annotations

import re
from functools import lru_cache

from wenyuan.core.conflicts.statement import ComparedStatement
from wenyuan.core.model import Passage
from wenyuan.core.text.content import content_of
from wenyuan.core.text.folding import fold

_VERSION = re.compile(
    r"\d+(?:[.\-/年月日:]\d*)*|(?<![a-z])v(?=\d)"
    r"|(?<![a-z])(?:version|edition|revision|rev|draft|final|new|old|copy|as of|effective|from|of|valid|issue|january|february|march|april|may|june|july"
    r"|august|september|october|november|december)(?![a-z])"
    r"|[试暂]行|修订?版?|正式版?|新版|旧版|最终版?|草案|征求意见稿|副本|[一二三四五六七八九十]+版|版本?"
)
_KIND = re.compile(
    r"(?<![a-z])(?:policy|policies|handbook|manual|guide|guideline|procedure|rule|regulation|faq|question|notice|term|condition|overview"
    r"|reference|instruction|agreement)(?:s)?(?![a-z])|管理|制度|办法|规定|规范|细则|手册|指南|通知|政策|规程|说明书?|标准|方案|流程|须知|常见问题|问答|实施|暂行|关于|条例|章程"
)
_CODE = re.compile(r"(?<![A-Za-z0-9])[A-Z][A-Za-z]{0,7}-?\d{1,6}[A-Za-z0-9-]*")
_LEANING = re.compile(
    r"[本该此其上前下][一二两三四五六七八九0-9]{0,2}[款条项述列例]|本(?:法|办法|条例|规定|制度|细则|规范|合同|协议|通知|标准|规程|解释|决定|准则|章程|条例|手册)|上述|下列|前述|同上|其中[，,:：]"
    r"|(?<![a-z])(?:this|these|such|the above|the following|the former|the latter|thereof|herein) "
    r"|\A(?:但是?|情节|数额|造成|没有|对其|属于|其他|其余|违反|逾期|拒不|否则|否|有|otherwise|in other cases|it |they |he |she |if not)"
)
_CASE = re.compile(r"的[；;:：。]?\Z")
_EFFECT = re.compile(
    r"(?:自|从|于)?[^。；]{0,24}(?:起(?:施行|执行|生效|实施)|(?:印发|发布|施行|修订|公布|废止)(?:日期|时间|之日)?[：:。]?\s*\Z)|(?:生效|发布|印发|修订|编制|更新)(?:日期|时间)|版本(?:号)?\s*[：:v]"
    r"|(?<![a-z])(?:in force|takes? effect|effective|last (?:updated|reviewed|revised)|published|version|revision)(?![a-z])"
)
_MARKS = re.compile(r"[\W_]+")
_NUMBERED = re.compile(r"第[0-9〇零一二三四五六七八九十百千]{1,9}[编章节條条款项]")


def leans(statement: ComparedStatement) -> bool:
    """Whether a statement says of itself that what it is about stands elsewhere: this Act, such items, 前款规定."""
    return _LEANING.search(fold(statement.text)) is not None


def names_case(statement: ComparedStatement) -> bool:
    """Whether a statement only names a case of which something else says what holds: 未按规定报告的；"""
    return _CASE.search(statement.text) is not None


def of_effect(statement: ComparedStatement) -> bool:
    """Whether a statement says from when on its document counts, or which version that is."""
    return _EFFECT.search(fold(statement.text)) is not None


@lru_cache(maxsize=4_096)
def bare_title(title: str) -> str:
    """A title without what tells versions apart: years, days, numbers of versions, *draft*, 试行."""
    return _MARKS.sub("", _VERSION.sub(" ", fold(title)))


@lru_cache(maxsize=4_096)
def _topic(words: str) -> frozenset[str]:
    """Stems of a title or heading that say what it is about, without its kind of document and its numbering."""
    return frozenset(content_of(_KIND.sub(" ", _VERSION.sub(" ", _NUMBERED.sub(" ", fold(words))))))


@lru_cache(maxsize=4_096)
def _codes(words: str) -> frozenset[str]:
    return frozenset(_MARKS.sub("", match[0]) for match in _CODE.finditer(words))


def same_document(one: Passage, other: Passage) -> bool:
    """Whether two passages are of one document, or of two versions of one."""
    return one.document_id == other.document_id or (bare_title(one.title) == bare_title(other.title) != "")


def same_section(one: Passage, other: Passage) -> bool:
    """Whether the headings over two passages say the same, numbering apart."""
    return _topic(" ".join(one.headings)) == _topic(" ".join(other.headings))


def other_thing(one: Passage, other: Passage) -> bool:
    """Whether titles or headings name different things: other codes, or the same but for a word that tells them apart."""
    for mine, theirs in ((one.title, other.title), (" ".join(one.headings), " ".join(other.headings))):
        if _codes(mine) != _codes(theirs) and _codes(mine) and _codes(theirs):
            return True
        a, b = _topic(mine), _topic(theirs)
        if a - b and b - a and len(a & b) >= PARALLEL * min(len(a), len(b)):
            return True
    return False


PARALLEL = 0.5
"""Share of a title's words that another one has which differs from it by a word: *rules for managers*, *rules for trainees*."""
