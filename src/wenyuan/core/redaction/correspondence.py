"""Redaction rules for names in mails, minutes, chats and rosters: by their place in a line, and by what their bearers do."""

from __future__ import annotations

import re

from wenyuan.core.redaction.chinese_names import is_worded
from wenyuan.core.redaction.commonness import rarity
from wenyuan.core.redaction.given_names import GIVEN
from wenyuan.core.redaction.matching import IN_CAPITALS, IN_HAN, Rule, Span
from wenyuan.core.redaction.names import AMBIGUOUS as COMMON
from wenyuan.core.redaction.names import NOT_GIVEN, is_plausible, surname_length
from wenyuan.core.redaction.rare_surnames import COMMON as FREQUENT
from wenyuan.core.redaction.rare_surnames import LESS_COMMON as LESS_FREQUENT
from wenyuan.core.redaction.rare_surnames import SURE
from wenyuan.core.redaction.text_view import OPAQUE, TextView
from wenyuan.core.text.folding import HAN

_GIVEN = 2  # characters of a Chinese given name, at most
_THING = re.compile(
    r"[率费价额量数期版图表书证章件器机物料款法式类型级度点线网站区市省县镇乡村路街楼室车船票卡号码名值性化力制权面季节日月年菜肉水油布纸城局处科部组司所院校馆店厂"
    r"长员师人工生客方家主体项目款者案会议位层段批条款户税账单项目标准本身后前内外中上下里间时分秒程序团队组群]\Z"
)
"""How words end that are no person: things, places, offices, measures."""


def _person(name: str, *, sure: bool) -> bool:
    """Whether Han characters are a surname and a given name; `sure`: their place vouches for common surnames and two characters."""
    surname = surname_length(name)
    if not surname or not surname < len(name) <= surname + _GIVEN or not is_plausible(name, surname):
        return False
    if is_worded(name, surname):
        return False
    return not _THING.search(name) and (sure or (len(name) > surname + 1 and name[0] not in COMMON))


# -- Chinese, by the place in a line -----------------------------------------------------------------------------
_MAN = rf"[{HAN}](?<![{HAN}·].)[{HAN}]{{1,3}}"
_CLOCK = (
    r"(?:20[0-9]{2}[\-/.年]|[0-9]{1,2}[\-/月][0-9]{1,2}|(?:上午|下午|昨天|今天|早上|晚上) ?[0-9]|[0-9]{1,2}:[0-9]{2})"
)
_LINE = re.compile(
    rf"{_MAN}(?=[ ]{{1,4}}{_CLOCK}|[ ]?[|丨/][ ]?[^\n|]{{0,8}}(?:经理|主管|总监|工程师|专员|顾问|助理|主任|秘书|代表|会计|设计师|分析师|架构师)"
    rf"|(?:[ ]{{0,2}}敬上|[ ]{{0,2}}谨上|[ ]{{0,2}}顿首|[ ]{{0,2}}拜上)|[ ]{{0,2}}(?:迟到|早退|旷工|缺勤|请假|调休))"
)
_SPEAKER = re.compile(rf"{_MAN}(?=:)")
_LINE_BEGIN = re.compile(r"(?:\A|\n|[,;、:]|次)[ ]{0,4}\Z")
_SPEAKS = re.compile(rf"(?:\A|\n)[ ]{{0,4}}(?:[{HAN}]{{2,4}}):(?![ ]?[0-9¥￥$%]|[ ]?\n)[^\n]{{1,200}}")
_ONLY_LABELS = re.compile("[,。!?！？吧呢吗啊的了哈我你他她您咱]|收到|好的")
_AT = re.compile(rf"@{_MAN}(?![{HAN}])")
_ROSTER = re.compile(
    rf"(?:周|星期|礼拜)[一二三四五六日天](?:[上下]午)?[ ]{{0,3}}[: |][ ]{{0,3}}(?P<name>[{HAN}]{{2,4}})(?![{HAN}])"
    rf"|(?:早班|中班|晚班|夜班|白班)[ ]{{0,3}}[: |][ ]{{0,3}}(?P<shift>[{HAN}]{{2,4}})(?![{HAN}])"
)


def _in_line(view: TextView, match: re.Match[str]) -> Span | None:
    if not _person(match[0], sure=True) or not _LINE_BEGIN.search(
        view.text, max(0, match.start() - 6), match.start()
    ):
        return None
    return match.start(), match.end(), match[0]


def _speaker(view: TextView, match: re.Match[str]) -> Span | None:
    """Who says something in a chat: at the beginning of a line, before a colon and a spoken sentence."""
    line = view.text.find("\n", match.end())
    said = view.text[match.end() + 1 : line if line >= 0 else len(view.text)][:200]
    begins = _LINE_BEGIN.search(view.text, max(0, match.start() - 6), match.start())
    if not begins or ":" in begins[0] or not _ONLY_LABELS.search(said):
        return None
    return (match.start(), match.end(), match[0]) if _person(match[0], sure=False) or _two(match[0]) else None


def _two(name: str) -> bool:
    return len(name) == _GIVEN and name[0] not in COMMON and _person(name, sure=True)


def _mentioned(_view: TextView, match: re.Match[str]) -> Span | None:
    name = match[0][1:]
    return (match.start() + 1, match.end(), name) if _person(name, sure=True) else None


def _rostered(_view: TextView, match: re.Match[str]) -> Span | None:
    group = "name" if match["name"] else "shift"
    name = match[group]
    return (match.start(group), match.end(group), name) if _person(name, sure=True) else None


# -- Chinese, by what is done ------------------------------------------------------------------------------------
_VERBS = (
    "主持|主讲|牵头|负责|代收|代签|代办|代领|担任|介绍|汇报|宣读|致辞|作(?:了|工作|专题|主题|总结)|通报|总结|发言|补充|强调|指出|提议|提出|建议|认为|表示|批准|同意|审核"
    "|确认|陪同|接待|办理|主刀|起草|撰写|整理|讲解|点评|带队|代表|诉|签收|经办|驾驶|护送|值守|带领"
)
_DOES = re.compile(
    rf"(?:由|经|被|与|和|跟|同|让|请|委托|转告|通知|聘任|聘请|证明|告诉|联系|邀请|感谢|祝贺|恭喜|欢迎|慰问|推荐|选举|选派|约|找|陪|见到|申请人|原告|被告|上诉人|说|听)"
    rf"(?P<name>[{HAN}]{{2,4}}?)(?=(?:同志|{_VERBS}|吃饭|聊|要|会|已|系|为|任|于|在|谈|商量|沟通|对接|说|去|来|回|签|[,;。!，]))"
)
_VOUCHING = ("由", "委托", "证明", "聘", "慰问", "选举", "申请人", "原告", "被告")


def _doing(_view: TextView, match: re.Match[str]) -> Span | None:
    name = match["name"]
    sure = len(name) > _GIVEN and match[0].startswith(_VOUCHING)
    return (match.start("name"), match.end("name"), name) if _person(name, sure=sure) else None


# -- Chinese, lists behind a label -------------------------------------------------------------------------------
_ITEM = re.compile(rf"{_MAN}(?![{HAN}·])")
_LIST_LABEL = re.compile(
    rf"(?:抄报|抄送|转发|主送|分送|报送|整理|复核|复审|终审|初审|审校|校对|审核|签字|盖章|经办|承办|督办|主办|协办|拟稿|核稿|报告人?|汇报人?|发言人?|获奖(?:者|人员)?|之星|优秀员工|先进个人|迟到|早退|缺勤|参与|成员"
    rf"|出差|同行|与会|带队|陪同|见证人?|介绍人?|推荐人?|导师|评委|裁判|主讲|讲师|嘉宾|摄影|摄像|编辑|记者|通讯员|供稿|作者|会签|批准|审批|审定|拟办|签发|签收|知会|编制|制表|制单|保管|当班|接班|交班|值守|巡检|操作|监护|送检|取样|检验|质检|领料|发料|跟进|随访|陪护|缺席)[ ]{{0,2}}:[ ]{{0,3}}"
    rf"(?:[{HAN}]{{2,4}}(?:\([^()\n]{{0,12}}\))?[ ]{{0,2}}[、,;/和及 ][ ]{{0,2}}){{0,12}}\Z"
)


def _list_entries(view: TextView, match: re.Match[str]) -> Span | None:
    if not _person(match[0], sure=True) or not _LIST_LABEL.search(
        view.text, max(0, match.start() - 160), match.start()
    ):
        return None
    return match.start(), match.end(), match[0]


# A list in which one was found: what stands behind the sign of a list is one, too, however rare its surname: ⟦姓名⟧、车晓.
_NEXT = re.compile(rf"{OPAQUE}(?:[、和及与]|[ ]{{1,3}}|\t)(?P<name>[{HAN}]{{2,4}})(?![{HAN}·A-Za-z0-9:])")
_PREVIOUS = re.compile(rf"[{HAN}](?<![{HAN}·].)[{HAN}]{{1,3}}(?=[、]{OPAQUE})")


def _in_a_list(view: TextView, match: re.Match[str]) -> Span | None:
    group = "name" if match.re is _NEXT else 0
    name = match[group]
    return (match.start(group), match.end(group), name) if _is_next(name) else None


def _is_next(name: str) -> bool:
    """Words stand in lists, too: 丛林、昌盛; two characters must be none."""
    whole = len(name) > surname_length(name) + 1 or (name[0] in _KNOWN and rarity(name) >= _NEVER_A_WORD)
    return whole and name[-1] not in "庄屯堡寨沟奖" and (_person(name, sure=True) or _seldom(name))


_KNOWN = frozenset(FREQUENT + LESS_FREQUENT + SURE)
_NEVER_A_WORD = 5.5  # see `rarity`


def _seldom(name: str) -> bool:
    """Whether a surname stands before two characters that are no word, one of which names seldom have: 魏应充."""
    if surname_length(name) != 1 or len(name) != 1 + _GIVEN or name[0] in COMMON or _THING.search(name):
        return False
    return (NOT_GIVEN & {*name[1:]}) <= _SELDOM and min(rarity(name[:2]), rarity(name[1:])) >= _NO_WORD


_SELDOM = frozenset("应可有为时本法章理会能")
_NO_WORD = 4.5  # see `rarity`


# -- English -----------------------------------------------------------------------------------------------------
PLACED_BEFORE = re.compile(
    r"(?:(?:\A|\n)[A-Z][A-Za-z ,']{2,30}[,!]\n{1,2}[ ]{0,4}|\[[0-9:\-/. ,apmAPM]{4,24}\][ ]?|@|c/o |C/O |(?:ACTION|Action|TODO|To do|AP)[ ]?[:\-–][ ]?"
    r"|[a-z]{4,12}(?<!stand)(?<!near) by |[Ff]amily of |[Bb]ehalf of |[Pp]er |RE: |Re: |[Tt]hanks to |[Cc]redit to |[Kk]udos to |[Rr]eplaced? |[Rr]eplacing |[Ii]ntroduc(?:e|ing) |[Ww]elcome "
    r"|[Ll]oop(?:ing|ed)? in |[Cc]all |[Pp]ing |[Tt]ell |[Aa]sk |[Ee]mail |[Cc]ontact |[Rr]each out to |[Hh]and(?:ed)? over to |[Rr]eports? to )\Z"
)
ACTS_BEHIND = re.compile(
    r"(?:'s|’s)? (?:wrote|joined|left|dialled|dialed|arrived|presented|noted|asked|suggested|proposed|agreed|confirmed|raised|apologi[sz]ed|seconded|moved|thanked|said|says|told"
    r"|explained|replied|added|called|emailed|is on leave|is out of office|will be|has joined|has left|signed|resigned|chaired|volunteered|reminded|to (?:update|send|follow|check|draft|share"
    r"|review|confirm|schedule|prepare|circulate|contact|provide|arrange|speak|complete|fix|call))(?![a-z])|[ ]{1,3}[0-9]{1,2}:[0-9]{2}(?: ?[AaPp][Mm])?| v\. | vs\.? "
)
OFFICES = frozenset(
    """Holdings Bank Clinic Hospital Airport Review Director Manager Shift Register Branch Queue Plan Contract Items Migration Cleanup Sales Legal Budget Board Market Court
    House Hotel Park Bridge County City Town Island Lake River Valley Hill University College Institute Foundation Museum Library Church Theatre Group Partners Solutions
    Systems Services Industries Technologies Consulting Logistics Software Media Press Studio Club League Cup Award Prize Act Bill Law Code Standard Edition Version Project Program
    Series Station Terminal Street Road Avenue Square Lane Drive Court Building Tower Centre Center Hall Room Floor Gate Airlines Airways Railway Insurance Capital Trust Fund
    Union Association Society Council Committee Ministry Agency Bureau Authority Commission Parliament Senate Congress Assembly Republic Kingdom States Nations Union
    Day Night Week Month Year Morning Evening Season Summer Winter Spring Autumn Period Falls Beach Springs Heights Gardens Field Fields Farm Cottage Castle
    Officer Executive President Chairman Chair Secretary Treasurer Assistant Engineer Analyst Specialist Coordinator Consultant Advisor Representative Agent Associate
    Line Lines Page Key Keys Index Panel Button Menu Window Tab Server Client Cloud Server Database Network Test Tests Suite Build Release Sprint Backlog Ticket Issue Merge Request
    Account Accounts Payable Order Orders Invoice Invoices Payment Payments Team Office Box Desk Copy List File Folder Report Summary Update Updates News Company Corporation Corp Construction Concrete Contracting Contractors Excavation
    Carpentry Plastering Drilling Electric Utilities Transportation Cabinet District Crane Steel Erectors Rebar Dairy Water Well Medical Memorial Model
    Brand Bay Coast Flight Strand Instrument Superior Door Remediation Tile Incorporated Limited Placers Plumbing Engineering Enterprises International Roofing
    Painting Masonry Supply Equipment Motors Foods Farms Products Manufacturing Mills Mining Oil Gas Energy Power Docs Hangouts Exchange Keyword Go Guy Ruler Number
    Alabama Alaska Arizona Arkansas California Colorado Connecticut Delaware Florida Idaho Illinois Indiana Iowa Kansas Kentucky Louisiana Maine Maryland Massachusetts Michigan
    Minnesota Mississippi Missouri Montana Nebraska Nevada Jersey Hampshire Mexico York Ohio Oklahoma Oregon Pennsylvania Tennessee Texas Utah Vermont Washington Wisconsin Wyoming
    England Scotland Wales Ireland France Germany Spain Italy China Japan India Canada Australia London Paris Berlin Beijing Shanghai""".split()
)


_GREETED = re.compile(
    r"(?:Hi|Hello|Hey|Dear|Morning|Thanks|Thank you) (?P<name>[A-Z][a-zà-ÿ]{1,12})(?=[,!.\n]| [–-])"
)


def _greeted(_view: TextView, match: re.Match[str]) -> Span | None:
    """A given name alone, as a mail begins."""
    return (match.start("name"), match.end("name"), match["name"].casefold()) if match["name"] in GIVEN else None


RULES = (
    Rule("person", _LINE, _in_line, signs=IN_HAN, at_runs=True),
    Rule("person", _SPEAKER, _speaker, needs=(":",), signs=IN_HAN, written=True, at_runs=True),
    Rule("person", _AT, _mentioned, needs=("@",), signs=IN_HAN, written=True),
    Rule("person", _ROSTER, _rostered, signs=IN_HAN, written=True),
    Rule("person", _DOES, _doing, signs=IN_HAN, written=True),
    Rule("person", _ITEM, _list_entries, signs=IN_HAN, written=True, at_runs=True),
    Rule("person", _NEXT, _in_a_list, needs=(OPAQUE,), written=True),
    Rule("person", _PREVIOUS, _in_a_list, needs=(OPAQUE,), written=True),
    Rule(
        "person",
        _GREETED,
        _greeted,
        cased=True,
        needs=("hi ", "hello ", "hey ", "dear ", "morning ", "thank"),
        signs=IN_CAPITALS,
    ),
)
