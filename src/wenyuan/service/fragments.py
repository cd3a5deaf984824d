"""The fragment contract over the library: requests to queries, hits to fragments, and reading documents."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from typing import TYPE_CHECKING, Any

from wenyuan.core.access import Principal
from wenyuan.core.addresses import part_of
from wenyuan.core.arguments import checking_fields
from wenyuan.core.errors import (
    InvalidRequest,
    KnowledgeError,
    NotFound,
    NotPermitted,
    UnknownDomain,
    did_you_mean,
    msg,
)
from wenyuan.core.fidelity import Recognition, together
from wenyuan.core.fidelity import part_of as part_of_recognition
from wenyuan.core.filters import Condition, Conditions, compiled, of_sources
from wenyuan.core.model import (
    ORIGIN_PRIORITY,
    Corrected,
    Facet,
    Fragment,
    Passage,
    RetrievalRequest,
    Source,
)
from wenyuan.core.ports import Hit
from wenyuan.core.restrictions import APPLIED, Restrictions, restrictions_of
from wenyuan.core.rules import Evidence
from wenyuan.core.rules.inference import View
from wenyuan.core.rules.names import condition_labels, relation_labels
from wenyuan.core.scoring.rerank import also_in
from wenyuan.core.terms_of_use import Copyright, parse_copyright
from wenyuan.core.text import sentences
from wenyuan.core.text.structure import clause_label
from wenyuan.runtime import deadline_after
from wenyuan.service import Answer, Query
from wenyuan.service.audit.recorder import AuditRecorder, RecordedSearch
from wenyuan.service.queries import asked, both
from wenyuan.service.rules import SCHEMAS, stored_schema
from wenyuan.service.rules.quotes import CitedPlaces
from wenyuan.service.search import PerChange
from wenyuan.service.search.retriever import Retriever
from wenyuan.service.search.searcher import LOCAL, Searcher
from wenyuan.settings import Settings

if TYPE_CHECKING:
    from wenyuan.catalog import Catalog
    from wenyuan.service.generation import Rewriter

# Answers as the contract's fragments.


def fragments_of(answer: Answer, restrictions: Sequence[str] = ()) -> tuple[Fragment, ...]:
    """The fragments of an answer, best first, with all metadata.

    Args:
        restrictions: Names of those that the request had, and that were applied.
    """
    return tuple(_fragments(answer, ((hit, answer.passages[hit.passage_id]) for hit in answer.hits), restrictions))


def nearest_of(answer: Answer, restrictions: Sequence[str] = ()) -> Fragment | None:
    """The nearest passage of an answer that has one, as a fragment is told; see `Answer.nearest`."""
    return next(_fragments(answer, [answer.nearest] if answer.nearest else (), restrictions), None)


def _fragments(
    answer: Answer, shown: Iterable[tuple[Hit, Passage]], restrictions: Sequence[str]
) -> Iterator[Fragment]:
    about: dict[str, Any] = {"audit_id": answer.audit_id} if answer.audit_id else {}
    if restrictions:
        about[APPLIED] = list(restrictions)
    if answer.stale_by:
        about["stale_by"] = round(answer.stale_by, 1)
    if answer.degraded:
        about["degraded"] = ", ".join(answer.degraded)
    if answer.derived is not None and answer.derived.notes:
        about["rule_notes"] = list(map(str, answer.derived.notes))
    derived = {} if answer.derived is None else answer.derived.details  # path, evidence and condition of a rule
    return (
        Fragment(
            source=passage.uri,
            content=passage.text,
            retrieval_score=hit.score,
            metadata={
                **about_hit(hit, passage, answer.stale, answer.copies.get(hit.passage_id, ())),
                **_place(passage),
                "passage_id": passage.ref,
                "mode": answer.mode,
                **({} if answer.calibrated or "raw" not in hit.parts else {"calibrated": False}),
                **derived.get(hit.passage_id, {}),
                **about,
            },
        )
        for hit, passage in shown
    )


def about_hit(hit: Hit, passage: Passage, stale: Mapping[str, str], copies: Sequence[Passage] = ()) -> dict[str, Any]:
    """Metadata of a hit common to all answers, beyond address, text and score.

    Args:
        stale: Since when each overdue source is, by its id.
        copies: Passages that say the same, which are not given themselves.
    """
    place = {"page": passage.page, "line": passage.line, "cell": passage.cell}
    force = {"effective_from": passage.effective_from, "effective_until": passage.effective_until}
    return {
        "source_id": passage.source_id,
        "title": passage.title,
        "heading": " > ".join(passage.headings),
        "trust": passage.trust,
        "origin": hit.origin,
        "priority": ORIGIN_PRIORITY[hit.origin],
        "sha256": passage.sha256,
        "copyright": passage.copyright,
        "language": passage.language,
        "scores": {name: round(value, 6) for name, value in hit.parts.items()},
        **{name: value for name, value in place.items() if value is not None},
        **{name: day.isoformat() for name, day in force.items() if day is not None},
        **beside_hit(passage, stale, copies),
    }


def beside_hit(passage: Passage, stale: Mapping[str, str], copies: Sequence[Passage]) -> dict[str, Any]:
    """Optional metadata of a hit: overdue source, copies elsewhere, recognition; absent where it does not apply."""
    also: dict[str, Any] = {}
    if passage.source_id in stale:
        also["stale_since"] = stale[passage.source_id]
    if copies:
        also["also_in"] = also_in(copies)
    if passage.recognition is not None:
        also |= recognised(passage.recognition, passage.text)
    if passage.corrected is not None:
        also |= reworded(passage.corrected)
    return also


def reworded(told: Corrected) -> dict[str, Any]:
    """The members about corrections of a text; empty without any."""
    return {"corrected_by": told.by, "corrections": list(told.ids)} if told.by else {}


def recognised(told: Recognition | None, text: str) -> dict[str, Any]:
    """The members about recognition confidence; empty where the text was not recognised."""
    if told is None:
        return {}
    doubts = [{**one._asdict(), "text": text[one.start : one.end]} for one in told.uncertain]
    sure = {"ocr": True, "confidence": told.confidence, "least_confidence": told.least}
    return {**sure, "uncertain": doubts} if doubts else sure


def _place(passage: Passage) -> dict[str, Any]:
    """Clause, part of a file, and character range in the document."""
    place: dict[str, Any] = {"clause": clause_label(passage.headings), "part": part_of(passage.uri)}
    if passage.passage_id > 0 and passage.start < passage.end:  # unknown for external sources
        place |= {"char_start": passage.start, "char_end": passage.end}
    return {name: value for name, value in place.items() if value not in ("", None)}


# What the doors of other protocols ask of a library: the contract's fragments, within a domain and conditions.


EVERYTHING = "all"
"""The domain that stands for all that the caller may see, unless a source has it for its own."""


@checking_fields
@dataclass(frozen=True, slots=True, kw_only=True)
class FragmentsRequest:
    """A request for fragments, in any protocol.

    Attributes:
        request: As the contract has it.
        domain: A knowledge domain, or `EVERYTHING`.
        least_score: Fragments below are left out.
        door: By which protocol, for the audit.
    """

    request: RetrievalRequest
    domain: str = EVERYTHING
    conditions: Condition | Conditions | None = None
    least_score: float = 0.0
    door: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FragmentsAnswer:
    """The fragments found, best first, as ``retrieve_fragments`` finds them, with details.

    Attributes:
        degraded: Names of the legs that failed though they were allowed to.
        reason: Why there are no fragments.
        nearest: See `Answer.nearest`.
        searched: Number of sources.
        stale_by: See `Answer`.
    """

    fragments: tuple[Fragment, ...]
    degraded: tuple[str, ...] = ()
    reason: str = ""
    searched: int = 0
    stale_by: float = 0.0
    nearest: Fragment | None = None


@dataclass(frozen=True, kw_only=True, eq=False)
class FragmentSearch:
    """Searches for fragments with more options and details than the contract has."""

    settings: Settings
    catalog: Catalog
    retriever: Retriever
    searcher: Searcher
    recorded: RecordedSearch
    fields: Fields
    rewriter: Rewriter

    def fragments(self, wanted: FragmentsRequest, principal: Principal = LOCAL) -> FragmentsAnswer:
        """The fragments of ``retrieve_fragments``, restricted to the request's domain and least score.

        Raises:
            UnknownDomain: there is no such domain, or none that the caller may ask.
            InvalidRequest, NotPermitted: the request.
            KnowledgeError: a leg that had to answer did not; never an empty answer instead.
        """
        query = asked(wanted.request, self.settings.rules)
        restrictions = restrictions_of(wanted.request.context)
        try:
            query, principal = self.bounded(query, restrictions, principal)
            query = self.rewriter.reworded(self._narrowed(query, wanted))
            answer = self.retriever.retrieve(query)
        except (InvalidRequest, NotPermitted):
            raise
        except KnowledgeError as error:
            self.recorded.failed(query, error, principal, wanted.door)
            raise
        answer = self.recorded.recorder.attested(query, answer, principal, door=wanted.door)
        given = fragments_of(answer, restrictions.names)
        found = tuple(f for f in given if f.retrieval_score >= wanted.least_score)
        too_low = f"all that was found scores below {wanted.least_score:g}" if answer.hits and not found else ""
        return FragmentsAnswer(
            fragments=found,
            degraded=answer.degraded,
            reason=too_low or answer.reason,
            searched=len(answer.scope.sources) if answer.scope else 0,
            stale_by=answer.stale_by,
            nearest=nearest_of(answer, restrictions.names),
        )

    def bounded(self, query: Query, wanted: Restrictions, principal: Principal) -> tuple[Query, Principal]:
        """A query within what the caller may see and the request's restrictions allow, and on whose behalf it is asked.

        Raises:
            NotFound: there is no such agent, or the caller may not ask for it.
            UnknownDomain: there is no such domain, or none that the caller may ask.
        """
        if wanted.agent_id:
            agent = self.searcher.agent_of(wanted.agent_id, principal)
            principal = principal if agent is None else replace(principal, agent_id=agent.agent_id)
        query = self.searcher.bounded(query, principal)
        return self._within(query, wanted.domain or EVERYTHING), principal

    def _within(self, query: Query, domain: str) -> Query:
        """A query of the sources of a domain alone."""
        sources = self.retriever.registry()
        names = set(sources.by_id if query.sources is None else query.sources)
        inside = {name for name in names if sources.by_id[name].domain == domain}
        if not inside and domain != EVERYTHING:
            known = {sources.by_id[name].domain for name in names}  # to an agent, others' domains are not there
            why = msg("there is no domain {domain}", domain=repr(domain[:64]))
            raise UnknownDomain(
                why + did_you_mean(domain, known),
                hint=msg("{everything} asks every domain", everything=repr(EVERYTHING)),
            )
        return replace(query, sources=tuple(sorted(inside))) if inside else query

    def _narrowed(self, query: Query, wanted: FragmentsRequest) -> Query:
        query = self._within(query, wanted.domain)
        if wanted.conditions is None:
            return query
        sources = self.retriever.registry()
        names = set(sources.by_id if query.sources is None else query.sources)
        held = self.fields.held(self.catalog.seq(), self.settings.search.deadline)
        day = query.as_of or date.today()
        seen = [s for n in sorted(names) if sources.in_force(n, day) for s in (sources.by_id[n],)]
        chosen = compiled(wanted.conditions, of_sources([s for s in seen if s.trust >= query.min_trust], held))
        return replace(query, filter=both(query.filter, chosen))


class Fields:
    """Filterable fields of each source's documents with their values; read again after a change of the catalog."""

    def __init__(self, catalog: Catalog) -> None:
        self._fields = PerChange(lambda _, deadline: catalog.field_values(deadline))

    def held(self, change: int, seconds: float) -> Mapping[str, Mapping[str, Sequence[Facet]]]:
        """The fields as of `change` or later; a `KnowledgeError` when reading takes longer than `seconds`."""
        return self._fields.at(change, deadline_after(seconds))


# Reading what was found: a document's own words, as far as its terms allow, to callers that may see its source.


MOST_CHARS = 50_000
"""Characters of one document that are given at once; of a longer one, those around what was asked for."""

_BEFORE = MOST_CHARS // 5
_PASSAGE = re.compile(r"([A-Za-z0-9_][A-Za-z0-9_.\-]{0,63})#([0-9]{1,18})")
_RULE = re.compile(r"([A-Za-z0-9_][A-Za-z0-9_.\-]{0,63})#rule-([0-9]{1,18})")
_DOCUMENT = re.compile(r"document-([0-9]{1,18})")


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetched:
    """The readable text of a document or a rule.

    Attributes:
        ref: The id under which it was asked for.
        text: Its words; ``""`` where its terms allow none.
        notice: What must be known beside the text: that it is cut, or withheld, and why. In Chinese and English.
    """

    ref: str
    uri: str
    title: str
    text: str
    notice: str = ""
    metadata: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedDocument:
    """A document in a list."""

    document_id: int
    source_id: str
    uri: str
    title: str
    trust: int
    ingested_at: float

    @property
    def ref(self) -> str:
        return f"document-{self.document_id}"


@dataclass(frozen=True, kw_only=True, eq=False)
class DocumentAccess:
    """Reads documents within what the caller may see."""

    catalog: Catalog
    recorder: AuditRecorder
    cited: CitedPlaces
    retriever: Retriever
    searcher: Searcher

    def fetch(self, ref: str, principal: Principal = LOCAL, *, door: str = "fetch") -> Fetched:
        """The text of a document around a passage, or a rule with its supporting clauses.

        Args:
            ref: ``source#42`` or ``source#rule-7`` as answers name them, or ``document-3``.

        Raises:
            NotFound: there is no such thing, or none that the caller may see; the two are told alike.
            KnowledgeError: the library cannot be read.
        """
        sources = self.readable_sources(principal)
        if match := _RULE.fullmatch(ref):
            found = self._rule(ref, int(match[2]), self.readable_rules(principal))
        elif match := _PASSAGE.fullmatch(ref):
            passage = self.catalog.passages([int(match[2])]).get(int(match[2]))
            if passage is None or passage.source_id != match[1]:
                raise _nothing(ref)
            found = self._document(ref, passage, sources)
        elif match := _DOCUMENT.fullmatch(ref):
            first = self.catalog.first_passage(int(match[1]))
            if first is None or first[1] not in sources:  # asked no further: what is another's takes no longer
                raise _nothing(ref)
            passage = self.catalog.passages([first[0]]).get(first[0])
            if passage is None:
                raise _nothing(ref)
            found = self._document(ref, passage, sources)
        else:
            raise _nothing(ref)
        audit_id = self.recorder.fetched(ref, found.uri, len(found.text), principal, door=door)
        return replace(found, metadata={**found.metadata, "audit_id": audit_id}) if audit_id else found

    def documents(
        self, principal: Principal = LOCAL, *, after: int = 0, limit: int = 100
    ) -> tuple[ListedDocument, ...]:
        """Documents that the caller may read today, oldest first, those with ids above `after`."""
        sources = self.readable_sources(principal)
        rows = self.catalog.documents_after(sorted(sources), after, limit, date.today())
        return tuple(ListedDocument(**row, trust=sources[row["source_id"]].trust) for row in rows)

    def readable_sources(self, principal: Principal = LOCAL) -> Mapping[str, Source]:
        """The sources that are in force and that the caller may see, by id."""
        registry = self.retriever.registry()
        allowed, day = self.searcher.allowed(principal), date.today()
        return {
            name: source
            for name, source in registry.by_id.items()
            if (allowed is None or name in allowed.trusted) and registry.in_force(name, day)
        }

    def readable_rules(self, principal: Principal = LOCAL) -> View:
        """The view of the rules graph that the caller has today."""
        allowed = self.searcher.allowed(principal)
        trusts = {name: source.trust for name, source in self.readable_sources(principal).items()}
        return View(trusts=trusts, day=date.today(), min_trust=1 if allowed is None else allowed.min_trust)

    def _document(self, ref: str, passage: Passage, sources: Mapping[str, Source]) -> Fetched:
        today = date.today()
        starts, ends = passage.effective_from or date.min, passage.effective_until or date.max
        if passage.source_id not in sources or not starts <= today <= ends:
            raise _nothing(ref)
        text, at, told_surely = _joined(self.catalog.document_passages(passage.document_id), passage)
        terms = parse_copyright(passage.copyright)
        begin, given, notice = _allowed(text, at, terms)
        surely = recognised(part_of_recognition(told_surely, begin, begin + len(given)), given)
        told = {
            "source_id": passage.source_id,
            "trust": passage.trust,
            "language": passage.language,
            "copyright": passage.copyright,
            "credit": terms.credit,
            "effective_from": passage.effective_from and passage.effective_from.isoformat(),
            "effective_until": passage.effective_until and passage.effective_until.isoformat(),
            "stale_since": self.retriever.stale().get(passage.source_id),
            "notice": notice,
        }
        return Fetched(
            ref=ref,
            uri=passage.uri,
            title=passage.title,
            text=given,
            notice=notice,
            metadata={name: value for name, value in told.items() if value} | surely,
        )

    def _rule(self, ref: str, statement_id: int, view: View) -> Fetched:
        try:
            held = self.catalog.rules.statement(statement_id)
        except NotFound as error:
            raise _nothing(ref) from error
        live = [one.evidence for one in held.seen(view)]
        if not live:
            raise _nothing(ref)
        nodes = self.catalog.rules.nodes(sorted({held.src, held.dst}), deadline=self.retriever.limit())
        ends = [nodes[end].name if end in nodes else key for end, key in ((held.src, held.statement.src), (held.dst, held.statement.dst))]  # fmt: skip
        schema = stored_schema(self.catalog.value(SCHEMAS))
        relation = " / ".join(dict.fromkeys(relation_labels(schema, held.statement.rel).values()))
        said = f"{ends[0]} — {relation} → {ends[1]}"
        cite = self.cited.now()
        quotes = [f"{e.clause} {e.quote}".strip() + f" <{cite(e)}>{_unverified(e)}" for e in live]
        conditions = dict.fromkeys(condition_labels(held.statement.condition, schema.parameters).values())
        condition = f"\n条件 condition: {' / '.join(conditions)}" if conditions else ""
        trusts = (view.support(e.source_id, e.trust) for e in live)
        metadata = {"strength": held.statement.strength, "trust": max(filter(None, trusts))}
        return Fetched(
            ref=ref, uri=cite(live[0]), title=said, text="\n".join((said + condition, *quotes)), metadata=metadata
        )


def _unverified(evidence: Evidence) -> str:
    return " (引文未核对 quote not verified)" if evidence.quote and not evidence.verified else ""


def _nothing(ref: str) -> NotFound:
    return NotFound(
        msg("there is nothing to read under {ref}", ref=repr(ref[:80])),
        hint="ids are those of search results; what a source elsewhere found is whole in the result itself",
    )


def _joined(
    pieces: Sequence[tuple[int, str, Recognition | None]], wanted: Passage
) -> tuple[str, int, Recognition | None]:
    """The text of a document joined from passages, the offset of the wanted one, and its recognition."""
    text, at = "", 0
    parts: list[tuple[int, int, Recognition | None]] = []
    for passage_id, piece, told in pieces:
        text += "\n" if text else ""
        at = len(text) if passage_id == wanted.passage_id else at
        parts.append((len(text), len(piece), told))
        text += piece
    return text, at, together(parts)


def _allowed(text: str, at: int, terms: Copyright) -> tuple[int, str, str]:
    """The permitted extract around an offset: its start, text, and the notice to show with it."""
    room = terms.room(len(text))
    if room == 0:
        return 0, "", "版权条款不允许摘录，仅给出标题与出处。Its terms allow no excerpt: title and address only."
    if room is not None and room < len(text):
        return at, allowed_part(text[at:], room), "按版权条款仅摘录部分原文。An excerpt: its terms allow no more."
    if len(text) > MOST_CHARS:
        start = max(0, min(at - _BEFORE, len(text) - MOST_CHARS))
        said = f"characters {start}-{start + MOST_CHARS} of {len(text)}"
        return (
            start,
            text[start : start + MOST_CHARS],
            f"原文较长，仅给出其中一段。A part of a long document: {said}.",
        )
    return 0, text, ""


def allowed_part(text: str, room: int) -> str:
    """The beginning of a text, at most `room` characters, cut at a sentence end where possible."""
    ends = [end for _, end in sentences(text, 0, min(len(text), room + 1)) if end <= room]
    return text[: max(ends, default=room)]
