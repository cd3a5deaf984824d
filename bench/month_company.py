"""An invented company for scripted_month.py: what its documents say, what is asked about them, and what they do not hold.

Every document is a department's, with three matters of a paragraph each. Wordings of questions are in two halves: one to tune
with, the other to report on.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

HALVES = ("tuned", "apart")

DEPARTMENTS = {
    "人事部": ("年假", "病假", "婚假"), "薪酬组": ("加班费", "年终奖", "住房补贴"), "考勤组": ("补卡", "外勤登记", "迟到申诉"),
    "招聘组": ("内部推荐奖", "实习生录用", "试用期转正"), "培训部": ("新员工培训", "外出进修", "技能证书津贴"),
    "差旅组": ("出差住宿", "火车票报销", "出差补助"), "财务部": ("备用金", "开具发票", "业务招待费"),
    "采购部": ("办公用品采购", "供应商准入", "设备比价"), "合同组": ("合同用印", "合同归档", "合同变更"),
    "行政部": ("会议室预订", "名片印制", "快递寄送"), "车队": ("公务用车", "私车公用补贴", "加油卡"),
    "后勤部": ("员工宿舍", "员工食堂就餐卡", "通勤班车"), "安保部": ("访客登记", "门禁卡", "夜间值班"),
    "信息部": ("邮箱开通", "密码重置", "笔记本电脑领用"), "网络组": ("无线网络账号", "远程接入", "打印机安装"),
    "仓库": ("物料领用", "余料退库", "月末盘点"), "设备科": ("设备点检", "模具维修", "停机报告"),
    "质量部": ("来料检验", "不合格品处置", "质量事故上报"), "安全科": ("动火作业证", "高处作业证", "劳保用品"),
    "环保科": ("危险废物转移", "废水检测", "垃圾分类"), "销售部": ("客户报价", "样品寄送", "回款登记"),
    "售后部": ("产品保修", "上门维修", "退换货"), "法务部": ("商标申请", "律师函", "保密协议"),
    "品牌部": ("宣传册", "展会摊位", "新闻稿发布"),
}  # fmt: skip
ENGLISH = {
    "Customer manual": ("warranty claim", "spare parts order", "firmware update"),
    "Reseller guide": ("volume discount", "demo unit loan", "price protection"),
    "Visitor guide": ("factory tour", "guest parking pass", "photo permit"),
}
ABSENT = tuple(
    "健身房 停车位 宠物托管 年会 团建 母婴室 股票期权 企业年金 子女入学 人才落户 居住证 公租房 年度体检 流感疫苗 心理咨询 "
    "工会会费 图书借阅 羽毛球场 游泳卡 下午茶 咖啡机 储物柜 淋浴间 充电桩 自行车棚 代驾服务 签证 护照 外币兑换 海外医疗险 "
    "同声传译 专利奖励 论文发表 软件著作权 科研经费 博士后工作站 职称评定 党费 义务献血 志愿者活动 爱心捐款 校企合作 毕业论文指导 "
    "退休返聘 丧假 陪产假 哺乳假 探亲假 育儿假 弹性工作 居家办公 竞业限制 离职证明 收入证明 社保转移 公积金提取 "
    "工伤认定 个税申报 高温补贴 取暖费 话费补贴 工作服 电子签章 投影仪 录音笔 无人机 直播间 短视频账号 客户答谢会 "
    "积分商城 优惠券 加盟店 代理商返点 跨境电商 报关 出口退税 原产地证 海运订舱 冷链运输 叉车证 电梯年检 消防演练 防汛沙袋 "
    "灭火器 急救箱 白蚁防治 绿化养护 光伏发电 碳排放 节能改造 旧手机回收 吸烟区 雨伞 轮椅 祈祷室 理发店 洗衣房 租房押金 "
    "生日蛋糕 劳模评选 退伍军人安置 残疾人补贴".split()
)  # fmt: skip
ABSENT_ENGLISH = tuple(
    "gym membership|pet policy|stock options|dental plan|language course|bicycle lease|travel visa|child care|"
    "carbon report|patent bonus|drone rental|gift voucher|museum ticket|ferry pass|blood donation|garden plot".split(
        "|"
    )
)

_CHINESE = {
    "who": ("{s}由{who}审批", ("{s}谁审批", "{s}要找哪个领导批", "{s}的审批人是谁"), ("{s}得谁点头才行", "{s}归谁批准", "哪位负责批{s}")),
    "when": ("申请须提前{n}个工作日提交", ("{s}要提前几天申请", "{s}提前多久提交", "申请{s}提前几个工作日"), ("{s}最晚什么时候交申请", "办{s}得早几天说", "{s}要预留多少天")),
    "where": ("在{place}办理", ("{s}在哪里办", "办理{s}去哪个地方", "{s}到哪办理"), ("{s}上哪儿弄", "想办{s}该去哪层楼", "{s}的办理地点")),
    "what": ("办理时出示{paper}", ("{s}要带什么材料", "办{s}需要哪些材料", "{s}的材料清单"), ("{s}要交啥东西", "弄{s}得准备什么", "{s}都要哪些证件")),
    "most": ("每年以{n}元为限", ("{s}的限额是多少", "{s}最多多少钱", "{s}每年上限多少元"), ("{s}一年能有多少钱", "{s}封顶是几块", "{s}有没有金额限制")),
    "long": ("自受理起{n}天办结", ("{s}几天能办好", "{s}的办理期限", "{s}多长时间办结"), ("{s}要等多久", "{s}啥时候能下来", "{s}得多少天出结果")),
    "call": ("咨询拨打分机{n}", ("{s}咨询电话", "{s}打哪个分机", "{s}的联系电话是多少"), ("{s}有事打几号", "想问{s}拨什么号", "{s}怎么联系")),
}  # fmt: skip
_IN_ENGLISH = {
    "who": ("A {s} is approved by {who}", ("who approves a {s}", "who signs off the {s}"), ("whose approval do I need for a {s}", "who has to say yes to a {s}")),
    "when": ("ask for a {s} {n} working days ahead", ("how many days ahead do I request a {s}", "notice period for a {s}"), ("how early must I ask for a {s}", "when at the latest do I apply for a {s}")),
    "call": ("questions on a {s} go to extension {n}", ("which extension for a {s}", "phone number for {s} questions"), ("whom do I ring about a {s}", "how do I reach someone about a {s}")),
}  # fmt: skip
_BEFORE = ("", "", "", "请问", "你好，", "想问下", "麻烦问下")
_BEHIND = ("", "", "", "？", "呢", "啊", "，急")
_NAMES = "王赵钱孙李周吴郑冯陈褚卫蒋沈韩杨朱秦尤许何吕施张孔曹严华金魏陶姜"
_GIVEN = "明华强敏静丽军洋勇艳杰娟涛超霞平刚桂兰海燕鹏飞玲凤英梅琳宁波"
_PLACES = ("一号楼", "二号楼", "办公楼", "综合楼", "东区", "西区")
_PAPERS = ("工牌与申请单", "身份证复印件", "部门盖章的表格", "近三个月的记录", "负责人签字的说明", "原件与两份复印件")


@dataclass(frozen=True, slots=True)
class Topic:
    """One thing that is asked.

    Attributes:
        key: What the right answer says of its subject; of a gap, what its owner will write.
        wordings: By half.
        said: The sentence that answers it.
        kind: ``known``, ``withheld`` (it stands where some agents may not read for want of trust), ``far`` (a subject that no
            document has) or ``near`` (a subject that documents have, and this of it they have not).
    """

    subject: str
    kind: str
    said: str
    key: str
    wordings: dict[str, tuple[str, ...]]
    english: bool = False


@dataclass(slots=True)
class Company:
    """Documents by name, each with whether it is trusted less, and what is asked of them."""

    documents: dict[str, str] = field(default_factory=dict)
    doubted: set[str] = field(default_factory=set)
    topics: list[Topic] = field(default_factory=list)


class _Facts:
    """Facts that are said once of a subject."""

    def __init__(self, drawn: random.Random) -> None:
        self._drawn = drawn
        self._used: set[tuple[str, str]] = set()

    def of(self, subject: str, aspect: str, *, english: bool) -> tuple[str, str, dict[str, tuple[str, ...]]]:
        """The sentence, what of it is the answer, and how it is asked."""
        sentence, *halves = (_IN_ENGLISH if english else _CHINESE)[aspect]
        while True:
            given: dict[str, str | int] = {
                "who": f"{self._drawn.choice(_NAMES)}{self._drawn.choice(_GIVEN)}{self._drawn.choice(_GIVEN)}",
                "n": self._number(aspect),
                "place": f"{self._drawn.choice(_PLACES)}{self._drawn.randint(101, 699)}室",
                "paper": f"{self._drawn.choice(_PAPERS)}（表{self._drawn.randint(100, 999)}）",
            }
            said = sentence.format(s=subject, **given)
            named = {"who": "who", "where": "place", "what": "paper"}.get(aspect, "n")
            key = str(given["who"] if named == "who" else said if named == "n" else given[named])
            if (subject, key) not in self._used:
                self._used.add((subject, key))
                break
        wordings = {half: tuple(one.format(s=subject) for one in of) for half, of in zip(HALVES, halves, strict=True)}
        return said, key, wordings

    def _number(self, aspect: str) -> int:
        low, high, step = {"most": (200, 9_000, 10), "call": (6_000, 7_999, 1), "long": (2, 60, 1)}.get(
            aspect, (1, 30, 1)
        )
        return self._drawn.randrange(low, high, step)


def company(seed: int = 43) -> Company:
    """The company, the same for the same seed."""
    drawn = random.Random(seed)
    facts, made = _Facts(drawn), Company()
    _write(made, facts, drawn, DEPARTMENTS, tuple(_CHINESE), english=False)
    _write(made, facts, drawn, ENGLISH, tuple(_IN_ENGLISH), english=True)
    for subjects, aspects, english in ((ABSENT, tuple(_CHINESE), False), (ABSENT_ENGLISH, tuple(_IN_ENGLISH), True)):
        for subject in subjects:
            for aspect in drawn.sample(aspects, 2 if english or drawn.random() < 0.55 else 1):
                said, key, wordings = facts.of(subject, aspect, english=english)
                made.topics.append(Topic(subject, "far", _whole(subject, said), key, wordings, english))
    return made


def _write(
    made: Company,
    facts: _Facts,
    drawn: random.Random,
    books: Mapping[str, Sequence[str]],
    aspects: Sequence[str],
    *,
    english: bool,
) -> None:
    for name, subjects in books.items():
        parts = [f"# {name}{'' if english else '办事规定'}\n"]
        doubted = name in ("品牌部", "售后部", "Reseller guide")
        for subject in subjects:
            held = drawn.sample(aspects, len(aspects) - (1 if english else 3))
            sentences = []
            for aspect in aspects:
                said, key, wordings = facts.of(subject, aspect, english=english)
                kind = "near" if aspect not in held else "withheld" if doubted else "known"
                if aspect in held:
                    sentences.append(said)
                made.topics.append(
                    Topic(subject, kind, _whole(subject, said), key if kind != "near" else said, wordings, english)
                )
            glue, end = (". ", ".") if english else ("，", "。")
            lead = "" if english or sentences[0].startswith(subject) else f"{subject}："
            parts.append(f"## {subject}\n\n{lead}{glue.join(sentences)}{end}\n")
        made.documents[name] = "\n".join(parts)
        if doubted:
            made.doubted.add(name)


def _whole(subject: str, said: str) -> str:
    """A sentence that says by itself what it is about."""
    return f"{said}。" if subject in said else f"{subject}：{said}。"


def says(topic: Topic, text: str) -> bool:
    """Whether a text has the answer."""
    return topic.key in text and topic.subject in text


def spoken(topic: Topic, half: str, drawn: random.Random) -> str:
    """One of the ways in which it is asked."""
    text = drawn.choice(topic.wordings[half])
    return text if topic.english else f"{drawn.choice(_BEFORE)}{text}{drawn.choice(_BEHIND)}"
