"""A library in which somebody stands in every place, and a search for that person in every file, in every form."""

from __future__ import annotations

import base64
import gzip
import hashlib
import html
import io
import json
import quopri
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote

import docx
import openpyxl

import wenyuan
from pdf_files import make_pdf
from wenyuan.core.access import Agent, DomainScope
from wenyuan.core.gaps import digest_of
from wenyuan.core.model import Source
from wenyuan.core.text.synonyms import Synonym
from wenyuan.readers.rulebooks.selection import read_book
from wenyuan.service.ingest.corrections import CorrectionRequest
from wenyuan.service.uploads import Given

NAME, NUMBER, MAIL = "李慕白", "13822223333", "mubai.li@example.org"
VALUES = (NAME, NUMBER, MAIL)
WRITTEN = (
    NAME, "李　慕白", "李 慕 白", "李\u200b慕白", NUMBER, "138-2222-3333", "１３８２２２２３３３３", "+86 138 2222 3333", MAIL,
    "Mubai.Li@Example.ORG",
)  # fmt: skip
"""Ways in which the documents have them."""
OTHER = "王若曦"
"""Somebody else, who stays."""

SCHEMA = """
pack: staff
schema:
  kinds: {process: {zh: 工序, en: process}, requirement: {zh: 要求, en: requirement}}
  relations: {demands: {zh: 要求, en: demands, from: [process], to: [requirement]}}
  patterns: {needs: {start: process, collect: {mandatory: [demands]}}}
process: [{name: 夜班检修}]
requirement: [{name: 李慕白签字}]
"""
ROWS = "主体,关系,客体,来源,条款,引文\n夜班检修,要求,李慕白签字,files,第一条,夜班检修须由李慕白签字\n"


def forms(value: str) -> dict[str, bytes]:
    """A value in the forms in which a file may have it, by name."""
    wide = value.translate({code: code - 0x21 + 0xFF01 for code in range(0x21, 0x7F)})
    spaced = " ".join(value)
    found = {
        "utf-8": value.encode(),
        "utf-16-le": value.encode("utf-16-le"),
        "utf-16-be": value.encode("utf-16-be"),
        "utf-32-le": value.encode("utf-32-le"),
        "gb18030": value.encode("gb18030"),
        "upper case": value.upper().encode(),
        "lower case": value.lower().encode(),
        "full width": wide.encode(),
        "spaced": spaced.encode(),
        "url": quote(value, safe="").encode(),
        "url, lower case": quote(value, safe="").lower().encode(),
        "url of full width": quote(wide, safe="").encode(),
        "form": quote(spaced, safe="").replace("%20", "+").encode(),
        "json": json.dumps(value)[1:-1].encode(),
        "json, upper case": json.dumps(value)[1:-1].replace("\\u", "\0").upper().replace("\0", "\\u").encode(),
        "html": "".join(f"&#{ord(c)};" for c in value).encode(),
        "html, hexadecimal": "".join(f"&#x{ord(c):x};" for c in value).encode(),
        "html of text": html.escape(value).encode(),
        "quoted-printable": quopri.encodestring(value.encode()),
        "hexadecimal": value.encode().hex().encode(),
        "sha256": hashlib.sha256(value.encode()).hexdigest().encode(),
        "sha256, bytes": hashlib.sha256(value.encode()).digest(),
        "sha1": hashlib.sha1(value.encode()).hexdigest().encode(),
        "md5": hashlib.md5(value.encode()).hexdigest().encode(),
        "digest of a question": digest_of(value).encode(),
    }
    for shift in range(3):
        whole = base64.b64encode(b"\0" * shift + value.encode() + b"\0" * 3)
        found[f"base64, {shift}"] = whole[
            (shift * 8 + 5) // 6 + (shift > 0) : (shift * 8 + len(value.encode()) * 8) // 6
        ]
    if value.isascii():
        found.pop("utf-32-le")
    return {name: form for name, form in found.items() if len(form) >= 6}


def contents(content: bytes, depth: int = 3) -> Iterator[bytes]:
    """Bytes, and what is packed in them."""
    yield content
    if not depth:
        return
    if content[:2] == b"PK":
        with (
            suppress(zipfile.BadZipFile, RuntimeError, NotImplementedError),
            zipfile.ZipFile(io.BytesIO(content)) as packed,
        ):
            for name in packed.namelist():
                yield name.encode()
                yield from contents(packed.read(name), depth - 1)
    at = content.find(b"\x1f\x8b\x08")
    while at >= 0 and depth:
        with suppress(OSError, EOFError, zlib.error):
            yield from contents(gzip.decompress(content[at:]), depth - 1)
        at = content.find(b"\x1f\x8b\x08", at + 1)
    for mark in (b"\x78\x9c", b"\x78\xda", b"\x78\x01"):
        at = content.find(mark)
        while at >= 0:
            with suppress(zlib.error):
                yield zlib.decompressobj().decompress(content[at:], 1 << 22)
            at = content.find(mark, at + 1)


def found_in(folder: Path, values: Iterable[str], vectors: Iterable[bytes] = ()) -> list[str]:
    """Where a value stands in the files of a folder, or in their names; or a vector that was made of it."""
    sought = {f"{value}: {name}": form for value in values for name, form in forms(value).items()}
    sought |= {f"vector {number}": vector for number, vector in enumerate(vectors)}
    hits = set()
    for file in sorted(folder.rglob("*")):
        told = str(file.relative_to(folder)).encode()
        for content in (told, *(contents(file.read_bytes()) if file.is_file() else ())):
            hits |= {f"{name} in {file.relative_to(folder)}" for name, form in sought.items() if form in content}
    return sorted(hits)


def word_file(*paragraphs: str) -> bytes:
    made, out = docx.Document(), io.BytesIO()
    for text in paragraphs:
        made.add_paragraph(text)
    made.core_properties.author = NAME
    made.save(out)
    return out.getvalue()


def workbook(*rows: tuple[str, ...]) -> bytes:
    made, out = openpyxl.Workbook(), io.BytesIO()
    for row in rows:
        made.active.append(row)
    made.save(out)
    return out.getvalue()


def write_files(docs: Path) -> None:
    """The owner's own files: the person in text, titles, tables, names of files, front matter, JSON and mail."""
    docs.mkdir(parents=True, exist_ok=True)
    (docs / "clean.md").write_text(f"# 交接班\n\n交接班由{OTHER}负责，每天早上八点。\n", "utf-8")
    (docs / "rule.md").write_text("# 夜班\n\n第一条 夜班检修须由李慕白签字。\n", "utf-8")
    (docs / f"{NAME} 简历.md").write_text(
        f"---\ncontact: {MAIL}\n{NAME}: leader\n---\n# {NAME}的简历\n\n"
        + "\n\n".join(f"联系 {one}。" for one in WRITTEN),
        "utf-8",
    )
    (docs / "table.csv").write_text(f"question,answer\n谁值夜班？,{NAME}（{NUMBER}）\n谁交接？,{OTHER}\n", "utf-8")
    (docs / "lines.jsonl").write_text(
        json.dumps({"id": 1, "text": f"夜班由{NAME}负责", "title": NAME})
        + "\n"
        + json.dumps({"id": 2, "text": "白班由别人负责"})
        + "\n",
        "utf-8",
    )
    (docs / "mail.eml").write_bytes(
        f"From: {MAIL}\nSubject: Schichtplan\nMIME-Version: 1.0\nContent-Type: text/plain; charset=utf-8\n"
        "Content-Transfer-Encoding: base64\n\n".encode() + base64.b64encode(f"{NAME}来信：夜班表。".encode()) + b"\n"
    )  # fmt: skip
    (docs / "only.txt").write_text(NAME, "utf-8")
    (docs / "bad.pdf").write_bytes(b"%PDF-1.4 " + NAME.encode())


def uploads(aside: Path) -> list[Given]:
    """Files that are uploaded: of kinds that are packed, and one named after the person."""
    aside.mkdir(exist_ok=True)
    files = {
        f"{NAME}.docx": word_file(f"{NAME}的合同", f"电话 {NUMBER}"),
        "plan.xlsx": workbook(("日期", "值班"), ("周一", NAME), ("周二", OTHER)),
        "scan.pdf": make_pdf([[(72, 700, NAME + "签字"), (72, 650, "合同附件")]], chinese=True),
        "plain.txt": f"无关的说明，{OTHER}写的。".encode(),
    }
    given = []
    for number, (name, content) in enumerate(files.items()):
        (aside / str(number)).write_bytes(content)
        given.append(Given(name=name, path=aside / str(number)))
    return given


def fill(library: Any, root: Path) -> list[bytes]:
    """Have the person stand in every place of a library; returns the vectors that were made of it."""
    write_files(root / "docs")
    library.add(Source(source_id="files", path=str(root / "docs"), owner=NAME, title=f"{NAME}的文件", tags=(NAME,)))
    library.catalog.put_source(Source(source_id="up"))
    library.upload("up", uploads(root / "aside"))
    library.catalog.put_source(Source(source_id="shut", sensitivity="restricted"))
    library.upload("shut", [Given(name="note.md", path=_file(root, f"# 备忘\n\n联系人：{NAME}，电话 {NUMBER}。\n"))])
    # A former version, and one that was removed.
    (root / "docs" / "old.md").write_text(f"# 旧\n\n{NAME}曾任班长。\n", "utf-8")
    library.ingest("files")
    (root / "docs" / "old.md").write_text("# 旧\n\n班长另有其人。\n", "utf-8")
    library.ingest("files")
    passage = next(one for one in library.search("交接班", sources=("files",)).passages.values() if OTHER in one.text)
    library.correct(
        CorrectionRequest(
            action="text", ref=passage.ref, text=f"交接班由{OTHER}负责，{NAME}协助。", reason=f"{NAME}要求"
        )
    )
    document = library.catalog.document_by_uri(passage.uri.partition("#")[0], ("files",))
    assert document is not None
    for text, name in ((SCHEMA, "staff.yaml"), (ROWS, "rows.csv")):
        (root / name).write_text(text, "utf-8")
        assert not library.rules.take(read_book(root / name)).errors
    library.embed_names()
    catalog = library.catalog
    catalog.put_agent(Agent(agent_id="desk", title=f"{NAME}的助手", knowledge_scope=(DomainScope(domain="d"),)))
    key, _ = catalog.create_key(None, frozenset({"search"}), None, name=f"{NAME}的密钥", user=f"user:{NAME}")
    catalog.revoke_key(key.key_id)
    catalog.put_synonyms([Synonym(term=NAME, synonym="老李")], "local")
    ask(library)
    return [bytes(row) for row in _vectors(library)]


def ask(library: Any) -> None:
    """Questions about the person, a judgement, and a decision on a question that was not answered."""
    from wenyuan.core.model import RetrievalRequest

    for question in (f"{NAME}的电话是多少", NAME, f"谁认识 {NUMBER} 这个号码", MAIL):
        library.retrieve_fragments(RetrievalRequest(query=question, max_results=5))
    library.retrieve_fragments(RetrievalRequest(query="交接班几点", max_results=5))
    library.audit.flush()
    answer = next(one for one in library.audit.list(kind="retrieval") if one.record["fragments"])
    library.give_feedback(answer.audit_id, good=(answer.record["fragments"][0]["ref"],))
    for gap in library.gaps.find().gaps:
        library.gaps.decide(gap.gap_id, "later", note=f"{NAME} asked")


def _file(root: Path, text: str) -> Path:
    path = root / "aside" / "written"
    path.write_text(text, "utf-8")
    return path


def _vectors(library: Any) -> list[bytes]:
    """The vectors of passages in which the person stands, and of names."""
    import sqlalchemy as sa

    with library.catalog.database.reading("vectors") as connection:
        keys = connection.execute(sa.text("SELECT text, vector_key FROM passages")).all()
        wanted = {key for text, key in keys if NAME in text and key}
        rows = connection.execute(sa.text("SELECT vector_key, vector FROM vectors")).all()
    return [bytes(vector) for key, vector in rows if key in wanted]


def opened(root: Path, **settings: Any) -> wenyuan.Library:
    """A library that keeps questions as they are asked."""
    made = {"encoder": {"kind": "hashing", "dimension": 64}, "audit": {"sensitivity": "none"}}
    return wenyuan.open(root / "library", create=True, **{**made, **settings})
