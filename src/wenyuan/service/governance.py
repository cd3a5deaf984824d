"""A library's record alone, for what asks no question: sources, agents, keys, tasks and the audit.

Nothing that answers is opened: no index, no encoder, no reader. So it is there at once, and small.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

from wenyuan.catalog.audit.known_ends import KnownEnds
from wenyuan.catalog.audit.log import AuditLog
from wenyuan.catalog.catalog import Catalog
from wenyuan.catalog.database import StoragePlace
from wenyuan.catalog.library_folder import place_of
from wenyuan.catalog.task_anchor import TaskAnchor
from wenyuan.catalog.tasks import TaskLedger
from wenyuan.core.errors import ConfigError, KnowledgeError, msg
from wenyuan.core.model import Source
from wenyuan.service.audit.change_entry import Changed, change_record
from wenyuan.service.erasure.standing import StandingRules
from wenyuan.service.library_key import library_key
from wenyuan.service.operations.source_health import listed_sources
from wenyuan.settings import Settings, load_settings


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class GovernanceDesk:
    """A library that is open for its governance; a context manager. Made by `open_governance`."""

    folder: Path
    settings: Settings
    catalog: Catalog
    log: AuditLog | None
    tasks: TaskLedger

    def __enter__(self) -> GovernanceDesk:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Release the record, and write what the audit still holds."""
        try:
            self.tasks.close()
            if self.log is not None:
                self.log.close()
        finally:  # the audit says so when its last records could not be written
            self.catalog.close()

    @property
    def audit(self) -> AuditLog:
        """The audit log; KnowledgeError when it is switched off."""
        return checked_log(self.log)

    def sources(self) -> tuple[Source, ...]:
        """The registered sources, by id."""
        return self.catalog.sources()

    def list_sources(self) -> list[dict[str, object]]:
        """Each source, what the library holds of it, and how fresh that is."""
        return listed_sources(self.catalog)

    def check_tasks(self) -> None:
        """CatalogUnavailable where the counts of tasks are not those that the catalog knows."""
        self.tasks.check()

    def changed(self, kind: Changed, action: str, name: str, before: Any, after: Any) -> None:
        """Record a change by whoever works on this machine."""
        if self.log is not None:
            self.log.append(change_record(kind, action, name, before, after))


def open_governance(folder: str | Path) -> GovernanceDesk:
    """Open the record of the library in `folder`.

    Raises:
        CatalogUnavailable, CatalogVersion, ConfigError
    """
    path = Path(folder)
    settings = load_settings(path)
    place = place_of(path, settings.catalog)
    catalog = Catalog.open(place)
    try:
        desk = GovernanceDesk(
            folder=path,
            settings=settings,
            catalog=catalog,
            log=log_of(place, settings, catalog),
            tasks=tasks_of(path, place, catalog),
        )
    except BaseException:
        catalog.close()
        raise
    catalog.database.on_change = desk.changed
    catalog.database.erased = StandingRules(catalog, lambda: catalog.pseudonym_key() or library_key(path))
    return desk


def log_of(place: StoragePlace, settings: Settings, catalog: Catalog) -> AuditLog | None:
    """The audit log of a library; None where it is switched off."""
    if not settings.audit.enabled:
        return None
    kept = settings.audit
    return AuditLog(
        place.folder,
        place=place.audit(),
        keep_queries=kept.keep_queries,
        retention=kept.retention_days * 86_400.0,
        names=catalog.names(),
        ends=KnownEnds(catalog.anchor, _elsewhere(kept.head_file, place.folder)),
    )


def _elsewhere(head_file: str, folder: Path) -> Path | None:
    """The file in which the head of the audit is kept as well; ConfigError where that is no other place."""
    if not head_file:
        return None
    path = Path(head_file)
    if not path.is_absolute() or path.resolve().is_relative_to(folder.resolve()):
        raise ConfigError(
            msg(
                "audit.head_file is {path}: it must be a whole path, outside of the library's folder", path=head_file
            ),
            hint="name a file that whoever can write to the library cannot put back",
        )
    return path


def tasks_of(folder: Path, place: StoragePlace, catalog: Catalog) -> TaskLedger:
    """The ledger of what tasks were given."""
    server = place.tasks()
    anchor = None if server is not None else TaskAnchor(catalog.database, folder / "tasks.db")
    return TaskLedger(folder, place=server, anchor=anchor)


def checked_log(log: AuditLog | None) -> AuditLog:
    """The log, if there is one; KnowledgeError when the audit is switched off."""
    if log is None:
        raise KnowledgeError("the audit is switched off", component="audit", hint="audit.enabled = true")
    return log
