"""Every script of measurements can be started: each is run here as its first lines say, on as little as it takes."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import wenyuan
from chat_api import chat_api
from small_sets import write_set

BENCH = Path(__file__).parents[2] / "bench"

SMALL = {
    "audit": "--records 100",
    "cache": "--passages 60 --repeats 3",
    "capacity": "",
    "claims": "--half tuned --set last",
    "codes": "--rows 17000 --queries 2 --candidates 50",
    "commands": "--rounds 1 --commands corrections",
    "conflicts": "",
    "console_pages": "--passages 40 --records 60 --rounds 1",
    "context": "{zh} --cache {cache} --contexts document",
    "contextual": "{zh} --cache {cache} --limit 5",
    "doors": "--pairs 3",
    "engines": "--engines local --passages 200 --rounds 2",
    "fidelity": "",
    "first_question": "--rounds 1 --busy 0 --passages 8 --doors python --deadline 10",
    "first_passage": "{zh} {en} {small} --limit 5 --cache {cache} --keep {scratch}/asked",
    "gaps": "",
    "growth": "--parsers robots --shapes wildcards letters",
    "ingest": "--passages 60",
    "judge": "--sets 3 --compared 2",
    "linking": "",
    "memory": "--minutes 0.02 --each 1 --documents 10 --clients 4",
    "mining": "{zh} --limit 5 --cache {cache}",
    "ocr": "--pages 1 --kinds clean",
    "parts": "--passages 200",
    "peers_at_size": "--passages 60 --rounds 2 --only wenyuan tantivy",
    "quantities": "{zh} --cache {cache} --limit 10",
    "read_path": "{library} 报销",
    "readers": "--documents 30 --readers 20 --groups 10 --members 20 --questions 3",
    "rewriting": "{zh} --cache {cache} --limit 3",
    "rules": "--nodes 300 --statements 900 --rounds 2",
    "scale": "--sizes 200 --rounds 2 --folder {scratch}",
    "scoring": "{zh} --limit 5 --cache {cache}",
    "rules_beside": "{zh} --cache {cache} --limit 3",
    "search": "--passages 200 --rounds 3",
    "redaction_forms": "",
    "scripted_month": "--questions 40 --gaps 6 --days 2 --half tuned --plot {scratch}/month.svg",
    "spoken": "--packs customer_service --limit 2",
    "serve": "--passages 200 --seconds 0.2 --clients 2 --cases echo hybrid --processes 1 2",
    "redaction_company": "--missed",
    "redaction_paperwork": "--missed",
    "redaction_names": "--missed",
    "redaction_addressed": "--missed",
    "redaction_shapes": "--missed",
    "transfer": "{zh} {en} --limit 5 --cache {cache}",
    "tune": "{zh}:10 --cache {cache}",
    "verify": "{zh} --passages 24 --each 2",
    "worker_faults": "--rounds 1 --record folder --faults killed",
    "workers": "--documents 20 --workers 2 --latency 0.01 --folder",
    "writing": "--documents 20 --where same",
}
"""The arguments of each, where ``{name}`` stands for what the tests make."""

ELSEWHERE = {
    "adapter": "needs jax",
    "addresses": "counts in Chromium what stands at thousands of addresses",
    "cross_encoder": "needs PyTorch",
    "encoder": "loads the encoder anew in five processes",
    "fidelity_made": "makes the documents of fidelity.py",
    "history": "what one_record.py compares answers with, see test_history.py",
    "made": "makes the passages of search.py",
    "conflict_subjects": "what conflicts.py compares",
    "month_company": "the company of scripted_month.py",
    "made_pages": "makes the pages of ocr.py",
    "real_model": "asked with a chat API below",
    "reworded_conflicts": "",
    "redaction": "run by the tests of redaction",
    "redaction_company_forms": "the texts of redaction_company.py",
    "redaction_paperwork_forms": "the texts of redaction_paperwork.py",
    "redaction_fill": "fills the texts of redaction_forms.py",
    "redaction_peers": "needs Presidio",
    "redaction_shape_texts": "the texts of redaction_shapes.py",
    "redaction_texts": "the texts of redaction_forms.py",
    "redaction_people": "the values of redaction_forms.py",
    "redaction_written": "the texts of redaction_forms.py",
    "redaction_values": "makes the values of redaction_forms.py",
    "reranking": "gathers for cross_encoder.py, below",
    "failover": "promotes a PostgreSQL, as tests/system/test_failover.py does",
    "one_record": "kills servers for minutes; for seconds tests/system/test_one_record.py does",
    "restarts": "stops a PostgreSQL again and again, which the tests of the engines do",
    "servers": "runs several servers on a PostgreSQL, which the tests of the catalog do",
}
"""Those that are not in the table above, and why."""


def run(script: str, *arguments: str, home: Path) -> str:
    """What a script prints; it must end well."""
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(sys.path),
        "XDG_CACHE_HOME": str(home),
        "TMPDIR": str(home),
    }
    command = [sys.executable, str(BENCH / f"{script}.py"), *arguments]
    done = subprocess.run(
        command, env=environment, cwd=home, capture_output=True, text=True, timeout=600, check=False
    )
    assert done.returncode == 0, done.stderr[-3_000:]
    return done.stdout


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Two judged sets, a library, and folders to write to."""
    home = tmp_path_factory.mktemp("bench")
    library = home / "library"
    with wenyuan.open(library, create=True) as made:
        text = home / "text.md"
        text.write_text("# 报销\n\n报销单据应当在返回后十五日内提交。\n", "utf-8")
        made.add(wenyuan.Source(source_id="rules", path=str(text)))
    sets = {language: str(write_set(home / language, language)) for language in ("zh", "en")}
    small = home / "small"
    (small / "docs").mkdir(parents=True)
    (small / "docs" / "leave.md").write_text(
        "# 年假\n\n年假可以结转至次年三月。\n\n# 会议室\n\n会议室须提前一天预订。\n", "utf-8"
    )
    rows = ["id\tkind\tquestion\tfile\tmust_contain", "1\tspoken\t年假能留到明年吗\tleave.md\t次年三月|三月"]
    rows += [
        "2\tspoken\t会议室怎么订\tleave.md\t提前一天",
        "3\tna_near\t病假怎么请\t\t",
        "4\tna_far\t木星有几颗卫星\t\t",
    ]
    (small / "questions.tsv").write_text("\n".join(rows) + "\n", "utf-8")
    return {
        **sets,
        "small": str(small),
        "library": str(library),
        "cache": str(home / "cache"),
        "scratch": str(home / "scratch"),
        "home": str(home),
    }


def test_each_script_is_started_or_says_why_not() -> None:
    """A new script has to be put into one of the two tables."""
    there = {path.stem for path in BENCH.glob("*.py")}
    assert SMALL.keys() | ELSEWHERE.keys() == there
    assert not SMALL.keys() & ELSEWHERE.keys()


@pytest.mark.parametrize("script", sorted(SMALL))
def test_a_script_measures(script: str, places: dict[str, str]) -> None:
    """It ends without an error, and prints figures."""
    arguments = SMALL[script].format(**places).split()
    printed = run(script, *arguments, home=Path(places["home"]))
    assert any(c.isdigit() for c in printed)


def test_a_command_that_writes_a_file_is_measured_in_more_than_one_round(places: dict[str, str]) -> None:
    """What the round before wrote is in nobody's way."""
    printed = run(
        "commands", "--rounds", "2", "--commands", "audit export {scratch}/audit.jsonl", home=Path(places["home"])
    )
    assert "audit export audit.jsonl" in printed


def test_what_a_reranker_is_given_is_gathered(places: dict[str, str], tmp_path: Path) -> None:
    """What `cross_encoder.py` learns from: the passages that are found, with what is right."""
    keep = tmp_path / "keep"
    run("reranking", "gather", places["zh"], "--keep", str(keep), "--cache", places["cache"], "--limit", "4",
        home=Path(places["home"]))  # fmt: skip
    assert [path for path in keep.rglob("*") if path.is_file()]


def test_a_chat_api_is_asked_by_every_feature(places: dict[str, str]) -> None:
    """A model that says nothing of the form makes each feature say so."""
    with chat_api(lambda _body: {"role": "assistant", "content": "no"}) as (url, asked):
        printed = run("real_model", "--url", url, "--model", "none", "--timeout", "30", home=Path(places["home"]))
    assert asked
    assert printed.count("\n| ") >= 8


def test_the_path_of_an_added_file_is_counted(places: dict[str, str], tmp_path: Path) -> None:
    """Of a file that is taken in, functions, files and changes of file are printed; the library that was copied stays as it was."""
    library = tmp_path / "library"
    shutil.copytree(places["library"], library)
    (tmp_path / "visitors.md").write_text("# Visitors\n\nVisitors sign in at the front desk.\n", "utf-8")
    printed = run("read_path", str(library), "--add", str(tmp_path / "visitors.md"), home=Path(places["home"]))
    assert re.search("1 added: [0-9]{3,} functions in [0-9]+ files, [0-9]{3,} changes of file", printed)
