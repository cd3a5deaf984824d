"""An uploaded file, or a copy in quarantine, that somebody else has taken away: it is said, and what is known of it stays."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import wenyuan
from command_line import run
from copies import copied
from wenyuan.core.errors import InvalidRequest
from wenyuan.core.model import RetrievalRequest
from wenyuan.service.ingest.corrections import CorrectionRequest
from wenyuan.service.operations.refresh import Worker
from wenyuan.service.uploads import Given

OPTIONS: dict[str, Any] = {"encoder": {"kind": "none"}}
FILES = {"fee.md": "# Fee\n\nThe fee is 5 yuan.", "x/fine.md": "# Fine\n\nThe fine is 6 yuan."}
OFFLINE = {"WENYUAN_ENCODER__KIND": "none"}
ASIDE = hashlib.sha256(b"bad").hexdigest()


def given(folder: Path, files: dict[str, str]) -> list[Given]:
    came = folder / "came"
    came.mkdir(exist_ok=True)
    for number, text in enumerate(files.values()):
        (came / str(number)).write_text(text, "utf-8")
    return [Given(name=name, path=came / str(number)) for number, name in enumerate(files)]


def made(folder: Path) -> None:
    with wenyuan.open(folder / "library", create=True, **OPTIONS) as library:
        library.catalog.put_source(wenyuan.Source(source_id="desk"))
        library.upload("desk", given(folder, FILES))
        library.quarantine.keep(b"bad", sha256=ASIDE, suffix=".md", scanner="x", reason="y")


@pytest.fixture
def library(tmp_path: Path) -> Iterator[Any]:
    copied(made, tmp_path)
    with wenyuan.open(tmp_path / "library", **OPTIONS) as opened:
        yield opened


def home(library: Any) -> Path:
    return Path(library.folder) / "uploads" / "desk"


def texts(library: Any) -> set[str]:
    live = library.catalog.live_documents("desk").values()
    return {text for number, _ in live for _, text, _ in library.catalog.document_passages(number)}


def number_of(library: Any, name: str) -> int:
    (number,) = (number for uri, (number, _) in library.catalog.live_documents("desk").items() if uri.endswith(name))
    return int(number)


# -- an uploaded file --------------------------------------------------------------------------------------------
def test_a_file_that_was_taken_away_is_lost_and_not_deleted(library: Any) -> None:
    """A refresh keeps its document, says what is missing and how to go on; with the file back, nothing is said."""
    before = texts(library)
    (home(library) / "fee.md").unlink()
    for _ in range(2):
        report = library.ingest("desk")
        assert (report.retired, report.held_back) == (0, 1)
        ((uri, reason),) = report.failed.items()
        assert uri.endswith("/uploads/desk/fee.md")
        assert "gone from the folder of uploads" in reason
        assert "document delete" in reason
        assert list(library.catalog.failures("desk")) == [uri]
        assert texts(library) == before
    assert Worker(library).refresh("desk").failure == ""
    assert "The fee is 5 yuan." in library.search("fee").passages[next(iter(library.search("fee").passages))].text
    (home(library) / "fee.md").write_text(FILES["fee.md"], "utf-8")
    assert library.ingest("desk").failed == {}
    assert library.catalog.failures("desk") == {}


def test_a_lost_file_is_given_up_by_deleting_its_document(library: Any) -> None:
    """As any document is deleted; the others stay, and nothing is missing any more."""
    (home(library) / "fee.md").unlink()
    library.ingest("desk")
    assert library.delete_document(number_of(library, "fee.md")) == ("desk", 1)
    assert texts(library) == {FILES["x/fine.md"]}
    assert library.ingest("desk").failed == {}


def test_a_lost_file_comes_again(library: Any) -> None:
    """Uploaded again under its name, it takes its document's place."""
    (home(library) / "fee.md").unlink()
    library.ingest("desk")
    library.upload("desk", given(library.folder.parent, {"fee.md": "# Fee\n\nThe fee is 9 yuan."}))
    assert texts(library) == {"# Fee\n\nThe fee is 9 yuan.", FILES["x/fine.md"]}
    assert library.catalog.failures("desk") == {}


def test_the_last_file_that_is_deleted_does_not_take_a_lost_one_along(library: Any) -> None:
    """Where no file is left, what was deleted is retired, and what was lost stays."""
    (home(library) / "fee.md").unlink()
    library.delete_document(number_of(library, "fine.md"))
    assert texts(library) == {FILES["fee.md"]}
    (reason,) = library.catalog.failures("desk").values()
    assert "gone from the folder of uploads" in reason
    library.delete_document(number_of(library, "fee.md"))
    assert texts(library) == set()


def test_what_is_deleted_here_is_gone(library: Any) -> None:
    """A deletion, and a replacement by a file of another kind, are not taken for a loss, neither now nor later."""
    library.delete_document(number_of(library, "fee.md"))
    library.replace_document(
        number_of(library, "fine.md"), given(library.folder.parent, {"f.txt": "The fine is 7."})[0]
    )
    assert library.ingest("desk").failed == {}
    assert "fee" not in " ".join(texts(library))
    assert library.catalog.failures("desk") == {}


def test_a_library_that_was_moved_has_lost_nothing(library: Any, tmp_path: Path) -> None:
    """Its files lie elsewhere, and each is the one that was read."""
    shutil.copytree(library.folder, tmp_path / "elsewhere")
    with wenyuan.open(tmp_path / "elsewhere", **OPTIONS) as other:
        with pytest.raises(InvalidRequest):
            other.delete_document(number_of(other, "fee.md"))  # of which nothing is known until it was read again
        (tmp_path / "elsewhere" / "uploads" / "desk" / "x" / "fine.md").unlink()
        report = other.ingest("desk")
        assert [uri.rpartition("/")[2] for uri in report.failed] == ["fine.md"]
        assert texts(other) == set(FILES.values())


def test_a_correction_of_a_lost_document_counts(library: Any) -> None:
    """It is served as it was last read, and can be corrected and excluded like any other."""
    (home(library) / "fee.md").unlink()
    library.ingest("desk")
    [(passage, _, _)] = library.catalog.document_passages(number_of(library, "fee.md"))
    library.correct(CorrectionRequest(action="exclude", ref=f"desk#{passage}"))
    assert library.ingest("desk").held_back == 1
    assert texts(library) == {FILES["x/fine.md"]}


# -- an uploaded file whose lines state their addresses ----------------------------------------------------------
def line(number: int, text: str, *, at: str | None = None) -> str:
    return json.dumps({"text": text, "url": at or f"https://intra.example/{number}"})


LINES = "\n".join([line(1, "The fare is 1 yuan."), line(2, "The fare is 2 yuan.")])


@pytest.fixture
def lines(library: Any) -> Any:
    report = library.upload("desk", given(library.folder.parent, {"fares.jsonl": LINES}))
    assert [len(one.documents) for one in report.files] == [2], "what was read from it is told"
    return library


def fares(library: Any) -> set[str]:
    return {text for text in texts(library) if "fare" in text}


def test_lines_with_addresses_of_their_own_are_lost_too(lines: Any) -> None:
    """That no address says which file they came from does not make them deleted; the file is named, and put back."""
    (home(lines) / "fares.jsonl").unlink()
    for _ in range(2):
        report = lines.ingest("desk")
        assert (report.retired, report.held_back) == (0, 2)
        ((uri, reason),) = report.failed.items()
        assert uri.endswith("/uploads/desk/fares.jsonl")
        assert "gone from the folder of uploads" in reason
        assert fares(lines) == {"The fare is 1 yuan.", "The fare is 2 yuan."}
    (home(lines) / "fares.jsonl").write_text(LINES, "utf-8")
    assert lines.ingest("desk").failed == {}


def test_such_lines_are_lost_with_the_last_file(lines: Any) -> None:
    """Where no file is left, either."""
    for name in ("fee.md", "x/fine.md"):
        lines.delete_document(number_of(lines, name))
    shutil.rmtree(home(lines))
    lines.delete_document(number_of(lines, "/1"))
    assert fares(lines) == set(), "one line is deleted with its file"


def test_such_a_line_is_deleted_with_its_file(lines: Any) -> None:
    """Deleting a document that its line gave an address deletes the file it came from, and says how many went."""
    assert lines.delete_document(number_of(lines, "/1")) == ("desk", 2)
    assert not (home(lines) / "fares.jsonl").exists()
    assert fares(lines) == set()
    assert lines.ingest("desk").failed == {}


def test_a_line_that_goes_from_its_file_is_no_loss(lines: Any) -> None:
    """While another file is lost, what a present file no longer says is retired."""
    lines.upload("desk", given(lines.folder.parent, {"more.jsonl": line(3, "The fare is 3 yuan.")}))
    (home(lines) / "more.jsonl").unlink()
    (home(lines) / "fares.jsonl").write_text(line(1, "The fare is 1 yuan."), "utf-8")
    report = lines.ingest("desk")
    assert (report.retired, report.held_back) == (1, 1)
    assert fares(lines) == {"The fare is 1 yuan.", "The fare is 3 yuan."}


def test_a_line_that_moves_to_another_file(lines: Any) -> None:
    """Its document is the other file's from then on."""
    (home(lines) / "all.jsonl").write_text(line(1, "The fare is 1 yuan."), "utf-8")
    (home(lines) / "fares.jsonl").write_text(line(2, "The fare is 2 yuan."), "utf-8")
    assert lines.ingest("desk").failed == {}
    (home(lines) / "fares.jsonl").unlink()
    report = lines.ingest("desk")
    assert [uri.rpartition("/")[2] for uri in report.failed] == ["fares.jsonl"]
    (home(lines) / "all.jsonl").unlink()
    report = lines.ingest("desk")
    assert sorted(uri.rpartition("/")[2] for uri in report.failed) == ["all.jsonl", "fares.jsonl"]
    assert fares(lines) == {"The fare is 1 yuan.", "The fare is 2 yuan."}


def test_a_new_version_of_such_a_file(lines: Any) -> None:
    """Uploaded again with other words, each address has the new ones."""
    new = "\n".join([line(1, "The fare is 7 yuan."), line(3, "The fare is 3 yuan.")])
    report = lines.upload("desk", given(lines.folder.parent, {"fares.jsonl": new}))
    assert [one.state for one in report.files] == ["changed"]
    day = {text for number in report.files[0].documents for _, text, _ in lines.catalog.document_passages(number)}
    assert day == {"The fare is 7 yuan.", "The fare is 3 yuan."}
    assert lines.ingest("desk").failed == {}
    served = {
        one.content for one in lines.retrieve_fragments(RetrievalRequest(query="fare yuan", max_results=9)).fragments
    }
    assert {text for text in served if "fare" in text} == day, "the version before it has ended"


# -- quarantine --------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("gone", ["quarantine", f"quarantine/{ASIDE}"])
def test_copies_that_are_gone_are_named(library: Any, gone: str) -> None:
    """The list has the file and says that its copy is gone; so does doctor, until somebody discards or releases it."""
    shutil.rmtree(library.folder / gone)
    (one,) = library.quarantine
    assert (one.sha256, one.scanner) == (ASIDE, "")
    assert one.reason == "its copy is gone from quarantine/"
    assert library.quarantine.lost() == (ASIDE,)
    told = json.loads(run("--library", library.folder, "doctor", "--json", **OFFLINE).stdout)
    (check,) = (check for check in told["checks"] if check["name"] == "quarantine")
    assert (check["state"], check["more"]["lost"]) == ("warn", [ASIDE])
    library.quarantine.discard(ASIDE[:12])
    assert list(library.quarantine) == []
    assert library.quarantine.lost() == ()


def test_a_file_that_is_released_without_its_copy_is_released(library: Any) -> None:
    """What was decided counts for the file wherever it comes from."""
    shutil.rmtree(library.folder / "quarantine")
    library.quarantine.release(ASIDE)
    assert library.quarantine.released(ASIDE)
    assert list(library.quarantine) == []


def test_a_file_that_comes_again_is_set_aside_again(library: Any) -> None:
    """Its copy is made anew, and nothing is lost any more."""
    shutil.rmtree(library.folder / "quarantine")
    assert library.quarantine.keep(b"bad", sha256=ASIDE, suffix=".md", scanner="x", reason="y")
    assert library.quarantine.lost() == ()
    assert [one.scanner for one in library.quarantine] == ["x"]
