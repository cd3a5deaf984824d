"""The lead of a document: its first words stand for a title with every passage, in what is searched, and nowhere else."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

import wenyuan
from catalog_parts import BOTH, again, put
from wenyuan.catalog import Catalog, schema
from wenyuan.core.model import Block, Document, IndexRow, RetrievalRequest, embedded_text
from wenyuan.core.text.analysis import OWN, passage_terms
from wenyuan.core.text.leads import lead_of, with_lead
from wenyuan.encoders.checking import HashingEncoder
from wenyuan.evaluation.corpus import open_corpus
from wenyuan.readers.jsonl import read_jsonl
from wenyuan.readers.markdown import read_markdown
from wenyuan.readers.text import read_text
from wenyuan.service.ingest.corrections import CorrectionRequest
from wenyuan.service.ingest.embedding import vector_key
from wenyuan.service.ingest.progress import IngestReport
from wenyuan.service.ingest.reembedding import embed_anew
from wenyuan.service.search.reranking import _text

FIRST = "创新科技有限公司是一家于2005年在杭州成立的软件公司，主营业务为软件开发、数据分析和云计算解决方案，客户有银行和医院。"
ACME = "Acme Orchards Ltd., founded in April 2005 in Sunnydale, grows organic fruit and sells it to schools."
REST = "本年度公司完成了多项收购，并调整了董事会的组成，详情见下文各项说明，数字均经审计。"


def document(text: str, *blocks: Block, titled: bool = False) -> Document:
    found = blocks or (Block(kind="paragraph", start=0, end=len(text)),) if text else ()
    return Document(uri="urn:x", title="x", text=text, blocks=found, sha256="", titled=titled)


def lead(text: str) -> str:
    return lead_of(document(text))


def width(text: str) -> float:
    return sum(2.5 if c > "\u2e80" else 1.0 for c in text)


# -- what it is -----------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"{FIRST}{REST}", FIRST),
        (f"{FIRST}\n\n{REST}", FIRST),
        ("本院於二〇二〇年五月審理原告王某與被告李某之間的房屋租賃合約糾紛一案，現已審理終結。" + FIRST, "本院於二〇二〇年五月審理原告王某與被告李某之間的房屋租賃合約糾紛一案，現已審理終結。"),
        (f"{ACME} {'The year was a good one for all. ' * 5}", ACME + " The year was a good one for all." * 3),
        ("Dear all. " + ACME + " " + ACME, "Dear all. " + ACME),
        ("ACME 公司 2020 年报由 KPMG 审计。" + REST + REST, "ACME 公司 2020 年报由 KPMG 审计。" + REST),
        ("A short note.", "A short note."),
        ("  \n\u3000短文一篇。\n", "短文一篇。"),
        ("", ""),
        ("———— * * * ————", ""),
    ],
)  # fmt: skip
def test_whole_sentences(text: str, expected: str) -> None:
    """As many of the first sentences as fit: Chinese, Traditional, English and mixed; nothing where nothing is said."""
    assert lead(text) == expected


@pytest.mark.parametrize(
    ("text", "end"),
    [
        ("公司" * 30 + "，" + "业务" * 30, "司"),
        ("word " * 20 + "ending, " + "more " * 40, "ending"),
        ("word " * 100, "word"),
        ("字" * 300, "字"),
        ("x" * 300, "x"),
        ("e\u0301" * 150, "\u0301"),
        ("def f(a):\n    return a + 1\n" * 20, "f(a)"),
    ],
)
def test_a_sentence_that_is_too_long(text: str, end: str) -> None:
    """It is cut at a phrase, a word, or at last a character; what is kept is the text's own beginning and at least half."""
    found = lead(text)
    assert text.startswith(found)
    assert found.endswith(end)
    assert 90 <= width(found) <= 200


@pytest.mark.parametrize("character", ["字", "x", "Ω", "，", "。", ". ", "\n", "👩‍👩‍👧", "e\u0301", "a。"])
def test_it_is_short(character: str) -> None:
    """Whatever a text is made of, its lead begins it and is at most as wide as 200 letters."""
    for count in (1, 79, 80, 81, 199, 200, 201, 1_000):
        text = f"甲{character * count}乙"
        found = lead(text)
        assert found
        assert text.startswith(found)
        assert width(found) <= 200


def test_a_title_or_heading_is_enough() -> None:
    """A document with a title or a heading of its own has no lead."""
    assert lead_of(document(FIRST, titled=True)) == ""
    text = f"{FIRST}\n\nRisks\n\n{REST}"
    at = text.index("Risks")
    blocks = (
        Block(kind="paragraph", start=0, end=len(FIRST)),
        Block(kind="heading", start=at, end=at + 5, level=1, label="Risks"),
        Block(kind="paragraph", start=at + 7, end=len(text)),
    )
    assert lead_of(document(text, *blocks)) == ""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"{FIRST}\n\n一、基本情况\n{REST}\n\n二、其他\n{REST}\n", FIRST),
        (f"甲方：张某。乙方：李某。\n第一条 {REST}\n第二条 {REST}\n", "甲方：张某。乙方：李某。"),
        (f"第一章 总则\n第一条 {REST}\n第二条 {REST}\n", ""),
        (f"租赁合同\n\n{FIRST}{REST}\n", ""),
    ],
)
def test_numbered_parts(text: str, expected: str) -> None:
    """A heading or clause that opens a numbered part names only that: what stands before the first one is the lead."""
    (read,) = read_text(text.encode(), uri="file:///a/B7.txt", name="B7.txt")
    assert lead_of(read) == expected


def test_markdown() -> None:
    """Notes in Markdown without any heading have a lead; with one of any level, or a title, they have none."""

    def of(text: str) -> str:
        (read,) = read_markdown(text.encode(), uri="file:///a/b.md", name="b.md")
        return lead_of(read)

    assert of(f"{FIRST}\n\n{REST}\n") == FIRST
    assert of(f"{FIRST}\n\n## 风险\n\n{REST}\n") == ""
    assert of(f"# 年报\n\n{FIRST}\n") == ""
    assert of(f"---\ntitle: 年报\n---\n{FIRST}\n") == ""
    assert of("| a | b |\n|---|---|\n| 1 | 2 |\n") == ""


def test_the_opening_has_it_already() -> None:
    """Every passage stands below the lead but the one that begins with it, or is a part of it."""
    assert with_lead(FIRST, REST) == f"{FIRST}\n{REST}"
    assert with_lead(FIRST, FIRST + REST) == FIRST + REST
    assert with_lead(FIRST, FIRST[:10]) == FIRST[:10]
    assert with_lead("", REST) == REST
    assert with_lead(FIRST, "") == ""


# -- taking documents in --------------------------------------------------------------------------------------
class Shelf:
    """A library beside the folder that its source ``docs`` reads, with all that was embedded."""

    def __init__(self, folder: Path) -> None:
        self.docs = folder / "docs"
        self.docs.mkdir()
        self.library = wenyuan.open(folder / "library", create=True, encoder={"kind": "hashing"})
        self.embedded: list[str] = []
        encoder: Any = self.library.encoder
        encode = encoder.encode_passages

        def counting(texts: Sequence[str], **more: Any) -> Any:
            self.embedded += texts
            return encode(texts, **more)

        encoder.encode_passages = counting

    def write(self, name: str, text: str) -> None:
        (self.docs / name).write_text(text, encoding="utf-8")

    def lines(self, name: str, *records: dict[str, Any]) -> None:
        self.write(name, "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records))

    def take(self, **more: Any) -> IngestReport:
        self.embedded.clear()
        return self.library.add(wenyuan.Source(source_id="docs", path=str(self.docs), **more))

    def rows(self) -> list[IndexRow]:
        catalog = self.library.catalog
        return [change.row for change in catalog.changes(0, catalog.seq()) if change.row is not None]

    def leads(self, *, all_versions: bool = False) -> list[str]:
        d = schema.documents.c
        with self.library.catalog.database.reader.connect() as connection:
            query = sa.select(d.lead).order_by(d.document_id)
            return list(connection.scalars(query if all_versions else query.where(d.removed_seq.is_(None))))


@pytest.fixture
def shelf(tmp_path: Path) -> Iterator[Shelf]:
    made = Shelf(tmp_path)
    with made.library:
        yield made


def report(first: str = FIRST, parts: int = 12) -> str:
    return "\n\n".join([first, *(f"关于第{n}项说明，{REST * 3}" for n in range(parts))])


def test_every_passage_stands_below_it(shelf: Shelf) -> None:
    """In the index and in what is embedded; the passage's own words, hash and title are as before."""
    shelf.write("B7.txt", report())
    shelf.take()
    rows, whole = shelf.rows(), report()
    passages = shelf.library.catalog.passages([row.passage_id for row in rows])
    assert len(rows) > 2
    assert rows[0].text.count(FIRST) == 1
    for row in rows[1:]:
        passage = passages[row.passage_id]
        assert row.text == f"{FIRST}\n{passage.text}"
        assert whole[passage.start : passage.end] == passage.text
        assert (passage.title, passage.lead) == ("B7", FIRST)
    assert sorted(shelf.embedded) == sorted([FIRST, *(embedded_text(row.heading_text, row.text) for row in rows)])
    assert shelf.library.catalog.embedded_after(0, 100) == [
        (row.passage_id, embedded_text(row.heading_text, row.text), FIRST) for row in rows
    ]
    assert _text(passages[rows[-1].passage_id]) == f"{rows[-1].heading_text}\n{rows[-1].text}"


def test_it_is_searched_and_not_shown(shelf: Shelf) -> None:
    """What only the lead says finds the other passages, too; nothing of it is in their fragments."""
    shelf.write("B7.txt", report())
    shelf.write("C1.txt", report("中华环境有限公司是一家水处理企业。"))
    shelf.take()
    answer = shelf.library.retrieve_fragments(RetrievalRequest(query="创新科技第11项说明", max_results=1))
    (fragment,) = answer.fragments
    assert "/B7.txt" in fragment.source
    assert "第11项说明" in fragment.content
    assert FIRST[:8] not in json.dumps([fragment.content, dict(fragment.metadata)], ensure_ascii=False, default=str)


def test_a_titled_file_is_as_before(shelf: Shelf) -> None:
    """With a title nothing else is indexed or embedded, and with one passage there is nothing to say a lead for."""
    shelf.write("a.txt", f"年度报告\n\n{report()}")
    shelf.write("b.md", f"# 年度报告\n\n{report()}")
    shelf.write("c.txt", FIRST)
    shelf.write("d.csv", f"问题,答案\n{REST},{FIRST}\n")
    shelf.take()
    texts = shelf.library.catalog.passages([row.passage_id for row in shelf.rows()])
    assert shelf.leads() == ["", "", "", ""]
    assert all(row.text == texts[row.passage_id].text for row in shelf.rows())


def test_another_encoder_embeds_the_same_labels(shelf: Shelf, tmp_path: Path) -> None:
    """Of a text without a title that is one passage its first words, though none are stored; as if all were read anew."""
    shelf.write("c.txt", f"{FIRST}\n\n{REST}")
    shelf.write("b.md", f"# 年度报告\n\n{REST}")
    shelf.write("t.txt", report())
    shelf.lines("one.jsonl", {"id": "one", "text": FIRST + REST}, {"id": "two", "title": "附录", "text": REST})
    shelf.take()
    catalog, other = shelf.library.catalog, HashingEncoder(128)
    for encoder, former in ((other, shelf.library.encoder), (HashingEncoder(96), other)):
        embed_anew(catalog, encoder, former.fingerprint.key)
    with wenyuan.open(tmp_path / "anew", create=True, encoder={"kind": "hashing", "dimension": 96}) as anew:
        anew.add(wenyuan.Source(source_id="docs", path=str(shelf.docs)))
        expected = labels(anew.catalog)
        assert labels(catalog) == expected
        assert vector_key(HashingEncoder(96).fingerprint.key, FIRST) in {key for _, key in expected}


def labels(catalog: Any) -> list[tuple[str, str]]:
    held = catalog.served_passages(catalog.live_numbers("docs"))
    return sorted((one.passage.uri, one.passage.label_key) for one in held)


def test_a_correction_that_is_undone_leaves_the_label(shelf: Shelf) -> None:
    """Of a text without a title that is one passage; its first words are the label as before."""
    shelf.write("c.txt", f"{FIRST}\n\n{REST}")
    shelf.take()
    catalog = shelf.library.catalog
    before = labels(catalog)
    (number,) = catalog.live_numbers("docs")
    shelf.library.correct(CorrectionRequest(action="questions", ref=f"docs#{number}", questions=("谁来审计？",)))
    assert labels(catalog) != before
    shelf.library.undo_correction(1)
    assert labels(catalog) == before


def test_a_clause_that_it_names_is_not_the_passages_own() -> None:
    """Identifiers in a lead are found as those of a text, not as those of a title."""
    row_text = with_lead("依照《劳动法》第十三条和 GB 50300-2013 判决。", REST)
    found = passage_terms("B7", row_text)
    assert "#article:13" in found
    assert not [term for term in found if term.startswith(OWN)]


# -- parts of one text in lines -------------------------------------------------------------------------------
def test_parts_in_lines(shelf: Shelf) -> None:
    """Lines whose ids are the same up to a # are parts of one text: each stands below the lead of the first."""
    shelf.lines(
        "all.jsonl",
        {"id": "IT_0#0", "text": FIRST + REST},
        {"id": "IT_0#1", "text": "董事会由九人组成。"},
        {"id": "IT_0#2", "title": "附录", "text": "附录不是它的一部分。"},
        {"id": "Farm#0", "text": ACME},
        {"id": "Farm#1", "text": "The board has nine members."},
        {"id": "alone", "text": "另外一条。"},
        {"text": "没有编号。"},
        {"id": "#7", "text": "只有编号。"},
    )
    shelf.take()
    assert [row.text for row in shelf.rows()] == [
        FIRST + REST, f"{FIRST}\n董事会由九人组成。", "附录不是它的一部分。", ACME, f"{ACME}\nThe board has nine members.",
        "另外一条。", "没有编号。", "只有编号。",
    ]  # fmt: skip


def test_parts_follow_their_first(shelf: Shelf) -> None:
    """Where the first part changes or goes, the others are read anew, though their own lines are the same."""
    part = {"id": "IT_0#1", "text": "董事会由九人组成。"}
    shelf.lines("all.jsonl", {"id": "IT_0#0", "text": FIRST}, part)
    shelf.take()
    shelf.lines("all.jsonl", {"id": "IT_0#0", "text": ACME}, part)
    assert shelf.take().changed == 2
    assert shelf.rows()[1].text == f"{ACME}\n董事会由九人组成。"
    shelf.lines("all.jsonl", part)
    assert (shelf.take().changed, shelf.rows()[0].text) == (1, "董事会由九人组成。")
    assert shelf.take().changed == 0


def test_parts_of_a_titled_first_line(shelf: Shelf) -> None:
    """Where the first part begins with a title line, that stands for the lead of the others."""
    shelf.lines(
        "all.jsonl", {"id": "r#0", "text": f"年度报告\n\n{FIRST}"}, {"id": "r#1", "text": "董事会由九人组成。"}
    )
    shelf.take()
    assert shelf.rows()[-1].text == "年度报告\n董事会由九人组成。"


@pytest.mark.parametrize("apart", [{"collection": "board"}, {"effective_until": "2020-01-01"}, {"status": "draft"}])
def test_parts_that_are_kept_apart(shelf: Shelf, apart: dict[str, str]) -> None:
    """A part that is not in force, or is in another collection, lends its words to none that others may search."""
    shelf.lines(
        "all.jsonl",
        {"id": "a#0", "text": FIRST, **apart},
        {"id": "a#1", "text": "董事会由九人组成。"},
        {"id": "a#2", "text": "监事会由三人组成。"},
    )
    shelf.take()
    assert [row.text for row in shelf.rows()] == [
        FIRST,
        "董事会由九人组成。",
        "董事会由九人组成。\n监事会由三人组成。",
    ]


@pytest.mark.parametrize(
    ("own", "whole"), [("a#0", "a"), ("a#b#0", "a#b"), ("a#", ""), ("#0", ""), ("a", ""), (7, ""), (None, "")]
)
def test_what_an_id_is_a_part_of(own: str | int | None, whole: str) -> None:
    """The id up to its last #, where something stands on both sides; of a line with a title or a question, nothing."""
    for title, expected in (({}, whole), ({"title": "题"}, ""), ({"question": "问？", "answer": "x"}, "")):
        line = json.dumps({"id": own, "text": "正文", **title})
        (read,) = read_jsonl(line.encode(), uri="file:///a.jsonl", name="a.jsonl")
        assert read.part_of == expected


def test_parts_in_a_judged_set(tmp_path: Path) -> None:
    """Entries of a corpus without a title are parts of one document where their ids are the same up to a #."""
    entries = [("a#0", ""), ("a#1", ""), ("a#2", "Titled"), ("b", "")]
    lines = [json.dumps({"_id": name, "title": title, "text": f"Text of {name}."}) for name, title in entries]
    (tmp_path / "corpus.jsonl").write_text("\n".join(lines))
    found = [(d.part_of, d.titled) for d in open_corpus(tmp_path).documents()]
    assert found == [("a", False), ("a", False), ("", True), ("", False)]


# -- what must not stay ---------------------------------------------------------------------------------------
PHONE = "13912345678"


@pytest.mark.parametrize("form", ["txt", "jsonl"])
def test_it_is_made_of_the_redacted_text(shelf: Shelf, form: str) -> None:
    """What is taken out of a document is in no lead: not in the catalog's file, nor in what is embedded."""
    first = f"联系人电话{PHONE}，负责创新科技有限公司二〇二〇年度报告的编制，请在工作时间来电。"
    if form == "txt":
        shelf.write("B7.txt", report(first))
    else:
        shelf.lines("all.jsonl", {"id": "a#0", "text": first}, {"id": "a#1", "text": REST})
    shelf.take(sensitivity="confidential")
    lead = shelf.leads()[-1]
    assert lead.startswith("联系人电话")
    assert lead.endswith("来电。")
    assert sum(lead in text for text in shelf.embedded) == len(shelf.embedded) > 1
    assert PHONE not in str(shelf.embedded)
    stored = [file.read_bytes() for file in (shelf.library.folder).rglob("*") if file.is_file()]
    assert not any(PHONE.encode() in content for content in stored)


def test_a_number_at_its_end_is_taken_out_whole(shelf: Shelf) -> None:
    """The text is redacted before the lead is cut, so no half of a number is left where it ends."""
    for fill in range(66, 82):
        shelf.write(f"n{fill}.txt", report("说" * fill + PHONE + "述" * 40 + "。"))
    shelf.take(sensitivity="confidential")
    assert len(shelf.leads()) == 16
    assert not any(PHONE[:4] in lead for lead in shelf.leads())


def test_a_stricter_redaction_takes_it_out(shelf: Shelf) -> None:
    """What was stored before is overwritten with the lead of older versions, too."""
    shelf.write("B7.txt", report(f"联系人电话{PHONE}，负责二〇二〇年度报告的编制和披露，请在工作时间来电。"))
    shelf.take(sensitivity="public")
    assert PHONE in shelf.leads()[0]
    shelf.take(sensitivity="confidential")
    assert len(shelf.leads(all_versions=True)) == 2
    assert not any(PHONE in lead for lead in shelf.leads(all_versions=True))


def test_what_is_removed_leaves_no_lead(shelf: Shelf) -> None:
    """Removing a source, or forgetting a document that is gone, overwrites its lead."""
    shelf.write("B7.txt", report())
    shelf.write("C1.txt", report(ACME))
    shelf.take()
    (shelf.docs / "B7.txt").unlink()
    shelf.take()
    assert shelf.leads(all_versions=True) == [FIRST, ACME]
    shelf.library.catalog.forget_removed("docs")
    assert shelf.leads(all_versions=True) == ["", ACME]
    shelf.library.remove("docs")
    assert shelf.leads(all_versions=True) == ["", ""]


# -- older libraries ------------------------------------------------------------------------------------------
@BOTH
def test_an_older_library(catalog: Catalog, place: Any) -> None:
    """A library of the format before gets the column; what it holds has no lead, and is searched as before."""
    put(catalog, 1, text="words")
    before = [(c.passage_id, c.row) for c in catalog.changes(0, catalog.seq(), vectors=False)]
    with catalog.database.writer.begin() as connection:
        connection.execute(sa.text("ALTER TABLE documents DROP COLUMN lead"))
        connection.execute(sa.text("UPDATE library SET value = '9' WHERE key = 'schema'"))
    with closing(Catalog.open(again(place))) as opened:
        assert [(c.passage_id, c.row) for c in opened.changes(0, opened.seq(), vectors=False)] == before
        assert [passage.lead for passage in opened.passages([1]).values()] == [""]


def test_files_read_before_get_it_at_the_next_refresh(shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that was read by a version without leads is read anew once, though it is the same."""
    with monkeypatch.context() as older:
        older.setattr("wenyuan.service.ingest.ingester.READING", "read/3+chunk/2")
        older.setattr("wenyuan.service.ingest.source_run.lead_of", lambda _: "")
        shelf.write("B7.txt", report())
        shelf.take()
    assert shelf.leads() == [""]
    assert shelf.take().changed == 1
    assert shelf.leads() == [FIRST]
    assert shelf.take().unchanged == 1
