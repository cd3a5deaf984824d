"""Recorded questions, asked again: whether they are answered as they were."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from wenyuan.core.access import Principal
from wenyuan.core.errors import InvalidRequest, NotPermitted, msg
from wenyuan.core.ports import Engine
from wenyuan.core.principals import reading_as
from wenyuan.service.audit.recorder import AuditRecorder
from wenyuan.service.audit.replay import fates_within
from wenyuan.service.audit.rerun import Difference, Replay
from wenyuan.service.generation.answering import Answerer
from wenyuan.service.search.retriever import Retriever
from wenyuan.service.search.searcher import LOCAL, Searcher
from wenyuan.service.search.source_selection import Allowed
from wenyuan.service.search.sufficiency import Sufficiency
from wenyuan.service.verification import Verifier

if TYPE_CHECKING:
    from wenyuan.catalog.catalog import Catalog


@dataclass(frozen=True, kw_only=True, eq=False)
class Replays:
    """Asks audited questions again, each by what answered it: a search, a model's answer or a verification.

    Attributes:
        empty_engine: Makes the index in which the library as it was is searched.
    """

    catalog: Catalog
    recorder: AuditRecorder
    retriever: Retriever
    searcher: Searcher
    answerer: Answerer
    verifier: Verifier
    sufficiency: Sufficiency
    empty_engine: Callable[[], Engine]

    def replay(self, audit_id: str, *, exact: bool = False, principal: Principal = LOCAL) -> Replay:
        """Ask an audited question again, of the library as it is, or (`exact`) as it was; for an agent, in its scope now.

        Raises:
            NotFound: there is no such record.
            InvalidRequest: `exact`, and the record is of no retrieval.
            NotPermitted: documents are hidden from the caller.
            KnowledgeError: the audit is off, or the question cannot be asked again, as the names of who asked are not known.
        """
        if self.catalog.hidden() is not None:
            raise NotPermitted("documents are hidden from the caller: what was answered from them is not asked again")
        if self.recorder.log is not None and (erased := self.recorder.log.show(audit_id).erasure):
            detail = msg(
                "the record was erased ({erasure}): what was asked and answered is not known any more", erasure=erased
            )
            return Replay(
                identical=False, differences=(Difference(what="record erased", detail=detail),), asked=False
            )
        allowed = self.searcher.allowed(principal)
        with reading_as(self.recorder.sight_of(audit_id)):
            return self._replayed(audit_id, allowed, exact=exact, principal=principal)

    def _replayed(self, audit_id: str, allowed: Allowed | None, *, exact: bool, principal: Principal) -> Replay:
        if self.recorder.log is not None:
            self.recorder.log.flush()
            kept = self.recorder.log.show(audit_id)
            if exact and kept.kind != "retrieval":
                raise InvalidRequest("only a retrieval can be replayed on the library as it was")
            fate = fates_within(self.catalog.passage_fate, None if allowed is None else allowed.trusted)
            if kept.kind == "answer":
                return self.answerer.replayed(kept, fate, principal)
            if kept.kind == "verification":
                return self.verifier.replayed(kept, fate, principal)
        return self.recorder.replay(
            audit_id, self.retriever, self.catalog, self.empty_engine, allowed, exact=exact,
            sufficiency=self.sufficiency,
        )  # fmt: skip
