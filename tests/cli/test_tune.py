"""`wenyuan tune` as people type it: what it prints, what it draws, what it refuses."""

from __future__ import annotations

import csv
import json
import shutil
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from typer.testing import Result

from command_line import run
from tuning_parts import ENCODER, golden, new_house
from wenyuan.cli.tune import bar

WORLD = {"WENYUAN_ENCODER__DIMENSION": str(ENCODER["dimension"]), "WENYUAN_SEARCH__FLOOR": "0"}


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tuned")
    new_house(folder).close()
    for name, count, shift in (("golden", 60, 0), ("senseless", 60, 17), ("few", 12, 0)):
        with (folder / f"{name}.csv").open("w", encoding="utf-8", newline="") as file:
            rows = csv.writer(file)
            rows.writerow(["问题", "来源"])
            rows.writerows((pair.question, pair.answer) for pair in golden(folder, count, shift=shift))
    return folder


@pytest.fixture(scope="module")
def tuned(original: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Result]:
    """A copy of the library that has learned, which takes seconds, and what was printed."""
    folder = tmp_path_factory.mktemp("learned") / "library"
    shutil.copytree(original / "library", folder)
    return folder, run("tune", "--library", folder, "--golden", original / "golden.csv", **WORLD)


@pytest.fixture
def learned(tuned: tuple[Path, Result], tmp_path: Path) -> Path:
    shutil.copytree(tuned[0], tmp_path / "library")
    return tmp_path / "library"


@pytest.fixture
def house(original: Path, tmp_path: Path) -> Path:
    shutil.copytree(original / "library", tmp_path / "library")
    return tmp_path / "library"


def test_tuning_shows_every_fold_and_how_to_take_it_back(tuned: tuple[Path, Result], learned: Path) -> None:
    """On 80 columns: a bar for each fold, before and after, the outcome; status and undo know of it."""
    _, shown = tuned
    assert shown.exit_code == 0, shown.output
    assert shown.stdout.count("▒") > 10
    assert shown.stdout.count(" → ") == 8
    assert "Error of the probabilities (ECE)" in shown.stdout
    assert "Adopted as tuning 1" in shown.stdout
    assert max(map(len, shown.stdout.splitlines())) <= 80
    assert "Tuning 1 counts since" in run("tune", "--library", learned, "--status", **WORLD).stdout
    assert "Tuning 1 is taken back" in run("tune", "--library", learned, "--undo", **WORLD).stdout
    again = run("tune", "--library", learned, "--undo", **WORLD)
    assert again.exit_code == 2
    assert "no tuning" in again.output


def test_status_says_that_a_tuning_of_another_encoder_does_not_count(learned: Path) -> None:
    """After `reembed` it is kept and ignored; with its own encoder again it counts."""
    other = WORLD | {"WENYUAN_ENCODER__KIND": "hashing", "WENYUAN_ENCODER__DIMENSION": "32"}
    assert run("reembed", "--library", learned, **other).exit_code == 0
    shown = run("tune", "--library", learned, "--status", **other)
    assert "does not count: it was learned with another encoder" in " ".join(shown.stdout.split())
    assert (
        json.loads(run("tune", "--library", learned, "--status", "--json", **other).stdout)["tuning"]["counts"]
        is False
    )
    assert run("reembed", "--library", learned, **WORLD).exit_code == 0
    assert "Tuning 1 counts since" in run("tune", "--library", learned, "--status", **WORLD).stdout
    assert (
        json.loads(run("tune", "--library", learned, "--status", "--json", **WORLD).stdout)["tuning"]["counts"]
        is True
    )


def test_in_json_one_document_says_it_all(original: Path, house: Path, tmp_path: Path) -> None:
    """Outcome, verdict with its folds, and pairs; the drawing is written, too."""
    plot = tmp_path / "gain.svg"
    shown = run(
        "tune",
        "--library",
        house,
        "--golden",
        original / "golden.csv",
        "--dry-run",
        "--json",
        "--plot",
        plot,
        **WORLD,
    )
    report = json.loads(shown.stdout)["report"]
    assert (report["outcome"], report["questions"], report["pairs"]) == ("would be adopted", 60, {"golden": 60})
    assert report["verdict"]["adopt"]
    assert len(report["verdict"]["by_fold"]) == 5
    circles = ET.parse(plot).getroot().findall("{http://www.w3.org/2000/svg}circle")
    assert len(circles) == 2 + 2 * 6


def test_a_refusal_is_said_in_chinese(original: Path, house: Path, tmp_path: Path) -> None:
    """What does not help is not adopted; the page is drawn all the same."""
    page = tmp_path / "gain.html"
    shown = run(
        "tune", "--library", house, "--golden", original / "senseless.csv", "--plot", page, "--lang", "zh", **WORLD
    )
    assert shown.exit_code == 0
    assert "未采用" in shown.stdout
    assert "未参与学习的问题" in page.read_text("utf-8")


def test_too_few_says_how_many_are_needed(original: Path, house: Path) -> None:
    """Twelve questions are declined with the number that it takes."""
    shown = run("tune", "--library", house, "--golden", original / "few.csv", **WORLD)
    assert shown.exit_code == 0
    assert "30 questions are needed" in shown.stdout


def test_questions_about_too_few_documents_are_told_with_a_way_out(
    original: Path, house: Path, tmp_path: Path
) -> None:
    """In both languages: how many documents are apart, that nothing is adopted, and what an FAQ is to do."""
    asked = tmp_path / "faq.csv"
    with asked.open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["问题", "来源"])
        rows.writerows((f"{pair.question} way{n}", pair.answer) for pair in golden(original, 8) for n in range(6))
    for language, words in (("en", "Documents apart from one another: 8"), ("zh", "可互相分开的文档8个")):
        shown = run("tune", "--library", house, "--golden", asked, "--lang", language, **WORLD)
        assert shown.exit_code == 0, shown.output
        flat = " ".join(shown.stdout.split())
        assert words in (flat if language == "en" else flat.replace(" ", ""))
        assert "--same-documents" in flat
    report = json.loads(run("tune", "--library", house, "--golden", asked, "--json", **WORLD).stdout)["report"]
    assert (report["outcome"], report["documents"], report["verdict"]) == ("cannot tell", 8, None)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--golden", "none.csv"], "there is no file or folder none.csv"),
        (["--golden", "{few}", "--plot", "gain.png"], "neither .svg nor .html"),
        (["--golden", "{few}", "--plot", "nowhere/gain.svg"], "cannot write nowhere/gain.svg"),
        (["--undo", "--status"], "stand alone"),
        (["--undo", "--dry-run"], "stand alone"),
        ([], "nothing to learn from"),
        (["--golden", "{few}", "--source", "none"], "no source 'none'"),
    ],
)
def test_what_makes_no_sense_is_refused(original: Path, house: Path, options: list[str], told: str) -> None:
    """Exit code 2, with what is wrong."""
    given = [option.format(few=original / "few.csv") for option in options]
    shown = run("tune", "--library", house, *given, **WORLD)
    assert shown.exit_code == 2
    assert told in " ".join(shown.output.split())


def test_faults_of_a_golden_file_are_shown_with_their_lines(house: Path, tmp_path: Path) -> None:
    """Each line that is at fault, in Chinese where that is wanted."""
    (tmp_path / "golden.csv").write_text("问题,来源\n,a.md\n甲,\n", "utf-8")
    shown = run("tune", "--library", house, "--golden", tmp_path / "golden.csv", "--lang", "zh", **WORLD)
    assert shown.exit_code == 2
    assert "缺少问题" in shown.output
    assert "缺少来源地址" in shown.output


def test_a_bar_shows_what_is_gained_and_what_is_lost() -> None:
    """Full blocks up to what both reach, then the difference."""
    assert bar(0.5, 0.8, 10) == "█████▒▒▒  "
    assert bar(0.8, 0.5, 10) == "█████░░░  "
