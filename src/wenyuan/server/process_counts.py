"""What a serving process has counted, and the sum of what those count that serve together."""

from __future__ import annotations

import logging
import os
import pickle
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path

from wenyuan.core.errors import KnowledgeError
from wenyuan.core.ports import ModelUse
from wenyuan.core.records import AuditProgress
from wenyuan.runtime.periodic import Periodic
from wenyuan.runtime.timings import Names, Timing
from wenyuan.server.member import Member
from wenyuan.server.request_metrics import RequestMetrics
from wenyuan.server.supervisor import RESTARTS
from wenyuan.service.operations.health import IndexLag, LibraryWork
from wenyuan.service.search.answer_cache import CacheCounts

log = logging.getLogger(__name__)

_EVERY = 1.0
"""Seconds between two writings: so old may be what one process knows of another."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Numbers:
    """What one process, or several, have counted.

    Attributes:
        requests: By route group, status and outcome.
        durations: By route group.
        limited: Requests that were refused with 429.
        open: Requests that are open now.
        resident: Bytes of memory.
        work: What the library has done; None of a service that is none.
    """

    requests: Mapping[tuple[str, str, str], int] = field(default_factory=dict)
    durations: Mapping[Names, Timing] = field(default_factory=dict)
    limited: int = 0
    open: int = 0
    resident: int = 0
    work: LibraryWork | None = None


def numbers_of(traffic: RequestMetrics, work: LibraryWork | None, resident: int) -> Numbers:
    """Of this process, now."""
    return Numbers(
        requests=traffic.requests(), durations=traffic.timings(), limited=traffic.limited, open=traffic.open,
        resident=resident, work=work,
    )  # fmt: skip


def summed(parts: Sequence[Numbers]) -> Numbers:
    """Of several processes together."""
    works = [part.work for part in parts if part.work is not None]
    return Numbers(
        requests=sum((Counter(part.requests) for part in parts), Counter()),
        durations=_timings([part.durations for part in parts]),
        limited=sum(part.limited for part in parts),
        open=sum(part.open for part in parts),
        resident=sum(part.resident for part in parts),
        work=_works(works) if works else None,
    )


def _timings(parts: Sequence[Mapping[Names, Timing]]) -> Mapping[Names, Timing]:
    found: dict[Names, Timing] = {}
    for part in parts:
        for names, timing in part.items():
            known = found.get(names)
            found[names] = timing if known is None else _both(known, timing)
    return found


def _both(a: Timing, b: Timing) -> Timing:
    return Timing(tuple(x + y for x, y in zip(a.classes, b.classes, strict=True)), a.seconds + b.seconds)


def _works(parts: Sequence[LibraryWork]) -> LibraryWork:
    audits = [part.audit for part in parts if part.audit is not None]
    audit = AuditProgress(
        records=max(one.records for one in audits),
        waiting=sum(one.waiting for one in audits),
        lag=max(one.lag for one in audits),
        failing=any(one.failing for one in audits),
    ) if audits else None  # fmt: skip
    furthest: IndexLag = max((part.index for part in parts), key=lambda lag: (lag.changes, lag.seconds))
    return LibraryWork(
        legs=_timings([part.legs for part in parts]),
        cache=_counts([part.cache for part in parts]) or CacheCounts(),
        query_vectors=_counts([part.query_vectors for part in parts]),
        audit=audit,
        index=furthest,
        llm=_use([part.llm for part in parts]),
        judge=_use([part.judge for part in parts]),
    )


def _counts(parts: Sequence[CacheCounts | None]) -> CacheCounts | None:
    there = [part for part in parts if part is not None]
    if not there:
        return None
    return CacheCounts(**{one.name: sum(getattr(part, one.name) for part in there) for one in fields(CacheCounts)})


def _use(parts: Sequence[ModelUse | None]) -> ModelUse | None:
    there = [part for part in parts if part is not None]
    if not there:
        return None
    return ModelUse(
        calls=sum((Counter(part.calls) for part in there), Counter()),
        tokens_in=sum(part.tokens_in for part in there),
        tokens_out=sum(part.tokens_out for part in there),
        cost=sum(part.cost for part in there),
    )


def _ended(numbers: Numbers) -> Numbers:
    """What counts of a process that has ended: what it did, not what it had."""
    work = numbers.work
    if work is not None:
        work = replace(
            work,
            cache=replace(work.cache, values=0, bytes=0),
            query_vectors=work.query_vectors and replace(work.query_vectors, values=0, bytes=0),
            audit=work.audit and replace(work.audit, waiting=0, lag=0.0, failing=False),
            index=replace(work.index, changes=0, seconds=0.0),
        )
    return replace(numbers, open=0, resident=0, work=work)


class SharedNumbers:
    """The numbers of processes that serve together: each writes its own into a file, and the first adds them up.

    What a process counted that was killed stays in the sum, but for its last second.

    Args:
        member: The place of this process.
    """

    def __init__(self, member: Member) -> None:
        self._member = member
        before = _read(member.numbers)
        self._before = [_ended(before)] if before is not None else []

    def write(self, own: Numbers) -> None:
        """Let the others know what this process has counted."""
        place = self._member.numbers
        new = place.with_name(f"{place.name}.new")
        try:
            new.write_bytes(pickle.dumps(summed([*self._before, own])))
            new.replace(place)
        except OSError as error:
            log.warning("what this process counts is not written: %s", error)

    def together(self, own: Numbers) -> Numbers:
        """What all have counted; `own` is of this process."""
        others = (_read(self._member.numbers_of(n)) for n in range(self._member.count) if n != self._member.number)
        return summed([*self._before, own, *(other for other in others if other is not None)])

    def processes(self) -> tuple[int, int]:
        """How many processes take connections, and how many were started in place of others."""
        folder = Path(self._member.folder)
        ready = sum(replace(self._member, number=n).ready.exists() for n in range(self._member.count))
        restarts = folder / RESTARTS
        return ready, int(restarts.read_text("ascii")) if restarts.exists() else 0


@dataclass(frozen=True, slots=True, eq=False)
class NumbersNow:
    """Takes the numbers of this process, and knows those of others that serve with it.

    Attributes:
        work: Of the library behind the server; None where there is none.
        shared: None where the process serves alone.
    """

    traffic: RequestMetrics
    work: Callable[[], LibraryWork] | None
    shared: SharedNumbers | None = None

    def own(self) -> Numbers:
        """Of this process; CatalogError where the catalog cannot be read."""
        return numbers_of(self.traffic, None if self.work is None else self.work(), resident())

    def all(self) -> Numbers:
        """Of all processes that serve together."""
        return self.own() if self.shared is None else self.shared.together(self.own())

    def write(self) -> None:
        """Let the others know; a failure is logged."""
        if self.shared is None:
            return
        try:
            self.shared.write(self.own())
        except KnowledgeError as error:
            log.warning("what this process counts is not written: %s", error)

    def keep_writing(self) -> Periodic:
        """What writes again and again, in a thread."""
        return Periodic(self.write, name="wenyuan-numbers", every=_EVERY)


def resident() -> int:
    """Resident memory of this process in bytes; 0 where the system does not report it."""
    try:
        pages = int(Path("/proc/self/statm").read_text("ascii").split()[1])
    except (OSError, ValueError, IndexError):
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")


def _read(file: Path) -> Numbers | None:
    """What a process has written; None where it has not yet."""
    try:
        found = pickle.loads(file.read_bytes())  # noqa: S301  (our own file, in a folder that is ours alone)
    except FileNotFoundError:
        return None
    return found if isinstance(found, Numbers) else None
