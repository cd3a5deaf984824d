"""Whether two sentences deny, forbid and allow the same, in other words: *nobody may*, *it is prohibited that*; *free*, *no fee*;
*unless he agrees*, *if he does not agree*; *closed*, *not open*.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence, Set
from typing import NamedTuple

from wenyuan.core.places import AlignedPair, TokenSpan
from wenyuan.core.text.content import content_of, share_of
from wenyuan.core.text.modality import BOUNDING, DEONTIC, Duty, DutyName
from wenyuan.core.tokens import Tokens

NOBODY = frozenset("no nobody none neither".split())
_NOT_SO = re.compile(
    r"\s*(?:it is (?:not (?:true|right|correct|the case)|untrue|false|wrong|incorrect|a (?:myth|misconception|mistake))(?: to (?:say|claim|think|believe))? that"
    r"|(?:nobody|no one) (?:says|claims) that|(?:并非|并不是)(?:说)?[，,：:]?|(?:有人|人们|很多人)?(?:误以为|误认为|错误地认为|误传|谣传)[，,：:]?)\s*",
    re.IGNORECASE,
)
"""What stands before a statement that is said not to be so."""
_IS_NOT_SO = re.compile(
    r"[，,]?\s*(?:(?:的|这[一种个]*|此)(?:说法|讲法|观点|看法)(?:是|并)?(?:错误的?|错的|不正确的?|不正确|不对的?|不实的?|不成立|不属实|有误|不符合事实)"
    r"|(?:which |this |that )?is (?:not (?:true|right|correct|the case)|untrue|false|wrong|incorrect|a myth))[。.!！]?\s*\Z",
    re.IGNORECASE,
)
"""What stands behind one."""


class DeniedStatement(NamedTuple):
    """A statement within a claim that says that it is not so.

    Attributes:
        said: Where the statement stands.
        words: Those that deny it.
    """

    said: tuple[int, int]
    words: str


def denial_around(claim: str) -> DeniedStatement | None:
    """The statement that a claim as a whole denies; None where it denies none."""
    if before := _NOT_SO.match(claim):
        return DeniedStatement((before.end(), len(claim)), before[0].strip())
    if behind := _IS_NOT_SO.search(claim):
        return DeniedStatement((0, behind.start()), behind[0].strip())
    return None


_FREE = re.compile(r"免(?! [疫税得责])|(?<![a-z])(?:free|waived)(?![a-z])")
_UNLESS = re.compile(r"(?<![a-z])(?:unless|otherwise|until)(?![a-z])|除 ?非|否 ?则", re.IGNORECASE)
_GRANTED = re.compile(
    r"方 ?[可能]|才 ?(?:能|可|准|许|允 ?许)|后 ?可|只 ?有|[仅只] ?[限准许]|(?<![a-z])(?:only|provided|as long as|once)(?![a-z])"
)
"""That a condition is asked for before something is allowed."""
_FORBIDDEN = re.compile(
    r"[不未] ?(?:得|准|许|能 ?够?|可 ?以?|应 ?当?|予|被? ?允 ?许)|禁 ?止|严 ?禁|(?<![a-z])(?:(?:must|may|can|shall|should|could|is|are|will) ?(?:not|never|n ?['’] ?t)|cannot|never|nobody|no one|none|forbidden|prohibited)(?![a-z])"
)
_DENIED = re.compile(
    r"[没沒未无無不非]|缺 ?少|(?<![a-z])(?:without|no|not|un(?:less|til)|before|lacks?|lacking|missing|never)(?![a-z])|n['’]t"
)
_VERBS = frozenset(
    "is are was were be do does did has have had will would can could may might must shall should but 但 而 则".split()
)
_NEAR = 6  # tokens between *no* and the *may* that it turns


def for_free(pair: AlignedPair, place: TokenSpan) -> bool:
    """Whether one side says *free* or 免, and the other one that nothing is taken or needed."""
    sides = ((pair.claim, place.a, place.b), (pair.text, place.c, place.d))
    said = [_FREE.search(" ".join(of.values[max(0, first - 1) : end + 1])) is not None for of, first, end in sides]
    names = [{duty.name for duty in duties_at(*side)} for side in sides]
    return said[0] != said[1] and bool(names[1 - said.index(True)] & {"not", "need not"})


def other_words(pair: AlignedPair, place: TokenSpan) -> bool:
    """Whether both sides have words here that say something, none of them the same."""
    said, was = _besides_duties(pair.claim, place.a, place.b), _besides_duties(pair.text, place.c, place.d)
    return bool(said and was) and share_of(said, was) == 0 == share_of(was, said)


def _besides_duties(text: Tokens, first: int, end: int) -> tuple[str, ...]:
    """The stems that say something in a range of tokens, but for modal expressions."""
    modal = {n for duty in duties_at(text, first, end) for n in range(duty.first, duty.end)}
    return tuple(content_of(" ".join(text.values[n] for n in range(first, end) if n not in modal)))


def as_often(pair: AlignedPair, names: Set[DutyName]) -> bool:
    """Whether nothing but a plain *not* differs here, and both say as many of them: *no mails are sent*, *mails are not sent*."""
    return names == {"not"} and _denials(pair.claim, 0, len(pair.claim.tokens)) == _denials(
        pair.text, pair.low, pair.high
    )


def _denials(text: Tokens, first: int, end: int) -> int:
    return sum(polar(duty) == "not" and first <= duty.first and duty.end <= end for duty in text.duties)


def of_list(pair: AlignedPair, claimed: Sequence[Duty], meant: Sequence[Duty]) -> bool:
    """Whether one side says again, of one thing of a list, the *not* that the other one says once before all of them."""
    again, once, more = (pair.claim, pair.text, claimed) if claimed and not meant else (pair.text, pair.claim, meant)
    if (claimed and meant) or not more or any(polar(duty) != "not" for duty in more):
        return False
    behind = {again.values[duty.end] for duty in more if duty.end < len(again.tokens)}
    low, high = (pair.low, pair.high) if once is pair.text else (0, len(once.tokens))
    for duty in once.duties:
        if polar(duty) == "not" and low <= duty.first and duty.end <= high:
            end = duty.end
            while end < high and once.tokens[end].after == "" and once.values[end] not in _VERBS:
                end += 1
            behind -= set(once.values[duty.end : end])
    return not behind


def said_there(pair: AlignedPair) -> str:
    return " ".join(pair.text.values[pair.low : pair.high])


def unless(said: str, there: str) -> bool:
    """Whether one of two has *unless*: what it says of a condition the other one may say with a *not*."""
    return (_UNLESS.search(said) is None) != (_UNLESS.search(there) is None)


def only_granted(text: str) -> bool:
    """Whether something is allowed here only under a condition."""
    return _GRANTED.search(text.lower()) is not None


def turned_round(said: str, there: str) -> bool:
    """Whether one of two allows something only under a condition, and the other one forbids it without: 取得证明后方可上岗 and
    没有证明不得上岗, *only with a badge* and *not without a badge* say the same.
    """
    for allows, forbids in ((said.lower(), there.lower()), (there.lower(), said.lower())):
        rest, times = _FORBIDDEN.subn(" ", forbids)
        if _GRANTED.search(allows) and not _FORBIDDEN.search(allows) and times and _DENIED.search(rest):
            return not _DENIED.search(allows)
    return False


def of_nobody(pair: AlignedPair) -> bool:
    """Whether either side forbids by *nobody may*."""
    return len(_with_nobody(pair.claim)) < len(pair.claim.duties) or len(_with_nobody(pair.text)) < len(
        pair.text.duties
    )


def _with_nobody(text: Tokens) -> list[Duty]:
    """The modal expressions of a text: *no* and the *may* behind it forbid."""
    found: list[Duty] = []
    for duty in text.duties:
        last = found[-1] if found else None
        if (
            last is not None and last.name == "not" and text.values[last.first] in NOBODY
            and duty.name == "may" and duty.first - last.end <= _NEAR
        ):  # fmt: skip
            found[-1] = Duty("must not", last.first, duty.end)
        else:
            found.append(duty)
    return found


def polar(duty: Duty) -> str:
    """Its class; what must not be is not."""
    return "not" if duty.name == "must not" else duty.name


def duties_at(text: Tokens, first: int, end: int) -> list[Duty]:
    """The modal expressions that overlap a range of tokens."""
    return [duty for duty in text.duties if duty.first < end and first < duty.end]


def alike_duties(pair: AlignedPair) -> bool:
    """Whether claim and sentence have the same modal expressions in all."""
    said = Counter(polar(duty) for duty in _with_nobody(pair.claim) if duty.name not in BOUNDING)
    was = Counter(
        polar(duty)
        for duty in _with_nobody(pair.text)
        if duty.name not in BOUNDING and pair.low <= duty.first and duty.end <= pair.high
    )
    if not (said.keys() & DEONTIC and was.keys() & DEONTIC):
        del said["must"], was["must"]
    return said == was
