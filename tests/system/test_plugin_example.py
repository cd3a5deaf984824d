"""The plugin in `examples/subtitles`, installed as its users install it."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Mapping
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parents[2] / "examples" / "subtitles"
TALK = """WEBVTT

1
00:00:58.000 --> 00:01:01.500
<v Ann>The spare pump stands

2
00:01:01.500 --> 00:01:04.000
behind the boiler room.
"""
CHINESE = "WEBVTT\n\n01:02:03.000 --> 01:02:06.000\n备用水泵每月试运行一次。\n"


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, str]:
    """An environment in which the example is installed, without a network."""
    return environment(tmp_path_factory.mktemp("installed"))


def environment(folder: Path, version: str = "1.0", changes: Mapping[str, str] = {}) -> Mapping[str, str]:
    """An environment with the example as of a version, after these changes of its code, installed without a network."""
    source = shutil.copytree(EXAMPLE, folder / "source")
    (project := source / "pyproject.toml").write_text(
        project.read_text("utf-8").replace('"1.0"', f'"{version}"'), "utf-8"
    )
    (module := source / "wenyuan_subtitles.py").write_text(replaced(module.read_text("utf-8"), changes), "utf-8")
    flags = ["--no-deps", "--no-build-isolation", "--no-index", "--quiet", "--disable-pip-version-check"]
    target = folder / "packages"
    subprocess.run([sys.executable, "-m", "pip", "install", *flags, "--target", target, source], check=True)
    path = os.pathsep.join([str(target), os.environ.get("PYTHONPATH", "")])
    return {**os.environ, "PYTHONPATH": path, "WENYUAN_ENCODER__KIND": "none", "LC_ALL": "C.UTF-8"}


def replaced(text: str, changes: Mapping[str, str]) -> str:
    """A text after changes, each of words that stand in it once."""
    for old, new in changes.items():
        assert text.count(old) == 1
        text = text.replace(old, new)
    return text


def run(world: Mapping[str, str], folder: Path, *args: str) -> tuple[int, dict[str, object]]:
    done = subprocess.run(
        [sys.executable, "-m", "wenyuan.cli", "--library", "library", *args, "--json"], env=world, cwd=folder,
        capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip
    return done.returncode, json.loads(done.stdout)


def test_what_the_plugin_read_is_found_at_its_second(world: Mapping[str, str], tmp_path: Path) -> None:
    """In both languages, in a library in a relative folder; an archive is looked into for such files, too."""
    (tmp_path / "talks").mkdir()
    (tmp_path / "talks" / "tour.vtt").write_text(TALK, "utf-8")
    (tmp_path / "talks" / "参观.vtt").write_text(CHINESE, "utf-8")
    with zipfile.ZipFile(tmp_path / "talks" / "older.zip", "w") as packed:
        packed.writestr("talk.srt", "1\n00:00:07,000 --> 00:00:09,000\nThe gantry crane is painted yellow.\n")
    assert run(world, tmp_path, "init")[0] == 0
    status, report = run(world, tmp_path, "add", "talks", "--source", "talks")
    assert status == 0, report
    for question, second in (
        ("Where does the spare pump stand?", 58),
        ("备用水泵多久试运行一次？", 3_723),
        ("gantry crane", 7),
    ):
        status, answer = run(world, tmp_path, "search", question)
        assert status == 0
        assert re.search(rf"\.(vtt|srt)#t={second}(?![0-9])", json.dumps(answer)), answer


def test_what_an_older_version_of_the_plugin_read_is_read_anew(world: Mapping[str, str], tmp_path: Path) -> None:
    """At the next refresh, files in archives, too; files that the program reads itself stay as they are."""
    (tmp_path / "talks").mkdir()
    (tmp_path / "talks" / "tour.vtt").write_text(TALK, "utf-8")
    (tmp_path / "talks" / "notes.md").write_text("# Tour\n\nThe tour begins at the gate.\n", "utf-8")
    with zipfile.ZipFile(tmp_path / "talks" / "older.zip", "w") as packed:
        packed.writestr("talk.srt", "1\n00:00:07,000 --> 00:00:09,000\nThe gantry crane is painted yellow.\n")
    assert run(world, tmp_path, "init")[0] == 0
    assert run(world, tmp_path, "add", "talks", "--source", "talks")[0] == 0
    _, again = run(world, tmp_path, "refresh", "talks")
    assert json.dumps(again).count('"unchanged": 3') == 1, again

    changes = {'yield Piece("paragraph", sentence, anchor=anchor)\n            sentence': 'yield Piece("paragraph", f"Said: {sentence}", anchor=anchor)\n            sentence'}  # fmt: skip
    upgraded = environment(tmp_path / "upgraded", "1.1", changes)
    status, report = run(upgraded, tmp_path, "refresh", "talks")
    assert status == 0, report
    assert ('"changed": 2' in json.dumps(report), '"unchanged": 1' in json.dumps(report)) == (True, True), report
    _, answer = run(upgraded, tmp_path, "search", "Where does the spare pump stand?")
    assert "Said: The spare pump stands" in json.dumps(answer)


def test_the_doctor_lists_the_plugin(world: Mapping[str, str], tmp_path: Path) -> None:
    """With the extension point, the name and the package."""
    assert run(world, tmp_path, "init")[0] == 0
    _, report = run(world, tmp_path, "doctor")
    (check,) = (check for check in report["checks"] if check["name"] == "plugins")  # type: ignore[attr-defined]
    assert check["state"] == "ok"
    names = "wenyuan.readers srt (wenyuan-subtitles 1.0), wenyuan.readers vtt (wenyuan-subtitles 1.0)"
    assert check["detail"] == names


def test_what_it_cannot_read_is_refused_with_its_reason(world: Mapping[str, str], tmp_path: Path) -> None:
    """As of any other file: nothing is taken in, and the reason is told."""
    (tmp_path / "talks").mkdir()
    (tmp_path / "talks" / "empty.srt").write_text("no times here\n")
    run(world, tmp_path, "init")
    status, report = run(world, tmp_path, "add", "talks", "--source", "talks")
    assert status != 0
    assert "empty.srt: no words with a time" in json.dumps(report)


def test_the_example_is_short() -> None:
    """Sixty lines at most, with its documentation."""
    assert len((EXAMPLE / "wenyuan_subtitles.py").read_text("utf-8").splitlines()) <= 60
