"""What tasks were given of documents with a limit, as far as an owner has to decide about it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from wenyuan.service.audit.recorder import AuditRecorder

if TYPE_CHECKING:
    from wenyuan.catalog.tasks import TaskLedger


@dataclass(frozen=True, kw_only=True, eq=False)
class TaskCounts:
    """The counts of tasks, and the record of what is done to them."""

    ledger: TaskLedger
    recorder: AuditRecorder

    def renew_counts(self) -> None:
        """Go on with the counts of tasks that are there, or with none, though others are missing; it is recorded.

        Raises:
            InvalidRequest: none are missing.
            CatalogUnavailable: they cannot be read or written.
        """
        self.ledger.renew()
        self.recorder.changed("registry", "renewed", "tasks.db", None, None)
