"""A disk that is full at any write of a command: nothing acknowledged is lost, it is said, and with room the command succeeds."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

import pytest

import wenyuan
from full_disk import PAGE, make_room, room, small_disk
from wenyuan.core.errors import EncoderMismatch

pytestmark = [pytest.mark.slow, pytest.mark.integration]

OLD: dict[str, Any] = {
    "encoder": {"kind": "hashing", "dimension": 32}, "search": {"floor": 0.0, "deadline": 60}, "uploads": {"keep_versions": 0},
}  # fmt: skip
NEW: dict[str, Any] = {**OLD, "encoder": {"kind": "hashing", "dimension": 48}}
WORDS = " ".join(f"word{number} of the rule" for number in range(400))
HELD = {"a.md": "# A\n\nThe fee is 5 yuan.", "x/b.md": f"# B\n\nThe fine is 6 yuan.\n\n{WORDS}"}
DOCS = {"one.md": "# One\n\nGamma words.", "gone.md": "# Gone\n\nDelta words.", "same.md": f"# Same\n\n{WORDS}"}
LINES, MORE = (
    "\n".join(json.dumps({"text": f"{text} {n}.", "url": f"https://intra.example/{n}"}) for n in numbers)
    for text, numbers in (("The fare is", (1, 2)), (f"The new fare is {WORDS}", (1, 3)))
)
HELD["lines.jsonl"] = LINES
BIG = {"a.md": "# A\n\nThe fee is 9 yuan.", "y/n.md": f"# N\n\nKappa.\n\n{WORDS}", "x/b.md": "# B\n\n7."}
State = dict[str, Any]

CASES: dict[str, tuple[str, dict[str, str], dict[str, Any]]] = {
    "add": ("add", {}, {}),
    "upload": ("upload", BIG, {}),
    "replace": ("replace", {"z.md": f"# A\n\nThe fee is 9 yuan.\n\n{WORDS}"}, {"name": "a.md"}),
    "replace, and keep the version before": (
        "replace",
        {"z.md": f"# A\n\nThe fee is 9 yuan.\n\n{WORDS}"},
        {"name": "a.md", "keep_versions": 5},
    ),
    "replace a file of lines": ("replace", {"n.jsonl": MORE}, {"name": "1", "keep_versions": 5}),
    "refresh": ("refresh", {}, {}),
    "correct": ("correct", {}, {"name": "a.md", "with": False, "wanted": {"action": "text", "text": "Nine."}}),
    "reembed": ("reembed", {}, {"dimension": NEW["encoder"]["dimension"]}),
    "backup": ("backup", {}, {}),
}


@pytest.fixture(scope="module")
def child() -> Iterator[subprocess.Popen[str]]:
    arguments = [sys.executable, str(Path(__file__).parents[1] / "support" / "effects_child.py")]
    with subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield process
        assert process.stdin is not None
        process.stdin.close()


@pytest.fixture(scope="module")
def disk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with small_disk(tmp_path_factory.mktemp("small") / "disk") as made:
        yield made


@pytest.fixture(scope="module")
def template(disk: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library with uploads and a source, made where it is copied to."""
    shelf = disk / "shelf"
    (shelf / "docs").mkdir(parents=True)
    for name, text in DOCS.items():
        (shelf / "docs" / name).write_text(text, "utf-8")
    with wenyuan.open(shelf / "library", create=True, **OLD) as library:
        library.catalog.put_source(wenyuan.Source(source_id="desk"))
        for name, text in HELD.items():
            file = shelf / "library" / "uploads" / "desk" / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, "utf-8")
        library.ingest("desk")
        library.add(wenyuan.Source(source_id="docs", path=str(shelf / "docs")))
    kept = tmp_path_factory.mktemp("template") / "kept"
    shutil.copytree(shelf, kept)
    return kept


def prepared(template: Path, disk: Path, do: str) -> Path:
    shelf = disk / "shelf"
    make_room(shelf)
    shutil.rmtree(shelf, ignore_errors=True)
    shutil.copytree(template, shelf)
    with wenyuan.open(shelf / "library", **OLD) as library:
        library.ingest("desk")  # its files are others, with other times
        if do == "add":
            library.remove("docs")
    if do == "refresh":
        (shelf / "docs" / "one.md").write_text(f"# One\n\nEta words.\n\n{WORDS}", "utf-8")
        (shelf / "docs" / "gone.md").unlink()
        (shelf / "docs" / "new.md").write_text("# New\n\nTheta words.", "utf-8")
    return shelf


def done(child: subprocess.Popen[str], shelf: Path, case: str, left: int | None) -> str:
    """Do it with so many bytes left; returns what was said of the failure."""
    do, files, extra = CASES[case]
    options = OLD | ({"uploads": {"keep_versions": extra["keep_versions"]}} if "keep_versions" in extra else {})
    more = {"path": str(shelf / "docs"), "options": options} | ({} if left is None else {"room": left})
    command = {
        "folder": str(shelf / "library"), "do": do, "files": files, "extra": extra | more,
        "die_at": 0, "acks": str(shelf / "ack"), "how": "full",
    }  # fmt: skip
    shutil.rmtree(f"{shelf / 'library'}-came", ignore_errors=True)
    assert child.stdin is not None
    assert child.stdout is not None
    print(json.dumps(command), file=child.stdin, flush=True)
    answer = json.loads(child.stdout.readline())
    assert not answer["failed"], "the child raised what is no error of ours; see its standard error"
    assert not answer["killed"]
    return str(answer["said"])


def state_of(shelf: Path) -> State:
    """What the library serves, by document, and its files; what the copy of it has."""
    held = read(shelf / "library")
    copy = shelf / "copy"
    return held | ({"copy": read(copy) == held} if copy.exists() else {})


def read(folder: Path) -> State:
    try:
        opened, options = wenyuan.open(folder, **OLD), OLD
    except EncoderMismatch:
        opened, options = wenyuan.open(folder, **NEW), NEW
    with opened as library:
        readiness = library.readiness()
        assert readiness.ready, readiness.parts
        assert library.audit.verify().ok
        counts = library.catalog.counts()
        assert counts["passages"] == counts["vectors"], "no passage without its vector"
        found: State = {"dimension": options["encoder"]["dimension"]}
        for source in library.sources():
            for uri, (number, _) in library.catalog.live_documents(source.source_id).items():
                texts = [text for _, text, _ in library.catalog.document_passages(number)]
                found[uri.rpartition("/shelf/")[2]] = texts
                for text in texts if "/.versions/" not in uri else ():
                    assert text in [p.text for p in library.search(text[:60], limit=50).passages.values()]
        home = folder / "uploads" / "desk"
        found |= {f"file {one.relative_to(home)}": one.read_text("utf-8") for one in home.rglob("*") if one.is_file()}
        return found


@pytest.mark.parametrize("case", CASES)
def test_full_at_every_write(
    child: subprocess.Popen[str], template: Path, disk: Path, thorough: bool, case: str
) -> None:
    """Page by page of room, until the command succeeds: each document as before or as after; said; then it succeeds."""
    shelf = prepared(template, disk, case)
    before, left = state_of(shelf), room(disk)
    assert done(child, shelf, case, None) == ""
    after = state_of(shelf)
    assert before != after
    refused = 0
    most = max(64, 2 * (left - room(disk)) // PAGE)  # of pages that it can need, at first guess
    step = 1 if thorough else max(1, most // 12)
    for pages in range(date.today().toordinal() % step, 4 * most, step):
        shelf = prepared(template, disk, case)
        said = done(child, shelf, case, pages * PAGE)
        make_room(shelf)
        now = state_of(shelf)
        for name in before.keys() | after.keys():
            assert now.get(name) in (before.get(name), after.get(name)), (name, pages, said)
        assert said or now == after, (pages, "acknowledged")
        if not said:
            break
        refused += 1
        if case in ("correct", "reembed") and now == after:
            continue  # it is done, and what follows from it is not: the same cannot be asked for again
        assert done(child, shelf, case, None) == "", pages
        assert state_of(shelf) == after, pages
    else:
        pytest.fail("it never succeeds")
    assert refused
    print(f"{case}: {refused} rooms that are too small, the last of {(pages - step) * PAGE:,} bytes")
