"""Redaction on the way in: what a source's sensitivity forbids is nowhere in the library, nor in what is told of it."""

from __future__ import annotations

import csv
import json
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

import wenyuan
from wenyuan.core.errors import DocumentRejected, InvalidRequest, SourceError
from wenyuan.core.model import Source
from wenyuan.service.ingest.progress import IngestReport, Progress
from wenyuan.service.search.searcher import SearchRequest

CANARIES = {
    "cn_id": "11010519491231002X",
    "bank_card": "6222021234567894",
    "cn_mobile": "13912345678",
    "email": "canary.seven@example.org",
    "secret": "sk-proj-Zx81Kd02mQpL7vTfWc93HsYbNe45Ra",
    "us_ssn": "219-09-9999",
    "iban": "DE89370400440532013000",
}
"""One value for each kind, all of which every level above public takes out."""
IN_NAMES = ("cn_id", "cn_mobile", "email")
LEVELS = ("internal", "confidential", "restricted")


def sentence(kind: str) -> str:
    cue = {"secret": "api_key: ", "us_ssn": "SSN: ", "iban": "IBAN: "}.get(kind, "")
    return f"投诉 complaint，请用 {cue}{CANARIES[kind]} 联系。"


def fill(docs: Path) -> None:
    """Every kind in text, title, heading, front matter, table cells and JSON members; some in names of files."""
    docs.mkdir(exist_ok=True)
    for kind, value in CANARIES.items():
        (docs / f"{kind}-text.md").write_text(f"# Complaint 投诉\n\n{sentence(kind)}\n")
        (docs / f"{kind}-title.md").write_text(
            f"# {sentence(kind)}\n\n## {sentence(kind)}\n\nHow to handle it 处理.\n"
        )
        front = json.dumps(sentence(kind), ensure_ascii=False)
        (docs / f"{kind}-front.md").write_text(f"---\ntitle: {front}\ncontact: {front}\n---\nThe complaint 投诉.\n")
        with (docs / f"{kind}-faq.csv").open("w", newline="") as file:
            rows = csv.writer(file)
            rows.writerow(["question", "answer", "owner"])
            rows.writerow([f"complaint 投诉 {sentence(kind)}?", sentence(kind), sentence(kind)])
        record = {"id": 1, "text": sentence(kind), "title": sentence(kind), "owner": sentence(kind)}
        (docs / f"{kind}-lines.jsonl").write_text(
            json.dumps(record, ensure_ascii=False)
            + "\n"
            + json.dumps({"id": 2, "text": f"complaint {value}", kind: value})
            + "\n"
        )
    for kind in IN_NAMES:
        named = docs / f"for {CANARIES[kind]} 投诉"
        named.mkdir(exist_ok=True)
        (named / f"{kind} {CANARIES[kind]} note.md").write_text("# 投诉\n\nThe complaint is handled 处理投诉。\n")
        (named / f"{kind} {CANARIES[kind]} bad.txt").write_bytes(b"\x00\xff" * 400)  # fails, by its name
    full_width = str.maketrans("0123456789", "０１２３４５６７８９")
    (docs / "wide.md").write_text(f"# 全角\n\n电话 {CANARIES['cn_mobile'].translate(full_width)}，投诉。\n")


def forms(value: str) -> set[bytes]:
    """A value as it might stand in a file or an address."""
    wide = value.translate(str.maketrans("0123456789", "０１２３４５６７８９"))
    spelled = {value, quote(value, safe=""), wide, quote(wide)}
    return {text.encode(coding) for text in spelled for coding in ("utf-8", "utf-16-le")} | {
        json.dumps(wide)[1:-1].encode()
    }


def leaks(told: bytes) -> list[str]:
    return [kind for kind, value in CANARIES.items() if any(form in told for form in forms(value))]


def leaks_in(folder: Path) -> list[str]:
    """Kind and file of each raw value in a folder, the write-ahead log and the index included."""
    files = [file for file in folder.rglob("*") if file.is_file()]
    assert any(file.name == "catalog.db" for file in files)
    return [
        f"{kind} in {file.relative_to(folder)}"
        for file in files
        for kind in leaks(file.read_bytes() + file.name.encode())
    ]


def opened(folder: Path) -> wenyuan.Library:
    return wenyuan.open(folder / "library", create=True, encoder={"kind": "hashing", "dimension": 64})


def take(library: wenyuan.Library, docs: Path, sensitivity: Any, **more: Any) -> IngestReport:
    return library.add(Source(source_id="docs", path=str(docs), sensitivity=sensitivity, domain="d"), **more)


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    return tmp_path / "docs"


@pytest.fixture
def library(tmp_path: Path) -> Iterator[wenyuan.Library]:
    with opened(tmp_path) as made:
        yield made


@pytest.mark.parametrize("level", LEVELS)
def test_raw_values_are_nowhere(
    library: wenyuan.Library, docs: Path, level: str, caplog: pytest.LogCaptureFixture
) -> None:
    """No raw value is in the library's folder, in logs, in the report, the progress, the answers or the failures."""
    caplog.set_level(logging.DEBUG)
    fill(docs)
    steps: list[Progress] = []
    report = take(library, docs, level, progress=steps.append)
    assert report.added > 30
    assert set(CANARIES) <= set(report.redacted)
    assert len(report.failed) == len(IN_NAMES)
    assert leaks_in(library.folder) == []
    found = library.find(SearchRequest(query="投诉 complaint", limit=100))
    answer = library.search("投诉 complaint", limit=100)
    assert len(found.passages) > 20
    failures = library.catalog.failures("docs")  # type: ignore[attr-defined]
    for told in (report, steps, found, answer, failures, caplog.text, [r.__dict__ for r in caplog.records]):
        assert leaks(repr(told).encode()) == []


def test_a_mail_address_as_a_file_name(library: wenyuan.Library, docs: Path) -> None:
    """A file that is named by nothing but a mail address does not tell it."""
    docs.mkdir()
    (docs / f"{CANARIES['email']}.md").write_text("The complaint 投诉.\n")
    take(library, docs, "internal")
    assert leaks_in(library.folder) == []


@pytest.mark.parametrize("kind", CANARIES)
def test_the_search_for_leaks_finds_them(tmp_path: Path, kind: str) -> None:
    """The byte search finds a raw value where it does lie, so finding none means something."""
    (tmp_path / "catalog.db").write_bytes(b"\0" * 99 + CANARIES[kind].encode())
    assert leaks_in(tmp_path) == [f"{kind} in catalog.db"]


def test_queries_with_raw_values(library: wenyuan.Library, docs: Path) -> None:
    """Asking for a raw value does not bring it back."""
    fill(docs)
    take(library, docs, "restricted")
    for value in CANARIES.values():
        assert leaks(repr(library.search(value, limit=50).passages).encode()) == []


def test_counts(library: wenyuan.Library, docs: Path) -> None:
    """The report counts values by kind: as many as there are, and none when nothing is read anew."""
    docs.mkdir()
    mobile, mail = CANARIES["cn_mobile"], CANARIES["email"]
    (docs / "a.md").write_text(f"# T\n\n电话 {mobile}，邮箱 {mail}。\n\n电话 {mobile}。\n")
    (docs / "b.md").write_text(f"---\ncontact: {mail}\n---\nNothing else 投诉.\n")
    assert take(library, docs, "internal").redacted == {"cn_mobile": 2, "email": 2}
    assert take(library, docs, "internal").redacted == {}


def test_public_keeps_what_was_published(library: wenyuan.Library, docs: Path) -> None:
    """Of a public source only what never should have been published is taken out."""
    docs.mkdir()
    (docs / "a.md").write_text(f"# 投诉\n\n{sentence('cn_mobile')}\n\n{sentence('secret')}\n")
    take(library, docs, "public")
    told = repr(library.search("投诉").passages)
    assert CANARIES["cn_mobile"] in told
    assert CANARIES["secret"] not in told


@pytest.mark.parametrize(
    "error", [DocumentRejected("it does not settle", component="redaction"), ValueError(CANARIES["email"])]
)
def test_failing_redactor(
    library: wenyuan.Library, docs: Path, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    """A document that cannot be redacted is not taken in, whatever broke, and the others are."""
    from wenyuan.core.redaction.redact import Redaction

    docs.mkdir()
    (docs / "good.md").write_text("# 投诉\n\nHandle it 处理投诉。\n")
    (docs / "bad.md").write_text(f"# 投诉\n\nBADBAD {CANARIES['email']}\n")
    real = Redaction.document

    def failing(self: Redaction, document: Any, values: Any = None) -> Any:
        if "BADBAD" in document.text:
            raise error
        return real(self, document, values)

    monkeypatch.setattr(Redaction, "document", failing)
    report = take(library, docs, "internal")
    assert report.added == 1
    [(uri, reason)] = report.failed.items()
    assert "bad.md" in uri
    assert leaks(reason.encode()) == []
    assert leaks_in(library.folder) == []
    assert all("BADBAD" not in p.text for p in library.search("投诉 BADBAD").passages.values())
    monkeypatch.undo()
    report = take(library, docs, "internal")
    assert (report.added, report.unchanged, report.failed) == (1, 1, {})


def test_a_kind_that_came_with_a_version_is_no_stricter_redaction(library: wenyuan.Library, docs: Path) -> None:
    """What a former version stored is read again, and stays where it cannot be."""
    docs.mkdir()
    (docs / "a.md").write_text("# 投诉\n\n处理投诉。\n")
    take(library, docs, "internal")
    [source] = library.catalog.sources()
    key = f"redaction/{source.source_id}"
    held = library.catalog.value(key)
    former = {kind: action for kind, action in held["actions"].items() if kind != "id_number"}
    library.catalog.set_value(key, {**held, "fingerprint": "redact/13", "actions": former})
    assert not library.behind(source)


def test_a_change_of_sensitivity(library: wenyuan.Library, docs: Path) -> None:
    """With another sensitivity everything is read again, and no raw text is found, listed or shown any more."""
    fill(docs)
    assert take(library, docs, "public").unchanged == 0
    assert CANARIES["cn_mobile"] in repr(library.search("投诉", limit=100).passages)
    report = take(library, docs, "restricted")
    assert report.unchanged == 0
    assert set(CANARIES) <= set(report.redacted)
    live = library.catalog.live_documents("docs")  # type: ignore[attr-defined]
    assert leaks(repr(live).encode()) == []
    assert len(live) == report.added + report.changed
    for query in ("投诉", *CANARIES.values()):
        assert leaks(repr(library.search(query, limit=100).passages).encode()) == []
    assert take(library, docs, "restricted").unchanged == len(live)


def test_a_change_of_sensitivity_leaves_no_bytes(library: wenyuan.Library, docs: Path) -> None:
    """With a stricter sensitivity the raw text leaves the files of the library too."""
    fill(docs)
    take(library, docs, "public")
    take(library, docs, "restricted")
    assert leaks_in(library.folder) == []


def test_pseudonyms(tmp_path: Path) -> None:
    """In one library a value has one pseudonym, in every document and at every time; in another library another."""
    docs = tmp_path / "docs"
    docs.mkdir()
    for name in "ab":
        (docs / f"{name}.md").write_text(f"{CANARIES['cn_mobile']}\n")

    def texts(folder: Path) -> set[str]:
        with opened(folder) as library:
            take(library, docs, "confidential")
            rows = library.catalog.passages(range(1, 99))  # type: ignore[attr-defined]
            return {passage.text.strip() for passage in rows.values()}

    first = texts(tmp_path)
    assert len(first) == 1
    (docs / "c.md").write_text(f"{CANARIES['cn_mobile']}\n")
    assert texts(tmp_path) == first
    assert texts(tmp_path / "other") != first


def test_own_actions(library: wenyuan.Library, docs: Path) -> None:
    """A source may change single actions; a setting that is none is refused before anything is registered."""
    docs.mkdir()
    (docs / "a.md").write_text(f"# 投诉\n\n{sentence('email')}\n")
    source = Source(
        source_id="docs", path=str(docs), sensitivity="public", settings={"redaction": {"actions": {"email": "drop"}}}
    )
    assert library.add(source).redacted == {"email": 1}
    assert leaks_in(library.folder) == []
    wrong = Source(source_id="more", path=str(docs), settings={"redaction": {"actions": {"mail": "drop"}}})
    with pytest.raises(InvalidRequest, match="mail"):
        library.add(wrong)
    assert [s.source_id for s in library.sources()] == ["docs"]


def test_what_cannot_be_read_again_is_withdrawn(library: wenyuan.Library, docs: Path) -> None:
    """With a stricter sensitivity, a document that fails or a folder that is gone leaves; otherwise it would stay."""
    docs.mkdir()
    (docs / "a.md").write_text(f"# 投诉\n\n{sentence('email')}\n")
    (docs / "b.md").write_text("# 投诉\n\nHandled within a day 处理投诉。\n")
    take(library, docs, "public")
    (docs / "a.md").write_bytes(b"\x00\xff" * 400)
    assert take(library, docs, "public").retired == 0
    assert CANARIES["email"] in repr(library.search("投诉").passages)
    report = take(library, docs, "internal")
    assert (report.retired, report.changed, len(report.failed)) == (1, 1, 1)
    assert leaks_in(library.folder) == []
    docs.rename(docs.with_name("gone"))
    with pytest.raises(SourceError):
        library.ingest("docs")
    assert library.catalog.counts("docs")["documents"] == 1
    with pytest.raises(SourceError):
        take(library, docs, "restricted")
    assert library.catalog.counts("docs")["documents"] == 0
    assert list(library.search("投诉").hits) == []


def test_less_redaction_forgets_nothing(library: wenyuan.Library, docs: Path) -> None:
    """With a less strict sensitivity the library goes on knowing what it said before."""
    docs.mkdir()
    (docs / "a.md").write_text(f"# 投诉\n\n{sentence('email')}\n")
    take(library, docs, "restricted")
    then = library.catalog.seq()
    [old] = library.catalog.passages(range(1, 99))
    take(library, docs, "internal")
    assert old not in library.catalog.passages(range(1, 99))
    assert "⟦" in library.catalog.passages_at([old], then)[old].text
    take(library, docs, "confidential")
    assert library.catalog.passages_at([old], then)[old].text == ""


def test_a_change_that_was_cut_off(library: wenyuan.Library, docs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that dies between reading again and forgetting leaves a mark; the next one forgets."""
    docs.mkdir()
    (docs / "a.md").write_text(f"# 投诉\n\n{sentence('email')}\n")
    take(library, docs, "public")

    def died(*_: Any) -> int:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(library.catalog, "forget_removed", died)
        with pytest.raises(KeyboardInterrupt):
            take(library, docs, "internal")
    assert leaks_in(library.folder) != []
    report = take(library, docs, "internal")
    assert (report.unchanged, report.changed) == (1, 0)
    assert leaks_in(library.folder) == []


def test_a_higher_sensitivity_is_read_again_at_once(library: wenyuan.Library, docs: Path) -> None:
    """A source that is never refreshed is read again by the change itself; a lower one is not, and a plan redone does it."""
    from wenyuan.core.registry import Registry
    from wenyuan.service.ingest.registry import apply, plan

    docs.mkdir()
    (docs / "a.md").write_text(f"# 投诉\n\n{sentence('email')}\n")
    take(library, docs, "public")

    def described(**more: Any) -> Any:
        source = Source(source_id="docs", path=str(docs), domain="d", **more)
        return apply(library, plan(library, Registry(sources=(source,), sections=frozenset({"sources"}))))

    assert described(title="Other", sensitivity="public") == ()
    [outcome] = described(sensitivity="restricted")
    assert (outcome.source_id, outcome.failure, outcome.report.redacted) == ("docs", "", {"email": 1})
    assert leaks_in(library.folder) == []
    assert described(sensitivity="restricted") == ()
    assert described(sensitivity="internal") == ()
    take(library, docs, "public")
    docs.rename(docs.with_name("gone"))
    [outcome] = described(sensitivity="restricted")
    assert str(docs) in outcome.failure
    assert library.catalog.counts("docs")["documents"] == 0
