"""An erasure that is killed between any two of its effects says so, and is gone on with until nothing is left."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from erased_person import NAME, NUMBER, VALUES, found_in, opened
from wenyuan.cli.root import app
from wenyuan.core.erasure import STEPS
from wenyuan.core.errors import EngineError, KnowledgeError
from wenyuan.core.model import Source
from wenyuan.service.erasure.resumption import ErasureResumption
from wenyuan.service.uploads import Given

_CHILD = textwrap.dedent(
    """
    import os, signal, sys
    from pathlib import Path
    sys.path.insert(0, sys.argv[4])
    from erased_person import VALUES, opened
    from wenyuan.service.erasure.eraser import Eraser

    step, when = sys.argv[2], sys.argv[3]
    take = Eraser._take

    def dying(self, at, target, report):
        if (at, when) == (step, "before"):
            os.kill(os.getpid(), signal.SIGKILL)
        take(self, at, target, report)
        if (at, when) == (step, "after"):
            os.kill(os.getpid(), signal.SIGKILL)

    Eraser._take = dying
    with opened(Path(sys.argv[1])) as library:
        library.erasures.erase(library.erasures.person(VALUES))
    """
)


def small(root: Path) -> None:
    """A small library with the person in a document, a former version, an upload, an address and the audit."""
    docs = root / "docs"
    docs.mkdir()
    (docs / f"{NAME}.md").write_text(f"# {NAME}\n\n{NAME}，电话 {NUMBER}。\n", "utf-8")
    (docs / "other.md").write_text("# 泵\n\n泵每月检修一次。\n", "utf-8")
    with opened(root) as library:
        library.add(Source(source_id="files", path=str(docs), owner=NAME))
        (docs / f"{NAME}.md").write_text(f"# {NAME}\n\n{NAME}，电话 {NUMBER}，负责泵。\n", "utf-8")
        library.ingest("files")
        library.catalog.put_source(Source(source_id="up"))
        (root / "given").write_text(f"{NAME}的说明。", "utf-8")
        library.upload("up", [Given(name="note.txt", path=root / "given")])
        library.search("泵")


def killed(root: Path, step: str, when: str) -> None:
    support = Path(__file__).parents[1] / "support"
    done = subprocess.run(
        [sys.executable, "-c", _CHILD, str(root), step, when, str(support)],
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == -signal.SIGKILL, done.stderr


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("step", STEPS[:-1])
def test_killed_between_two_effects(tmp_path: Path, step: str, when: str) -> None:
    """Killed before or after each step, the erasure is unfinished and says so; gone on with, it leaves nothing."""
    small(tmp_path)
    killed(tmp_path, step, when)
    with opened(tmp_path) as library:
        (unfinished,) = library.erasures.unfinished()
        assert (unfinished.state, unfinished.step) == ("running", step)
        (done,) = library.erasures.resume()
        assert done.state == "done"
        assert library.erasures.unfinished() == []
        assert all(check.ok for check in library.erasures.verify(done.erasure_id, VALUES))
        assert found_in(library.folder, VALUES) == []
        assert library.search("泵").hits


def test_the_next_start_goes_on(tmp_path: Path) -> None:
    """Doctor and list name what is unfinished; whoever opens the library for long goes on with it."""
    small(tmp_path)
    killed(tmp_path, "documents", "after")
    runner, folder = CliRunner(), str(tmp_path / "library")
    env = {"WENYUAN_ENCODER__KIND": "hashing", "WENYUAN_ENCODER__DIMENSION": "64"}
    said = runner.invoke(app, ["--library", folder, "forget", "list"], env=env).output
    assert "begun, not done" in said
    assert "forget resume" in runner.invoke(app, ["--library", folder, "doctor"], env=env).output
    with opened(tmp_path) as library:
        rounds = ErasureResumption(library.erasures.resume, every=0.05)
        rounds._look()
        assert library.erasures.unfinished() == []


def test_an_engine_that_is_down(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An index that cannot be written makes the erasure FAILED, with the reason; it goes on when the index is back."""
    small(tmp_path)
    with opened(tmp_path) as library:
        with monkeypatch.context() as broken:

            def down(*_: Any) -> None:
                raise EngineError("the index server does not answer", component="engine")

            broken.setattr(type(library.engine), "purge", down)
            with pytest.raises(EngineError):
                library.erasures.erase(library.erasures.person(VALUES))
            (failed,) = library.erasures.unfinished()
            assert (failed.state, failed.step) == ("failed", "index")
            assert "does not answer" in failed.problem
            with pytest.raises(KnowledgeError):
                library.erasures.resume()
        (done,) = library.erasures.resume()
        assert done.state == "done"
        assert found_in(library.folder, VALUES) == []


def test_a_full_disk_while_compacting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the disk is full while the tables are written anew, the erasure is FAILED, nothing is lost, and it goes on later."""
    from full_disk import leave, make_room, small_disk

    with small_disk(tmp_path / "disk", 48) as disk:
        small(disk)
        with opened(disk) as library:
            compact = type(library.catalog).compact

            def full(catalog: Any) -> None:
                leave(disk, 4096)
                compact(catalog)

            monkeypatch.setattr(type(library.catalog), "compact", full)
            monkeypatch.setenv("SQLITE_TMPDIR", str(disk))
            with pytest.raises(KnowledgeError):
                library.erasures.erase(library.erasures.person(VALUES))
            make_room(disk)
            monkeypatch.setattr(type(library.catalog), "compact", compact)
            (failed,) = library.erasures.unfinished()
            assert failed.step in ("compact", "check")
            (done,) = library.erasures.resume()
            assert done.state == "done"
            assert found_in(library.folder, VALUES) == []


def test_only_one_erases(tmp_path: Path) -> None:
    """While one process erases another is told that it does; asked again afterwards, it finds nothing left."""
    from wenyuan.core.errors import CatalogBusy

    small(tmp_path)
    with opened(tmp_path) as library:
        with library.catalog.erasing():
            child = os.fork()
            if not child:
                code = 1
                try:
                    with opened(tmp_path) as other:
                        other.erasures.erase(other.erasures.person(VALUES))
                except CatalogBusy:
                    code = 7
                finally:
                    os._exit(code)
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
        assert library.erasures.erase(library.erasures.person(VALUES)).state == "done"
