"""Source selection, request context and analysis of the question: which sources a request may search, what its context
adds to the ranking, and whether the question looks like a text.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Collection, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from datetime import date
from itertools import pairwise
from typing import Any, Generic, Protocol, TypeVar

from wenyuan.core.access import TaskProfile, profile_of
from wenyuan.core.addresses import Holder, folder_of, path_words, readable
from wenyuan.core.errors import ConfigError, InvalidRequest, NotFound, UnknownDomain, did_you_mean, msg
from wenyuan.core.model import Label, LabelVector, Passage, Source
from wenyuan.core.ports import ChangeFeed, Deadline, Encoder
from wenyuan.core.records import KeptTuning
from wenyuan.core.scoring import Traits
from wenyuan.core.scoring.adapt import Tuning
from wenyuan.core.scoring.fusion import Fusion, Reference, Topic, reference_of
from wenyuan.core.scoring.probability import Curve
from wenyuan.core.terms_of_use import Validity, effective_ends
from wenyuan.core.text import OWN, has_han, query_terms, terms
from wenyuan.core.text.synonyms import Synonym, SynonymTable, Wordings
from wenyuan.service import Query


class Record(ChangeFeed, Protocol):
    """The reads that a search needs, from the current catalog (`catalog.Catalog`) or from a past state of it
    (`audit.past.RecordAt`).
    """

    def sources(self, deadline: Deadline | None = None) -> tuple[Source, ...]: ...

    def passages(self, passage_ids: Sequence[int], deadline: Deadline | None = None) -> Mapping[int, Passage]: ...

    def labels(self, passage_ids: Sequence[int], deadline: Deadline | None = None) -> Mapping[int, Label]:
        """Title and headings of each passage, live or removed."""
        ...

    def label_vectors(self, passage_ids: Sequence[int], deadline: Deadline | None = None) -> Sequence[LabelVector]:
        """Label vectors of the passages, live or removed, that have one."""
        ...

    def document_by_uri(
        self, uri: str, sources: Sequence[str] | None = None, deadline: Deadline | None = None
    ) -> tuple[int, str, str] | None: ...

    def holders(self, uris: Sequence[str], but: str = "") -> Mapping[str, Sequence[Holder]]:
        """Documents that have these addresses, in any source except `but`."""
        ...

    def floor(self, mode: str) -> Mapping[str, Mapping[str, float]]:
        """Measured collection traits by script (see `core.scoring.Traits`); empty until they are measured."""
        ...

    def tuning_at(self, seq: int, deadline: Deadline | None = None) -> Tuning | None:
        """The tuning that was in effect at a change; None without one."""
        ...

    def profiles_at(self, seq: int, deadline: Deadline | None = None) -> tuple[TaskProfile, ...]:
        """The task profiles that were registered at a change."""
        ...

    def synonyms_version(self, seq: int, deadline: Deadline | None = None) -> int:
        """The number of the last synonym change up to a change of the catalog; 0 for none."""
        ...

    def synonyms_at(self, seq: int, deadline: Deadline | None = None) -> tuple[Synonym, ...]:
        """The synonym table at a change."""
        ...


T = TypeVar("T")


class PerChange(Generic[T]):
    """A value that depends on the state of the catalog: read once, and kept until the catalog is at another change.
    Thread-safe.

    Args:
        read: Reads it, given the change.
    """

    def __init__(self, read: Callable[[int, Deadline | None], T]) -> None:
        self._read = read
        self._lock = threading.Lock()
        self._at: tuple[int, T] | None = None

    def at(self, change: int, deadline: Deadline | None = None) -> T:
        with self._lock:
            if self._at is None or self._at[0] != change:
                self._at = (change, self._read(change, deadline))
            return self._at[1]


# Which sources a request may see: those asked for, trusted enough, and in force on its day.


@dataclass(frozen=True, slots=True, kw_only=True)
class Allowed:
    """The sources that an agent may see now.

    Attributes:
        sources: Ids of the sources of its domains, in force or not.
        trusted: Those among them that it trusts enough.
        min_trust: How much trust that takes, of evidence, too.
    """

    sources: frozenset[str]
    trusted: frozenset[str]
    min_trust: int


@dataclass(frozen=True, slots=True)
class Sources:
    """A snapshot of the source registry at one change of the catalog.

    Attributes:
        days: First and last day in force of each; the last is before the first where it never is.
        ends: The last day of each before its successor; None if none follows.
    """

    by_id: Mapping[str, Source]
    days: Mapping[str, tuple[date, date]]
    ends: Mapping[str, date | None]

    def in_force(self, source_id: str, day: date) -> bool:
        """Whether a source is in force on a day; a superseded source ends when its successor takes effect."""
        first, last = self.days[source_id]
        return first <= day <= last

    def last_day(self, source_id: str) -> date | None:
        """The last day on which a source is in force; None if it does not end."""
        own, succeeded = self.by_id[source_id].effective_until, self.ends[source_id]
        return min(filter(None, (own, succeeded)), default=None)

    def within(self, domains: Collection[str]) -> list[str]:
        """Ids of the sources in some domains; unknown domains give none."""
        return [s.source_id for s in self.by_id.values() if s.domain in domains]

    def of_domain(self, domain: str) -> list[str]:
        """Ids of the sources of a domain; raises UnknownDomain if no source has it."""
        found = self.within({domain})
        if not found:
            known = sorted({s.domain for s in self.by_id.values()})
            raise UnknownDomain(
                msg("there is no domain {domain}{near}", domain=repr(domain), near=did_you_mean(domain, known))
            )
        return found

    def seen(self, wanted: Sequence[str] | None, *, min_trust: int, day: date) -> tuple[list[str], list[Source]]:
        """The local sources (ids) and external sources that a request may search.

        Raises:
            NotFound: a source is asked for that does not exist.
        """
        for name in wanted or ():
            if name not in self.by_id:
                raise NotFound(msg("there is no source {name}", name=repr(name)), hint="wenyuan source list")
        names = self.by_id.keys() if wanted is None else wanted
        allowed = [self.by_id[n] for n in names if self.by_id[n].trust >= min_trust and self.in_force(n, day)]
        own = [s.source_id for s in allowed if s.type == "static_doc"]
        return own, [s for s in allowed if s.type != "static_doc"]


def lasts(sources: Sequence[Source]) -> Mapping[str, date | None]:
    """The last day in force of each source by id, with successors taken into account; a superseded source need not
    exist yet.

    Raises:
        InvalidRequest: sources that supersede one another in a loop.
    """
    known = {source.source_id for source in sources}
    items = [
        replace(v, supersedes=tuple(old for old in v.supersedes if old in known)) for v in map(_validity, sources)
    ]
    return effective_ends(items, undated=date.min)


def registry_of(listed: Sequence[Source]) -> Sources:
    """The registry, made of its sources; raises ConfigError for sources that supersede one another in a loop."""
    try:
        ends = lasts(listed)
    except InvalidRequest as error:  # the registry is at fault, not who asks
        raise ConfigError(error.message, component="sources", hint="correct their supersedes") from error
    days = {s.source_id: _validity(s).days(ends=ends[s.source_id]) for s in listed}
    return Sources({s.source_id: s for s in listed}, days, ends)


def _validity(source: Source) -> Validity:
    return Validity(
        id=source.source_id,
        effective_from=source.effective_from,
        effective_until=source.effective_until,
        status=source.status,
        supersedes=source.supersedes,
    )


# What a request's context says of what it is about: a document or a path, a task, and the profile of that task.


_UNKNOWN = "\ue000"
"""A term that no passage holds: the information of one."""


@dataclass(frozen=True, slots=True)
class Told:
    """What a task contributes to a ranking. Tasks that contribute the same share cached answers.

    Attributes:
        profile: What an operator has registered for such tasks; None for nothing.
        words: Terms of its id that passages hold.
        strange: How many others there are: they tell nothing, and make what the others tell worth less.
    """

    profile: TaskProfile | None = None
    words: tuple[str, ...] = ()
    strange: int = 0


class TopicReader:
    """Builds the topic of a request from its context; cached data is reloaded after every change of the catalog.

    Args:
        information: Inverse document frequency by term.
    """

    def __init__(self, record: Record, information: Callable[[Sequence[str]], Mapping[str, float]]) -> None:
        self._record = record
        self._information = information
        self._profiles = PerChange(record.profiles_at)

    def told(self, task_id: str, change: int, deadline: Deadline) -> Told:
        """What a task id contributes, at the change that the index has reached."""
        profile = profile_of(self._profiles.at(change, deadline), task_id) if task_id else None
        if profile is not None or not task_id:
            return Told(profile=profile)
        words = set(_words(path_words(task_id)))
        found = self._information([*sorted(words), _UNKNOWN])
        held = tuple(sorted(word for word in words if found[word] != found[_UNKNOWN]))
        return Told(words=held, strange=len(words) - len(held))

    def of(self, query: Query, change: int, deadline: Deadline) -> Topic:
        """The topic that a request's context names.

        A document that the caller may not see is looked up nowhere: it tells what one that does not exist tells.
        """
        uri = readable(query.source_document_uri.partition("#")[0])
        known = self._record.document_by_uri(uri, query.seen, deadline) if uri else None
        told = self.told(query.task_id, change, deadline)
        profile = told.profile
        spoken = path_words(query.task_id) if profile is None else ""
        words = " ".join((known[2] if known else "", path_words(uri) if uri else "", spoken))
        asked = set(terms(query.text))
        return Topic(
            document_id=known[0] if known else None,
            folder=folder_of(uri) if known else "",
            weights=self._information([word for word in _words(words) if word not in asked]),
            domains=frozenset(profile.domains if profile else ()),
            themes=_themes(profile, asked),
        )


def _themes(profile: TaskProfile | None, asked: Set[str]) -> tuple[frozenset[str], ...]:
    """The profile's terms that are not in the question; those that are already count as the question's own words."""
    made = (frozenset(query_terms(term)) for term in (profile.terms if profile else ()))
    plain = (frozenset(word for word in theme if not word.startswith(OWN)) for theme in made)
    return tuple(theme for theme in plain if theme and not theme <= asked)


def _words(text: str) -> list[str]:
    """The terms of a text that are specific enough to tell a topic."""
    return [term for term in terms(text) if len(term) > 1]


# The question.


@dataclass(frozen=True, slots=True, kw_only=True)
class AnalysedQuery:
    """A query after analysis, shared by all stages of a retrieval.

    Attributes:
        text: As it was asked.
        wordings: Its terms, and those of its other wordings by the library's synonyms.
        script: ``han`` or ``latin``; see `script_of`.
        names: Whether it has identifiers (see `core.text.identifiers`): a clause, a standard, a code.
        reference: The place that it names; None where it names none.
    """

    text: str
    wordings: Wordings
    script: str
    names: bool
    reference: Reference | None


def analysed(text: str, synonyms: SynonymTable) -> AnalysedQuery:
    """Analyse a query, with the library's synonyms."""
    wordings = synonyms.wordings(text)
    names = any(word.startswith("#") for word in wordings.words)
    return AnalysedQuery(
        text=text,
        wordings=wordings,
        script=script_of(text),
        names=names,
        reference=reference_of(text) if names else None,
    )


class SynonymReader:
    """Reads the synonym table of a record; it is rebuilt only when its version changes."""

    def __init__(self, record: Record) -> None:
        self._record = record
        self._version = 0
        self._table = SynonymTable()

    def __call__(self, change: int, deadline: Deadline | None) -> SynonymTable:
        """The synonyms in effect at a change; not thread-safe."""
        version = self._record.synonyms_version(change, deadline)
        if version != self._version:
            self._table = SynonymTable(self._record.synonyms_at(change, deadline))
            self._version = version
        return self._table


# The collection.


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CollectionProfile:
    """Properties of a library at one change that scoring depends on; read once per request.

    Attributes:
        traits: Languages, laws and labels.
        curve: How scores become probabilities.
        fusion: How the scores of the legs become one.
        tuning: What was learned from judged questions; None for nothing.
        copies: Copies of passages are given, too, as answers of a former version did.
        recorded: All of this that an answer's record holds, by name.
    """

    traits: Traits
    curve: Curve
    fusion: Fusion
    tuning: Tuning | None
    copies: bool
    recorded: Mapping[str, float]


def fits(tuning: Tuning | KeptTuning, encoder: Encoder | None) -> bool:
    """Whether a tuning was learned with this encoder; vectors of different encoders are not comparable."""
    return encoder is not None and tuning.encoder in ("", encoder.fingerprint.key)


# Texts about nothing in particular, and about everything: what a query and a passage are told apart from.
#
# All questions have something in common, and so have all passages of a language. What that is depends on the encoder; it is
# the mean of the vectors of these texts, which any encoder can make at its first question.


SCRIPTS = ("han", "latin")

GENERAL = {
    "han": (
        "这件事应该怎么做？", "需要准备哪些材料？", "什么情况下可以申请？", "由谁负责？", "最晚什么时候完成？",
        "费用是多少？", "有哪些要求和限制？", "出现问题该怎么处理？", "这个词是什么意思？", "两者有什么区别？",
        "为什么会这样？", "在哪里可以找到？", "违反规定有什么后果？", "第一步做什么？", "有多少人参加？",
        "是谁提出的？", "哪一年发生的？", "怎样设置这个选项？", "可以不经同意就使用吗？", "如何保证安全？",
        "联系谁可以得到帮助？", "包括哪些内容？", "是否必须？", "多久检查一次？",
    ),
    "latin": (
        "How do I do this?", "What documents are needed?", "When can I apply?", "Who is responsible?",
        "What is the deadline?", "How much does it cost?", "What are the requirements and limits?",
        "What should I do if something goes wrong?", "What does this term mean?",
        "What is the difference between the two?", "Why does this happen?", "Where can I find it?",
        "What happens if the rule is broken?", "What is the first step?", "How many people took part?",
        "Who proposed it?", "In which year did it happen?", "How do I set this option?",
        "Can it be used without consent?", "How is safety ensured?", "Whom can I contact for help?",
        "What does it include?", "Is it mandatory?", "How often is it checked?",
    ),
}  # fmt: skip
"""Questions about nothing in particular, by script: what they have in common says nothing about what is asked."""

PASSAGES = {
    "han": (
        "这条河发源于城北的山区，流经三个县后入海。铁路通车以前，粮食和煤炭都靠船运。",
        "鸡蛋加糖打发至颜色变浅，拌入面粉，放进烤箱烤三十分钟。放凉之后再切。",
        "员工每年享有十天带薪年休假。当年未休完的，可以延至次年三月底。",
        "该函数返回符合条件的记录列表，没有结果时返回空列表。连接中断时抛出异常。",
        "她轻轻关上门，站在走廊里听了一会儿。楼梯上没有人说话，雨已经停了。",
        "患者因发热、干咳入院。血常规未见异常，胸片未见明显改变，予对症治疗。",
        "第三季度营业收入同比增长百分之八，经营成本略有下降。董事会建议每股派发现金股利两角。",
        "法院认为，标的物交付时已存在缺陷，出卖人应当承担赔偿责任，判决驳回其上诉。",
        "如需重置密码，请打开设置页面，选择安全选项，系统会向注册邮箱发送链接。",
        "大桥因更换支座封闭两个月，车辆改走沿江的老路，公交线路也作了调整。",
        "光合作用把光能转化为化学能。植物吸收二氧化碳和水，释放出氧气。",
        "主队下半场连进两球，赢得了比赛。队长因膝盖受伤被换下场。",
        "会议审议并通过了修订草案，新规定自明年一月一日起施行，原办法同时废止。",
        "用肥皂和流水洗手至少二十秒。没有水时，可以使用免洗消毒液。",
        "这幅画描绘的是黄昏的港口，由博物馆在一次拍卖会上购得，战后进行过修复。",
        "一名工人在清理屋檐时从梯子上跌落，造成手臂骨折，随即被送往医院。",
        "执行安装命令后重新启动服务，日志中会显示监听的端口。",
        "调查访问了两千户家庭，了解他们在食品、房租和交通方面的支出，其中房租涨幅最大。",
        "这一科的鸟类在悬崖上筑巢，以小鱼为食，繁殖期以外多在远海活动。",
        "商品未经使用且包装完好的，自收货之日起七日内可以退货，运费由买家承担。",
        "本课程介绍线性方程组、矩阵和行列式，每两周交一次作业，期末闭卷考试。",
        "午夜过后不久，一间仓库起火，消防员赶到现场扑救，无人伤亡，起火原因正在调查。",
        "九世纪时，这座寺院在山谷两侧都有田产，有关文书保存在市档案馆。",
        "温度超过八十度时电机自动停机，面板上的指示灯显示故障代码。",
        "利息按日计算，每月末入账。银行调整利率的，应当提前两周公告。",
        "乐团演奏了三部交响曲和一位青年作曲家的序曲，音乐厅座无虚席。",
        "驾驶人应当与前车保持安全距离，雨雾天气应当加倍。",
        "这种合金重量轻、耐腐蚀、易焊接，常用于船体、储罐和自行车车架。",
        "申请材料应当在五月最后一个星期五之前送达，包括证书、两封推荐信和一份简要计划。",
        "暴风雪袭击了山口，多个村庄停电，直到次日傍晚才恢复供电。",
        "我们组每周一开会安排工作，每个人说明完成了什么、接下来做什么、遇到了什么困难。",
        "这种语言有七个格，没有冠词，动词放在句子末尾。",
        "车票可在窗口或网上购买，六岁以下儿童免票。",
        "研究人员扩大样本重复了实验，没有再观察到这一现象，作者随后撤回了论文。",
        "早晨浇水，避免阳光直射，秋天剪去枯枝。",
        "公司由兄弟二人于上世纪六十年代创办，起初生产钟表，如今有四百名员工。",
    ),
    "latin": (
        "The river rises in the hills north of the town and reaches the sea after some ninety miles. Barges carried grain and coal on it until the railway came.",
        "Whisk the eggs with the sugar until they are pale, fold in the flour, and bake for thirty minutes. Let the cake cool before you cut it.",
        "Employees are entitled to twenty-five days of paid leave in a calendar year. Leave that was not taken by the end of March lapses.",
        "The function returns a list of matching records, or an empty list when nothing was found. It raises an error if the connection is lost.",
        "She closed the door behind her and listened. Nobody spoke on the stairs, and the rain had stopped.",
        "The patient was admitted with fever and a dry cough. Blood tests were normal, and the chest X-ray showed no changes.",
        "Revenue grew by eight percent in the third quarter, while operating costs fell slightly. The board proposes a dividend of forty cents a share.",
        "The court held that the seller was liable for the damage, since the defect had existed when the goods were delivered.",
        "To reset your password, open the settings page and choose Security. A link is sent to the address of your account.",
        "The bridge was closed for two months while the bearings were replaced. Traffic was led over the old road along the quay.",
        "Photosynthesis turns light into chemical energy. Plants take in carbon dioxide and water and give off oxygen.",
        "The home side scored twice in the second half and won the match. Their captain was taken off with an injured knee.",
        "Members of parliament debated the bill for three days. It was passed by a narrow majority and takes effect in January.",
        "Wash your hands for at least twenty seconds with soap and water. Use a sanitizer if no water is at hand.",
        "The painting shows a harbour at dusk. It was bought by the museum at an auction in 1931 and restored after the war.",
        "A worker fell from a ladder while he was cleaning a gutter. He broke his arm and was taken to hospital.",
        "Install the package with the usual command and restart the service. The log tells which port it listens on.",
        "The survey asked two thousand households about their spending on food, rent and transport. Rents had risen most.",
        "Birds of this family nest on cliffs and feed on small fish. Outside the breeding season they stay far out at sea.",
        "Goods may be returned within thirty days if they are unused and in their original packing. The buyer pays for the carriage.",
        "The lecture introduces linear equations, matrices and determinants. Exercises are handed in every second week.",
        "The fire brigade was called to a warehouse shortly after midnight. No one was hurt, and the cause is not yet known.",
        "In the ninth century the monastery owned land on both sides of the valley. Its charters are kept in the city's archive.",
        "The motor is switched off when the temperature rises above eighty degrees. A lamp on the panel shows the fault.",
        "Interest is calculated daily and credited at the end of each month. The bank may change the rate with two weeks' notice.",
        "The orchestra played three symphonies and an overture by a young composer. The hall was sold out.",
        "Drivers must keep a safe distance from the vehicle in front. In rain or fog the distance is to be doubled.",
        "The alloy is light, resists corrosion and can be welded. It is used for hulls, tanks and the frames of bicycles.",
        "Applications must reach the office by the last Friday in May, with a certificate, two references and a short plan.",
        "The storm brought heavy snow to the mountain passes. Several villages were without power until the next evening.",
        "Our team meets on Mondays to plan the week. Everyone says what was finished, what comes next and what is in the way.",
        "The language has seven cases and no articles. Verbs stand at the end of the sentence.",
        "Tickets are sold at the counter and online. Children under six travel free, and dogs pay half.",
        "The experiment was repeated with a larger sample, and the effect could not be found again. The authors withdrew the paper.",
        "Water the plants in the morning and keep them out of direct sun. Cut back the dry shoots in autumn.",
        "The company was founded by two brothers in 1962 and made clocks at first. Today it employs four hundred people.",
    ),
}
"""Passages about everything, by script: what they have in common says nothing about what a passage is about."""


def script_of(query: str) -> str:
    """``han`` for a query with Chinese characters, else ``latin``."""
    return "han" if has_han(query) else "latin"


# Nonsense: how a query is told that looks like no text, and queries of that kind to try a library with.


_REPEATED, _UNIT = 4, 8  # times, and characters
_TURNS = 4  # at least, and more than that share of the letters; hardly a real question has so many
_TURNING = 0.35
_CONSONANTS = "bcdfghjklmnpqrstvwxz"
_RARE = "龘靐齉爩鱻麤龗灪籲鸞讟钃厵虋癵驫飝饢麷鬻齾龖爨纛鼗黼"
_COMMON = "的一是在不了有和人这中大为上个国我以要他时来用们生到作地于出就分对成会可主发年动同工也能下过子说产种面"


def junk_queries(script: str, count: int = 48, seed: int = 13) -> tuple[str, ...]:
    """Meaningless queries of several kinds in one script (``han`` or ``latin``), the same at every call."""
    draw = random.Random(f"{script}{seed}")  # noqa: S311  (not a secret: it must be repeatable)
    kinds = (_rare, _shuffled, _mixed) if script == "han" else (_letters, _keyboard, _digits, _syllables)
    return tuple(kinds[i % len(kinds)](draw) for i in range(count))


def strange(query: str, encoder: Any) -> bool:
    """Whether a query looks like gibberish: repetition, Chinese and Latin letters alternating, or text that the
    encoder's language model finds unlikely.

    That is one thing over and over, Chinese and Latin mixed letter by letter, or what the encoder calls unlikely.

    Args:
        encoder: Asked if it can tell (`unlikely`).
    """
    chinese = [has_han(c) for c in query if c.isalpha()]
    turns = sum(one != other for one, other in pairwise(chinese))  # more than in any real text
    if repeats(query) or (turns >= _TURNS and turns > _TURNING * len(chinese)):
        return True
    unlikely = getattr(encoder, "unlikely", None)
    return unlikely is not None and bool(unlikely(query))


def repeats(query: str) -> bool:
    """Whether a query repeats a few characters over and over: ``呵呵呵呵``, ``asdf asdf asdf asdf``."""
    text = "".join(query.split())
    return any(text[size:] == text[:-size] for size in range(1, min(_UNIT, len(text) // _REPEATED) + 1))


def _word(draw: random.Random, alphabet: str, low: int, high: int) -> str:
    return "".join(draw.choice(alphabet) for _ in range(draw.randint(low, high)))


def _letters(draw: random.Random) -> str:
    return " ".join(_word(draw, _CONSONANTS, 3, 8) for _ in range(draw.randint(1, 4)))


def _keyboard(draw: random.Random) -> str:
    return " ".join(_word(draw, "asdfghjklqwertyuiopzxcvbnm", 4, 10) for _ in range(draw.randint(1, 3)))


def _syllables(draw: random.Random) -> str:
    """Pronounceable words without meaning: ``wuggle florp``."""
    words = ("".join(_word(draw, _CONSONANTS, 1, 2) + draw.choice("aeiou") for _ in range(draw.randint(2, 4)))
             for _ in range(draw.randint(2, 4)))  # fmt: skip
    return " ".join(words)


def _rare(draw: random.Random) -> str:
    return _word(draw, _RARE, 2, 8)


def _shuffled(draw: random.Random) -> str:
    return _word(draw, _COMMON, 5, 14)


def _mixed(draw: random.Random) -> str:
    return f"{_letters(draw)} {_rare(draw)}"


def _digits(draw: random.Random) -> str:
    return f"{_word(draw, _CONSONANTS, 2, 4)}{draw.randint(10**4, 10**9)} {_word(draw, '!@#%^&*~?', 2, 6)}"
