"""Verifies answers, by whomever written: a verdict on each claim. No model is used.

A claim is searched by keywords in what it cites and in everything the caller may see; the passages found are compared
token by token (`core.verification`). Only where no passage has the claim's words is the hybrid search used, and then
nothing is judged: the nearest passage is returned.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from functools import cache, partial
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

from wenyuan.core.access import Principal
from wenyuan.core.arguments import checking_fields
from wenyuan.core.claims import Claim
from wenyuan.core.conflicts.record import disputes_of
from wenyuan.core.errors import Fault, InvalidRequest, KnowledgeError, NotPermitted, listed, msg
from wenyuan.core.fidelity import Uncertain
from wenyuan.core.filters import Scope
from wenyuan.core.json_values import as_json
from wenyuan.core.model import Passage
from wenyuan.core.places import ClaimDifference
from wenyuan.core.ports import Deadline, Engine, until
from wenyuan.core.records import AuditRecord
from wenyuan.core.rewording import reworded, said_so
from wenyuan.core.terms_of_use import parse_copyright
from wenyuan.core.text.analysis import search_terms
from wenyuan.core.tokens import Tokens, tokens_of
from wenyuan.core.verification import Comparison, compared_with, stitched
from wenyuan.runtime.deadlines import deadline_after
from wenyuan.service.audit.recorder import AuditRecorder
from wenyuan.service.audit.replay import explained_by_redaction, no_query, why_otherwise
from wenyuan.service.audit.rerun import Difference, Replay
from wenyuan.service.audit.rule_ends import Fate
from wenyuan.service.conflicts.disputes import with_disputes
from wenyuan.service.query import Query
from wenyuan.service.search.candidates import guard
from wenyuan.service.search.retriever import Retriever
from wenyuan.service.search.searcher import LOCAL, Searcher
from wenyuan.service.search.source_selection import Sources

if TYPE_CHECKING:
    from wenyuan.catalog.catalog import Catalog

Verdict = Literal[
    "verbatim", "part", "stitched", "wrong_source", "number_changed", "unit_changed", "date_changed", "negation_changed",
    "modality_changed", "relation_changed", "not_in_force", "uncertain_reading", "low_trust", "over_copyright", "against_rule", "nothing_found", "not_judged",
]  # fmt: skip
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)

MOST_CLAIMS = 100
MOST_CHARS = 4_000
"""Of a claim."""
_PER_DEADLINE = 10  # claims for which the time of one question is enough
_LOOKED_AT = 8  # passages that share most words with a claim
_PAST_DAYS = 8  # days on which something ceased to be in force that are looked at, the last ones
_SURE = 0.8  # share of a claim's tokens in one place above which it is that place that was changed, and not pieces of several
_PASSAGE = re.compile(r"(.+)#(\d+)")


@checking_fields
@dataclass(frozen=True, slots=True, kw_only=True)
class VerifyRequest:
    """An answer to verify.

    Attributes:
        citations: Meaning of citation marks: an address, the id of a source or of a passage (``policies#12``). Other
            marks are taken literally.
        min_trust: Evidence of lower trust is not enough.
        as_of: The day on which evidence must be in force; None: today.
    """

    claims: tuple[Claim, ...]
    citations: Mapping[str, str] = field(default_factory=dict)
    min_trust: int = 1
    as_of: date | None = None

    def __post_init__(self) -> None:
        faults = []
        if not 1 <= len(self.claims) <= MOST_CLAIMS:
            faults.append(
                Fault("claims", msg("must be 1 to {most}, not {count}", most=MOST_CLAIMS, count=len(self.claims)))
            )
        for number, claim in enumerate(self.claims):
            if not claim.text.strip() or len(claim.text) > MOST_CHARS:
                faults.append(
                    Fault(
                        f"claims[{number}].text",
                        msg("must have 1 to {most} characters, not {count}", most=MOST_CHARS, count=len(claim.text)),
                    )
                )
        if type(self.min_trust) is not int or not 1 <= self.min_trust <= 5:
            said = msg("must be an integer from 1 to 5, not {min_trust}", min_trust=repr(self.min_trust))
            faults.append(Fault("min_trust", said))
        if faults:
            raise InvalidRequest(listed(faults), faults=tuple(faults))


@dataclass(frozen=True, slots=True, kw_only=True)
class Quoted:
    """A passage span that says what a claim says, or that it is assembled from.

    Attributes:
        start, end: Offsets into the passage's text.
    """

    passage: Passage
    start: int
    end: int

    @property
    def quote(self) -> str:
        return self.passage.text[self.start : self.end]

    @property
    def doubts(self) -> tuple[Uncertain, ...]:
        """The uncertain characters in the quote; offsets into the passage's text."""
        told = self.passage.recognition
        return () if told is None else told.doubts(self.start, self.end)


@dataclass(frozen=True, slots=True, kw_only=True)
class ContradictedRule:
    """A mandatory rule that the claim contradicts, with its clause."""

    id: str
    text: str
    clause: str


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedClaim:
    """A claim with its verdict.

    Attributes:
        verdict: The gravest finding.
        findings: All findings, gravest first.
        evidence: Where the library says it; of a paraphrase the best passage, whole.
        changes: What the evidence says, and what the claim says in its place.
        unknown: Citations of nothing visible to the caller.
    """

    claim: Claim
    verdict: Verdict
    findings: tuple[Verdict, ...]
    evidence: tuple[Quoted, ...] = ()
    changes: tuple[ClaimDifference, ...] = ()
    rule: ContradictedRule | None = None
    unknown: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Verification:
    """All claims of an answer with their verdicts.

    Attributes:
        generation: The change of the catalog that was looked at.
    """

    claims: tuple[JudgedClaim, ...]
    generation: int
    as_of: date
    audit_id: str = ""

    @property
    def counts(self) -> Mapping[str, int]:
        """Number of claims by verdict."""
        said = [one.verdict for one in self.claims]
        return {verdict: said.count(verdict) for verdict in VERDICTS if verdict in said}


class _Match(NamedTuple):
    """A comparison of a claim with a passage that has its words, possibly changed; not for paraphrases."""

    passage: Passage
    words: Verdict
    comparison: Comparison


class _Cited(NamedTuple):
    """The sources and documents cited by a claim, and citations that are neither."""

    sources: frozenset[str]
    documents: frozenset[int]
    unknown: tuple[str, ...]

    def holds(self, passage: Passage) -> bool:
        return passage.source_id in self.sources or passage.document_id in self.documents

    @property
    def named(self) -> bool:
        return bool(self.sources or self.documents or self.unknown)


class _Visible(NamedTuple):
    """What the caller may see, for one request.

    Attributes:
        sources: All that the caller may see, in force or not.
        scope: What is in force on the day asked for.
        past: Gives the scopes of the last days before it on which something ceased to be in force.
    """

    query: Query
    registry: Sources
    sources: frozenset[str]
    scope: Scope
    past: Callable[[], tuple[Scope, ...]]
    deadline: Deadline


@dataclass(frozen=True, kw_only=True, eq=False)
class Verifier:
    """Verifies the claims of answers."""

    catalog: Catalog
    engine: Engine
    retriever: Retriever
    searcher: Searcher
    recorder: AuditRecorder
    seconds: float
    """For every `_PER_DEADLINE` claims of a request."""

    def verify(self, request: VerifyRequest, principal: Principal = LOCAL, *, door: str = "verify") -> Verification:
        """Verify each claim against what the caller may see.

        Raises:
            NotPermitted: the caller acts for an agent that is not there.
            KnowledgeError: the library cannot be asked; never a verdict instead.
        """
        query = self._query(request, principal)
        try:
            found = self._verified(request, query)
        except (InvalidRequest, NotPermitted):
            raise
        except KnowledgeError as error:
            self.recorder.failed(query, error, principal, door=door)
            raise
        bounds = {"as_of": found.as_of.isoformat(), "min_trust": request.min_trust, "generation": found.generation}
        told = [_recorded(one) for one in found.claims]
        audit_id = self.recorder.verified(told, request.claims, request.citations, bounds, principal, door=door)
        return replace(found, audit_id=audit_id)

    def judge(self, request: VerifyRequest, principal: Principal = LOCAL) -> Verification:
        """As `verify`, without an audit record: for requests that have their own."""
        return self._verified(request, self._query(request, principal))

    def replayed(self, kept: AuditRecord, fate: Callable[[int], Fate], principal: Principal = LOCAL) -> Replay:
        """Whether the claims of a recorded verification have the same verdicts now, on the day that was asked about.

        Of an agent's verification, in that agent's scope as it is now.

        Args:
            fate: The fate of a passage, as the caller may know it.
        """
        if kept.query is None or "sources" not in kept.query:  # as in records of former versions
            return Replay(identical=False, differences=(no_query(kept.record),), asked=False)
        said, query = kept.record, kept.query
        claims = tuple(
            Claim(text, tuple(cited)) for text, cited in zip(query["claims"], query["sources"], strict=True)
        )
        request = VerifyRequest(
            claims=claims, citations=query["citations"], min_trust=said["min_trust"],
            as_of=date.fromisoformat(said["as_of"]),
        )  # fmt: skip
        acting = replace(principal, agent_id=principal.agent_id or said.get("agent"))
        now = [_recorded(one) for one in self.judge(request, acting).claims]
        found = [_why_otherwise(before, one, fate) for before, one in zip(said["claims"], now, strict=True)]
        differences = list(dict.fromkeys(one for of_claim in found for one in of_claim))
        if not differences:
            return Replay(identical=True)
        return Replay(identical=False, differences=tuple(explained_by_redaction(said, differences)))

    def _query(self, request: VerifyRequest, principal: Principal) -> Query:
        """The limits of a verification as a query."""
        day = request.as_of or date.today()
        query = Query(text=request.claims[0].text, limit=1, as_of=day, rules="none")
        return self.searcher.bounded(query, principal)

    def _verified(self, request: VerifyRequest, query: Query) -> Verification:
        day = query.as_of or date.today()
        self.retriever.ready()
        deadline = deadline_after(self.seconds * math.ceil(len(request.claims) / _PER_DEADLINE))
        with until(deadline):
            change = self.engine.sync(self.catalog, deadline=deadline)
            registry = self.retriever.registry(deadline=deadline)
            known = registry.by_id if query.sources is None else query.sources
            own = (name for name in known if registry.by_id[name].type == "static_doc")
            seen = frozenset(name for name in own if registry.by_id[name].trust >= query.min_trust)
            hidden = self.catalog.hidden(deadline)
            scope = self.retriever.scope(_in_force(registry, seen, day), day, hidden)
            past = cache(partial(self._past, registry, seen, day))  # most answers say nothing that needs it
            visible = _Visible(query, registry, seen, scope, past, deadline)
            judged = self._with_disputes([self._judge(claim, request, visible) for claim in request.claims], visible)
        return Verification(claims=judged, generation=change, as_of=day)

    def _with_disputes(self, judged: Sequence[JudgedClaim], visible: _Visible) -> tuple[JudgedClaim, ...]:
        """The verdicts, the passages of their evidence with what contradicts them."""
        passages = {quoted.passage.passage_id: quoted.passage for one in judged for quoted in one.evidence}
        told = with_disputes(self.catalog, passages, visible.scope, visible.deadline)
        return tuple(
            replace(
                one,
                evidence=tuple(replace(quoted, passage=told[quoted.passage.passage_id]) for quoted in one.evidence),
            )
            for one in judged
        )

    def _judge(self, claim: Claim, request: VerifyRequest, visible: _Visible) -> JudgedClaim:
        tokens, cited = tokens_of(claim.text), self._cited(claim, request.citations, visible)
        passages = self._by_words(claim.text, visible.scope, visible.deadline)
        if cited.documents:
            passages += self._of_documents(claim.text, cited.documents, {p.passage_id for p in passages}, visible)
        match, pieces, near = _best(tokens, passages, cited)
        if match is None or match.words != "verbatim":
            before, parts, _ = _best(tokens, self._of_the_past(claim.text, visible), cited)
            if not near or (before is not None and before.words == "verbatim"):
                match, pieces = before, parts
        against = self._against(claim.text, tokens, visible)
        if against is not None:
            rule, differences = against
            evidence = () if match is None else _quoted(match)
            return JudgedClaim(
                claim=claim, verdict="against_rule", findings=("against_rule",), evidence=evidence, rule=rule,
                changes=differences, unknown=cited.unknown,
            )  # fmt: skip
        if match is None and not pieces:
            return self._not_judged(claim, cited, visible)
        evidence = tuple(pieces) or (() if match is None else _quoted(match))
        changes = () if match is None or pieces else match.comparison.changes
        words: Verdict = "stitched" if pieces or match is None else match.words
        findings = _findings(words, evidence, cited, request.min_trust, visible.scope, self._chars(evidence))
        return JudgedClaim(
            claim=claim, verdict=findings[0], findings=findings, evidence=evidence, changes=changes,
            unknown=cited.unknown,
        )  # fmt: skip

    def _not_judged(self, claim: Claim, cited: _Cited, visible: _Visible) -> JudgedClaim:
        """A claim whose words are in no passage: gives the nearest passage."""
        query = replace(visible.query, text=claim.text, sources=tuple(sorted(visible.sources)))
        answer = self.retriever.retrieve(query, visible.deadline)
        if not answer.hits:
            return JudgedClaim(
                claim=claim, verdict="nothing_found", findings=("nothing_found",), unknown=cited.unknown
            )
        hit = answer.hits[0]
        passage = answer.passages[hit.passage_id]
        return JudgedClaim(
            claim=claim, verdict="not_judged", findings=("not_judged",), unknown=cited.unknown,
            evidence=(Quoted(passage=passage, start=0, end=len(passage.text)),),
        )  # fmt: skip

    def _against(
        self, text: str, tokens: Tokens, visible: _Visible
    ) -> tuple[ContradictedRule, tuple[ClaimDifference, ...]] | None:
        """The mandatory rule that a claim contradicts, and where they differ; None without one.

        What it is about is not guessed by its meaning: a claim that has the words of a rule has the names in it, too.
        """
        asked = replace(visible.query, text=text, limit=20, rules="within", by_meaning=False)
        answer = self.retriever.derive(asked, visible.deadline)
        for hit in answer.hits:
            told = {} if answer.derived is None else answer.derived.details.get(hit.passage_id, {})
            if told.get("strength") != "mandatory":
                continue
            passage = answer.passages[hit.passage_id]
            clauses = [(e["clause"], e["quote"]) for e in told.get("evidence", ()) if e["quote"]]
            for clause, said in [("", passage.text.partition("\n")[0]), *clauses]:
                compared = compared_with(tokens, said)
                if compared is not None and compared.kind in _CHANGED:
                    where = clause or (clauses[0][0] if clauses else "")
                    return ContradictedRule(id=passage.ref, text=said, clause=where), compared.changes
        return None

    # -- where to look --------------------------------------------------------------------------------

    def _by_words(self, text: str, scope: Scope, deadline: Deadline) -> list[Passage]:
        """The passages in scope that share most words with a text, best first."""
        if not scope.sources:
            return []
        found = self.engine.keyword(search_terms(text), scope=scope, limit=_LOOKED_AT, deadline=deadline)
        passages = self.catalog.passages([hit.passage_id for hit in found.hits], deadline)
        for passage in passages.values():
            guard([passage], scope)
        return [passages[hit.passage_id] for hit in found.hits if hit.passage_id in passages]

    def _of_documents(
        self, text: str, documents: Collection[int], but: Collection[int], visible: _Visible
    ) -> list[Passage]:
        """The passages of some documents that share most words with a text, in force or not."""
        numbers = [n for document in documents for n, *_ in self.catalog.document_passages(document) if n not in but]
        scores = self.engine.keyword_scores(
            search_terms(text), numbers, deadline=visible.deadline, uncounted=visible.scope.uncounted
        )
        best = sorted(scores, key=lambda number: (-scores[number], number))[:_LOOKED_AT]
        passages = self.catalog.passages(best, visible.deadline)
        return [passages[n] for n in best if n in passages and passages[n].source_id in visible.sources]

    def _past(self, registry: Sources, sources: frozenset[str], day: date) -> tuple[Scope, ...]:
        """Scopes for the last `_PAST_DAYS` days before `day` on which something ceased to be in force, latest first."""
        ends = {registry.last_day(name) for name in sources} - {None}
        days = {end for end in ends if end is not None and end < day}
        days |= set(self.catalog.last_days(sorted(sources), day, _PAST_DAYS))
        last = sorted(days, reverse=True)[:_PAST_DAYS]
        hidden = self.catalog.hidden()
        return tuple(self.retriever.scope(_in_force(registry, sources, end), end, hidden) for end in last)

    def _of_the_past(self, text: str, visible: _Visible) -> list[Passage]:
        """The passages no longer in force that share most words with a text."""
        found: dict[int, Passage] = {}
        for scope in visible.past():
            for passage in self._by_words(text, scope, visible.deadline):
                found.setdefault(passage.passage_id, passage)
        return list(found.values())

    def _cited(self, claim: Claim, citations: Mapping[str, str], visible: _Visible) -> _Cited:
        """The sources and documents of a claim's citations, as far as visible to the caller."""
        sources, documents, unknown = set(), set(), []
        for mark in claim.sources:
            told = citations.get(mark, mark)
            if told in visible.sources:
                sources.add(told)
            elif number := self._document(told, visible):
                documents.add(number)
            else:
                unknown.append(mark)
        return _Cited(frozenset(sources), frozenset(documents), tuple(unknown))

    def _document(self, told: str, visible: _Visible) -> int:
        """The document id of an address or passage ref; 0 for none visible."""
        if match := _PASSAGE.fullmatch(told):
            passage = self.catalog.passages([int(match[2])]).get(int(match[2]))
            if passage is not None and passage.source_id == match[1] and match[1] in visible.sources:
                return passage.document_id
        known = self.catalog.document_by_uri(told.partition("#")[0], sorted(visible.sources), visible.deadline)
        return known[0] if known else 0

    def _chars(self, evidence: Iterable[Quoted]) -> Mapping[int, int]:
        limited = {one.passage.document_id for one in evidence if one.passage.copyright}
        return self.catalog.document_chars(limited) if limited else {}


def _why_otherwise(
    before: Mapping[str, Any], now: Mapping[str, Any], fate: Callable[[int], Fate]
) -> list[Difference]:
    """Why a claim has another verdict now: what became of the passages that it rested on, or no more than that it has."""
    was, new = (", ".join(filter(None, (*one["findings"], one["rule"]))) for one in (before, now))
    refs = before["passages"] or now["passages"] or [before["rule"] or now["rule"]]
    found = [why_otherwise(ref, was, new, fate) for ref in refs]
    told = [one for one in found if one is not None]
    return [one for one in told if one.what != "verdict changed"] or told[:1]


def _recorded(one: JudgedClaim) -> dict[str, Any]:
    """A verdict as it is recorded, without texts."""
    return {
        "verdict": one.verdict, "findings": list(one.findings), "rule": one.rule.id if one.rule else "",
        "passages": [quoted.passage.ref for quoted in one.evidence],
    }  # fmt: skip


_CHANGED = frozenset(
    ("number_changed", "unit_changed", "date_changed", "negation_changed", "modality_changed", "relation_changed")
)
_FIGURES = ("number_changed", "unit_changed", "date_changed")


def _in_force(registry: Sources, sources: frozenset[str], day: date) -> frozenset[str]:
    return frozenset(name for name in sources if registry.in_force(name, day))


def _best(tokens: Tokens, passages: Sequence[Passage], cited: _Cited) -> tuple[_Match | None, list[Quoted], bool]:
    """The passage closest to a claim (cited ones preferred), or the pieces it is assembled from; and whether any passage
    has most of its words, be it a paraphrase.
    """
    found = []
    for passage in passages:
        compared = compared_with(tokens, passage.text)
        if compared is None:
            continue
        if compared.kind == "verbatim" and (not cited.named or cited.holds(passage)):
            return _Match(passage, compared.kind, compared), [], True
        found.append((compared, passage))
    match = shown = None
    if found:
        best, passage = min(
            found,
            key=lambda m: (
                ("verbatim", "part").index(m[0].kind) if m[0].kind in ("verbatim", "part") else 2,
                -round(m[0].share, 2),
                not cited.holds(m[1]),
            ),
        )
        match = None if best.kind == "paraphrase" else _Match(passage, best.kind, best)
        shown = _Match(passage, "not_judged", best) if match is None and best.changes else None
        if match is not None and match.words in _FIGURES and _said_elsewhere(tokens, passages, _quoted(match)):
            return None, [], True
        if best.kind in ("verbatim", "part") or best.share >= _SURE:
            # Another passage may have less of a paraphrase, with a number changed: that is not what was meant.
            return match or shown, [], True
    texts = [passage.text for passage in passages]
    pieces = [Quoted(passage=passages[of], start=start, end=end) for of, (start, end) in stitched(tokens, texts)]
    if match is None and not pieces and (other := reworded(tokens, texts)) is not None:
        match = _Match(passages[other.number], other.kind, Comparison(other.kind, (other.span,), (other.change,)))
    return match or (None if pieces else shown), pieces, bool(found or pieces or match)


def _said_elsewhere(tokens: Tokens, passages: Sequence[Passage], quoted: Sequence[Quoted]) -> bool:
    """Whether another sentence says it, in other words, with the claim's own figures."""
    return said_so(tokens, [passage.text for passage in passages], " ".join(one.quote for one in quoted))


def _quoted(match: _Match) -> tuple[Quoted, ...]:
    return tuple(Quoted(passage=match.passage, start=start, end=end) for start, end in match.comparison.spans)


def _findings(
    words: Verdict,
    evidence: Sequence[Quoted],
    cited: _Cited,
    min_trust: int,
    in_force: Scope,
    chars: Mapping[int, int],
) -> tuple[Verdict, ...]:
    """All findings on a claim with these words, gravest first; ``verbatim`` last."""
    found: list[Verdict] = [] if words == "verbatim" else [words]
    if cited.named and not all(cited.holds(one.passage) for one in evidence):
        found.append("wrong_source")
    if not all(_counts(one.passage, in_force) for one in evidence):
        found.append("not_in_force")
    if any(one.doubts for one in evidence):
        found.append("uncertain_reading")
    if min(one.passage.trust for one in evidence) < min_trust:
        found.append("low_trust")
    if any(_too_long(one, chars) for one in evidence):
        found.append("over_copyright")
    return tuple(found) or ("verbatim",)


def _counts(passage: Passage, scope: Scope) -> bool:
    begins, ends = passage.effective_from or date.min, passage.effective_until or date.max
    return passage.source_id in scope.sources and begins <= scope.as_of <= ends


def _too_long(one: Quoted, chars: Mapping[int, int]) -> bool:
    """Whether a quote exceeds the copyright limit of its document."""
    if not one.passage.copyright:
        return False
    room = parse_copyright(one.passage.copyright).room(chars.get(one.passage.document_id, one.passage.end))
    return room is not None and one.end - one.start > room


def as_data(found: Verification) -> dict[str, Any]:
    """JSON values of a verification, the same for all interfaces."""
    return {
        "claims": [_claim_as_data(one) for one in found.claims],
        "counts": dict(found.counts),
        "as_of": found.as_of.isoformat(),
        "generation": found.generation,
        "audit_id": found.audit_id or None,
    }


def _claim_as_data(one: JudgedClaim) -> dict[str, Any]:
    return {
        "text": one.claim.text,
        "sources": list(one.claim.sources),
        "verdict": one.verdict,
        "findings": list(one.findings),
        "evidence": [
            {
                "passage_id": quoted.passage.ref, "source_id": quoted.passage.source_id, "source": quoted.passage.uri,
                "title": quoted.passage.title, "trust": quoted.passage.trust, "quote": quoted.quote,
                "start": quoted.start, "end": quoted.end, **_doubts(quoted), **_disputes(quoted),
            }
            for quoted in one.evidence
        ],
        "changes": as_json(one.changes),
        "rule": as_json(one.rule),
        "unknown_sources": list(one.unknown),
    }  # fmt: skip


def _doubts(quoted: Quoted) -> dict[str, Any]:
    """The member with the uncertain characters of a quote; empty without any."""
    text = quoted.passage.text
    told = [{**one._asdict(), "text": text[one.start : one.end]} for one in quoted.doubts]
    return {"uncertain": told} if told else {}


def _disputes(quoted: Quoted) -> dict[str, Any]:
    """The member with what contradicts a quote; empty without any."""
    told = disputes_of(quoted.passage, quoted.start, quoted.end)
    return {"conflicts": told} if told else {}
