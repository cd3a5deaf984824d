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
