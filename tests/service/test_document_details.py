"""Details of documents that people set in place: what counts, what stays, what a replay and an erasure know of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import pytest

import wenyuan
from wenyuan import Library
from wenyuan.core.errors import InvalidRequest, NotFound
from wenyuan.core.model import RetrievalRequest, Source
from wenyuan.service.document_details import DetailsRequest

PAGE = "---\ndepartment: service\n---\n# Complaints\n\nA complaint is answered within 24 hours.\n"


@pytest.fixture
def library(tmp_path: Path) -> Iterator[Library]:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "complaints.md").write_text(PAGE, "utf-8")
    (tmp_path / "docs" / "holidays.md").write_text("# Holidays\n\nOffices are closed on May Day.\n", "utf-8")
    with wenyuan.open(tmp_path / "library", create=True, encoder={"kind": "hashing"}) as library:
        library.add(Source(source_id="docs", path=str(tmp_path / "docs"), title="Docs", trust=4, domain="d"))
        yield library


def number(library: Library, name: str = "complaints") -> int:
    (one,) = (each for each in library.list_documents(source="docs").documents if name in each["uri"])
    found: int = one["document_id"]
    return found


def put(library: Library, **said: Any) -> dict[str, Any]:
    return dict(library.document(library.details_desk.set_details(number(library), DetailsRequest(**said))))


def ask(library: Library, question: str = "how fast is a complaint answered", **context: Any) -> list[Any]:
    return list(
        library.retrieve_fragments(RetrievalRequest(query=question, context=context, max_results=5)).fragments
    )


def test_what_is_not_given_stays(library: Library) -> None:
    """Title, days and tags are set one by one; each stays when another one is set, and the fragment has them."""
    put(library, title="Complaints of 2026")
    put(library, effective_until="2030-12-31")
    told = put(library, tags={"year": 2026})
    assert (told["title"], told["effective_until"]) == ("Complaints of 2026", "2030-12-31")
    assert told["tags"] == {"department": "service", "year": 2026}
    assert sorted(told["details"]["said"]) == ["effective_until", "tags", "title"]
    assert told["details"]["as_read"]["title"] == "Complaints"
    (fragment,) = ask(library, filter={"metadata.year": 2026})
    assert fragment.metadata["title"] == "Complaints of 2026"
    assert fragment.metadata["effective_until"] == "2030-12-31"


def test_a_document_is_found_by_the_title_that_it_was_given(library: Library) -> None:
    """The title is searched as that of a file is."""
    assert not [one for one in ask(library, "grumble desk") if "complaint" in one.content]
    put(library, title="Grumble desk")
    assert [one for one in ask(library, "grumble desk") if "complaint" in one.content]


def test_a_day_that_was_set_counts(library: Library) -> None:
    """Past its last day a document answers no more, and as of a day before it does."""
    put(library, effective_until="2026-01-31")
    assert not [one for one in ask(library) if "complaint" in one.content]
    assert [one for one in ask(library, as_of="2026-01-15") if "complaint" in one.content]


def test_reading_again_keeps_what_was_set(library: Library, tmp_path: Path) -> None:
    """What people said stands over what the file says, also where that has changed; taking it back gives what the file says now."""
    put(library, title="Complaints of 2026", tags={"department": None, "year": 2026})
    (tmp_path / "docs" / "complaints.md").write_text(PAGE.replace("# Complaints", "# Grievances"), "utf-8")
    assert library.ingest("docs").changed == 1
    told = library.document(number(library))
    assert (told["title"], told["tags"]) == ("Complaints of 2026", {"year": 2026})
    told = put(library, as_read=("title", "tags"))
    assert (told["title"], told["tags"], told["details"]) == ("Grievances", {"department": "service"}, None)


def test_a_replay_knows_the_change(library: Library) -> None:
    """As of an answer before it the title is the former one; asked now it is the new one."""
    ask(library)
    audit_id = library.audit.list(limit=1)[0].audit_id
    put(library, title="Complaints of 2026")
    exact = library.replay(audit_id, exact=True)
    assert exact.identical, exact.differences
    assert not library.replay(audit_id).identical
    assert library.document_history(number(library))["versions"][0]["first"]


def test_the_audit_has_the_change_without_words(library: Library) -> None:
    """The record says who changed which details of which document, and holds none of the words."""
    put(library, title="Complaints about Mr Smith", reason="he asked")
    (record,) = (one for one in library.audit.list(kind="document") if one.record["action"] == "details")
    assert record.record["changes"]["fields"] == [None, ["title"]]
    assert "Smith" not in str(record.record)


@pytest.mark.parametrize(
    ("said", "where"),
    [
        ({}, "title"),
        ({"effective_from": "soon"}, "effective_from"),
        ({"effective_from": "2026-02-01", "effective_until": "2026-01-31"}, "effective_until"),
        ({"title": "x", "as_read": ("title",)}, "as_read"),
        ({"tags": {"readers": "group:hr"}}, "tags.readers"),
        ({"tags": {"失效日期": "2026-01-01"}}, "tags.失效日期"),
        ({"tags": {"": "x"}}, "tags."),
        ({"tags": {"n": 2.0**60}}, "tags.n"),
    ],
)
def test_what_cannot_be_applied_is_refused(library: Library, said: dict[str, Any], where: str) -> None:
    """A request without a detail, no day, an end before the beginning, readers and days as tags."""
    with pytest.raises(InvalidRequest) as refused:
        put(library, **said)
    assert where in [fault.path for fault in refused.value.faults] or where in str(refused.value)


def test_a_document_that_is_not_there_is_not_found(library: Library) -> None:
    """Its former number, too: it has another one after each change."""
    former = number(library)
    put(library, title="Another")
    with pytest.raises(NotFound):
        library.details_desk.set_details(former, DetailsRequest(title="Third"))


def test_a_later_version_still_ends_it(library: Library, tmp_path: Path) -> None:
    """Days that are set take part in what ends what: a version that is set to begin ends the one before it on the day before."""
    folder = tmp_path / "docs"
    (folder / "rules(2025-01-01).md").write_text("# Rules\n\nDesks are shared.\n", "utf-8")
    (folder / "rules(2026-01-01).md").write_text("# Rules\n\nDesks are owned.\n", "utf-8")
    library.ingest("docs")
    (later,) = (one for one in library.list_documents(q="rules", state="live").documents)
    library.details_desk.set_details(later["document_id"], DetailsRequest(effective_from="2026-03-01"))
    ends = {one["effective_until"] for one in library.list_documents(q="rules").documents}
    assert ends == {"2026-02-28", None}
    assert date.today() > date(2026, 3, 1)


def test_words_that_people_wrote_are_redacted_when_the_source_becomes_more_sensitive(library: Library) -> None:
    """Titles and tags as the documents themselves."""
    put(library, title="Call 13812345678", tags={"phone": "13912345678"})
    source = library.sources()[0]
    library.catalog.put_source(replace(source, sensitivity="confidential"))
    library.ingest("docs")
    told = library.document(number(library))
    assert "13812345678" not in str(told)
    assert "13912345678" not in str(told)
    kept = library.catalog.kept_details("docs", told["uri"])
    assert kept is not None
    assert "1391234" not in str(kept.said)


def test_an_erasure_finds_the_words(library: Library) -> None:
    """Whoever is erased stands no more in a title or a tag that somebody set."""
    put(library, title="Complaints of Zhang Weiming", tags={"clerk": "Zhang Weiming"})
    target = library.erasures.person(["Zhang Weiming"])
    assert library.erasures.plan(target).places["details"] == 1
    library.erasures.erase(target)
    told = library.document(number(library))
    assert "Weiming" not in str(told)
    assert told["details"] is not None
    assert not library.erasures.plan(target).places
