"""What is asked is redacted before it is recorded, as documents are before they are stored; and asked again as it was kept."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import wenyuan
from wenyuan.core.errors import KnowledgeError
from wenyuan.core.filters import In
from wenyuan.core.learning_records import QuestionAddress
from wenyuan.core.model import RetrievalRequest, Source
from wenyuan.service.search.searcher import SearchRequest

MOBILE, MAIL, CHINESE = "13800138000", "li.lei@example.com", "一三八〇〇一三八〇〇〇"
ASKED = f"投诉人李雷的电话{MOBILE}、邮箱 {MAIL}、{CHINESE}，处理期限几天"


def opened(folder: Path, **settings: Any) -> wenyuan.Library:
    return wenyuan.open(folder / "library", create=True, encoder={"kind": "hashing", "dimension": 64}, **settings)


def stocked(library: wenyuan.Library, docs: Path, sensitivity: Any = "internal") -> wenyuan.Library:
    docs.mkdir(exist_ok=True)
    text = f"处理期限为七天，请打{MOBILE}。Complaints are handled within seven days.\n"
    (docs / "a.md").write_text(f"# 投诉\n\n{text}")
    library.add(Source(source_id="docs", path=str(docs), sensitivity=sensitivity, domain="d"))
    return library


@pytest.fixture
def library(tmp_path: Path) -> Iterator[wenyuan.Library]:
    with opened(tmp_path) as made:
        yield stocked(made, tmp_path / "docs")


def stored(folder: Path, value: str) -> list[str]:
    """Files of a library that hold a value, plain or escaped."""
    forms = {value.encode(), json.dumps(value)[1:-1].encode()}
    return [str(f) for f in folder.rglob("*") if f.is_file() and any(form in f.read_bytes() for form in forms)]


def recorded(library: wenyuan.Library) -> list[Any]:
    log = library.recorder.log
    assert log is not None
    log.flush()
    return [log.show(each.audit_id) for each in log.list(kind="retrieval")]


def test_no_value_of_a_question_is_stored(library: wenyuan.Library, tmp_path: Path) -> None:
    """Asked through search, retrieval and context, in its words, filter and parameters, no value reaches the disk."""
    library.find(SearchRequest(query=ASKED, filter=In("metadata.电话", (MOBILE,))))
    library.retrieve_fragments(RetrievalRequest(query=ASKED, max_results=3))
    library.find(SearchRequest(query="期限", task_id=MOBILE, source_document_uri=f"file:///{MAIL}"))
    found = recorded(library)
    assert len(found) == 3
    for value in (MOBILE, MAIL, CHINESE):
        assert stored(library.folder, value) == []
    assert found[2].query["query"].startswith("投诉人李雷的电话138****8000、邮箱 l***@example.com、138****8000")
    assert found[2].record["redacted"] == {"cn_mobile": 3, "email": 1}
    assert MOBILE[:3] not in found[2].record["preview"]
    assert found[2].query["filter"] == {"metadata.电话": ["138****8000"]}
    kept, _ = library.recorder.questions.kept({"query": "x", "parameters": {"联系电话": MOBILE, "深度": 6}})
    assert kept["parameters"] == {"联系电话": "138****8000", "深度": 6}


def test_a_question_without_values_is_kept_as_it_is(library: wenyuan.Library) -> None:
    """Its record does not say that anything was taken out, and it is replayed exactly."""
    answer = library.find(SearchRequest(query="投诉处理期限 within seven days"))
    [record] = recorded(library)
    assert record.query["query"] == "投诉处理期限 within seven days" and "redacted" not in record.record
    assert library.replay(answer.audit_ids[0]).identical


@pytest.mark.parametrize("exact", [False, True])
def test_a_redacted_question_is_asked_again_as_it_was_kept(
    library: wenyuan.Library, tmp_path: Path, exact: bool
) -> None:
    """A replay asks the words that were kept; where they find another answer, that is the reason, and the only one."""
    [audit_id] = library.find(SearchRequest(query=ASKED)).audit_ids
    found = library.replay(audit_id, exact=exact)
    assert found.identical or [d.what for d in found.differences] == ["query redacted"]
    (tmp_path / "published").mkdir()
    (tmp_path / "published" / "b.md").write_text(f"# Hotline\n\nWrite to {MAIL} or call {MOBILE}.\n")
    library.add(Source(source_id="published", path=str(tmp_path / "published"), sensitivity="public"))
    again = library.find(SearchRequest(query=f"{MAIL} {MOBILE}"))
    assert again.passages
    found = library.replay(again.audit_ids[0], exact=exact)
    assert [d.what for d in found.differences] == ["query redacted"]
    assert "cn_mobile (1), email (1)" in found.differences[0].detail


def test_questions_are_redacted_as_the_strictest_source(tmp_path: Path) -> None:
    """With a confidential source, names get the pseudonym that they have in its documents."""
    with opened(tmp_path) as library:
        stocked(library, tmp_path / "docs", "confidential")
        (tmp_path / "docs" / "b.md").write_text("# 来函\n\n投诉人：李雷，七天内答复。\n")
        library.ingest("docs")
        mark = next(p.text for p in library.search("投诉人").passages.values() if "⟦姓名" in p.text)
        library.find(SearchRequest(query="投诉人：李雷，处理期限"))
        question = recorded(library)[0].query["query"]
        assert "李雷" not in question and question[4:19] in mark


def test_a_setting_keeps_questions_as_they_were_asked(tmp_path: Path) -> None:
    """With ``none`` they are stored word for word, and replayed exactly."""
    with opened(tmp_path, audit={"sensitivity": "none"}) as library:
        stocked(library, tmp_path / "docs")
        answer = library.find(SearchRequest(query=ASKED))
        assert recorded(library)[0].query["query"] == ASKED
        assert library.replay(answer.audit_ids[0]).identical


def test_a_question_that_cannot_be_redacted_is_not_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """It is answered and recorded without its words, and a replay says so."""
    (tmp_path / "breaking.py").write_text("def names(text):\n    assert '来自' not in text, text\n    return []\n")
    monkeypatch.syspath_prepend(tmp_path)
    with opened(tmp_path, redaction={"ner": "breaking:names"}, audit={"sensitivity": "restricted"}) as library:
        stocked(library, tmp_path / "docs")
        caplog.set_level(logging.DEBUG)
        answer = library.find(SearchRequest(query="来自李雷的投诉"))
        assert answer.passages
        [record] = recorded(library)
        assert record.query is None and record.record["redacted"] == {"unreadable": 1}
        assert "李雷" not in json.dumps(record.record, ensure_ascii=False)
        assert [d.what for d in library.replay(answer.audit_ids[0]).differences] == ["query not kept"]
    assert stored(tmp_path / "library", "李雷") == []


def test_the_words_of_a_failure_are_redacted(library: wenyuan.Library, monkeypatch: pytest.MonkeyPatch) -> None:
    """A question that got no answer is recorded redacted, too, and so is what the error says."""

    def failing(*_: Any, **__: Any) -> Any:
        raise KnowledgeError(f"nobody answers {MAIL} {CHINESE}")

    monkeypatch.setattr(library._retriever, "retrieve", failing)
    library.retrieve_fragments(RetrievalRequest(query=ASKED, max_results=3))
    [record] = recorded(library)
    assert record.record["status"] == "FAILED" and MOBILE not in record.query["query"]
    assert stored(library.folder, MAIL) == stored(library.folder, CHINESE) == []


def test_questions_of_an_evaluation_are_redacted(library: wenyuan.Library) -> None:
    """Golden questions are asked and kept without what names a person, so the same is compared next time."""
    address = next(iter(library.search("期限").passages.values())).uri
    report = library.evaluate([QuestionAddress(question=f"{MOBILE} 投诉处理期限", answer=address)], name="golden.csv")
    assert report.asked[0].question == "138****8000 投诉处理期限"
    assert stored(library.folder, MOBILE) == []
