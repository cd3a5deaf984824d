"""Feedback of people as judged questions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from wenyuan.core.access import Principal
from wenyuan.core.errors import Fault, InvalidRequest, KnowledgeError, NotFound, listed, msg
from wenyuan.core.records import AuditRecord
from wenyuan.service.audit.asker_entry import person_of
from wenyuan.service.audit.recorder import AuditRecorder
from wenyuan.service.search.searcher import LOCAL

if TYPE_CHECKING:
    from wenyuan.catalog.catalog import Catalog


# Feedback: which parts of an audited answer are right or wrong, as its callers say.
#
# It is kept beside the library and learned from when the library is tuned; it changes no score by itself.


MAX_JUDGED = 100
"""Parts of one answer, as many as an answer has at most."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Feedback:
    """Accepts feedback on answers."""

    catalog: Catalog
    recorder: AuditRecorder

    def give_feedback(
        self, audit_id: str, *, good: Sequence[str] = (), bad: Sequence[str] = (), principal: Principal = LOCAL
    ) -> Mapping[str, bool]:
        """Store a caller's feedback on an answer; the latest judgement of each caller on each part counts.

        Args:
            audit_id: Of the answer.
            good, bad: Parts of it: refs or addresses of fragments, or their ranks from 1.
            principal: Who gives the feedback. A key that is bound to an agent judges what that agent was given;
                another one judges its own answers, or all, with the right ``audit``.

        Returns:
            What was kept: by ref, whether it is right.

        Raises:
            NotFound: there is no such answer, or it is another's; the two are told alike.
            InvalidRequest: a part is not of this answer, or is called both right and wrong.
            KnowledgeError: the audit is switched off.
            CatalogBusy: another process is writing.
        """
        record = self._answer(audit_id, principal)
        judged: dict[str, bool] = {}
        faults = []
        for name, parts, right in (("good", good, True), ("bad", bad, False)):
            for at, part in enumerate(parts):
                ref = _ref_of(record.record.get("fragments", ()), part)
                if ref is None:
                    faults.append(
                        Fault(
                            f"{name}[{at}]",
                            msg("{part} is no part of the answer {audit_id}", part=repr(part), audit_id=audit_id),
                        )
                    )
                elif judged.setdefault(ref, right) is not right:
                    faults.append(
                        Fault(f"{name}[{at}]", msg("{part} is called both right and wrong", part=repr(part)))
                    )
        if not judged and not faults:
            faults.append(Fault("good", "nothing is said: name fragments that are right or wrong"))
        if faults:
            told = listed(faults)
            raise InvalidRequest(
                told, faults=tuple(faults), hint=msg("wenyuan audit show {audit_id}", audit_id=audit_id)
            )
        self.catalog.put_feedback(audit_id, judged, principal.actor)
        said = {name: [ref for ref, kept in judged.items() if kept is right] for name, right in _WORDS}
        self.recorder.changed("feedback", "added", audit_id, None, {n: refs for n, refs in said.items() if refs})
        return judged

    def _answer(self, audit_id: str, principal: Principal) -> AuditRecord:
        if self.recorder.log is None:
            raise KnowledgeError("the audit is switched off", component="audit", hint="audit.enabled = true")
        self.recorder.log.flush()
        try:
            record = self.recorder.log.show(audit_id)
        except NotFound as error:
            raise _no_answer(audit_id) from error
        if record.kind != "retrieval" or record.erasure or not self._of(record, principal):
            raise _no_answer(audit_id)
        return record

    def _of(self, record: AuditRecord, principal: Principal) -> bool:
        """Whether a caller may judge an answer: their own, an answer to their agent with the same eyes, or any with the right
        to audit, unless something is hidden from them.
        """
        if (record.principal, person_of(record.record)) == (principal.key_id, principal.person):
            return True
        if self.catalog.hidden() is not None:
            return False
        if principal.agent_id is not None:
            return bool(record.record.get("agent") == principal.agent_id)
        return principal.may("audit")


_WORDS = (("good", True), ("bad", False))


def _no_answer(audit_id: str) -> NotFound:
    return NotFound(
        msg("there is no answer {audit_id}", audit_id=repr(audit_id)), hint="wenyuan audit list --kind retrieval"
    )


def _ref_of(fragments: Sequence[Mapping[str, Any]], part: str) -> str | None:
    """The ref of a fragment given by ref, address or rank."""
    part = part.strip()
    if part.isascii() and part.isdigit():
        return str(fragments[int(part) - 1]["ref"]) if 1 <= int(part) <= len(fragments) else None
    return next((str(f["ref"]) for f in fragments if part in (f["ref"], f.get("uri"))), None)
