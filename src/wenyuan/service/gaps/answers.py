"""Answers gaps on the spot: by an answer that somebody writes, a passage that has it, or a word that means the same."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import date
from typing import TYPE_CHECKING, Any

from wenyuan.core.access import ID, Principal
from wenyuan.core.arguments import checking_fields
from wenyuan.core.decisions import check_decision
from wenyuan.core.errors import Fault, InvalidRequest, KnowledgeError, NotFound, listed, msg
from wenyuan.core.gaps import ANSWERED, DAYS, GapDecision, KnowledgeGap, WrittenAnswer, digest_of
from wenyuan.core.model import Source
from wenyuan.core.principals import AccessList
from wenyuan.core.source_readers import READERS
from wenyuan.core.text.synonyms import parse_synonym
from wenyuan.service.gaps.finder import Gaps, digests_of, refused_field
from wenyuan.service.ingest.corrections import MOST_QUESTIONS, CorrectionDesk, CorrectionRequest
from wenyuan.service.search.searcher import LOCAL
from wenyuan.service.uploads import Given, Uploads

if TYPE_CHECKING:
    from wenyuan.catalog.catalog import Catalog

MOST_ANSWER = 20_000
"""Characters of an answer."""
MOST_AUTHOR = 100
MOST_TRUST = 5
HOME = "answers"
"""The source of answers to questions near which nothing lies; others lie in one beside the nearest source, ``answers-ID``."""
_LONGEST_ID = 64


@checking_fields
@dataclass(frozen=True, slots=True, kw_only=True)
class GapAnswerRequest:
    """An answer that somebody writes for a gap.

    Attributes:
        beside: The source whose domain, sensitivity and owner the answer has; "": that of what lies nearest, else one that the
            agent reads which asked.
        trust: From 1 to 5; None: that of the source beside which it lies.
        author: Who answers for it; "": who asks for this.
        review_on: The day on which somebody should look at it again.
        access: Who may read it, as of an upload; None: it is not said.
        decided_at, again: See `Gaps.decide`.

    Raises:
        InvalidRequest: on construction, listing every fault.
    """

    answer: str
    beside: str = ""
    trust: int | None = None
    author: str = ""
    review_on: date | None = None
    access: AccessList | None = None
    days: float = DAYS
    decided_at: float | None = None
    again: bool = False

    def __post_init__(self) -> None:
        faults = [] if self.answer.strip() else [Fault("answer", "is required")]
        for name, most in (("answer", MOST_ANSWER), ("author", MOST_AUTHOR)):
            if len(getattr(self, name)) > most:
                faults.append(Fault(name, msg("must have at most {max_length} characters", max_length=most)))
        if not self.author.isprintable():
            faults.append(Fault("author", "must hold no control characters"))
        if self.trust is not None and not 1 <= self.trust <= MOST_TRUST:
            faults.append(Fault("trust", msg("must be from 1 to {max_results}", max_results=MOST_TRUST)))
        if faults:
            raise InvalidRequest(listed(faults), faults=tuple(faults))


@dataclass(frozen=True, slots=True, kw_only=True)
class GapSettlement:
    """What came of answering a gap.

    Attributes:
        gap: With what answers it now as its `closing`; without one, those who asked are not answered by it.
        source_id, uri: Where the answer stands; "" for a synonym.
        why: Where it does not answer the gap: what may keep it from those who asked; "" where nothing is known of that.
    """

    gap: KnowledgeGap
    source_id: str = ""
    uri: str = ""
    why: str = ""

    def described(self) -> dict[str, Any]:
        """As JSON has it."""
        return {
            "gap": self.gap.described(), "closed": self.gap.closing is not None, "source_id": self.source_id,
            "uri": self.uri, "why": self.why,
        }  # fmt: skip


@dataclass(frozen=True, kw_only=True, eq=False)
class GapAnswers:
    """Settles gaps by what answers them, and asks them again at once."""

    catalog: Catalog
    gaps: Gaps
    uploads: Uploads
    corrections: CorrectionDesk

    def answer(self, gap_id: str, wanted: GapAnswerRequest, *, principal: Principal = LOCAL) -> GapSettlement:
        """Write an answer into a source of the library's own, which is made when it is first needed, and ask again.

        Raises:
            Conflict: somebody else has answered or decided meanwhile, which the caller has not seen.
            InvalidRequest: the day of review is over, or there is no such source to put it beside.
            NotFound: there is no such gap.
            KnowledgeError: it could not be stored; then the gap is as it was.
        """
        if wanted.review_on is not None and wanted.review_on <= date.today():
            raise refused_field("review_on", "must be a day that is to come")
        gap = self._gap(gap_id, wanted.days, wanted.decided_at, again=wanted.again, principal=principal)
        source = self._home(gap, wanted)
        author = " ".join(wanted.author.split()) or principal.actor

        def write() -> str:
            if source.source_id not in {one.source_id for one in self.catalog.sources()}:
                self.catalog.put_source(source)
            return self._written(source, gap, wanted, author)

        uri = self._claimed(gap, wanted.decided_at, wanted.again, principal, write)
        self.catalog.keep_written_answer(
            WrittenAnswer(
                digest=gap.gap_id, question=self._as_stored(uri, gap.question), source_id=source.source_id, uri=uri,
                author=author, at=self.gaps.clock(), review_on=wanted.review_on,
            )
        )  # fmt: skip
        return self._settled(gap, wanted.days, source.source_id, uri, principal)

    def point_out(
        self,
        gap_id: str,
        ref: str,
        *,
        days: float = DAYS,
        decided_at: float | None = None,
        again: bool = False,
        principal: Principal = LOCAL,
    ) -> GapSettlement:
        """Say which passage has the answer: it is found by the gap's wordings from now on; and ask again.

        Raises:
            Conflict, NotFound, KnowledgeError: as `answer`; or there is no such passage.
        """
        gap = self._gap(gap_id, days, decided_at, again=again, principal=principal)
        wanted = CorrectionRequest(
            action="questions", ref=ref, questions=tuple(dict.fromkeys((gap.question, *gap.wordings)))[:MOST_QUESTIONS],
            reason=msg("asked and not found: gap {gap_id}", gap_id=gap.gap_id),
        )  # fmt: skip
        passage = self.corrections.passage(ref)

        def write() -> str:
            self.corrections.correct(wanted, principal.actor)
            return str(passage.uri)

        uri = self._claimed(gap, decided_at, again, principal, write)
        return self._settled(gap, days, passage.source_id, uri, principal)

    def add_synonym(
        self,
        gap_id: str,
        term: str,
        synonym: str,
        *,
        days: float = DAYS,
        decided_at: float | None = None,
        again: bool = False,
        principal: Principal = LOCAL,
    ) -> GapSettlement:
        """Say what documents say for a word of the gap, both ways round, for all questions; and ask again.

        Raises:
            Conflict, NotFound: as `answer`.
            InvalidRequest: the words are none that can be synonyms, or the term stands in none of the wordings.
        """
        gap = self._gap(gap_id, days, decided_at, again=again, principal=principal)
        plain = " ".join(term.split()).casefold()
        if not plain or not any(plain in " ".join(text.split()).casefold() for text in gap.wordings):
            raise refused_field("term", "must stand in the question")
        entry = parse_synonym({"term": term, "synonym": synonym})

        def write() -> str:
            self.catalog.put_synonyms([entry], principal.actor)
            return ""

        self._claimed(gap, decided_at, again, principal, write)
        return self._settled(gap, days, "", "", principal)

    def _gap(
        self, gap_id: str, days: float, decided_at: float | None, *, again: bool, principal: Principal
    ) -> KnowledgeGap:
        """The gap; Conflict where somebody has answered it meanwhile, so that there is none any more."""
        try:
            return self.gaps.gap(gap_id, days=days, principal=principal)
        except NotFound:
            there = self.catalog.gap_decisions().get(gap_id)
            if there is not None and there.state == ANSWERED and principal.may("audit"):
                _check_claim(there, decided_at, again=False)
            raise

    def _claimed(
        self, gap: KnowledgeGap, decided_at: float | None, again: bool, principal: Principal, write: Callable[[], str]
    ) -> str:
        """What `write` returns, while the gap is this caller's; where it fails, the gap is as it was.

        A decision that the caller made before he came back to the gap, which is open all the same, is no obstacle.
        """
        before = self.catalog.gap_decisions().get(gap.gap_id)

        def own(found: GapDecision) -> bool:
            return found.actor == principal.actor and gap.decision is not None and found.at == gap.decision.at

        def check(found: GapDecision | None) -> None:
            if found is not None and found.counts(date.today()) and not own(found):
                _check_claim(found, decided_at, again=again)

        digests = digests_of(gap)
        self.catalog.decide_gap(digests, ANSWERED, "", principal.actor, check)
        try:
            return write()
        except BaseException:
            state = "open" if before is None else before.state
            note, actor, until = (
                ("", principal.actor, None) if before is None else (before.note, before.actor, before.until)
            )
            self.catalog.decide_gap(digests, state, note, actor, until=until)
            raise

    def _settled(
        self, gap: KnowledgeGap, days: float, source_id: str, uri: str, principal: Principal
    ) -> GapSettlement:
        decided = replace(gap, decision=self.catalog.gap_decisions().get(gap.gap_id))
        closed = self.gaps.ask_again(days=days, gap=decided, principal=principal)
        if closed:
            return GapSettlement(gap=closed[0], source_id=source_id, uri=uri)
        return GapSettlement(gap=decided, source_id=source_id, uri=uri, why=self._why(gap, source_id))

    def _why(self, gap: KnowledgeGap, source_id: str) -> str:
        """What keeps an answer from those who asked, as far as that is known."""
        found = {source.source_id: source for source in self.catalog.sources()}.get(source_id)
        agents = {agent.agent_id: agent for agent in self.catalog.agents()}
        if found is None:
            return ""
        outside = [
            name
            for name in gap.agents
            if name in agents and found.domain not in {scope.domain for scope in agents[name].knowledge_scope}
        ]
        if outside:
            return msg(
                "the domain {domain} of {source_id} is not in the scope of {agents}",
                domain=found.domain, source_id=source_id, agents=", ".join(outside),
            )  # fmt: skip
        if any(found.trust < agents[name].min_trust for name in gap.agents if name in agents):
            return msg(
                "the trust {trust} of {source_id} is less than was asked for", trust=found.trust, source_id=source_id
            )
        return ""

    def _home(self, gap: KnowledgeGap, wanted: GapAnswerRequest) -> Source:
        """The source of the answer: as the one beside which it lies, with the trust that was given."""
        registered = {source.source_id: source for source in self.catalog.sources()}
        if wanted.beside and wanted.beside not in registered:
            raise refused_field("beside", msg("there is no source {source}", source=wanted.beside))
        beside = registered.get(wanted.beside or gap.source_id) or self._of_agent(gap, registered)
        if beside is None:
            name, like = HOME, Source(source_id=HOME, title=HOME)
        elif beside.source_id == HOME or beside.source_id.startswith(f"{HOME}-"):
            name, like = beside.source_id, beside
        else:
            name, like = f"{HOME}-{beside.source_id}", beside
        trust = like.trust if wanted.trust is None else wanted.trust
        if name in registered and registered[name].trust == trust:
            return registered[name]
        if trust != like.trust:
            name = f"{name}.trust{trust}"
        if len(name) > _LONGEST_ID or ID.fullmatch(name) is None:
            name = f"{HOME}-{hashlib.sha256(name.encode()).hexdigest()[:16]}.trust{trust}"
        enforced = like.settings.get(READERS)
        settings = {READERS: {"enforce": True}} if isinstance(enforced, Mapping) and enforced.get("enforce") else {}
        return registered.get(name) or Source(
            source_id=name, domain=like.domain, trust=trust, language=like.language, owner=like.owner,
            sensitivity=like.sensitivity, tags=(HOME,), settings=settings,
        )  # fmt: skip

    def _of_agent(self, gap: KnowledgeGap, registered: Mapping[str, Source]) -> Source | None:
        """A source that an agent reads which asked; None where no agent did, or its domains hold none."""
        domains = [
            scope.domain
            for agent in self.catalog.agents()
            if agent.agent_id in gap.agents
            for scope in agent.knowledge_scope
        ]
        own = [
            source for source in registered.values() if source.type == "static_doc" and source.status == "in_force"
        ]
        return next((source for domain in domains for source in own if source.domain == domain), None)

    def _written(self, source: Source, gap: KnowledgeGap, wanted: GapAnswerRequest, author: str) -> str:
        """Store the answer as a document of question and answer; returns its address."""
        said: dict[str, Any] = {
            "id": gap.gap_id, "question": " ".join(gap.question.split()), "answer": wanted.answer.strip(),
            "metadata": {"author": author},
        }  # fmt: skip
        if wanted.review_on is not None:
            said["metadata"]["review_on"] = wanted.review_on.isoformat()
        with self.uploads.incoming() as folder:
            file = folder / "answer"
            file.write_text(json.dumps(said, ensure_ascii=False) + "\n", "utf-8")
            report = self.uploads.upload(
                source.source_id, [Given(name=f"{gap.gap_id}.jsonl", path=file, access=wanted.access)]
            )
        (taken,) = report.files
        if taken.state == "failed":
            raise KnowledgeError(msg("the answer cannot be read: {reason}", reason=taken.reason), component="gaps")
        uri, passages = self._place(taken.documents)
        others = [text for text in gap.wordings if digest_of(text) != digest_of(gap.question)]
        if passages and others:
            ref = f"{source.source_id}#{passages[0]}"
            self.corrections.correct(
                CorrectionRequest(action="questions", ref=ref, questions=tuple(others[:MOST_QUESTIONS])), author
            )
        return uri

    def _place(self, documents: tuple[int, ...]) -> tuple[str, list[int]]:
        for number in documents:
            held = self.catalog.held_document(number, date.today())
            if held is not None:
                return held.uri, [row[0] for row in self.catalog.document_passages(number)]
        return "", []

    def _as_stored(self, uri: str, question: str) -> str:
        """The question as its document has it, redacted as that is; as it was asked where there is none."""
        found = self.catalog.document_by_uri(uri) if uri else None
        return question if found is None else str(found[2])


def _check_claim(found: GapDecision, decided_at: float | None, *, again: bool) -> None:
    """Conflict where there is a decision that the caller has not seen; two who answer never say the same."""
    if not again:
        check_decision(found, ANSWERED, "\0", decided_at)
