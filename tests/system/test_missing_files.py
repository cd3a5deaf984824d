"""Each file of a library that everything was done with, in each state it should not be in: healed or refused, never passed over."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

import wenyuan
from wenyuan.core.errors import KnowledgeError
from wenyuan.core.model import RetrievalRequest
from wenyuan.service.context import ContextRequest
from wenyuan.service.uploads import Given

OPTIONS: dict[str, Any] = {"encoder": {"kind": "hashing"}}
ASKED = RetrievalRequest(query="答复时限", max_results=9)
SECONDS = 20
PASSAGES = 4
ASIDE = sha256(b"bad").hexdigest()


def used(place: Path, word: str) -> Path:
    """A library with a source, an upload, a file in quarantine, a task and its audit; and a copy of it, older by a change."""
    folder, docs = place / "library", place / "docs"
    docs.mkdir(parents=True)
    (docs / "a.md").write_text(f"# {word}\n\n{word}的答复时限为五天，请致电 13800138000。\n", "utf-8")
    with wenyuan.open(folder, create=True, **OPTIONS) as library:
        (folder / "wenyuan.toml").write_text('[encoder]\nkind = "hashing"\n', "utf-8")
        library.add(wenyuan.Source(source_id="s", path=str(docs), sensitivity="internal", copyright="excerpt<=60"))
        library.catalog.put_source(wenyuan.Source(source_id="desk", sensitivity="internal", copyright="excerpt<=60"))
        (place / "up.md").write_text(f"# {word}上传\n\n上传的答复时限为{word}九天。\n", "utf-8")
        library.upload("desk", [Given(name="up.md", path=place / "up.md")])
        lines = {"text": f"抄录的答复时限为{word}八天。", "url": "https://intra.example/1"}
        (place / "lines.jsonl").write_text(json.dumps(lines, ensure_ascii=False), "utf-8")
        library.upload("desk", [Given(name="lines.jsonl", path=place / "lines.jsonl")])
        library.quarantine.keep(b"bad", sha256=sha256(b"bad").hexdigest(), suffix=".md", scanner="x", reason="y")
        library.get_context(ContextRequest(retrieval_query="答复时限", top_k={"s": 2}, task_id="t"))
        library.engine.checkpoint(always=True)
    shutil.copytree(folder, place / "older")
    (docs / "b.md").write_text(f"# 另一{word}\n\n另一{word}的答复时限为七天。\n", "utf-8")
    with wenyuan.open(folder, **OPTIONS) as library:
        library.ingest("s")
        (place / "up.md").write_text(f"# {word}上传\n\n上传的答复时限改为{word}十天。\n", "utf-8")
        library.upload("desk", [Given(name="up.md", path=place / "up.md")])
        library.get_context(ContextRequest(retrieval_query="七天", top_k={"s": 2}, task_id="t"))
        assert len(library.retrieve_fragments(ASKED).fragments) == PASSAGES
        library.engine.checkpoint(always=True)
    return folder


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return used(tmp_path_factory.mktemp("ours"), "甲库")


def absent(path: Path, _other: Path) -> None:
    shutil.rmtree(path) if path.is_dir() else path.unlink()


def empty(path: Path, other: Path) -> None:
    absent(path, other)
    path.touch()


def replaced(path: Path, other: Path) -> None:
    """By the file of that name of another folder; where that has none of the name, by any file of the kind."""
    absent(path, other)
    if not other.exists():
        above = next(folder for folder in other.parents if folder.name in ("index", "library", "older"))
        of_kind = sorted(above.rglob(f"*{other.suffix}"))
        if not of_kind:
            return  # there was none of the kind yet: it stays absent
        other = of_kind[0]
    shutil.copyfile(other, path)


def folder_there(path: Path, other: Path) -> None:
    absent(path, other)
    path.mkdir()


def pipe(path: Path, other: Path) -> None:
    absent(path, other)
    os.mkfifo(path)


def said(folder: Path) -> str:
    """What opening, asking, verifying and reading again say; empty where all is as before."""
    try:
        with wenyuan.open(folder, **OPTIONS) as library:
            answer = library.retrieve_fragments(ASKED)
            if answer.status != "SUCCESS":
                assert not library.readiness().ready
                assert not library.audit.verify().ok or "index" in str(answer.error_message)
                return str(answer.error_message)
            assert len(answer.fragments) == PASSAGES
            verified = library.audit.verify()
            faults = [] if verified.ok else [str(verified.first_fault)]
            try:
                library.get_context(ContextRequest(retrieval_query="答复时限", top_k={"s": 2}, task_id="u"))
            except KnowledgeError as error:
                assert not library.readiness().ready, "what refuses a context is said before one is asked for"
                faults.append(f"{error.message}: {error.hint}")
            faults += [one.reason for one in library.quarantine if not one.scanner]
            if sum(1 for _ in library.quarantine) != 1:
                faults.append("what was set aside is not there")
            for source in ("s", "desk"):
                try:
                    report = library.ingest(source)
                    faults += report.failed.values()
                    assert not report.retired, "what is absent is not taken for deleted"
                    if report.changed:
                        faults.append(f"{report.changed} changed")
                except KnowledgeError as error:
                    faults.append(error.message)
            return "; ".join(faults)
    except KnowledgeError as error:
        return f"{error.message}: {error.hint}"


INDEX_FILES = (
    "rows.json", "columns-*.npz", "vectors-*.f32",
    *(f"keyword/{name}" for name in ("watermark.json", "*.term", "*.idx", "*.pos", "*.store", "*.fast", "*.fieldnorm", "*.del")),
)  # fmt: skip
STATES = {
    "absent": absent, "empty": empty, "theirs": replaced, "older": replaced, "folder": folder_there, "pipe": pipe,
}  # fmt: skip
REFUSED = {
    "audit.db": ("absent", "empty", "theirs", "older", "folder", "pipe"),
    "audit.db + audit.head": ("absent", "empty", "theirs", "older", "folder", "pipe"),
    "audit.head": ("absent", "empty", "theirs", "folder", "pipe"),  # one that is behind is right
    "catalog.db": ("absent", "empty", "theirs", "older", "folder", "pipe"),
    "pseudonym.key": ("absent", "empty", "theirs", "folder", "pipe"),  # it never changes
    "tasks.db": ("absent", "empty", "theirs", "older", "folder", "pipe"),
    f"quarantine/{ASIDE}/about.json": ("absent", "empty", "folder", "pipe"),
    f"quarantine/{ASIDE}/content": ("absent", "empty", "folder", "pipe"),
    "uploads/desk/up.md": ("absent", "empty", "theirs", "older", "folder", "pipe"),
    "uploads/desk/lines.jsonl": ("absent", "empty", "theirs", "folder", "pipe"),
    "uploads/desk/.versions/up.md/*/up.md": ("absent", "empty", "theirs", "folder", "pipe"),
    "wenyuan.toml": ("folder", "pipe"),  # without it, or with an empty one, the defaults hold
    "writer.lock": ("folder", "pipe"),
    "commit.lock": ("folder", "pipe"),
    "uploads/.lock": (),  # nobody uploads
    "index": ("empty", "pipe"),  # a folder that is gone is made again
    "uploads": ("absent", "empty", "pipe"),
    "uploads/desk": ("absent", "empty", "pipe"),
    "quarantine": ("absent", "empty", "pipe"),
    f"quarantine/{ASIDE}": ("absent", "empty", "pipe"),
    **{f"index/*/{name}": () for name in INDEX_FILES},  # whatever is there, they are built again
}
"""Of each file the states in which something is refused, or said; in the others all is as before, and made again."""
FOLDERS = ("index", "uploads", "uploads/desk", "quarantine", f"quarantine/{ASIDE}")
CELLS = [
    (name, state)
    for name in REFUSED
    for state in STATES
    if name not in FOLDERS or state in ("absent", "empty", "pipe")
]


@pytest.mark.parametrize("page", ["governance.md", "governance.zh.md"])
def test_the_page_has_the_numbers_of_this_table(page: str) -> None:
    """How many cases there are, how many are refused and how many are not stands in the documentation as it is here."""
    text = (Path(__file__).parents[2] / "docs" / page).read_text("utf-8")
    refused = sum(map(len, REFUSED.values()))
    line = next(line for line in text.splitlines() if "test_missing_files.py" in line)
    assert re.findall("[0-9]+", line) == [str(len(CELLS)), str(refused), str(len(CELLS) - refused)]


def test_the_table_has_every_file(ours: Path) -> None:
    """A file of a library that was used has a line in the table."""
    named = {file for name in REFUSED for one in name.split(" + ") for file in ours.glob(one)}
    assert {file for file in ours.rglob("*") if file.is_file()} <= named


@pytest.fixture
def at_once() -> Iterator[None]:
    """Ends what waits for a pipe."""

    def end(*_: Any) -> None:
        raise TimeoutError(f"no answer within {SECONDS} s")

    before = signal.signal(signal.SIGALRM, end)
    signal.alarm(SECONDS)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


@pytest.fixture(scope="module")
def theirs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return used(tmp_path_factory.mktemp("theirs"), "乙库")


@pytest.mark.usefixtures("at_once")
@pytest.mark.parametrize(("name", "state"), CELLS)
def test_healed_or_refused(ours: Path, theirs: Path, name: str, state: str) -> None:
    """Nothing is answered from what is not there, and what cannot be made again is refused by its name."""
    kept = ours.with_name("kept")
    ours.rename(kept)
    try:
        shutil.copytree(kept, ours)
        other = {"theirs": theirs, "older": ours.with_name("older")}.get(state, kept)
        for one in name.split(" + "):
            path = sorted(ours.glob(one))[0]
            STATES[state](path, other / path.relative_to(ours))
        told = said(ours)
        assert bool(told) == (state in REFUSED[name]), told
        if name in ("audit.db", "catalog.db", "pseudonym.key", "tasks.db") and state in (
            "absent",
            "empty",
            "folder",
            "pipe",
        ):
            assert name in told or "tables" in told
    finally:
        shutil.rmtree(ours)
        kept.rename(ours)
