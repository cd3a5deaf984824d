"""Corrections in a library: what rules quote follows, and another encoder has the questions; on the command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import wenyuan
from scanned import scans
from wenyuan.cli.root import app
from wenyuan.core.errors import NotFound
from wenyuan.core.model import Source
from wenyuan.readers.rulebooks.selection import read_book
from wenyuan.service.ingest.corrections import CorrectionRequest
from wenyuan.service.rules.unified import RuleQuestion

PAGE = "# 基坑规范\n\n## 第十三条\n\n深基坑开挖应当配备挖掘机，并有专人指挥。\n\n## 第十四条\n\n夜间施工应有足够的照明。\n"
BOOK = """\
pack: quoted
schema:
  kinds: {{process: {{zh: 工序}}, equipment: {{zh: 设备}}}}
  relations: {{requires: {{zh: 需要设备, from: [process], to: [equipment]}}}}
  patterns: {{needs: {{start: process, collect: {{equipment: [requires]}}}}}}
sources:
  - {{id: pit, title: 基坑规范, uri: "{uri}", trust: 5, domain: construction, language: zh}}
process: [{{name: 深基坑开挖}}]
equipment: [{{name: 挖掘机}}]
statements:
  - src: 深基坑开挖
    rel: requires
    dst: 挖掘机
    evidence: [{{source: pit, clause: 第十三条, quote: 深基坑开挖应当配备挖掘机}}]
"""


def test_rules_lose_the_words_that_a_correction_takes_away(tmp_path: Path) -> None:
    """As when a document changes: the evidence is withdrawn, and the rule is given no more."""
    page, book = tmp_path / "pit.md", tmp_path / "book.yaml"
    page.write_text(PAGE, "utf-8")
    book.write_text(BOOK.format(uri=page.as_uri()), "utf-8")
    with wenyuan.open(tmp_path / "library", create=True, encoder={"kind": "none"}) as library:
        library.add(
            Source(source_id="pit", path=str(page), title="基坑规范", trust=5, domain="construction", language="zh")
        )
        assert not library.rules.take(read_book(book)).errors
        asked = RuleQuestion(processes=("深基坑开挖",))
        assert [item.metadata["name"] for item in library.infer_rules(asked).items] == ["挖掘机"]
        (document,) = library.list_documents().documents
        passages = library.document_passages(document["document_id"]).passages
        quoted = next(one for one in passages if "挖掘机" in one["text"])
        text = quoted["text"].replace("应当配备挖掘机", "可以配备挖掘机")
        library.correct(CorrectionRequest(action="text", ref=quoted["ref"], text=text))
        assert library.infer_rules(asked).items == ()


def test_another_encoder_embeds_the_questions(tmp_path: Path) -> None:
    """What people say that a passage answers is embedded with it, and again when the library is embedded anew."""
    with scans(tmp_path) as library:
        (document,) = library.list_documents(q="scan.md").documents
        (passage,) = library.document_passages(document["document_id"]).passages
        library.correct(CorrectionRequest(action="questions", ref=passage["ref"], questions=("谁值夜班", "夜里找谁")))
        texts = {label or text for _, text, label in library.catalog.embedded_after(0, 10)}
        assert "谁值夜班\n夜里找谁" in texts
        embedded = [text for _, text, _ in library.catalog.embedded_after(0, 10) if "谁值夜班" in text]
        assert len(embedded) == 1
        assert passage["text"] in embedded[0]
        with pytest.raises(NotFound):
            library.correct(CorrectionRequest(action="exclude", ref=passage["ref"]))


def test_the_command_line_corrects_and_undoes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As JSON and for people, in both languages; what is wrong is refused with what to do."""
    monkeypatch.setenv("WENYUAN_ENCODER__KIND", "hashing")
    with scans(tmp_path) as library:
        (document,) = library.list_documents(q="scan.md").documents
        number = str(document["document_id"])
        (passage,) = library.document_passages(document["document_id"]).passages
    run, where = CliRunner().invoke, ["--library", str(tmp_path / "library")]

    def told(*arguments: str) -> Any:
        return json.loads(run(app, [*arguments, *where, "--json"]).stdout)

    said = run(app, ["correct", passage["ref"], "--question", "谁值夜班", *where, "--lang", "zh"])
    assert "更正 1 已生效：补充问题" in said.output
    shown = run(app, ["document", "show", number, "--passages", *where, "--lang", "zh"]).output
    assert "还回答：谁值夜班" in shown
    assert "更正：1" in shown
    now = told("document", "show", number, "--passages")["passages"][0]["ref"]
    assert told("correct", now, "--text", "夜间请找前台。", "--reason", "x")["correction"]["action"] == "text"
    now = told("document", "show", number, "--passages")["passages"][0]["ref"]
    assert told("correct", now, "--text", "夜间请找保安。")["correction"]["original"] == "夜间请找前台。"
    assert [one["state"] for one in told("corrections", "--source", "duty")["corrections"]] == ["counts"] * 3
    refused = told("undo", "2")
    assert (refused["error"]["code"], refused["error"]["hint"]) == ("conflict", "undo that one first: wenyuan undo 3")
    for correction in ("1", "3", "2"):
        assert run(app, ["undo", correction, *where]).exit_code == 0
    listed = run(app, ["corrections", *where, "--lang", "en"]).output
    assert "undone" in listed
    assert "more questions" in listed
    for wrong in (
        ["correct"],
        ["correct", now, "--exclude", "--text", "x"],
        ["correct", now, "--exclude"],
        ["undo", "99"],
    ):
        assert run(app, [*wrong, *where]).exit_code == 2


STAMPED = "# 用工手册\n\n## 甲方合同专用章\n\n员工每年有十天年假。\n\n### 申请\n\n请假须提前三天申请。\n\n## 加班\n\n加班须经批准。\n"


def _headings(library: Any, document: int) -> list[tuple[str, ...]]:
    return [tuple(one["headings"]) for one in library.document_passages(document).passages]


def test_a_heading_is_corrected_wherever_it_stands(tmp_path: Path) -> None:
    """Over all passages below it and in its own line; it stays when the document is read again, is audited, and is undone."""
    page = tmp_path / "staff.md"
    page.write_text(STAMPED, "utf-8")
    with wenyuan.open(tmp_path / "library", create=True, encoder={"kind": "none"}) as library:
        library.add(Source(source_id="staff", path=str(page)))
        (document,) = library.list_documents().documents
        number = document["document_id"]
        before = library.document_passages(number).passages
        assert sum("甲方合同专用章" in one["headings"] for one in before) == 2
        inner = next(one for one in before if one["headings"][-1] == "申请")
        made = library.correct(
            CorrectionRequest(action="heading", ref=inner["ref"], heading="甲方合同专用章", text="第一章 休假")
        )
        assert (made["state"], made["original"], made["text"]) == ("counts", "甲方合同专用章", "第一章 休假")
        after = library.document_passages(number).passages
        assert [one["headings"] for one in after if "第一章 休假" in one["headings"]] == [
            ["第一章 休假"],
            ["第一章 休假", "申请"],
        ]
        assert not any("甲方合同专用章" in one["text"] or "甲方合同专用章" in one["headings"] for one in after)
        assert any(one["text"].startswith("# 用工手册\n\n## 第一章 休假\n\n员工") for one in after)
        assert {one["headings"][-1] for one in after if one not in before} <= {"第一章 休假", "申请"}

        page.write_text(STAMPED + "\n## 考勤\n\n每日打卡。\n", "utf-8")
        library.ingest("staff")
        number = library.list_documents().documents[0]["document_id"]
        assert ("第一章 休假", "申请") in _headings(library, number)
        library.audit.flush()
        assert any(one.record["action"] == "made" for one in library.audit.list(kind="correction"))

        library.undo_correction(made["correction_id"])
        assert ("甲方合同专用章", "申请") in _headings(library, number)
        assert any("## 甲方合同专用章" in one["text"] for one in library.document_passages(number).passages)


def test_what_is_no_heading_is_taken_out_of_the_headings(tmp_path: Path) -> None:
    """On the command line: a blank heading; one that does not stand over the passage is refused."""
    page = tmp_path / "staff.md"
    page.write_text(STAMPED, "utf-8")
    world = {"WENYUAN_ENCODER__KIND": "none", "LC_ALL": "C.UTF-8", "WENYUAN_LIBRARY": str(tmp_path / "library")}

    def run(*words: str, code: int = 0) -> Any:
        done = CliRunner().invoke(app, list(words), env=world, prog_name="wenyuan")
        assert done.exit_code == code, done.output
        return done

    run("init")
    run("add", str(page), "--source", "staff")
    shown = json.loads(run("document", "show", "1", "--passages", "--json").stdout)["passages"]
    inner = next(one for one in shown if one["headings"][-1] == "申请")["ref"]
    assert "甲方合同专用章 > 申请" in run("correct", inner, "--heading", "x", "--of-heading", "加班", code=2).output
    run("correct", inner, "--heading", "", "--of-heading", "甲方合同专用章")
    shown = json.loads(run("document", "show", "1", "--passages", "--json").stdout)["passages"]
    assert [one["headings"] for one in shown] == [[], ["申请"], ["加班"]]
    assert "甲方合同专用章" not in json.dumps([one["text"] for one in shown], ensure_ascii=False)
    assert "改正标题" in run("corrections", "--lang", "zh").stdout
    run("undo", "1")
    shown = json.loads(run("document", "show", "1", "--passages", "--json").stdout)["passages"]
    assert shown[1]["headings"] == ["甲方合同专用章", "申请"]
