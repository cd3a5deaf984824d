"""Redaction rules for names in forms: who signed, checked, received, with the label before a colon or a dash."""

from __future__ import annotations

import re

from wenyuan.core.redaction.commonness import commonness
from wenyuan.core.redaction.family_names import FAMILY, WORLD
from wenyuan.core.redaction.given_names import GIVEN
from wenyuan.core.redaction.matching import IN_CAPITALS, IN_HAN, Rule, Span
from wenyuan.core.redaction.names import AMBIGUOUS, NO_NAME, is_plausible, surname_length
from wenyuan.core.redaction.names_of_peoples import is_of_a_people
from wenyuan.core.redaction.neighbours import NO_PERSON
from wenyuan.core.redaction.text_view import TextView
from wenyuan.core.text.folding import HAN

# 签发人：李 明; 甲方代表：司马光辉; 经办人 — 周杰; 审核/批准：陈晓东; 会计 | 王芳
# A name is looked for behind the mark, and the label before it then: labels are more frequent than marks.
_LABEL = re.compile(
    r"(?:人|员|官|生|工|警察|[民交辅法狱特刑]警|干警|父亲|母亲|配偶|家属|代表|长|经理|主任|师|会计|出纳|主管|书记|主席|总监|总工|助理|秘书|干事|法人|签发|签收|经办|审核|审批|批准|校对|编制|制单|复核|验收|拟稿|核稿"
    r"|抄送|主送|汇报|签名|签字|[甲乙丙丁]方|买方|卖方|收款|付款|收件|寄件|乘客|参会|出席|主讲|主持|记录|作者|姓名|名|医师|医生|护士|律师|教授|阿姨|承租方|出租方|供方|需方|发包方|承包方|委托方|受托方|转让方|受让方|借款方|贷款方)(?:\([^()\n]{0,12}\)|签[字名]|姓名)?[ \t]{0,3}[*_]{0,2}\Z"
)
_FILLED = re.compile(
    rf"[:|\-–—/\t ](?P<more>[ \t\-–—]{{0,4}}(?:\n|[|(][ ]?|<t[dh]>)?)[*_\"'“「【]{{0,3}}(?P<name>[{HAN}](?:[ ]{{0,3}}[{HAN}]){{1,3}})(?![{HAN}])"
)
_TWO = 2  # characters of a given name, at most
_TITLE = re.compile(r"(?:医师|医生|护士|律师|工程师|会计师|教授|经理|主任|总监|面试官|送货员|快递员|签[字名])\Z")
_ADDRESSEE = re.compile(rf"(?:\A|[^{HAN}])[{HAN}]{{2}}人\Z")
_FAMILIAR = re.compile(r"[老小阿]")


def _labelled(view: TextView, match: re.Match[str]) -> Span | None:
    """A name that fills its field: a surname, one or two characters, and nothing else."""
    low = max(0, match.start() - 24)
    name = match["name"].replace(" ", "")
    surname = surname_length(name)
    familiar = match[0][0] == ":" and len(name) == _TWO and _FAMILIAR.match(name) and surname_length(name[1:])  # 老周
    named = surname and surname < len(name) <= surname + _TWO and is_plausible(name, surname)
    named = named or is_of_a_people(name)
    if not (familiar or named):
        return None
    if match[0][0] == " " and not match["more"] and "*" not in match[0]:  # one space parts words
        titled = len(name) > _TWO and " " not in match["name"] and _TITLE.search(view.text, low, match.start())
        if not titled and (name[0] in AMBIGUOUS or not _ADDRESSEE.search(view.text, low, match.start())):
            return None
    if not _LABEL.search(view.text, low, match.start()):
        return None
    return match.start("name"), match.end("name"), name


_WORD = r"[^\W\d_a-z\u3400-\u9fff][^\W\d_\u3400-\u9fff]{0,24}(?:['’\-][^\W\d_\u3400-\u9fff]{1,24})?\.?"
_ENGLISH_LABEL = re.compile(
    r"(?:From|To|CC|Cc|Bcc|Sender|Payee|Payer|Buyer|Seller|Landlord|Lessor|Lessee|Insured|Manager|Supervisor|Inspector|Driver|Operator"
    r"|Author|Owner|Guest|Passenger|Student|Teacher|Tenant|Witness|Guardian|Emergency [Cc]ontact|Next of [Kk]in|[A-Z][a-z]{4,12}[ ][Bb]y"
    r"|Employee|Attendees?|Foreman|Sincerely|[Rr]egards|Yours (?:sincerely|faithfully|truly)|Signed|Name|Contact|Assignee|Assigned [Tt]o|Reporter|Requester|Requestor|Approver|Reviewer|Interviewer|Candidate|Doctor|Physician|Client|assignee|reporter|approver|reviewer|owner|author)[\"']?\s?\Z"
)
_ENGLISH = re.compile(
    r"(?:[:=—–|\-][ \t]{0,3}|,[ ]?(?:\n{1,2}[ ]?)?|y[ ](?<=[bB]y ))[*_\"'“]{0,2}(?:(?:Mrs|Mr|Ms|Miss|Dr|Prof)\.?[ ])?"
    rf"(?P<name>{_WORD}(?:[ ](?:{_WORD}|de|da|van|von|der|bin|al|la)){{1,3}})(?![^\W_])"
)


_A_THING = 4.5  # see `commonness`


def _is_thing(words: list[str]) -> bool:
    """Whether a word that text is full of ends what begins with no given name: *Wuhan Plant*, but not *Sarah Stone*."""
    last = words[-1]
    return (
        words[0] not in GIVEN
        and words[0] not in WORLD
        and last not in FAMILY
        and last not in GIVEN
        and commonness(last) >= _A_THING
    )


_CLOSING = re.compile(r"Sincerely|[Rr]egards|Yours|Signed")


def _signed(view: TextView, match: re.Match[str]) -> Span | None:
    words = match["name"].rstrip(".").split(" ")
    at = match.start() + (1 if match[0][0] == "y" else 0)
    label = _ENGLISH_LABEL.search(view.text, max(0, at - 24), at)
    if label and match[0][0] == "," and "\n" not in match[0] and not _CLOSING.match(label[0]):
        return None  # a list: Owner, John Smith
    if (
        label is None
        or view.text[label.start() - 1 : label.start()].isalpha()
        or not NO_NAME.isdisjoint(words)
        or not NO_PERSON.isdisjoint(words)
        or all(word.isupper() and len(word) > 1 for word in words)
        or _is_thing(words)
    ):
        return None
    return match.start("name"), match.start("name") + len(" ".join(words)), " ".join(words).casefold()


# Surname: DONGFANG  Given names: MINGZHU
_FIELDS = "Given|First|Last|Family|Middle|Other|Date|Sex|Gender|Passport|Nationality|Sur|Fore|Place|Maiden|Full|Position|Phone"
_PART = re.compile(
    r"[SFLGMsflgm](?<![^\W_].)(?:ur|amily |ast |iven |irst |iddle |ore|aiden )[Nn]ames?(?:\(s\))?[ \t]{0,2}[:：][ \t]{0,3}"
    rf"(?P<name>(?!{_FIELDS})[A-ZÀ-Þ][^\W\d_]{{1,24}}(?:['’\-][^\W\d_]{{1,24}})?(?:[ ](?!{_FIELDS})[A-ZÀ-Þ][^\W\d_]{{1,24}}){{0,2}})(?![\w:])"
)
# 施琅 邀请您参加腾讯会议; Aisling Byrne is inviting you to a scheduled Zoom meeting.
_HOST = re.compile(
    rf"(?:\A|\n)(?P<name>[{HAN}]{{2,4}}|{_WORD}(?:[ ]{_WORD}){{0,3}})[ ]?(?:邀请您?你?参加|is inviting you)"
)


def _field_or_host(_view: TextView, match: re.Match[str]) -> Span | None:
    name = match["name"]
    if not NO_NAME.isdisjoint(name.split(" ")) or name in _NO_HOST:
        return None
    return match.start("name"), match.end("name"), name.casefold()


_NO_HOST = frozenset("公司 我们 学校 本校 本会 诚挚 特此 现 Required Optional None Null Unknown String".split())

RULES = (
    Rule("person", _PART, _field_or_host, needs=("name",), cased=True),
    Rule("person", _HOST, _field_or_host, needs=("邀请", "is inviting"), cased=True),
    Rule("person", _FILLED, _labelled, signs=IN_HAN, written=True),
    Rule("person", _ENGLISH, _signed, cased=True, signs=IN_CAPITALS),
)
