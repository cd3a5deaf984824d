"""``retrieve`` and ``rules infer``: rules, similar cases and templates, and why each is there."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import ceil
from typing import TYPE_CHECKING, Annotated, Any

import typer

from wenyuan.cli.options import SCREEN, AllOption, opened
from wenyuan.cli.sources import stars
from wenyuan.cli.terminal import Terminal, printable

if TYPE_CHECKING:
    from wenyuan.core.rules.retrieval_item import RetrievalItem
    from wenyuan.service.rules.unified import RuleItems


Value = str | int | float | bool
_INTEGER = re.compile(r"[-+]?[0-9]{1,15}")
_NUMBER = re.compile(r"[-+]?[0-9]{0,15}\.?[0-9]{1,15}(?:[eE][-+]?[0-9]{1,2})?")
_ORIGINS = {"kg_rule": "origin_rule", "vector": "origin_case", "template": "origin_template"}
_STRENGTHS = {name: name for name in ("mandatory", "recommended", "informative")}
_PARTS = {
    "link": "part_link", "weight": "part_weight", "support": "part_support", "condition": "part_condition",
    "inheritance": "part_inheritance", "asked": "part_asked", "aside": "part_aside",
}  # fmt: skip
_ENGINES = {"kg_rule": "engine_rules", "vector": "engine_cases"}
_INDENT = "    "
FILE_NAME = re.compile(r"[^\s，。；！？]+\.(?:txt|md|markdown|html?|json|docx|pdf)", re.IGNORECASE)
SHOWN = 300  # characters of a case

_Param = Annotated[
    list[str] | None,
    typer.Option("--param", metavar="NAME=VALUE", help="For conditions: depth_m=6 (repeatable)."),
]
_Type = Annotated[str, typer.Option("--type", metavar="TYPE", help="Engineering type.")]
_Explain = Annotated[bool, typer.Option("--explain", help="Path, evidence and score of each rule.")]


def retrieve(  # noqa: PLR0913, PLR0917  (an argument here is an option there)
    ctx: typer.Context,
    query: Annotated[str, typer.Argument(help="What is to be written about.")],
    chapter: Annotated[str | None, typer.Option(help="Some chapters need no rules.")] = None,
    engineering_type: _Type = "",
    process: Annotated[
        list[str] | None,
        typer.Option("--process", metavar="NAME", help="Else recognised in the query (repeatable)."),
    ] = None,
    param: _Param = None,
    limit: Annotated[int | None, typer.Option("-k", "--limit", help="Cases at most, 1 to 100.")] = None,
    threshold: Annotated[float | None, typer.Option("--threshold", help="Least score of a case, 0 to 1.")] = None,
    explain: _Explain = False,
    everything: AllOption = False,
) -> None:
    """Mandatory rules above similar cases above templates.

    Example:
      wenyuan retrieve "safety measures for deep excavation" --param depth_m=6
      wenyuan retrieve "scaffolding" --chapter ch08_safety --explain
      wenyuan retrieve "深基坑开挖的安全措施" --param depth_m=6
      wenyuan retrieve "脚手架搭设" --chapter ch08_safety --type 房建工程 --explain
    """
    from wenyuan.service.rules.unified import UnifiedRequest

    terminal: Terminal = ctx.obj
    request = UnifiedRequest(
        query=query,
        chapter=chapter,
        engineering_type=engineering_type or None,
        processes=tuple(process) if process else None,
        parameters=parameters(terminal, param),
        limit=limit,
        threshold=threshold,
    )
    with opened(terminal) as found:
        response = found.retrieve(request).response
    terminal.document({"status": "SUCCESS", **response.to_dict()})
    if terminal.as_json:
        return
    context = response.query_context
    counts = {
        name: sum(item.source == origin for item in response.items)
        for name, origin in (("rules", "kg_rule"), ("cases", "vector"), ("templates", "template"))
    }
    terminal.show(terminal.text("united_found", count=len(response.items), **counts))
    for line in _show_notes(terminal, context):
        terminal.show(line)
    ranked = list(enumerate(response.items, 1))
    for rank, item in ranked if everything else _screen(ranked):
        terminal.show("")
        _show_item(terminal, rank, item, explain=explain)
    _tell_more(terminal, len(ranked), everything=everything)


def infer(
    ctx: typer.Context,
    process: Annotated[list[str] | None, typer.Argument(metavar="[PROCESS]...", help="Names of processes.")] = None,
    text: Annotated[str, typer.Option("--text", metavar="T", help="Recognise processes in it.")] = "",
    engineering_type: _Type = "",
    param: _Param = None,
    explain: _Explain = False,
    everything: AllOption = False,
) -> None:
    """Derive what the rules demand of processes, with their conditions and clauses.

    Example:
      wenyuan rules infer "Deep excavation" --param depth_m=6
      wenyuan rules infer 深基坑开挖 --param depth_m=6
      wenyuan rules infer --text "基坑开挖和塔吊安装" --explain
    """
    from wenyuan.service.rules.unified import RuleQuestion
    from wenyuan.wire.unified import infer_to_wire

    terminal: Terminal = ctx.obj
    if not process and not text.strip():
        raise typer.BadParameter(terminal.text("infer_what"))
    question = RuleQuestion(
        text=text,
        processes=tuple(process) if process else None,
        engineering_type=engineering_type,
        parameters=parameters(terminal, param),
    )
    with opened(terminal) as found:
        answer = found.infer_rules(question)
        groups = found.rules.schema().group_labels(terminal.language)
    terminal.document(infer_to_wire(answer))
    if not terminal.as_json:
        _show_rules(terminal, answer, groups, explain=explain, everything=everything)


def parameters(terminal: Terminal, given: Sequence[str] | None) -> dict[str, Value]:
    """Parse ``NAME=VALUE`` pairs: numbers, true or false, else text; full-width forms count as ASCII.

    Raises:
        typer.BadParameter: one has no name or no value, or stands twice.
    """
    found: dict[str, Value] = {}
    for one in given or ():
        name, equals, value = unicodedata.normalize("NFKC", one).partition("=")
        name = name.strip()
        if not equals or not name or not value.strip():
            raise typer.BadParameter(terminal.text("param_form", text=one))
        if name in found:
            raise typer.BadParameter(terminal.text("param_twice", name=name))
        found[name] = _value(value.strip())
    return found


def _value(text: str) -> Value:
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    if _INTEGER.fullmatch(text):
        return int(text)
    return float(text) if _NUMBER.fullmatch(text) else text


def _show_notes(terminal: Terminal, context: Mapping[str, Any]) -> Iterator[str]:
    """Notes on an answer besides its items."""
    for engine, state in context.get("engines", {}).items():
        if state != "ok":
            shown = _state(terminal, state)
            yield terminal.text("engine_state", engine=terminal.text(_ENGINES[engine]), state=shown)
    if seconds := context.get("stale_by"):
        yield terminal.text("stale_by", seconds=ceil(seconds))
    if names := context.get("unmatched_processes"):
        yield terminal.text("unmatched", names=", ".join(names))
    if reason := context.get("rules_reason"):
        yield terminal.text("infer_none", reason=terminal.own(reason))
    if reason := context.get("cases_reason"):
        yield terminal.text("cases_none", reason=terminal.own(reason))
    for what in context.get("truncated", ()):
        yield terminal.text("cut", what=terminal.own(what))
    for what in (*context.get("notes", ()), *filter(None, (context.get("chapter_note"),))):
        yield terminal.text("note", what=terminal.own(what))
    if count := context.get("repeated"):
        yield terminal.text("united_repeated", count=count)


def _state(terminal: Terminal, state: str) -> str:
    word, _, why = state.partition(": ")
    if word == "skipped":
        return terminal.text("engine_skipped")
    if word == "failed":
        return terminal.text("engine_failed", why=terminal.own(why))
    return terminal.text("not configured") if state == "not configured" else terminal.own(state)


def _screen(ranked: Sequence[tuple[int, RetrievalItem]]) -> list[tuple[int, RetrievalItem]]:
    """The items shown of a long list, each with its rank: the first rules, and the first of the others.

    Many rules leave a third of the screen to cases and templates, or no one would see that there are any.
    """
    rules = [one for one in ranked if one[1].source == "kg_rule"]
    rest = [one for one in ranked if one[1].source != "kg_rule"]
    shown = rules[: SCREEN - min(len(rest), SCREEN // 3)]
    return shown + rest[: SCREEN - len(shown)]


def _fair(groups: Sequence[str]) -> list[int]:
    """Indices of the items shown: the best of each group, then the second of each, until the screen is full."""
    seen: Counter[str] = Counter()
    turns = []
    for at, group in enumerate(groups):
        turns.append((seen[group], at))
        seen[group] += 1
    return [at for _, at in sorted(turns)[:SCREEN]]


def _tell_more(terminal: Terminal, count: int, *, everything: bool) -> None:
    if count > SCREEN and not everything:
        terminal.show("")
        terminal.show(terminal.text("hits_more", count=count - SCREEN))


def _show_rules(
    terminal: Terminal, answer: RuleItems, groups: Mapping[str, str], *, explain: bool, everything: bool
) -> None:
    if answer.items:
        names = ", ".join(dict.fromkeys(_recognised(terminal, one) for one in answer.recognised))
        terminal.show(terminal.text("infer_found", count=len(answer.items), names=names))
    context = {
        "unmatched_processes": answer.unmatched, "rules_reason": answer.reason, "truncated": answer.truncated,
        "notes": answer.notes,
    }  # fmt: skip
    for line in _show_notes(terminal, context):
        terminal.show(line)
    shown = range(len(answer.items)) if everything else _fair([str(i.metadata["group"]) for i in answer.items])
    kept = {id(answer.items[at]) for at in shown}
    titles = [groups.get(group := str(item.metadata["group"]), group) for item in answer.items]
    for title in dict.fromkeys(titles):  # two patterns may be called the same: to a reader they are one group
        listed = [item for item, of in zip(answer.items, titles, strict=True) if of == title]
        alike = Counter(map(_sentence, listed))
        terminal.show("")
        terminal.show(f"{printable(title)} ({len(listed)})", wrap=False)
        for item in (one for one in listed if id(one) in kept):
            strength = terminal.text(_STRENGTHS[item.metadata["strength"]])
            indented(terminal, f"{item.score:.2f}  {strength}  {_sentence(item)}", hanging=_INDENT * 2, first=_INDENT)
            if alike[_sentence(item)] > 1 and not explain:
                indented(terminal, str(item.metadata["derivation"]), hanging=_INDENT * 2)
            _show_grounds(terminal, item, _INDENT * 2, explain=explain)
    _tell_more(terminal, len(answer.items), everything=everything)


def _recognised(terminal: Terminal, one: Mapping[str, Any]) -> str:
    """A recognised name; for a guess, the node and its confidence."""
    if "by" not in one:
        return str(one["text"])
    return terminal.text("infer_guess", name=one["name"], confidence=f"{one['confidence']:.2f}")


def _show_item(terminal: Terminal, rank: int, item: RetrievalItem, *, explain: bool) -> None:
    mark, trust = terminal.text(_ORIGINS[item.source]), stars(item.metadata["trust"])
    strength = ""
    if item.source == "kg_rule":
        strength = f"  {terminal.text(_STRENGTHS[item.metadata['strength']])}"
    terminal.show(f"{rank:>2}  {mark} {item.score:.2f}  {trust}{strength}", wrap=False)
    if item.source == "kg_rule":
        indented(terminal, _sentence(item))
        _show_grounds(terminal, item, _INDENT, explain=explain)
        return
    indented(terminal, str(item.metadata["context"]))
    terminal.show(f"{_INDENT}{printable(str(item.metadata['uri']))}", wrap=False)
    text = " ".join(item.content.split())
    indented(terminal, text if len(text) <= SHOWN else text[:SHOWN] + "…")


def _sentence(item: RetrievalItem) -> str:
    """The text of a rule without its derivation, which `--explain` shows."""
    return item.content.removesuffix(str(item.metadata["derivation"])).strip() or item.content


def _show_grounds(terminal: Terminal, item: RetrievalItem, indent: str, *, explain: bool) -> None:
    known = item.metadata
    best = known["evidence"][0] if known["evidence"] else {}
    where = " ".join(filter(None, (str(known["title"]), str(best.get("clause") or best.get("uri", "")))))
    indented(terminal, " · ".join(filter(None, (where, _condition(terminal, known)))), hanging=indent)
    if not explain:
        return
    indented(terminal, str(known["derivation"]), hanging=indent)
    for path in known.get("other_derivations", ()):
        indented(terminal, terminal.text("rule_also", path=path), hanging=indent)
    if (more := known.get("also", 0) - len(known.get("other_derivations", ()))) > 0:
        indented(terminal, terminal.text("rule_also_more", count=more), hanging=indent)
    if names := known.get("process_names"):
        indented(terminal, terminal.text("rule_holds_for", names=", ".join(names)), hanging=indent)
    for evidence in known["evidence"]:
        cited = f"{evidence['source_id']} {evidence.get('clause', '')}".strip()
        quote = quoted(terminal, evidence)
        indented(terminal, f"{stars(evidence['trust'])} {cited}{quote}", hanging=indent)
        show_address(terminal, evidence, indent)
    parts = " × ".join(f"{_part(terminal, name)} {value:.2f}" for name, value in known["scores"].items())
    indented(terminal, f"= {parts}", hanging=indent)


def _part(terminal: Terminal, name: str) -> str:
    return terminal.text(_PARTS[name]) if name in _PARTS else name


def _condition(terminal: Terminal, known: Mapping[str, Any]) -> str:
    steps = (str(step["condition_label"]) for step in known["path"] if "condition_label" in step)
    conditions = terminal.text("condition_also").join(dict.fromkeys(steps))
    match known.get("condition_state"):
        case "met":
            return terminal.text("condition_met", condition=conditions)
        case "unverified":
            names = zip(known.get("missing_labels", ()), known.get("missing_parameters", ()), strict=True)
            missing = ", ".join(" ".join(dict.fromkeys(each)) for each in names)
            return terminal.text("condition_open", condition=conditions, missing=missing)
    return ""


def show_address(terminal: Terminal, evidence: Mapping[str, Any], indent: str) -> None:
    """Print the address of an evidence on its own line for copying; a URN cannot be opened and is left out."""
    if str(evidence.get("uri", "")).startswith(("http", "file:")):
        terminal.show(f"{indent}{printable(str(evidence['uri']))}", wrap=False)


def quoted(terminal: Terminal, evidence: Mapping[str, Any]) -> str:
    """The quote of an evidence, with a note where it could not be verified."""
    if not evidence.get("quote"):
        return ""
    mark = "" if evidence.get("verified") else f" {terminal.text('quote_unverified')}"
    return f"：“{evidence['quote']}”{mark}"


def indented(terminal: Terminal, text: str, *, hanging: str = _INDENT, first: str | None = None) -> None:
    """Print a text wrapped with a hanging indent."""
    from wenyuan.cli.wrapping import wrapped

    lines: Iterable[Any] = wrapped([(printable(text), False)], terminal.out.width - len(hanging) - 2)
    for at, line in enumerate(lines):
        begin = hanging if at or first is None else first
        terminal.show(begin + "".join(piece for piece, _ in line).rstrip(), wrap=False)
