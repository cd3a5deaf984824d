"""A question that is nothing but a clause, which no document has, has no answer, and says so."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import wenyuan
from wenyuan.i18n.translation import translated
from wenyuan.service.search.searcher import SearchRequest

LAW = """# 数据安全法

第一条 为了规范数据处理活动，保障数据安全，制定本法。

第二条 在境内开展数据处理活动，适用本法；违反的，依照第三十条处罚。

第九条 国家支持开展数据安全知识宣传普及，提高全社会的意识。
"""
RULES = """# Expense Rules

## Article 1

Meals are paid up to 20 euros a day.

## Article 2

Hotels are paid up to 120 euros a night.
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[wenyuan.Library]:
    """A law with articles 1, 2 and 9, and rules with articles 1 and 2."""
    folder: Path = tmp_path_factory.mktemp("places")
    (folder / "docs").mkdir()
    (folder / "docs" / "law.md").write_text(LAW, "utf-8")
    (folder / "docs" / "rules.md").write_text(RULES, "utf-8")
    with wenyuan.open(
        folder / "library", create=True, encoder={"kind": "hashing"}, search={"deadline": 30}
    ) as opened:
        opened.add(wenyuan.Source(source_id="docs", path=str(folder / "docs")))
        yield opened


@pytest.mark.parametrize(
    ("question", "reason", "chinese"),
    [
        ("第二十条", "no document in scope has the clause '第二十条'", "范围内的文档都没有 '第二十条'"),
        ("第２０条？", "no document in scope has the clause '第20条'", "范围内的文档都没有 '第20条'"),
        ("Article 20", "no document in scope has the clause 'Article 20'", "范围内的文档都没有 'Article 20'"),
        (
            "《数据安全法》第二十条",
            "the document '数据安全法' has no clause '第二十条'",
            "文档 '数据安全法' 没有 '第二十条'",
        ),
        (
            "數據安全法第二十條",
            "the document '数据安全法' has no clause '第二十條'",
            "文档 '数据安全法' 没有 '第二十條'",
        ),
    ],
)
def test_a_place_that_there_is_not_is_an_empty_answer_with_that_reason(
    library: wenyuan.Library, question: str, reason: str, chinese: str
) -> None:
    """Alone or with its title, in either language and spelling; the search for agents has the reason, too."""
    answer = library.search(question)
    assert (list(answer.hits), answer.reason) == ([], reason)
    assert translated(reason) == chinese
    assert library.find(SearchRequest(query=question)).reasons == {"": reason}


@pytest.mark.parametrize(
    "question", ["第二条", "第９条", "《数据安全法》第九条", "Article 2", "第三十条", "数据安全法"]
)
def test_a_place_that_there_is_is_found(library: wenyuan.Library, question: str) -> None:
    """So is one that a document only mentions, and a title without a clause."""
    assert list(library.search(question).hits)


@pytest.mark.parametrize("question", ["第二十条短信", "数据安全法第二十条宣传普及", "《民法典》第二十条"])
def test_what_asks_for_more_than_a_place_is_not_refused(library: wenyuan.Library, question: str) -> None:
    """A count of things, words besides, and a title that no document has are searched as any question."""
    assert "clause" not in library.search(question).reason
