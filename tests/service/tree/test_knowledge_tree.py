"""The knowledge as files: what is listed, read and looked through, by whom."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import pytest

import wenyuan
from governed_door import SETTINGS
from wenyuan.core.access import Principal, parse_agent
from wenyuan.core.errors import EngineTimeout, InvalidRequest, NotFound
from wenyuan.core.ports import Deadline
from wenyuan.service.ingest.corrections import CorrectionRequest
from wenyuan.service.tree.entries import LineQuery

LEAVE = """# Leave

Ask your lead first.

## Annual leave

You have 25 days.
Five of them carry over.

### Carrying over

By 31 March.

## Sick leave

A note from day four.
"""
FILES = {
    "policies/leave.md": LEAVE,
    "policies/2025/差旅 报销.md": "# 差旅\n\n出差须在24小时内登记。\n\n第十三条 超过500元的，由部门负责人审批。\n",
    "policies/2025/travel.txt": "Trains first.\nHotels up to 120 EUR.\n",
    "policies/2026/a/b/deep.md": "# Deep\n\nWithin 24 hours.\n",
    "manuals/pump.md": "# Pump P-7\n\nPressure at most 6 bar.\nNever open it hot.\n",
    "excerpts/book.md": "# Book\n\nFirst sentence here. Second sentence there. Third one follows. The secret ending.\n",
}
READER = Principal(key_id="k1", rights=frozenset({"retrieve", "search"}), agent_id="desk")


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    folder = tmp_path_factory.mktemp("tree")
    for name, text in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    with wenyuan.open(folder / "library", create=True, **SETTINGS) as found:
        for name in ("policies", "manuals", "excerpts"):
            terms = "excerpt<=25" if name == "excerpts" else ""
            found.add(wenyuan.Source(source_id=name, path=str(folder / name), copyright=terms))
        scope = [{"domain": "policies", "top_k": 3}, {"domain": "excerpts", "top_k": 3}]
        found.catalog.put_agent(parse_agent({"agent_id": "desk", "knowledge_scope": scope}))
        yield found


def paths(page: Any) -> list[str]:
    return [one.path for one in page.entries]


def everything(library: Any, path: str, limit: int, **more: Any) -> list[str]:
    found, after = list[str](), ""
    while True:
        page = library.tree.list(path, after=after, limit=limit, **more)
        found += paths(page)
        if not page.next:
            return found
        after = page.next


def test_sources_hold_folders_and_these_documents(library: Any) -> None:
    """Every level is listed once, in order, with a slash behind what holds more."""
    assert paths(library.tree.list("/")) == ["/excerpts/", "/manuals/", "/policies/"]
    assert paths(library.tree.list("/policies")) == ["/policies/2025/", "/policies/2026/", "/policies/leave.md"]
    assert paths(library.tree.list("policies/2025/")) == ["/policies/2025/travel.txt", "/policies/2025/差旅 报销.md"]
    assert paths(library.tree.list("/policies/2026")) == ["/policies/2026/a/"]


@pytest.mark.parametrize("limit", [1, 2, 100])
def test_pages_join_to_the_whole_list(library: Any, limit: int) -> None:
    """However long pages are, each entry is on one of them."""
    for path in ("/", "/policies", "/policies/2025"):
        assert everything(library, path, limit) == everything(library, path, 100)
    assert everything(library, "/policies/leave.md", limit) == ["/policies/leave.md"] * 3
    assert everything(library, "/", limit, name="*.md") == everything(library, "/", 100, name="*.md")


def test_a_mark_names_no_path_of_this_machine(library: Any) -> None:
    """What is given for the next page says no more than paths do."""
    import base64

    for page in (
        library.tree.list("/policies", limit=1),
        library.tree.list("/", name="*", limit=1),
        library.tree.grep(LineQuery(pattern="24"), limit=1),
    ):
        plain = base64.urlsafe_b64decode(page.next + "===") if page.next.startswith("W") else page.next.encode()
        assert page.next
        assert b"file:" not in plain
        assert str(library.folder).encode() not in plain


def test_a_document_has_sections_with_lines(library: Any) -> None:
    """The line of a section is that at which reading it begins."""
    sections = [(one.title, one.line, one.level) for one in library.tree.list("/policies/leave.md").entries]
    assert sections == [("Annual leave", 5, 1), ("Carrying over", 10, 2), ("Sick leave", 14, 1)]
    lines = LEAVE.split("\n")
    for title, line, level in sections:
        assert lines[line - 1] == f"{'#' * (level + 1)} {title}"


def test_the_text_is_that_of_the_file(library: Any) -> None:
    """Joined from passages, lines and their numbers are the file's."""
    part = library.tree.read("/policies/leave.md")
    assert part.text == LEAVE.rstrip("\n")
    assert (part.line, part.next_line, part.notice) == (1, None, "")
    assert library.tree.read("/policies/leave.md", lines=None).lines == part.lines


def test_reading_goes_on_where_it_ended(library: Any) -> None:
    """Line for line, whatever the number of lines at once."""
    for step in (1, 3, 7):
        found, line = list[str](), 1
        while line is not None:
            part = library.tree.read("/policies/leave.md", line=line, lines=step)
            found += part.lines
            line = part.next_line
        assert found == LEAVE.rstrip("\n").split("\n")


def test_a_section_is_read_with_what_is_below_it(library: Any) -> None:
    """By its heading in any case; the next section of its level is not in it."""
    part = library.tree.read("/policies/leave.md", section="ANNUAL LEAVE")
    assert part.line == 5
    assert "31 March" in part.text
    assert "Sick" not in part.text
    for none in ("Overtime", "", "#"):
        with pytest.raises(NotFound):
            library.tree.read("/policies/leave.md", section=none)


def test_a_section_is_one_of_its_name(library: Any, tmp_path: Path) -> None:
    """The first, with its own lines; the others are named by theirs. The document's title names all of it."""
    text = "# Doc\n\n## Scope\n\nAll pumps.\n\n## Rates\n\nTen.\n\n## Scope\n\nAll valves.\n\n# Annex\n\n## Rates\n\nTwenty.\n"
    names = {"a b.md": "one", "a%20b.md": "two", "archive.zip?entry=x.md": "three", "s.md": text}
    (tmp_path / "docs").mkdir()
    for name, words in names.items():
        (tmp_path / "docs" / name).write_text(words if "#" in words else f"# {words}\n\nWord {words}.\n", "utf-8")
    with wenyuan.open(tmp_path / "library", create=True, **SETTINGS) as found:
        found.add(wenyuan.Source(source_id="docs", path=str(tmp_path / "docs")))
        part = found.tree.read("/docs/s.md", section="scope")
        assert (part.line, part.lines[:3]) == (3, ("## Scope", "", "All pumps."))
        assert "valves" not in part.text and "Ten" not in part.text
        assert "11" in part.notice
        rates = found.tree.read("/docs/s.md", section="Rates")
        assert (rates.line, rates.lines[2], "17" in rates.notice) == (7, "Ten.", True)
        assert found.tree.read("/docs/s.md", section="Doc").text == text.rstrip("\n")
        for path in everything(found, "/docs", 100):
            assert found.tree.read(path).path == path
        word = {one.path: found.tree.read(one.path).text for one in found.tree.list("/docs").entries}
        assert len(set(word.values())) == len(names)


def test_a_document_that_is_disabled_is_not_there(tmp_path: Path) -> None:
    """Neither listed nor read: it answers nothing."""
    (tmp_path / "docs").mkdir()
    for name in ("a.md", "b.md"):
        (tmp_path / "docs" / name).write_text(f"# {name}\n\nWords of {name}.\n", "utf-8")
    with wenyuan.open(tmp_path / "library", create=True, **SETTINGS) as found:
        found.add(wenyuan.Source(source_id="docs", path=str(tmp_path / "docs")))
        number = int(found.tree.list("/docs").entries[0].ref.removeprefix("document-"))
        found.correct(CorrectionRequest(action="exclude", document_id=number))
        assert paths(found.tree.list("/docs")) == ["/docs/b.md"]
        with pytest.raises(NotFound):
            found.tree.read("/docs/a.md")


def test_an_id_of_an_answer_leads_to_its_line(library: Any) -> None:
    """A passage's id begins at the passage, a document's at its first line."""
    response = library.retrieve_fragments(wenyuan.RetrievalRequest(query="31 March carry over", max_results=1))
    ref = response.fragments[0].metadata["passage_id"]
    part = library.tree.read(ref, lines=3)
    assert part.path.startswith("/policies/")
    assert part.lines[0].strip() and part.lines[0] in LEAVE
    document = library.tree.list("/policies").entries[-1].ref
    assert library.tree.read(document).text == LEAVE.rstrip("\n")


def test_a_path_is_found_as_it_was_listed(library: Any) -> None:
    """Also with spaces and Chinese, and as its address is written."""
    part = library.tree.read("/policies/2025/差旅 报销.md")
    assert part.title == "差旅"
    assert library.tree.read("/policies/2025/差旅%20报销.md").text == part.text
    for path in everything(library, "/", 100, name="**"):
        assert library.tree.read(path).path == path


def test_lines_are_found_by_text_in_any_width(library: Any) -> None:
    """A text is no expression; full-width and half-width are one."""
    found = library.tree.grep(LineQuery(pattern="２４小时"))
    assert [(one.path, one.line) for one in found.matches] == [("/policies/2025/差旅 报销.md", 3)]
    assert library.tree.grep(LineQuery(pattern="24.小时")).matches == ()
    assert len(library.tree.grep(LineQuery(pattern="24")).matches) == 2
    assert library.tree.grep(LineQuery(pattern="TRAINS")).matches
    assert library.tree.grep(LineQuery(pattern="TRAINS", case=True)).matches == ()


def test_lines_are_found_by_expression_with_those_around(library: Any) -> None:
    """With lines before and after, as many as there are."""
    wanted = LineQuery(pattern="[0-9]+ (days|bar)", regex=True, context=1)
    days, bar = sorted(library.tree.grep(wanted).matches, key=lambda one: one.path, reverse=True)
    assert (days.line, days.text, days.before, days.after) == (
        7, "You have 25 days.", ("",), ("Five of them carry over.",),
    )  # fmt: skip
    assert bar.after == ("Never open it hot.",)
    only = library.tree.grep(replace(wanted, name="pump*"))
    assert [one.path for one in only.matches] == ["/manuals/pump.md"]
    assert library.tree.grep(wanted, "/policies/leave.md").documents == 1


@pytest.mark.parametrize("limit", [1, 2, 3])
def test_pages_of_matches_join_to_all(library: Any, limit: int) -> None:
    """No line is given twice, and none is left out."""
    wanted, found, after = LineQuery(pattern="e"), list[tuple[str, int]](), ""
    whole = [(one.path, one.line) for one in library.tree.grep(wanted, limit=500).matches]
    while True:
        page = library.tree.grep(wanted, after=after, limit=limit)
        found += [(one.path, one.line) for one in page.matches]
        if not page.next:
            break
        after = page.next
    assert found == whole


def test_a_search_that_takes_long_ends_its_page(library: Any) -> None:
    """With where to go on, after one document at least; all pages together look through everything."""
    ticks = count(0, 2)
    paths = replace(library.tree.paths, limit=lambda: Deadline(1e9, lambda: float(next(ticks))))
    slow, after, pages, documents = replace(library.tree, paths=paths), "", 0, 0
    while True:
        page = slow.grep(LineQuery(pattern="24"), after=after)
        pages, documents, after = pages + 1, documents + page.documents, page.next
        if not after:
            break
    assert (pages, documents) == (len(FILES), len(FILES))


def test_a_long_text_takes_no_longer_than_its_deadline(library: Any) -> None:
    """It is a failure then, and no shorter text; without a number of lines it takes as long as it takes."""
    late = replace(library.tree.paths, limit=lambda: Deadline(0.0, lambda: 1.0))
    tree = replace(library.tree, paths=late)
    with pytest.raises(EngineTimeout):
        tree.read("/policies/leave.md")
    assert tree.read("/policies/leave.md", lines=None).text == LEAVE.rstrip("\n")


def test_who_may_not_see_a_source_finds_nothing_of_it(library: Any) -> None:
    """Listed, read, looked through, by path and by id: what is another's is told as what is not there."""
    tree = library.tree
    pump = tree.list("/manuals").entries[0].ref
    assert paths(tree.list("/", READER)) == ["/excerpts/", "/policies/"]
    assert tree.grep(LineQuery(pattern="bar"), "/", READER).matches == ()
    for path in ("/manuals", "/manuals/pump.md", pump):
        for call in (tree.list, tree.read):
            with pytest.raises(NotFound) as foreign:
                call(path, READER)
            with pytest.raises(NotFound) as absent:
                call("/nowhere" if path.startswith("/") else "document-999999", READER)
            assert type(foreign.value) is type(absent.value)


def test_terms_bound_what_others_are_given(library: Any) -> None:
    """An excerpt is the document's beginning, however it is read, and lines behind it are not found."""
    assert "secret ending" in library.tree.read("/excerpts/book.md").text
    part = library.tree.read("/excerpts/book.md", READER)
    assert len(part.text) <= 25 + 2
    assert "excerpt" in part.notice
    with pytest.raises(NotFound):
        library.tree.read("/excerpts/book.md", READER, line=4)
    assert library.tree.grep(LineQuery(pattern="secret"), "/", READER).matches == ()


def test_hidden_documents_are_not_there(library: Any, tmp_path: Path) -> None:
    """Neither listed, nor a reason to list their folder."""
    (tmp_path / "hr" / "pay").mkdir(parents=True)
    (tmp_path / "hr" / "open.md").write_text("# Open\n\nFor everybody.\n", encoding="utf-8")
    (tmp_path / "hr" / "pay" / "bands.md").write_text("# Bands\n\nBand A earns more.\n", encoding="utf-8")
    with wenyuan.open(tmp_path / "library", create=True, **SETTINGS) as found:
        readers = {"readers": {"documents": [{"path": "pay/**", "readers": ["group:hr"]}]}}
        found.add(wenyuan.Source(source_id="hr", path=str(tmp_path / "hr"), settings=readers))
        some = Principal(key_id="k2", rights=frozenset({"retrieve"}), user="user:li")
        assert "/hr/pay/" in paths(found.tree.list("/hr"))
        assert paths(found.tree.list("/hr", some)) == ["/hr/open.md"]
        assert found.tree.grep(LineQuery(pattern="Band"), "/", some).matches == ()
        for path in ("/hr/pay", "/hr/pay/bands.md"):
            with pytest.raises(NotFound):
                found.tree.list(path, some)


def test_reading_is_in_the_audit(library: Any) -> None:
    """Who read what, and who found lines of what, by which door."""
    before = library.audit.list(kind="fetch", limit=1)
    library.tree.read("/manuals/pump.md", door="mcp")
    library.tree.grep(LineQuery(pattern="bar"), door="fs")
    found = library.audit.list(kind="fetch", limit=2)
    assert [one.record["door"] for one in found] == ["fs", "mcp"]
    assert found[0].audit_id != (before[0].audit_id if before else "")


@pytest.mark.parametrize(
    "call",
    [
        lambda tree: tree.read("/policies"),
        lambda tree: tree.read("/policies/leave.md", line=0),
        lambda tree: tree.read("/policies/leave.md", lines=10_000),
        lambda tree: tree.list("/", limit=0),
        lambda tree: tree.list("/policies", after="zz"),
        lambda tree: tree.list("/", after="policies"),
        lambda tree: tree.list("/", name="x" * 501),
        lambda tree: tree.list("/", name=""),
        lambda tree: tree.grep(LineQuery(pattern="a", name="")),
        lambda tree: tree.list("/", name="*", after="none of ours"),
        lambda tree: tree.grep(LineQuery(pattern="")),
        lambda tree: tree.grep(LineQuery(pattern="(", regex=True)),
        lambda tree: tree.grep(LineQuery(pattern="a", context=99)),
        lambda tree: tree.grep(LineQuery(pattern="a"), after="W10"),
    ],
)
def test_a_callers_mistake_is_told_as_one(library: Any, call: Any) -> None:
    """With what is wrong, never as a failure of the library."""
    with pytest.raises(InvalidRequest):
        call(library.tree)
