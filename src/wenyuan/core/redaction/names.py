"""Redaction rules for names of persons and postal addresses, and for columns that hold them."""

from __future__ import annotations

import re
import unicodedata

from wenyuan.core.redaction.commonness import commonness, rarity
from wenyuan.core.redaction.family_names import FAMILY
from wenyuan.core.redaction.given_names import GIVEN
from wenyuan.core.redaction.matching import IN_HAN, Rule, Span
from wenyuan.core.redaction.text_view import TextView
from wenyuan.core.text.folding import HAN, simplified

# Rules for names of persons: a cue word before or after, and a surname. What has no cue is left to a recogniser.


DOUBLE = frozenset(
    """欧阳 上官 司马 诸葛 夏侯 东方 皇甫 尉迟 公孙 慕容 令狐 司徒 司空 端木 百里 呼延 南宫 丌官 亓官 乐正 闻人 万俟 巫马 公西 漆雕 公良 夹谷 羊舌 微生 司寇 颛孙 达奚 即墨 长孙 宇文 轩辕 西门 独孤 澹台
    公冶 宗政 濮阳 淳于 单于 太叔 申屠 仲孙 钟离 闾丘 鲜于 赫连 完颜 纳兰 拓跋 第五 东郭 南门 梁丘 左丘 段干 谷梁""".split()
)
SINGLE = frozenset(
    "赵钱孙李周吴郑王冯陈褚卫蒋沈韩杨朱秦尤许何吕施张孔曹严华金魏陶姜戚谢邹喻柏水窦章云苏潘葛奚范彭郎鲁韦昌马苗凤花方俞任袁柳"
    "酆鲍史唐费廉岑薛雷贺倪汤滕殷罗毕郝邬安常乐于时傅皮卞齐康伍余元卜顾孟平黄和穆萧尹姚邵湛汪祁毛禹狄米贝明臧计伏成戴谈宋茅庞"
    "熊纪舒屈项祝董梁杜阮蓝闵席季麻强贾路娄危江童颜郭梅盛林刁钟徐邱骆高夏蔡田樊胡凌霍虞万支柯昝管卢莫经房裘缪干解应宗丁宣贲邓"
    "郁单杭洪包诸左石崔吉钮龚程嵇邢滑裴陆荣翁荀羊於惠甄曲家封芮羿储靳汲邴糜松井段富巫乌焦巴弓牧隗山谷车侯宓蓬全郗班仰秋仲伊宫"
    "宁仇栾暴甘钭厉戎祖武符刘景詹束龙叶幸司韶郜黎蓟薄印宿白怀蒲邰从鄂索咸籍赖卓蔺屠蒙池乔阴胥能苍双闻莘党翟谭贡劳逄姬申扶堵冉"
    "宰郦雍璩桑桂濮牛寿通边扈燕冀郏浦尚农温别庄晏柴瞿阎充慕连茹习宦艾鱼容向古易慎戈廖庾终暨居衡步都耿满弘匡国文寇广禄阙东殴"
    "沃利蔚越夔隆师巩厍聂晁勾敖融冷訾辛阚那简饶空曾毋沙乜养鞠须丰巢关蒯相查后荆红游竺权逯盖益桓公付肖闫岳冼佟佘佴揭代岑丛亓"
    "欧麦敖谌粟苑邝忻禤甯帅占仝苟覃门阳初仉降邸晋楚芦言隋鄢蔺迟法汝涂钦缑亢况有琴商牟伯赏墨哈谯笪年爱佟"
    "郄郇庹爨謇蹇綦仵佀侴恽禚缐茆葸褟皋贠鄞镡雒鬲睢眭琚炅郐郤迮颛苌虢殳杲逄逯鹿漆朴修撒母敬但占战揣冮檀乜"
)
# Surnames that begin common words; they count only where a form says "name:".
AMBIGUOUS = frozenset(
    "应于和都能有时从通空后别家全双经水强平安法相权向国公文广东计成包单解明高方关管须红利越满充常任连居步山花养车商年爱初降况门"
    "支富印扶边终简代查干益阳司幸容古党那师农须步封乐易伏云言帅占修撒母敬但战鹿漆"
)
NOT_GIVEN = frozenset(
    "的了在是应当须需可能要会已未被把对向由与及或等者人员称号码为所该本此每各将请至并且但也都就还又再不无有没及时间"
    "系式法案部门位司章字签办理话址箱证件到"
)
_FOLLOWERS = (
    "先生 女士 小姐 同志 师傅 老师 教授 医生 经理 电话 手机 身份证 证件 护照 联系 的银 的身 的手 的电 的微 的邮 的账 的卡 的住 的家"
    " 持 于 在 从 因 已 与 和 及 或 负责 担任 提出 来电 来访 来函 致电 反映 投诉 申请 表示 称 说 住 现住 家住 系 男 女 年 驾驶 乘坐"
    " 等 是 为 应 须 未 将 向 对 被 由 到 发 收 签 同意 出生 工号 微信 邮箱 地址 报 要求 购买 银行 账号 卡号 车 签字 办理 确认"
    " 共同 组织 检查 巡查 巡视 发现 签发 签收 签名 签认 主持 参加 参与 汇报 审核 审批 批准 复核 验收 整改 监督 旁站 记录 填写 值班 到场 离开 进行"
    " 完成 指出 认为 核实 陪同 带领 已经 正 随后 随即 立即 当场 现场 均 都 也 还 又 再 同时 没 昨 今 当日 上午 下午 通知 安排 开展 制止 处理 接到 收到"
    " 上岗 到岗 脱岗 离岗 违章 受伤 遇难 死亡 拒绝 擅自 未按 违反 批评 表扬"
).split()
_FOLLOWS = re.compile("|".join(_FOLLOWERS))
_FOLLOWS_A_NAME = re.compile("先生|女士|小姐|同志|师傅|电话|手机|身份证|护照|[持驾]")
NOT_NAMES = frozenset(
    """支持 必填 选填 待定 暂无 未知 保密 不详 同上 同下 如下 见附件 填写 签字 签名 盖章 单位 部门 公司 经理 主任 电话 手机 方式 本人 姓名
    性别 年龄 身份证 证件 全称 简称 无 未填 空 匿名 管理员 负责人 联系人 客服 方便 方法 方案 方面 方向 时间 任何 任务 全部 全体 安全
    安排 高度 高级 高处 应急 应当 文件 文字 平台 平均 明确 成功 成员 关于 管理 相关 相应 公开 公示 国家 国内 常见 常用 经济 经过 车辆
    车间 水平 水泥 强制 强度 计划 计算 包括 单独 解决 通知 通过 空间 后续 别人 家属 家庭 双方 于是 和平 代表 代码 代理 简单 简介 金额
    金融 程序 程度 严格 严重 施工 施工方 施工员 项目 项目部 项目经理 路径 路线 温度 温馨 石油 石材 白天 万元 钱包 钱款 汤水 江苏
    徐州 常州 宁波 金华 黄山 黄石 荆州 荆门 安庆 安阳 安康 惠州 梅州 柳州 曲靖 曲阜 包头 温岭 余姚 昌平 房山 邢台 房产 林业 石化 华东 华南 华北 华中
    康复 宣传 白班 江西 海南 湖南 湖北 广东 广西 山东 山西 云南 贺电 祝福 符合 符号 许可 许多 费用 盛大 居民 连续 连接 易燃 易爆 景区 曲线 宿舍
    童装 毛利 米饭 黄金 马上 马路 牛奶 鱼类 花费 章程 章节 葛根 沈阳 杭州 郑州 苏州 温州 范围 毕业 居住 查阅 晋职 年休 养老 宣布 索偿 皮肤 应聘 离职 祝贺 解释 解答 贡献 游览 游客 厉行 终止 终身
    张贴 张拉 张开 江水 江面 黄色 白色 红色 毛坯 金属 钢筋 石灰 石膏 马达 水电 水泵 汪洋 路面 路基 路口 管线 管道 管控 严禁 严守 时刻 时常 常规 周一 周二 周三 周四 周五 周六 周日 周末 母亲 母子 母公司 母婴 修改 修理 修复 修订 占比 占用 占地 战略 强风 强光 强酸 强碱 金牌 高空 高压 高温""".split()
)
_CUE = (
    "真实姓名|中文姓名|英文姓名|姓名|联系人|联络人|收件人|收货人|寄件人|发件人|负责人|责任人|经办人|申请人|投诉人|举报人|报案人|报警人|房主|民警|家属"
    "|当事人|法定代表人|法人代表|委托人|代理人|受托人|被告人?|原告|监护人|持卡人|户主|业主|房东|租客|承租人|出租人|受益人|被保险人"
    "|投保人|借款人|担保人|证人|嫌疑人|被害人|签字人|审批人|审核人|编制人|制表人|复核人|批准人|检查人|记录人|填表人|主持人|发言人"
    "|项目经理|总监|监理工程师|安全员|施工员|质检员|质量员|材料员|资料员|监理员|班组长|班长|队长|值班人员?|作业人员|操作人员|驾驶员|司机|患者|病人|访客|客户|用户|顾客|旅客|乘客"
    "|员工|职工|学生|家长|求职者|应聘者|候选人|考生|被试|受访者|班主任|主治医师|名叫|叫做|我叫|他叫|她叫|名字是|名字叫|本人|联系(?!方式|电话|人|地址|邮箱)|打入|转给|寄给|同事"
)
_AFTER_CUE = r"[\s:是为叫*_\"'“「【(]{0,4}"
_CHINESE = re.compile(rf"(?:{_CUE})(?P<gap>{_AFTER_CUE})")
_RUN = re.compile(rf"[{HAN}](?:[ ]?[{HAN}]|·[{HAN}]){{0,11}}")
_FOREIGN = re.compile(rf"[{HAN}]{{1,8}}(?:·[{HAN}]{{1,8}}){{1,3}}")
_SPREAD = re.compile(rf"[{HAN}] [{HAN}](?![{HAN}])")


def surname_length(name: str) -> int:
    """How many characters of `name` are a Chinese surname: 0, 1 or 2."""
    if name[:2] in DOUBLE:
        return 2
    return 1 if name[:1] in SINGLE else 0


def _after_cue(view: TextView, match: re.Match[str]) -> Span | None:
    return _name_at(view, match.end(), ":" in match["gap"])


def _name_at(view: TextView, start: int, form: bool) -> Span | None:
    """The name that begins at `start`; `form`: it follows a colon."""
    run = _RUN.match(view.text, start)
    if not run:
        name = _NAME.match(view.text, start) if form else None
        return _english(name) if name else None
    length = _name_length(run[0], form, view.text[run.end() : run.end() + 1])
    return (start, start + length, run[0][:length].replace(" ", "")) if length else None


def _name_length(run: str, form: bool, after: str) -> int:
    """How many characters of what follows a cue are a name; `form`: the cue had a colon; `after`: the next character."""
    foreign = _FOREIGN.match(run)
    if foreign:
        return foreign.end()
    spread = _SPREAD.match(run)
    if spread and form and run[0] in SINGLE:
        return 3
    run = run.partition(" ")[0]
    surname = surname_length(run)
    if not surname:
        return len(run) if form and 2 <= len(run) <= 4 and is_plausible(run, 1) and _is_strange(run) else 0
    common_word = run[0] in AMBIGUOUS and not form
    follows = _FOLLOWS_A_NAME if common_word else _FOLLOWS
    vouched = not common_word or after.isdigit() or after == "("
    for length in (surname + 2, surname + 1):
        ends = (vouched and len(run) == length) or (len(run) > length and follows.match(run, length))
        if ends and is_plausible(run[:length], surname):
            return length
    whole = run[: surname + 2]
    return len(whole) if form and len(whole) > surname and is_plausible(whole, surname) else 0


_STRANGE = 5.0  # see `rarity`


def _is_strange(run: str) -> bool:
    """Whether characters without a surname may be a name all the same, as no words are written with them: 扎西多吉, but not 前台."""
    return run[0] not in "一二三四五六七八九十两" and any(
        rarity(run[at : at + 2]) >= _STRANGE for at in range(len(run) - 1)
    )


def is_plausible(name: str, surname: int) -> bool:
    if name in NOT_NAMES or name[:2] in NOT_NAMES:
        return False
    return not any(c in NOT_GIVEN for c in name[surname:])


_HAN_NAME = re.compile(rf"[{HAN}]{{1,8}}(?:·[{HAN}]{{1,8}})+|[{HAN}](?: ?[{HAN}]){{1,3}}")
_NO_PERSON = frozenset(
    "部门 职务 岗位 职位 工种 班组 备注 学历 民族 籍贯 专业 年级 班级 序号 编号 日期 时间 合计 小计 总计 单位 公司 状态 数量 金额 说明 类型 类别"
    " 级别 等级 电话 手机 邮箱 地址 住址 男 女 有 无 是 否".split()
)


def looks_like_a_name(cell: str, *, named: bool) -> bool:
    """Whether a cell of a table may hold a person's name.

    Args:
        named: Its column says that it does: then anything may be one but what is known for none.
    """
    text = simplified(unicodedata.normalize("NFKC", cell)).strip()
    han = _HAN_NAME.match(text)
    if han and len(text) > han.end() and not named:
        return False
    if han:
        name = han[0].replace(" ", "")
        if name in NOT_NAMES or name in _NO_PERSON:
            return False
        surname = surname_length(name)
        return named or (0 < surname < len(name) <= surname + 2 and is_plausible(name, surname))
    if named:
        return sum(c.isalpha() for c in text) >= 2 and text.casefold() not in _PLACEHOLDERS
    words = _NAME.fullmatch(text)
    return words is not None and " " in text and words[0].split(" ")[0] not in _FORMS


_PLACEHOLDERS = frozenset("n/a na none null unknown nil tbd anonymous yes no required optional total".split())


_TITLE = re.compile(
    rf"[{HAN}](?=安全员|施工员|质检员|质量员|材料员|资料员|监理员|班长|队长|护士|律师|警官|法官|先生|女士|小姐|同志|师傅|老师|教授|医生|[(]身份证|[(]手机|[(]电话"
    r"|的(?:身份证|手机号|电话|银行卡|卡号|护照|住址|家庭住址|微信))"
)


def _before_title(view: TextView, match: re.Match[str]) -> Span | None:
    """A name right before 先生, 女士 …: its start is found by the surname alone."""
    end = match.end()
    for length in (4, 3, 2):
        name = view.text[max(0, end - length) : end]
        surname = surname_length(name)
        if len(name) < length or surname != max(1, length - 2) or not is_plausible(name, surname):
            continue
        if name[0] not in AMBIGUOUS and all(c >= "\u3400" for c in name):
            return end - length, end, name
    return None


_WORD = r"(?:[ODL]['’](?=[A-Z]))?[^\W\d_a-z\u3400-\u9fff][^\W\d_\u3400-\u9fff]{1,24}(?:['’\-][^\W\d_\u3400-\u9fff]{1,24})?"
_INITIAL = r"[^\W\d_a-z\u3400-\u9fff]\.?"
_NAME = re.compile(
    rf"(?P<name>{_WORD}(?:[ ](?:{_WORD}|(?:de|da|van|von|der|den|bin|al|la|di)(?= )|{_INITIAL}(?= ))){{0,4}})"
    r"(?![^\W\d_\u3400-\u9fff])"
)
_ENGLISH_TITLE = re.compile(
    rf"(?:Mrs|Mr|Ms|Miss|Dr|Professor|Prof|Mx|MR|MRS|MS|DR|Messrs|Madam|Madame|Monsieur|Herr|Frau|Sir|Lady|Judge|Justice|Capt|Captain|Sgt|Sergeant|Lt|Col|Rev)\.?[ ]{{1,2}}(?:{_INITIAL}[ ])?(?={_WORD})"
)
_ENGLISH_CUE = re.compile(
    r"(?:name|contact(?: person)?|attn|attention|recipient|consignee|customer|patient|employee|cardholder|signed(?: by)?"
    r"|prepared by|reviewed by|approved by|beneficiary|applicant|dear)(?:\s?[:=]\s?|\sis\s|(?<=dear)\s)[*_\"'“]{0,3}"
)
_ENGLISH_ROLE = re.compile(
    r"(?:(?:safety|site|security|duty|compliance|loan) officer|(?:project|site|branch|account) manager|foreman|supervisor|inspector|operator|driver"
    r"|nurse|technician|engineer|accountant|witness|tenant|patient)(?:,)?\s(?:mr\.? |ms\.? |mrs\.? )?"
)
# What no name begins or ends with, though headings write it with a capital letter.
NO_NAME = frozenset(
    """I Hello Hi Hey Training Shall Must Is Are Was And Or For Of In On At To The A An With By Role Roles Duties Duty Responsibilities Responsibility Program
Programme Manual Checklist Report Reports Name Names Guide Guidelines Certification Certificate Course Courses License Licence Requirements
Records Record Inspection Inspections Review Meeting Meetings Safety Handbook Policy Policies Plan Plans Procedure Procedures Form Forms Log
Signature Approval Qualifications Qualification Job Description Position Contact Details Team Office Department Level Assistant Who When
Where What Should May Will Can Has Have Had Not Data System Systems Management Control Room Station Seat Side Fatigue Behavior Behaviour
Instructions Required Only All Any Each Every Before After During Monday Tuesday Wednesday Thursday Friday Saturday Sunday January February
March April May June July August September October November December Chapter Section Article Table Figure Appendix""".split()
)
_ENGLISH_SAID = re.compile(r"(?:my name's|my name’s|my name is|i am called|called me|named|by the name of)\s")
_THING = re.compile(
    r"(?:file|host|user|domain|product|project|company|class|table|column|package|image|service|function|display|brand|model|event|course"
    r"|department|field|method|module|variable|font|key|tag|branch|server|database|bucket|queue|topic|role|group|team|school|bank|street)[ _\-]?\Z"
)
_FORMS = frozenset(
    """Required Optional None Null Unknown Anonymous String Yes No Sir Madam All Team Customer Customers Colleagues
Friends Support The Your This Please See Enter Name Phone Email Mobile Address""".split()
)


_OFFICES = frozenset(
    "Accounts Payable Receivable Resources Purchasing Procurement Billing Logistics Marketing Department Team Office".split()
)


def _after_english(view: TextView, match: re.Match[str]) -> Span | None:
    start = match.start()
    before = view.lower[start - 1 : start]
    if before == "_" or (before.isascii() and before.isalpha()):
        return None  # username:, APP_NAME=
    if _THING.search(view.lower, max(0, start - 14), start):
        return None
    return _name_at(view, match.end(), form=True)


_TITLED = frozenset(
    """Coffee President Chairman Chair Speaker Minister Secretary Ambassador Mayor Governor Right Clean Bean Robot Wonderful Pepper Muscle Potato Proper Big Fix Universe World America
    Everything Nobody Somebody Perfect Cool Cat Fox Bear Wolf Rabbit Bones Who Strange Manager Director Officer Nurse Engineer Inspector Detective""".split()
)
"""What stands behind Mr. and Dr. and names nobody: offices, brands, figures."""


def _titled(view: TextView, match: re.Match[str]) -> Span | None:
    found = _after_english(view, match)
    return None if found is None or (found[2].isalpha() and found[2].title() in _TITLED) else found


def _after_role(view: TextView, match: re.Match[str]) -> Span | None:
    """Two words with capital letters after what somebody is; a heading, all of whose words have them, names nobody."""
    before = view.lower[match.start() - 1 : match.start()]
    name = None if before.isascii() and before.isalpha() else _NAME.match(view.text, match.end())
    if name is None:
        return None
    words = name["name"].split(" ")
    if not 2 <= len(words) <= 4 or not NO_NAME.isdisjoint(words):
        return None
    titled = view.text[match.start() : match.end()].istitle()
    rest = view.text[name.end() :].lstrip(" ")[:1] if titled else ""
    return None if rest.isupper() else _english(name)


_A_WORD = 3.0  # see `commonness`


def _english(match: re.Match[str]) -> Span | None:
    words = match["name"].split(" ")
    if words[0] in _FORMS or not _OFFICES.isdisjoint(words) or all(len(word) < 2 for word in words):
        return None
    if len(words) == 1 and words[0] not in GIVEN and words[0] not in FAMILY and commonness(words[0]) >= _A_WORD:
        return None  # Signed: Pending
    return match.start(), match.end(), " ".join(words).casefold()


_ROLE_NEEDS = tuple(
    "officer manager foreman supervisor inspector operator driver nurse technician engineer accountant witness tenant patient".split()
)

_TITLE_NEEDS = tuple(
    "mr ms miss messrs dr prof mx mada monsieur herr frau sir lady judge justice capt sgt serg lt col rev".split()
)

NAME_RULES = (
    Rule("person", _CHINESE, _after_cue, signs=IN_HAN, written=True),
    Rule("person", _TITLE, _before_title, signs=IN_HAN, written=True),
    Rule("person", _ENGLISH_TITLE, _titled, needs=_TITLE_NEEDS, cased=True),
    Rule("person", _ENGLISH_CUE, _after_english),
    Rule("person", _ENGLISH_ROLE, _after_role, needs=_ROLE_NEEDS),
    Rule("person", _ENGLISH_SAID, _after_english, needs=("name", "called")),
)
