"""Making, listing and undoing corrections of documents."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field

from wenyuan.contract.fields import CLOSED, MAX_INTEGER, Text
from wenyuan.core.arguments import checking_fields
from wenyuan.core.corrections import Correction, CorrectionAction, corrected
from wenyuan.core.errors import CatalogBusy, Conflict, Fault, InvalidRequest, NotFound, VectorsGone, listed, msg
from wenyuan.core.model import NewPassage
from wenyuan.service.ingest.embedding import Embedding
from wenyuan.service.ingest.ingester import Ingester
from wenyuan.service.ingest.ingestion import Ingestion
from wenyuan.service.operations.freshness import iso_time

if TYPE_CHECKING:
    from wenyuan.catalog.corrections import CorrectedDocument, KeptCorrection

MOST_QUESTIONS = 20
MOST_QUESTION_CHARS = 500
MOST_TEXT_CHARS = 20_000
MOST_HEADING_CHARS = 500
MOST_REASON_CHARS = 2_000
_Positive = Annotated[int, Field(strict=True, ge=1, le=MAX_INTEGER)]
LOCAL_ACTOR = "local"
_TRIES = 5  # while others change what a correction rests on
_PASSAGE = re.compile(r"([A-Za-z0-9_][A-Za-z0-9_.\-]{0,63})#([0-9]{1,18})")


@checking_fields
@dataclass(frozen=True, slots=True, kw_only=True)
class CorrectionRequest:
    """What is to be corrected: a passage, or, to be excluded, a document.

    Raises:
        InvalidRequest: on construction, listing every fault.
    """

    __pydantic_config__ = CLOSED

    action: CorrectionAction
    ref: Annotated[
        Annotated[Text, Field(min_length=1, max_length=100)] | None, Field(description="`policies#12`")
    ] = None
    document_id: _Positive | None = None
    text: Annotated[
        Text,
        Field(
            max_length=MOST_TEXT_CHARS,
            description="Of `text`: what it reads now. Of `heading`: how the heading reads, nothing where it is none.",
        ),
    ] = ""
    questions: Annotated[
        tuple[Annotated[Text, Field(min_length=1, max_length=MOST_QUESTION_CHARS)], ...],
        Field(max_length=MOST_QUESTIONS, description="Of `questions`: what else it answers."),
    ] = field(default_factory=tuple)
    at: Annotated[
        _Positive | None, Field(description="Of `split`: the offset in its text where the second part begins.")
    ] = None
    joined_with: Annotated[
        Text,
        Field(max_length=100, alias="with", description="Of `join`: the ref of the passage right behind it."),
    ] = ""
    heading: Annotated[
        Text,
        Field(
            max_length=MOST_TEXT_CHARS,
            description="Of `heading`: which of the passage's headings; without, the one right above it.",
        ),
    ] = ""
    reason: Annotated[Text, Field(max_length=MOST_REASON_CHARS)] = ""

    def __post_init__(self) -> None:
        faults = [Fault(name, msg(said, most=most)) for name, said, most in self._wrong()]
        if faults:
            raise InvalidRequest(listed(faults), faults=tuple(faults))

    def _wrong(self) -> Sequence[tuple[str, str, int]]:
        wrong: list[tuple[str, str, int]] = []
        if bool(self.ref) == (self.document_id is not None):
            wrong.append(("ref", "is required, or document_id; not both", 0))
        elif self.document_id is not None and self.action != "exclude":
            wrong.append(("document_id", "a whole document can only be excluded; name a passage by ref", 0))
        needed = {"text": self.text.strip(), "questions": self.questions, "split": self.at, "join": self.joined_with}
        names = {"text": "text", "questions": "questions", "split": "at", "join": "with"}
        for action, value in needed.items():
            if action == self.action and not value:
                wrong.append((names[action], "is required for this action", 0))
            elif (
                action != self.action and value not in ("", (), None) and (action, self.action) != ("text", "heading")
            ):
                wrong.append((names[action], "has no meaning for this action", 0))
        if self.heading and self.action != "heading":
            wrong.append(("heading", "has no meaning for this action", 0))
        return [*wrong, *self._too_long()]

    def _too_long(self) -> Sequence[tuple[str, str, int]]:
        wrong: list[tuple[str, str, int]] = []
        most = MOST_HEADING_CHARS if self.action == "heading" else MOST_TEXT_CHARS
        if len(self.text) > most:
            wrong.append(("text", "must have at most {most} characters", most))
        if len(self.questions) > MOST_QUESTIONS:
            wrong.append(("questions", "must be at most {most}", MOST_QUESTIONS))
        if not all(one.strip() and len(one) <= MOST_QUESTION_CHARS for one in self.questions):
            wrong.append(("questions", "each must have 1 to {most} characters", MOST_QUESTION_CHARS))
        if len(self.reason) > MOST_REASON_CHARS:
            wrong.append(("reason", "must have at most {most} characters", MOST_REASON_CHARS))
        return wrong


@dataclass(frozen=True, kw_only=True, eq=False)
class CorrectionDesk:
    """Makes and undoes corrections, also while their source is taken in.

    What they need is read and embedded first; they are stored where nothing of that has changed meanwhile.
    """

    ingestion: Ingestion

    @property
    def ingester(self) -> Ingester:
        return self.ingestion.ingester

    def correct(self, wanted: CorrectionRequest, actor: str = LOCAL_ACTOR) -> dict[str, Any]:
        """Make a correction; it takes effect with the next query.

        Raises:
            NotFound: the passage or document is not there (any more).
            InvalidRequest: it cannot be corrected so.
            KnowledgeError: nothing was stored; or it was, and the index is behind.
        """
        self.ingestion.check_may_write()
        catalog = self.ingester.catalog
        source_id, document_id, passage_id = self._meant(wanted)
        number: int | None = None
        for _ in range(_TRIES):
            document = catalog.cut_document(document_id)
            if document is None:
                raise _missing_passage(wanted.ref or f"document-{document_id}")
            self._check_redacted(source_id)
            correction = self._correction(wanted, passage_id, document, actor)
            before = self._counting(document)
            if correction.action == "exclude" and not correction.old and any(not one.old for one in before):
                raise InvalidRequest("the document is excluded already", hint="wenyuan corrections")
            if correction.correction_id in corrected(document.passages, (*before, correction)).lost:
                raise _missing_passage(wanted.ref or "")
            reason = self._redacted(source_id)(wanted.reason.strip())
            number = self._stored(document, before, made=(correction, reason))
            if number is not None:
                break
        if number is None:
            raise _busy(source_id)
        self._followed(source_id)
        kept = catalog.correction(number)
        self._audited("made", kept, actor)
        return self._described(kept)

    def undo(self, correction_id: int, actor: str = LOCAL_ACTOR) -> dict[str, Any]:
        """Undo a correction; the former content is served again.

        Raises:
            NotFound: there is no such correction.
            Conflict: it is undone already, or a later one rests on it.
        """
        self.ingestion.check_may_write()
        catalog = self.ingester.catalog
        kept = catalog.correction(correction_id)
        if not any(self._undone(kept, actor) for _ in range(_TRIES)):
            raise _busy(kept.source_id)
        kept = catalog.correction(correction_id)
        self._audited("undone", kept, actor)
        return self._described(kept)

    def _undone(self, kept: KeptCorrection, actor: str) -> bool:
        """Undo a correction; False where the document changed meanwhile."""
        catalog, correction_id = self.ingester.catalog, kept.correction.correction_id
        with catalog.writing():
            if catalog.correction(correction_id).undone_at is not None:
                raise Conflict(msg("correction {number} is undone already", number=correction_id))
            number = self._number(kept)
            document = None if number is None else catalog.cut_document(number)
            if document is None:
                catalog.end_correction(correction_id, kept.source_id, actor)
                return True
        before = self._counting(document)
        others = tuple(one for one in before if one.correction_id != correction_id)
        held = corrected(document.passages, before).lost
        resting = [one for one in corrected(document.passages, others).lost if one not in held]
        if resting:
            raise Conflict(
                msg("correction {number} rests on it", number=resting[-1]),
                hint=msg("undo that one first: wenyuan undo {number}", number=resting[-1]),
            )
        if self._stored(document, others, undone=(correction_id, actor)) is None:
            return False
        self._followed(kept.source_id)
        return True

    def corrections(
        self,
        *,
        document_id: int | None = None,
        source: str | None = None,
        before: int | None = None,
        limit: int = 50,
    ) -> list[dict[str, Any]]:
        """Corrections of a document, a source or all, newest first, including undone ones.

        Raises:
            NotFound: there is no such document.
        """
        catalog, uri = self.ingester.catalog, None
        if document_id is not None:
            held = catalog.held_document(document_id, date.today())
            if held is None or source not in (None, held.source_id):
                raise _missing_passage(f"document-{document_id}")
            source, uri = held.source_id, held.uri
        return [
            self._described(one) for one in catalog.corrections(source_id=source, uri=uri, before=before, limit=limit)
        ]

    def _meant(self, wanted: CorrectionRequest) -> tuple[str, int, int]:
        """Source, document id and passage id (0 for the whole document) of a request."""
        catalog = self.ingester.catalog
        if wanted.document_id is not None:
            held = catalog.held_document(wanted.document_id, date.today())
            if held is None:
                raise _missing_passage(f"document-{wanted.document_id}")
            return held.source_id, held.document_id, 0
        passage = self.passage(wanted.ref or "")
        return passage.source_id, passage.document_id, passage.passage_id

    def passage(self, ref: str) -> Any:
        """The passage of a ref; NotFound where there is none."""
        match = _PASSAGE.fullmatch(ref)
        found = self.ingester.catalog.passages([int(match[2])]).get(int(match[2])) if match else None
        if match is None or found is None or found.source_id != match[1]:
            raise _missing_passage(ref)
        return found

    def _correction(
        self, wanted: CorrectionRequest, passage_id: int, document: CorrectedDocument, actor: str
    ) -> Correction:
        if not passage_id:
            return Correction(action="exclude", actor=actor, old="")
        passage, redacted = self.passage(wanted.ref or ""), self._redacted(document.source_id)
        made = Correction(action=wanted.action, actor=actor, old=passage.text, start=passage.start)
        if wanted.action == "text":
            new = redacted(wanted.text.strip())
            if new == passage.text:
                raise InvalidRequest("that is its text already")
            return replace(made, new=new)
        if wanted.action == "heading":
            return self._heading(wanted, passage, actor, redacted(" ".join(wanted.text.split())))
        if wanted.action == "questions":
            return replace(made, questions=tuple(dict.fromkeys(redacted(one.strip()) for one in wanted.questions)))
        if wanted.action == "split":
            at = wanted.at or 0
            if not passage.text[:at].strip() or not passage.text[at:].strip():
                said = msg("must leave words on both sides: from 1 to {most}", most=len(passage.text) - 1)
                raise _refused("at", said)
            return replace(made, at=at)
        if wanted.action == "join":
            return replace(made, following=self._behind(passage, wanted.joined_with).text)
        return made

    @staticmethod
    def _heading(wanted: CorrectionRequest, passage: Any, actor: str, new: str) -> Correction:
        """A correction of a heading of a passage, which counts wherever the heading stands."""
        if not passage.headings:
            raise _refused("ref", msg("no heading stands over {ref}", ref=passage.ref))
        old = wanted.heading or passage.headings[-1]
        if old not in passage.headings:
            raise _refused(
                "heading", msg("is none of the headings over it: {headings}", headings=" > ".join(passage.headings))
            )
        if old == new:
            raise InvalidRequest("that is its text already")
        return Correction(action="heading", actor=actor, old=old, start=passage.start, new=new)

    def _behind(self, passage: Any, ref: str) -> Any:
        """The passage of a ref, which must directly follow the given one."""
        other = self.passage(ref)
        found, _ = self.ingester.catalog.passages_of_document(passage.document_id, after=passage.passage_id, limit=1)
        if [one.passage_id for one in found] != [other.passage_id]:
            said = msg("must be the passage right behind {ref}", ref=passage.ref)
            raise _refused("with", said)
        return other

    def _counting(self, document: CorrectedDocument) -> tuple[Correction, ...]:
        return self.ingester.catalog.counting_corrections(document.source_id, document.uri).get(document.uri, ())

    def _check_redacted(self, source_id: str) -> None:
        """Conflict where the document may hold what must no longer be stored: a correction would keep its words."""
        if self.ingester.behind(self.ingester.catalog.source(source_id)):
            raise Conflict(
                msg(
                    "source {source_id} is to be read again first: its redaction became stricter", source_id=source_id
                ),
                hint=msg("wenyuan refresh {source_id}", source_id=source_id),
            )

    def _stored(
        self,
        document: CorrectedDocument,
        counting: tuple[Correction, ...],
        *,
        made: tuple[Correction, str] | None = None,
        undone: tuple[int, str] | None = None,
    ) -> int | None:
        """Store a correction, or undo one; returns its id, and None where the document or its corrections are not
        any more what they were when this was prepared.

        Args:
            counting: The corrections that stay.
        """
        catalog = self.ingester.catalog
        embedding = Embedding(self.ingester.catalog, self.ingester.encoder)

        def served(number: int) -> tuple[Sequence[NewPassage], Sequence[int]]:
            new = () if made is None else (replace(made[0], correction_id=number),)
            passages, lost = corrected(document.passages, (*counting, *new))
            # What a model said of a passage was said of the words that it had; the next reading asks anew.
            own = [one if one.corrected is None else replace(one, context=None) for one in passages]
            return [embedding.keyed(one, document.title, document.lead) for one in own], lost

        served(0)
        vectors = embedding.vectors()  # without the lock: an encoder may be slow
        gone = undone[0] if undone else 0
        with catalog.writing():
            now = tuple(one for one in self._counting(document) if one.correction_id != gone)
            if now != counting or catalog.cut_document(document.document_id) != document:
                return None
            try:
                return catalog.correct(document, served, vectors, made=made, undone=undone)
            except VectorsGone:  # another source had the same texts, and was removed meanwhile
                return None

    def _followed(self, source_id: str) -> None:
        self.ingester.follow_soon()
        if self.ingester.recheck_quotes(source_id).evidences:
            self.ingester.follow_soon()

    def _redacted(self, source_id: str) -> Any:
        """The redaction of the source, for texts that people enter."""
        return self.ingester.redacting(self.ingester.catalog.source(source_id)).text

    def _audited(self, action: str, kept: KeptCorrection, actor: str) -> None:
        """Record a correction without its texts: these are only in the catalog, where they can be erased."""
        told = {"action": kept.correction.action, "source_id": kept.source_id, "uri": kept.uri, "actor": actor}
        self.ingester.catalog.database.on_change("correction", action, str(kept.correction.correction_id), None, told)

    def _number(self, kept: KeptCorrection) -> int | None:
        """The id of the live document that was corrected; None without one."""
        found = self.ingester.catalog.document_by_uri(kept.uri, [kept.source_id])
        return None if found is None else found[0]

    def _described(self, kept: KeptCorrection) -> dict[str, Any]:
        one = kept.correction
        return {
            "correction_id": one.correction_id,
            "action": one.action,
            "source_id": kept.source_id,
            "uri": kept.uri,
            "document_id": self._number(kept),
            "original": one.old,
            **({"text": one.new} if one.action in ("text", "heading") else {}),
            **({"questions": list(one.questions)} if one.action == "questions" else {}),
            **({"at": one.at} if one.action == "split" else {}),
            **({"with": one.following} if one.action == "join" else {}),
            "reason": kept.reason,
            "actor": one.actor,
            "made_at": iso_time(kept.at),
            "state": "undone" if kept.undone_at is not None else "lost" if kept.lost else "counts",
            "undone_by": kept.undone_by or None,
            "undone_at": None if kept.undone_at is None else iso_time(kept.undone_at),
        }


def _busy(source_id: str) -> CatalogBusy:
    return CatalogBusy(
        msg("the documents of source {source_id} are corrected while they are read", source_id=repr(source_id)),
        component="catalog",
        hint="try again",
    )


def _refused(where: str, why: str) -> InvalidRequest:
    faults = (Fault(where, why),)
    return InvalidRequest(listed(faults), faults=faults)


def _missing_passage(ref: str) -> NotFound:
    return NotFound(
        msg("there is no passage or document {ref}, or no longer", ref=repr(ref[:80])),
        hint="its number changes when it is read again or corrected: wenyuan document show NUMBER --passages",
    )
