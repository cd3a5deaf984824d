"""``rules``: nodes and statements of the graph, reviews, packs, and rules that a language model proposes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from wenyuan.cli.help_texts import group
from wenyuan.cli.options import SCREEN, Commands, YesOption, add_commands, ended_by_sigterm, interactive, opened
from wenyuan.cli.progress import ProgressLines
from wenyuan.cli.retrieve import indented, infer, quoted, show_address
from wenyuan.cli.rules_files import export, take, template
from wenyuan.cli.sources import stars
from wenyuan.cli.terminal import OK, PARTLY, Terminal, exit_code
from wenyuan.core.errors import msg
from wenyuan.packs.shipped import shipped, title_of, titled
from wenyuan.runtime.local_time import local_time

if TYPE_CHECKING:
    from wenyuan.core.rules.graph import GraphNode
    from wenyuan.core.rules.proposals import JudgedProposal
    from wenyuan.core.rules.schema import Kind, Schema
    from wenyuan.service.generation.proposals import ProposalReport
    from wenyuan.service.library import Library


# ``rules propose``: a language model reads a source for rules; proposals that pass the checks wait for review.


def propose(
    ctx: typer.Context,
    source: Annotated[str, typer.Argument(metavar="SOURCE", help="A registered source.")],
    limit: Annotated[
        int | None, typer.Option("-k", "--limit", min=1, metavar="N", help="Clauses to read at most.")
    ] = None,
    tokens: Annotated[int | None, typer.Option(min=1, metavar="N", help="Tokens to use at most.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Ask the model, keep nothing.")] = False,
    explain: Annotated[bool, typer.Option("--explain", help="Show what was refused, and why.")] = False,
) -> None:
    """Have the language model that is set up (llm.url, llm.model) read a source for rules, clause by clause.

    Nothing that it says is believed: every proposal is held against its clause, the schema and the rules that there are. What
    passes is proposed, and serves nobody before you approve it with `wenyuan rules review`. Run it again to go on.

    Example:
      wenyuan rules propose building-code --limit 50
      wenyuan rules propose retention-policy --tokens 200000 --explain
      wenyuan rules propose 深基坑规定 --dry-run
    """
    from wenyuan.service.generation.proposals import ProposeRequest
    from wenyuan.wire.rules import proposals_to_wire

    terminal: Terminal = ctx.obj
    request = ProposeRequest(source_id=source, limit=limit, tokens=tokens, dry_run=dry_run)
    lines = ProgressLines(terminal, "propose")
    try:
        with ended_by_sigterm(), opened(terminal) as found:
            report = found.propose_rules(request, tell=lambda done, total: lines("reading", done, total))
            schema = found.rules.schema()
    except KeyboardInterrupt:
        command = f"wenyuan rules propose {source}"
        raise typer.Exit(terminal.interrupted(terminal.text("propose_kept"), command)) from None
    failure = report.failure
    terminal.document(proposals_to_wire(report))
    if not terminal.as_json:
        _show(terminal, report, schema, explain=explain)
    if failure is not None:
        terminal.complain(terminal.command, failure)
        raise typer.Exit(exit_code(failure))
    raise typer.Exit(PARTLY if report.unreadable else OK)


def _show(terminal: Terminal, report: ProposalReport, schema: Schema, *, explain: bool) -> None:
    text = terminal.text
    used = f"{report.tokens_in + report.tokens_out:,}"
    terminal.show(text("propose_read", source=report.source_id, count=report.read, model=report.model, tokens=used))
    heading = "propose_would" if report.dry_run else "propose_waiting" if report.proposed else "propose_none"
    terminal.show(text(heading, count=len(report.proposed)))
    for number, one in report.proposed[:SCREEN]:
        _show_one(terminal, one, schema, number)
    if len(report.proposed) > SCREEN:
        terminal.show(text("more", count=len(report.proposed) - SCREEN))
    _show_refused(terminal, report, schema, explain=explain)
    _show_unread(terminal, report)
    if report.refused and not explain:
        terminal.say("propose_explain")
    if report.proposed and not report.dry_run:
        terminal.say("propose_next")


def _show_refused(terminal: Terminal, report: ProposalReport, schema: Schema, *, explain: bool) -> None:
    text = terminal.text
    if report.refused:
        terminal.show(text("propose_refused", count=len(report.refused)))
    for reason, count in report.counts.items():
        terminal.show(f"  {count:>4}  {text(f'verdict_{reason}')}")
        for one in report.refused if explain else ():
            if one.reason == reason:
                _show_one(terminal, one, schema, 0)


def _show_unread(terminal: Terminal, report: ProposalReport) -> None:
    """Print which parts of the source were not read, and why."""
    text = terminal.text
    for why, count in report.withheld.items():
        terminal.show(text("propose_withheld", count=count, why=text(f"kept_from_{why}")))
    if report.unreadable:
        terminal.show(text("propose_unreadable", count=len(report.unreadable)))
    if report.stopped and report.failure is None:
        terminal.show(terminal.own(report.stopped))
    if report.left:
        terminal.show(text("propose_left", count=report.left))


def _show_one(terminal: Terminal, one: JudgedProposal, schema: Schema, number: int) -> None:
    """Print a proposal with its quote; for a refused one, the exact fault."""
    from wenyuan.core.rules.labels import condition_label, relation_labels

    said, held = one.proposal, one.statement
    relation, condition = said.relation, said.condition
    if held is not None:
        relation = relation_labels(schema, held.rel)[terminal.language]
        condition = condition_label(held.condition, schema.parameters, terminal.language) if held.condition else ""
    ends = f"{said.src} —{relation}→ {said.dst}" + (f" [{condition}]" if condition else "")
    head = f"{number:>4}  " if number else " " * 6
    indented(terminal, f"{ends} · {terminal.text(said.strength)}", hanging=" " * 8, first=head)
    clause = held.evidences[0].clause if held is not None else said.passage
    if one.quote:
        indented(terminal, f"{clause}: {one.quote}" if clause else one.quote, hanging=" " * 8)
    if one.reason:
        detail = terminal.own(one.detail) if one.detail else ""
        rival = terminal.text("propose_rival", number=one.rival) if one.rival else ""
        why = " · ".join(filter(None, (detail, rival)))
        if why and why != one.quote:
            indented(terminal, why, hanging=" " * 8)


_HELP = """Keep rules, and derive what follows from them.

\b
Example:
  wenyuan rules import construction
  wenyuan rules infer "Deep excavation" --param depth_m=6
  wenyuan rules infer 深基坑开挖 --param depth_m=6
"""
app = group(_HELP, "Keep rules and derive from them.")
_DONE = {"approve": "did_approve", "reject": "did_reject", "retire": "did_retire"}
_STRENGTHS = {name: name for name in ("mandatory", "recommended", "informative")}
_Limit = Annotated[int, typer.Option("-k", "--limit", min=1, max=1_000, help="How many at most.")]
_After = Annotated[int, typer.Option("--after", min=0, metavar="N", help="Those past number N.")]


def list_nodes(
    ctx: typer.Context,
    text: Annotated[str, typer.Argument(help="In a name, alias or code.")] = "",
    kind: Annotated[str | None, typer.Option("--kind", metavar="KIND", help="Only of this kind.")] = None,
    limit: _Limit = 50,
    after: _After = 0,
) -> None:
    """List what rules are about: processes, hazards, measures …

    Example:
      wenyuan rules list 基坑
      wenyuan rules list --kind hazard
    """
    from wenyuan.wire.rules import node_to_wire

    terminal: Terminal = ctx.obj
    with opened(terminal) as found:
        counts, packs = found.catalog.rules.counts(), found.rules.packs()
        schema = found.rules.schema()
        wanted = _kind(kind, schema.kinds)
        nodes = found.catalog.rules.find_nodes(text, kind=wanted, limit=limit, after=after)
    following = nodes[-1].node_id if len(nodes) == limit else None
    listed = [node_to_wire(node) for node in nodes]
    terminal.document(
        {"status": "SUCCESS", "nodes": listed, "next": following, "counts": counts, "packs": list(packs)}
    )
    if not counts["nodes"]:
        terminal.say("rules_none")
        return
    said = counts["statements"]
    summary = {
        "statements": said.get("approved", 0),
        "proposed": said.get("proposed", 0),
        "packs": ", ".join(titled(pack, terminal.language) for pack in packs),
    }
    terminal.show(terminal.text("rules_counts", nodes=counts["nodes"], **summary))
    if not nodes:
        terminal.say("rules_no_node")
        return
    titles = {known.id: known.labels.get(terminal.language, known.id) for known in schema.kinds.values()}
    _show_nodes(terminal, nodes, titles)
    if following is not None:
        terminal.show(terminal.text("rules_next", after=following))


def _kind(written: str | None, kinds: Mapping[str, Kind]) -> str | None:
    """The kind with this id or label."""
    from wenyuan.core.errors import InvalidRequest
    from wenyuan.core.rules.names import IdsByName

    if written is None:
        return None
    known = IdsByName(kinds.values())
    found = known.find(written)
    if len(found) != 1:
        raise InvalidRequest(
            msg("there is no kind {written}{known}", written=repr(written), known=known.near(written)),
            hint=", ".join(kinds),
        )
    return found[0]


def _show_nodes(terminal: Terminal, nodes: Sequence[GraphNode], titles: Mapping[str, str]) -> None:
    rows = (
        (
            titles.get(node.kind, node.kind),
            node.name,
            ", ".join(label for label in node.labels.values() if label != node.name),
        )
        for node in nodes
    )
    terminal.table(rows, "col_kind", "col_name", "col_english")


def show(
    ctx: typer.Context,
    rule: Annotated[str, typer.Argument(metavar="ID", help="Number or key of a rule.")],
) -> None:
    """Show a rule: what it says, its evidence, what it has lost, and who decided on it.

    Example:
      wenyuan rules show 11
    """
    terminal: Terminal = ctx.obj
    with opened(terminal) as found:
        graph = found.catalog.rules
        held = graph.statement(int(rule) if rule.isascii() and rule.isdecimal() and len(rule) < 19 else rule)
        fate = graph.statement_fate(held.statement_id, date.today())
        told = _described(found, [held])[0]
    told |= {name: fate[name] for name in ("state", "since_seq", "since", "lost", "reviews")}
    terminal.document({"status": "SUCCESS", "rule": told})
    if terminal.as_json:
        return
    for key, value in _lines(terminal, told):
        if value not in ("", None):
            indented(terminal, f"{terminal.text(key)}: {value}", first="")
    _show_evidence(terminal, told)
    for entry in fate["reviews"]:
        done = terminal.text(_DONE.get(entry["action"], "rule_reviews"))
        indented(
            terminal,
            f"{terminal.text('rule_reviews')}: {local_time(entry['at'])} {entry['actor']} {done} {entry['reason']}",
        )


def _described(library: Library, held: Sequence[Any]) -> list[dict[str, Any]]:
    from wenyuan.wire.rules import statement_to_wire

    ends = library.rules.ends(held)
    trusts = {source.source_id: source.trust for source in library.sources()}
    schema, cite = library.rules.schema(), library.cited.now()
    return [statement_to_wire(one, ends, trusts, schema, cite) for one in held]


def _lines(terminal: Terminal, told: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    state = terminal.text("rule_retired" if told["state"] == "retired" else f"state_{told['state']}")
    word = terminal.text("rule_since")
    since = f" ({word} {local_time(told['since'])})" if told["since"] else ""
    yield "rule_id", f"{told['statement_id']}  {_graph_summary(terminal, told)}"
    yield "status", f"{state}{since}"
    yield "rule_reason", terminal.own(told["reason"])
    yield "rule_condition", told["condition_labels"].get(terminal.language, "")
    yield "rule_strength", terminal.text(_STRENGTHS[told["strength"]])
    yield "rule_sentence", told["sentence"].get(terminal.language) or next(iter(told["sentence"].values()), "")
    yield "effective_from", told["valid_from"]
    yield "effective_until", told["valid_until"]
    yield "rule_weight", told["weight"] if told["weight"] != 1.0 else ""
    yield "rule_pack", titled(told["pack"], terminal.language)


def _graph_summary(terminal: Terminal, told: Mapping[str, Any]) -> str:
    src, dst = (told[end]["labels"].get(terminal.language) or told[end]["name"] for end in ("src", "dst"))
    return f"{src} —{told['relation_labels'][terminal.language]}→ {dst}"


def _show_evidence(terminal: Terminal, told: Mapping[str, Any]) -> None:
    for proof in told["evidences"]:
        key = "rule_evidence" if proof["live"] else "rule_lost"
        trust = f"{stars(proof['trust'])} " if proof["trust"] else ""
        where = " ".join(filter(None, (proof["source_id"], proof["clause"] or proof["uri"])))
        quote = quoted(terminal, proof)
        indented(terminal, f"{terminal.text(key)}: {trust}{where}{quote}", hanging=" " * 6)
        show_address(terminal, proof, " " * 6)


def review(
    ctx: typer.Context,
    approve: Annotated[str | None, typer.Option(metavar="IDS", help="Numbers: 3,7, 1-50, or all.")] = None,
    reject: Annotated[str | None, typer.Option(metavar="IDS", help="Numbers, or all.")] = None,
    retire: Annotated[str | None, typer.Option(metavar="IDS", help="Numbers; needs a reason.")] = None,
    reason: Annotated[str, typer.Option(metavar="TEXT", help="Why.")] = "",
    limit: _Limit = 50,
    after: _After = 0,
) -> None:
    """Show what waits for a review, with its quotes, or decide. Only what is approved is served.

    Example:
      wenyuan rules review
      wenyuan rules review --approve 3,7
      wenyuan rules review --approve all
      wenyuan rules review --reject 1-50
      wenyuan rules review --retire 12 --reason "条款已废止"
    """
    terminal: Terminal = ctx.obj
    actions: tuple[tuple[Literal["approve", "reject", "retire"], str | None], ...] = (
        ("approve", approve), ("reject", reject), ("retire", retire),
    )  # fmt: skip
    given = [(action, ids) for action, ids in actions if ids is not None]
    if len(given) > 1:
        raise typer.BadParameter(terminal.text("review_one"))
    if retire is not None and not reason.strip():
        raise typer.BadParameter(terminal.text("review_reason"))
    if not given:
        _show_queue(terminal, limit, after)
        return
    action, ids = given[0]
    with opened(terminal) as found:
        numbers, _ = found.rules.meant(ids, action)
        changed = found.rules.review(numbers, action, reason=reason)
    terminal.document({"status": "SUCCESS", "action": action, "statement_ids": numbers, "changed": changed})
    terminal.show(terminal.text("review_done", done=terminal.text(_DONE[action]), count=changed))


def _show_queue(terminal: Terminal, limit: int, after: int) -> None:
    with opened(terminal) as found:
        held = found.catalog.rules.proposed(limit, after)
        told = _described(found, held)
    following = held[-1].statement_id if len(held) == limit else None
    terminal.document({"status": "SUCCESS", "statements": told, "next": following})
    if not told:
        terminal.show(terminal.text("review_empty"))
        return
    for entry in told:
        condition = f" [{entry['condition_labels'][terminal.language]}]" if entry["condition"] else ""
        indented(
            terminal,
            f"{entry['statement_id']:>4}  {_graph_summary(terminal, entry)}{condition}",
            hanging=" " * 6,
            first="",
        )
        _show_evidence(terminal, entry)
    if not terminal.as_json:
        terminal.say("review_next", ids=told[0]["statement_id"])
    if following is not None:
        terminal.show(terminal.text("rules_next", after=following))


def remove(
    ctx: typer.Context,
    pack: Annotated[str, typer.Argument(metavar="PACK", help="A pack that was imported.")],
    yes: YesOption = False,
) -> None:
    """Take back all that a pack has brought; what other packs support stays, and so do the sources.

    Example:
      wenyuan rules remove construction
    """
    terminal: Terminal = ctx.obj
    with opened(terminal) as found:
        count = found.catalog.rules.counts()["packs"].get(pack, 0)
        asked = terminal.text("really_pack", pack=titled(pack, terminal.language), count=count)
        if count and not yes and interactive() and not typer.confirm(asked, err=True):
            terminal.say("not_removed")
            raise typer.Exit(OK)
        gone = found.rules.retire_pack(pack)
    counts = {"nodes": gone.nodes_retired, "statements": gone.statements_retired}
    terminal.document({"status": "SUCCESS", "pack": pack, **counts, "evidences": gone.evidences_removed})
    terminal.show(terminal.text("pack_removed", pack=titled(pack, terminal.language), **counts))


def packs(ctx: typer.Context) -> None:
    """List the packs that come with the program, and those that were imported.

    Example:
      wenyuan rules packs
    """
    from wenyuan.app import holds_library

    terminal: Terminal = ctx.obj
    imported: Sequence[str] = ()
    if holds_library(terminal.folder):
        with opened(terminal) as found:
            imported = found.rules.packs()
    terminal.document({"status": "SUCCESS", "shipped": list(shipped()), "imported": list(imported)})
    if terminal.as_json:
        return
    names = sorted({*shipped(), *imported})
    rows = (
        (name, title_of(name, terminal.language), terminal.text("yes" if name in imported else "no"))
        for name in names
    )
    terminal.table(rows, "col_pack", "col_title", "col_imported")


_COMMANDS: Commands = {
    "import": (take, "Import rules, the diff first."),
    "export": (export, "Write rules as files."),
    "template": (template, "Write a workbook to fill in."),
    "list": (list_nodes, "List what rules are about."),
    "show": (show, "Show one rule."),
    "propose": (propose, "Have a model propose rules."),
    "review": (review, "Approve, reject, retire."),
    "remove": (remove, "Take a pack back."),
    "infer": (infer, "Derive rules for processes."),
    "packs": (packs, "List packs."),
}
add_commands(app, _COMMANDS)
