"""kill -9 between any two effects of a change: what was acknowledged is there, nothing is half there, trying again ends it."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

import pytest

import wenyuan
from wenyuan.service.ingest.corrections import CorrectionRequest
from wenyuan.service.upload_journal import cut_off, unfinished
from wenyuan.service.uploads import Given

pytestmark = [pytest.mark.slow, pytest.mark.integration]

TWO = "# Two\n\n## One\n\n" + "Alpha words stand here. " * 40 + "\n\n## Two\n\n" + "Beta words stand here. " * 40
HELD = {"a.md": "# A\n\nThe fee is 5 yuan.", "x/b.md": "# B\n\nThe fine is 6 yuan.", "two.md": TWO}
DOCS = {"one.md": "# One\n\nGamma words.", "gone.md": "# Gone\n\nDelta words.", "same.md": "# Same\n\nZeta words."}
PACK = """\
pack: p
schema:
  kinds: {process: {zh: 工序}, thing: {zh: 物}}
  relations: {needs: {zh: 需要, from: [process], to: [thing]}}
  patterns: {of: {start: process, collect: {things: [needs]}}}
sources: [{id: law, title: 规范, uri: "urn:p", trust: 5, domain: construction}]
nodes: [{kind: process, name: 深基坑开挖}, {kind: thing, name: 东西}]
statements:
  - {src: 深基坑开挖, rel: needs, dst: 东西, evidence: [{source: law, clause: 一}]}
"""


@dataclass
class Killer:
    process: subprocess.Popen[str]

    def __call__(self, shelf: Path, do: str, files: Any, extra: Any, die_at: int) -> Any:
        command = {"folder": str(shelf / "library"), "do": do, "files": files, "extra": extra, "die_at": die_at}
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        print(json.dumps(command | {"acks": str(shelf / "ack")}), file=self.process.stdin, flush=True)
        answer = json.loads(self.process.stdout.readline())
        assert not answer["failed"], "the child raised; see its standard error"
        return answer


@pytest.fixture(scope="module")
def killer() -> Iterator[Killer]:
    arguments = [sys.executable, str(Path(__file__).parents[1] / "support" / "effects_child.py")]
    with subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield Killer(process)
        assert process.stdin is not None
        process.stdin.close()


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library with uploads, a source that is read from a folder and has changed since, and a correction."""
    shelf = tmp_path_factory.mktemp("template") / "shelf"
    shelf.mkdir()
    with wenyuan.open(shelf / "library", create=True, encoder={"kind": "none"}) as library:
        library.catalog.put_source(wenyuan.Source(source_id="desk"))
        home = shelf / "library" / "uploads" / "desk"
        for name, text in HELD.items():
            (home / name).parent.mkdir(parents=True, exist_ok=True)
            (home / name).write_text(text, encoding="utf-8")
        library.ingest("desk")
    return shelf


def prepared(template: Path, at: Path, do: str) -> Path:
    """The same library at one place, so that addresses stay."""
    shelf = at / "shelf"
    shutil.rmtree(at, ignore_errors=True)
    shutil.copytree(template, shelf)
    docs = shelf / "docs"
    docs.mkdir()
    for name, text in DOCS.items():
        (docs / name).write_text(text, encoding="utf-8")
    (shelf / "p.yaml").write_text(PACK, encoding="utf-8")
    with wenyuan.open(shelf / "library", encoder={"kind": "none"}) as library:
        library.ingest("desk")  # the copy lies elsewhere
        if do == "refresh":
            library.add(wenyuan.Source(source_id="docs", path=str(docs)))
            (docs / "one.md").write_text("# One\n\nEta words.", encoding="utf-8")
            (docs / "gone.md").unlink()
            (docs / "new.md").write_text("# New\n\nTheta words.", encoding="utf-8")
        if do == "undo":
            live = library.catalog.live_documents("desk")
            (number,) = (number for uri, (number, _) in live.items() if uri.endswith("/a.md"))
            [(passage, _, _)] = library.catalog.document_passages(number)
            library.correction_desk.correct(CorrectionRequest(action="exclude", ref=f"desk#{passage}"))
    return shelf


State = dict[str, Any]


def state_of(shelf: Path) -> State:
    """What the library serves, by document; its files by name; corrections in force and statements."""
    with wenyuan.open(shelf / "library", encoder={"kind": "none"}) as library:
        readiness = library.readiness()
        assert readiness.ready, readiness.parts
        served = {}
        for source in library.sources():
            for uri, (number, _) in library.catalog.live_documents(source.source_id).items():
                texts = [text for _, text, _ in library.catalog.document_passages(number)]
                served[f"served {uri.rpartition('/shelf/')[2]}"] = texts
                day = date(2000, 1, 1) if ".versions" in uri else None  # what was replaced answers as of its days
                for text in texts:
                    word = max(text.split(), key=len).strip(".")
                    assert text in [p.text for p in library.search(word, limit=50, as_of=day).passages.values()]
        home = shelf / "library" / "uploads" / "desk"
        files = {
            f"file {file.relative_to(home)}": file.read_text("utf-8") for file in home.rglob("*") if file.is_file()
        }
        corrected = [one.correction.action for one in library.catalog.corrections() if one.undone_at is None]
        return {**served, **files, "corrected": corrected, "packs": list(library.rules.packs())}


CASES: dict[str, tuple[str, dict[str, str], dict[str, Any]]] = {
    "upload new": ("upload", {"new.md": "# New\n\nIota words."}, {}),
    "upload over": ("upload", {"a.md": "# A\n\nThe fee is 9 yuan."}, {}),
    "upload several": ("upload", {"a.md": "# A\n\nThe fee is 9 yuan.", "y/n.md": "# N\n\nKappa.", "x/b.md": "# B\n\n7."}, {}),
    "upload broken": ("upload", {"a.md": "\x00\x01\x00\x02" * 50}, {}),
    "replace": ("replace", {"z.md": "# A\n\nThe fee is 9 yuan."}, {"name": "a.md"}),
    "replace by another kind": ("replace", {"z.txt": "The fee is 9 yuan."}, {"name": "a.md"}),
    "delete": ("delete", {}, {"name": "x/b.md"}),
    "add": ("add", {}, {"path": "docs"}),
    "refresh": ("refresh", {}, {}),
    "correct: exclude": ("correct", {}, {"name": "a.md", "with": False, "wanted": {"action": "exclude"}}),
    "correct: text": ("correct", {}, {"name": "a.md", "with": False, "wanted": {"action": "text", "text": "Nine."}}),
    "correct: questions": (
        "correct", {}, {"name": "a.md", "with": False, "wanted": {"action": "questions", "questions": ["Lambda?"]}}
    ),
    "correct: split": ("correct", {}, {"name": "two.md", "with": False, "wanted": {"action": "split", "at": 50}}),
    "correct: join": ("correct", {}, {"name": "two.md", "with": True, "wanted": {"action": "join"}}),
    "undo": ("undo", {}, {}),
    "rules": ("rules", {}, {"path": "p.yaml"}),
}  # fmt: skip
ALWAYS = ("upload over", "replace by another kind", "delete")


@pytest.mark.parametrize("case", CASES)
def test_killed_before_every_effect(
    killer: Killer, template: Path, tmp_path: Path, thorough: bool, case: str
) -> None:
    """The former state or the new one, of each document; after a refresh files and record agree; again, and it is done."""
    do, files, extra = CASES[case]
    at = tmp_path / "at"

    def begun() -> Path:
        shelf = prepared(template, at, do)
        if "path" in extra:
            extra["path"] = str(shelf / Path(extra["path"]).name)
        return shelf

    shelf = begun()
    before = state_of(shelf)
    count = killer(shelf, do, files, extra, 0)["effects"]
    after = state_of(shelf)
    assert count >= 2
    assert (before == after) == (case == "upload broken")
    step = 1 if thorough else max(1, count // (5 if case in ALWAYS else 2))
    first = 1 + date.today().toordinal() % step  # all of them, day by day
    killed = 0
    for die_at in range(min(first, count), count + 1, step):
        shelf = begun()
        killed += killer(shelf, do, files, extra, die_at)["killed"]
        uploads = shelf / "library" / "uploads"
        assert cut_off(uploads) == sorted({journal.source_id for journal in unfinished(uploads)})
        now = state_of(shelf)
        check(now, before, after, pending=bool(cut_off(uploads)))
        with wenyuan.open(shelf / "library", encoder={"kind": "none"}) as library:
            library.ingest("desk")
        assert cut_off(uploads) == []
        now = state_of(shelf)
        check(now, before, after, pending=False)
        for name, text in now.items():
            if name.startswith("file ") and not text.startswith("\x00"):
                assert f"served library/uploads/desk/{name[5:]}" in now
        if now != after:
            (shelf / "ack").unlink(missing_ok=True)
            shutil.rmtree(f"{shelf / 'library'}-came", ignore_errors=True)
            assert not killer(shelf, do, files, extra, 0)["killed"]
            assert state_of(shelf) == after
    assert killed
    print(f"{case}: {count} effects, {killed} kills")


def check(now: State, before: State, after: State, *, pending: bool) -> None:
    """Each part is as before or as after; what both have is there."""
    kept = {name for name in now if ".versions" in name} if pending else set()  # gone once it is undone
    assert now.keys() - kept <= before.keys() | after.keys()
    for name in before.keys() | after.keys():
        if pending and name.startswith("file "):
            continue  # its former bytes are in the journal: asked again once it is undone
        assert now.get(name) in (before.get(name), after.get(name)), name


def steps(count: int, *, thorough: bool) -> range:
    """The effects before which the process is killed: all of them, day by day."""
    step = 1 if thorough else max(1, count // 4)
    return range(min(1 + date.today().toordinal() % step, count), count + 1, step)


def test_a_removal_that_is_killed_leaves_nothing_to_come_back(
    killer: Killer, template: Path, tmp_path: Path, thorough: bool
) -> None:
    """The source is there with all that it had, or it is gone; another source of its id has what is uploaded to it, and no more."""
    at = tmp_path / "at"
    shelf = prepared(template, at, "remove")
    before = state_of(shelf)
    count = killer(shelf, "remove", {}, {}, 0)["effects"]
    removed = killed = 0
    for die_at in steps(count, thorough=thorough):
        shelf = prepared(template, at, "remove")
        killed += killer(shelf, "remove", {}, {}, die_at)["killed"]
        with wenyuan.open(shelf / "library", encoder={"kind": "none"}) as library:
            there = bool(library.sources())
        if there:
            assert state_of(shelf) == before
            continue
        removed += 1
        came = shelf / "new.md"
        came.write_text("# New\n\nIota words.", encoding="utf-8")
        with wenyuan.open(shelf / "library", encoder={"kind": "none"}) as library:
            library.catalog.put_source(wenyuan.Source(source_id="desk"))
            library.upload("desk", [Given(name="new.md", path=came)])
        now = state_of(shelf)
        assert [name for name in now if name.startswith("served")] == ["served library/uploads/desk/new.md"]
        assert [name for name in now if name.startswith("file")] == ["file new.md"]
    assert killed
    assert removed


@pytest.mark.parametrize("do", ["release", "discard"])
def test_a_decision_about_quarantine_that_is_killed_can_be_made_again(
    killer: Killer, template: Path, tmp_path: Path, thorough: bool, do: str
) -> None:
    """The file is still listed, or it was decided; again, and nothing is listed."""
    at, sha256 = tmp_path / "at", hashlib.sha256(b"bad").hexdigest()

    def begun() -> Path:
        shelf = prepared(template, at, do)
        with wenyuan.open(shelf / "library", encoder={"kind": "none"}) as library:
            library.quarantine.keep(b"bad", sha256=sha256, suffix=".md", scanner="x", reason="y")
        return shelf

    count = killer(begun(), do, {}, {}, 0)["effects"]
    for die_at in steps(count, thorough=thorough):
        shelf = begun()
        killer(shelf, do, {}, {}, die_at)
        with wenyuan.open(shelf / "library", encoder={"kind": "none"}) as library:
            listed = [one.sha256 for one in library.quarantine]
            assert listed in ([], [sha256])
            if listed:
                getattr(library.quarantine, do)(sha256)
            assert list(library.quarantine) == []
            assert library.quarantine.lost() == ()
            assert library.quarantine.released(sha256) == (do == "release")
