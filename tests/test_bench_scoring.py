"""The measurements of what the steps of the score are worth and what the floors keep: on small sets, by hand."""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from wenyuan.core.text import identifiers

BENCH = Path(__file__).resolve().parents[1] / "bench"
LAWS = {"安全生产法": 14, "数据安全法": 25}


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Imports a script of the folder; afterwards none of them is known."""
    monkeypatch.syspath_prepend(str(BENCH))
    yield importlib.import_module
    for name in ("floors", "scoring"):
        sys.modules.pop(name, None)


def judged_set(folder: Path, entries: list[dict[str, Any]], questions: dict[str, str]) -> Path:
    """A set in BEIR layout; each question is answered by the entry of the same name."""
    folder.mkdir()
    lines = (json.dumps(entry, ensure_ascii=False) for entry in entries)
    (folder / "corpus.jsonl").write_text("\n".join(lines), "utf-8")
    lines = (json.dumps({"_id": f"q{name}", "text": text}, ensure_ascii=False) for name, text in questions.items())
    (folder / "queries.jsonl").write_text("\n".join(lines), "utf-8")
    judged = "".join(f"q{name}\t{name}\t1\n" for name in questions)
    (folder / "qrels.tsv").write_text(f"query-id\tcorpus-id\tscore\n{judged}", "utf-8")
    return folder


def laws(folder: Path) -> Path:
    entries = [
        {"_id": f"{law}{n}", "title": f"{law} 第{n}条", "text": f"第{n}条 {law}的规定，共{n}项。",
         "metadata": {"law": law, "article_no": n}}
        for law, last in LAWS.items() for n in range(1, last + 1)
    ]  # fmt: skip
    return judged_set(folder, entries, {"安全生产法13": "安全生产法第十三条", "数据安全法21": "数据安全法第21条"})


def test_numbers_are_written_as_they_are_read(bench: Any) -> None:
    """Every number up to 1,999, in Chinese and in full width, names the article that it names in digits."""
    scoring = bench("scoring")
    for n in range(1, 2_000):
        assert identifiers(f"第{scoring.chinese(n)}条") == identifiers(f"第{n}条"), n
        assert identifiers(f"第{str(n).translate(scoring.WIDE)}条") == identifiers(f"第{n}条"), n


def test_articles_are_found_however_they_are_written(bench: Any, tmp_path: Path, capsys: Any) -> None:
    """Every way to write them is a row, and finds the article of the law that is named."""
    scoring = bench("scoring")
    scoring.references(laws(tmp_path / "laws"), tmp_path / "cache", 10, "none")
    rows = [line.split("|") for line in capsys.readouterr().out.splitlines() if line.startswith("|")][2:]
    assert len(rows) == 1 + len(scoring.FORMS)
    assert {float(row[2]) for row in rows} == {1.0}


def test_a_step_that_is_switched_off_comes_back(bench: Any, tmp_path: Path) -> None:
    """Without names an article scores as any other text that shares words; afterwards as before, floors included."""
    scoring = bench("scoring")
    _, library = scoring.opened(laws(tmp_path / "laws"), tmp_path / "cache", "none")

    def asked() -> tuple[float, bool]:
        hit = library.search("安全生产法第十三条", limit=1).hits[0]
        return hit.parts["raw"], "identifier" in hit.parts

    with library:
        before, floors = asked(), library._retriever.floors()
        with scoring.switched(library, scoring.STEPS["names"]):
            assert asked()[1] is False
            assert all(told["score"] == 0 for told in library._retriever.floors().values())
        assert (asked(), library._retriever.floors()) == (before, floors)
        assert before[1] is True


@pytest.mark.parametrize(("change", "shown"), [(0.0, "0"), (0.0004, "0"), (0.05, "+.050"), (-0.0126, "−.013")])
def test_differences_are_shown_short(bench: Any, change: float, shown: str) -> None:
    """A sign, and three places; nothing where that would be nothing."""
    assert bench("scoring").signed(change) == shown


def test_a_library_of_two_languages_knows_what_is_across(bench: Any, tmp_path: Path) -> None:
    """Every second paragraph is there in one language; questions whose answer is in the other one are told apart."""
    floors = bench("floors")
    texts = {"zh": "第{}段讲的是投诉。", "en": "Paragraph {} is about complaints."}
    one, other = (
        judged_set(
            tmp_path / name,
            [{"_id": f"{name}{n}", "text": text.format(n)} for n in range(6)],
            {f"{name}{n}": text.format(n) for n in range(6)},
        )
        for name, text in texts.items()
    )
    folder = floors.mixed(one, other, tmp_path / "mixed")
    kinds = floors.questions(folder, (one, other), 10)
    assert {kind: len(found) for kind, found in kinds.items()} == {
        "Chinese": 3, "English": 3, "across, Chinese": 3, "across, English": 3,
    }  # fmt: skip
    held = {json.loads(line)["_id"][2:] for line in (folder / "corpus.jsonl").read_text("utf-8").splitlines()}
    assert held == set("012345")
