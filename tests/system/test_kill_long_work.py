"""kill -9, and a disk that is full, between any two effects of long work: recognising pages, refreshing, embedding anew, tuning."""

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

import scans
import tuning_parts
import wenyuan
from wenyuan.core.errors import EncoderMismatch
from wenyuan.core.model import RetrievalRequest
from wenyuan.readers.ocr.weights import missing

pytestmark = [pytest.mark.slow, pytest.mark.integration]

OLD: dict[str, Any] = {"encoder": tuning_parts.ENCODER, "search": {"floor": 0.0, "deadline": 60}}
NEW: dict[str, Any] = {**OLD, "encoder": {"kind": "hashing", "dimension": 64}}
CASES = ("ocr", "refresh", "reembed", "tune")
State = dict[str, Any]


@pytest.fixture(scope="module")
def child() -> Iterator[subprocess.Popen[str]]:
    arguments = [sys.executable, str(Path(__file__).parents[1] / "support" / "effects_child.py")]
    with subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield process
        assert process.stdin is not None
        process.stdin.close()


def done(child: subprocess.Popen[str], shelf: Path, case: str, at: int, how: str) -> Any:
    pairs = [(one.question, one.answer) for one in tuning_parts.golden(shelf)]
    extra = {"options": OLD, "pairs": pairs, "dimension": NEW["encoder"]["dimension"]}
    command = {
        "folder": str(shelf / "library"), "do": {"ocr": "refresh"}.get(case, case), "files": {}, "extra": extra,
        "die_at": at, "acks": str(shelf / "ack"), "how": how,
    }  # fmt: skip
    assert child.stdin is not None
    assert child.stdout is not None
    print(json.dumps(command), file=child.stdin, flush=True)
    answer = json.loads(child.stdout.readline())
    assert not answer["failed"], "the child raised what is no error of ours; see its standard error"
    return answer


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library of ninety documents, and a source of two files; where it is copied from, to the place where it was made."""
    shelf = tmp_path_factory.mktemp("template") / "shelf"
    shelf.mkdir()
    library = tuning_parts.new_house(shelf)
    (shelf / "docs").mkdir()
    for name in ("one", "gone"):
        (shelf / "docs" / f"{name}.md").write_text(f"# {name}\n\nGamma words of {name}.", "utf-8")
    with library:
        library.add(wenyuan.Source(source_id="docs", path=str(shelf / "docs")))
    return shelf.rename(shelf.with_name("kept"))


def prepared(template: Path, case: str) -> Path:
    shelf = template.with_name("shelf")
    shutil.rmtree(shelf, ignore_errors=True)
    shutil.copytree(template, shelf)
    docs = shelf / "docs"
    if case in ("ocr", "refresh"):
        (docs / "one.md").write_text("# one\n\nEta words of one.", "utf-8")
        (docs / "gone.md").unlink()
        (docs / "new.md").write_text("# new\n\nTheta words.", "utf-8")
    if case == "ocr":
        for number in (1, 2):
            scans.draw([(40, 60, f"The fee of desk {number} is 50 yuan")], size=40).save(docs / f"scan{number}.png")
    return shelf


def state_of(shelf: Path) -> State:
    """Texts of the documents, whether there is a tuning, and by which encoder the library answers."""
    try:
        opened, options = wenyuan.open(shelf / "library", **OLD), OLD
    except EncoderMismatch:
        opened, options = wenyuan.open(shelf / "library", **NEW), NEW
    with opened as library:
        readiness = library.readiness()
        assert readiness.ready, readiness.parts
        answer = library.retrieve_fragments(RetrievalRequest(query=tuning_parts.written(7), max_results=3))
        assert answer.status == "SUCCESS"
        assert answer.fragments[0].content.strip() == tuning_parts.written(7)
        assert library.audit.verify().ok
        counts = library.catalog.counts()
        assert counts["passages"] == counts["vectors"], "no passage without its vector"
        texts = {}
        for uri, (number, _) in library.catalog.live_documents("docs").items():
            texts[uri.rpartition("/")[2]] = [text for _, text, _ in library.catalog.document_passages(number)]
        return {**texts, "tuned": library.tuning() is not None, "dimension": options["encoder"]["dimension"]}


@pytest.mark.parametrize("how", ["kill", "full"])
@pytest.mark.parametrize("case", CASES)
def test_cut_off_before_effects(
    child: subprocess.Popen[str], template: Path, thorough: bool, case: str, how: str
) -> None:
    """All is as it was or as it should be, each document and each answer; a full disk is said; again, and it is done."""
    if case == "ocr" and missing():
        pytest.skip("OCR is not installed")
    shelf = prepared(template, case)
    before = state_of(shelf)
    count = done(child, shelf, case, 0, "kill")["effects"]
    after = state_of(shelf)
    assert count >= 2
    assert before != after
    step = 1 if thorough else max(1, count // 3)
    first = 1 + date.today().toordinal() % step  # all of them, day by day
    cut = 0
    for number in range(min(first, count), count + 1, step):
        shelf = prepared(template, case)
        answer = done(child, shelf, case, number, how)
        cut += answer["killed"] or bool(answer["said"])
        check(state_of(shelf), before, after)
        if case == "reembed" and state_of(shelf) == after:
            continue  # the encoder that is to be replaced is no longer there
        (shelf / "ack").unlink(missing_ok=True)
        assert not done(child, shelf, case, 0, "kill")["killed"]
        assert state_of(shelf) == after
    assert cut
    print(f"{case}, {how}: {count} effects, {cut} cut off")


def check(now: State, before: State, after: State) -> None:
    for name in before.keys() | after.keys():
        assert now.get(name) in (before.get(name), after.get(name)), name
