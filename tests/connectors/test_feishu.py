"""Documents of Feishu as a source: a space or folder, page by page, as Markdown, with what changed since alone."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import wenyuan
from feishu_server import APP, SECRET, Feishu, block, feishu_server, text
from parsing import parse
from wenyuan.conformance import check_connector
from wenyuan.connectors import feishu as connector
from wenyuan.connectors.feishu_markdown import markdown_of
from wenyuan.connectors.selection import open_connector
from wenyuan.core.connectors import Known, ListingCut
from wenyuan.core.errors import ConfigError, DocumentRejected, SourceError
from wenyuan.core.model import Source


def document(title: str, *blocks: dict[str, Any]) -> list[dict[str, Any]]:
    """The blocks of a document of which all stand at the top."""
    return [block("root", 1, "page", text(title), children=tuple(b["block_id"] for b in blocks)), *blocks]


@pytest.fixture
def feishu(monkeypatch: pytest.MonkeyPatch) -> Iterator[Feishu]:
    monkeypatch.setenv("WENYUAN_FEISHU", SECRET)
    monkeypatch.setenv("WENYUAN_WRONG", "wrong")
    monkeypatch.setattr(connector, "_WAITS", (0.0, 0.0, 0.0))
    with feishu_server() as service:
        node = {"obj_type": "docx", "has_child": False, "obj_edit_time": "1700000000"}
        service.nodes = {
            "": [
                node | {"node_token": "n1", "obj_token": "d1", "title": "报销制度", "has_child": True},
                node | {"node_token": "n2", "obj_token": "s1", "title": "Sheet", "obj_type": "sheet"},
                node | {"node_token": "n3", "obj_token": "f1", "title": "notes.txt", "obj_type": "file"},
            ],
            "n1": [node | {"node_token": "n4", "obj_token": "d2", "title": "Leave / 请假"}],
        }
        service.documents = {
            "d1": document(
                "报销制度",
                block("b1", 3, "heading1", text("第一章 总则")),
                block("b2", 2, "text", text("报销须在三十日内提交。"), text("见办法", "https%3A%2F%2Fa.example%2Fx")),
            ),
            "d2": document("Leave", block("b1", 2, "text", text("Up to five days may be carried over."))),
        }
        service.uploads = {"f1": b"Unused days lapse in March.\n"}
        service.files = {
            "root1": [
                {"token": "sub", "type": "folder", "name": "Sub"},
                {"token": "d1", "type": "docx", "name": "报销制度", "modified_time": "1700000000", "url": "https://x.feishu.cn/docx/d1"},
                {"token": "b9", "type": "bitable", "name": "Table"},
            ],
            "sub": [
                {"token": "d2", "type": "docx", "name": "Leave", "modified_time": "1700000001", "url": "https://x.feishu.cn/docx/d2"},
                {"token": "root1", "type": "folder", "name": "Loop"},
            ],
        }  # fmt: skip
        yield service


def source(feishu: Feishu, path: str = "feishu://wiki/77", **more: Any) -> Source:
    said = {"app_id": APP, "app_secret_env": "WENYUAN_FEISHU", "endpoint": feishu.url, "allow_private": True} | more
    return Source(source_id="feishu", path=path, settings=said)


@pytest.fixture
def library(tmp_path: Path) -> Iterator[wenyuan.Library]:
    with wenyuan.open(tmp_path / "library", create=True, encoder={"kind": "none"}) as library:
        yield library


def test_reads_a_space(feishu: Feishu, library: wenyuan.Library) -> None:
    """The documents and files of a space, below one another, under the addresses at which people open them."""
    report = library.add(source(feishu, site="https://example.feishu.cn"))
    assert (report.added, report.failed) == (3, {})
    uris = {uri.rpartition("/")[2] for uri in library.catalog.live_documents("feishu")}
    assert uris == {"n1", "n3", "n4"}
    answer = library.retrieve_fragments(wenyuan.RetrievalRequest(query="报销期限", max_results=1))
    assert answer.fragments[0].source.partition("#")[0] == "https://example.feishu.cn/wiki/n1"


def test_reads_a_folder(feishu: Feishu, library: wenyuan.Library) -> None:
    """The documents of a folder of the drive and of those in it; a folder that holds itself is looked into once."""
    report = library.add(source(feishu, "feishu://folder/root1"))
    assert report.added == 2
    assert set(library.catalog.live_documents("feishu")) == {
        "https://x.feishu.cn/docx/d1",
        "https://x.feishu.cn/docx/d2",
    }


def test_fetches_what_was_edited(feishu: Feishu, library: wenyuan.Library) -> None:
    """A document with the time of its last edit is not asked for again; one that is gone is retired."""
    library.add(source(feishu))
    feishu.asked.clear()
    assert library.ingest("feishu").unchanged == 3
    assert not [path for path in feishu.asked if "docx" in path or "download" in path]
    feishu.nodes["n1"][0]["obj_edit_time"] = "1700009999"
    feishu.documents["d2"] = document("Leave", block("b1", 2, "text", text("Six days.")))
    del feishu.nodes[""][2]
    report = library.ingest("feishu")
    assert (report.changed, report.retired, report.unchanged) == (1, 1, 1)
    assert [path for path in feishu.asked if "docx" in path] == ["/open-apis/docx/v1/documents/d2/blocks"]


def test_waits_and_signs_in_again(feishu: Feishu, library: wenyuan.Library) -> None:
    """A call that came too often is tried again, and so is one whose token ran out."""
    feishu.busy = 2
    assert library.add(source(feishu)).added == 3
    feishu.tokens += 1
    assert library.ingest("feishu").failed == {}
    feishu.busy = 100
    with pytest.raises(SourceError, match="code 99991400"):
        library.ingest("feishu")
    assert len(library.catalog.live_documents("feishu")) == 3


def test_one_document_that_may_not_be_read(feishu: Feishu, library: wenyuan.Library) -> None:
    """It is named with the service's code; the others are taken in."""
    del feishu.documents["d2"]
    report = library.add(source(feishu))
    assert report.added == 2
    assert "code 1770002" in next(iter(report.failed.values()))


@pytest.mark.parametrize(
    ("path", "settings", "told"),
    [
        ("feishu://wiki/77", {"app_secret_env": "WENYUAN_WRONG"}, "refuses the app"),
        ("feishu://wiki/78", {}, "HTTP 404"),
        ("feishu://wiki/77", {"allow_private": False}, "to a private address"),
    ],
)
def test_says_why_not(
    feishu: Feishu, library: wenyuan.Library, path: str, settings: dict[str, Any], told: str
) -> None:
    """A wrong secret, a space that is not there, a service on this machine: nothing is registered, no secret told."""
    with pytest.raises(SourceError, match=told) as caught:
        library.add(source(feishu, path, **settings))
    assert SECRET not in str(caught.value)
    assert library.sources() == ()


@pytest.mark.parametrize("path", ["feishu://other/77", "feishu://wiki/", "feishu://wiki/7%2F7"])
def test_addresses_that_are_none(feishu: Feishu, path: str) -> None:
    """An address names a space or a folder by its token."""
    with pytest.raises(ConfigError, match="feishu://wiki/SPACE_ID"):
        open_connector(source(feishu, path), readable=lambda name: True, parse=parse)


def test_pages_that_never_end(feishu: Feishu, monkeypatch: pytest.MonkeyPatch, library: wenyuan.Library) -> None:
    """A page that leads to itself is found out."""
    endless = {"code": 0, "data": {"items": [], "has_more": True, "page_token": "0"}}
    own = feishu.answer
    monkeypatch.setattr(
        feishu, "answer", lambda m, path, *rest: (200, endless) if "nodes" in path else own(m, path, *rest)
    )
    with pytest.raises(SourceError, match="round in a circle"):
        library.add(source(feishu))


def test_pages_of_ever_other_tokens_end(feishu: Feishu, monkeypatch: pytest.MonkeyPatch) -> None:
    """Empty pages that each lead to another one stop at a number, and what was found counts."""
    monkeypatch.setattr(connector, "_SPARE_PAGES", 5)
    asked: list[str] = []

    def endless(method: str, path: str, *rest: Any) -> Any:
        if "nodes" not in path:
            return own(method, path, *rest)
        asked.append(path)
        return 200, {"code": 0, "data": {"items": [], "has_more": True, "page_token": str(len(asked))}}

    own = feishu.answer
    monkeypatch.setattr(feishu, "answer", endless)
    documents = open_connector(source(feishu, max_documents=2), readable=lambda name: True, parse=parse)
    with closing(documents), pytest.raises(ListingCut, match="after 7 pages"):
        list(documents.list(Known()))
    assert len(asked) == 7


def test_the_blocks_of_a_document_become_text_in_the_reading_process(feishu: Feishu) -> None:
    """Cells of a table can be merged without end: no table is made in the process that serves."""
    asked: list[str] = []

    def parsed(function: str, *rest: Any, **more: Any) -> Any:
        asked.append(function)
        return parse(function, *rest, **more)

    documents = open_connector(source(feishu), readable=lambda name: True, parse=parsed)
    with closing(documents):
        content = documents.fetch(next(iter(documents.list(Known()))), 1_000)
    assert content.decode().startswith("# 报销制度")
    assert asked == ["wenyuan.connectors.feishu_markdown:markdown_of_answer"]


def test_a_listing_that_takes_too_long_is_cut(feishu: Feishu) -> None:
    """It says so, and is not taken for all there is."""
    documents = open_connector(source(feishu, max_minutes=1e-9), readable=lambda name: True, parse=parse)
    with closing(documents), pytest.raises(ListingCut, match=r"settings\.max_minutes"):
        list(documents.list(Known()))


def test_a_document_of_pages_without_end_is_refused(feishu: Feishu, monkeypatch: pytest.MonkeyPatch) -> None:
    """After a number of pages no more are asked for; other documents can be fetched."""
    monkeypatch.setattr(connector, "_PAGES_OF_A_DOCUMENT", 3)
    asked: list[str] = []

    def endless(method: str, path: str, *rest: Any) -> Any:
        if "blocks" not in path:
            return own(method, path, *rest)
        asked.append(path)
        return 200, {"code": 0, "data": {"items": [], "has_more": True, "page_token": str(len(asked))}}

    own = feishu.answer
    monkeypatch.setattr(feishu, "answer", endless)
    documents = open_connector(source(feishu), readable=lambda name: True, parse=parse)
    with closing(documents), pytest.raises(DocumentRejected, match="larger than"):
        documents.fetch(next(iter(documents.list(Known()))), 1_000)
    assert len(asked) == 3


@pytest.mark.parametrize("told", [{"code": 0}, {"code": 0, "data": {"items": [], "has_more": True}}])
def test_a_list_that_breaks_off_retires_nothing(
    feishu: Feishu, monkeypatch: pytest.MonkeyPatch, library: wenyuan.Library, told: dict[str, Any]
) -> None:
    """An answer without its list, or without the address of its next page, is not all that there is."""
    library.add(source(feishu))
    own = feishu.answer

    def broken(method: str, path: str, query: dict[str, str], *rest: Any) -> Any:
        return (200, told) if "parent_node_token" in query else own(method, path, query, *rest)

    monkeypatch.setattr(feishu, "answer", broken)
    with pytest.raises(SourceError, match="not what the API's description says"):
        library.ingest("feishu")
    assert len(library.catalog.live_documents("feishu")) == 3


def test_keeps_the_laws(feishu: Feishu) -> None:
    """What the conformance kit asks of every connector."""

    def change() -> None:
        feishu.nodes["n1"][0]["obj_edit_time"] = "1700009999"

    make = partial(open_connector, source(feishu), readable=lambda name: True, parse=parse)
    assert [law.detail for law in check_connector(make, change) if not law.passed] == []


def test_a_table_is_no_wider_than_its_cells() -> None:
    """Sizes that a document states of its tables cost nothing, however large they are."""
    merge = [{"row_span": 10**12, "col_span": 10**12}]
    table = {"cells": ["c"], "property": {"column_size": 10**12, "merge_info": merge}}
    blocks = document("T", {"block_id": "t", "block_type": 31, "table": table, "children": ["c"]})
    blocks += [{"block_id": "c", "block_type": 32, "children": ["w"]}, block("w", 2, "text", text("one"))]
    assert markdown_of(blocks) == "# T\n\n| one |\n| --- |\n"


def test_blocks_as_markdown() -> None:
    """Headings, nested lists, tasks, code, quotes, tables with merged cells, links, formulas, and what is no text."""
    cells = [block(f"c{n}", 32, "table_cell", children=(f"t{n}",)) for n in range(4)]
    words = [block(f"t{n}", 2, "text", text(said)) for n, said in enumerate(("项目", "", "餐费", "50元|天"))]
    table = {
        "block_id": "tab", "block_type": 31, "children": ["c0", "c1", "c2", "c3"],
        "table": {
            "cells": ["c0", "c1", "c2", "c3"],
            "property": {"row_size": 2, "column_size": 2, "merge_info": [{"row_span": 1, "col_span": 2}, {}, {}, {}]},
        },
    }  # fmt: skip
    blocks = [
        block("r", 1, "page", text("办法"), children=("h", "u", "td", "co", "q", "tab", "im", "eq", "r")),
        block("h", 4, "heading2", text("第二节")),
        block("u", 12, "bullet", text("one *star*"), children=("o",)),
        block("o", 13, "ordered", text("inner", "https%3A%2F%2Fa.example%2F")),
        {**block("td", 17, "todo", text("done")), "todo": {"elements": [text("done")], "style": {"done": True}}},
        block("co", 14, "code", text("a = '```'\nb = *c")),
        block("q", 15, "quote", text("as said")),
        table, *cells, *words,
        {"block_id": "im", "block_type": 27, "image": {}},
        block("eq", 2, "text", {"equation": {"content": "a^2\n"}}, {"mention_doc": {"title": "Other", "url": "https://b.example"}}),
    ]  # fmt: skip
    assert markdown_of(blocks) == (
        "# 办法\n\n### 第二节\n\n- one \\*star\\*\n  1. [inner](https://a.example/)\n- [x] done\n"
        "````\na = '```'\nb = *c\n````\n\n> as said\n\n"
        "| 项目 | 项目 |\n| --- | --- |\n| 餐费 | 50元\\|天 |\n\n[image]\n\n$a^2$[Other](https://b.example)\n"
    )
