"""The audit says what a context kept back, why, and how much of each passage it gave."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import wenyuan
from governed_door import governed_server, key, send
from wenyuan.cli.root import app
from wenyuan.core.access import Agent, DomainScope
from wenyuan.core.errors import EngineError
from wenyuan.core.prompt_parts import REASONS
from wenyuan.service.context import ContextRequest
from wenyuan.service.search.searcher import SearchRequest

QUERY = "客户投诉 多久响应 complaints"
LONG = "".join(
    f"第{n}条 客户投诉第{n}类由{n}号窗口负责，complaints of kind {n} go to desk {n}。\n\n" for n in range(1, 300)
)


@pytest.fixture
def library(tmp_path: Path) -> Iterator[Any]:
    with wenyuan.open(
        tmp_path / "library", create=True, encoder={"kind": "hashing"}, search={"floor": 0, "deadline": 20}
    ) as opened:
        for name, terms in (("guarded", "excerpt<=60"), ("open", "")):
            (tmp_path / name).mkdir()
            (tmp_path / name / f"{name}.md").write_text(f"{name} " + LONG.replace("窗口", f"窗口 {name} "))
            opened.add(wenyuan.Source(source_id=name, path=str(tmp_path / name), trust=4, copyright=terms))
        scope = (DomainScope(domain="guarded", top_k=4), DomainScope(domain="open", top_k=4))
        opened.catalog.put_agent(Agent(agent_id="clerk", knowledge_scope=scope, token_budget=120))
        yield opened


def records(library: Any) -> list[dict[str, Any]]:
    library.audit.flush()
    return [dict(r.record) for r in library.audit.list(kind="retrieval")]


def test_what_was_kept_back_is_recorded(library: Any) -> None:
    """Each passage that copyright or the budget kept back is named with its reason and characters, and no others."""
    context = library.get_context(ContextRequest(retrieval_query=QUERY, agent_id="clerk"))
    said = records(library)
    assert len(said) == 2
    told = {
        (reason, ref, n) for r in said for reason, refs in r.get("withheld", {}).items() for ref, n in refs.items()
    }
    assert told == {(d.reason, d.ref, d.characters) for d in context.build.details}
    assert {reason for reason, *_ in told} >= {"copyright", "budget"}
    assert all(r["request"]["token_budget"] == 120 for r in said)


def test_quoted_characters_are_those_given(library: Any) -> None:
    """A fragment that was kept back wholly quotes nothing, and copyright's limit holds over what is recorded."""
    context = library.get_context(ContextRequest(retrieval_query=QUERY, agent_id="clerk"))
    entries = {f["ref"]: f["quoted_chars"] for r in records(library) for f in r["fragments"]}
    given = {ref for s in context.build.snippets if s.content for ref in s.refs}
    assert {d.ref for d in context.build.details if d.whole and d.ref not in given} <= {
        ref for ref, quoted in entries.items() if quoted == 0
    }
    assert 0 < sum(n for ref, n in entries.items() if ref.startswith("guarded#")) <= 60


def test_a_copy_that_is_not_given_is_not_quoted(library: Any) -> None:
    """Of what another domain's passage says, too, and is given for, the record says that nothing was quoted."""
    for name in ("guarded", "open"):
        source = library.catalog.source(name)
        (Path(source.path) / f"{name}.md").write_text(f"{name} {LONG}")
        library.ingest(name)
    context = library.get_context(ContextRequest(retrieval_query=QUERY, agent_id="clerk", token_budget=2_000))
    given = {ref for snippet in context.build.snippets for ref in snippet.refs}
    entries = {f["ref"]: f["quoted_chars"] for r in records(library) for f in r["fragments"]}
    copies = entries.keys() - given - {d.ref for d in context.build.details}
    assert copies
    assert not any(entries[ref] for ref in copies)
    assert all(entries[ref] for ref in given)


@pytest.mark.parametrize("allowed", [False, True])
def test_low_trust_is_recorded_where_it_was_used(library: Any, allowed: bool) -> None:
    """A record says which trust was demanded, and whether low trust was let in."""
    asked = ContextRequest(retrieval_query=QUERY, agent_id="clerk", allow_low_trust=allowed)
    library.get_context(asked)
    for record in records(library):
        assert record["request"].get("allow_low_trust", False) is allowed
        assert record["request"]["min_trust"] == (1 if allowed else 3)


def test_what_auto_cuts_is_kept_back(library: Any) -> None:
    """What `auto` cuts off is not recorded as given, in a search and in a context."""
    scope = (DomainScope(domain="open", top_k="auto"),)
    library.catalog.put_agent(Agent(agent_id="auto", knowledge_scope=scope, token_budget=4_000))
    found = library.find(SearchRequest(query="complaints of kind 17 desk 17", agent_id="auto"))
    given = {f.passage.ref for f in found.passages}
    (record,) = records(library)
    assert {f["ref"] for f in record["fragments"] if f["quoted_chars"]} == given
    assert record.get("withheld", {}).get("top_k", {}).keys() == {f["ref"] for f in record["fragments"]} - given


def test_a_context_that_fails_late_gave_nothing(library: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """When the second query fails, no record says that the first one's passages were given."""
    real, calls = library.engine.keyword, []

    def later(*args: Any, **more: Any) -> Any:
        calls.append(args)
        if len(calls) > 2:  # one call for each domain of the first query
            raise EngineError("the index is gone")
        return real(*args, **more)

    monkeypatch.setattr(library.engine, "keyword", later)
    with pytest.raises(EngineError):
        library.get_context(ContextRequest(retrieval_query=QUERY, agent_id="clerk", extra_queries=("desk",)))
    (record,) = records(library)
    assert (record["status"], record["fragments"]) == ("FAILED", [])


def test_over_http(tmp_path: Path) -> None:
    """The record of a context, asked for over HTTP by the id in its answer, says what was kept back."""
    with governed_server(tmp_path) as (url, library):
        secret = key(library, "search", "audit")
        asked = {"retrieval_query": "客户投诉多久响应", "agent_id": "support", "token_budget": 40}
        answer = send(url, "POST", "/v1/context", asked, secret).json
        assert answer["withheld"]["budget"] > 0
        library.audit.flush()
        said = [
            send(url, "GET", f"/v1/audit/{name}", token=secret).json["record"]
            for name in answer["metadata"]["audit_ids"]
        ]
        assert sum(len(r.get("withheld", {}).get("budget", {})) for r in said) == answer["withheld"]["budget"]


@pytest.mark.parametrize(
    ("locale", "said"),
    [
        ("C.UTF-8", ("bounds: trust ≥ 3, budget 120 tokens", "not given (copyright):", "withheld: ")),
        ("zh_CN.UTF-8", ("限制: 可信度 ≥ 3, 预算 120 个 token", "未给出（版权限制）：", "未给出: ")),
    ],
)
def test_show_tells_it(library: Any, locale: str, said: tuple[str, ...]) -> None:
    """`audit show` tells bounds, counts by reason, and for each passage what was not given, within 80 columns."""
    context = library.get_context(ContextRequest(retrieval_query=QUERY, agent_id="clerk"))
    library.audit.flush()
    world = {"WENYUAN_ENCODER__KIND": "hashing", "LC_ALL": locale, "COLUMNS": "80"}
    names = [name for result in context.results for name in result.audit_ids]
    kept = {r.audit_id for r in library.audit.list(kind="retrieval") if "copyright" in r.record.get("withheld", {})}
    arguments = ["audit", "show", next(name for name in names if name in kept), "--library", str(library.folder)]
    shown = CliRunner().invoke(app, arguments, env=world, prog_name="wenyuan")
    assert shown.exit_code == 0, shown.output
    for text in said:
        assert text in shown.stdout


def test_every_reason_has_a_name() -> None:
    """Each reason for keeping something back has words in both languages."""
    from wenyuan.i18n.translation import texts

    for reason in (*REASONS, "top_k"):
        for language in ("en", "zh"):
            assert texts("command_line", language)[f"audit_why_{reason}"]
            assert texts("command_line", language)[f"withheld_{reason}"]
