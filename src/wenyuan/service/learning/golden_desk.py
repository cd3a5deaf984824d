"""Golden questions that are kept in the library: made of a question and the passage that answers it, and let go again."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from wenyuan.core.access import Principal
from wenyuan.core.errors import Fault, InvalidRequest, NotFound, listed, msg
from wenyuan.core.gaps import digest_of
from wenyuan.core.learning_records import GoldenQuestion
from wenyuan.service.audit.recorder import AuditRecorder
from wenyuan.service.governance import checked_log
from wenyuan.service.search.searcher import LOCAL

if TYPE_CHECKING:
    from wenyuan.catalog.catalog import Catalog
    from wenyuan.service.ingest.corrections import CorrectionDesk

MOST_CHARS = 8_000
"""Characters of a question."""
MOST_JUDGED = 1_000
"""Judgements that are looked at, the newest."""


@dataclass(frozen=True, kw_only=True, eq=False)
class GoldenDesk:
    """Keeps questions with the address of their answer; they are asked by `Evaluator.evaluate_kept`."""

    catalog: Catalog
    recorder: AuditRecorder
    passages: CorrectionDesk
    clock: Callable[[], float] = time.time

    def golden_questions(self) -> tuple[GoldenQuestion, ...]:
        """All of them, oldest first."""
        return self.catalog.golden_questions()

    def keep(self, question: str, answer: str, *, principal: Principal = LOCAL) -> GoldenQuestion:
        """Keep a question, redacted as questions are, in the place of one of equal words.

        Args:
            answer: The ref of a passage (``source_id#passage_id``), or the address of a document or passage; ``""``: the library must
                not answer it.

        Raises:
            InvalidRequest: the question is blank or too long.
            NotFound: there is no such passage or document.
        """
        text = " ".join(question.split())
        if not text or len(text) > MOST_CHARS:
            fault = Fault("question", msg("must have 1 to {most} characters", most=MOST_CHARS))
            raise InvalidRequest(listed([fault]), faults=(fault,))
        made = self._golden(text, self._address(answer), "said", principal)
        self.catalog.keep_golden_questions([made])
        return made

    def keep_liked(self, *, principal: Principal = LOCAL) -> tuple[tuple[GoldenQuestion, ...], int]:
        """Keep the questions of answers of which somebody called a passage right, where nobody called the same one wrong.

        Returns:
            What was kept, and how many judgements could not be used: the question is not kept, or the passage is gone.

        Raises:
            KnowledgeError: the audit is switched off.
        """
        log = checked_log(self.recorder.log)
        newest = sorted(self.catalog.feedback(), key=lambda one: one.at)[-MOST_JUDGED:]
        wrong = {(one.audit_id, one.ref) for one in newest if not one.good}
        made: dict[str, GoldenQuestion] = {}
        unusable = 0
        for one in newest:
            if not one.good or (one.audit_id, one.ref) in wrong:
                continue
            try:
                asked = log.show(one.audit_id).query or {}
                address = self._address(one.ref)
            except NotFound:
                unusable += 1
                continue
            if not asked.get("query"):
                unusable += 1
                continue
            golden = self._golden(str(asked["query"]), address, "liked", principal)
            made[golden.digest] = golden
        self.catalog.keep_golden_questions(list(made.values()))
        return tuple(made.values()), unusable

    def remove(self, digest: str) -> GoldenQuestion:
        """Forget a golden question; NotFound where there is none."""
        for one in self.catalog.golden_questions():
            if one.digest == digest:
                self.catalog.remove_golden_questions([digest])
                return one
        raise NotFound(msg("there is no golden question {digest}", digest=repr(digest[:64])))

    def _golden(self, question: str, address: str, origin: str, principal: Principal) -> GoldenQuestion:
        return GoldenQuestion(
            digest=digest_of(question), question=self.recorder.questions.text(question), answer=address,
            actor=principal.actor, origin=origin, at=self.clock(),
        )  # fmt: skip

    def _address(self, answer: str) -> str:
        if not answer or self.catalog.document_by_uri(answer.partition("#")[0]) is not None:
            return answer
        return str(self.passages.passage(answer).uri)
