"""Changes that meet: of two processes, of an upload and a refresh, of a correction and its undoing. Nothing is lost, nothing done twice."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import wenyuan
from wenyuan.core.errors import CatalogBusy, Conflict, KnowledgeError, NotFound
from wenyuan.service.ingest.corrections import CorrectionRequest
from wenyuan.service.uploads import Given

pytestmark = [pytest.mark.slow, pytest.mark.integration]

OPTIONS: dict[str, Any] = {"encoder": {"kind": "hashing"}, "search": {"deadline": 60}}
ROUNDS = 12
WRITER = """
import json, sys
from pathlib import Path
import wenyuan
from wenyuan.core.errors import CatalogBusy
from wenyuan.service.ingest.corrections import CorrectionRequest
from wenyuan.service.uploads import Given
folder, own, rounds = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
said = {"uploaded": [], "corrected": [], "read": []}
def patient(do):
    while True:
        try:
            return do()
        except CatalogBusy:
            pass
with wenyuan.open(folder, encoder={"kind": "hashing"}, search={"deadline": 60}) as library:
    print("ready", flush=True)
    sys.stdin.readline()
    docs = folder.parent / own
    for n in range(rounds):
        (docs / f"{n}.md").write_text(f"# {own} {n}\\n\\nFee of {own} number {n} is {n} yuan.", "utf-8")
        if patient(lambda: library.add(wenyuan.Source(source_id=own, path=str(docs)))).added:
            said["read"].append(f"{n}.md")
        with library.uploads.incoming() as came:
            (came / "0").write_text(f"# up {own} {n}\\n\\nUpload {own} {n}.", "utf-8")
            name = f"{own}-{n}.md"
            [one] = patient(lambda: library.upload("desk", [Given(name=name, path=came / "0")])).files
            if one.state == "added":
                said["uploaded"].append(name)
        live = patient(lambda: library.catalog.live_documents("shared"))
        [number] = [number for uri, (number, _) in live.items() if uri.endswith(f"/{own}{n}.md")]
        [(passage, _, _)] = library.catalog.document_passages(number)
        wanted = CorrectionRequest(action="text", ref=f"shared#{passage}", text=f"Corrected by {own} {n}.")
        patient(lambda: library.correction_desk.correct(wanted))
        said["corrected"].append(f"Corrected by {own} {n}.")
        patient(lambda: library.ingest("shared"))
print(json.dumps(said))
"""


@pytest.fixture
def library(tmp_path: Path) -> Iterator[Any]:
    """A library with a source for uploads, and one that both correct."""
    for name in ("one", "two", "shared"):
        (tmp_path / name).mkdir()
    for own in ("one", "two"):
        for n in range(ROUNDS):
            (tmp_path / "shared" / f"{own}{n}.md").write_text(f"# S {own} {n}\n\nWords of {own} {n}.", "utf-8")
    with wenyuan.open(tmp_path / "library", create=True, **OPTIONS) as made:
        made.catalog.put_source(wenyuan.Source(source_id="desk"))
        made.add(wenyuan.Source(source_id="shared", path=str(tmp_path / "shared")))
        yield made


def uploaded(library: Any, name: str, text: str) -> None:
    with library.uploads.incoming() as came:
        (came / "0").write_text(text, "utf-8")
        library.upload("desk", [Given(name=name, path=came / "0")])


def texts(library: Any, source: str) -> list[str]:
    numbers = [
        number for uri, (number, _) in library.catalog.live_documents(source).items() if ".versions" not in uri
    ]
    return [text for number in numbers for _, text, _ in library.catalog.document_passages(number)]


def sound(library: Any) -> None:
    """Catalog and index hold the same, every passage is found, and the audit is whole."""
    assert library.readiness().ready, library.readiness().parts
    counts = library.catalog.counts()
    assert counts["passages"] == counts["vectors"]
    library.engine.sync(library.catalog, deadline=library._retriever.deadline())
    assert library.engine.status().passages == counts["passages"]
    assert library.audit.verify().ok


def test_two_processes_that_add_upload_correct_and_refresh(library: Any, tmp_path: Path) -> None:
    """All that was acknowledged to either is there once, and questions are answered meanwhile."""
    started = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, str(tmp_path / "library"), own, str(ROUNDS)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )
        for own in ("one", "two")
    ]  # fmt: skip
    for one in started:
        assert one.stdout is not None
        assert one.stdout.readline() == "ready\n"
    for one in started:
        assert one.stdin is not None
        one.stdin.write("\n")
        one.stdin.flush()
    ask = wenyuan.RetrievalRequest(query="words of one 3", max_results=3)
    while any(one.poll() is None for one in started):
        answer = library.retrieve_fragments(ask)
        assert answer.status == "SUCCESS", answer.error_message
    said = []
    for one in started:
        assert one.stdout is not None
        assert one.returncode == 0
        said.append(json.loads(one.stdout.read()))
        one.communicate()
    for own, told in zip(("one", "two"), said, strict=True):
        assert [len(told[what]) for what in ("read", "uploaded", "corrected")] == [ROUNDS] * 3
        assert Counter(uri.rpartition("/")[2] for uri in library.catalog.live_documents(own)) == Counter(told["read"])
    uploaded = sorted(name for told in said for name in told["uploaded"])
    assert sorted(uri.rpartition("/")[2] for uri in library.catalog.live_documents("desk")) == uploaded
    assert sorted(texts(library, "shared")) == sorted(text for told in said for text in told["corrected"])
    assert len(library.catalog.corrections()) == 2 * ROUNDS
    sound(library)


def together(*tasks: Callable[[], object]) -> list[BaseException]:
    """Runs tasks in threads that begin at once; returns what they raised that is no refusal by name."""
    gate, raised = threading.Barrier(len(tasks)), []

    def run(task: Callable[[], object]) -> None:
        gate.wait()
        try:
            task()
        except (CatalogBusy, Conflict, NotFound):
            pass
        except BaseException as error:
            raised.append(error)

    threads = [threading.Thread(target=run, args=(task,)) for task in tasks]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return raised


def test_an_upload_during_a_refresh_of_its_source(library: Any) -> None:
    """The upload is there with its last bytes, whichever of the two reads it."""
    uploaded(library, "other.md", "# Other")
    for n in range(8):
        with library.uploads.incoming() as came:
            (came / "0").write_text(f"# Rate\n\nThe rate is {n} percent.", "utf-8")
            given = [Given(name="rate.md", path=came / "0")]
            assert not together(lambda: library.ingest("desk"), lambda given=given: library.upload("desk", given))
        assert sorted(texts(library, "desk")) == ["# Other", f"# Rate\n\nThe rate is {n} percent."]
        assert not library.ingest("desk").changed
    sound(library)


def test_a_correction_against_its_undoing(library: Any) -> None:
    """The last passage is the original or the corrected one, never both or neither, and corrections in force say the same."""
    [number] = [n for uri, (n, _) in library.catalog.live_documents("shared").items() if uri.endswith("/one3.md")]
    [(_, original, _)] = library.catalog.document_passages(number)

    def correct(text: str) -> Callable[[], object]:
        [(passage, _, _)] = library.catalog.document_passages(number)
        wanted = CorrectionRequest(action="text", ref=f"shared#{passage}", text=text)
        return lambda: library.correction_desk.correct(wanted)

    for n in range(8):
        correct(f"Corrected {n}.")()
        newest = max(one.correction.correction_id for one in library.catalog.corrections())
        assert not together(
            lambda newest=newest: library.correction_desk.undo(newest),
            lambda newest=newest: library.correction_desk.undo(newest),
            correct(f"Again {n}."),
            lambda: library.ingest("shared"),
        )
        served = [text for _, text, _ in library.catalog.document_passages(number)]
        force = [
            one.correction.new for one in library.catalog.corrections() if one.undone_at is None and not one.lost
        ]
        assert served == [force[0] if force else original], (served, force)
        for one in sorted(library.catalog.corrections(), key=lambda one: -one.correction.correction_id):
            if one.undone_at is None:
                library.correction_desk.undo(one.correction.correction_id)
        assert [text for _, text, _ in library.catalog.document_passages(number)] == [original]
    sound(library)


def test_a_file_that_is_removed_below_a_library_in_use(library: Any) -> None:
    """Answers go on; the original is said to be gone; the next refresh says so and keeps its document until that is deleted."""
    uploaded(library, "other.md", "# Other")
    uploaded(library, "rate.md", "# Rate\n\nThe rate is 7 percent.")
    (library.folder / "uploads" / "desk" / "rate.md").unlink()
    answer = library.retrieve_fragments(wenyuan.RetrievalRequest(query="rate percent", max_results=1))
    assert "7 percent" in answer.fragments[0].content
    [number] = [n for uri, (n, _) in library.catalog.live_documents("desk").items() if uri.endswith("/rate.md")]
    with pytest.raises(KnowledgeError):
        library.original(number)
    report = library.ingest("desk")
    assert (report.retired, report.held_back) == (0, 1)
    library.delete_document(number)
    assert texts(library, "desk") == ["# Other"]
