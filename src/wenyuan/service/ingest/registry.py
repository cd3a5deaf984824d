"""Changes of a library's sources: adding, reading again, removing, re-embedding, and applying registry files."""

from __future__ import annotations

import os.path
import time
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from wenyuan.core.access import TaskProfile, secret_faults, task_faults
from wenyuan.core.addresses import local_path
from wenyuan.core.connectors import checked_address, connector_scheme, is_remote
from wenyuan.core.errors import (
    CatalogBusy,
    ConfigError,
    EncoderUnavailable,
    Fault,
    InvalidRequest,
    KnowledgeError,
    SourceError,
    joined,
    listed,
    msg,
)
from wenyuan.core.model import Source
from wenyuan.core.ports import Encoder
from wenyuan.core.registry import Entry, Plan, Registry, diff, parse_registry, registry_to_yaml
from wenyuan.core.scoring import checked_vectors
from wenyuan.core.sources import described_anew, parse_cycle
from wenyuan.core.terms_of_use import parse_copyright
from wenyuan.runtime.regular import read_regular
from wenyuan.service.ingest import Ingester
from wenyuan.service.ingest.redaction import Redactor
from wenyuan.service.ingest.removed_uploads import note_removal, take_away
from wenyuan.service.ingest.run import IngestReport, Progress, vector_key
from wenyuan.service.operations.health import Health
from wenyuan.service.operations.refresh import RefreshOutcome, Worker
from wenyuan.service.search import lasts
from wenyuan.service.search.searcher import CollectionTraits

if TYPE_CHECKING:
    from wenyuan.catalog import Catalog
    from wenyuan.service.library import Library


# A library made what a registry file says: read the file, see what would change, change it.


_READ_ANEW = frozenset(("path", "type", "language", "collection", "sensitivity", "settings"))
"""Fields that shape what is stored of a source: with another value it has to be read again."""


def contents(library: Library) -> Registry:
    """The sources, agents and task profiles of a library; paths are absolute."""
    return Registry(
        sources=tuple(map(_at_home, library.sources())),
        agents=tuple(library.catalog.agents()),
        tasks=tuple(library.catalog.profiles()),
    )


def _at_home(source: Source) -> Source:
    if not source.path or is_remote(source.path):
        return source
    return replace(source, path=os.path.normpath(Path(source.path).absolute()))


def export(library: Library) -> str:
    """The registry file that describes a library; applied to it, it changes nothing."""
    return registry_to_yaml(contents(library))


def read_registry(library: Library, file: Path, *, prune: bool = False) -> Registry:
    """Read a registry file for a library.

    Args:
        library: What it has may be referred to without being named, unless it will be pruned.
        file: Relative paths in it are meant from its folder.
        prune: See `apply`.

    Raises:
        InvalidRequest: it cannot be read, or listing every fault in it as a `core.registry.LineFault`.
    """
    local_path(file)
    try:
        text = read_regular(file).decode("utf-8-sig")
    except OSError as error:
        raise InvalidRequest(msg("cannot read {file}: {strerror}", file=file, strerror=error.strerror)) from error
    except UnicodeDecodeError as error:
        raise InvalidRequest(msg("{file} is not UTF-8 (byte {start})", file=file, start=error.start)) from error
    return parse_registry(text, file.absolute().parent, library=() if prune else library.sources())


def plan(library: Library, registry: Registry) -> Plan:
    """What applying a registry to a library would do.

    Raises:
        InvalidRequest: a source that holds documents would become one that is searched elsewhere, or one says
            of its redaction what cannot be understood.
    """
    found = diff(contents(library), registry)
    faults = [*_redaction_faults(registry), *_connector_faults(library, registry)]
    for change in found.changed:
        if change.field == "type" and (held := library.catalog.counts(change.id)["documents"]):
            message = msg(
                "source {id} holds {held} documents; remove it before it becomes {new}",
                id=change.id,
                held=held,
                new=change.new,
            )
            faults.append(Fault("type", message))
    if faults:
        raise InvalidRequest(joined(f.message for f in faults), faults=tuple(faults))
    return found


def _redaction_faults(registry: Registry) -> Iterator[Fault]:
    for source in registry.sources:
        try:
            Redactor.of(source)
        except InvalidRequest as error:
            yield Fault(
                source.source_id,
                msg("source {source_id}: {message}", source_id=source.source_id, message=error.message),
            )


def _connector_faults(library: Library, registry: Registry) -> Iterator[Fault]:
    remote = library.ingestion.ingester.remote
    for source in registry.sources:
        if source.type != "static_doc" or not is_remote(source.path) or remote is None:
            continue
        if (scheme := connector_scheme(source.path)) not in (known := remote.schemes()):
            told = msg(
                "source {source_id}: there is no connector for {scheme}://; known are: {schemes}",
                source_id=source.source_id,
                scheme=scheme,
                schemes=", ".join(known),
            )
            yield Fault(source.source_id, told)


def apply(
    library: Library, plan: Plan, *, prune: bool = False, clock: Callable[[], float] = time.time
) -> tuple[RefreshOutcome, ...]:
    """Apply a plan. It is idempotent, and can be repeated after an interruption.

    New sources with a refresh cycle, and those that must be read differently, become due at once. Only sources whose
    redaction becomes stricter (a higher sensitivity) are read here, whatever their cycle; their documents that cannot
    be read leave the library.

    Args:
        library: The one that the plan was made for.
        plan: See `plan`.
        prune: Remove entries that the file does not name; otherwise they are kept.
        clock: Seconds since the epoch.

    Returns:
        How reading again ended, source by source; a failure is in the outcome, and recorded with the source.

    Raises:
        InvalidRequest: sources would supersede one another in a loop, or two profiles name one task; nothing is
            changed.
        CatalogBusy: another worker is at such a source; apply the plan again when it has finished.
    """
    catalog = library.catalog
    todo = {*plan.added, *plan.changed_entries}
    with catalog.writing():
        _check_loops(catalog.sources(), plan, prune=prune)
        freed = _freed(catalog.profiles(), plan, prune=prune)
        for source in plan.wanted.sources:
            if Entry("source", source.source_id) in todo:
                catalog.put_source(source)
        for agent in plan.wanted.agents:
            if Entry("agent", agent.agent_id) in todo:
                catalog.put_agent(agent)
        for profile_id in freed:
            catalog.remove_profile(profile_id)
        for profile in plan.wanted.tasks:
            catalog.put_profile(profile)  # the same again changes nothing
        states = catalog.source_states()
        for source_id in {c.id for c in plan.changed if c.kind == "source" and c.field in _READ_ANEW}:
            if source_id in states:
                catalog.put_source_state(replace(states[source_id], next_refresh=clock()))
    if prune:
        _prune(library, plan)
    registered = {source.source_id: source for source in library.sources()}
    wanted = [registered[source.source_id] for source in plan.wanted.sources]
    return tuple(Worker(library).refresh(source.source_id) for source in wanted if library.behind(source))


def _check_loops(held: Iterable[Source], plan: Plan, *, prune: bool) -> None:
    """Refuse a registry in which sources would supersede one another in a loop.

    Called with the library's writer lock held: of two changes that are sound apart, the second is refused.
    """
    gone = {entry.id for entry in plan.missing if prune and entry.kind == "source"}
    wanted = {source.source_id: source for source in (*held, *plan.wanted.sources)}
    lasts([source for name, source in wanted.items() if name not in gone])


def _freed(held: Iterable[TaskProfile], plan: Plan, *, prune: bool) -> tuple[str, ...]:
    """The profiles to remove before others are stored: pruned ones, and those whose task moves to another profile.

    Called with the library's writer lock held, as `_check_loops`.
    """
    known = {one.profile_id: one for one in held}
    gone = [entry.id for entry in plan.missing if prune and entry.kind == "task" and entry.id in known]
    after = known | {one.profile_id: one for one in plan.wanted.tasks}
    others = [one for name, one in after.items() if name not in gone]
    for profile in plan.wanted.tasks:
        if faults := task_faults(profile, others):
            told = msg("profile {profile}: {faults}", profile=profile.profile_id, faults=listed(faults))
            raise InvalidRequest(told, faults=faults)
    given = {task: one.profile_id for one in plan.wanted.tasks for task in one.tasks}
    gone += [name for name, one in known.items() if any(given.get(task, name) != name for task in one.tasks)]
    return tuple(dict.fromkeys(gone))


def _prune(library: Library, plan: Plan) -> None:
    catalog = library.catalog
    sources = {source.source_id for source in catalog.sources()}
    agents = {agent.agent_id for agent in catalog.agents()}
    for entry in plan.missing:
        if entry.kind == "source" and entry.id in sources:
            library.remove(entry.id)
        elif entry.kind == "agent" and entry.id in agents:
            catalog.remove_agent(entry.id)


# Another encoder for a library: passages stay, and are given other vectors; what is derived from those follows.


PENDING = "reembedded"
"""Value of a library whose passages have other vectors, while what is derived does not follow yet: ``{"from": key}``."""

_AT_ONCE = 192  # passages embedded, and then stored
Tell = Callable[[int, int], None]
"""``tell(done, total)``: passages."""


def embed_anew(catalog: Catalog, encoder: Encoder, before: str, tell: Tell = lambda done, total: None) -> int:
    """Embed everything without a vector of `encoder`, then switch over in one step; returns the number embedded.

    Until that last step the library answers as before. What was embedded before an interruption is not embedded again.

    Args:
        before: Key of the encoder that made the vectors that are there; ``""`` for none.

    Raises:
        VectorsGone: passages came meanwhile.
        CatalogError, EncoderError
    """
    total, done, embedded, last = catalog.counts()["passages"], 0, 0, 0
    own, was = partial(vector_key, encoder.fingerprint.key), partial(vector_key, before)
    while part := catalog.embedded_after(last, _AT_ONCE, was):
        embedded += _embed(catalog, encoder, {text for _, text, _ in part})
        _embed(catalog, encoder, {label for _, _, label in part if label})
        done += len(part)
        last = part[-1][0]
        tell(done, total)
    catalog.change_encoder(asdict(encoder.fingerprint), before, own, was)
    return embedded


def _embed(catalog: Catalog, encoder: Encoder, texts: Collection[str]) -> int:
    """Embed and store the texts without vectors; returns how many."""
    keys = {vector_key(encoder.fingerprint.key, text): text for text in texts}
    known = catalog.known_vectors(list(keys))
    new = {key: text for key, text in keys.items() if key not in known}
    if new:
        asked = list(new.values())
        answered = encoder.encode_passages(asked)
        vectors = checked_vectors(answered, len(new), encoder.fingerprint.dimension, "encoder", texts=asked)
        catalog.keep_vectors(dict(zip(new, vectors, strict=True)))
    return len(new)


# What a library does with its sources: register, read, remove.


@dataclass(frozen=True, kw_only=True, eq=False)
class Ingestion:
    """Adds, reads and removes sources, and updates what is derived from them.

    Attributes:
        refusal: Why nothing may be ingested; ``""`` where it may.
    """

    ingester: Ingester
    traits: CollectionTraits
    health: Health
    refusal: str = ""

    @property
    def _catalog(self) -> Catalog:
        return self.ingester.catalog

    @property
    def _encoder(self) -> Encoder | None:
        return self.ingester.encoder

    def add(self, source: Source, progress: Callable[[Progress], None] | None = None) -> IngestReport:
        """Register a source and ingest it; a registered source must keep its path.

        For a registered source, fields that `source` leaves at their default keep their value; to clear one, use
        ``wenyuan source set`` or ``PATCH /v1/sources/{id}``.

        Raises:
            InvalidRequest: the id is taken by another path, or sources would supersede one another in a loop.
            SourceError: nothing could be ingested; then nothing is registered.
        """
        self.check_may_write()
        _check_described(source)
        if source.type != "static_doc":
            raise InvalidRequest(
                msg("a source of type {type} is searched where it is; there is nothing to take in", type=source.type),
                hint="register it: wenyuan apply FILE",
            )
        registered = {s.source_id: s for s in self._catalog.sources()}
        lasts(tuple((registered | {source.source_id: source}).values()))
        known = registered.get(source.source_id)
        if known is not None and known.path != source.path:
            told = msg(
                "the source id {source_id} is taken by a source without a path", source_id=repr(source.source_id)
            )
            if known.path:
                told = msg(
                    "the source id {source_id} is taken: it reads {path}",
                    source_id=repr(source.source_id),
                    path=known.path,
                )
            hint = msg(
                "choose another --source, or remove that one: wenyuan source remove {source_id}",
                source_id=source.source_id,
            )
            raise InvalidRequest(told, hint=hint)
        if known is not None:
            source = described_anew(known, source)
        try:
            report = self._ingested(source, progress, partial(self._catalog.put_source, source))
            if known is None and (report.failed or report.data) and not (report.added or report.unchanged):
                raise SourceError(_all_failed(report), hint="see the reasons above")
        except (SourceError, ConfigError):
            if known is None and source.source_id in {one.source_id for one in self._catalog.sources()}:
                self._catalog.remove_source(source.source_id)
            raise
        return report

    def ingest(self, source_id: str, progress: Callable[[Progress], None] | None = None) -> IngestReport:
        """Read a registered source again; only changes are embedded and indexed."""
        self.check_may_write()
        source = self._catalog.source(source_id)
        if source.type != "static_doc":
            raise InvalidRequest(
                msg(
                    "source {source_id} is searched where it is; there is nothing to take in",
                    source_id=repr(source_id),
                )
            )
        return self._ingested(source, progress)

    def _ingested(
        self, source: Source, progress: Callable[[Progress], None] | None, register: Callable[[], None] = lambda: None
    ) -> IngestReport:
        if self._encoder is not None and self._catalog.value("encoder") is None:
            self._catalog.set_value("encoder", asdict(self._encoder.fingerprint))
        report = self.ingester.ingest(source, progress, register)
        self._settle()
        self._audited(report)
        return report

    def _audited(self, report: IngestReport) -> None:
        """Record what a reading of a source changed, if it changed anything."""
        told = {name: getattr(report, name) for name in ("added", "changed", "retired")} | {
            "failures": len(report.failed)
        }
        if any(told.values()):
            self._catalog.database.on_change("refresh", "ingested", report.source_id, None, told)

    def clear(self, source_id: str) -> IngestReport:
        """Retire all documents of a source whose uploaded files are all deleted."""
        report = self.ingester.clear(self._catalog.source(source_id))
        self._settle()
        self._audited(report)
        return report

    def behind(self, source: Source) -> bool:
        """Whether a source must be read again because its redaction became stricter."""
        return source.type == "static_doc" and self.ingester.behind(source)

    def check_may_write(self) -> None:
        """EncoderUnavailable where nothing may be ingested."""
        if self.refusal:
            raise EncoderUnavailable(self.refusal, component="encoder", hint="wenyuan doctor")

    def remove(self, source_id: str) -> int:
        """Remove a source and everything ingested from it; returns the number of documents.

        Raises:
            SourceError: it is removed, but files that were uploaded to it are still there.
        """
        note_removal(self._catalog, source_id)
        gone = self._catalog.remove_source(source_id)
        try:
            take_away(self._catalog, self.ingester.uploads, source_id)
        finally:
            self.ingester.purge()
            self._settle()
        return gone

    def _settle(self) -> None:
        """After a change: measure the collection, and prepare a fast next start."""
        self.traits.keep()
        with suppress(CatalogBusy):  # whoever takes the next source in saves the files, too
            self.ingester.engine.checkpoint()

    def follow_reembedding(self) -> None:
        """After `embed_anew`: build the index, measure what depends on vectors, and check completeness.

        Does nothing when already done. Can be interrupted and repeated.

        Raises:
            KnowledgeError: the index does not hold what the catalog does, or cannot be built.
        """
        pending = self._catalog.value(PENDING)
        if not pending or self._encoder is None:
            return
        for source in self._catalog.sources():  # or every document would be read anew: its stamp names the encoder
            before = self.ingester.reading(source, pending["from"])
            for old, new in zip(before, self.ingester.reading(source, self._encoder.fingerprint.key), strict=True):
                self._catalog.renew_stamps(source.source_id, old, new)
        self.ingester.follow()
        self.traits.keep()
        self.ingester.engine.checkpoint(always=True)
        readiness = self.health.readiness()
        if not readiness.ready:
            failed = joined(part["detail"] for part in readiness.parts.values() if part["state"] == "failed")
            raise KnowledgeError(failed, component="re-embedding", hint="wenyuan doctor")
        self._catalog.set_value(PENDING, None)


def _check_described(source: Source) -> None:
    """Validate the settings in a source's description; InvalidRequest when they are invalid."""
    if is_remote(source.path):
        try:
            checked_address(source.path)
        except ValueError as error:
            fault = Fault("path", str(error))
            raise InvalidRequest(listed([fault]), faults=(fault,)) from error
    parse_copyright(source.copyright)
    parse_cycle(source.refresh_cycle)
    Redactor.of(source)
    if faults := secret_faults(source.settings):
        raise InvalidRequest(listed(faults), faults=faults)


def _all_failed(report: IngestReport) -> str:
    failed = {**report.failed, **report.data}
    uri, reason = next(iter(failed.items()))
    more = msg(" (and {count} more)", count=len(failed) - 1) if len(failed) > 1 else ""
    return msg("nothing could be taken in: {uri}: {reason}{more}", uri=uri, reason=reason, more=more)
