"""Addresses that documents state of themselves: scripts are none, and another source's address is that source's."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import wenyuan
from wenyuan.core.errors import SourceError
from wenyuan.core.ports import OutsideHit
from wenyuan.core.stated_addresses import is_script, lies_under, stated_address
from wenyuan.core.text.folding import has_han
from wenyuan.i18n.translation import translated
from wenyuan.readers.jsonl import read_jsonl

LAW = "https://law.example/complaints"
SPELLINGS = (
    LAW,
    "HTTPS://Law.EXAMPLE/complaints",
    "https://law.example:443/complaints",
    f"{LAW}#3",
    "https://law.example:/complaints",
)
WRONG = (
    "javascript:alert(document.cookie)", "JavaScript:alert(1)", " javascript:alert(1)", "java\tscript:alert(1)",
    "java\nscript:alert(1)", "\x01javascript:alert(1)", "data:text/html,<script>alert(1)</script>", "vbscript:x", "blob:https://law.example/1",
    "file:///etc/passwd", "file:///kb/policy.md", "ftp://law.example/x", "kb://manuals/1", "https:law.example", "https:///x",
    "https://law.example@evil.example/", "https://user:pw@law.example/", "https://law.example\\@evil.example/", "https:// law.example/",
    "https://law.example/<script>", "urn:", "urn:x", "about:blank", "x:y",
)  # fmt: skip


@pytest.fixture
def library(tmp_path: Path) -> Iterator[Any]:
    with wenyuan.open(tmp_path / "library", create=True, encoder={"kind": "none"}) as made:
        yield made


def lines(folder: Path, name: str, *records: dict[str, Any]) -> str:
    (folder / name).mkdir(exist_ok=True)
    (folder / name / "lines.jsonl").write_text("".join(json.dumps(r) + "\n" for r in records), encoding="utf-8")
    return str(folder / name)


def add(library: Any, folder: Path, name: str, trust: int, *records: dict[str, Any], **more: Any) -> Any:
    return library.add(wenyuan.Source(source_id=name, path=lines(folder, name, *records), trust=trust, **more))


def given_of(library: Any, query: str = "complaint answered") -> dict[str, str]:
    """By source, the address under which its passage is given."""
    return {p.source_id: p.uri.partition("#")[0] for p in library.search(query).passages.values()}


@pytest.mark.parametrize("address", WRONG)
def test_what_is_no_address_of_a_text_never_becomes_its_source(library: Any, tmp_path: Path, address: str) -> None:
    """The line's place in the file stands instead, and the report says so, in both languages."""
    report = add(library, tmp_path, "kb", 3, {"url": address, "text": "a complaint is answered"})
    place = f"file://{tmp_path}/kb/lines.jsonl?line=1"
    assert given_of(library) == {"kb": place}
    (note,) = report.notes[place]
    assert "that of the line stands instead" in note
    assert has_han(translated(note))
    assert translated(note) != note
    assert (report.added, report.failed) == (1, {})


@pytest.mark.parametrize(
    "address", ["http://x/1", "https://[::1]:8443/a?b=c", "urn:isbn:978-7-111", "https://法规.example/投诉"]
)
def test_what_a_line_may_state_is_its_address(library: Any, tmp_path: Path, address: str) -> None:
    """Web addresses and names, in any script."""
    report = add(library, tmp_path, "kb", 3, {"uri": address, "text": "a complaint is answered"})
    assert given_of(library) == {"kb": address}
    assert report.notes == {}


def test_a_line_keeps_its_id_where_its_address_is_none() -> None:
    """The place in the file goes by the id, where the line has one."""
    (document,) = read_jsonl(b'{"url": "data:,x", "id": "a b", "text": "t"}', uri="file:///f.jsonl", name="f.jsonl")
    assert (document.uri, document.stated) == ("file:///f.jsonl?id=a%20b", "data:,x")


def test_addresses_of_the_sources_own(library: Any, tmp_path: Path) -> None:
    """Below ``base_uri`` a source's lines state what they like; a step out of it, or a base that is none, is refused."""
    said = [{"url": f"kb://manuals/{part}", "text": f"complaint {part}"} for part in ("1", "../x", "%2e%2e/y")]
    add(
        library,
        tmp_path,
        "kb",
        3,
        *said,
        {"url": "kb://other/1", "text": "complaint o"},
        settings={"base_uri": "kb://manuals/"},
    )
    stated = {u for u in library.catalog.live_documents("kb") if not u.startswith("file:")}
    assert stated == {"kb://manuals/1"}
    for wrong in ("javascript:", "javascript://x/", "kb://manuals", "https://x/", "file:///", 3):
        with pytest.raises(SourceError, match="base_uri"):
            add(library, tmp_path, "other", 3, {"text": "x"}, settings={"base_uri": wrong})


@pytest.mark.parametrize("spelled", SPELLINGS)
@pytest.mark.parametrize("first", ["law", "gossip"])
def test_a_trusted_sources_address_is_its_own(library: Any, tmp_path: Path, first: str, spelled: str) -> None:
    """Whichever comes first and however it is spelled, the source that is trusted more has it; the other is counted and named."""
    told: dict[str, Any] = {
        "law": (5, {"url": LAW, "text": "a complaint is answered in a day"}),
        "gossip": (1, {"url": spelled, "text": "a complaint is never answered"}, {"url": "https://g/1", "text": "a complaint of gossip"}),
    }  # fmt: skip
    for name in (first, *(other for other in told if other != first)):
        report = add(library, tmp_path, name, *told[name])
        if name == "gossip" and first == "law":
            (why,) = report.failed.values()
            assert LAW in why
            assert "source law" in why
            assert has_han(translated(why))
    assert set(library.catalog.live_documents("law")) == {LAW}
    assert set(library.catalog.live_documents("gossip")) == {"https://g/1"}
    (reason,) = library.catalog.failures("gossip").values()
    assert "source law" in reason
    assert given_of(library, "complaint answered day never")["law"] == LAW
    library.ingest("gossip")  # again: it does not come back
    assert set(library.catalog.live_documents("gossip")) == {"https://g/1"}
    assert len(library.catalog.failures("gossip")) == 1


def test_of_equals_the_first_has_an_address(library: Any, tmp_path: Path) -> None:
    """And gives it up when its line or its source goes."""
    record = {"url": LAW, "text": "a complaint is answered"}
    add(library, tmp_path, "a", 3, record)
    report = add(library, tmp_path, "b", 3, record, {"url": "https://b/1", "text": "b"})
    assert len(report.failed) == 1
    library.remove("a")
    library.ingest("b")
    assert LAW in library.catalog.live_documents("b")
    assert not library.catalog.failures("b")


def test_a_source_elsewhere_gives_no_script_and_no_address_of_ours(library: Any, tmp_path: Path) -> None:
    """What a service says of where its hits are is not believed where it names a better source's document."""

    class Elsewhere:
        needs_vector = False

        def ask(self, _query: str, **_asked: Any) -> list[OutsideHit]:
            uris = ("javascript:alert(1)", f"{LAW}#2", "https://elsewhere.example/1")
            return [
                OutsideHit(key=str(n), uri=uri, content=f"a complaint is answered, {n * 7} times in {n}", score=0.9)
                for n, uri in enumerate(uris)
            ]

        def close(self) -> None: ...

    add(library, tmp_path, "law", 5, {"url": LAW, "text": "a complaint is answered in a day"})
    library._retriever._external._open_source = lambda _source: Elsewhere()
    library.catalog.put_source(wenyuan.Source(source_id="api", type="api", trust=1, settings={"url": "http://x"}))
    found = [p.uri for p in library.search("complaint answered").passages.values() if p.source_id == "api"]
    assert "https://elsewhere.example/1" in found
    assert sorted(uri.split(":")[:3] for uri in found if uri.startswith("urn:")) == [["urn", "wenyuan", "api"]] * 2
    assert not [uri for uri in found if is_script(uri) or uri.startswith(LAW)]


@given(st.text("htps:/urndatjvcri@#?.\\x \n\t[]1", max_size=30))
def test_what_is_stated_reads_as_it_is_written(text: str) -> None:
    """An address that is taken is taken again as itself, is no script, and holds no white space."""
    address = stated_address(text)
    assert stated_address(address) == address
    assert not is_script(address)
    assert not any(c.isspace() for c in address)
    assert not lies_under(address, "kb://x/")
