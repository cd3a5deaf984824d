"""Rules that a language model proposes from a source, clause by clause; those that pass the checks wait for a
person's review.

::

    Answerer.shown                  clauses that the model may be shown: sensitivity, ``llm: deny``, copyright of a whole document
    LanguageModel.ask               some clauses at once; statements of the schema, each with the words that say so
    judge                           the quote cut out of the stored text; schema, clause and graph (core/rules/proposal_checks)
    Catalog.apply_rules             as *proposed*, in the pack ``proposed-SOURCE``; the audit has who proposed them
    Catalog.mark_clauses_read       remembered by passage, model, prompt and schema: what was killed goes on where it was
"""

from __future__ import annotations

import hashlib
import json
import logging
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import date
from itertools import groupby
from typing import TYPE_CHECKING, Any

from wenyuan.core.answering import Shown
from wenyuan.core.arguments import checking_fields
from wenyuan.core.errors import Fault, InvalidRequest, LlmError, LlmRejected, NotFound, msg
from wenyuan.core.model import Passage
from wenyuan.core.ports import LanguageModel, caller_gone
from wenyuan.core.rules.model import Node, Statement
from wenyuan.core.rules.proposal_checks import judge
from wenyuan.core.rules.proposal_content import KNOWN
from wenyuan.core.rules.proposal_prompt import form_of, messages, read_proposals
from wenyuan.core.rules.proposals import PROMPT_VERSION, JudgedProposal, KnownRules, Proposal
from wenyuan.core.source_entries import kept_from_model
from wenyuan.core.text.token_meter import estimate_tokens
from wenyuan.runtime.deadlines import deadline_after
from wenyuan.service.generation.answering import Answerer, kept_back
from wenyuan.service.generation.no_model import none_is_set_up
from wenyuan.service.rules.quotes import Quotes
from wenyuan.service.rules.rulebook import Rulebook
from wenyuan.settings import LlmSettings

if TYPE_CHECKING:
    from wenyuan.catalog.catalog import Catalog

log = logging.getLogger(__name__)

_AT_ONCE = 4  # clauses that the model is shown at once
_TOKENS_AT_ONCE = 1_200
_REPAIR = 200  # tokens of the words in which a model is told that its answer is of no form
_READ = 500  # passages that are read of the catalog at once
_ALL = 10_000_000
_UNREADABLE = 3  # replies in a row that are of no form: it is not up to this clause


@checking_fields
@dataclass(frozen=True, slots=True, kw_only=True)
class ProposeRequest:
    """Which source to read for rules, with limits.

    Attributes:
        limit: Clauses that are read at most; None: all.
        tokens: Tokens that may be used at most, those of answers included; None: as many as the day has.
        dry_run: The model is asked, and nothing is kept.
    """

    source_id: str
    limit: int | None = None
    tokens: int | None = None
    dry_run: bool = False

    def __post_init__(self) -> None:
        for name in ("limit", "tokens"):
            value = getattr(self, name)
            if value is not None and (type(value) is not int or value < 1):
                said = msg("must be at least {limit}", limit=1)
                raise InvalidRequest(msg("{place} {fault}", place=name, fault=said), faults=(Fault(name, said),))


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposalReport:
    """The result of a run.

    Attributes:
        clauses: Of the source, that the model may be shown.
        read: Of these, in this run; `read_before`: in earlier ones.
        proposed: What waits for a review now (of a dry run: what would), with the number of each statement (0).
        refused: What the model proposed besides, each with its reason.
        withheld: How many clauses the model may not be shown, by reason.
        unreadable: Clauses on which it wrote nothing of the form; they are asked for again in the next run.
        stopped: Why the run ended before the source did; ``""``: it did not.
        failure: What failed, where that is why.
    """

    source_id: str
    dry_run: bool
    model: str
    clauses: int
    read: int
    read_before: int
    proposed: tuple[tuple[int, JudgedProposal], ...] = ()
    refused: tuple[JudgedProposal, ...] = ()
    withheld: Mapping[str, int] = field(default_factory=dict)
    unreadable: tuple[str, ...] = ()
    stopped: str = ""
    failure: LlmError | None = None
    tokens_in: int = 0
    tokens_out: int = 0
    cost: float = 0.0

    @property
    def left(self) -> int:
        """Number of clauses still to be read."""
        return self.clauses - self.read - self.read_before

    @property
    def counts(self) -> Mapping[str, int]:
        """Number of refused proposals by reason."""
        return dict(Counter(one.reason for one in self.refused).most_common())


Tell = Callable[[int, int], None]
"""Told of progress: clauses that were asked about, and in all."""


def _nobody(_done: int, _total: int) -> None:
    """Default callback: does nothing."""


@dataclass(slots=True)
class _Clauses:
    """The clauses of a source that are still to be read, each with its storage key.

    Attributes:
        closed: Of `to_read`, those that the model may no longer be shown; they are among `withheld`.
    """

    to_read: list[tuple[Shown, str]] = field(default_factory=list)
    read_before: int = 0
    withheld: Counter[str] = field(default_factory=Counter)
    closed: int = 0


@dataclass(slots=True)
class _Run:
    """The results of a run so far."""

    holdings: KnownRules
    version: int
    read: int = 0
    proposed: list[tuple[int, JudgedProposal]] = field(default_factory=list)
    refused: list[JudgedProposal] = field(default_factory=list)
    unreadable: list[str] = field(default_factory=list)
    in_a_row: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    cost: float = 0.0
    stopped: str = ""
    failure: LlmError | None = None


@dataclass(frozen=True, kw_only=True, eq=False)
class Proposer:
    """Reads sources for rules with a language model; `llm` is None where none is configured.

    Attributes:
        changed: Called after proposals are stored, for the audit: action, name, before, after.
    """

    catalog: Catalog
    rulebook: Rulebook
    answerer: Answerer
    changed: Callable[[str, str, Any, Any], None]
    llm: LanguageModel | None
    settings: LlmSettings

    def propose(self, request: ProposeRequest, *, tell: Tell = _nobody) -> ProposalReport:
        """Read a source for rules. Proposals that pass the checks are stored as *proposed*, and only a review
        approves them.

        Raises:
            NotFound: there is no such source.
            InvalidRequest: the model may not be shown it, or the library has no schema that rules could follow.
            LlmUnavailable: no model is set up. What fails later ends the run, and is in the report.
            KnowledgeError: the catalog or the audit cannot be written.
        """
        if self.llm is None:
            raise none_is_set_up()
        source = self.catalog.source(request.source_id)
        if why := kept_from_model(source, self.settings.max_sensitivity):
            raise kept_back(source.source_id, why)
        if not self.answerer.retriever.registry().in_force(source.source_id, date.today()):
            said = msg(
                "the source {source} is not in force: no rule of it would be served", source=repr(source.source_id)
            )
            raise InvalidRequest(said, faults=(Fault("source", said),))
        holdings, version = self.rulebook.holdings()
        if not holdings.schema.relations:
            raise InvalidRequest(
                "the library has no kinds and relations yet: import a pack first that declares them",
                hint="wenyuan rules import FILE",
            )
        clauses = self._clauses(source.source_id, holdings)
        run = _Run(holdings, version)
        total = len(clauses.to_read) if request.limit is None else min(request.limit, len(clauses.to_read))
        batches: deque[Sequence[tuple[Shown, str]]] = deque(_batches(clauses.to_read[:total]))
        while batches and not run.stopped:
            batch = self._still_open(batches.popleft(), clauses)
            batches.extendleft(reversed(self._ask(self.llm, batch, request, run) if batch else ()))
            tell(run.read + len(run.unreadable), total)
        if not run.stopped and total < len(clauses.to_read):
            run.stopped = msg("as many clauses as were wanted are read: {count}", count=total)
        return ProposalReport(
            source_id=source.source_id, dry_run=request.dry_run, model=self.settings.model,
            clauses=len(clauses.to_read) + clauses.read_before - clauses.closed, read=run.read, read_before=clauses.read_before,
            proposed=tuple(run.proposed), refused=tuple(run.refused), withheld=dict(clauses.withheld),
            unreadable=tuple(run.unreadable), stopped=run.stopped, failure=run.failure, tokens_in=run.tokens_in,
            tokens_out=run.tokens_out, cost=run.cost,
        )  # fmt: skip

    # -- what is to be read -----------------------------------------------------------------------------

    def _clauses(self, source_id: str, holdings: KnownRules) -> _Clauses:
        """The clauses of a source in order, without those already read and those that the model may not see."""
        found, known = _Clauses(), self.catalog.clauses_read(source_id)
        about = [self.settings.model, PROMPT_VERSION, holdings.schema.to_tree()]
        seen: set[str] = set()
        for _, passages in groupby(self._passages(source_id), key=lambda passage: passage.document_id):
            in_force = []
            for passage in passages:
                over = passage.effective_until is not None and passage.effective_until < date.today()
                found.withheld.update(["not_in_force"] if over else ())
                in_force += [] if over else [passage]
            shown, withheld = self.answerer.shown(in_force)  # of a whole document: its terms of use bound all of it
            found.withheld.update({why: len(refs) for why, refs in withheld.items()})
            for one in shown:
                told = [
                    one.passage.title,
                    *one.passage.headings,
                    one.text,
                ]  # the same words elsewhere are another rule
                key = hashlib.sha256(
                    json.dumps([told, about], ensure_ascii=False, sort_keys=True).encode()
                ).hexdigest()
                if key in seen:
                    continue
                seen.add(key)
                found.read_before += key in known
                found.to_read += [] if key in known else [(one, key)]
        return found

    def _passages(self, source_id: str) -> Iterator[Passage]:
        numbers = self.catalog.cited_passages(source_id, None, _ALL)
        for at in range(0, len(numbers), _READ):
            part = numbers[at : at + _READ]
            held = self.catalog.passages(part)
            yield from (held[number] for number in part if number in held)

    def _still_open(self, batch: Sequence[tuple[Shown, str]], clauses: _Clauses) -> Sequence[tuple[Shown, str]]:
        """What the model may still be shown of a batch: in the hours of a run, passages and sources change."""
        held = self.catalog.passages([one.passage.passage_id for one, _ in batch])
        shown, withheld = self.answerer.shown(list(held.values()))
        found = {one.passage.passage_id for one in shown}
        kept = [(one, key) for one, key in batch if one.passage.passage_id in found]
        clauses.closed += len(batch) - len(kept)
        clauses.withheld.update({why: len(refs) for why, refs in withheld.items()})
        clauses.withheld.update(["changed"] * (len(batch) - len(held)))
        return kept

    # -- one question -----------------------------------------------------------------------------------

    def _ask(
        self, llm: LanguageModel, batch: Sequence[tuple[Shown, str]], request: ProposeRequest, run: _Run
    ) -> Sequence[Sequence[tuple[Shown, str]]]:
        """Ask about some clauses and store the results. Sets in `run` why the run must stop.

        Returns:
            What to ask instead: the clauses one by one, if the answer about several was not of the form (it may have
            been cut for its length); else nothing.
        """
        shown = [one for one, _ in batch]
        told = messages(run.holdings, shown)
        expected = sum(estimate_tokens(message["content"]) for message in told)
        most = expected + self.settings.most_tokens
        used = run.tokens_in + run.tokens_out
        again = 2 * most + self.settings.most_tokens + _REPAIR  # it is shown what it wrote, and writes as much again
        if request.tokens is not None and used + most > request.tokens:
            run.stopped = msg(
                "{used} of the {most} tokens that were given are used, and the next clauses need up to {tokens}",
                used=f"{used:,}", most=f"{request.tokens:,}", tokens=f"{most:,}",
            )  # fmt: skip
            return ()
        try:
            reply = llm.ask(
                told, schema=form_of(run.holdings.schema), read=read_proposals,
                deadline=deadline_after(self.settings.timeout).unless(caller_gone()),
                again=request.tokens is None or used + again <= request.tokens,
            )  # fmt: skip
        except LlmRejected as error:
            run.tokens_in, run.tokens_out = run.tokens_in + error.tokens_in, run.tokens_out + error.tokens_out
            run.cost += error.cost
            if len(batch) > 1:
                return [[one] for one in batch]
            run.unreadable += [one.passage.ref for one in shown]
            run.in_a_row += 1
            if run.in_a_row == _UNREADABLE:
                run.failure, run.stopped = error, str(error)
            return ()
        except LlmError as error:
            log.warning("reading for rules was stopped: %s", error)
            run.failure, run.stopped = error, str(error)
            return ()
        run.in_a_row = 0
        run.tokens_in, run.tokens_out = run.tokens_in + reply.tokens_in, run.tokens_out + reply.tokens_out
        run.cost += reply.cost
        took = {"used": {"in": reply.tokens_in, "out": reply.tokens_out, "cost": reply.cost}}
        self._keep(reply.value, batch, request, run, took)
        run.read += len(batch)
        return ()

    def _keep(
        self, proposals: Sequence[Proposal], batch: Sequence[tuple[Shown, str]], request: ProposeRequest, run: _Run,
        used: Mapping[str, Any],
    ) -> None:  # fmt: skip
        """Check the proposals; unless it is a dry run, store them and mark their clauses as read."""
        shown = [one for one, _ in batch]
        if request.dry_run:
            judged = self._new(judge(proposals, shown, run.holdings))
            numbers = [(0, one) for one in judged if not one.reason]
        else:
            with self.catalog.writing():
                if self.catalog.rules.version() != run.version:  # somebody else has changed the graph
                    run.holdings, run.version = self.rulebook.holdings()
                judged = self._new(self._quoted(judge(proposals, shown, run.holdings)))
                numbers = self._stored(request.source_id, [one for one in judged if not one.reason])
                run.version = self.catalog.rules.version()
            by = {
                "model": self.settings.model,
                "prompt": PROMPT_VERSION,
                "clauses": [one.passage.ref for one in shown],
            }
            came = {
                "statements": [number for number, _ in numbers],
                "refused": dict(Counter(one.reason for one in judged if one.reason)),
            }
            self.changed("proposed", request.source_id, None, {**by, **used, **came})
            self.catalog.mark_clauses_read(request.source_id, [key for _, key in batch])
        run.proposed += numbers
        run.refused += [one for one in judged if one.reason]
        run.holdings = run.holdings.with_proposed(numbers)

    def _quoted(self, judged: Sequence[JudgedProposal]) -> list[JudgedProposal]:
        """Verify the evidence against the present documents; proposals whose quote is gone are refused."""
        quotes = Quotes(self.catalog, {}, refuse=True)
        quotes.compare(e for one in judged if one.statement is not None for e in one.statement.evidences)
        found = []
        for one in judged:
            if one.statement is not None:
                evidences = tuple(filter(None, map(quotes.marked, one.statement.evidences)))
                if evidences:
                    one = replace(one, statement=replace(one.statement, evidences=evidences))  # noqa: PLW2901
                else:
                    one = replace(one, statement=None, nodes=(), reason="no_quote")  # noqa: PLW2901
            found.append(one)
        return found

    def _new(self, judged: Sequence[JudgedProposal]) -> list[JudgedProposal]:
        """Without statements that existed before and have lost all evidence: storing them would restore their former
        status.
        """
        found = []
        for one in judged:
            if one.statement is not None:
                with suppress(NotFound):
                    held = self.catalog.rules.statement(one.statement.key)
                    reason = KNOWN[held.statement.status]
                    one = replace(one, statement=None, nodes=(), reason=reason, rival=held.statement_id)  # noqa: PLW2901
            found.append(one)
        return found

    def _stored(self, source_id: str, accepted: Sequence[JudgedProposal]) -> list[tuple[int, JudgedProposal]]:
        """Store the accepted proposals; returns the number of each statement."""
        if not accepted:
            return []
        nodes: dict[str, Node] = {node.key: node for one in accepted for node in one.nodes}
        statements: list[Statement] = [one.statement for one in accepted if one.statement is not None]
        self.catalog.apply_rules(
            f"proposed-{source_id}", nodes=tuple(nodes.values()), statements=statements, prune=False
        )
        graph = self.catalog.rules
        return [(graph.statement(s.key).statement_id, one) for s, one in zip(statements, accepted, strict=True)]


def _batches(clauses: Sequence[tuple[Shown, str]]) -> Iterator[list[tuple[Shown, str]]]:
    """Batches of clauses for one request: neighbours of one document."""
    batch: list[tuple[Shown, str]] = []
    tokens = 0
    for one, key in clauses:
        size = estimate_tokens(one.text)
        other = batch and batch[-1][0].passage.document_id != one.passage.document_id
        if batch and (other or len(batch) == _AT_ONCE or tokens + size > _TOKENS_AT_ONCE):
            yield batch
            batch, tokens = [], 0
        batch.append((one, key))
        tokens += size
    if batch:
        yield batch


def as_data(report: ProposalReport) -> dict[str, Any]:
    """JSON values of a report; `refused` in full."""
    return {
        "source": report.source_id, "dry_run": report.dry_run, "model": report.model,
        "clauses": report.clauses, "read": report.read, "read_before": report.read_before, "left": report.left,
        "proposed": [{"statement_id": number or None, **_as_data(one)} for number, one in report.proposed],
        "counts": dict(report.counts),
        "refused": [_as_data(one) | {"reason": one.reason, "detail": one.detail, "rival": one.rival or None} for one in report.refused],
        "withheld": dict(report.withheld), "unreadable": list(report.unreadable),
        "tokens_in": report.tokens_in, "tokens_out": report.tokens_out, "cost": report.cost, "stopped": report.stopped,
    }  # fmt: skip


def _as_data(one: JudgedProposal) -> dict[str, Any]:
    said = one.proposal
    clause = one.statement.evidences[0].clause if one.statement is not None else ""
    return {
        "src": said.src, "relation": said.relation, "dst": said.dst,
        "condition": one.statement.condition if one.statement is not None else said.condition,
        "strength": said.strength, "passage": said.passage, "clause": clause, "quote": one.quote, "text": said.text,
    }  # fmt: skip
