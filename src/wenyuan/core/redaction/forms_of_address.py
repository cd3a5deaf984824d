"""Redaction rules for persons by how they are called: 老王, 小李, 陈总, 周主任, 外号大熊, nicknamed Bear."""

from __future__ import annotations

import re

from wenyuan.core.redaction.chinese_names import SPEAKS_BEFORE, SPEAKS_BEHIND
from wenyuan.core.redaction.commonness import rarity
from wenyuan.core.redaction.matching import IN_HAN, Rule, Span
from wenyuan.core.redaction.names import AMBIGUOUS, DOUBLE, SINGLE
from wenyuan.core.redaction.rare_surnames import COMMON, LESS_COMMON, SURE, WORDS
from wenyuan.core.redaction.text_view import TextView
from wenyuan.core.text.folding import HAN

_SURNAMES, _MORE = COMMON, LESS_COMMON
_RARE = "".join(sorted(SINGLE - AMBIGUOUS - {*_SURNAMES, *_MORE} - {*"老小大双两男位左右古今"}))
_OF_TWO = sorted(DOUBLE - {"第五", "东郭", "南门", "西门", "百里", "公西", "即墨", "微生", "单于", "司空"})
_FIRSTS = "".join(sorted({name[0] for name in _OF_TWO}))
_DOUBLE = "|".join(f"(?<={name[0]}){name[1]}" for name in _OF_TWO)
_TITLES = (
    "先生|女士|小姐|太太|夫人|同志|阿姨|大爷|大妈|大叔|大姐|大哥|大嫂|伯伯|叔叔|奶奶|爷爷|老师|师傅|医生|医师|大夫|护士|教授|博士|律师|法官|警官|会计|出纳|秘书|助理|顾问|主任|主管|主席|经理|总监|总裁|董事长?|总经理"
    "|书记|院长|校长|局长|处长|科长|厅长|部长|司长|市长|县长|镇长|村长|厂长|队长|班长|组长|店长|所长|站长|馆长|行长|园长|排长|连长|船长|机长|领导|老板|工程师|设计师|教练|教员|导师|姐姐|哥哥|妹妹|弟弟|婶婶|婆婆|爸爸|妈妈"
)
_SHORT_TITLES = "总工?|工|队|局|处|科|厂|所|院|校|董|导|哥|姐|嫂|姨|叔|婶|伯|爷|公|少|律|老"
_SINGLE = f"{_SURNAMES}{_MORE}{SURE}"
_CALLED = re.compile(
    rf"[老小大阿{_SINGLE}{_RARE}{WORDS}{_FIRSTS}](?:(?:{_DOUBLE}|(?<=[{_SINGLE}]))(?:(?P<title>副?(?:{_TITLES})|副总)|(?P<short>{_SHORT_TITLES}))(?![长监程])"
    rf"|(?<=[{_RARE}])(?P<rarely>先生|女士|小姐)(?![们])"
    rf"|(?<=[{WORDS}])(?:(?P<worded>副?(?:{_TITLES}))|(?P<hardly>[总哥姐嫂婶叔姨伯科局处])(?![长监程]))"
    rf"|(?P<plain>(?<=[老小大])[{_SURNAMES}{_MORE}](?!(?<=老王)卖瓜)|(?<=[老小])(?:[{SURE}]|[{_FIRSTS}](?:{_DOUBLE}))|(?<=阿)[强伟芳玲明华珍兰英丽娟敏杰军辉亮勇林]))"
)
_BEGINS = re.compile(r"(?:\A|[\s,.;:!?()\[\]<>\"'“”‘’「」、,。;:!?@#*|…—\-])\Z")
_ENDS = re.compile(r"[\s,.;:!?()\[\]<>\"'“”‘’「」、。|…—~]|\Z")
_LEADS = re.compile(
    r"(?:一下|昨天|今天|明天|刚才|上午|下午|晚上|后来|当时|听说|因为|如果|但是|可是|还是|只有|就|等|问|得|把|被|和|跟|给|让|请|找|叫|由|与|对|向|替|帮|是|了|说|的)\Z"
)
_DOES = re.compile(
    r"值班|亲[口自手]|帮|加班|汇报|介绍|提[到议出的]|修[好了]|要求|反映|催|休假|请假|退|昨|前天|今早|刚|那[边里儿]|这[边里儿]|家|他们|她们|一行|本人|自己|那|安排|批准|同意|拒绝|建议|强调|指出|表示|回复|通过|带|签|开|搞|弄|换|买|卖|验|查|盯|管"
)
_WORD, _OFTEN, _RATHER_OFTEN, _SELDOM, _HARDLY, _NEVER = 2.0, 2.6, 4.2, 4.0, 5.0, 9.0  # see `rarity`
_COMMON = frozenset("老小大高常金石白史方康毛龙万武温严文牛关和")  # begin other words, too


def _addressed(view: TextView, match: re.Match[str]) -> Span | None:
    """It must begin where a name could, and not go on as another word: both by how often general text has the two characters."""
    text, start, end = view.text, match.start(), match.end()
    low = max(0, start - 6)
    if len(match[0]) == 2 and rarity(match[0]) < _SELDOM:
        return None  # 施工, 于是
    if start and rarity(text[start - 1 : start + 1]) < _WORD:
        return None  # 工程队
    led = SPEAKS_BEFORE.search(text, low, start) or _LEADS.search(text, low, start)
    begins = _BEGINS.search(text, max(0, start - 1), start)
    if (
        match["worded"] or match["hardly"]
    ):  # 修律师, 揭总: nothing but a clause's beginning and end tells them from words
        alone = _ENDS.match(text, end) or SPEAKS_BEHIND.match(text, end) or _DOES.match(text, end)
        parted = match["worded"] and rarity(text[end - 1 : end + 1]) >= _HARDLY
        return (start, end, match[0]) if (alone or parted) and (begins or (led and match["worded"])) else None
    spoken = led or begins
    strong = (match["title"] or match["rarely"]) is not None and match[0][0] not in _COMMON
    if not spoken and (
        rarity(text[start - 1 : start + 1]) < (_SELDOM if strong else _HARDLY) or text[start - 1] in _SURNAMES + _MORE
    ):
        return None
    going_on = text[end - 1 : end + 1]
    if len(going_on) == 2 and rarity(going_on) < (_OFTEN if strong or led else _RATHER_OFTEN):
        return None
    ends = _ENDS.match(text, end) or SPEAKS_BEHIND.match(text, end) or _DOES.match(text, end)
    return (
        (start, end, match[0])
        if ends or rarity(going_on) >= (_SELDOM if strong else _HARDLY if led else _NEVER)
        else None
    )


_NICKNAME = re.compile(
    r"(?:外号|绰号|花名|诨号|诨名|网名|小名|乳名|艺名|笔名|化名|曾用名|人称|人送外号|昵称|大家(?:都|习惯)?叫[他她])(?:叫做?|是|为|作)?[ :]{0,2}[\"'“‘「『《]?(?P<name>[A-Za-z][A-Za-z0-9_]{1,15}|"
    rf"[{HAN}]{{2,4}})(?![{HAN}A-Za-z0-9_])"
)
_NO_NICKNAME = re.compile(
    "不|可|必|请|由|须|应|已|长度|格式|重复|字段|为空|修改|设置|显示|填写|唯一|头像|列表|或|和|及|无|暂|空|null|none",
    re.IGNORECASE,
)


def _nickname(_view: TextView, match: re.Match[str]) -> Span | None:
    name = match["name"]
    return None if _NO_NICKNAME.search(name) else (match.start("name"), match.end("name"), name)


_ENGLISH = re.compile(
    r"[A-Z][a-zà-ÿ'’\-]{1,20}[ ](?:[A-Z][a-zà-ÿ'’\-]{1,20}|[A-Z]\.)[,]?[ ]\(?(?:aka|a\.k\.a\.|AKA|nicknamed|known to friends as|goes by|who goes by|better known as)[ ]"
    r"[\"'“‘]?(?P<name>[A-Z][A-Za-z\-]{1,20})(?![A-Za-z])"
)


def _known_as(_view: TextView, match: re.Match[str]) -> Span:
    return match.start("name"), match.end("name"), match["name"].casefold()


RULES = (
    Rule("person", _CALLED, _addressed, signs=IN_HAN, written=True),
    Rule("person", _NICKNAME, _nickname, needs=("号", "名", "人称", "昵称", "大家")),
    Rule("person", _ENGLISH, _known_as, needs=("aka", "a.k.a.", "nicknamed", "known", "goes by"), cased=True),
)
