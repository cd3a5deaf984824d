"""A file of lines of which some cannot be taken in: those are counted and named, the others are answered from."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import wenyuan
from wenyuan.core.filters import In
from wenyuan.core.model import Source
from wenyuan.service.search.searcher import SearchRequest


def written(file: Path, *rows: Any) -> Path:
    file.write_text("\n".join(json.dumps(row, ensure_ascii=False) for row in rows), "utf-8")
    return file


def test_an_empty_row_keeps_no_other_row_out(tmp_path: Path) -> None:
    """It is one failure with its line, shown with the source; a row's older version stays until it can be read or is gone."""
    docs = tmp_path / "docs"
    docs.mkdir()
    good, own = {"id": "a", "question": "如何退货？", "answer": "七天内退货。"}, {"id": "b", "text": "保修期两年。"}
    file = written(docs / "faq.jsonl", good, own)
    with wenyuan.open(tmp_path / "library", create=True, encoder={"kind": "none"}) as library:
        library.add(Source(source_id="faq", path=str(docs)))
        written(file, good, {"id": "b", "text": ""}, {"text": "客服全天在线。"}, {"text": " "})
        report = library.ingest("faq")
        assert (report.added, report.unchanged, report.retired, len(report.failed)) == (1, 1, 0, 2)
        reasons = sorted(report.failed.values())
        assert reasons[0].startswith("line 2: it has no text") and reasons[1].startswith("line 4: it has no text")
        assert set(library.catalog.failures("faq")) == set(report.failed)
        for query in ("退货", "保修期", "全天在线"):
            assert library.search(query).passages
        written(file, good, {"text": "客服全天在线。"})
        report = library.ingest("faq")
        assert (report.failed, report.retired) == ({}, 2)  # the row b, and the one that stood on line 3
        assert library.catalog.failures("faq") == {}


def test_a_row_belongs_to_the_collection_that_it_names(tmp_path: Path) -> None:
    """A question within a collection finds the rows of it; another collection of a row is a change."""
    file = written(
        tmp_path / "cases.jsonl", {"id": 1, "text": "基坑坍塌案例", "collection": "ch08"}, {"text": "基坑案例"}
    )
    with wenyuan.open(tmp_path / "library", create=True, encoder={"kind": "none"}) as library:
        library.add(Source(source_id="cases", path=str(file), collection="all"))

        def within(name: str) -> list[str]:
            found = library.find(SearchRequest(query="基坑案例", filter=In("collection", (name,))))
            return [one.passage.text for one in found.passages]

        assert (within("ch08"), within("all")) == (["基坑坍塌案例"], ["基坑案例"])
        written(file, {"id": 1, "text": "基坑坍塌案例", "collection": "ch09"}, {"text": "基坑案例"})
        assert library.ingest("cases").changed == 1
        assert (within("ch08"), within("ch09")) == ([], ["基坑坍塌案例"])
