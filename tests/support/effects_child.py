"""Forks children that change a library and are killed before one of their effects: a change of the file system, as
Python's audit events tell it, or a commit of a database, before it and behind it. Or the disk is full from one effect on:
no file can be made, written through or committed.

SQLite's own writes are not seen one by one: what counts of them is the commit. Commands come as lines of JSON.
"""

from __future__ import annotations

import errno
import json
import os
import signal
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pysqlite3.dbapi2 as driver
import sqlalchemy as sa

import full_disk
import wenyuan
import wenyuan.app
import wenyuan.catalog
import wenyuan.readers.markdown
import wenyuan.readers.rulebooks
import wenyuan.readers.sandbox
from wenyuan.catalog.backup import back_up
from wenyuan.core.errors import KnowledgeError
from wenyuan.core.learning_records import QuestionAddress
from wenyuan.encoders.checking import HashingEncoder
from wenyuan.service.ingest.corrections import CorrectionRequest
from wenyuan.service.ingest.reembedding import embed_anew
from wenyuan.service.uploads import Given, UploadReport

FULL = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
CHANGES = frozenset(("os.rename", "os.link", "os.remove", "os.mkdir", "os.rmdir", "os.truncate"))
WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT


class Effects:
    """Counts effects, and kills the process before one of them, or lets none of them happen from one on."""

    def __init__(self, die_at: int, how: str) -> None:
        self.die_at, self.seen, self.on, self.full = die_at, 0, False, how == "full"
        sys.addaudithook(self.hook)
        sa.event.listen(sa.engine.Engine, "commit", self.committing)
        sync = os.fsync

        def fsync(handle: Any) -> None:
            self.effect(FULL)
            sync(handle)

        os.fsync = fsync

    def effect(self, error: Exception | None = None) -> None:
        """Count one; `error` is raised where it needs room on a disk that is full."""
        if self.on:
            self.seen += 1
            if self.full and error is not None and 0 < self.die_at <= self.seen:
                raise error
            if self.seen == self.die_at and not self.full:
                os.kill(os.getpid(), signal.SIGKILL)

    def hook(self, event: str, told: tuple[Any, ...]) -> None:
        writes = event == "open" and isinstance(told[2], int) and told[2] & WRITES and told[0] != "/dev/null"
        if event in CHANGES or writes:
            named = not isinstance(told[0], int)  # else it is open already
            new = event == "os.mkdir" or (writes and named and not Path(os.fsdecode(told[0])).exists())
            self.effect(FULL if new else None)

    def committing(self, connection: Any) -> None:
        self.effect(sa.exc.OperationalError("COMMIT", None, driver.OperationalError("database or disk is full")))


def given(came: Path, files: dict[str, str]) -> list[Given]:
    came.mkdir()
    for number, text in enumerate(files.values()):
        (came / str(number)).write_text(text, encoding="utf-8")
    return [Given(name=name, path=came / str(number)) for number, name in enumerate(files)]


def number_of(library: Any, name: str) -> int:
    """The id of the document of a file."""
    live = library.catalog.live_documents("desk")
    kept = "/.versions/"  # earlier versions have its name, too
    (number,) = (number for uri, (number, _) in live.items() if uri.endswith(f"/{name}") and kept not in uri)
    return int(number)


def step_of(library: Any, do: str, files: dict[str, str], extra: dict[str, Any], came: Path) -> Callable[[], Any]:
    """What is to be done, prepared so far that only its own effects are still to come."""
    if do == "upload":
        ready = given(came, files)
        return lambda: library.upload("desk", ready)
    if do == "replace":
        (ready_one,) = given(came, files)
        number = number_of(library, extra["name"])
        return lambda: library.replace_document(number, ready_one)
    if do == "delete":
        number = number_of(library, extra["name"])
        return lambda: library.delete_document(number)
    if do == "add":
        return lambda: library.add(wenyuan.Source(source_id="docs", path=extra["path"]))
    if do == "refresh":
        return lambda: library.ingest("docs")
    if do == "tune":
        pairs = [QuestionAddress(question=question, answer=answer) for question, answer in extra["pairs"]]
        return lambda: library.tune(pairs)
    if do == "reembed":
        encoder = HashingEncoder(extra["dimension"])
        return lambda: embed_anew(library.catalog, encoder, library.catalog.encoder().key)
    if do == "remove":
        return lambda: library.remove("desk")
    if do in ("release", "discard"):
        (aside,) = library.quarantine
        return lambda: getattr(library.quarantine, do)(aside.sha256)
    if do == "backup":
        return lambda: back_up(library.folder, library.folder.with_name("copy"))
    if do == "rules":
        book = wenyuan.readers.rulebooks.selection.read_book(Path(extra["path"]))
        return lambda: library.rules.take(book)
    if do == "undo":
        return lambda: library.correction_desk.undo(1)
    (first, *rest) = library.catalog.document_passages(number_of(library, extra["name"]))
    ref = f"desk#{first[0]}"
    if extra["with"]:
        extra["wanted"]["joined_with"] = f"desk#{rest[0][0]}"
    wanted = CorrectionRequest(
        ref=ref, **{k: tuple(v) if isinstance(v, list) else v for k, v in extra["wanted"].items()}
    )
    return lambda: library.correction_desk.correct(wanted)


def failures(report: Any) -> str:
    """What a report says of files that failed."""
    if isinstance(report, UploadReport):
        return " ".join(one.reason for one in report.files if one.reason)
    return " ".join(getattr(report, "failed", {}).values())


def work(
    folder: str, do: str, files: dict[str, str], extra: dict[str, Any], die_at: int, acks: str, how: str = "kill"
) -> tuple[int, str]:
    """Returns the number of effects, and what was said of a full disk."""
    effects, said = Effects(die_at, how), ""
    try:
        with wenyuan.open(folder, **extra.get("options", {"encoder": {"kind": "none"}})) as library:
            step = step_of(library, do, files, extra, Path(f"{folder}-came"))
            if "room" in extra:
                full_disk.leave(Path(folder).parent, extra["room"])
            effects.on = True
            try:
                report = step()
                said = "" if how == "kill" else failures(report)
            finally:
                effects.on = False
            Path(acks).touch()
    except KnowledgeError as error:
        if how == "kill":
            raise
        said = str(error)
    return effects.seen, said


def main() -> None:
    for line in sys.stdin:
        command = json.loads(line)
        reads, writes = os.pipe()
        pid = os.fork()
        if pid == 0:
            code = 1
            try:
                os.write(writes, json.dumps(work(**command)).encode())
                code = 0
            except BaseException:
                traceback.print_exc()
            finally:
                os._exit(code)
        os.close(writes)
        _, status = os.waitpid(pid, 0)
        seen, said = json.loads(os.read(reads, 60_000) or '[0, ""]')
        answer = {
            "killed": os.WIFSIGNALED(status),
            "failed": os.WIFEXITED(status) and os.WEXITSTATUS(status) != 0,
            "effects": seen,
            "said": said,
        }
        os.close(reads)
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
