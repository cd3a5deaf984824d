"""What many candidates are articles of is what a question is about; articles of other laws stand behind."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import wenyuan
from wenyuan.core.model import Label, Source
from wenyuan.core.scoring.law_factor import LAW, law_of, shares
from wenyuan.service.search.law_lookup import LawLookup

laws = st.dictionaries(st.integers(1, 40), st.sampled_from(["", "", "民法典", "刑法", "leave policy", "城乡规划法"]))


@pytest.mark.parametrize(
    ("title", "headings", "law"),
    [
        ("民法典第一百五十三条", (), "民法典"),
        ("城乡规划法　第１３条", (), "城乡规划法"),
        ("勞動基準法 第二十四條", (), "勞動基準法"),
        ("上海航运交易所管理规定 第二条之一", (), "上海航运交易所管理规定"),
        ("中华人民共和国数据安全法", ("第三章 数据安全制度", "第二十一条"), "中华人民共和国数据安全法"),
        ("Leave Policy", ("Article 13 Sick leave",), "leave policy"),
        ("LEAVE POLICY  Article XIII", (), "leave policy"),
        ("员工手册", ("第三章 休假",), ""),
        ("个体工商户条例", ("总则",), ""),
        ("Articles of our blog", ("Part 2",), ""),
        ("", (), ""),
    ],
)
def test_law_of(title: str, headings: tuple[str, ...], law: str) -> None:
    """An article's law is its title without the article; chapters and 条例 alone are no articles."""
    assert law_of(title, headings) == law


def factors(found: Mapping[int, str], weight: float) -> dict[int, float]:
    """The factors below 1, by candidate, of candidates with the names of their laws."""
    names = ["", *sorted({law for law in found.values() if law})]
    given = shares(np.array([names.index(law) for law in found.values()], np.int32), weight)
    assert len(given) == len(found)
    return {number: share for number, share in zip(found, given.tolist(), strict=True) if share != 1.0}


@given(laws, st.sampled_from([0.0, LAW, 0.5]))
def test_shares(found: Mapping[int, str], weight: float) -> None:
    """Nobody gains; articles of the law with most candidates and what is no article lose nothing, others as their laws do."""
    kept = factors(found, weight)
    assert kept.keys() <= {number for number, law in found.items() if law}
    assert all(1.0 - weight <= share < 1.0 for share in kept.values())
    counts = {law: list(found.values()).count(law) for law in found.values() if law}
    by_law: dict[str, set[float]] = {}
    for number, law in found.items():
        if law:
            by_law.setdefault(law, set()).add(kept.get(number, 1.0))
    assert all(len(of_one) == 1 for of_one in by_law.values())
    for one, count in counts.items():
        if count == max(counts.values()) or not weight:
            assert by_law[one] == {1.0}
        for other, less in counts.items():
            if count > less:
                assert min(by_law[one]) >= max(by_law[other])


def test_a_single_article_beside_a_law() -> None:
    """Of five candidates, three of one law and one of another: √(2/5) of the weight is what it loses."""
    found = {1: "民法典", 2: "民法典", 3: "民法典", 4: "刑法", 5: ""}
    assert factors(found, 0.1) == {4: pytest.approx(1 - 0.1 * 0.4**0.5)}


ARTICLES = {
    "物业管理办法": ["业主应当按照约定交纳物业费。", "物业公司不得以停水催交物业费。", "物业费的标准应当公示。"],
    "税务登记办法": ["纳税人应当办理登记。"],
    "档案收费规定": ["查阅档案按照标准交纳费用。"],
}


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[wenyuan.Library]:
    folder = tmp_path_factory.mktemp("laws")
    rows = [
        {"id": f"{law}{n}", "title": f"{law} 第{'一二三'[n]}条", "text": text}
        for law, texts in ARTICLES.items()
        for n, text in enumerate(texts)
    ]
    rows.append({"id": "faq", "title": "交纳物业费的方式", "text": "物业费按照标准可以在手机上交纳。"})
    (folder / "rows.jsonl").write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), "utf-8")
    made = wenyuan.open(folder / "library", create=True, encoder={"kind": "hashing"}, search={"floor": 0.0})
    with made:
        made.add(Source(source_id="laws", path=str(folder / "rows.jsonl")))
        yield made


def parts_by_title(library: wenyuan.Library, query: str) -> dict[str, Mapping[str, float]]:
    answer = library.search(query, limit=10)
    return {answer.passages[hit.passage_id].title: hit.parts for hit in answer.hits}


def test_articles_of_other_laws_lose(library: wenyuan.Library) -> None:
    """Only articles of laws with fewer candidates bear the part, and their raw scores have it in them."""
    found = parts_by_title(library, "物业费按照什么标准交纳")
    told = {title: parts["law"] for title, parts in found.items() if "law" in parts}
    assert set(told) == {"税务登记办法 第一条", "档案收费规定 第一条"} & set(found)
    assert told
    for title, share in told.items():
        parts = found[title]
        assert 1 - LAW <= share < 1
        assert parts["raw"] == pytest.approx(parts["fused"] * share * parts["trust"])


def test_an_article_that_is_named_is_what_is_asked_for(library: wenyuan.Library) -> None:
    """A question that names its article is not about the law that has most candidates."""
    found = parts_by_title(library, "档案收费规定第一条 交纳物业费")
    assert next(iter(found)) == "档案收费规定 第一条"
    assert not any("law" in parts for parts in found.values())


def test_what_is_lost_is_recorded_and_can_be_switched_off(
    library: wenyuan.Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An answer says how much a law counted; where a record says nothing counted, nothing does."""
    query = "物业费按照什么标准交纳"
    assert library.search(query, limit=10).floors["law"] == LAW
    retriever = library._retriever
    then = {script: {**floors, "law": 0.0} for script, floors in retriever.floors().items()}
    monkeypatch.setattr(retriever, "floors", lambda: then or {"han": {"law": 0.0}})
    assert not any("law" in parts for parts in parts_by_title(library, query).values())


class Counted:
    """A record that counts what it is asked."""

    def __init__(self) -> None:
        self.asked: list[int] = []

    def labels(self, passage_ids: Any, _deadline: Any = None) -> dict[int, Label]:
        self.asked += passage_ids
        return {n: Label(f"法{n % 5 // 3} 第{n}条", (), ("zh", "en")[n % 2]) for n in passage_ids if n != 13}


def test_what_is_known_is_not_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each passage is looked up once; those with a number beyond what is remembered each time, with the same answer."""
    record = Counted()
    known = LawLookup(record)  # type: ignore[arg-type]

    def of(numbers: range) -> list[int]:
        return known.of(np.array(numbers, np.int64), None).tolist()  # type: ignore[arg-type,no-any-return]

    first = of(range(1, 20))
    assert first[0] and first[3] and first[0] != first[3] and first[12] == 0
    assert first == [0 if n == 13 else first[3] if n % 5 in (3, 4) else first[0] for n in range(1, 20)]
    assert of(range(1, 20)) == first
    assert record.asked == list(range(1, 20))
    assert of(range(10, 31))[:10] == first[9:]
    assert record.asked == list(range(1, 31))
    monkeypatch.setattr("wenyuan.service.search.law_lookup._MOST", 25)
    assert of(range(1, 27)) == [*first, *of(range(20, 27))]
    assert record.asked == [*range(1, 31), *range(1, 27), *range(20, 27)]


def test_without_articles_nobody_is_looked_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether there are articles at all is looked up after each change; where there are none, candidates are not read for it."""
    looked: list[int] = []
    of = LawLookup.of
    monkeypatch.setattr(
        LawLookup,
        "of",
        lambda self, numbers, deadline: looked.extend(numbers.tolist()) or of(self, numbers, deadline),
    )
    (tmp_path / "faq").mkdir()
    (tmp_path / "faq" / "fees.md").write_text(
        "# 物业费\n\n物业费按照标准可以在手机上交纳。见《物业管理办法》第一条。\n", "utf-8"
    )
    with wenyuan.open(tmp_path / "library", create=True, encoder={"kind": "hashing"}) as library:
        library.add(Source(source_id="faq", path=str(tmp_path / "faq")))
        assert library.search("物业费怎么交纳").floors["law"] == 0.0
        assert not looked
        (tmp_path / "faq" / "rules.md").write_text(
            "# 物业管理办法\n\n第一条 业主应当按照约定交纳物业费。\n\n第二条 物业费的标准应当公示。\n", "utf-8"
        )
        library.ingest("faq")
        assert library.search("物业费怎么交纳").floors["law"] == LAW
        assert looked
