"""Bundles in and out, by the command line."""

from __future__ import annotations

import json
from datetime import date, timedelta
from pathlib import Path

import pytest
from tests.support.command_line import Run, runner

LATER = (date.today() + timedelta(days=400)).isoformat()
BUNDLE = {
    "index.md": '---\nokf_version: "0.3"\n---\n# Shop\n',
    "log.md": "# Log\n",
    "README.md": "Not a concept: wombat.\n",
    "run.py": "print('wombat')\n",
    "leave/annual.md": "---\ntype: Policy\ntitle: Annual leave\ndescription: Days of leave.\ntags: [hr, leave]\n"
    "generated: { by: human:li, at: 2026-02-01T10:00:00Z }\nverified:\n  - { by: human:wu, at: 2026-06-15T09:00:00Z }\n"
    "status: stable\nstale_after: 2026-03-01T00:00:00Z\neffective_from: 2026-02-01\n---\n\n# Annual leave\n\n**Fifteen** days a year.\n",
    "leave/annual-2020.md": "---\ntype: Policy\ntitle: Annual leave (2020)\nsuperseded_by: annual.md\n---\n\nTen days a year.\n",
    "leave/sick.md": "---\ntype: Policy\ntitle: 病假\nstatus: deprecated\n---\n\n病假须提前一天申请。\n",
    "leave/unpaid.md": f"---\ntype: Policy\ntitle: Unpaid\nstale_after: {LATER}T00:00:00Z\n---\n\nUnpaid leave takes thirty days.\n",
}


def _written(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, "utf-8")
    return folder


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """The command line on a library that has taken a bundle in."""
    _written(tmp_path / "bundle", BUNDLE)
    run = runner(tmp_path / "library", WENYUAN_ENCODER__KIND="none")
    run("add", f"okf:{tmp_path / 'bundle'}", "--source", "shop")
    return run


def _found(run: Run, question: str, *options: str) -> list[dict[str, object]]:
    told = json.loads(run("search", question, "--json", *options, WENYUAN_SEARCH__ABSTAIN="off").stdout)
    return [{**one, **one["metadata"]} for one in told["fragments"]]


def test_only_concepts_are_read(run: Run) -> None:
    """Neither indexes and logs, nor other files."""
    listed = json.loads(run("document", "list", "--json").stdout)["documents"]
    assert sorted(one["uri"].rpartition("/")[2] for one in listed) == [
        "annual-2020.md",
        "annual.md",
        "sick.md",
        "unpaid.md",
    ]
    assert not any("wombat" in str(one) for one in _found(run, "wombat"))


def test_what_is_superseded_or_deprecated_is_not_in_force(run: Run) -> None:
    """The successor answers; the one before it counted until the day before, and is history."""
    titles = {str(one["title"]) for one in _found(run, "days a year leave")}
    assert "Annual leave" in titles
    assert not titles & {"Annual leave (2020)", "病假"}
    states = {one["title"]: one["state"] for one in json.loads(run("document", "list", "--json").stdout)["documents"]}
    assert states["Annual leave (2020)"] == "superseded"
    assert "Annual leave (2020)" in {
        str(one["title"]) for one in _found(run, "days a year leave", "--as-of", "2026-01-31")
    }


def test_stale_content_says_so(run: Run) -> None:
    """Since its own instant, not before; it still answers."""
    since = {str(one["title"]): one.get("stale_since") for one in _found(run, "leave days")}
    assert since["Annual leave"] == "2026-03-01T00:00:00Z"
    assert since["Unpaid"] is None


def test_a_round_trip_is_identical(run: Run, tmp_path: Path) -> None:
    """Every concept comes back byte for byte, also after another library took the bundle in; a second export is the same."""
    out = tmp_path / "out"
    told = json.loads(run("okf", "export", str(out), "--source", "shop", "--json").stdout)
    assert (told["concepts"], told["verbatim"], told["left_out"]) == (4, 4, {})
    for name in ("leave/annual.md", "leave/annual-2020.md", "leave/sick.md", "leave/unpaid.md"):
        assert (out / name).read_text("utf-8") == BUNDLE[name]
    assert json.loads(run("okf", "check", str(out), "--json").stdout)["conforms"] is True
    other = runner(tmp_path / "other", WENYUAN_ENCODER__KIND="none")
    other("add", f"okf:{out}", "--source", "shop")
    other("okf", "export", str(tmp_path / "again"), "--source", "shop")
    files = [one.relative_to(out) for one in out.rglob("*.md") if one.name != "log.md"]
    assert len(files) == 6
    assert all((out / one).read_bytes() == (tmp_path / "again" / one).read_bytes() for one in files)


def test_other_documents_become_concepts(tmp_path: Path) -> None:
    """With what the library knows of them; what was redacted stays so, and they can be taken in again."""
    docs = _written(
        tmp_path / "docs",
        {
            "a/steps.txt": "停机步骤\n\n先关阀门，再断电。\n",
            "index.md": "# 首页\n\n电话 13800138000。\n",
            "b.md": "---\ntype: Note\n---\n手机 13800138000\n",
        },
    )
    run = runner(tmp_path / "library", WENYUAN_ENCODER__KIND="none")
    run("add", str(docs), "--source", "ops", "--trust", "4", "--sensitivity", "internal", "--tags", "ops")
    told = json.loads(run("okf", "export", str(tmp_path / "out"), "--json").stdout)
    assert (told["concepts"], told["verbatim"]) == (3, 0)
    written = {
        one.relative_to(tmp_path / "out").as_posix(): one.read_text("utf-8")
        for one in (tmp_path / "out").rglob("*.md")
    }
    assert set(written) == {"index.md", "log.md", "a/index.md", "a/steps.txt.md", "index-document.md", "b.md"}
    assert not any("13800138000" in text for text in written.values())
    assert not any(str(tmp_path) in text or "file:" in text for text in written.values())
    assert "先关阀门，再断电。" in written["a/steps.txt.md"]
    assert all(
        part in written["a/steps.txt.md"]
        for part in ("type: Document\n", "trust: 4\n", "- ops\n", "sensitivity: internal\n")
    )
    again = runner(tmp_path / "other", WENYUAN_ENCODER__KIND="none")
    again("add", f"okf:{tmp_path / 'out'}", "--source", "ops")
    assert any("先关阀门" in str(one["content"]) for one in _found(again, "停机步骤先关阀门"))


def test_what_not_everybody_may_have_is_left_out(tmp_path: Path) -> None:
    """Documents with readers, and those whose terms do not allow the whole; they are named, and the exit code says it."""
    _written(tmp_path / "docs", {"a.md": "# A\n\nOne.\n"})
    run = runner(tmp_path / "library", WENYUAN_ENCODER__KIND="none")
    run("add", str(tmp_path / "docs"), "--source", "hr", "--readers", "group:hr")
    run("add", str(tmp_path / "docs"), "--source", "cut", "--copyright", "excerpt<=200")
    told = json.loads(run("okf", "export", str(tmp_path / "out"), "--json", code=3).stdout)
    assert (told["concepts"], len(told["left_out"])) == (0, 2)


def test_nothing_is_overwritten(run: Run, tmp_path: Path) -> None:
    """A folder that is there is refused, and so is a source that is not."""
    (tmp_path / "out").mkdir()
    run("okf", "export", str(tmp_path / "out"), code=2)
    run("okf", "export", str(tmp_path / "new"), "--source", "none", code=2)
    assert not (tmp_path / "new").exists()


def test_a_relative_bundle_and_a_wrong_format(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A path is meant from where one is; another format is refused before anything is made."""
    _written(tmp_path / "bundle", BUNDLE)
    monkeypatch.chdir(tmp_path)
    run = runner(Path("library"), WENYUAN_ENCODER__KIND="none")
    run("init")
    run("add", "bundle", "--source", "x", "--set", "format=odf", code=2)
    assert json.loads(run("source", "list", "--json").stdout)["sources"] == []
    told = json.loads(run("add", "okf:./bundle", "--source", "shop", "--json").stdout)
    assert told["report"]["added"] == 4
    assert "4 unchanged" in run("ingest", "shop").output


def test_concepts_that_supersede_one_another_are_named(tmp_path: Path) -> None:
    """A circle is told as a fault, and both stay."""
    files = {
        "a.md": "---\ntype: P\nsuperseded_by: b.md\n---\nA.\n",
        "b.md": "---\ntype: P\nsuperseded_by: a.md\n---\nB.\n",
    }
    _written(tmp_path / "bundle", files)
    run = runner(tmp_path / "library", WENYUAN_ENCODER__KIND="none")
    told = json.loads(run("add", f"okf:{tmp_path / 'bundle'}", "--source", "x", "--json", code=3).stdout)
    assert "in a circle, so none of them ends: a.md, b.md" in " ".join(told["report"]["failed"].values())
    states = [one["state"] for one in json.loads(run("document", "list", "--json").stdout)["documents"]]
    assert states.count("live") == 2


def _concept(**front: str) -> str:
    lines = "".join(f"{key}: {value}\n" for key, value in front.items())
    return f"---\ntype: Policy\n{lines}---\n\nThe river rises in spring.\n"


def test_a_circle_keeps_nothing_else_in_force(tmp_path: Path) -> None:
    """What is superseded beside it ends; what names nothing stays, and is told; all circles are told by names."""
    files = {
        "a.md": _concept(superseded_by="b.md"), "b.md": _concept(superseded_by="a.md"), "s.md": _concept(superseded_by="s.md"),
        "old.md": _concept(superseded_by="sub/newer.md"), "sub/newer.md": _concept(superseded_by="../newest.md"),
        "newest.md": _concept(), "lost.md": _concept(superseded_by="gone.md"),
    }  # fmt: skip
    run = runner(tmp_path / "library", WENYUAN_ENCODER__KIND="none")
    bundle = _written(tmp_path / "bundle", files)
    report = json.loads(run("add", f"okf:{bundle}", "--source", "x", "--json", code=3).stdout)["report"]
    assert [one.rpartition(": ")[2] for one in report["failed"].values()] == ["a.md, b.md, s.md"]
    assert [(uri.rpartition("/")[2], "gone.md" in notes[0]) for uri, notes in report["notes"].items()] == [
        ("lost.md", True)
    ]
    listed = json.loads(run("document", "list", "--json").stdout)["documents"]
    assert {one["uri"].rpartition("/")[2] for one in listed if one["state"] == "superseded"} == {"old.md", "newer.md"}


def test_a_successor_is_looked_for_beside_the_file(tmp_path: Path) -> None:
    """One of the same name in another folder, though it began long ago, ends nothing; with a slash, the root's is meant."""
    files = {
        "new.md": _concept(effective_from="2020-01-01"), "x/new.md": _concept(effective_from=LATER), "y/new.md": _concept(),
        "x/old.md": _concept(superseded_by="new.md"), "y/old.md": _concept(superseded_by="/new.md"),
    }  # fmt: skip
    run = runner(tmp_path / "library", WENYUAN_ENCODER__KIND="none")
    run("add", f"okf:{_written(tmp_path / 'bundle', files)}", "--source", "x")
    listed = json.loads(run("document", "list", "--json").stdout)["documents"]
    ended = {one["uri"].partition("/bundle/")[2]: one["effective_until"] for one in listed if "old" in one["uri"]}
    assert ended == {
        "x/old.md": (date.fromisoformat(LATER) - timedelta(days=1)).isoformat(),
        "y/old.md": "2019-12-31",
    }


@pytest.mark.parametrize("sensitivity", ["internal", "confidential", "restricted"])
@pytest.mark.parametrize(
    "text",
    [
        "---\ntype: P\n# call 13800138000\n---\nThe river.\n",
        "---\ntype: P\n---\nThe river. <!-- 13800138000 -->\n",
        "---\ntype: P\nparameters: [{name: p, default: '13800138000'}]\n---\nThe river.\n",
        "---\ntype: P\n---\nThe river.\n\n<p hidden>13800138000</p>\n",
    ],
)
def test_what_a_reader_does_not_look_at_is_not_exported(tmp_path: Path, sensitivity: str, text: str) -> None:
    """A file holds more than its text: where redaction would take something out of that, the text alone is written."""
    bundle = _written(tmp_path / "bundle", {"a.md": text})
    run = runner(tmp_path / "library", WENYUAN_ENCODER__KIND="none")
    run("add", f"okf:{bundle}", "--source", "x", "--sensitivity", sensitivity)
    told = json.loads(run("okf", "export", str(tmp_path / "out"), "--json").stdout)
    assert (told["concepts"], told["verbatim"]) == (1, 0)
    written = "".join(one.read_text("utf-8") for one in (tmp_path / "out").rglob("*.md"))
    assert "The river" in written
    assert "13800138000" not in written


def test_names_are_kept_or_told(tmp_path: Path) -> None:
    """Of concepts whose names not every file system takes; and what is no UTF-8 comes as its text."""
    names = ["a b#c.md", "a%20b.md", "UPPER.MD", "政策🦀.md", "x" * 220 + ".md", "a:b.md"]
    bundle = _written(tmp_path / "bundle", {name: _concept(title="T") for name in names})
    (bundle / "gbk.md").write_bytes("---\ntype: P\ntitle: 河流\n---\n河流很长，流过平原，最后入海。\n".encode("gbk"))
    run = runner(tmp_path / "library", WENYUAN_ENCODER__KIND="none")
    run("add", f"okf:{bundle}", "--source", "x")
    out = tmp_path / "out"
    told = json.loads(run("okf", "export", str(out), "--json").stdout)
    assert (told["concepts"], told["verbatim"], told["renamed"]) == (7, 6, {"a_b.md": "a:b.md"})
    assert all((out / name).read_bytes() == (bundle / name).read_bytes() for name in names[:-1])
    assert "河流很长" in (out / "gbk.md").read_text("utf-8")
    assert "a:b.md is called a_b.md" in run("okf", "export", str(tmp_path / "again")).output
    assert json.loads(run("okf", "check", str(out), "--json").stdout)["conforms"] is True
