"""A document decides what the name of its file shows: a value that it holds stands in clear in none of its places."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

import pytest
from dulwich import porcelain
from typer.testing import CliRunner

import wenyuan
from catalog_parts import dropped, dsn_of, on_server
from console_door import served
from governed_door import key, send
from web_site import html, web_site
from wenyuan.cli.root import app
from wenyuan.core.principals import Sight, parse_access_list, reading_as
from wenyuan.core.redaction.policy import LEVELS
from wenyuan.service.ingest.corrections import CorrectionRequest
from wenyuan.service.uploads import Given

CHINESE, ENGLISH = "柳三变", "Li Ming"
JOINED = "Li_Ming"
"""As it is found in a file's name only where the document says whose it is."""
TEXTS = {
    f"{CHINESE}离职.md": f"# 离职证明\n\n姓名：{CHINESE}\n\n兹证明其已办妥交接手续。\n",
    f"{JOINED} resignation.md": f"# Resignation\n\nEmployee: {ENGLISH}\n\nThe handover is complete.\n",
}
OTHER = "# Parking\n\nCars stand behind the gate on weekdays.\n"


@pytest.fixture(params=["folder", pytest.param("server", marks=pytest.mark.integration)])
def library(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Any]:
    """A library in a folder, and one whose catalog is on PostgreSQL."""
    options: dict[str, Any] = {"encoder": {"kind": "none"}}
    if request.param == "folder":
        with wenyuan.open(tmp_path / "library", create=True, **options) as made:
            yield made
        return
    server = on_server(request.getfixturevalue("database"), tmp_path / "library")
    options["catalog"] = {"dsn": dsn_of(server), "schema_name": server.schema}
    try:
        with wenyuan.open(tmp_path / "library", create=True, **options) as made:
            yield made
    finally:
        dropped(server)


def written(folder: Path, texts: dict[str, str]) -> Path:
    for name, text in texts.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def live(library: Any, source: str = "s") -> dict[str, int]:
    return {uri: number for uri, (number, _) in library.catalog.live_documents(source).items()}


def forms(name: str) -> list[bytes]:
    """A name as text, in an address and in JSON have it."""
    words = (name, quote(name), name.replace(" ", "+"), name.replace(" ", "_"), json.dumps(name)[1:-1])
    return [word.encode() for word in words]


def shows(content: bytes | str) -> list[str]:
    """The names that stand in something."""
    told = content.encode() if isinstance(content, str) else content
    return [name for name in (CHINESE, ENGLISH) if any(form in told for form in forms(name))]


def stored(folder: Path) -> dict[str, list[str]]:
    """The files of a library, without the uploads themselves, in which a name stands."""
    files = [one for one in folder.rglob("*") if one.is_file() and "uploads" not in one.relative_to(folder).parts]
    found = {one.name: shows(one.read_bytes()) for one in files}
    return {name: names for name, names in found.items() if names}


@pytest.mark.parametrize("level", ["confidential", "restricted"])
def test_of_a_folder(library: Any, tmp_path: Path, level: str) -> None:
    """Neither address nor title shows it, the file is given all the same, and a second reading reads nothing."""
    docs = written(tmp_path / "docs", TEXTS | {"parking.md": OTHER})
    report = library.add(wenyuan.Source(source_id="s", path=str(docs), sensitivity=level))
    assert (report.added, report.failed) == (3, {})
    assert shows(repr(library.documents())) == []
    assert [uri for uri in live(library) if uri.endswith("/parking.md")]
    given = {library.original(number).content.decode() for number in live(library).values()}
    assert given == {*TEXTS.values(), OTHER}
    before = live(library)
    again = library.ingest("s")
    assert (again.unchanged, again.added, again.changed, again.retired) == (3, 0, 0, 0)
    assert live(library) == before


@pytest.mark.parametrize("level", LEVELS)
def test_nothing_is_taken_out_that_the_source_keeps(library: Any, tmp_path: Path, level: str) -> None:
    """Where names of persons may be shown, file names show them; after a change to more they do not, and the reverse."""
    docs = written(tmp_path / "docs", TEXTS)
    for now in (level, "restricted", level):
        library.catalog.put_source(wenyuan.Source(source_id="s", path=str(docs), sensitivity=now))
        library.ingest("s")
        masked = now in ("confidential", "restricted")
        assert shows(" ".join(live(library))) == ([] if masked else [CHINESE, ENGLISH])
        assert len(live(library)) == 2


def test_nothing_of_it_is_in_the_files_of_the_library(tmp_path: Path) -> None:
    """Not in the catalog, the audit, the index, nor in a file beside them."""
    docs = written(tmp_path / "docs", TEXTS)
    with wenyuan.open(tmp_path / "library", create=True, encoder={"kind": "none"}) as library:
        library.add(wenyuan.Source(source_id="s", path=str(docs), sensitivity="confidential"))
        library.catalog.put_source(wenyuan.Source(source_id="up", sensitivity="restricted"))
        for name, text in TEXTS.items():
            came = written(tmp_path, {f"came-{name}": text}) / f"came-{name}"
            library.upload("up", [Given(name=name, path=came)])
        library.search("handover complete")
    assert stored(tmp_path / "library") == {}


@pytest.mark.parametrize(
    "name",
    [
        "Li_Ming_CV.md", "ming.li.md", "LiMing2024.md", "CV-Ming-Li.md", "CV (Li  Ming).md", "LI MING.md", "Li Ming/cv.md",
        "2024/liming/cv.md", "高明的离职.md", "高 明.md", "简历_高明_终稿.md", "E12345678.md", "passport E 1234-5678.md",
    ],
)  # fmt: skip
def test_however_a_name_joins_it(library: Any, tmp_path: Path, name: str) -> None:
    """With any sign between its parts, in the other order, beside other characters, in a folder."""
    text = "# Form\n\nEmployee: Li Ming\n\n姓名：高明\n\nPassport no.: E12345678\n"
    docs = written(tmp_path / "docs", {name: text})
    library.add(wenyuan.Source(source_id="s", path=str(docs), sensitivity="restricted"))
    [shown] = live(library)
    [document] = library.documents()
    for told in (unquote(shown.rpartition("/docs/")[2]), document.title):
        assert not [word for word in ("ming", "高", "明", "1234") if word in told.casefold()], told


@pytest.mark.parametrize(
    "name", ["Swimming.md", "limingling.md", "climing.md", "E123456789.md", "report-2024.md", "高速公路.md"]
)
def test_what_is_another_word_stays(library: Any, tmp_path: Path, name: str) -> None:
    """A value is not found within a longer word or number."""
    text = "# Form\n\nEmployee: Li Ming\n\n姓名：高明\n\nPassport no.: E12345678\n"
    docs = written(tmp_path / "docs", {name: text})
    library.add(wenyuan.Source(source_id="s", path=str(docs), sensitivity="restricted"))
    [shown] = live(library)
    assert unquote(shown).endswith(f"/{name}")


def test_the_folder_of_the_source_keeps_its_name(library: Any, tmp_path: Path) -> None:
    """It stands in the registry anyway, and addresses below it can be opened."""
    docs = written(tmp_path / "liming", {"a.md": "# Form\n\nEmployee: Li Ming\n"})
    library.add(wenyuan.Source(source_id="s", path=str(docs), sensitivity="restricted"))
    assert [*live(library)] == [f"{docs.as_uri()}/a.md"]


def test_parts_of_a_file_share_what_one_of_them_says(library: Any, tmp_path: Path) -> None:
    """Of an archive, whose own name is in the facets of each entry, too; of a workbook's sheets; of a file of lines."""
    docs = tmp_path / "docs"
    docs.mkdir()
    with zipfile.ZipFile(docs / f"{ENGLISH}.zip", "w") as packed:
        packed.writestr("a.md", OTHER)
        packed.writestr(f"{CHINESE}.md", OTHER)
        packed.writestr("b.md", f"# Form\n\nEmployee: {ENGLISH}\n\n姓名：{CHINESE}\n")
    lines = [{"text": "Cars stand behind the gate."}, {"text": f"Employee: {ENGLISH}"}]
    (docs / f"{ENGLISH}.jsonl").write_text("".join(json.dumps(one) + "\n" for one in lines), "utf-8")
    report = library.add(wenyuan.Source(source_id="s", path=str(docs), sensitivity="confidential"))
    assert (report.added, report.failed) == (5, {})
    assert shows(" ".join(live(library))) == []
    assert shows(repr([library.document(number) for number in live(library).values()])) == []
    assert library.ingest("s").unchanged == 5


def test_two_files_that_name_one_person_alike_are_two_documents(library: Any, tmp_path: Path) -> None:
    """What comes second has a mark; each gives its own file."""
    texts = {name: f"# Form {name[-4]}\n\nEmployee: Li Ming\n" for name in ("Li Ming.md", "Li_Ming.md", "LI MING.md")}
    docs = written(tmp_path / "docs", texts)
    library.add(wenyuan.Source(source_id="s", path=str(docs), sensitivity="restricted"))
    assert len(live(library)) == 3
    assert {library.original(number).content.decode() for number in live(library).values()} == {*texts.values()}


def test_a_file_that_comes_to_name_somebody_gets_another_address(tmp_path: Path) -> None:
    """Its corrections and readers follow, and what was stored under the former address is erased."""
    name = f"{JOINED} resignation.md"
    docs = written(
        tmp_path / "docs", {name: "# Draft\n\nAlpha text.\n\n## Kept\n\nBeta text of it.\n", "b.md": OTHER}
    )
    with wenyuan.open(tmp_path / "library", create=True, encoder={"kind": "none"}) as library:
        library.add(wenyuan.Source(source_id="s", path=str(docs), sensitivity="restricted"))
        assert shows(" ".join(live(library))) == [ENGLISH]
        [passage] = [number for number, one in library.search("beta").passages.items() if "Beta" in one.text]
        library.correction_desk.correct(CorrectionRequest(action="exclude", ref=f"s#{passage}"))
        written(docs, {name: f"# Draft\n\nEmployee: {ENGLISH}\n\n## Kept\n\nBeta text of it.\n"})
        report = library.ingest("s")
        assert (report.added, report.retired, report.unchanged) == (1, 1, 1)
        assert not [one for one in library.search("beta").passages.values() if "Beta" in one.text]
        # Whoever it was, a later version without the name does not show it again.
        written(docs, {name: "# Draft\n\nGamma text.\n\n## Kept\n\nBeta text of it.\n"})
        report = library.ingest("s")
        assert (report.changed, report.retired) == (1, 0)
        assert shows(" ".join(live(library))) == []
    found = stored(tmp_path / "library")
    assert {*found} <= {"audit.db", "audit.db-wal"}  # what was recorded before is not rewritten


def test_uploads_and_their_earlier_versions(tmp_path: Path) -> None:
    """All versions of a file have its name, and one supersedes the other, whichever of them says who it is."""
    name = f"{JOINED} resignation.md"
    plain, telling = "# Draft\n\nAlpha text.\n", f"# Draft\n\nEmployee: {ENGLISH}\n"
    options: dict[str, Any] = {"encoder": {"kind": "none"}}
    for place, texts in (("a", (plain, telling)), ("b", (telling, plain))):
        with wenyuan.open(tmp_path / place, create=True, **options) as library:
            library.catalog.put_source(wenyuan.Source(source_id="s", sensitivity="restricted"))
            for count, text in enumerate(texts):
                came = written(tmp_path, {f"{place}{count}": text}) / f"{place}{count}"
                [one] = library.upload("s", [Given(name=name, path=came)]).files
                assert one.state == ("changed" if count else "added"), one
            assert shows(" ".join(live(library))) == []
            assert len(live(library)) == 2
            history = library.document_history(one.documents[0])
            assert len(history["versions"]) == 2
            assert shows(repr(history)) == []
            assert sorted(one["state"] for one in library.list_documents().documents) == ["live", "superseded"]
            library.delete_document(one.documents[0])
            assert live(library) == {}


def test_a_lost_upload_is_still_known_by_its_address(tmp_path: Path) -> None:
    """A file whose address has changed by what it says is not taken for lost, and one that is gone is."""
    name = f"{JOINED} resignation.md"
    with wenyuan.open(tmp_path / "library", create=True, encoder={"kind": "none"}) as library:
        library.catalog.put_source(wenyuan.Source(source_id="s", sensitivity="restricted"))
        came = written(tmp_path, {"came": "# Draft\n\nAlpha text.\n"}) / "came"
        library.upload("s", [Given(name=name, path=came)])
        file = tmp_path / "library" / "uploads" / "s" / name
        file.write_text(TEXTS[name], "utf-8")
        report = library.ingest("s")
        assert (report.failed, report.held_back, report.retired) == ({}, 0, 1)
        assert shows(" ".join(live(library))) == []
        file.rename(tmp_path / "away.md")
        written(file.parent, {"other.md": OTHER})
        report = library.ingest("s")
        assert (len(report.failed), report.held_back) == (1, 1)
        assert shows(repr(report)) == []


def test_a_replacement_that_names_somebody(tmp_path: Path) -> None:
    """Of a document by its number: the answer, the audit and the list show the name of the file as it is now."""
    name = f"{JOINED} resignation.md"
    with wenyuan.open(tmp_path / "library", create=True, encoder={"kind": "none"}) as library:
        library.catalog.put_source(wenyuan.Source(source_id="s", sensitivity="restricted"))
        came = written(tmp_path, {"came": "# Draft\n\nAlpha text.\n", "next": TEXTS[name]})
        [one] = library.upload("s", [Given(name=name, path=came / "came")]).files
        [new] = library.replace_document(one.documents[0], Given(name="other.md", path=came / "next")).files
        assert new.state == "changed"
        assert shows(" ".join(live(library))) == []
        assert library.original(new.documents[0]).content.decode() == TEXTS[name]


def test_of_a_web_site_and_a_repository(library: Any, tmp_path: Path) -> None:
    """Their listings, which are remembered by address and title, do not keep what a document says is a name."""
    work = written(tmp_path / "work", {f"docs/{CHINESE}.md": TEXTS[f"{CHINESE}离职.md"], "docs/b.md": OTHER})
    with closing(porcelain.init(str(work))) as repo:
        porcelain.add(repo, [str(one) for one in work.rglob("*.md")])
        porcelain.commit(repo, message=b"a change", author=b"A <a@example.com>", committer=b"A <a@example.com>")
    porcelain.clone(str(work), str(tmp_path / "bare.git"), bare=True).close()
    with web_site() as site:
        site.put("/", html("Start", "Where all begins, in a few words.", "/people/li-ming", "/parking"))
        site.put("/people/li-ming", html("Resignation", "Employee: Li Ming has left the company in March."))
        site.put("/parking", html("Parking", "Cars stand behind the gate on weekdays."))
        sources = [
            wenyuan.Source(
                source_id="web", path=f"{site.url}/", sensitivity="restricted", settings={"allow_private": True}
            ),
            wenyuan.Source(source_id="git", path=f"git+file://{tmp_path}/bare.git", sensitivity="restricted"),
        ]
        for source in sources:
            for _ in range(2):
                report = library.add(source)
                assert (report.failed, report.retired) == ({}, 0)
            told = repr([library.catalog.listed(source.source_id), live(library, source.source_id)])
            assert "li-ming" not in told
            assert shows(told) == []
            assert len(live(library, source.source_id)) == (3 if source.source_id == "web" else 2)


def test_at_every_door(tmp_path: Path) -> None:
    """Search, lists, records, exports, console and command line show the name in no answer."""
    docs = written(tmp_path / "docs", TEXTS)
    folder = tmp_path / "library"
    with wenyuan.open(folder, create=True, encoder={"kind": "none"}) as library:
        library.add(wenyuan.Source(source_id="s", path=str(docs), sensitivity="confidential"))
        numbers = [*live(library).values()]
        with served(library, needs_keys=True) as url:
            token = key(library, "search", "registry", "ingest", "audit", "admin")
            paths = ["/v1/documents", "/v1/sources", "/v1/sources/s", "/v1/audit?limit=50", "/v1/status", "/v1/gaps"]
            paths += [
                f"/v1/documents/{one}{end}" for one in numbers for end in ("", "/content", "/history", "/passages")
            ]
            answers = [send(url, "GET", path, None, token) for path in paths]
            answers.append(send(url, "POST", "/v1/search", {"query": "handover complete 交接手续"}, token))
            answers.append(send(url, "POST", "/v1/context", {"query": "交接手续"}, token))
            assert sum(answer.status == 200 for answer in answers) >= 10
            assert [answer.body[:80] for answer in answers if shows(answer.body)] == []
    world = {"WENYUAN_ENCODER__KIND": "none", "WENYUAN_LIBRARY": str(folder), "LC_ALL": "C.UTF-8"}
    for words in (
        ["document", "list"], ["document", "list", "--json"], ["search", "交接手续"], ["search", "handover", "--json"],
        ["source", "show", "s"], ["audit", "list"], ["doctor"], ["status"], ["document", "show", str(numbers[0])],
    ):  # fmt: skip
        done = CliRunner().invoke(app, words, env=world, prog_name="wenyuan")
        assert shows(done.output) == [], words


def eyes(library: Any, *names: str) -> list[str]:
    """The titles of what somebody may see."""
    with reading_as(Sight((frozenset(names),), "-".join(names))):
        return [one.title for one in library.documents()]


@pytest.mark.parametrize("later", ["text", "level"])
def test_who_may_read_a_document_follows_its_address(library: Any, tmp_path: Path, later: str) -> None:
    """A list that was given to it by name counts when what it says, or a stricter source, gives it another address."""
    name = f"{JOINED} resignation.md"
    docs = written(tmp_path / "docs", {name: "# Draft\n\nAlpha text.\n" if later == "text" else TEXTS[name]})
    level = "restricted" if later == "text" else "internal"
    library.catalog.put_source(wenyuan.Source(source_id="s", path=str(docs), sensitivity=level))
    library.ingest("s")
    [number] = live(library).values()
    library.set_readers(number, {"readers": ["group:hr"]})
    assert (len(eyes(library, "group:hr")), eyes(library, "user:b")) == (1, [])
    written(docs, {name: TEXTS[name]})
    library.catalog.put_source(wenyuan.Source(source_id="s", path=str(docs), sensitivity="restricted"))
    library.ingest("s")
    assert shows(" ".join(live(library))) == []
    assert (len(eyes(library, "group:hr")), eyes(library, "user:b")) == (1, [])


def test_patterns_of_readers_count_for_the_true_name(library: Any, tmp_path: Path) -> None:
    """Also where the catalog stores another one, at each reading, whether the file was read again or not."""
    name = f"{JOINED} resignation.md"
    docs = written(tmp_path / "docs", {name: TEXTS[name], "b.md": OTHER})
    readers = {"documents": [{"path": f"{JOINED}*", "readers": ["group:hr"]}]}
    source = wenyuan.Source(source_id="s", path=str(docs), sensitivity="restricted", settings={"readers": readers})
    library.add(source)
    for _ in range(2):
        assert (len(eyes(library, "group:hr")), len(eyes(library, "user:b"))) == (2, 1)
        library.ingest("s")


def test_readers_that_come_with_an_upload(tmp_path: Path) -> None:
    """They stand for the document under the address that it is stored under, and nowhere else."""
    name = f"{JOINED} resignation.md"
    with wenyuan.open(tmp_path / "library", create=True, encoder={"kind": "none"}) as library:
        library.catalog.put_source(wenyuan.Source(source_id="s", sensitivity="restricted"))
        came = written(tmp_path, {"came": TEXTS[name]}) / "came"
        library.upload("s", [Given(name=name, path=came, access=parse_access_list({"readers": ["group:hr"]}))])
        for _ in range(2):
            assert (len(eyes(library, "group:hr")), eyes(library, "user:b")) == (1, [])
            library.ingest("s")
    assert stored(tmp_path / "library") == {}
