"""``add`` of what is there: what is not given stays, what changes is shown and asked for; so is a removal.

The same documents under another id are told.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

import wenyuan
from wenyuan.cli import ingest as stock
from wenyuan.cli import sources
from wenyuan.cli.root import app
from wenyuan.core.model import Source

GIVEN = ("--title", "House rules", "--trust", "5", "--domain", "law", "--owner", "Ann", "--sensitivity", "internal")


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "a.md").write_text("# 制度\n\n树木立于此。Trees stand.\n")
    return folder


class Desk:
    """The command line on one library."""

    def __init__(self, folder: Path) -> None:
        self.env = {"WENYUAN_LIBRARY": str(folder), "WENYUAN_ENCODER__KIND": "none", "LC_ALL": "C.UTF-8"}
        self.run("init")

    def run(self, *args: object, code: int = 0, typed: str = "") -> Result:
        done = CliRunner().invoke(app, [str(arg) for arg in args], env=self.env, input=typed, prog_name="wenyuan")
        assert done.exit_code == code, done.output
        return done

    def source(self) -> dict[str, Any]:
        shown: dict[str, Any] = json.loads(self.run("source", "show", "p", "--json").stdout)["source"]
        return shown


@pytest.fixture
def desk(tmp_path: Path, docs: Path) -> Desk:
    made = Desk(tmp_path / "library")
    made.run("add", docs, "--source", "p", *GIVEN)
    return made


def test_what_is_not_given_stays(desk: Desk, docs: Path) -> None:
    """Reading a source again by ``add`` leaves its description alone, and says so."""
    before = desk.source()
    done = desk.run("add", docs, "--source", "p")
    assert "its description stays as it is" in done.stderr
    assert desk.source() == before
    assert (before["title"], before["trust"], before["domain"], before["owner"]) == ("House rules", 5, "law", "Ann")


def test_a_change_that_nobody_agreed_to_is_refused(desk: Desk, docs: Path) -> None:
    """Where nobody can be asked, nothing changes: what would is named, with the option that does it, in both languages."""
    before = desk.source()
    done = desk.run("add", docs, "--source", "p", "--trust", 2, "--domain", "other", code=2)
    assert "trust_level 5 → 2; domain law → other" in " ".join(done.stderr.split()) and "--yes" in done.stderr
    done = desk.run("--lang", "zh", "add", docs, "--source", "p", "--trust", 2, code=2)
    assert "已登记，将会修改：trust_level 5 → 2" in "".join(done.stderr.split("\n"))
    assert desk.source() == before


def test_a_change_is_shown_and_made(desk: Desk, docs: Path) -> None:
    """With ``--yes`` what was given counts, though it be a default; the rest stays; a change of domain has a word on agents."""
    done = desk.run("add", docs, "--source", "p", "--trust", 3, "--domain", "other", "--yes")
    assert "trust_level: 5 → 3" in done.stderr and "Agents see sources by their domain" in done.stderr
    after = desk.source()
    assert (after["title"], after["trust"], after["domain"], after["owner"]) == ("House rules", 3, "other", "Ann")


@pytest.mark.parametrize(("typed", "trust"), [("n\n", 5), ("y\n", 2)])
def test_a_person_is_asked(desk: Desk, docs: Path, monkeypatch: pytest.MonkeyPatch, typed: str, trust: int) -> None:
    """At a terminal the change waits for a yes."""
    monkeypatch.setattr(stock, "interactive", lambda: True)
    desk.run("add", docs, "--source", "p", "--trust", 2, typed=typed)
    assert desk.source()["trust"] == trust


def test_a_removal_is_asked_for(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """It says what goes and that the files stay; where nobody can be asked it is refused with the command."""
    done = desk.run("source", "remove", "p", code=2)
    assert "wenyuan source remove p --yes" in done.stderr
    monkeypatch.setattr(sources, "interactive", lambda: True)
    done = desk.run("source", "remove", "p", typed="n\n")
    assert "1 document and 1 passage" in done.stderr and "The files stay" in done.stderr
    assert desk.source()["documents"] == 1
    desk.run("source", "remove", "p", "--yes")
    desk.run("source", "show", "p", code=2)


def test_a_library_in_python_keeps_what_is_left_at_its_default(tmp_path: Path, docs: Path) -> None:
    """`Library.add` of a source that is registered changes what is said, and nothing else."""
    with wenyuan.open(tmp_path / "library", create=True, encoder={"kind": "none"}) as library:
        library.add(Source(source_id="p", path=str(docs), title="House rules", trust=5, domain="law", owner="Ann"))
        library.add(Source(source_id="p", path=str(docs), trust=4))
        [known] = library.sources()
        assert (known.title, known.trust, known.domain, known.owner) == ("House rules", 4, "law", "Ann")


def test_the_same_files_under_another_id_are_told(desk: Desk, docs: Path, tmp_path: Path) -> None:
    """By ``add`` and ``doctor``, in both languages, with the other source and how many documents; others are not."""
    more = tmp_path / "more"
    more.mkdir()
    (more / "copy.md").write_bytes((docs / "a.md").read_bytes())
    (more / "own.md").write_text("# 另文\n\n此处不同。Another text.\n", "utf-8")
    assert "same content" not in desk.run("doctor").stdout
    # Another title, domain and sensitivity read the same bytes in another way.
    done = desk.run("add", more, "--source", "q", "--collection", "x", "--sensitivity", "confidential")
    assert "Note: 1 document of q" in done.stderr
    assert "in the source p" in done.stderr
    assert "wenyuan source remove q" in done.stderr
    done = desk.run("add", docs, "--source", "r", "--lang", "zh")
    assert "注意：r 有 1 个文档与来源 p 中的内容相同" in done.stderr
    assert "注意：r 有 1 个文档与来源 q 中的内容相同" in done.stderr
    assert json.loads(desk.run("add", docs, "--source", "r", "--json").stdout)["same_as"] == {"p": 1, "q": 1}
    checks = {c["name"]: c for c in json.loads(desk.run("doctor", "--json").stdout)["checks"]}
    pairs = [{"sources": list(pair), "documents": 1} for pair in ("pq", "pr", "qr")]
    assert (checks["twins"]["state"], checks["twins"]["more"]["pairs"]) == ("warn", pairs)
    assert "same content: 1 document in both p and q" in desk.run("doctor").stdout
    assert "重复内容：p 与 q 有 1 个文档相同" in desk.run("doctor", "--lang", "zh").stdout
    desk.run("source", "remove", "q", "--yes")
    desk.run("source", "remove", "r", "--yes")
    assert "same content" not in desk.run("doctor").stdout


def test_the_first_source_makes_the_library(tmp_path: Path, docs: Path) -> None:
    """Where nothing is there; it says so, and the next one is taken into the same."""
    env = {"WENYUAN_LIBRARY": str(tmp_path / "new"), "WENYUAN_ENCODER__KIND": "none", "LC_ALL": "C.UTF-8"}
    first = CliRunner().invoke(app, ["add", str(docs), "--source", "p"], env=env)
    assert first.exit_code == 0, first.output
    assert f"Made an empty library in {tmp_path / 'new'}" in first.output.replace("\n", "")
    again = CliRunner().invoke(app, ["add", str(docs), "--source", "q"], env=env)
    assert again.exit_code == 0
    assert "Made" not in again.output


@pytest.mark.parametrize(
    ("wrong", "code"), [(["/nowhere", "--source", "p"], 1), (["docs", "--source", "p", "--trust", "9"], 2)]
)
def test_a_mistake_makes_no_library(
    tmp_path: Path, docs: Path, wrong: list[str], code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A path that is not there, or a value out of bounds."""
    monkeypatch.chdir(tmp_path)
    env = {"WENYUAN_LIBRARY": str(tmp_path / "new"), "WENYUAN_ENCODER__KIND": "none"}
    assert CliRunner().invoke(app, ["add", *wrong], env=env).exit_code == code
    assert not (tmp_path / "new").exists()


def test_what_remains_of_a_library_is_no_place_for_another(tmp_path: Path, docs: Path, desk: Desk) -> None:
    """A catalog that is gone is a failure, and no library without documents."""
    desk.run("add", docs, "--source", "p")
    folder = Path(desk.env["WENYUAN_LIBRARY"])
    (folder / "catalog.db").unlink()
    failed = desk.run("add", docs, "--source", "q", code=1)
    assert "catalog.db is missing" in failed.output
    assert not (folder / "catalog.db").exists()


def test_no_library_is_a_source(tmp_path: Path, docs: Path, desk: Desk) -> None:
    """Neither what it keeps for itself, nor its folder, nor as a part of the folder around it: uploads stand there unredacted."""
    library = Path(desk.env["WENYUAN_LIBRARY"])
    (tmp_path / "pay.md").write_text("# Pay\n\nCall 13812345678, SECRETPAY.\n", "utf-8")
    desk.run("add", docs, "--source", "p")
    desk.run("source", "set", "p", "--sensitivity", "restricted")
    desk.run("document", "upload", "hr", tmp_path / "pay.md", "--readers", "group:hr")
    (tmp_path / "pay.md").unlink()
    for path in (library / "uploads", library / "uploads" / "hr", library / "index"):
        assert "keeps for itself" in desk.run("add", path, "--source", "own", code=1).output
    assert "nothing to read" in desk.run("add", library, "--source", "own", code=1).output
    desk.run("add", tmp_path, "--source", "around")
    listed = json.loads(desk.run("document", "list", "--source", "around", "--json").stdout)["documents"]
    assert [Path(one["uri"]).name for one in listed] == ["a.md"]


@pytest.mark.parametrize("wrong", ["./nowhere", "htp://x"])
def test_a_place_that_is_none_is_the_reason(tmp_path: Path, wrong: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Told before a library is made, and not that there is no library."""
    monkeypatch.chdir(tmp_path)
    env = {"WENYUAN_LIBRARY": str(tmp_path / "new"), "WENYUAN_ENCODER__KIND": "none"}
    done = CliRunner().invoke(app, ["add", wrong, "--source", "p"], env=env)
    assert done.exit_code != 0
    assert "no library" not in done.output
    assert not (tmp_path / "new").exists()
