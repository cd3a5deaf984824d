"""A question that is asked in parts is one question in the audit: its records are linked, and listed as one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import wenyuan
from wenyuan.cli.root import app
from wenyuan.core.access import Agent, DomainScope
from wenyuan.core.records import folded
from wenyuan.packs.shipped import located
from wenyuan.readers.rulebooks.selection import read_book
from wenyuan.service.context import ContextRequest
from wenyuan.service.rules.unified import UnifiedRequest
from wenyuan.service.search.searcher import SearchRequest

QUESTION = "深基坑开挖的安全措施"


@pytest.fixture
def library(tmp_path: Path) -> Iterator[Any]:
    with wenyuan.open(tmp_path / "library", create=True, encoder={"kind": "hashing"}) as opened:
        with located("construction") as folder:
            opened.rules.take(read_book(folder))
        for name in ("cases", "more"):
            (tmp_path / name).mkdir()
            text = f"# 深基坑开挖 {name}\n\n深基坑开挖坍塌，支护不到位，安全措施未落实。\n"
            (tmp_path / name / "a.md").write_text(text, "utf-8")
            opened.add(wenyuan.Source(source_id=name, path=str(tmp_path / name), domain=name, trust=4))
        scope = (DomainScope(domain="cases", top_k=3), DomainScope(domain="more", top_k=3))
        opened.catalog.put_agent(Agent(agent_id="both", knowledge_scope=scope))
        yield opened


def records(library: Any) -> list[Any]:
    library.audit.flush()
    return [r for r in library.audit.list(limit=100) if r.kind == "retrieval"]


def test_unified_retrieval_is_one_question(library: Any) -> None:
    """Rules, cases and templates are records of their own, linked to the first; two questions are two."""
    for chapter in (None, "ch08_safety"):
        library.retrieve(UnifiedRequest(query=QUESTION, chapter=chapter))
    found = records(library)
    assert len(found) > 4
    listed = folded(found)
    assert len(listed) == 2
    assert sum(more + 1 for _, more in listed) == len(found)
    assert [record.record["door"] for record, _ in listed] == ["infer_rules", "infer_rules"]
    assert not any("part_of" in record.record for record, _ in listed)


def test_an_agents_domains_are_one_question(library: Any) -> None:
    """A search and a context of two domains, also with more queries, are one question each."""
    library.find(SearchRequest(query=QUESTION, agent_id="both"))
    assert [more for _, more in folded(records(library))] == [1]
    library.get_context(ContextRequest(retrieval_query=QUESTION, agent_id="both", extra_queries=("支护",)))
    assert [more for _, more in folded(records(library))] == [3, 1]


def test_parts_verify_and_replay(library: Any) -> None:
    """Each part is replayed as it was asked, and the chain is whole."""
    library.retrieve(UnifiedRequest(query=QUESTION))
    found = records(library)
    assert any("part_of" in record.record for record in found)
    assert library.audit.verify().ok
    assert all(library.replay(record.audit_id).identical for record in found)


def test_what_was_asked_alone_stands_alone(library: Any) -> None:
    """Records without a link, as older ones are, stand one by one; a part stands for a first record out of reach."""
    for _ in range(2):
        library.search(QUESTION)
    assert [more for _, more in folded(records(library))] == [0, 0]
    library.retrieve(UnifiedRequest(query=QUESTION))
    newest = records(library)[:2]
    ((kept, more),) = folded(newest)
    assert (kept.audit_id, more) == (newest[-1].audit_id, 1)


@pytest.mark.parametrize(("locale", "said"), [("C.UTF-8", "more parts"), ("zh_CN.UTF-8", "个部分")])
def test_the_list_shows_it_once(library: Any, locale: str, said: str) -> None:
    """`audit list` has one entry for the question, in both languages; `--parts` has each, `show` says what it belongs to."""
    library.retrieve(UnifiedRequest(query=QUESTION))
    found = records(library)
    world = {"WENYUAN_ENCODER__KIND": "hashing", "LC_ALL": locale, "COLUMNS": "80"}

    def told(*words: str) -> str:
        arguments = ["audit", *words, "--library", str(library.folder)]
        shown = CliRunner().invoke(app, arguments, env=world, prog_name="wenyuan")
        assert shown.exit_code == 0, shown.output
        return shown.stdout

    once, each = told("list", "--kind", "retrieval"), told("list", "--kind", "retrieval", "--parts")
    assert (once.count(QUESTION), each.count(QUESTION)) == (1, len(found))
    assert said in once and said not in each
    assert found[-1].audit_id in told("show", found[0].audit_id)
