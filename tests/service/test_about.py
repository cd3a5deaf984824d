"""Which documents questions are about, as people tell them apart."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path

import pytest

import wenyuan
from wenyuan.core.filters import Scope
from wenyuan.core.learning_records import QuestionAddress
from wenyuan.core.model import Source
from wenyuan.service.learning.lessons import load_holdings, resolve
from wenyuan.service.learning.question_documents import documents_of, whole


@pytest.mark.parametrize(
    ("address", "document"),
    [
        ("file:///kb/leave.md#carry-over", "file:///kb/leave.md"),
        ("file:///kb/部门%231.md#L3", "file:///kb/部门%231.md"),
        ("file:///kb/all.jsonl?line=3", "file:///kb/all.jsonl?line=3"),
        ("file:///kb/all.jsonl?id=b7", "file:///kb/all.jsonl?id=b7"),
        ("file:///kb/all.jsonl?id=%E5%B9%B4%E6%8A%A5%2F1%2312", "file:///kb/all.jsonl?id=年报/1"),
        ("file:///kb/en/run.md?id=en%2Frun.md%23first-steps", "file:///kb/en/run.md"),
        ("file:///kb/plan.xlsx?sheet=%E5%81%87%E6%9C%9F#row=3", "file:///kb/plan.xlsx"),
        ("urn:set:finance%2FIT_0%2310", "urn:set:finance/IT_0"),
        ("https://kb.example/page?id=5", "https://kb.example/page?id=5"),
    ],
)
def test_pieces_of_one_document_have_one_address(address: str, document: str) -> None:
    """Up to the ``#`` of an address, or of the id of an entry; lines without ids and pages of a site are apart."""
    assert whole(address) == document


def lines(*records: dict[str, str]) -> str:
    return "\n".join(json.dumps(record, ensure_ascii=False) for record in records)


def test_questions_share_a_document_by_address_or_by_title(tmp_path: Path) -> None:
    """Sections of a page, entries of one report, and entries of one title are one document; rows and lines are not."""
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "leave.md").write_text("# 休假\n\n## 年假\n\n年假十天。\n\n## 病假\n\n病假五天。\n", "utf-8")
    (docs / "faq.csv").write_text("问题,答案\n怎么请假,填表\n怎么报销,交单据\n", "utf-8")
    (docs / "cards.jsonl").write_text(
        lines(
            {"text": "卡片一"}, {"text": "卡片二"},
            {"text": "营收三亿", "id": "年报#1"}, {"text": "利润一亿", "id": "年报#2"},
            {"text": "use tildes", "title": "Strike through"}, {"text": "use del", "title": "ｓtrike Through"},
        ),
        "utf-8",
    )  # fmt: skip
    answers = [
        "leave.md#年假", "leave.md#病假", "leave.md",
        "faq.csv#row=2", "faq.csv#row=3",
        "cards.jsonl?line=1", "cards.jsonl?line=2",
        "cards.jsonl?id=%E5%B9%B4%E6%8A%A5%231", "cards.jsonl?id=%E5%B9%B4%E6%8A%A5%232",
        "cards.jsonl?line=5", "cards.jsonl?line=6",
    ]  # fmt: skip
    with wenyuan.open(tmp_path / "library", create=True, encoder={"kind": "none"}) as made:
        assert not made.add(Source(source_id="docs", path=str(docs))).failed
        holdings = load_holdings(made.catalog, Scope(sources=frozenset({"docs"}), as_of=date(2026, 1, 1)), 100, None)
        pairs = [QuestionAddress(question=f"q{number}", answer=answer) for number, answer in enumerate(answers)]
        found = resolve(pairs, made.catalog, holdings)
        assert not found.unknown
        names = documents_of(found.lessons, holdings, made.catalog)
    together = {frozenset(n for n, own in enumerate(names) if own & names[number]) for number in range(len(names))}
    assert together == {frozenset(same) for same in ({0, 1, 2}, {3}, {4}, {5}, {6}, {7, 8}, {9, 10})}
