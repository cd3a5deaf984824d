"""What is told of documents: how they were read, what could not be read, and that a doubtful number is not given as sure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from typer.testing import CliRunner

import wenyuan
from scanned import DOUBTFUL, SCAN, TYPED, scans
from wenyuan.cli.root import app
from wenyuan.core.access import Principal, parse_agent
from wenyuan.core.claims import Claim
from wenyuan.core.errors import EngineTimeout, InvalidRequest, NotFound
from wenyuan.core.fidelity import Fidelity
from wenyuan.core.model import RetrievalRequest, Source
from wenyuan.service.context import ContextRequest
from wenyuan.service.search.cache_redis import result_from_json, result_to_json
from wenyuan.service.search.searcher import SearchRequest
from wenyuan.service.verification import VerifyRequest, as_data

ASKED = "客户投诉多久首次响应"


READER = Principal(key_id="reader", rights=frozenset({"search"}))
"""One who may search, and does not keep the library."""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with scans(tmp_path_factory.mktemp("scans"), search={"deadline": 60}) as made:
        made.catalog.put_agent(parse_agent({"agent_id": "desk", "knowledge_scope": [{"domain": "duty"}]}))
        made.catalog.put_agent(parse_agent({"agent_id": "other", "knowledge_scope": [{"domain": "elsewhere"}]}))
        yield made


def named(library: Any, name: str) -> Any:
    (found,) = (one for one in library.list_documents().documents if one["uri"].endswith(name))
    return found


def test_documents_say_how_they_were_read(library: Any) -> None:
    """Listed by source and address: what was recognised with its record, what failed with reason and remedy."""
    broken, scan, typed = library.list_documents().documents
    assert [one["state"] for one in (broken, scan, typed)] == ["failed", "live", "live"]
    assert (broken["document_id"], scan["passages"], typed["passages"]) == (None, 1, 1)
    assert broken["failure"]["reason"]
    assert broken["failure"]["remedy"].endswith("wenyuan ingest duty")
    told = scan["fidelity"]
    assert (told["pages"], told["ocr_pages"], told["confidence"], told["score"]) == (2, 2, 0.9, 0.9)
    assert (told["kept"], told["warnings"]) == (None, ["the seal was not read"])
    assert library.document(scan["document_id"])["notes"] == []
    assert library.catalog.worst_read(1) == [("duty", scan["uri"], 0.9)]


def test_lists_are_asked_for_in_pages_and_by_state(library: Any) -> None:
    """Every document once, page by page; a search, a state, a source that is none, a mark that is none."""
    seen, after = [], ""
    while True:
        page = library.list_documents(after=after, limit=1)
        seen += [one["uri"] for one in page.documents]
        after = page.next
        if not after:
            break
    assert seen == [one["uri"] for one in library.list_documents().documents]
    assert [one["state"] for one in library.list_documents(state="failed").documents] == ["failed"]
    assert [one["uri"] for one in library.list_documents(q="SCAN.md").documents] == [named(library, "scan.md")["uri"]]
    assert [one["title"] for one in library.list_documents(q="差旅").documents] == ["差旅规定"]
    assert library.list_documents(q="%").documents == ()
    assert library.list_documents(state="expired").documents == ()
    with pytest.raises(NotFound):
        library.list_documents(source="none")
    for mark in ("x", "bnVsbA", "\ud800"):
        with pytest.raises((InvalidRequest, UnicodeError)):
            library.list_documents(after=mark)


def test_states_follow_the_dates(tmp_path: Path) -> None:
    """Not yet in force, expired by itself, ended by a later version."""
    docs = tmp_path / "laws"
    docs.mkdir()
    for name, front in {
        "a": "effective_from: 2999-01-01", "b": "effective_until: 2001-01-01",
        "c": "effective_from: 2010-01-01\nversion: 1\nwork: w", "d": "effective_from: 2020-01-01\nsupersedes: c.md",
    }.items():  # fmt: skip
        (docs / f"{name}.md").write_text(f"---\n{front}\n---\n\n第一条 {name} 网络运营者应当留存日志。\n", "utf-8")
    with wenyuan.open(tmp_path / "library", create=True, encoder={"kind": "none"}) as library:
        library.add(Source(source_id="laws", path=str(docs)))
        states = {one["uri"][-4]: one["state"] for one in library.list_documents().documents}
        assert states == {"a": "not_yet", "b": "expired", "c": "superseded", "d": "live"}
        for state in ("not_yet", "expired", "superseded", "live"):
            assert [one["state"] for one in library.list_documents(state=state).documents] == [state]


def test_passages_say_where_they_stand_on_the_page(library: Any) -> None:
    """In order, with the boxes of their lines, what was recognised, and what was not read surely."""
    number = named(library, "scan.md")["document_id"]
    page = library.document_passages(number)
    (passage,) = page.passages
    assert page.next is None
    assert passage["text"] in SCAN
    assert (passage["ocr"], passage["confidence"], passage["least_confidence"]) == (True, 0.9, 0.41)
    (doubt,) = passage["uncertain"]
    assert passage["text"][doubt["start"] : doubt["end"]] == doubt["text"] == "24"
    assert passage["boxes"]
    assert all(box["start"] < passage["end"] and passage["start"] < box["end"] for box in passage["boxes"])
    assert passage["boxes"][-1]["box"] == [0.1, 0.1, 0.9, 0.15]
    (typed,) = library.document_passages(named(library, "typed.md")["document_id"]).passages
    assert not {"ocr", "confidence", "uncertain"} & set(typed)
    assert typed["boxes"] == []


def test_answers_say_which_characters_are_doubtful(library: Any) -> None:
    """Fragments, search hits and what is fetched; what was typed says nothing of it; kept answers come back equal."""
    answer = library.retrieve_fragments(RetrievalRequest(query=ASKED, max_results=5))
    scan = next(one for one in answer.fragments if "投诉编号" in one.content)
    (doubt,) = scan.metadata["uncertain"]
    assert scan.content[doubt["start"] : doubt["end"]] == "24"
    assert (scan.metadata["ocr"], doubt["kind"], doubt["confidence"]) == (True, "number", 0.41)
    assert scan.metadata["scores"]["trust"] == pytest.approx(1.0)  # trust 4 counts as 3 beside others
    typed = library.retrieve_fragments(RetrievalRequest(query="差旅费用几日内报销", max_results=1)).fragments[0]
    assert "ocr" not in typed.metadata
    assert typed.metadata["scores"]["trust"] == pytest.approx(1.01)
    fetched = library.fetch(scan.metadata["passage_id"])
    (again,) = fetched.metadata["uncertain"]
    assert fetched.text[again["start"] : again["end"]] == "24"
    assert "ocr" not in library.fetch(typed.metadata["passage_id"]).metadata
    found = library.find(SearchRequest(query=ASKED))
    assert result_from_json(result_to_json(found)).passages == found.passages
    flags = library.get_context(ContextRequest(retrieval_query=ASKED)).build.snippets[0].flags
    assert "uncertain" in flags


def test_a_doubtful_number_is_not_called_verbatim(library: Any) -> None:
    """A claim with the number has a verdict of its own; one about the rest of the scan is verbatim."""
    texts = (
        "客户投诉应当在24小时内首次响应，并登记投诉编号。",
        "夜间值班电话由前台保管。",
        TYPED.split("\n\n")[1].strip(),
    )
    found = library.verify(VerifyRequest(claims=tuple(Claim(text, ()) for text in texts)))
    assert [one.verdict for one in found.claims] == ["uncertain_reading", "verbatim", "verbatim"]
    (evidence,) = as_data(found)["claims"][0]["evidence"]
    assert [one["text"] for one in evidence["uncertain"]] == ["24"]
    assert "uncertain" not in as_data(found)["claims"][1]["evidence"][0]


def test_what_was_hardly_recognised_is_no_answer(tmp_path: Path) -> None:
    """Below the setting's mean confidence nothing of it is given."""
    with scans(tmp_path, search={"min_confidence": 0.95, "deadline": 60}) as library:
        assert all("投诉编号" not in p.text for p in library.search(ASKED).passages.values())


def test_an_agent_is_told_of_what_it_may_read(library: Any) -> None:
    """Documents of its domains that are in force, without failures; another's are as if they were not there."""
    desk, other = Principal(agent_id="desk"), Principal(agent_id="other")
    listed = library.list_documents(desk).documents
    assert [one["state"] for one in listed] == ["live", "live"]
    assert library.list_documents(desk, state="failed").documents == ()
    assert library.list_documents(other).documents == ()
    number = listed[0]["document_id"]
    assert library.document(number, desk)["failure"] is None
    for call in (library.document, library.document_passages):
        with pytest.raises(NotFound) as one:
            call(number, other)
        with pytest.raises(NotFound) as none:
            call(10**9, other)
        assert str(one.value).replace(str(number), "") == str(none.value).replace(str(10**9), "")


@pytest.mark.parametrize("terms", ["excerpt<=70", "share<=0.4"])
def test_copyright_counts_for_the_document_not_the_page(tmp_path: Path, terms: str) -> None:
    """Page by page no more is given than at once, wherever one begins."""
    docs = tmp_path / "laws"
    docs.mkdir()
    articles = "\n\n".join(
        f"## 第{n}条\n\n网络运营者应当留存日志不少于{n}个月。第二句。" for n in "一二三四五六七八九"
    )
    (docs / "law.md").write_text(f"# 网络安全\n\n{articles}\n", "utf-8")
    with wenyuan.open(tmp_path / "library", create=True, encoder={"kind": "none"}) as library:
        library.add(Source(source_id="laws", path=str(docs), copyright=terms))
        number = library.list_documents().documents[0]["document_id"]
        assert all(one["text"] for one in library.document_passages(number).passages), "who keeps it sees it"
        whole = library.document_passages(number, READER).passages
        after, paged = 0, []
        for _ in whole:
            page = library.document_passages(number, READER, after=after, limit=1)
            paged += page.passages
            after = page.next
        assert [one["text"] for one in paged] == [one["text"] for one in whole]
        assert 0 < len("".join(one["text"] for one in paged)) <= 110
        assert whole[0]["text"]
        assert not whole[-1]["text"]


def test_copyright_counts_for_passages(library: Any) -> None:
    """No more of a document than may be given at once, however it is asked for; nothing where its terms deny it."""
    number = named(library, "scan.md")["document_id"]
    before = library.catalog.source("duty")
    try:
        for terms, most in (("excerpt<=12", 12), ("deny", 0)):
            library.catalog.put_source(replace(before, copyright=terms))
            (passage,) = library.document_passages(number, READER).passages
            assert len(passage["text"]) <= most
            assert passage["withheld"] is True
            assert not passage.get("uncertain")
            if most == 0:
                assert passage["text"] == ""
            (own,) = library.document_passages(number).passages
            assert not own["withheld"]
            assert len(own["text"]) > 12
    finally:
        library.catalog.put_source(before)


def test_readings_go_with_their_documents(tmp_path: Path) -> None:
    """A document that is read again has its new reading; of one that is gone, or forgotten, nothing is left."""
    with scans(tmp_path) as library:
        file = tmp_path / "duty" / "scan.md"
        first = named(library, "scan.md")["document_id"]
        file.write_text(SCAN.replace("24", "36"), "utf-8")
        library.ingest("duty")
        assert library.catalog.document_lines(first, 0, 10**6) == []
        second = named(library, "scan.md")["document_id"]
        assert library.catalog.document_lines(second, 0, 10**6)
        assert "uncertain" not in library.document_passages(second).passages[0]
        assert not DOUBTFUL.search(library.document_passages(second).passages[0]["text"])
        library.catalog.amend_ends("duty", {second: date(2999, 1, 1)})
        third = named(library, "scan.md")["document_id"]
        assert third != second
        assert library.document(third)["fidelity"]["pages"] == 2
        assert library.catalog.document_lines(third, 0, 10**6)
        library.remove("duty")
        assert library.catalog.worst_read(5) == []


def test_another_ocr_reads_anew_only_what_it_reads(tmp_path: Path) -> None:
    """A new version of it, or none: what was recognised is read again, once, and no other file is."""
    with scans(tmp_path) as library:
        for version in ("another/2", "another/3", ""):
            ingester = library.ingestion.ingester
            recognition = replace(ingester.recognition, version=version)
            library.ingestion = replace(library.ingestion, ingester=replace(ingester, recognition=recognition))
            report = library.ingest("duty")
            assert (report.changed, report.unchanged) == (1, 1)
            assert library.ingest("duty").unchanged == 2


def test_a_search_of_titles_that_takes_too_long_fails(tmp_path: Path) -> None:
    """It is stopped in the database, and is no empty list."""
    with scans(tmp_path, search={"deadline": 1e-6}) as library:
        assert library.list_documents(q="SCAN.md").documents  # so few that nobody looks at the clock
        many = sa.text(
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5000)"
            " INSERT INTO failures (source_id, uri, code, reason, at)"
            " SELECT 'duty', 'urn:t:' || i, 'unreadable', 'gone', 0 FROM n"
        )
        with library.catalog.database.changing("testing") as connection:
            connection.execute(many)
        with pytest.raises(EngineTimeout, match="deadline"):
            library.list_documents(q="in no title")


def test_only_the_whole_is_the_whole(tmp_path: Path) -> None:
    """Of a document that has lost one character in a million, less than all was kept."""
    with scans(tmp_path) as library:
        ingester = library.ingestion.ingester
        told = Fidelity(source_characters=1_000_000, read_characters=999_999, lost=1)

        def reading(file: Path, uri: str) -> list[Any]:
            return [replace(one, fidelity=told) for one in ingester.read(file, uri)]

        library.ingestion = replace(library.ingestion, ingester=replace(ingester, read=reading))
        (tmp_path / "duty" / "typed.md").write_text("# T\n\nAnother text of it.\n", "utf-8")
        library.ingest("duty")
        found = named(library, "typed.md")
        assert (found["fidelity"]["kept"], found["fidelity"]["score"]) == (0.9999, 0.9999)
        where = ["--library", str(library.folder), "--lang", "en"]
        for asked in (["list"], ["show", str(found["document_id"])]):
            shown = CliRunner().invoke(app, ["document", *asked, *where], env={"WENYUAN_ENCODER__KIND": "hashing"})
            assert "99.9%" in shown.output
            assert "100" not in shown.output
