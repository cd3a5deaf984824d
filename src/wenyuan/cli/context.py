"""``context``: what may enter a prompt, from this library or from any service that keeps the contract."""

from __future__ import annotations

import os
from collections.abc import Mapping
from math import ceil
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any

import typer

from wenyuan.cli.options import opened, unlogged
from wenyuan.cli.progress import confidence_text, follow_up_text
from wenyuan.cli.sources import stars
from wenyuan.cli.terminal import Terminal, printable

if TYPE_CHECKING:
    from wenyuan.client import Knowledge


_KEY = "WENYUAN_KEY"


def context(
    ctx: typer.Context,
    query: Annotated[str, typer.Argument(help="What has to be known.")],
    url: Annotated[
        str | None, typer.Option(metavar="URL", help="Of any service of the contract; key in WENYUAN_KEY.")
    ] = None,
    agent: Annotated[str | None, typer.Option(metavar="ID", help="Whose scope counts.")] = None,
    task: Annotated[str, typer.Option(metavar="ID", help="Copyright counts over a task.")] = "",
    limit: Annotated[int, typer.Option("-k", "--limit", help="With --url: fragments to ask for.")] = 10,
    token_budget: Annotated[int | None, typer.Option(min=1, help="Most tokens.")] = None,
    allow_low_trust: Annotated[bool, typer.Option("--allow-low-trust", help="Let trust below 3 in.")] = False,
) -> None:
    """Show what may enter a prompt: trust, copyright and budget are kept to. A failure is never an empty context.

    Example:
      wenyuan context "how soon is a complaint answered?" --agent support
      wenyuan context "客户投诉多久响应" --agent support
      wenyuan context "carry over leave" --url http://127.0.0.1:8765 --json
    """
    terminal: Terminal = ctx.obj
    if url is not None and (agent is not None or task):
        raise typer.BadParameter(terminal.text("url_or_agent"))
    if url is not None:
        found = _from_service(url, query, limit, token_budget, allow_low_trust)
    else:
        found = _from_library(terminal, query, agent, task, token_budget, allow_low_trust)
    terminal.document(
        {
            "status": "SUCCESS",
            "CONTEXT_DATA": found.context_data,
            "withheld": dict(found.withheld),
            "tokens": found.tokens,
            "degraded": list(found.degraded),
            "stale_by": round(found.stale_by, 1),
            **({"confidence": dict(found.confidence)} if found.confidence else {}),
        }
    )
    if not terminal.as_json:
        _show(terminal, found)


def _from_service(url: str, query: str, limit: int, budget: int | None, low: bool) -> Knowledge:
    from wenyuan.client import get_context_from
    from wenyuan.core.errors import ConfigError, InvalidRequest, KnowledgeError
    from wenyuan.core.prompt_parts import ContextPolicy

    given = {} if budget is None else {"token_budget": budget}
    policy = ContextPolicy(allow_low_trust=low, **given)
    try:
        with unlogged("wenyuan.client"):  # failures are shown
            return get_context_from(url, query, max_results=limit, policy=policy, key=os.environ.get(_KEY) or None)
    except KnowledgeError as error:  # no library of ours has to do with it, so our own doctor cannot help
        own_fault = isinstance(error, (ConfigError, InvalidRequest))
        error.hint = error.hint or ("wenyuan context --help" if own_fault else f"wenyuan conformance {quote(url)}")
        raise


def _from_library(
    terminal: Terminal, query: str, agent: str | None, task: str, budget: int | None, low: bool
) -> Knowledge:
    from wenyuan.client.context_replies import read_context
    from wenyuan.service.context import ContextRequest
    from wenyuan.wire.search_answers import context_to_wire

    request = ContextRequest(
        retrieval_query=query,
        agent_id=agent,
        task_id=task,
        token_budget=budget,
        allow_low_trust=low or None,
    )
    with opened(terminal) as library, unlogged("wenyuan.service.audit"):  # a failure is shown
        return read_context(context_to_wire(library.get_context(request)))


def _show(terminal: Terminal, found: Knowledge) -> None:
    if found.snippets:
        terminal.show(terminal.text("context_some", count=len(found.snippets), tokens=found.tokens))
    else:
        terminal.show(terminal.text("context_none"))
    if found.stale_by:
        terminal.show(terminal.text("stale_by", seconds=ceil(found.stale_by)))
    for snippet in found.snippets:
        _show_snippet(terminal, snippet)
    reasons = [terminal.text(f"withheld_{reason}", count=count) for reason, count in found.withheld.items() if count]
    if reasons:
        terminal.show("")
        terminal.show(terminal.text("withheld", reasons=", ".join(reasons)))
    for domain, judged in found.confidence.items():
        terminal.show(terminal.text("context_confidence", domain=domain, told=confidence_text(terminal, judged)))
        if missing := follow_up_text(terminal, judged, judged.get("follow_up", {}).get("query", "")):
            terminal.show(terminal.text("context_confidence", domain=domain, told=missing))
    if found.degraded:
        terminal.show(terminal.text("context_degraded", names=", ".join(found.degraded)))


def _show_snippet(terminal: Terminal, snippet: Mapping[str, Any]) -> None:
    flags = f"  [{', '.join(snippet['flags'])}]" if snippet.get("flags") else ""
    terminal.show("")
    terminal.show(printable(f"{stars(snippet['trust'])}  {snippet['source']}{flags}"), wrap=False)
    for line in (*str(snippet["content"]).splitlines(), str(snippet.get("attribution", ""))):
        if line:
            terminal.show(f"    {printable(line)}", wrap=False)
