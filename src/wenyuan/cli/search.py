"""``search`` and ``context``, snippets of hits, and ``feedback``."""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from datetime import date
from functools import lru_cache
from math import ceil
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any

import typer

from wenyuan.cli.options import HistoryOption, RewriteOption, day, history_in, opened, unlogged
from wenyuan.cli.registry import stars
from wenyuan.cli.terminal import Terminal, confidence_told, follow_up_told, printable
from wenyuan.core.likelihood import SHOWN, likelihood, percent
from wenyuan.core.text import fold, query_terms, table_headers, terms
from wenyuan.core.text.numbers import located, quantities
from wenyuan.core.text.structure import CLAUSE, clause_keys

if TYPE_CHECKING:
    from wenyuan.client import Knowledge
    from wenyuan.core.filters import Filter
    from wenyuan.core.model import Passage
    from wenyuan.core.ports import Hit
    from wenyuan.service import Answer, LegReport, Rewriting


# ``search``: one query, and the evidence for its answer.


_BAR = 10
_INDENT = "    "
_PART = re.compile(r"[a-z]{3,}|at most")


def search(  # noqa: PLR0913, PLR0917  (an argument here is an option there)
    ctx: typer.Context,
    query: Annotated[str, typer.Argument(help="A question or some words. 问题或关键词")],
    limit: Annotated[int, typer.Option("-k", "--limit", help="Passages at most, 1 to 100. 最多几个段落")] = 5,
    source: Annotated[
        list[str] | None, typer.Option("--source", metavar="ID", help="Only these sources (repeatable). 限定来源")
    ] = None,
    as_of: Annotated[
        date | None, typer.Option(parser=day, metavar="DATE", help="What was in force that day. 按日期生效")
    ] = None,
    filter_by: Annotated[
        str | None, typer.Option("--filter", metavar="JSON", help="Conditions on fields. 过滤条件")
    ] = None,
    rewrite: RewriteOption = False,
    history: HistoryOption = None,
    explain: Annotated[bool, typer.Option("--explain", help="How each score came about. 解释得分")] = False,
) -> None:
    """Search the library. To find nothing is an answer, too: it comes with its reason, and with the nearest passage as such.

    检索知识库；没有结果时会说明原因，并列出最接近的段落。

    Example 示例:
      wenyuan search "投诉多久答复" -k 3
      wenyuan search "carry over leave" --source handbook --explain
      wenyuan search 深基坑 --filter '{"language": "zh"}' --json
    """
    from wenyuan.core.answering import conversation

    terminal: Terminal = ctx.obj
    condition = _condition(filter_by)
    turns = conversation(history_in(history), wanted=rewrite)
    context: dict[str, Any] = {"nearest": True}
    if turns is not None:
        context |= {"rewrite": True, "history": [turn._asdict() for turn in turns]}
    with opened(terminal) as found:
        answer = found.search(
            query, limit=limit, sources=source or None, filter=condition, as_of=as_of, context=context
        )
    terminal.document(answer_document(query, answer, answer.weight, explain=explain))
    if not terminal.as_json:
        show_answer(terminal, query, answer, answer.weight, explain=explain)


def _condition(text: str | None) -> Filter | None:
    from wenyuan.core.filters import parse_filter
    from wenyuan.wire.strict_json import option

    if text is None:
        return None
    hint = """--filter '{"language": "zh", "metadata.year": {"ge": 2024}}'"""
    return parse_filter(option(text, "the filter", hint))


def answer_document(query: str, answer: Answer, weight: float, *, explain: bool = False) -> Mapping[str, Any]:
    """An answer as JSON values: the contract's members, then all metadata of each passage."""
    from wenyuan.core.scoring.fusion import explain as explained
    from wenyuan.service.fragments import beside_hit
    from wenyuan.service.generation.answers import rewritten

    def entry(hit: Hit, passage: Passage) -> dict[str, Any]:
        known = {
            key: value
            for key, value in asdict(passage).items()
            if key not in ("uri", "text", "recognition", "corrected")
        }
        known |= beside_hit(passage, answer.stale, answer.copies.get(hit.passage_id, ()))
        told = {
            "source": passage.uri,
            "content": passage.text,
            "retrieval_score": hit.score,
            "metadata": known | {"passage_id": passage.ref, "origin": hit.origin, "scores": dict(hit.parts)},
        }
        if explain:
            told |= {"explanation": explained(hit, weight, answer.curve), "wording": answer.wording_of(hit) or query}
        return told

    return {
        "status": "SUCCESS",
        "query": query,
        "fragments": [
            {"rank": rank, **entry(hit, answer.passages[hit.passage_id])} for rank, hit in enumerate(answer.hits, 1)
        ],
        "reason": answer.reason,
        **({"nearest": entry(*answer.nearest)} if answer.nearest else {}),
        "mode": answer.mode,
        "floor": answer.floor,
        "answerable": answer.answerable,
        "missing_terms": list(answer.missing_terms),
        "legs": [asdict(leg) for leg in answer.legs],
        "ms": dict(answer.ms),
        "stale_by": round(answer.stale_by, 1),
        "audit_id": answer.audit_id,
        **rewritten(answer.rewriting),
    }


def show_rewriting(terminal: Terminal, rewriting: Rewriting | None) -> None:
    """In which other words a question was asked, which may not be, and why there are none."""
    if rewriting is None:
        return
    for text in rewriting.wordings:
        terminal.show(terminal.text("wording", text=printable(text)))
    for why, count in rewriting.left_out.items():
        terminal.show(terminal.text("rewrite_left", count=count, why=terminal.text(f"rewrite_left_{why}")))
    if rewriting.error:
        terminal.show(terminal.text("rewrite_failed", error=terminal.own(rewriting.error)))


def show_answer(terminal: Terminal, query: str, answer: Answer, weight: float, *, explain: bool = False) -> None:
    """Print an answer in 80 columns."""
    seen = {"mode": terminal.text(f"mode_{answer.mode}"), "ms": f"{answer.ms.get('total', 0.0):.0f}"}
    show_rewriting(terminal, answer.rewriting)
    likely = [hit for hit in answer.hits if hit.score >= SHOWN]
    if likely:
        seen |= {"count": str(len(likely)), "best": percent(hit.score for hit in likely)}
    terminal.show(terminal.text(f"found_{likelihood(hit.score for hit in likely)}", **seen))
    if answer.mode == "keyword-only" and not answer.hits:
        terminal.say("try_doctor")
    if not answer.hits:
        terminal.show(terminal.text("reason", reason=terminal.own(answer.reason)))
    _show_nearest(terminal, query, answer)
    if answer.stale_by:
        terminal.show(terminal.text("stale_by", seconds=ceil(answer.stale_by)))
    for note in answer.derived.notes if answer.derived is not None else ():
        terminal.show(terminal.own(note))
    for rank, hit in enumerate(likely, 1):
        terminal.show("")
        copies = answer.copies.get(hit.passage_id, ())
        _show_hit(terminal, query, str(rank), hit, answer.passages[hit.passage_id], copies)
        if explain:
            _show_why(terminal, answer, hit, weight)
    if unlikely := len(answer.hits) - len(likely):
        terminal.show("")
        terminal.show(terminal.text("found_unlikely", count=unlikely))
    if explain:
        _show_grounds(terminal, answer)


def _show_nearest(terminal: Terminal, query: str, answer: Answer) -> None:
    """Print the passage that is nearest to a question without an answer, as what it is."""
    if answer.nearest:
        hit, passage = answer.nearest
        terminal.show("")
        terminal.show(terminal.text("nearest"))
        _show_hit(terminal, query, "", hit, passage, answer.copies.get(hit.passage_id, ()))


def in_words(terminal: Terminal, formula: str) -> str:
    """The formula of a score with the common names of its components."""
    return _PART.sub(lambda part: terminal.known(f"part_{part[0]}") or part[0], formula)


def _show_why(terminal: Terminal, answer: Answer, hit: Hit, weight: float) -> None:
    """Print how a score was computed, and the other wording of the question that matched."""
    from wenyuan.core.scoring.fusion import explain as explained

    told = in_words(terminal, explained(hit, weight, answer.curve))
    for number, line in enumerate(wrapped([(told, False)], terminal.out.width - len(_INDENT) - 2)):
        begin = f"{_INDENT}  " if number else f"{_INDENT}= "
        terminal.show(begin + "".join(piece for piece, _ in line).rstrip(), wrap=False)
    if wording := answer.wording_of(hit):
        terminal.show(f"{_INDENT}{terminal.text('in_wording', text=printable(wording))}")


def _show_grounds(terminal: Terminal, answer: Answer) -> None:
    """Print what the answer as a whole is based on: wordings, floor and legs."""
    terminal.show("")
    for wording in (one for one in answer.wordings if one.entries):  # the others are shown before all hits
        terminal.show(terminal.text("wording", text=printable(wording.text)))
    if answer.answerable is not None:
        terminal.show(terminal.text("floor", floor=f"{answer.floor:.2f}", answerable=f"{answer.answerable:.3f}"))
    if answer.missing_terms:
        terminal.show(terminal.text("missing_terms", codes=printable(", ".join(answer.missing_terms))))
    for leg in answer.legs:
        _show_leg(terminal, leg)


def _show_leg(terminal: Terminal, leg: LegReport) -> None:
    kind, _, source = leg.name.partition(" ")
    named = {"source": "leg_source", "rules": "leg_rules", "reranker": "leg_reranker", "llm": "leg_llm"}.get(
        kind, kind
    )
    state = terminal.text("leg_failed" if leg.state == "failed" else leg.state)
    line = terminal.text(
        "leg", name=terminal.text(named, name=source), state=state, hits=leg.hits, ms=f"{leg.ms:.1f}"
    )
    if leg.withheld:
        line += terminal.text("leg_withheld", count=leg.withheld)
    if leg.remembered:
        line += terminal.text("leg_remembered")
    terminal.show(line)
    if leg.error:
        terminal.show("  " + terminal.own(leg.error))


def _show_hit(
    terminal: Terminal, query: str, rank: str, hit: Hit, passage: Passage, copies: Sequence[Passage]
) -> None:
    from rich.text import Text

    full = round(hit.score * _BAR)
    line = Text(f"{rank:>2}  ")
    line.append("█" * full, style="green").append("░" * (_BAR - full), style="dim")
    line.append(f" {hit.score:.2f}  {stars(passage.trust)}  {passage.source_id}")
    terminal.show(line)
    path = " › ".join(dict.fromkeys(part for part in (passage.title, *passage.headings) if part))
    _show_wrapped(terminal, [(path, False)], plain="bold")
    # Not cut and not broken: a terminal wraps it, and it can still be copied and clicked.
    terminal.show(Text(f"    {printable(passage.uri)}", style="cyan"), wrap=False)
    if in_force := _in_force(terminal, passage):
        terminal.show(Text(f"    {in_force}", style="dim"))
    for copy in copies:
        terminal.show(Text(f"    {terminal.text('also_in', uri=printable(copy.uri))}", style="dim"), wrap=False)
    _show_wrapped(terminal, snippet(body(passage.text, passage.headings), query))


def _in_force(terminal: Terminal, passage: Passage) -> str:
    since, until = passage.effective_from, passage.effective_until
    if since and until:
        return terminal.text("in_force", since=since, until=until)
    if since:
        return terminal.text("in_force_since", since=since)
    return terminal.text("in_force_until", until=until) if until else ""


def _show_wrapped(terminal: Terminal, pieces: Sequence[Piece], plain: str = "") -> None:
    """Print indented lines; query words are yellow, or between asterisks without colour."""
    from rich.text import Text

    colour = terminal.out.color_system is not None
    shown = [
        (f"*{p}*" if marked and not colour else p, marked) for p, marked in ((printable(p), m) for p, m in pieces)
    ]
    for line in wrapped(shown, terminal.out.width - len(_INDENT) - 2):
        text = Text(_INDENT)
        for piece, marked in line:
            text.append(piece, style="bold yellow" if marked else plain)
        text.rstrip()
        terminal.show(text, wrap=False)


# The part of a passage that answers a query, with the query's words in it.


_WORD = re.compile(r"[^\W_]+")
_LATIN = re.compile(r"[a-z0-9]")
_SENTENCE_END = re.compile(r"[。！？；\n]|[.!?;](?=\s)")
# One wide character with the mark of a word at its side, white space, or a word of narrow characters.
_TOKEN = re.compile(r"\*?[^\s\u0021-\u2e7f]\*?|\s+|[\u0021-\u2e7f]+")
_RULE = re.compile(r"\|?(?:\s*:?-{3,}:?\s*\|)+(?:\s*:?-{3,}:?\s*)?")
_BEGUN = re.compile(r"[!-~]{0,20}\s")
_PARTIAL = re.compile(r"(?<=\s)[!-~]+\Z")
_CLOSING = frozenset("，。、；：！？）》」』】”’.,;:!?)")
_WEAK = frozenset(
    "a an and are as at be by can could did do does for from how i if in is it may me my of on or our should so "
    "that the there this to was we what when where which who why will with you your".split()
)
_PARTICLES = frozenset("的了吗呢么是在")
_BEFORE = 24  # characters before the first word that are worth showing

Span = tuple[int, int]
Piece = tuple[str, bool]
"""Some text, and whether it is a word of the query."""


def cells(text: str) -> int:
    """Number of terminal columns of a text."""
    if text.isascii():
        return len(text)
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def marks(text: str, query: str) -> list[Span]:
    """Spans of query words in a text, compared as in the index (folded, stemmed); neighbours are merged."""
    asked = query_terms(query)
    folded, origin = _folded(text)
    wanted = {term for term in asked if term[0] not in "#@" and not _PARTICLES.intersection(term)}
    # One Chinese character says little: it counts only when the query has no pair.
    pairs = [term for term in wanted if not _LATIN.match(term) and len(term) == 2]
    single = [] if pairs else [term for term in wanted if not _LATIN.match(term) and len(term) == 1]
    found = [
        (origin[at.start()], origin[at.end() - 1] + 1)
        for term in (*pairs, *single)
        for at in re.finditer(re.escape(term), folded)
    ]
    for word in _WORD.finditer(folded):
        if _LATIN.match(word[0]) and word[0] not in _WEAK and wanted.intersection(terms(word[0])):
            found.append((origin[word.start()], origin[word.end() - 1] + 1))
    if amounts := set(quantities(fold(query))):
        found += [(origin[start], origin[end - 1] + 1) for term, start, end in located(folded) if term in amounts]
    named = {term[1:] for term in asked if term[0] in "#@"}
    found += [at.span() for at in CLAUSE.finditer(text) if named.intersection(clause_keys(at[0]))]
    return list(_merged(sorted(found)))


_folded_character = lru_cache(maxsize=10_000)(fold)  # the same few thousand, over and over


def _folded(text: str) -> tuple[str, list[int]]:
    """The folded text, and the original position of each of its characters."""
    pieces = [_folded_character(c) for c in text]
    return "".join(pieces), [at for at, piece in enumerate(pieces) for _ in piece]


def _merged(spans: Sequence[Span]) -> Iterator[Span]:
    last: Span | None = None
    for start, end in spans:
        if last is not None and start <= last[1]:
            last = (last[0], max(last[1], end))
            continue
        if last is not None:
            yield last
        last = (start, end)
    if last is not None:
        yield last


def body(text: str, headings: Sequence[str]) -> str:
    """A passage without its leading headings and without table rules."""
    known = {"".join(heading.split()) for heading in headings}
    lines = text.split("\n")
    while len(lines) > 1 and (not lines[0].strip() or "".join(lines[0].lstrip("#").split()) in known):
        del lines[0]
    return "\n".join(line for line in lines if not _RULE.fullmatch(line.strip()))


def wrapped(pieces: Sequence[Piece], width: int) -> Iterator[list[Piece]]:
    """Wrap to lines of at most `width` columns; Chinese may break anywhere, but one closing mark may exceed the
    width.
    """
    line: list[Piece] = []
    column = 0
    for piece, marked in pieces:
        for token in _TOKEN.findall(piece):
            hangs = column <= width and len(token) == 1 and token in _CLOSING
            if line and column + cells(token.rstrip()) > width and not hangs:
                yield line
                line, column = [], 0
            if not line and token.isspace():
                continue
            if line and line[-1][1] == marked:
                line[-1] = (line[-1][0] + token, marked)
            else:
                line.append((token, marked))
            column += cells(token)
    if line:
        yield line


def snippet(text: str, query: str, width: int = 290) -> list[Piece]:
    """An excerpt of at most `width` columns: pieces, each with whether it is a query word.

    The window is the one that holds the most of the query's words; it begins with a sentence where it can. Rows of a
    table stand behind its header, where that leaves room for them.
    """
    flat = " ".join(text.split())
    spans = marks(flat, query)
    start, end = _window(flat, spans, width)
    header = _header(text, flat, start)
    if header and 2 * cells(header) < width:
        start, end = _window(flat, spans, width - cells(header) - 1)
        header = _header(text, flat, start)
    pieces = [(f"{header} …" if header and 2 * cells(header) < width else "…", False)] if start else []
    at = start
    for left, right in spans:
        if start <= left and right <= end:
            pieces += [(flat[at:left], False), (flat[left:right], True)]
            at = right
    pieces.append((flat[at:end], False))
    if end < len(flat):
        pieces.append(("…", False))
    return [piece for piece in pieces if piece[0]]


def _header(text: str, flat: str, start: int) -> str:
    """The header of the table in which an excerpt begins, unless it is part of the excerpt; ``""`` for none."""
    for (begins, ends), last in table_headers(text):
        header, rest = (" ".join(text[a:b].split()) for a, b in ((begins, ends), (begins, last)))
        at = flat.find(header)
        if at + len(header) <= start < at + len(rest):
            return header
    return ""


def _window(flat: str, spans: Sequence[Span], width: int) -> Span:
    best, most = (0, _fitting(flat, 0, width)), -1
    if best[1] == len(flat):
        return best
    for left, _ in spans[:50]:
        start = _sentence_start(flat, left)
        end = _fitting(flat, start, width)
        score = len({flat[a:b].lower() for a, b in spans if start <= a and b <= end})
        if score > most:
            best, most = (start, end), score
    return best


def _sentence_start(flat: str, at: int) -> int:
    """The start of the sentence around `at`, or a few words before if that is far away."""
    ends = [match.end() for match in _SENTENCE_END.finditer(flat, max(0, at - 2 * _BEFORE), at)]
    start = ends[-1] if ends else 0 if at <= 2 * _BEFORE else at - _BEFORE
    begun = _BEGUN.match(flat, start) if start and not ends else None
    return begun.end() if begun else start + len(flat[start:at]) - len(flat[start:at].lstrip())


def _fitting(flat: str, start: int, width: int) -> int:
    """The end of the text that fits, not inside a Latin word unless that is very long."""
    room = width - 2  # for the two ellipses
    for at in range(start, len(flat)):
        room -= cells(flat[at])
        if room < 0:
            cut = _PARTIAL.search(flat, max(start, at - _BEFORE), at + 1)
            return cut.start() if cut else at
    return len(flat)


# ``context``: what may enter a prompt, from this library or from any service that keeps the contract.


_KEY = "WENYUAN_KEY"


def context(
    ctx: typer.Context,
    query: Annotated[str, typer.Argument(help="What has to be known. 需要了解的内容")],
    url: Annotated[
        str | None, typer.Option(metavar="URL", help="Of any service of the contract; key in WENYUAN_KEY. 服务地址")
    ] = None,
    agent: Annotated[str | None, typer.Option(metavar="ID", help="Whose scope counts. 智能体")] = None,
    task: Annotated[str, typer.Option(metavar="ID", help="Copyright counts over a task. 任务标识")] = "",
    limit: Annotated[int, typer.Option("-k", "--limit", help="With --url: fragments to ask for. 片段数")] = 10,
    token_budget: Annotated[int | None, typer.Option(min=1, help="Most tokens. 上限")] = None,
    allow_low_trust: Annotated[
        bool, typer.Option("--allow-low-trust", help="Let trust below 3 in. 允许低可信内容")
    ] = False,
) -> None:
    """Show what may enter a prompt: trust, copyright and budget are kept to. A failure is never an empty context.

    生成可放入提示词的知识片段；故障时报错，不会给出空结果。

    Example 示例:
      wenyuan context "客户投诉多久响应" --agent support
      wenyuan context "客户投诉多久响应" --url http://127.0.0.1:8765 --json
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
    from wenyuan.core.prompt import ContextPolicy

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
    from wenyuan.client.replies import read_context
    from wenyuan.service.context import ContextRequest
    from wenyuan.wire.search import context_to_wire

    request = ContextRequest(
        retrieval_query=query,
        agent_id=agent,
        task_id=task,
        token_budget=budget,
        allow_low_trust=low or None,
    )
    with opened(terminal) as library, unlogged("wenyuan.service.audit.recorder"):  # a failure is shown
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
        terminal.show(terminal.text("context_confidence", domain=domain, told=confidence_told(terminal, judged)))
        if missing := follow_up_told(terminal, judged, judged.get("follow_up", {}).get("query", "")):
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


# ``feedback``: which parts of an answer are right or wrong.


def feedback(
    ctx: typer.Context,
    answer: Annotated[str, typer.Argument(metavar="AUDIT_ID", help="Of the answer. 答案的审计编号")],
    good: Annotated[
        list[str] | None,
        typer.Option(metavar="FRAGMENT", help="Right: rank, ref or address (repeatable). 正确的片段"),
    ] = None,
    bad: Annotated[list[str] | None, typer.Option(metavar="FRAGMENT", help="Wrong, likewise. 错误的片段")] = None,
) -> None:
    """Say which parts of an answer are right or wrong; tuning learns from it.

    对一次回答的片段给出评价，供调优学习。

    Example 示例:
      wenyuan feedback a-01m8… --good 1 --bad 3
      wenyuan feedback a-01m8… --good handbook#42
    """
    terminal: Terminal = ctx.obj
    with opened(terminal) as found:
        kept = found.give_feedback(answer, good=good or (), bad=bad or ())
    terminal.document({"status": "SUCCESS", "audit_id": answer, "kept": dict(kept)})
    for ref, right in kept.items():
        terminal.show(f"  {terminal.text('feedback_good' if right else 'feedback_bad')}  {ref}", wrap=False)
    terminal.show(terminal.text("feedback_kept", count=len(kept)))
