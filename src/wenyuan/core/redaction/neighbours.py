"""Redaction rules for names that what stands beside them tells: a number, a label of a list, a speaker's mark, a closing."""

from __future__ import annotations

import re

from wenyuan.core.redaction.matching import IN_CAPITALS, IN_HAN, Rule, Span
from wenyuan.core.redaction.names import AMBIGUOUS, NO_NAME, is_plausible, surname_length
from wenyuan.core.redaction.names_of_peoples import is_of_a_people
from wenyuan.core.redaction.text_view import TextView
from wenyuan.core.text.folding import HAN

WINDOW = 160  # characters that are looked back
_GIVEN = 2
_TITLED = re.compile(r"(?:先生|女士|小姐|老师|师傅|医生|同志|阿姨|叔叔)\Z")
_ROLE = re.compile(r"[长机员师人工部处局科室院所店厂站台家方号线话箱司队组会社行馆校客理]\Z")
"""How words for roles and offices end, which stand where a name could."""


def _chinese(name: str, *, sure: bool) -> bool:
    """Whether characters are a surname and a given name; `sure`: what stands beside them vouches for a common surname, too."""
    if is_of_a_people(name):
        return True
    surname = surname_length(name)
    if not surname or not surname < len(name) <= surname + _GIVEN or not is_plausible(name, surname):
        return False
    return (
        not _ROLE.search(name)
        and not _TITLED.search(name)
        and (sure or name[0] not in AMBIGUOUS or len(name) > _GIVEN)
    )


# 李明 13800138000; 李明（139…）; 李明,京A12345; 李明：a@b.cn; 李明，身份证 …
_NUMBER = (
    r"(?:\+?86[\- ]?)?1[3-9][0-9][\- ]?[0-9]{4}[\- ]?[0-9]{4}(?![0-9])|\(?0[1-9][0-9]{1,2}[)\- ][\- ]?[0-9]{7,8}(?![0-9])|[a-z0-9._\-]{1,40}@"
    r"|[京津沪渝冀豫云辽黑湘皖鲁新苏浙赣鄂桂甘晋蒙陕吉闽贵粤青藏川宁琼][a-z]·?[a-z0-9]{5,6}(?![a-z0-9])"
)
_BESIDE = re.compile(
    rf"[{HAN}](?<![{HAN}·].)[{HAN}]{{1,3}}(?=[ ]{{0,3}}(?:\([^()\n]{{1,6}}\))?[ ]?[,:(|<\t]?[ ]{{0,3}}(?:收[ ]{{1,3}})?"
    rf"(?:(?:手机|电话|tel)[: ]{{0,3}})?(?:{_NUMBER}|身份证|护照|分机[: ]?[0-9])|[ ]?\(以下简?称|[ ]{{1,3}}[男女](?![{HAN}])|\([a-z]{{2,10}} [a-z]{{2,12}}\)|[ ]?的(?:手机|电话|邮箱))"
)


def _beside(view: TextView, match: re.Match[str]) -> Span | None:
    return (match.start(), match.end(), match[0]) if _chinese(match[0], sure=True) else None


# 参会：李明、王芳（线上）、周杰; 审判员　李明; 户名 李明; [09:12] 李明: …; 祝好⏎李明; "buyer": "李明"
_STANDS = re.compile(rf"[{HAN}](?<![{HAN}·].)[{HAN}]{{1,3}}(?![{HAN}·])")
_KEYS = (
    r"(?:buyer|seller|payer|payee|receiver|recipient|sender|consignee|contact|customer|client|user(?:_?name)?|name|real_?name|full_?name|owner|driver"
    r"|patient|applicant|host|guest)(?:_?name)?"
)
_LABELS = (
    "参会(?:人员?)?|与会(?:人员?)?|出席(?:人员?)?|列席(?:人员?)?|缺席(?:人员?)?|请假(?:人员?)?|参加人员?|主持人?|记录人?|抄送|审判[员长]|陪审员|书记员|户名|收|寄|受?委托人|您的称呼|姓名|怎么称呼"
    "|汇报对象|被执行人|申请执行人|称呼|旅客|乘车人|出行人|被访人|来访人|司机|值班|联系人|负责人|组长|成员|作者|讲师|嘉宾|代理人|(?:参[训会加]人员)?签到(?:表|人员|名单)?|参训人员?|学员|到会(?:人员?)?|到场(?:人员?)?|面试官|候选人|接收人|交接人|监交人|考核人|经手人|报销人|请假人|填表人|乘机人|租客|业主|家长|配偶|子女|父亲|母亲"
)
_TOLD = re.compile(
    rf"(?:(?<![{HAN}])(?:{_LABELS})[ *_]{{0,5}}(?:\([^()\n]{{0,12}}\))?[ *_]{{0,5}}[:?？ ]{{1,3}}[*_]{{0,2}}[ ]{{0,2}}(?:[{HAN}]{{2,4}}(?:\([^()\n]{{0,12}}\))?[ ]{{0,2}}[、,/和及 ][ ]{{0,2}}){{0,12}}"
    rf"|(?<![{HAN}])[{HAN}]{{1,6}}(?:人员?|员|官|师|者)(?:\([^()\n]{{0,12}}\))?[:：][ ]{{0,3}}(?:[{HAN}]{{2,4}}(?:\([^()\n]{{0,12}}\))?[ ]{{0,2}}[、,/ ][ ]{{0,2}}){{0,12}}"
    r"|(?:祝好|此致|敬礼|谢谢|商祺|安好|时祺|顺颂[^\n]{0,4}|--)[^\n]{0,4}\n{1,2}[ ]{0,4}|\[[0-9:\-/. ]{4,20}\][ ]?"
    rf"|[\"'](?:{_KEYS})[\"'][ ]{{0,2}}[:,=][ ]{{0,2}}[\"']|(?:user|name)=[\"'])\Z"
)


def _stands(view: TextView, match: re.Match[str]) -> Span | None:
    if not _chinese(match[0], sure=True):
        return None
    if not _TOLD.search(view.lower, max(0, match.start() - WINDOW), match.start()):
        return None
    return match.start(), match.end(), match[0]


NO_PERSON = frozenset(
    """Service Services Support Desk Line Hotline Center Centre Department Helpdesk Help Sales Reception Switchboard Fax Phone Tel Telephone Mobile
    Cell Number Emergency Customer Billing Care Hospital Clinic Hotel Bank School University Police Inc Ltd LLC GmbH Corp Company Group Bureau Agency
    Security Front Main Head Direct General Public Relations Human Resources Call Contact Info Information Press Media Toll Free Us Me Email Mail Write
    Send Reply New North South East West San Saint Street Road Avenue Legal Marketing Finance Operations Engineering Board Committee Council""".split()
)
"""Words of what else stands before a number or behind such a cue: offices, companies, places."""

# English names: two to four words with capitals.
_WORD = r"[A-ZÀ-Þ][A-Za-zÀ-ÿ]{0,20}(?:['’\-][A-Za-zÀ-ÿ]{1,20})?\.?"
_WORDS = rf"[A-ZÀ-Þ](?<![^\W_].)(?:[A-Za-zÀ-ÿ]{{0,20}}(?:['’\-][A-Za-zÀ-ÿ]{{1,20}})?\.?)(?:[ ](?:{_WORD}|de|da|di|van|von|der|bin|al|la)){{1,3}}(?![A-Za-zÀ-ÿ])"
_PHONE = r"(?:\+?1[ .\-])?\(?[2-9][0-9]{2}\)?[ .\-][0-9]{3}[ .\-][0-9]{4}(?![0-9])|\+[0-9]{1,3}[ \-][0-9]{2}"
_NEAR = re.compile(
    rf"(?P<name>{_WORDS})(?:(?=[ ]?[,(<:|]?[ ]{{0,2}}(?:(?:on|at)[ ])?(?:{_PHONE}|[a-zA-Z0-9._\-]{{1,40}}@[a-z]|(?:SSN|IBAN|SSN:|[Pp]assport)(?![A-Za-z])))"
    r"|(?=,? (?:residing at|lives at|living at|can be reached|may be phoned|called from))|(?=,? of [1-9][0-9]{0,4}[ ][A-Z])"
    r"|(?=\n[1-9][0-9]{0,4}[ ][^\n]{3,60}(?:[0-9]{4,5}|[A-Z]{1,2}[0-9])))"
)
CUES = re.compile(
    r"(?:(?:Host|Present|Attendees|Apologies|References?|Referee|Ship (?:to|from)|Deliver to|Bill to|Sold to|Chair|Minutes by|Counsel|Tutor|Speaker)[: ]\s{0,3}"
    rf"(?:(?:Mrs|Mr|Ms|Dr|Prof)\.? )?(?:{_WORDS}(?:[ ]\([^()\n]{{1,12}}\))?,?[ ](?:and )?){{0,8}}"
    r"|(?:[Ss]tatement of|[Mm]y name is|[Ii] am|[Ii]'m|[Cc]ustomer|[Aa]sk(?: for\?\s[a-z]: )?|[Ss]poke (?:with|to)|[Tt]he defendant,|[Tt]he claimant,|[Pp]atient|[Ii]nterview with"
    r"|[Qq]uestions to|[Pp]lease pay|[Bb]ooked by|[Mm]et with|[Mm]et|his wife|her husband|[Tt]axi for|[Rr]oom for|[Bb]elonging to|[Cc]omplaint by|[Cc]ardholder|your name\?|[Cc]ontractor,|[Aa]ssigned to) "
    r"|(?:[Tt]hanks|[Bb]est(?: wishes)?|[Cc]heers|[Mm]any thanks|Yours|BR|Kind regards|Best regards)[,!]?\n{1,2}"
    rf"|(?:\A|\n)<|[\"'](?:{_KEYS})[\"'][ ]{{0,2}}[:,=][ ]{{0,2}}[\"']|[{HAN}]{{2,4}}\()\Z"
)


def english_name(name: str) -> bool:
    words = name.rstrip(".").split(" ")
    return NO_NAME.isdisjoint(words) and NO_PERSON.isdisjoint(words) and not all(word.isupper() for word in words)


def _neighbour_match(view: TextView, match: re.Match[str]) -> Span | None:
    name = match["name"].rstrip(".")
    return (match.start(), match.start() + len(name), name.casefold()) if english_name(name) else None


RULES = (
    Rule("person", _BESIDE, _beside, signs=IN_HAN, at_runs=True),
    Rule("person", _STANDS, _stands, signs=IN_HAN, written=True, at_runs=True),
    Rule("person", _NEAR, _neighbour_match, cased=True, signs=IN_CAPITALS),
)
