"""The measurements of what the steps of the score are worth, here and elsewhere: on small sets, by hand."""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from wenyuan.core.text.analysis import identifiers

BENCH = Path(__file__).resolve().parents[2] / "bench"
LAWS = {"安全生产法": 14, "数据安全法": 25}


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Imports a script of the folder; afterwards none of them is known."""
    monkeypatch.syspath_prepend(str(BENCH))
    yield importlib.import_module
    for name in ("transfer", "scoring"):
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
    """Without names an article scores as any other text that shares words; afterwards as before, refusals included."""
    scoring = bench("scoring")
    _, library = scoring.opened(laws(tmp_path / "laws"), tmp_path / "cache", "none")

    def asked() -> tuple[float, bool, bool]:
        hit = library.search("安全生产法第十三条", limit=1).hits[0]
        return hit.parts["raw"], "identifier" in hit.parts, bool(library.search("规定 asdf qwer zxcv hjkl yuio").hits)

    with library:
        before, floors = asked(), library._retriever.floors()
        with scoring.switched(library, scoring.STEPS["names"]):
            assert asked()[1:] == (False, True)
        assert (asked(), library._retriever.floors()) == (before, floors)
        assert before[1:] == (True, False)


@pytest.mark.parametrize(("change", "shown"), [(0.0, "0"), (0.0004, "0"), (0.05, "+.050"), (-0.0126, "−.013")])
def test_differences_are_shown_short(bench: Any, change: float, shown: str) -> None:
    """A sign, and three places; nothing where that would be nothing."""
    assert bench("scoring").signed(change) == shown


def test_what_is_chosen_is_chosen_by_the_others(bench: Any) -> None:
    """The weight that is best where the collection is not counted; a model that tells apart what the others tell apart."""
    transfer = bench("transfer")
    flat = {f"{w:g}": [0.5] for w in transfer.WEIGHTS}
    here, there = {"weights": {**flat, "0.5": [0.9]}}, {"weights": {**flat, "0.9": [0.6]}}
    assert transfer.best_weight([there]) == "0.9"
    assert transfer.best_weight([here, there]) == "0.5"

    def row(kind: str, nearness: float) -> dict[str, Any]:
        return {"kind": kind, "scope": "all", "nearness": nearness, "keyword": 0.2, "apart": 0.1, "margin": 0.1,
                "coverage": 0.5, "strange": 0.0, "missing": False, "first": [[1.5, int(kind == "own")]]}  # fmt: skip

    rows = [row("own", 0.4 + n / 100) for n in range(9)] + [row("foreign", 0.1 + n / 100) for n in range(9)]
    model = transfer.fitted([{"rows": rows}])
    likely, unlikely = (model.probability(transfer.standing(row("own", nearness))) for nearness in (0.45, 0.1))
    assert likely > 0.8 > 0.2 > unlikely
    assert transfer.error(rows, model, transfer.curve_of([{"rows": rows}])) < 0.3


def test_a_set_is_asked_as_a_stranger_and_as_its_own(bench: Any, tmp_path: Path) -> None:
    """Own questions with and without what answers them, in their document and in another; those of others; nonsense."""
    transfer = bench("transfer")
    entries = [
        {"_id": f"{name}#{n}", "title": "", "text": f"{name} part {n} of the guide tells about {topic}."}
        for name, topics in (("garden", ("roses", "apples", "hedges")), ("kitchen", ("soups", "breads", "sauces")))
        for n, topic in enumerate(topics)
    ]
    folder = judged_set(
        tmp_path / "guides", entries, {"garden#1": "who tells about apples", "kitchen#0": "soups of the guide"}
    )
    told = transfer.asked(folder, ["陈凯歌哪一年出生"], tmp_path / "cache", 10)
    kinds = {(row["kind"], row["scope"]) for row in told["rows"]}
    assert {(kind, "all") for kind in ("own", "removed", "foreign", "nonsense")} | {
        (kind, "document") for kind in ("own", "near")
    } <= kinds
    own = [row for row in told["rows"] if (row["kind"], row["scope"]) == ("own", "document")]
    assert len(own) == 2 and all(row["first"][0][1] == 1 for row in own)
    assert all(not any(right for _, right in row["first"]) for row in told["rows"] if row["kind"] != "own")
    assert told["weights"]["0.75"] == [1.0, 1.0]
