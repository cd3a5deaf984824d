"""Copies: one text in several files is given once, and what differs in a word or a number is no copy."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import wenyuan
from wenyuan.core.model import Passage
from wenyuan.core.ports import Hit
from wenyuan.core.scoring.copies import beside, distinct

ZH = (
    "客户投诉应当在三个工作日内受理，由客户服务部登记、调查并书面答复；情况复杂的，可以延长五个工作日，并告知客户。",
    "重大投诉应当在当日报告分管负责人，由其决定处理方案，处理结果存档五年。",
    "投诉涉及个人信息的，另依照个人信息保护管理办法的规定办理，不得向无关人员透露。",
)
EN = (
    "Complaints are accepted within three working days; customer service records, examines and answers them in writing.",
    "Serious complaints are reported on the same day to the head of department, who decides how they are handled.",
    "Results are kept for five years, and personal data in them is shown to nobody who has no part in the matter.",
)


def passage(number: int, text: str, title: str = "办法", headings: tuple[str, ...] = (), **more: Any) -> Passage:
    return Passage(
        passage_id=number, source_id="s", document_id=number, uri=f"file:///{number}.txt", title=title,
        headings=headings, text=text, sha256="", start=0, end=len(text), **more,
    )  # fmt: skip


def found(*passages: Passage, origin: str = "vector") -> list[tuple[Hit, Passage]]:
    return [(Hit(p.passage_id, 0.9 - n / 100, origin), p) for n, p in enumerate(passages)]


def numbers(kept: list[tuple[Hit, Passage]]) -> list[int]:
    return [hit.passage_id for hit, _ in kept]


@pytest.mark.parametrize("parts", [ZH, EN])
def test_other_spelling_of_the_same(parts: tuple[str, ...]) -> None:
    """White space, marks, width, case and a heading above do not make a text another one."""
    text = "".join(parts) if parts is ZH else " ".join(parts)
    variants = (
        "\n\n".join(parts),
        text.upper().translate({ord("，"): ",", ord("；"): "；\n"}),
        "客户投诉管理办法\n\n" + "\n".join(f"**{part}**" for part in parts),
        text.replace(" ", "\n"),
    )
    kept, copies = distinct(found(passage(1, text), *(passage(n, t) for n, t in enumerate(variants, 2))))
    assert numbers(kept) == [1]
    assert [copy.passage_id for copy in copies[1]] == [2, 3, 4, 5]


def test_full_width_and_hyphens() -> None:
    """Full-width digits, and words that a PDF broke at the end of a line, are the same text."""
    zh = "员工应当在24小时内报告事故，并保护现场；发生人身伤害的，应当立即拨打急救电话，同时通知安全管理部门与家属，不得离开现场，不得破坏证据。"
    assert numbers(distinct(found(passage(1, zh), passage(2, zh.replace("24", "２４"))))[0]) == [1]
    en = " ".join(EN)
    assert numbers(distinct(found(passage(1, en), passage(2, en.replace("service", "ser-\nvice"))))[0]) == [1]


@pytest.mark.parametrize(
    ("was", "now"),
    [
        ("三个工作日", "五个工作日"),
        ("不得向无关", "可以向无关"),
        ("客户服务部", "质量管理部"),
        ("存档五年", "存档十年"),
    ],
)
def test_one_word_makes_another_text(was: str, now: str) -> None:
    """A passage that differs in one number, one name or one prohibition is given."""
    text = "".join(ZH)
    assert was in text
    assert numbers(distinct(found(passage(1, text), passage(2, text.replace(was, now))))[0]) == [1, 2]


@pytest.mark.parametrize("parts", [ZH, EN])
def test_cut_elsewhere(parts: tuple[str, ...]) -> None:
    """What two passages say between them is not given a third time; one that says more is."""
    first, second = passage(1, " ".join(parts[:2])), passage(2, " ".join(parts[1:]))
    middle = passage(3, " ".join((parts[1], parts[2])))
    more = passage(4, " ".join((*parts[1:], "本办法由客户服务部负责解释，自二〇二六年起施行。")))
    kept, copies = distinct(found(first, second, middle, more))
    assert numbers(kept) == [1, 2, 4]
    assert [copy.passage_id for copy in copies[2]] == [3]


def test_only_named_passages_are_compared_with() -> None:
    """Where it is said with which passages the others are compared, a text that only another one has is no copy."""
    first, second, third = " ".join(ZH), " ".join(EN), " ".join(EN[::-1])
    given = found(passage(1, first), passage(2, second), passage(3, first), passage(4, second), passage(5, third))
    kept, copies = distinct(given, {1, 3})
    assert numbers(kept) == [1, 2, 4, 5]
    assert {number: [copy.passage_id for copy in same] for number, same in copies.items()} == {1: [3]}
    assert numbers(distinct(given)[0]) == [1, 2]


@pytest.mark.parametrize(("parts", "head"), [(ZH, "客户投诉管理办法"), (EN, "Complaints")])
def test_what_a_format_draws_is_no_text(parts: tuple[str, ...], head: str) -> None:
    """A line under a heading, broken lines and other marks of items make no other text; one file is given for all."""
    page = f"{head}\n\n" + "\n".join(f"- {part}" for part in parts)
    plain = f"{head}\n{'=' * 40}\n\n" + "\n\n".join(f"* {part.replace(' ', chr(10) + '  ')}" for part in parts)
    printed = f"{head}\n\n" + "\n\n".join(f"• {part}" for part in parts)
    for order in ((page, plain, printed), (printed, page, plain), (plain, printed, page)):
        kept, copies = distinct(found(*(passage(n, t, headings=(head,)) for n, t in enumerate(order, 1))))
        assert numbers(kept) == [1]
        assert len(copies[1]) == 2


RULES = (
    "3. 动火作业应当由项目负责人审批，作业前清除十米以内的可燃物，配备灭火器材，并指定专人监护，作业后检查三十分钟。\n\n"
    "- 5℃以下不得浇筑混凝土\n\n| 等级 | 高度 | 间距 |\n| 一级 | 8 米 | 不大于 600 毫米 |",
    "3. Hot work must be approved by the head of the project; what burns is removed within 10 metres, and from 1 May 2026 on "
    "a watch stays for 30 minutes.\n\n- 5 °C is the least for concrete\n\n| grade | height |\n| one | 8 m |",
)
CHANGES = [
    (0, "3. 动火", "4. 动火"), (0, "十米", "八米"), (0, "应当由", "不必由"), (0, "应当由", "可以由"), (0, "三十分钟", "三十小时"),
    (0, "- 5℃", "-5℃"), (0, "- 5℃", "5℃"), (0, "8 米", "6 米"), (0, "不大于", "大于"), (0, "600", "６０"), (0, "一级", "二级"),
    (0, "以下不得", "以下，得"), (0, "十米以内", "十米以外"),
    (1, "3. Hot", "4. Hot"), (1, "must be", "must not be"), (1, "must be", "may be"), (1, "10 metres", "100 metres"),
    (1, "1 May", "1 June"), (1, "2026", "2025"), (1, "- 5 °C", "-5 °C"), (1, "- 5 °C", "5 °C"), (1, "8 m", "8 mm"),
    (1, "one |", "two |"), (1, "removed", "not removed"), (1, "is the least", "isn't the least"),
]  # fmt: skip


@pytest.mark.parametrize(("which", "was", "now"), CHANGES)
def test_one_number_or_one_not_makes_another_text(which: int, was: str, now: str) -> None:
    """A number, a sign, a date, a unit, a "not", a cell of a table or the number of a clause: both are given, in any order."""
    text = RULES[which]
    assert was in text
    one, other = passage(1, text), passage(2, text.replace(was, now))
    assert numbers(distinct(found(one, other))[0]) == [1, 2]
    assert numbers(distinct(found(other, one))[0]) == [2, 1]


HEADS = [
    ("第十三条", "第十四条"), ("第三章 总则", "第四章 总则"), ("禁止事项", "允许事项"), ("3.4.1 存档", "15.4.1 存档"),
    ("Article 13", "Article 14"), ("1.3 Records", "9.3 Records"), ("Forbidden", "Allowed"), ("Version 2.4", "Version 3.4"),
    ("２０２５年版", "２０２６年版"),
]  # fmt: skip


@pytest.mark.parametrize("heads", HEADS)
@pytest.mark.parametrize("told", [True, False])
def test_another_heading_makes_another_text(heads: tuple[str, str], told: bool) -> None:
    """What stands under another number, or under "forbidden" and not "allowed", is given, whether or not a reader knew the heading."""
    text = "".join(ZH)
    both = [passage(n, f"{h}\n\n{text}", headings=(h,) if told else ()) for n, h in enumerate(heads, 1)]
    assert numbers(distinct(found(*both))[0]) == [1, 2]
    assert numbers(distinct(found(*both[::-1]))[0]) == [2, 1]


def test_many_are_compared_in_no_time() -> None:
    """Twenty passages of a thousand characters, none of them copies, take less than 20 ms of processor time."""
    texts = [
        " ".join(f"Item {n} of part {k} is {n * k % 97} mm long and rests on beam {k}." for k in range(18))
        for n in range(20)
    ]
    given = found(*(passage(n, text) for n, text in enumerate(texts)))
    began = time.process_time()
    assert len(distinct(given)[0]) == 20
    assert time.process_time() - began < 0.02


def test_short_ones_mean_what_their_title_says() -> None:
    """ "In force from 1 May" under another title is another fact; under the same title it is not."""
    text = "本办法自2026年5月1日起施行。"
    others = passage(2, text, title="差旅办法"), passage(3, text, title="办法")
    kept, copies = distinct(found(passage(1, text), *others))
    assert numbers(kept) == [1, 2]
    assert [copy.passage_id for copy in copies[1]] == [3]


def test_rules_and_templates_are_no_copies_of_cases() -> None:
    """Only passages of one origin are copies of one another."""
    text = "".join(ZH)
    mixed = [*found(passage(1, text)), (Hit(2, 0.5, "template"), passage(2, text))]
    assert numbers(distinct(mixed)[0]) == [1, 2]


def test_what_may_be_quoted_is_no_copy_of_what_may_not() -> None:
    """A passage whose copyright allows no excerpt takes the place of none that may be quoted; the other way it does."""
    text = "".join(ZH)
    guarded, open_one = passage(1, text, copyright="excerpt<=20"), passage(2, text)
    assert numbers(distinct(found(guarded, open_one))[0]) == [1, 2]
    assert numbers(distinct(found(open_one, guarded))[0]) == [2]


def test_what_is_trusted_more_is_no_copy_of_what_is_trusted_less() -> None:
    """A text from a source that is hardly trusted hides none from a better one; the other way it does."""
    text = "".join(ZH)
    rumour, law = passage(1, text, trust=2), passage(2, text, trust=5)
    assert numbers(distinct(found(rumour, law))[0]) == [1, 2]
    assert numbers(distinct(found(law, rumour))[0]) == [2]


def test_what_comes_from_elsewhere() -> None:
    """A copy of our own that scores below one from elsewhere stands beside it, with its copies."""
    text = "".join(ZH)
    kept, copies = distinct(found(passage(1, text), passage(2, text)))
    foreign = [(Hit(-1, 0.95, "vector"), passage(-1, text))]
    kept, copies = beside(kept, copies, foreign)
    assert numbers(kept) == [-1]
    assert [copy.passage_id for copy in copies[-1]] == [1, 2]


@pytest.fixture
def library(tmp_path: Path) -> Iterator[wenyuan.Library]:
    """One regulation as TXT, HTML and Markdown in one source, and once more in a source of another domain."""
    texts = {
        "rules/办法.txt": "客户投诉管理办法\n\n" + "\n\n".join(ZH),
        "rules/banfa.html": "<title>办法</title><h1>客户投诉管理办法</h1>" + "".join(f"<p>{p}</p>" for p in ZH),
        "rules/other.md": "# 差旅\n\n差旅费用凭票报销，每天补助一百元。\n",
        "more/ban.md": "# 客户投诉管理办法\n\n" + "\n\n".join(ZH),
    }
    for name, text in texts.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, "utf-8")
    with wenyuan.open(tmp_path / "library", create=True, encoder={"kind": "hashing"}) as made:
        made.add(wenyuan.Source(source_id="rules", path=str(tmp_path / "rules"), domain="a"))
        made.add(wenyuan.Source(source_id="more", path=str(tmp_path / "more"), domain="b"))
        yield made


QUESTION = "客户投诉几个工作日内受理"


def test_given_once_with_the_others_named(library: wenyuan.Library) -> None:
    """One fragment says it, its metadata name the others, whatever the limit; all of them count in an evaluation."""
    for limit in (1, 2, 10):
        answer = library.retrieve_fragments(wenyuan.RetrievalRequest(query=QUESTION, max_results=limit))
        assert answer.status == "SUCCESS"
        (one,) = [f for f in answer.fragments if "受理" in f.content]
        given = {one.source.partition("#")[0], *(c["source"].partition("#")[0] for c in one.metadata["also_in"])}
        assert {Path(uri).name for uri in given} == {"办法.txt", "banfa.html", "ban.md"}
    assert len(library.search(QUESTION).with_copies) > len(library.search(QUESTION).hits)


def test_probability_is_not_shared_with_copies(library: wenyuan.Library) -> None:
    """A passage is as likely the answer however often the library holds it."""

    def likely() -> float:
        (hit,) = [h for h, p in ((h, answer.passages[h.passage_id]) for h in answer.hits) if "受理" in p.text]
        return hit.score

    answer = library.search(QUESTION)
    three = likely()
    library.remove("more")
    answer = library.search(QUESTION)
    assert min(three, likely()) > 0.85


def test_across_domains(library: wenyuan.Library) -> None:
    """An agent with two domains is given one of the copies, which names the other one; nothing is withheld by that."""
    from wenyuan.core.access import Agent, DomainScope
    from wenyuan.service.search.searcher import SearchRequest

    scope = (DomainScope(domain="a", top_k=3), DomainScope(domain="b", top_k=3))
    library.catalog.put_agent(Agent(agent_id="helper", knowledge_scope=scope))
    result = library.find(SearchRequest(query=QUESTION, agent_id="helper"))
    (one,) = [f for f in result.passages if "受理" in f.passage.text]
    assert {c.source_id for c in one.copies} | {one.passage.source_id} == {"rules", "more"}
    assert not any(library.audit.show(i).record.get("withheld") for i in result.audit_ids)
