"""Answers by a language model, every claim of which is checked against the library; claims without evidence are
dropped.

::

    Searcher.searches               passages of the library's own sources, rules beside them; nothing found: no answer
    shown                           without sources that a model must not be shown; as much as copyright lets be given
    LanguageModel.ask               claims, each with a passage and the first and last words of what it rests on
    _checked                        anchors → the verdict of `Verifier` → GATES; what is left is in the source's own words
    _within_terms                   all quotes of a document together, over all answers of a task
    _rules                          mandatory rules that apply and are not in the answer, with their clause

A claim keeps the model's words only where they are whole sentences of the passage; where they are another wording of them,
the passage's own sentences stand in their place. So nothing in an answer was made up, whatever the model is.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import TYPE_CHECKING, Any, NamedTuple

from wenyuan.core.access import Principal
from wenyuan.core.answering import (
    ANSWER_PROMPT_VERSION,
    ANSWER_SCHEMA,
    Proposed,
    Shown,
    answer_messages,
    quote_between,
    read_written,
    room_of,
)
from wenyuan.core.claims import Claim
from wenyuan.core.conflicts.record import disputes_of
from wenyuan.core.errors import Fault, InvalidRequest, KnowledgeError, LlmError, LlmTimeout, joined, msg
from wenyuan.core.model import Passage
from wenyuan.core.model_reply import about, decorated, lack
from wenyuan.core.places import ClaimDifference
from wenyuan.core.ports import LanguageModel, ModelReply, caller_gone, unless
from wenyuan.core.quotation import whole
from wenyuan.core.records import AuditRecord
from wenyuan.core.scoring.copies import limited
from wenyuan.core.source_entries import kept_from_model
from wenyuan.core.text.boundaries import Span, sentences
from wenyuan.core.text.excerpts import document_key
from wenyuan.core.text.injection import visible, within_instruction
from wenyuan.core.text.summaries import summarize
from wenyuan.core.tokens import tokens_of
from wenyuan.core.verification import compared_with
from wenyuan.runtime.deadlines import deadline_after
from wenyuan.service.audit.recorded_search import RecordedSearch
from wenyuan.service.audit.recorder import one_question
from wenyuan.service.audit.replay import explained_by_redaction, no_query, why_otherwise
from wenyuan.service.audit.rerun import Replay
from wenyuan.service.audit.rule_ends import Fate
from wenyuan.service.generation.answers import AnswerClaim, Answered, AnswerRequest, Citation, DroppedClaim, fates
from wenyuan.service.generation.no_model import none_is_set_up
from wenyuan.service.search.retriever import Retriever
from wenyuan.service.search.searcher import LOCAL, ResultPassage, Searcher, SearchResult
from wenyuan.service.search.sufficiency import shown_to_model
from wenyuan.service.verification import MOST_CHARS, VERDICTS, JudgedClaim, Verifier, VerifyRequest
from wenyuan.settings import LlmSettings

if TYPE_CHECKING:
    from wenyuan.catalog.catalog import Catalog
    from wenyuan.catalog.tasks import TaskLedger
    from wenyuan.service.generation.rewriter import Rewriter


log = logging.getLogger(__name__)

GATES: frozenset[str] = frozenset(VERDICTS) - {"verbatim"} | {
    "unknown_passage", "no_quote", "other_quote", "instruction",
}  # fmt: skip
"""What keeps a model's words out of an answer: every verdict of `verify` but one, and

``unknown_passage`` it cites what it was not shown; ``no_quote`` its anchors do not stand there exactly once;
``other_quote`` the words stand elsewhere than it says; ``instruction`` they speak to a model; ``part`` they are less than a
sentence. After ``not_judged`` and ``part`` the quoted sentences stand in the place of its words.
"""
_REPLACED = frozenset(("not_judged", "part"))
_MOST_RULES = 20
_LEAST_TOKENS = 4  # of a sentence that says something: "Section 5." does not
_EXTRACTED = 3  # passages of an extractive answer
_MOST_EXTRACTS = 30

Tell = Callable[[str, Mapping[str, Any]], None]
"""Told of each stage: ``retrieved`` (``passages``), ``asked``, ``written`` (``claims``), ``checked`` (``claims``, ``dropped``)."""


def _nobody(_stage: str, _told: Mapping[str, Any]) -> None:
    """Default callback: does nothing."""


class _Checked(NamedTuple):
    claims: list[AnswerClaim]
    dropped: list[DroppedClaim]
    passages: list[Passage]
    """Of each claim."""


class _Cut(NamedTuple):
    """The result of checking one proposed claim."""

    proposed: Proposed
    judged: JudgedClaim | None
    passage: Passage | None
    span: Span | None
    reason: str


@dataclass(frozen=True, kw_only=True, eq=False)
class Answerer:
    """Answers questions with a language model whose output is not trusted.

    Attributes:
        llm: None where none is set up.
    """

    catalog: Catalog
    retriever: Retriever
    searcher: Searcher
    recorded: RecordedSearch
    verifier: Verifier
    tasks: TaskLedger
    llm: LanguageModel | None
    settings: LlmSettings
    rewriter: Rewriter

    @one_question()
    def answer(
        self,
        request: AnswerRequest,
        principal: Principal = LOCAL,
        *,
        door: str = "answer",
        tell: Tell = _nobody,
        gone: Callable[[], bool] | None = None,
    ) -> Answered:
        """Search, ask the model, check its claims, and record the result.

        Args:
            tell: Called at each stage. Text is passed only after it was checked and recorded.
            gone: Whether the caller has disconnected: then the call of the model is abandoned. By default as
                `core.ports.unless` says.

        Raises:
            InvalidRequest, NotPermitted: the request.
            LlmError: the model failed, and the request does not ask for extracts then.
            KnowledgeError: the library cannot be asked.
        """
        gone = gone or caller_gone()
        with unless(gone):
            search = self.rewriter.searched(request.search)
        if self.llm is None and request.on_failure == "fail":
            with self.recorded.failures(search, principal, door):
                raise none_is_set_up(extracts=True)
        (result,) = self.recorded.searches([search], principal, door)
        result = self.recorded.attested(result, search, principal, door)
        with self.recorded.failures(search, principal, door):
            tell("retrieved", {"passages": len(result.passages)})
            answered = self._answer(request, result, principal, tell, gone)
            self._check_still_seen(result)
            return self._recorded(request, answered, principal, door)

    def _check_still_seen(self, result: SearchResult) -> None:
        """Refuse what was found before the model was asked, and may not be read any more.

        Raises:
            KnowledgeError: something of it is hidden from the caller now.
        """
        hidden = self.catalog.hidden()
        found = (one.passage.document_id for one in result.passages if one.hit.origin != "kg_rule")
        if hidden is not None and any(map(hidden.hides, found)):
            raise KnowledgeError(
                "who may read what was found has changed while it was answered", component="answer", hint="ask again"
            )

    def _answer(
        self, request: AnswerRequest, result: SearchResult, principal: Principal, tell: Tell, gone: Callable[[], bool]
    ) -> Answered:
        rules = [found for found in result.passages if found.hit.origin == "kg_rule"]
        texts = [found.passage for found in result.passages if found.hit.origin != "kg_rule"]
        day = request.as_of or date.today()
        none = Answered(claims=(), dropped=(), found=result, as_of=day, model=self.settings.model)
        if not texts:
            why = joined(reason for reason in result.reasons.values() if reason)
            return _with_rules(replace(none, reason=why or "nothing was found"), rules)
        shown, withheld = self.shown(texts)
        none = replace(none, withheld=withheld, shown=tuple(one.passage.ref for one in shown))
        try:
            if not shown:
                reason = "nothing of what was found may be shown to the language model"
                none = replace(none, reason=reason)
                if request.on_failure == "extract":
                    return _with_rules(self._extracts(none, request, texts, principal), rules)
                return _with_rules(none, rules)
            if was_late(result):
                raise not_again(self.settings.model)
            wordings = result.rewriting.wordings if result.rewriting is not None else ()
            seen = [found for found in rules if self._may_see(found)]
            reply = self._propose(request, shown, seen, wordings, tell, gone)
        except LlmError as error:
            if request.on_failure == "fail":
                raise
            log.warning("answered by extracts: %s", error)
            return _with_rules(
                self._extracts(replace(none, reason=str(error), failure=error), request, texts, principal), rules
            )
        none = replace(none, reply=reply, missing=lack(reply.value.missing, " ".join((request.query, *wordings))))
        checked = self.checked(reply.value.claims, shown, request, principal)
        tell("checked", {"claims": len(checked.claims), "dropped": len(checked.dropped)})
        none = replace(none, dropped=tuple(checked.dropped))
        if checked.claims:
            return _with_rules(replace(none, claims=tuple(checked.claims), origin="model"), rules)
        if not reply.value.claims:
            return _with_rules(
                replace(none, reason="the language model finds no answer in the passages that it was shown"), rules
            )
        reason = msg("none of the {count} claims of the language model could be shown", count=len(reply.value.claims))
        return _with_rules(self._extracts(replace(none, reason=reason), request, texts, principal), rules)

    # -- the model --------------------------------------------------------------------------------------

    def shown(self, passages: Sequence[Passage]) -> tuple[list[Shown], Mapping[str, tuple[str, ...]]]:
        """The parts of passages that the model may see; and the passages it may not, by reason."""
        return shown_to_model(passages, self.retriever.registry().by_id, self.settings.max_sensitivity, self.catalog)

    def _may_see(self, rule: ResultPassage) -> bool:
        """Whether the model may see a rule: all sources of its evidence must be open to it."""
        registry = self.retriever.registry().by_id
        names = {rule.passage.source_id, *(e["source_id"] for e in rule.derivation.get("evidence", ()))}
        return all(
            name in registry and not kept_from_model(registry[name], self.settings.max_sensitivity) for name in names
        )

    def _propose(
        self, request: AnswerRequest, shown: Sequence[Shown], rules: Sequence[ResultPassage], wordings: Sequence[str],
        tell: Tell, gone: Callable[[], bool],
    ) -> ModelReply[Any]:  # fmt: skip
        if self.llm is None:
            raise none_is_set_up(extracts=True)
        tell("asked", {"passages": len(shown)})
        said = [found.passage.text.partition("\n")[0] for found in rules[:_MOST_RULES]]
        reply = self.llm.ask(
            answer_messages(self.rewriter.questions.sent(request.query.strip()), shown, said, wordings), schema=ANSWER_SCHEMA, read=read_written,
            deadline=deadline_after(self.settings.timeout).unless(gone),
        )  # fmt: skip
        tell("written", {"claims": len(reply.value.claims)})
        return reply

    # -- the gates --------------------------------------------------------------------------------------

    def checked(
        self, proposed: Sequence[Proposed], shown: Sequence[Shown], request: AnswerRequest, principal: Principal
    ) -> _Checked:
        """The model's claims that may stand in the answer, and the reasons why the others may not."""
        if not proposed:
            return _Checked([], [], [])
        by_ref = {one.passage.ref: one for one in shown}
        verdicts = self._verdicts([Claim(p.text, (p.passage,)) for p in proposed], request, principal)
        cuts = [_cut(p, verdict, by_ref) for p, verdict in zip(proposed, verdicts, strict=True)]
        cuts = self._whole(cuts, request, principal)
        checked = _Checked([], [], [])
        seen: set[tuple[int, Span]] = set()
        for cut in cuts:
            replaced = cut.reason in _REPLACED and cut.span is not None
            if cut.reason:
                verdict = cut.judged
                checked.dropped.append(
                    DroppedClaim(
                        text=visible(cut.proposed.text), passage=cut.proposed.passage, reason=cut.reason, replaced=replaced,
                        changes=_shown_changes(verdict, cut.reason),
                        rule=verdict.rule if verdict and cut.reason == "against_rule" else None,
                    )
                )  # fmt: skip
            if cut.passage is None or cut.span is None or (cut.reason and not replaced):
                continue
            if (cut.passage.passage_id, cut.span) in seen:
                continue
            seen.add((cut.passage.passage_id, cut.span))
            text = cut.passage.text[slice(*cut.span)] if replaced else cut.proposed.text
            checked.claims.append(
                AnswerClaim(
                    text=text, citation=_citation(cut.passage, cut.span), origin="quote" if replaced else "model",
                    checks=_checks(cut.passage, cut.span),
                )
            )  # fmt: skip
            checked.passages.append(cut.passage)
        return self._within_terms(checked, request, principal)

    def _verdicts(
        self, claims: Sequence[Claim], request: AnswerRequest, principal: Principal
    ) -> Sequence[JudgedClaim]:
        agent = self.searcher.agent_of(request.agent_id, principal)
        acting = principal if agent is None else replace(principal, agent_id=agent.agent_id)
        wanted = VerifyRequest(claims=tuple(claims), min_trust=request.min_trust, as_of=request.as_of)
        return self.verifier.judge(wanted, acting).claims

    def _whole(self, cuts: Sequence[_Cut], request: AnswerRequest, principal: Principal) -> list[_Cut]:
        """Check the quoted sentences that replace the model's words like other claims."""
        new = [cut for cut in cuts if cut.reason in _REPLACED and cut.passage is not None and cut.span is not None]
        texts = [Claim(c.passage.text[slice(*c.span)], (c.passage.ref,)) for c in new if c.passage and c.span]
        verdicts = iter(self._verdicts(texts, request, principal) if texts else ())
        checked = []
        for cut in cuts:
            if cut in new:
                verdict = next(verdicts)
                why = next((name for name in verdict.findings if name in GATES), "")
                checked.append(cut._replace(reason=why, judged=verdict, span=None) if why else cut)
            else:
                checked.append(cut)
        return checked

    def _within_terms(self, checked: _Checked, request: AnswerRequest, principal: Principal) -> _Checked:
        """Drop claims whose quotes exceed a document's copyright limit, counting those given to the task before."""
        bounded = {document_key(p) for p in checked.passages if limited(p.copyright)}
        if not bounded:
            return checked
        agent = self.searcher.agent_of(request.agent_id, principal)
        if not request.task_id:
            return self._counted(checked, {})
        with self.tasks.reserved(agent.agent_id if agent else None, request.task_id, bounded) as given:
            return self._counted(checked, given)

    def _counted(self, checked: _Checked, given: dict[str, int]) -> _Checked:
        chars = self._chars(checked.passages)
        kept = _Checked([], list(checked.dropped), [])
        for claim, passage in zip(checked.claims, checked.passages, strict=True):
            room, key = room_of(passage, chars), document_key(passage)
            length = len(claim.citation.quote)
            if room is not None and given.get(key, 0) + length > room:
                kept.dropped.append(DroppedClaim(
                        text=claim.text, passage=passage.ref, reason="over_copyright", replaced=False, changes=(), rule=None,
                    )
                )  # fmt: skip
                continue
            if room is not None:
                given[key] = given.get(key, 0) + length
            kept.claims.append(claim)
            kept.passages.append(passage)
        return kept

    def _chars(self, passages: Sequence[Passage]) -> Mapping[int, int]:
        documents = {passage.document_id for passage in passages if passage.copyright}
        return self.catalog.document_chars(documents) if documents else {}

    # -- without a model --------------------------------------------------------------------------------

    def _extracts(
        self, none: Answered, request: AnswerRequest, passages: Sequence[Passage], principal: Principal
    ) -> Answered:  # fmt: skip
        """An extractive answer from sentences of the best passages, without a model; it passes the same checks."""
        chosen = [
            (passage, span)
            for passage in passages[:_EXTRACTED]
            for start, end in summarize(passage.text, request.query, language=passage.language).spans
            for span in sentences(passage.text, start, end)
            if _speaks_for_itself(passage.text[slice(*span)])
            and not within_instruction(passage.text, *span)
            and about(passage.text[slice(*span)], request.query)
        ][:_MOST_EXTRACTS]
        claims = [Claim(passage.text[slice(*span)], (passage.ref,)) for passage, span in chosen]
        verdicts = self._verdicts(claims, request, principal) if claims else ()
        found = _Checked([], [], [])
        for (passage, span), verdict in zip(chosen, verdicts, strict=True):
            if verdict.findings == ("verbatim",):
                text, checks = passage.text[slice(*span)], _checks(passage, span)
                claim = AnswerClaim(text=text, citation=_citation(passage, span), origin="extractive", checks=checks)
                found.claims.append(claim)
                found.passages.append(passage)
        kept = self._within_terms(found, request, principal)
        return replace(none, claims=tuple(kept.claims), origin="extractive" if kept.claims else "")

    # -- the record -------------------------------------------------------------------------------------

    def _recorded(self, request: AnswerRequest, answered: Answered, principal: Principal, door: str) -> Answered:
        output = answered.reply.value.claims if answered.reply is not None else ()
        said = {
            "status": "SUCCESS", **fates(answered.claims, answered.dropped), "origin": answered.origin,
            "error": "" if answered.failure is None else str(answered.failure),
            "error_code": "" if answered.failure is None else answered.failure.code,
            "withheld": {why: list(refs) for why, refs in answered.withheld.items()},
            "model": answered.model, "prompt": ANSWER_PROMPT_VERSION, "as_of": answered.as_of.isoformat(),
            "min_trust": request.min_trust, "agent_id": request.agent_id, "generation": answered.found.generation,
            "shown": list(answered.shown), "retrieval": list(answered.found.audit_ids),
            **({} if answered.reply is None else {
                "tokens_in": answered.reply.tokens_in, "tokens_out": answered.reply.tokens_out, "cost": answered.reply.cost,
            }),
        }  # fmt: skip
        kept = self.recorded.recorder
        return replace(
            answered, audit_id=kept.written(said, request.query, [list(one) for one in output], principal, door=door)
        )

    def replayed(self, kept: AuditRecord, fate: Callable[[int], Fate], principal: Principal = LOCAL) -> Replay:
        """Whether recorded model output passes the same checks now; the model is not asked again.

        For an agent's answer, the cited passages must be in that agent's present scope.

        Args:
            fate: The fate of a passage, as the caller may know it.
        """
        if kept.query is None:
            return Replay(identical=False, differences=(no_query(kept.record),), asked=False)
        said, output = kept.record, [Proposed(*one) for one in kept.query["output"]]
        request = AnswerRequest(
            query=kept.query["query"], agent_id=said.get("agent_id"), min_trust=said["min_trust"],
            as_of=date.fromisoformat(said["as_of"]),
        )  # fmt: skip
        numbers = [int(number) for one in output if (number := one.passage.rpartition("#")[2]).isdecimal()]
        shown, _ = self.shown(list(self.catalog.passages(numbers).values()))
        known = set(said.get("shown", ()))
        checked = self.checked(output, [one for one in shown if one.passage.ref in known], request, principal)
        was, now = _fates_by_passage(said), _fates_by_passage(fates(checked.claims, checked.dropped))
        found = [why_otherwise(ref, was.get(ref, ""), now.get(ref, ""), fate) for ref in was.keys() | now.keys()]
        differences = sorted(filter(None, found), key=lambda one: one.ref)
        if not differences:
            return Replay(identical=True)
        return Replay(identical=False, differences=tuple(explained_by_redaction(said, differences)))


def _fates_by_passage(said: Mapping[str, Any]) -> Mapping[str, str]:
    """By passage, a readable result of the claims on it."""
    found: dict[str, list[str]] = {}
    for one in said["claims"]:
        if one["origin"] in ("model", "quote"):
            found.setdefault(one["passage"], []).append(f"{one['origin']} {one['start']}-{one['end']}")
    for one in said["dropped"]:
        found.setdefault(one["passage"], []).append(one["reason"])
    return {ref: ", ".join(sorted(fates)) for ref, fates in found.items()}


def was_late(result: SearchResult) -> bool:
    """Whether the model did not say the question in other words in time."""
    return result.rewriting is not None and result.rewriting.late


def not_again(model: str) -> LlmTimeout:
    """The error where the model was already too slow for a request, which waits for it only once."""
    return LlmTimeout("it was too slow for this request already, and is not asked again", component=f"llm {model}")


def kept_back(source_id: str, why: str) -> InvalidRequest:
    """The error where the model may not be shown a whole source; `why` is of `kept_from_model`."""
    said = {
        "denied": "the source {source} may not be shown to a language model: it says llm: deny",
        "sensitivity": "the source {source} may not be shown to a language model: it is more sensitive than llm.max_sensitivity",
    }[why]
    fault = msg(said, source=repr(source_id))
    return InvalidRequest(fault, faults=(Fault("source", fault),))


def _cut(proposed: Proposed, judged: JudgedClaim, shown: Mapping[str, Shown]) -> _Cut:
    """The quote of a claim, and the first check that it fails: those that drop it before those that replace its
    words.
    """
    one = shown.get(proposed.passage)
    passage = one.passage if one is not None else judged.evidence[0].passage if judged.evidence else None
    span = quote_between(one.text, proposed.first, proposed.last) if one is not None else None
    problems = ["unknown_passage"] if one is None else ["no_quote"] if span is None else []
    problems += judged.findings
    if judged.verdict == "verbatim" and passage is not None and span is not None:
        if (own := _sentences_of(proposed.text, passage, span)) is None:
            problems.append("other_quote")
        else:
            span = own
            same = tokens_of(passage.text[slice(*own)]).values == tokens_of(proposed.text).values
            problems += [] if same and not decorated(proposed.text, passage.text[slice(*own)]) else ["part"]
    if span is None and judged.evidence:
        passage, span = judged.evidence[0].passage, _around(judged)
    if passage is not None and span is not None and within_instruction(passage.text, *span):
        problems.append("instruction")
    failed = [name for name in problems if name in GATES]
    reason = next((name for name in failed if name not in _REPLACED), failed[0] if failed else "")
    return _Cut(proposed, judged, passage, span, reason)


def _shown_changes(verdict: JudgedClaim | None, reason: str) -> tuple[ClaimDifference, ...]:
    """What differs in a claim that is left out for that, without characters of the model's that cannot be seen."""
    changes = verdict.changes if verdict and reason in verdict.findings else ()
    return tuple(replace(one, said=visible(one.said)) for one in changes)


def _sentences_of(text: str, passage: Passage, within: Span) -> Span | None:
    """The sentences within part of a passage that contain a text verbatim; None without any."""
    compared = compared_with(tokens_of(text), passage.text[slice(*within)])
    if compared is None or compared.kind != "verbatim":
        return None
    (start, end), at = compared.spans[0], within[0]
    return whole(passage.text, at + start, at + end)


def _around(judged: JudgedClaim) -> Span:
    """The whole sentences of the first passage in a verdict's evidence."""
    first = judged.evidence[0]
    return whole(first.passage.text, first.start, first.end)


def _speaks_for_itself(text: str) -> bool:
    """Whether a sentence may stand in an answer: it is no heading and has some words, but not too many."""
    return not text.startswith("#") and len(text) <= MOST_CHARS and len(tokens_of(text).tokens) >= _LEAST_TOKENS


def _checks(passage: Passage, span: Span) -> Mapping[str, Any]:
    disputed = disputes_of(passage, *span)
    checks = {"words": "verbatim", "in_force": True, "trust": passage.trust}
    return {**checks, "conflicts": disputed} if disputed else checks


def _citation(passage: Passage, span: Span) -> Citation:
    return Citation(
        source=passage.uri, ref=passage.ref, source_id=passage.source_id, title=passage.title, trust=passage.trust,
        quote=passage.text[slice(*span)], start=span[0], end=span[1], clause="",
    )  # fmt: skip


def _with_rules(answered: Answered, rules: Sequence[ResultPassage]) -> Answered:
    """The answer with applicable mandatory rules added that it does not state yet, each with its clause.

    Where the question asks for rules, those that it asks for; else all that follow from what it names.
    """
    asked = any(found.derivation.get("answers") for found in rules)
    said = [tokens_of(claim.citation.quote).joined for claim in answered.claims]
    added = []
    for found in rules:
        told = found.derivation
        if told.get("strength") != "mandatory" or (asked and not told.get("answers")):
            continue
        claim = _rule(found)
        if not any(tokens_of(claim.citation.quote).joined in quote for quote in said):
            added.append(claim)
    claims = (*answered.claims, *added[:_MOST_RULES])
    return replace(
        answered, claims=claims, rules_left=len(added[_MOST_RULES:]),
        origin=answered.origin or ("rules" if added else ""),
    )  # fmt: skip


def _rule(found: ResultPassage) -> AnswerClaim:
    """A rule as a claim: its sentence, with the clause as citation."""
    passage = found.passage
    text = passage.text.partition("\n")[0]
    evidence: Mapping[str, Any] = next((e for e in found.derivation.get("evidence", ()) if e.get("quote")), {})
    citation = Citation(
        source=str(evidence.get("uri") or passage.uri), ref=passage.ref,
        source_id=str(evidence.get("source_id") or passage.source_id), title=passage.title, trust=passage.trust,
        quote=str(evidence.get("quote") or text), clause=str(evidence.get("clause", "")), start=None, end=None,
    )  # fmt: skip
    checks = {"strength": "mandatory", "condition": found.derivation.get("condition_state", "always")}
    return AnswerClaim(text=text, citation=citation, origin="rule", checks=checks)
