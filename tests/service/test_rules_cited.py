"""The evidence of rules is opened in the passage of the library that has its words."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import wenyuan
from wenyuan.core.model import RetrievalRequest, Source
from wenyuan.core.rules.book import DeclaredSource
from wenyuan.readers.rulebooks.export import book_to_yaml
from wenyuan.readers.rulebooks.selection import read_book
from wenyuan.service.rules.unified import RuleQuestion
from wenyuan.wire.rules import edge_to_wire, statement_to_wire

PIT = RuleQuestion(processes=("深基坑开挖",))
LAW = "https://law.example/pit.html"
PAGE = """<html lang="zh"><head><title>基坑规范</title></head><body><h1 id="top">基坑规范</h1>
<h2 id="a12">第十二条</h2><p>开挖深度超过五米的基坑，应当组织专家论证，论证合格后方可施工。</p>
<h2 id="a13">第十三条</h2><p>深基坑开挖应当配备挖掘机，并有专人指挥，夜间施工应有足够的照明。</p></body></html>
"""
BOOK = """\
pack: cited
schema:
  kinds: {{process: {{zh: 工序}}, equipment: {{zh: 设备}}}}
  relations: {{requires: {{zh: 需要设备, from: [process], to: [equipment]}}}}
  patterns: {{needs: {{start: process, collect: {{equipment: [requires]}}}}}}
sources:
  - {{id: pit, title: 基坑规范, uri: "{uri}", trust: 5, domain: construction, language: zh}}
process: [{{name: 深基坑开挖}}]
equipment: [{{name: 挖掘机}}, {{name: 照明灯}}]
statements:
  - src: 深基坑开挖
    rel: requires
    dst: 挖掘机
    evidence: [{{source: pit, clause: 第十三条, quote: 深基坑开挖应当配备挖掘机}}]
  - src: 深基坑开挖
    rel: requires
    dst: 照明灯
    evidence: [{{source: pit, clause: 第十三条}}]
"""


def kept(tmp_path: Path, uri: str, page: Path | None = None) -> Any:
    """A library with the rules, and with the page that they quote, where one is given."""
    book = tmp_path / "cited.yaml"
    book.write_text(BOOK.format(uri=uri), "utf-8")
    library = wenyuan.create(tmp_path / "library", encoder={"kind": "none"})
    if page is not None:
        library.add(
            Source(source_id="pit", path=str(page), title="基坑规范", trust=5, domain="construction", language="zh")
        )
    report = library.rules.take(read_book(book))
    assert not report.errors, report.errors
    return library


def addresses(library: Any) -> dict[str, str]:
    found = library.infer_rules(PIT).items
    return {item.metadata["name"]: item.metadata["evidence"][0]["uri"] for item in found}


def test_what_is_here_is_opened_at_its_passage(tmp_path: Path) -> None:
    """By the quote, or by the clause where nothing is quoted, at every door; and a new version moves it."""
    page = tmp_path / "pit.html"
    page.write_text(PAGE, "utf-8")
    with kept(tmp_path, page.as_uri(), page) as library:
        here = f"{page.as_uri()}#a13"
        assert addresses(library) == {"挖掘机": here, "照明灯": here}
        fragments = library.retrieve_fragments(
            RetrievalRequest(query="深基坑开挖需要什么设备", max_results=8)
        ).fragments
        rules = [f for f in fragments if f.metadata["origin"] == "kg_rule"]
        assert {f.source for f in rules} == {here}
        assert {f.metadata["clause"] for f in rules} == {"第十三条"}
        number = rules[0].metadata["statement_id"]
        assert library.fetch(f"pit#rule-{number}").uri == here
        held, schema, cite = library.catalog.rules.statement(number), library.rules.schema(), library.cited.now()
        assert statement_to_wire(held, {}, {}, schema, cite)["evidences"][0]["uri"] == here
        edge = library.rules_around(held.src, 10)[1]["out"][0]
        assert edge_to_wire(edge, schema, cite)["evidences"][0]["uri"] == here
        page.write_text(PAGE.replace('id="a13"', 'id="article-13"'), "utf-8")
        library.ingest("pit")
        assert addresses(library)["挖掘机"] == f"{page.as_uri()}#article-13"


def test_what_is_exported_is_what_was_imported(tmp_path: Path) -> None:
    """Addresses are found when they are read: a book that was written out and read again changes nothing."""
    with kept(tmp_path, LAW) as library:
        again = tmp_path / "again.yaml"
        nodes, statements, sources = library.rules.export("cited")
        declared = [DeclaredSource(source=source) for source in sources]
        tree = library.rules.schema_tree("cited")
        text = book_to_yaml("cited", schema_tree=tree, sources=declared, nodes=nodes, statements=statements)
        again.write_text(text, "utf-8")
        report = library.rules.take(read_book(again, pack="cited"), dry_run=True)
        assert report.diff.empty, report.diff.lines()
