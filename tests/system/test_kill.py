"""kill -9 at any moment: nothing that was acknowledged is lost, nothing is half there, and a new run ends it.

A kill leaves what the system has been given to write; that a power loss leaves it too is what SQLite promises with
``synchronous=FULL``, which `test_catalog` asserts.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any

import pytest

import wenyuan
from patience import HANGS
from wenyuan.core.addresses import file_uri
from wenyuan.core.filters import Scope
from wenyuan.core.ports import Deadline
from wenyuan.core.text.analysis import query_terms
from wenyuan.core.text.chunking import chunk
from wenyuan.readers.sandbox import Sandbox

pytestmark = [pytest.mark.slow, pytest.mark.integration]

DOCUMENTS = 36
REOPEN_SECONDS = 2.0


@dataclass
class Killer:
    """The forking helper process."""

    process: subprocess.Popen[str]

    def __call__(self, do: str, shelf: Shelf, *, after: float | None = None, die_at: int | None = None) -> Any:
        acks = shelf.root / "acks"
        acks.unlink(missing_ok=True)
        command = {"do": do, "folder": str(shelf.folder), "docs": str(shelf.docs), "acks": str(acks)}
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        print(json.dumps(command | {"after": after, "die_at": die_at}), file=self.process.stdin, flush=True)
        answer = json.loads(self.process.stdout.readline())
        assert not answer["failed"], "the child raised; see its standard error"
        shelf.acks = dict(reversed(line.split()) for line in acks.read_text().splitlines()) if acks.exists() else {}
        return answer


@pytest.fixture(scope="module")
def killer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Killer]:
    folder = tmp_path_factory.mktemp("first")  # so that no import counts as time to reopen a library
    wenyuan.open(folder, create=True, encoder={"kind": "hashing"}).close()
    arguments = [sys.executable, str(Path(__file__).parents[1] / "support" / "kill_child.py")]
    with subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield Killer(process)
        assert process.stdin is not None
        process.stdin.close()


def word(number: int, version: int) -> str:
    """A term that one version of one document has; consonants, so that no stemmer touches it."""
    letters = "".join("bcdfghjklm"[int(digit)] for digit in f"{number:03}{version:03}")
    return f"z{letters[:3]}w{letters[3:]}x"


@dataclass
class Shelf:
    """A library, the folder that it reads, and what is known of both."""

    root: Path
    random: random.Random
    disk: dict[int, int] = field(default_factory=dict)  # document → version on disk
    live: dict[int, int] = field(default_factory=dict)  # document → version in the library, as last checked
    acks: dict[str, str] = field(default_factory=dict)  # URI → put or gone, in the last run
    versions: dict[int, int] = field(default_factory=dict)  # document → its newest version ever
    texts: dict[tuple[int, int], list[str]] = field(default_factory=dict)  # what passages each version has

    def __post_init__(self) -> None:
        self.folder, self.docs = self.root / "library", self.root / "docs"
        self.docs.mkdir(parents=True)

    def path(self, number: int) -> Path:
        return self.docs / f"policy-{number:03}.md"

    def write(self, number: int) -> None:
        version = self.versions[number] = self.versions.get(number, -1) + 1
        own = word(number, version)
        sections = [
            f"## 第{i}节 Section {i}\n\n客户投诉需在 {i} 小时内响应，编号 {own}。"
            + f"The clause {own} number {i}. " * 12
            for i in range(1 + number % 5)
        ]
        self.path(number).write_text(f"# Policy {number} {own}\n\n" + "\n\n".join(sections), encoding="utf-8")
        self.disk[number] = version
        uri = file_uri(self.path(number))
        (document,) = Sandbox().read_file(self.path(number), uri=uri).documents
        self.texts[number, version] = [document.text[d.start : d.end] for d in chunk(document)]

    def change(self, share: float = 0.25) -> None:
        """Some documents are written anew, some come, some go."""
        for number in range(DOCUMENTS):
            if number not in self.disk or self.random.random() < share:
                self.write(number)
        for number in self.random.sample(range(DOCUMENTS), 3):
            self.path(number).unlink()
            del self.disk[number]

    def number_of(self, uri: str) -> int:
        return int(uri.rsplit("-", 1)[1][:3])

    def check(self) -> None:
        """Open the library and compare it with what may be in it after the last run."""
        begun = time.monotonic(), time.process_time()
        with wenyuan.open(self.folder, create=True, encoder={"kind": "hashing"}) as library:
            readiness = library.readiness()
            assert time.process_time() - begun[1] < REOPEN_SECONDS
            assert time.monotonic() - begun[0] < HANGS / 2  # the machine may be busy; no lock is waited for
            assert readiness.ready, readiness.parts
            found = self.whole_documents(library)
            self.check_versions(found)
            self.check_search(library, found)
        self.live = found

    def whole_documents(self, library: Any) -> dict[int, int]:
        """The version of each live document; each has all its passages, once, with their vectors."""
        catalog = library.catalog
        rows: dict[int, list[Any]] = {}
        for change in catalog.changes(0, catalog.seq()):
            if change.row is not None:
                rows.setdefault(change.row.document_id, []).append(change.row)
        found: dict[int, int] = {}
        live = catalog.live_documents("docs") if library.sources() else {}
        assert {document_id for document_id, _ in live.values()} == rows.keys()
        for uri, (document_id, _) in live.items():
            number = self.number_of(uri)
            texts = [row.text for row in rows[document_id]]
            assert all(row.vector is not None for row in rows[document_id])
            (version,) = (v for v in range(self.versions[number] + 1) if self.texts[number, v] == texts)
            found[number] = version
        return found

    def check_versions(self, found: dict[int, int]) -> None:
        told = {self.number_of(uri): what for uri, what in self.acks.items()}
        for number in range(DOCUMENTS):
            now, before, wanted = (versions.get(number) for versions in (found, self.live, self.disk))
            if number in told:
                assert now == (wanted if told[number] == "put" else None), "an acknowledged change is lost"
            else:
                assert now in (before, wanted)

    def check_search(self, library: Any, found: dict[int, int]) -> None:
        changes = library.catalog.changes(0, library.catalog.seq())
        rows = {change.passage_id: change.row for change in changes if change.row is not None}
        scope = Scope(sources=frozenset({"docs"}), as_of=date(2026, 6, 1))
        deadline = Deadline(time.monotonic() + 30, time.monotonic)
        for number, newest in self.versions.items():
            for version in range(max(0, newest - 1), newest + 1):
                terms = query_terms(word(number, version))
                hits = library.engine.keyword(terms, scope=scope, limit=20, deadline=deadline).hits
                texts = [rows[i].text for i in sorted(h.passage_id for h in hits)]
                assert texts == (self.texts[number, version] if found.get(number) == version else [])
        for passage_id, row in rows.items():
            hits = library.engine.vector(row.vector, scope=scope, limit=1, deadline=deadline).hits
            assert [(h.passage_id, round(h.parts["cosine"], 4)) for h in hits] == [(passage_id, 1.0)]


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    made = Shelf(tmp_path / "shelf", random.Random(20260601))
    made.change()
    return made


def finish(killer: Killer, shelf: Shelf) -> None:
    """A run that nobody kills ends with exactly what is on disk, and another one finds nothing to do."""
    assert not killer("ingest", shelf)["killed"]
    shelf.check()
    assert shelf.live == shelf.disk
    with wenyuan.open(shelf.folder, encoder={"kind": "hashing"}) as library:
        report = library.ingest("docs")
    assert (report.added, report.changed, report.retired, report.failed) == (0, 0, 0, {})
    assert report.unchanged == len(shelf.disk)


def test_ingest_killed_at_random_times(killer: Killer, shelf: Shelf, thorough: bool) -> None:
    """An ingest that is killed again and again, at random times, loses nothing that it had acknowledged."""
    rounds = 26 if thorough else 6
    killer("ingest", shelf)
    shelf.check()
    shelf.change()
    whole = killer("ingest", shelf)["seconds"]
    shelf.check()
    killed = with_acks = 0
    for _ in range(rounds):
        shelf.change()
        killed += killer("ingest", shelf, after=shelf.random.uniform(0.0, whole))["killed"]
        with_acks += len(shelf.acks) > 0
        shelf.check()
    assert killed >= rounds // 3
    assert with_acks >= 1
    finish(killer, shelf)


def test_first_ingest_killed(killer: Killer, tmp_path: Path) -> None:
    """The first ingest of a library, killed again and again, makes progress and ends with all documents."""
    shelf = Shelf(tmp_path / "shelf", random.Random(7))
    shelf.change()
    for step in range(5):
        killer("ingest", shelf, after=0.1 + 0.15 * step)
        shelf.check()
    finish(killer, shelf)


@pytest.mark.parametrize(("do", "rounds"), [("ingest", 4), ("checkpoint", 2), ("remove", 2), ("purge", 2)])
def test_killed_at_random_lines(killer: Killer, shelf: Shelf, do: str, rounds: int, thorough: bool) -> None:
    """Whichever line of our storage code is the last one that runs, the library is whole afterwards."""
    rounds *= 5 if thorough else 1
    killer("ingest", shelf)
    shelf.check()
    shelf.change(0.1)
    lines = killer(do, shelf, die_at=0)["lines"]
    if do == "remove":
        shelf.live = {}
        killer("ingest", shelf)
    shelf.check()
    assert lines > 30
    killed = 0
    for _ in range(rounds):
        shelf.change(0.1)
        killed += killer(do, shelf, die_at=shelf.random.randint(1, lines))["killed"]
        if do == "remove":
            check_removed_or_not(shelf)
            killer("ingest", shelf)
        shelf.check()
    assert killed >= rounds // 2
    finish(killer, shelf)


def check_removed_or_not(shelf: Shelf) -> None:
    """A removal that was killed has happened as a whole, or not at all."""
    with wenyuan.open(shelf.folder, encoder={"kind": "hashing"}) as library:
        assert library.readiness().ready
        found = shelf.whole_documents(library)
        assert found == (shelf.disk if library.sources() else {})
        shelf.check_search(library, found)
    shelf.live, shelf.acks = found, {}


def test_creation_killed_at_every_line(killer: Killer, tmp_path: Path, thorough: bool) -> None:
    """Wherever the making of a library is cut off, it can be made by trying again."""
    count = killer("create", Shelf(tmp_path / "count", random.Random(1)), die_at=0)["lines"]
    assert count > 30
    for at in range(1, count + 1, max(1, count // (25 if thorough else 8))):
        shelf = Shelf(tmp_path / str(at), random.Random(1))
        assert killer("create", shelf, die_at=at)["killed"]
        with wenyuan.open(shelf.folder, create=True, encoder={"kind": "hashing"}) as library:
            assert library.readiness().ready
            library.catalog.put_source(wenyuan.Source(source_id="s"))
