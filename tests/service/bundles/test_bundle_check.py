"""Folders that are bundles, and folders that are not quite."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from wenyuan.core.errors import SourceError
from wenyuan.readers.sandbox import Sandbox
from wenyuan.service.bundles.bundle_check import BundleCheck, BundleReport

Check = Callable[..., BundleReport]


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with Sandbox() as sandbox:
        yield sandbox


@pytest.fixture
def check(tmp_path: Path, sandbox: Sandbox) -> Check:
    """Checks a folder of these files."""

    def check(files: dict[str, str], **bounds: int) -> BundleReport:
        for name, text in files.items():
            path = tmp_path / "bundle" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, "utf-8")
        return BundleCheck(tmp_path / "bundle", sandbox.call, **bounds).run()

    return check


def _told(report: BundleReport) -> list[tuple[str, str, str]]:
    return [(one.path, one.severity, one.rule) for one in report.findings]


def test_a_sound_bundle(check: Check) -> None:
    """Nothing is found of it; links from the root and from the file are followed, those in code are none."""
    report = check(
        {
            "index.md": '---\nokf_version: "0.3"\ntitle: Shop\n---\n# Shop\n\n* [Leave](a/leave.md) - days\n* [a](a/)\n',
            "log.md": "# Log\n\n## 2026-06-02\n* x\n\n## 2026-06-01\n* y\n",
            "a/leave.md": "---\ntype: Policy\ngenerated: {by: agent/1, at: 2026-06-01T00:00:00Z}\n"
            "verified: {by: 'human:li', at: 2026-06-02T00:00:00Z}\n---\nSee [sick](./sick.md), [root](/a/sick.md).\n\n"
            "```\n[no](gone.md)\n```\n",
            "a/sick.md": "---\ntype: Policy\nstatus: deprecated\nsuperseded_by: leave.md\n---\n[web](https://x.example) [#](#a)\n",
        }
    )
    assert (_told(report), report.conforms, report.version, report.concepts, report.files) == ([], True, "0.3", 2, 4)


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("---\ntype: [\n---\nx", "front_matter"),
        ("---\n- a\n- b\n---\nx", "front_matter"),
        ("---\n" + "a: " + "[" * 500 + "\n---\nx", "front_matter"),
    ],
)
def test_front_matter_that_is_no_mapping_breaks_the_format(check: Check, text: str, rule: str) -> None:
    """Broken YAML, a list, brackets without end."""
    report = check({"a.md": text})
    assert (_told(report), report.conforms) == ([("a.md", "error", rule)], False)


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("just text", "no_concept"),
        ("---\ntitle: x\n---\ny", "no_concept"),
        ("---\ntype: P\nstale_after: 2020-01-01T00:00:00Z\n---\nx", "stale"),
        ("---\ntype: P\nstale_after: 2199-01-01\n---\nx", "offset"),
        ("---\ntype: P\ngenerated: {by: a/1, at: never}\n---\nx", "time"),
        (
            "---\ntype: P\ngenerated: {by: a/1, at: 2026-01-02T00:00:00Z}\nverified: {by: 'human:x', at: 2026-01-01T00:00:00Z}\n---\nx",
            "verified_before",
        ),
        ("---\ntype: P\nverified: {by: somebody, at: 2026-01-01T00:00:00Z}\n---\nx", "actor"),
        ("---\ntype: P\nstatus: old\n---\nx", "status"),
        ("---\ntype: P\nsources: [{title: x}]\n---\nx", "source"),
        ("---\ntype: P\n---\n[x](gone.md)", "broken_link"),
        ("---\ntype: P\nsuperseded_by: gone.md\n---\nx", "superseded_by"),
        ("---\ntype: P\nsuperseded_by: ../../etc/passwd\n---\nx", "superseded_by"),
        ("---\ntype: P\nsuperseded_by: a.md\n---\nx", "circle"),
    ],
)
def test_what_a_reader_should_know_breaks_nothing(check: Check, text: str, rule: str) -> None:
    """It is told, and the bundle is one."""
    report = check({"a.md": text, "z.md": "---\ntype: P\n---\nx"})
    assert (_told(report), report.conforms) == ([("a.md", "warning", rule)], True)


def test_until_version_2_every_file_is_a_concept(check: Check) -> None:
    """There a file without a type breaks the format."""
    report = check({"index.md": '---\nokf_version: "0.2"\n---\n# x\n', "README.md": "text"})
    assert (_told(report), report.conforms) == ([("README.md", "error", "no_concept")], False)


def test_reserved_files_have_their_form(check: Check) -> None:
    """No front matter below the root, days as headings of a log, newest first."""
    report = check(
        {
            "index.md": "---\nokf_version: '0.3'\nowner: li\n---\n# x\n",
            "a/index.md": "---\ntitle: x\n---\n# x\n",
            "log.md": "---\ntype: Log\n---\n## 2026-06-01\n## 2026-06-02\n",
            "a/log.md": "## last week\n## 2026-13-01\n",
        }
    )
    assert sorted(_told(report)) == [
        ("a/index.md", "error", "index_front_matter"),
        ("a/log.md", "error", "log_date"),
        ("a/log.md", "error", "log_date"),
        ("index.md", "warning", "index_key"),
        ("log.md", "warning", "log_front_matter"),
        ("log.md", "warning", "log_order"),
    ]


def test_circles_end(check: Check) -> None:
    """Concepts that supersede one another are named, those that lead there are not."""
    files = {
        name: f"---\ntype: P\nsuperseded_by: {after}\n---\nx"
        for name, after in [("a.md", "b.md"), ("b.md", "c.md"), ("c.md", "b.md")]
    }
    assert _told(check(files)) == [("b.md", "warning", "circle"), ("c.md", "warning", "circle")]


def test_links_out_of_it_and_too_many_files(check: Check, tmp_path: Path) -> None:
    """Links are not followed; what was not looked at is no sound bundle."""
    (tmp_path / "secret.md").write_text("---\ntype: P\n---\nsecret", "utf-8")
    (tmp_path / "bundle").mkdir()
    (tmp_path / "bundle" / "a.md").symlink_to(tmp_path / "secret.md")
    (tmp_path / "bundle" / "up").symlink_to(tmp_path)
    report = check({"b.md": "---\ntype: P\n---\nx"})
    assert (_told(report), report.concepts) == ([("up", "warning", "link"), ("a.md", "warning", "link")], 1)
    cut = check({f"{n}.md": "---\ntype: P\n---\nx" for n in range(5)}, most=3)
    assert (cut.conforms, "3" in cut.cut) == (False, True)


def test_what_is_not_there_or_is_no_text(check: Check, tmp_path: Path, sandbox: Sandbox) -> None:
    """A missing folder is a failure; a file that is no UTF-8 breaks the format."""
    with pytest.raises(SourceError):
        BundleCheck(tmp_path / "none", sandbox.call).run()
    (tmp_path / "bundle").mkdir()
    (tmp_path / "bundle" / "a.md").write_bytes(b"---\ntype: \xff\n---\n")
    assert _told(check({})) == [("a.md", "error", "utf8")]


@pytest.mark.parametrize("files", [{}, {"README.md": "# Read me\n"}, {"run.py": "x = 1\n"}])
def test_a_folder_without_concepts_is_no_bundle(check: Check, tmp_path: Path, files: dict[str, str]) -> None:
    """Also an empty one; where its index says that it is one, nothing is missing."""
    (tmp_path / "bundle").mkdir()
    report = check(files)
    assert (".", "error", "no_concepts") in _told(report)
    assert not report.conforms
    assert check({"index.md": '---\nokf_version: "0.3"\n---\n# Shop\n'}).conforms


@pytest.mark.parametrize(
    "front",
    [
        "title: [x]\n",
        "title: true\n",
        "effective_from: x\n",
        "effective_from: 2026-02-01\neffective_until: 2026-01-01\n",
    ],
)
def test_the_check_foretells_what_is_not_taken_in(check: Check, front: str) -> None:
    """It reads as a library does."""
    assert ("a.md", "warning", "not_read") in _told(check({"a.md": f"---\ntype: P\n{front}---\nx\n"}))


def test_front_matter_alone_and_numbers_of_any_length(check: Check) -> None:
    """A concept without text is not taken in; a number that is longer than any database keeps is no obstacle."""
    told = _told(
        check({"a.md": "---\ntype: P\n---\n", "b.md": f"---\ntype: P\nx: 0x{'f' * 5000}\ny: {9**30}\n---\nx\n"})
    )
    assert told == [("a.md", "warning", "not_read")]


@pytest.mark.parametrize("end", ["\r", "\r\n", "\n"])
def test_line_ends_of_every_system(check: Check, tmp_path: Path, end: str) -> None:
    """A file with any of them is a concept."""
    (tmp_path / "bundle").mkdir()
    (tmp_path / "bundle" / "a.md").write_bytes(f"---{end}type: P{end}---{end}x{end}".encode())
    assert (check({}).concepts, _told(check({}))) == (1, [])


def test_links_are_followed_as_a_library_does(check: Check, tmp_path: Path) -> None:
    """A link to a file of the bundle is that file; what leads out, and folders, are named."""
    (tmp_path / "bundle").mkdir()
    (tmp_path / "out.md").write_text("---\ntype: P\n---\nx\n")
    for name, target in (("in.md", "a.md"), ("out.md", "../out.md"), ("folder", ".")):
        (tmp_path / "bundle" / name).symlink_to(target)
    report = check({"a.md": "---\ntype: P\n---\nx\n"})
    assert report.concepts == 2
    assert {(path, rule) for path, _, rule in _told(report)} == {("out.md", "link"), ("folder", "link")}


def test_front_matter_that_is_too_long_says_so(check: Check) -> None:
    """It is not called absent."""
    report = check({"a.md": "---\ntype: P\nx: " + "y" * 70_000 + "\n---\nx\n"})
    assert [(one.rule, "longer than 65,536" in one.message) for one in report.findings if one.path == "a.md"] == [
        ("front_matter", True)
    ]
