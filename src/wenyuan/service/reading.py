"""Reading what was found: a document's own words, as far as its terms allow, to callers that may see its source."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from typing import TYPE_CHECKING, Any

from wenyuan.core.access import Principal
from wenyuan.core.errors import NotFound, msg
from wenyuan.core.fidelity import Recognition, together
from wenyuan.core.fidelity import part_of as part_of_recognition
from wenyuan.core.model import Passage, Source
from wenyuan.core.rules.graph import View
from wenyuan.core.rules.labels import condition_labels, relation_labels
from wenyuan.core.rules.model import Evidence
from wenyuan.core.terms_of_use import Copyright, parse_copyright
from wenyuan.core.text.boundaries import sentences
from wenyuan.service.audit.recorder import AuditRecorder
from wenyuan.service.fragments import about_passage, recognised, stale_time
from wenyuan.service.rules.cited_places import CitedPlaces
from wenyuan.service.rules.schemas import SCHEMAS, stored_schema
from wenyuan.service.search.retriever import Retriever
from wenyuan.service.search.searcher import LOCAL, Searcher

if TYPE_CHECKING:
    from wenyuan.catalog.catalog import Catalog


MOST_CHARS = 50_000
"""Characters of one document that are given at once; of a longer one, those around what was asked for."""

NO_EXCERPT = "版权条款不允许摘录，仅给出标题与出处。Its terms allow no excerpt: title and address only."
EXCERPT = "按版权条款仅摘录部分原文。An excerpt: its terms allow no more."
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
            number, passage = int(match[2]), None
            if self.catalog.source_of_passage(number) in sources.keys() & {match[1]}:  # else nothing is read of it
                passage = self.catalog.passages([number]).get(number)
            if passage is None:
                raise _nothing(ref)
            found = self._document(ref, passage, sources)
        elif match := _DOCUMENT.fullmatch(ref):
            number, first = int(match[1]), None
            if self.catalog.source_of_document(number) in sources:  # else nothing is read of it
                first = self.catalog.first_passage(number)
            passage = None if first is None else self.catalog.passages([first[0]]).get(first[0])
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
        least = 1 if allowed is None else allowed.min_trust
        return View(trusts=trusts, day=date.today(), min_trust=least, hidden=self.catalog.hidden())

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
            **about_passage(passage, "source_id", "trust", "language", "copyright"),
            "credit": terms.credit,
            **about_passage(passage, "effective_from", "effective_until"),
            "stale_since": stale_time(passage, self.retriever.stale()),
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
            held = self.catalog.rules.statement(statement_id, view)
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
        trusts = (view.support(e.source_id, e.uri, e.trust) for e in live)
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
        return 0, "", NO_EXCERPT
    if room is not None and room < len(text):
        return at, allowed_part(text[at:], room), EXCERPT
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
