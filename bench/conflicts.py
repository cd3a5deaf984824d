"""How many contradictions are found, and how many innocent neighbours are called one.

    python bench/conflicts.py [--laws CORPUS.jsonl] [--library FOLDER]

Statements are made from templates, written by hand in both languages: of each subject in its own words and in other words, with
two values that differ (a conflict), with equal ones (none), and with another role, product or place (none). Half of the templates
were looked at while the comparison was written, the other half was not. With ``--laws``, articles of statutes in BEIR layout
that share their words are compared with one another: what is found there is printed, to be judged by eye. With ``--library``, everything in a
library is compared anew as `wenyuan conflicts find --anew` does it, and timed.
"""

from __future__ import annotations

import argparse
import json
import time
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations, count
from pathlib import Path

import wenyuan
from wenyuan.core.conflicts.comparison import contradiction, is_form
from wenyuan.core.conflicts.statement import ComparedStatement, statements_of
from wenyuan.core.conflicts.subject import of_effect, other_thing
from wenyuan.core.model import Passage
from wenyuan.core.rewording import reworded


@dataclass(frozen=True, slots=True)
class Subject:
    """A thing that documents say something of.

    Attributes:
        words: As one document has it, with ``{v}`` for the value, and ``{n}`` for whom or what it is about.
        other: As another author writes it.
        names: The thing itself, then others of which something else may be true.
        values: Different ones.
        same: Another way to write the first value.
    """

    words: str
    other: str
    names: tuple[str, ...]
    values: tuple[str, ...]
    same: str = ""


SEEN = (
    Subject("{n}投诉应当在{v}内回复并登记。", "对于{n}的投诉，须于{v}内予以回复，并做好登记。", ("客户", "供应商", "住户"), ("24小时", "48小时", "三天"), "一天"),
    Subject("{n}出差住宿标准为每人每天{v}。", "{n}出差时每人每天的住宿费不超过{v}。", ("员工", "经理", "实习生"), ("350元", "400元", "500元"), "350 元"),
    Subject("{n}开封后在室温下保存{v}。", "室温下，{n}自开封起最多保存{v}。", ("胰岛素", "眼药水", "疫苗"), ("28天", "30天", "14天"), "四周"),
    Subject("{n}须提前{v}预约。", "预约{n}，请至少提前{v}。", ("会议室", "报告厅", "公务车"), ("2天", "3天", "5天"), "48小时"),
    Subject("办理{n}收取押金{v}，退还时凭收据。", "{n}的押金是{v}，凭收据退。", ("陪护证", "门禁卡", "借书证"), ("50元", "100元", "80元"), "五十元"),
    Subject("{n}口令每{v}更换一次。", "每{v}须更换{n}的口令。", ("管理员账号", "普通账号", "数据库账号"), ("90天", "180天", "60天")),
    Subject("{n}备份数据保留{v}。", "{n}的备份会保存{v}。", ("云端", "本地", "财务"), ("30天", "45天", "60天")),
    Subject("试用期内{n}可以申请远程办公。", "{n}在试用期也可以远程办公。", ("研发人员", "客服人员"), ("",)),
    Subject("A {n} is answered within {v}.", "We reply to every {n} in {v} at most.", ("complaint", "tender", "subject access request"), ("5 working days", "7 working days", "10 working days"), "five working days"),
    Subject("Reserved {n} are kept on the shelf for {v}.", "We hold reserved {n} for {v} before they go back.", ("books", "instruments", "films"), ("seven days", "ten days", "14 days"), "a week"),
    Subject("A failed {n} is tried again up to {v} times.", "We retry a {n} that failed {v} times.", ("webhook", "payment", "upload"), ("five", "eight", "three"), "5"),
    Subject("Backups of the {n} are kept for {v}.", "The {n} is backed up, and copies stay for {v}.", ("ledger", "mail server", "image store"), ("30 days", "45 days", "90 days")),
    Subject("The rated pressure of the {n} is {v}.", "{n} units are rated at {v}.", ("HR-850", "HR-900", "KL-320"), ("6 bar", "8 bar", "10 bar")),
    Subject("Guests may take photographs in the {n}.", "Photographs are allowed in the {n} for guests.", ("hall", "archive"), ("",)),
)  # fmt: skip
APART = (
    Subject("{n}租金每月{v}，于每月五日前缴纳。", "每月五日前交{n}租金，每月{v}。", ("地下车位", "地面车位", "商铺"), ("300元", "450元", "280元"), "三百元"),
    Subject("{n}检修周期为{v}，由设备科负责。", "设备科每{v}对{n}检修一次。", ("电梯", "锅炉", "空压机"), ("6个月", "3个月", "一年"), "半年"),
    Subject("{n}有效期为{v}，到期前一个月续办。", "{n}自签发起{v}有效，请在到期前一个月续办。", ("动火许可证", "健康证", "操作证"), ("8小时", "1年", "3年")),
    Subject("参加{n}培训的时间不少于{v}。", "{n}培训至少要满{v}。", ("新员工", "班组长", "特种作业"), ("24学时", "32学时", "48学时")),
    Subject("{n}浓度控制在{v}以下。", "{n}的浓度不得高于{v}。", ("余氯", "甲醛", "二氧化碳"), ("0.5%", "0.8%", "1.2%")),
    Subject("夜班{n}每班补贴{v}。", "上夜班的{n}，每班发{v}补贴。", ("护士", "保安", "调度员"), ("80元", "100元", "60元"), "八十元"),
    Subject("{n}应当随身携带工牌。", "{n}要随身带好工牌。", ("维修人员", "访客"), ("",)),
    Subject("{n}报名截止到{v}。", "{n}的报名在{v}截止。", ("年度体检", "职称考试", "篮球赛"), ("9月15日", "9月30日", "10月8日"), "9 月 15 日"),
    Subject("The {n} opens at {v} on weekdays.", "On weekdays you can enter the {n} from {v}.", ("canteen", "gym", "reading room"), ("7:30", "8:00", "9:00")),
    Subject("A lost {n} costs {v} to replace.", "If you lose your {n}, a new one is {v}.", ("badge", "parking permit", "library card"), ("£5.00", "£8.00", "£10.00"), "£5"),
    Subject("Visitors to the {n} must wear a helmet.", "Everybody who visits the {n} must put on a helmet.", ("furnace hall", "loading dock"), ("",)),
    Subject("The {n} is cleaned every {v}.", "Cleaning of the {n} takes place every {v}.", ("filter", "cooling tower", "kitchen hood"), ("two weeks", "four weeks", "ten days"), "14 days"),
    Subject("Refunds for a {n} are paid within {v} of the request.", "Ask for a refund of a {n}, and you have it within {v}.", ("course", "ticket", "deposit"), ("14 days", "30 days", "10 days"), "two weeks"),
    Subject("The trial period of a {n} lasts {v}.", "A {n} is on trial for {v}.", ("manager", "trainee", "driver"), ("six months", "three months", "four weeks")),
)  # fmt: skip
_DENIED = (
    ("可以", "不可以"),
    ("应当", "可以"),
    ("may", "may not"),
    ("must", "need not"),
    ("are allowed", "are not allowed"),
    ("要随身", "可以不"),
)
_TITLES = (
    ("管理制度", "新员工问答"), ("服务手册", "窗口须知"), ("Handbook", "Questions and answers"), ("Rules", "Welcome letter"),
)  # fmt: skip
_NUMBERS = count(1)


def statement(text: str, title: str, document: int = 0) -> ComparedStatement | None:
    number = next(_NUMBERS)
    passage = Passage(
        passage_id=number, source_id="bench", document_id=document or number, uri=str(number), title=title, headings=(),
        text=text, sha256="", start=0, end=len(text),
    )  # fmt: skip
    return next(iter(statements_of(passage)), None)


def denied(text: str) -> str:
    return next((text.replace(was, now, 1) for was, now in _DENIED if was in text), "")


def pairs(subjects: tuple[Subject, ...]) -> Iterator[tuple[str, bool, str, str]]:
    """Two statements, whether they contradict one another, and of what kind the pair is."""
    for one in subjects:
        name = one.names[0]
        for words, kind in ((one.words, "same words"), (one.other, "other words")):
            for a, b in combinations(one.values, 2):
                yield kind, True, one.words.format(n=name, v=a), words.format(n=name, v=b)
            if one.values == ("",) and (turned := denied(words.format(n=name, v=""))):
                yield kind, True, one.words.format(n=name, v=""), turned
            for value in one.values:
                yield "equal value", False, one.words.format(n=name, v=value), words.format(n=name, v=value)
            if one.same:
                yield (
                    "equal value",
                    False,
                    one.words.format(n=name, v=one.values[0]),
                    words.format(n=name, v=one.same),
                )
            for other in one.names[1:]:
                for a in one.values:
                    for b in one.values:
                        yield "another thing", False, one.words.format(n=name, v=a), words.format(n=other, v=b)
    for one, other in combinations(subjects, 2):
        for a in one.values[:2]:
            for b in other.values[:2]:
                yield (
                    "another subject",
                    False,
                    one.words.format(n=one.names[0], v=a),
                    other.words.format(n=other.names[0], v=b),
                )


def by_common_words(one: ComparedStatement, other: ComparedStatement) -> bool:
    """What is not used: whether each says the other in other words with a figure changed, as claims are compared with passages."""
    if one.codes != other.codes or any(map(of_effect, (one, other))) or other_thing(one.passage, other.passage):
        return False
    return reworded(one.tokens, [other.text]) is not None and reworded(other.tokens, [one.text]) is not None


def table(subjects: tuple[Subject, ...]) -> None:
    found: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0])
    for kind, conflict, first, second in pairs(subjects):
        for titles in _TITLES:
            one, other = statement(first, titles[0]), statement(second, titles[1])
            row = found[("contradict, " if conflict else "innocent, ") + kind]
            row[0] += 1
            if one is not None and other is not None:
                row[1] += contradiction(one, other) is not None
                row[2] += by_common_words(one, other)
    print("| pairs | n | called a contradiction | by common words, which is not used |\n|---|---:|---:|---:|")
    for name in sorted(found):
        n, said, near = found[name]
        print(f"| {name} | {n:,} | {said:,} ({said / n:.1%}) | {near:,} ({near / n:.1%}) |")
    right = sum(said for name, (_, said, _) in found.items() if name.startswith("contradict"))
    wrong = sum(said for name, (_, said, _) in found.items() if name.startswith("innocent"))
    print(f"\nprecision {right / max(1, right + wrong):.3f}\n")


def laws(file: Path, most: int) -> None:
    """Compare the articles of statutes, of each the newest version, with one another."""
    rows = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
    newest: dict[str, str] = {}
    for row in rows:
        told = row["metadata"]
        newest[told["law"]] = max(newest.get(told["law"], ""), told["version"])
    documents: dict[str, int] = {}
    alike: dict[frozenset[str], list[ComparedStatement]] = defaultdict(list)
    taken = 0
    for row in rows:
        told = row["metadata"]
        if newest[told["law"]] != told["version"] or taken >= most:
            continue
        taken += 1
        passage = Passage(
            passage_id=taken, source_id="laws", document_id=documents.setdefault(told["law"], len(documents) + 1), uri=row["_id"],
            title=told["law"], headings=(told["chapter"] or "", f"第{told['article_no']}条"), text=row["text"], sha256="", start=0,
            end=len(row["text"]),
        )  # fmt: skip
        for one in statements_of(passage):
            alike[one.words].append(one)
    several = [group for group in alike.values() if 1 < len(group) <= 200]
    print(f"{taken:,} articles; {sum(map(len, several)):,} statements in words that others use, too")
    for group in several:
        form = is_form(group)
        for one, other in combinations(group, 2):
            if (differs := contradiction(one, other, form=form)) is not None:
                print(f"{differs.kind}: {one.passage.uri}: {one.text} / {other.passage.uri}: {other.text}")


def timed(folder: Path) -> None:
    """Compare everything in a library anew, and say how long that takes."""
    with wenyuan.open(folder) as library:
        begun, used = time.monotonic(), time.process_time()
        update = library.conflicts.find(anew=True)
        seconds, processor = time.monotonic() - begun, time.process_time() - used
    print(
        f"{update.passages:,} passages compared in {seconds:.0f} s, {processor:.0f} s of processor "
        f"({1e3 * processor / max(1, update.passages):.1f} ms a passage): {update.conflicts:,} conflicts"
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--laws", type=Path, help="a corpus of statutes in BEIR layout")
    parser.add_argument("--library", type=Path, help="a library whose passages are all compared")
    parser.add_argument("--most", type=int, default=100_000, help="articles that are compared")
    arguments = parser.parse_args()
    for heading, subjects in (("Templates that were looked at", SEEN), ("Templates held apart", APART)):
        print(f"### {heading}\n")
        table(subjects)
    if arguments.library is not None:
        timed(arguments.library)
    if arguments.laws is not None:
        laws(arguments.laws, arguments.most)
