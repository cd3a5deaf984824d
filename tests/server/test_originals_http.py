"""Originals over HTTP: who may have them, as what they are sent, and what is said when they are not as they were read."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import wenyuan
from governed_door import governed_server, key, send
from http_door import Answer, assert_problem
from pdf_files import make_pdf
from wenyuan.server.routes.originals import as_file
from wenyuan.service.ingest.corrections import CorrectionRequest

Served = tuple[str, Any, Path]
PDF = make_pdf([[(72, 700, "A complaint is answered within 24 hours.")], [(72, 700, "Second page of it.")]])


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("originals")
    with governed_server(folder) as (url, library):
        made = {
            "manual": {"copyright": "allow"},
            "standard": {"copyright": "excerpt<=200"},
            "staff": {"copyright": "allow", "sensitivity": "internal"},
        }
        for name, terms in made.items():
            (folder / name).mkdir()
            (folder / name / "说明 1.pdf").write_bytes(PDF)
            library.add(wenyuan.Source(source_id=name, path=str(folder / name), domain="wiki", **terms))
        (folder / "manual" / "page.html").write_text("<h1>T</h1><p>客户投诉<script>alert(1)</script></p>")
        (folder / "manual" / "known.md").write_text("# 名单\n\n身份证 11010519491231002X。\n", encoding="utf-8")
        (folder / "manual" / "said.mdx").write_text(
            "# 说明\n\n周五放假。<!-- 身份证 11010519491231002X -->\n", encoding="utf-8"
        )
        library.ingest("manual")
        yield url, library, folder


def of(served: Served, source: str, suffix: str = ".pdf") -> str:
    live = served[1].catalog.live_documents(source)
    return f"/v1/documents/{next(n for uri, (n, _) in live.items() if uri.endswith(suffix))}"


def asked(served: Served, path: str, *rights: str, agent: str | None = None) -> Answer:
    return send(served[0], "GET", path, token=key(served[1], *rights, agent=agent))


def test_a_download_is_the_file_and_never_a_page(served: Served) -> None:
    """Byte for byte, under its own name, kept as a file; HTML is not said to be HTML."""
    pdf = asked(served, of(served, "manual") + "/original", "search")
    assert (pdf.status, pdf.body, pdf.headers["Content-Type"]) == (200, PDF, "application/pdf")
    assert pdf.headers["Content-Disposition"].startswith("attachment;")
    assert pdf.headers["Content-Disposition"].endswith("''%E8%AF%B4%E6%98%8E%201.pdf")
    html = asked(served, of(served, "manual", ".html") + "/original", "search")
    assert html.headers["Content-Type"] == "application/octet-stream"
    assert (html.headers["X-Content-Type-Options"], html.headers["Content-Security-Policy"]) == ("nosniff", "sandbox")


@pytest.mark.parametrize("name", ['a"; filename="b.html', "a\r\nSet-Cookie: x=1", "\\..\\x", "表.pdf", "%41.pdf"])
def test_no_name_breaks_out_of_its_header(name: str) -> None:
    """Quotes, line ends and escapes are not written as they are."""
    said = as_file(name)
    assert said.isascii() and said.isprintable()
    assert said.count('"') == 2


def test_a_page_is_a_picture(served: Served) -> None:
    """PNG of about the width that was asked for; what is asked amiss is refused by name."""
    page = asked(served, of(served, "manual") + "/pages/2?width=400", "search")
    assert (page.status, page.headers["Content-Type"]) == (200, "image/png")
    assert int.from_bytes(page.body[16:20]) == 400
    again = asked(served, of(served, "manual") + "/pages/2?width=400", "search")
    assert again.body == page.body
    for query in ("width=99", "width=2401", "width=x", "size=1"):
        assert_problem(asked(served, of(served, "manual") + f"/pages/2?{query}", "search"), 400, "invalid_request")
    for path in ("/pages/0", "/pages/3"):
        assert_problem(asked(served, of(served, "manual") + path, "search"), 404, "document_rejected")
    assert_problem(asked(served, of(served, "manual", ".html") + "/pages/1", "search"), 404, "document_rejected")
    for path in ("/pages/x", "/pages/-1", f"/pages/{'9' * 30}"):
        assert_problem(asked(served, of(served, "manual") + path, "search"), 404, "not_found")


def test_terms_forbid_the_copy_and_not_the_look_of_who_keeps_the_library(served: Served) -> None:
    """A source that allows excerpts only is never downloaded; its pages are seen by whoever keeps the library."""
    where = of(served, "standard")
    for rights in (("search",), ("search", "registry"), ("admin",)):
        assert_problem(asked(served, where + "/original", *rights), 403, "not_permitted")
    assert_problem(asked(served, where + "/pages/1", "search"), 403, "not_permitted")
    assert asked(served, where + "/pages/1", "search", "registry").status == 200


def test_what_redaction_takes_out_is_not_given_by_the_back_door(served: Served) -> None:
    """Neither a source that is not public, nor a document of which something was taken out, nor one that has it in a comment.

    Its keeper sees all of them.
    """
    for where in (of(served, "staff"), of(served, "manual", ".md"), of(served, "manual", ".mdx")):
        assert asked(served, where + "/original/state", "search").json["download"] is False
        assert_problem(asked(served, where + "/original", "search"), 403, "not_permitted")
        assert_problem(asked(served, where + "/original", "search", "registry", agent="other"), 403, "not_permitted")
        assert asked(served, where + "/original", "search", "registry").status == 200


def test_one_part_of_a_file_does_not_give_the_others(served: Served) -> None:
    """Where something was taken out of one document of an archive, or is excluded, the archive is its keeper's alone;
    a correction of the words beside what was taken out changes nothing of that."""
    _, library, folder = served
    (folder / "packed").mkdir()
    with zipfile.ZipFile(folder / "packed" / "all.zip", "w") as archive:
        archive.writestr("plain.md", "# 制度\n\n年假每年五天。\n")
        archive.writestr("names.md", "# 名单\n\n身份证 11010519491231002X。\n")
        archive.writestr("other.md", "# 其他\n\n加班需要批准。\n")
    with zipfile.ZipFile(folder / "packed" / "good.zip", "w") as archive:
        archive.writestr("good.md", "# 通知\n\n周五放假。\n")
        archive.writestr("more.md", "# 补充\n\n周六补班。\n")
    library.add(wenyuan.Source(source_id="packed", path=str(folder / "packed"), domain="wiki", copyright="allow"))
    taken, good, more = (of(served, "packed", name) for name in ("plain.md", "good.md", "more.md"))
    names = int(of(served, "packed", "names.md").rpartition("/")[2])

    def statuses(where: str) -> tuple[int, int]:
        rights: list[tuple[str, ...]] = [("search",), ("search", "registry")]
        stranger, keeper = (asked(served, where + "/original", *one).status for one in rights)
        return stranger, keeper

    assert (statuses(taken), statuses(good)) == ((403, 200), (200, 200))
    (passage,) = library.document_passages(names).passages
    library.correct(CorrectionRequest(action="text", ref=passage["ref"], text="名单见附件。"))
    assert statuses(taken) == (403, 200)
    number = int(more.rpartition("/")[2])
    made = library.correct(CorrectionRequest(action="exclude", document_id=number))
    assert statuses(good) == (403, 200)
    library.undo_correction(made["correction_id"])
    assert statuses(good) == (200, 200)


def test_another_s_document_is_not_there(served: Served) -> None:
    """To an agent, what lies outside its scope is answered like what nobody made."""
    for path in ("/original", "/original/state", "/pages/1"):
        other = asked(served, of(served, "crm_policy", ".md") + path, "search", agent="other")
        none = asked(served, f"/v1/documents/999999{path}", "search", agent="other")
        assert_problem(other, 404, "not_found")
        assert {**other.json, "request_id": ""} == {**none.json, "request_id": ""}


def test_what_can_be_had_is_told(served: Served) -> None:
    """Pages and download apart, with the reason where one of them is not given."""
    told = {
        name: asked(served, of(served, name) + "/original/state", "admin").json for name in ("manual", "standard")
    }
    assert {name: (one["pages"], one["download"]) for name, one in told.items()} == {
        "manual": (True, True), "standard": (True, False),
    }  # fmt: skip
    assert told["manual"]["name"] == "说明 1.pdf"
    assert "terms" in told["standard"]["reason"]
    stranger = asked(served, of(served, "staff") + "/original/state", "search").json
    assert (stranger["name"], stranger["pages"], stranger["download"]) == ("", False, False)


def test_a_file_that_changed_or_went_is_said_to(served: Served) -> None:
    """Not the new words under the old document's name: 409, and how to go on; after reading again all is well."""
    _, library, folder = served
    (folder / "moving").mkdir()
    file = folder / "moving" / "a.pdf"
    file.write_bytes(PDF)
    library.add(wenyuan.Source(source_id="moving", path=str(folder / "moving"), copyright="allow"))
    where = of(served, "moving")
    file.write_bytes(make_pdf([[(72, 700, "Other words.")]]))
    for path in ("/original", "/pages/1"):
        assert_problem(asked(served, where + path, "admin"), 409, "original_changed")
    assert "another one" in asked(served, where + "/original/state", "admin").json["reason"]
    library.ingest("moving")
    assert_problem(asked(served, where + "/original", "admin"), 404, "not_found")  # that version is no more
    assert asked(served, of(served, "moving") + "/pages/1", "admin").status == 200
    file.unlink()
    assert_problem(asked(served, of(served, "moving") + "/original", "admin"), 409, "original_gone")


def test_a_link_does_not_lead_out_of_the_source(served: Served) -> None:
    """A file that was put in the place of what was read, and leads elsewhere, is not followed."""
    _, library, folder = served
    (folder / "linked").mkdir()
    file = folder / "linked" / "a.pdf"
    file.write_bytes(PDF)
    library.add(wenyuan.Source(source_id="linked", path=str(folder / "linked"), copyright="allow"))
    file.unlink()
    (folder / "secret.pdf").write_bytes(PDF)
    file.symlink_to(folder / "secret.pdf")
    assert_problem(asked(served, of(served, "linked") + "/original", "admin"), 409, "original_unavailable")


def test_what_was_given_is_in_the_audit(served: Served) -> None:
    """A download and a page are records of reading, with the door."""
    asked(served, of(served, "manual") + "/original", "search")
    asked(served, of(served, "manual") + "/pages/1", "search")
    doors = [record.record["door"] for record in served[1].audit.list(kind="fetch", limit=2)]
    assert doors == ["page", "original"]
