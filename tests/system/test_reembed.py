"""Another encoder for a library: made beside it while it is asked, switched to without a failure, and back."""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

import wenyuan
from catalog_parts import dropped, dsn_of, on_server, raw
from command_line import runner
from copies import copied
from http_door import ask, call
from wenyuan.catalog import Catalog
from wenyuan.catalog.backup import back_up
from wenyuan.core.errors import CatalogUnavailable, EncoderMismatch, EncoderUnavailable, InvalidRequest, VectorsGone
from wenyuan.core.model import RetrievalRequest, Source
from wenyuan.encoders.checking import HashingEncoder
from wenyuan.server.app import create_app
from wenyuan.server.running import start_in_thread
from wenyuan.service.ingest.reembedding import embed_anew

SEARCH: dict[str, Any] = {"floor": 0.0, "deadline": 30}
OLD: dict[str, Any] = {"encoder": {"kind": "hashing", "dimension": 64}, "search": SEARCH}
NEW: dict[str, Any] = {"encoder": {"kind": "hashing", "dimension": 128}, "search": SEARCH}
QUESTIONS = [f"第{n}号窗口的投诉 desk {n}" for n in range(12)]


def documents(folder: Path) -> Path:
    """Twelve documents in a folder."""
    folder.mkdir()
    for n in range(12):
        text = f"# 手册 {n}\n\n第{n}号窗口负责投诉。\n\n## Desk\n\nDesk {n} answers complaints within {n} days.\n"
        (folder / f"{n}.md").write_text(text, "utf-8")
    return folder


def changed(folder: Path) -> None:
    """Make a library with a changed and a removed document, a key and an audit in a folder, for `copied`."""
    docs = documents(folder / "docs")
    with wenyuan.open(folder / "library", create=True, **OLD) as library:
        library.add(Source(source_id="docs", path=str(docs)))
        (docs / "3.md").write_text("# 手册 3\n\n第3号窗口投诉已迁址。\n", "utf-8")
        (docs / "4.md").unlink()
        library.ingest("docs")
        library.catalog.create_key(None, frozenset({"retrieve"}), None)
        answered(library)


@pytest.fixture
def docs(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """The documents: those of `folder`, where a test has both."""
    if "folder" in request.fixturenames:
        request.getfixturevalue("folder")
        return tmp_path / "docs"
    return documents(tmp_path / "docs")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    copied(changed, tmp_path)
    return tmp_path / "library"


def answered(library: wenyuan.Library) -> list[list[tuple[str, str, Any]]]:
    """Words, address and score of what is found; the last digit of a cosine hangs on where its rows lie in memory."""
    answers = [library.retrieve_fragments(RetrievalRequest(query=q, max_results=5)) for q in QUESTIONS]
    assert all(answer.status == "SUCCESS" and answer.fragments for answer in answers)
    return [
        [(f.content, f.source, pytest.approx(f.metadata["scores"]["raw"], abs=5e-6)) for f in a.fragments]
        for a in answers
    ]


def embedded(folder: Path, **more: Any) -> None:
    """As the command does it."""
    encoder = HashingEncoder(NEW["encoder"]["dimension"])
    catalog = Catalog.open(folder)
    try:
        known = catalog.encoder()
        embed_anew(catalog, encoder, "" if known is None else known.key, **more)
    finally:
        catalog.close()


def command(*args: object, **env: str) -> dict[str, Any]:
    """The command line in this process; what it says as JSON."""
    found: dict[str, Any] = json.loads(runner(Path(), **env)(*args, "--json").stdout)
    return found


def elsewhere(*args: object, **env: str) -> dict[str, Any]:
    """The command line as a process of its own; what it says as JSON."""
    world = {
        **os.environ,
        "PYTHONPATH": str(Path(wenyuan.__file__).parents[1]),
        "WENYUAN_SEARCH__DEADLINE": "60",
        **env,
    }
    done = subprocess.run(
        [sys.executable, "-m", "wenyuan.cli", *map(str, args), "--json"],
        env=world, capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, (done.stdout, done.stderr)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def dimension(of: dict[str, Any]) -> dict[str, str]:
    return {"WENYUAN_ENCODER__KIND": "hashing", "WENYUAN_ENCODER__DIMENSION": str(of["encoder"]["dimension"])}


def test_answers_are_those_of_a_library_made_with_the_new_encoder(folder: Path, docs: Path, tmp_path: Path) -> None:
    """Nothing of the old vectors is left in scores, floors or the index; documents need not be read again."""
    with wenyuan.open(tmp_path / "fresh", create=True, **NEW) as fresh:
        fresh.add(Source(source_id="docs", path=str(docs)))
        wanted = answered(fresh)
    with wenyuan.open(folder, **OLD) as library:
        assert answered(library) != wanted
        counts, seq = library.catalog.counts(), library.catalog.seq()
    embedded(folder)
    with wenyuan.open(folder, **NEW) as library:
        library.follow_reembedding()
        assert answered(library) == wanted
        assert (library.catalog.counts(), library.catalog.seq()) == (counts, seq)
        report = library.ingest("docs")
        assert (report.unchanged, report.changed, report.embedded) == (11, 0, 0)
        assert library.audit.verify().ok
        with raw(library.catalog) as connection:
            sizes = connection.execute("SELECT DISTINCT length(vector) FROM vectors").fetchall()
        assert sizes == [(4 * NEW["encoder"]["dimension"],)]


def test_the_old_encoder_is_refused_afterwards_and_may_come_back(docs: Path, tmp_path: Path) -> None:
    """The settings must name what made the vectors; with the old encoder again, answers are the old ones."""
    folder = tmp_path / "library"
    with wenyuan.open(folder, create=True, **OLD) as library:
        library.add(Source(source_id="docs", path=str(docs)))
        before = answered(library)
    command("--library", folder, "reembed", **dimension(NEW))
    with pytest.raises(EncoderMismatch, match="64"):
        wenyuan.open(folder, **OLD)
    done = command("--library", folder, "reembed", **dimension(OLD))
    assert (done["dimension"], done["vectors"], done["changed"]) == (64, done["passages"], True)
    with wenyuan.open(folder, **OLD) as library:
        assert answered(library) == before
    assert not command("--library", folder, "reembed", **dimension(OLD))["changed"]


def test_a_library_without_vectors_is_given_some(docs: Path, tmp_path: Path) -> None:
    """One that was made without an encoder finds by meaning afterwards."""
    none: dict[str, Any] = {"encoder": {"kind": "none"}, "search": SEARCH}
    with wenyuan.open(tmp_path / "library", create=True, **none) as library:
        library.add(Source(source_id="docs", path=str(docs)))
    embedded(tmp_path / "library")
    with wenyuan.open(tmp_path / "library", **NEW) as library, wenyuan.open(tmp_path / "x", create=True, **NEW) as x:
        library.follow_reembedding()
        x.add(Source(source_id="docs", path=str(docs)))
        assert answered(library) == answered(x)
        assert library.ingest("docs").unchanged == 12


class Tired(HashingEncoder):
    """Breaks after some batches, and keeps what it embedded."""

    def __init__(self, batches: int) -> None:
        super().__init__(NEW["encoder"]["dimension"])
        self.left = batches
        self.embedded: set[str] = set()

    def encode_passages(self, texts: Sequence[str], *, progress: Callable[[int], None] | None = None) -> Any:
        if not self.left:
            raise EncoderUnavailable("out of breath", component="encoder")
        self.left -= 1
        self.embedded.update(texts)
        return super().encode_passages(texts, progress=progress)


def test_what_was_broken_off_changes_nothing_and_is_gone_on_with(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Until all is embedded the library is the old one; what was embedded is not embedded again."""
    monkeypatch.setattr("wenyuan.service.ingest.reembedding._AT_ONCE", 5)
    with wenyuan.open(folder, **OLD) as library:
        before = answered(library)
    catalog = Catalog.open(folder)
    former = catalog.encoder()
    assert former is not None
    tired = Tired(2)
    with pytest.raises(EncoderUnavailable):
        embed_anew(catalog, tired, former.key)
    with wenyuan.open(folder, **OLD) as library:
        assert answered(library) == before
    rested = Tired(100)
    told: list[tuple[int, int]] = []
    done = embed_anew(catalog, rested, former.key, lambda *at: told.append(at))
    total = catalog.counts()["passages"]
    assert done == total - 5  # the first batch was embedded, and its labels
    assert tired.embedded and rested.embedded and not tired.embedded & rested.embedded
    assert told[-1] == (total, total)
    catalog.close()
    with wenyuan.open(folder, **NEW) as library:
        library.follow_reembedding()
        assert answered(library)


def test_doctor_says_what_was_not_finished(folder: Path) -> None:
    """After the change of encoders, and before the rest followed, ``wenyuan reembed`` is what mends it."""
    embedded(folder)

    def floor() -> tuple[str, str]:
        (found,) = (
            c for c in command("--library", folder, "doctor", **dimension(NEW))["checks"] if c["name"] == "floor"
        )
        return found["state"], found["next"]

    assert floor() == ("warn", "wenyuan reembed")
    command("--library", folder, "reembed", **dimension(NEW))
    assert floor() == ("ok", "")


def test_labels_that_a_former_version_did_not_embed_are_made_alone(folder: Path) -> None:
    """The doctor asks for them; the command makes them, embeds no passage, and has nothing to do the next time."""
    with wenyuan.open(folder, **OLD) as library, raw(library.catalog) as connection:
        connection.execute("UPDATE passages SET label_key = NULL")

    def remarks() -> list[tuple[str, str]]:
        checks = command("--library", folder, "doctor", **dimension(OLD))["checks"]
        return [(check["state"], check["next"]) for check in checks if check["name"] == "labels"]

    assert remarks() == [("warn", "wenyuan reembed")]
    for _ in range(2):
        told = command("--library", folder, "reembed", **dimension(OLD))
        assert (told["embedded"], told["changed"]) == (0, False)
        assert remarks() == []


class Disturbed:
    """A catalog to which somebody adds a document just before the encoder is changed."""

    def __init__(self, catalog: Catalog, add: Callable[[], object]) -> None:
        self._catalog, self._add = catalog, add

    def __getattr__(self, name: str) -> Any:
        if name == "change_encoder":
            self._add()
        return getattr(self._catalog, name)


def test_passages_that_come_meanwhile_are_not_left_without_a_vector(folder: Path, docs: Path) -> None:
    """The change is refused as a whole, and succeeds when it is tried again."""
    encoder = HashingEncoder(128)
    with wenyuan.open(folder, **OLD) as library:

        def add() -> None:
            (docs / "new.md").write_text("# 手册\n\n新窗口。\n", "utf-8")
            library.ingest("docs")

        former = library.encoder.fingerprint.key
        with pytest.raises(VectorsGone, match="1 passages"):
            embed_anew(Disturbed(library.catalog, add), encoder, former)
        assert answered(library)
        assert embed_anew(library.catalog, encoder, former) == 1
    with wenyuan.open(folder, **NEW) as library:
        library.follow_reembedding()
        assert library.readiness().ready


class Asking:
    """Somebody who asks thirty times a second, at an address that can be changed."""

    def __init__(self, url: str) -> None:
        self.url, self.told = url, Counter[tuple[str, str, bool]]()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def _run(self) -> None:
        for question in itertools.cycle(QUESTIONS):
            if self._stop.wait(0.03):
                return
            url = self.url
            answer = ask(url, question).json
            self.told[url, answer.get("status", str(answer)), bool(answer.get("fragments"))] += 1

    def __enter__(self) -> Asking:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def until(self, url: str, more: int) -> None:
        """Wait until so many more answers came from an address."""
        wanted = self.told[url, "SUCCESS", True] + more
        end = time.monotonic() + 120
        while self.told[url, "SUCCESS", True] < wanted:
            assert time.monotonic() < end, self.told
            time.sleep(0.02)


@pytest.fixture
def serving() -> Iterator[Callable[..., str]]:
    """Starts servers; gives their addresses."""
    stops: list[Callable[[], None]] = []

    def start(folder: Path, settings: dict[str, Any]) -> str:
        library = wenyuan.open(folder, **settings)
        url, stop = start_in_thread(create_app(library))
        stops.extend([library.close, stop])
        return url

    yield start
    for stop in reversed(stops):
        stop()


@pytest.mark.integration
def test_nobody_who_asks_meets_a_failure(folder: Path, docs: Path, serving: Callable[..., str]) -> None:
    """Built beside by other processes, caught up, switched to in one step, and back: every answer is a SUCCESS."""
    new, beside = folder.with_name("new"), ["--library", folder.with_name("new")]
    first = serving(folder, OLD)
    with Asking(first) as asking:
        asking.until(first, 12)
        elsewhere("--library", folder, "backup", new)
        elsewhere(*beside, "doctor", "--new-id", **dimension(OLD))
        done = elsewhere(*beside, "reembed", **dimension(NEW))
        assert done["vectors"] == done["passages"] == done["embedded"] > 12
        (docs / "late.md").write_text("# 手册 40\n\n第40号窗口负责投诉。desk 40\n", "utf-8")
        report = elsewhere(*beside, "ingest", "--all", **dimension(NEW))
        assert report["reports"][0]["added"] == 1
        assert report["reports"][0]["unchanged"] == 11
        second = serving(new, NEW)
        assert call(second, "GET", "/readyz", None).status == 200
        asking.url = second
        asking.until(second, 24)
        asking.url = first
        asking.until(first, 24)
    assert {(status, found) for _, status, found in asking.told} == {("SUCCESS", True)}
    for lies, settings in ((folder, OLD), (new, NEW)):
        with wenyuan.open(lies, **settings) as library:
            assert library.audit.verify().ok


@pytest.mark.integration
def test_on_postgresql(database: str, docs: Path, tmp_path: Path) -> None:
    """The same where the catalog and the index lie on a server; a copy of that is for the server to make."""
    server = on_server(database, tmp_path / "library")
    place = {"catalog": {"dsn": dsn_of(server), "schema_name": server.schema}, "engine": "postgres"}
    try:
        with wenyuan.open(tmp_path / "library", create=True, **OLD, **place) as library:
            library.add(Source(source_id="docs", path=str(docs)))
        catalog = Catalog.open(server)
        former = catalog.encoder()
        assert former is not None
        embed_anew(catalog, HashingEncoder(128), former.key)
        with (
            wenyuan.open(tmp_path / "library", **NEW, **place) as library,
            wenyuan.open(tmp_path / "fresh", create=True, **NEW) as fresh,
        ):
            library.follow_reembedding()
            fresh.add(Source(source_id="docs", path=str(docs)))
            found, wanted = answered(library), answered(fresh)
            assert [[one[:2] for one in some] for some in found] == [[one[:2] for one in some] for some in wanted]
            assert library.ingest("docs").unchanged == 12
        (tmp_path / "library" / "wenyuan.toml").write_text(
            f'[catalog]\ndsn = "{dsn_of(server)}"\nschema_name = "{server.schema}"\n'.replace("\\", "\\\\"), "utf-8"
        )
        with pytest.raises(InvalidRequest, match="PostgreSQL") as refused:
            back_up(tmp_path / "library", tmp_path / "copy")
        assert "owner-0815" not in str(refused.value)
    finally:
        dropped(server)


def test_a_backup_is_whole_while_the_library_is_written_and_asked(folder: Path, docs: Path, tmp_path: Path) -> None:
    """Each copy opens, its audit verifies, its answers are those of a moment of the original, its keys count."""
    stop = threading.Event()
    with wenyuan.open(folder, **OLD) as library:
        key, token = library.catalog.create_key(None, frozenset({"retrieve"}), None)

        def change() -> None:
            for n in range(1_000):
                if stop.is_set():
                    return
                (docs / "moving.md").write_text(f"# 手册 50\n\n第50号窗口第{n}版。\n", "utf-8")
                library.ingest("docs")
                answered(library)

        writer = threading.Thread(target=change)
        writer.start()
        try:
            for n in range(5):
                back_up(folder, tmp_path / f"copy {n}")
        finally:
            stop.set()
            writer.join()
    for n in range(5):
        copy = tmp_path / f"copy {n}"
        assert not (copy / "index").exists()
        assert {file.stat().st_mode & 0o077 for file in copy.iterdir()} == {0}
        with wenyuan.open(copy, **OLD) as library:
            assert library.audit.verify().ok
            assert library.readiness().ready
            assert library.catalog.key_of_token(token) == key
            assert answered(library)
            assert library.catalog.elsewhere()
            last = library.audit.list(kind="retrieval", limit=1)[0]
            assert last.record["generation"] <= library.catalog.seq()


def test_a_backup_goes_where_nothing_is(folder: Path, tmp_path: Path) -> None:
    """What is there already is not touched; what was broken off is begun anew; a folder without a library is none."""
    taken = tmp_path / "taken"
    taken.mkdir()
    (taken / "mine").write_text("x", "utf-8")
    with pytest.raises(InvalidRequest, match="there already"):
        back_up(folder, taken)
    assert [file.name for file in taken.iterdir()] == ["mine"]
    (tmp_path / "copy.partial").mkdir()
    (tmp_path / "copy.partial" / "catalog.db").write_text("half of one", "utf-8")
    size = back_up(folder, tmp_path / "copy")
    assert size == sum(file.stat().st_size for file in (tmp_path / "copy").iterdir())
    assert not (tmp_path / "copy.partial").exists()
    with pytest.raises(CatalogUnavailable, match="no library"):
        back_up(tmp_path / "nowhere", tmp_path / "copy 2")


@pytest.mark.parametrize("file", ["catalog.db", "audit.db"])
@pytest.mark.parametrize("how", ["emptied", "removed"])
def test_what_is_lost_is_not_backed_up(folder: Path, tmp_path: Path, file: str, how: str) -> None:
    """A library whose catalog or audit was cut to nothing is not copied as if it were whole: nothing is where it was to go."""
    (folder / file).unlink()
    if how == "emptied":
        (folder / file).touch()
    with pytest.raises(CatalogUnavailable, match=r"was emptied|no library|removed or replaced|catalog.db is missing"):
        back_up(folder, tmp_path / "copy")
    assert not (tmp_path / "copy").exists()
    assert (folder / file).exists() == (how == "emptied")
