"""A library made what a registry file says: read the file, see what would change, change it."""

from __future__ import annotations

import os.path
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from wenyuan.core.addresses import local_path
from wenyuan.core.errors import Fault, InvalidRequest, joined, listed, msg
from wenyuan.core.group_entries import Group, circle_in
from wenyuan.core.model import Source
from wenyuan.core.registry import Plan, Registry, RegistryKey
from wenyuan.core.registry_diff import diff
from wenyuan.core.registry_file import parse_registry, registry_to_yaml
from wenyuan.core.remote_addresses import connector_scheme, is_remote
from wenyuan.core.retention import retention_of
from wenyuan.core.task_profiles import TaskProfile, task_faults
from wenyuan.runtime.regular import read_regular
from wenyuan.service.ingest.redaction import Redactor
from wenyuan.service.operations.refresh import RefreshOutcome, Worker
from wenyuan.service.search.source_selection import lasts

if TYPE_CHECKING:
    from wenyuan.service.library import Library


_READ_ANEW = frozenset(("path", "type", "language", "collection", "sensitivity", "settings"))
"""Fields that shape what is stored of a source: with another value it has to be read again."""


def contents(library: Library) -> Registry:
    """The sources, agents, task profiles and groups of a library; paths are absolute."""
    return Registry(
        sources=tuple(map(_at_home, library.sources())),
        agents=tuple(library.catalog.agents()),
        tasks=tuple(library.catalog.profiles()),
        groups=tuple(
            Group(name=name, members=frozenset(library.catalog.members(name))) for name in library.catalog.groups()
        ),
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
    faults = [*_redaction_faults(registry), *_connector_faults(library, registry), *_group_faults(library, registry)]
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
            retention_of(source.settings)
        except InvalidRequest as error:
            yield Fault(
                source.source_id,
                msg("source {source_id}: {message}", source_id=source.source_id, message=error.message),
            )


def _group_faults(library: Library, registry: Registry) -> Iterator[Fault]:
    """A group that would be in itself by groups that the library has, too."""
    if registry.groups:
        held = {name: frozenset(library.catalog.members(name)) for name in library.catalog.groups()}
        if circle := circle_in(held | {one.name: one.members for one in registry.groups}):
            yield Fault("groups", msg("{group} would be in itself", group=circle))


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
    store(library, plan, prune=prune, clock=clock)
    if prune:
        _prune(library, plan)
    return read_stricter(library, plan)


def store(library: Library, plan: Plan, *, prune: bool = False, clock: Callable[[], float] = time.time) -> None:
    """Store what a plan wants, all at once; arguments and errors as `apply`."""
    catalog = library.catalog
    todo = {*plan.added, *plan.changed_entries}
    with catalog.writing():
        _check_loops(catalog.sources(), plan, prune=prune)
        freed = _freed(catalog.profiles(), plan, prune=prune)
        for source in plan.wanted.sources:
            if RegistryKey("source", source.source_id) in todo:
                catalog.put_source(source)
        for agent in plan.wanted.agents:
            if RegistryKey("agent", agent.agent_id) in todo:
                catalog.put_agent(agent)
        for profile_id in freed:
            catalog.remove_profile(profile_id)
        for profile in plan.wanted.tasks:
            catalog.put_profile(profile)  # the same again changes nothing
        _store_groups(library, [one for one in plan.wanted.groups if RegistryKey("group", one.name) in todo])
        states = catalog.source_states()
        for source_id in {c.id for c in plan.changed if c.kind == "source" and c.field in _READ_ANEW}:
            if source_id in states:
                catalog.put_source_state(replace(states[source_id], next_refresh=clock()))


def _store_groups(library: Library, groups: Sequence[Group]) -> None:
    """Let groups have their members: first all are taken out who go, so that no group is in itself meanwhile."""
    catalog = library.catalog
    held = catalog.groups()
    for one in groups:
        if one.name in held:
            catalog.change_group(one.name, remove=set(catalog.members(one.name)) - one.members)
    for one in groups:
        catalog.change_group(one.name, add=one.members)


def read_stricter(library: Library, plan: Plan) -> tuple[RefreshOutcome, ...]:
    """Read sources of a plan whose redaction became stricter; see `apply`."""
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
        elif entry.kind == "group":
            catalog.set_group(entry.id, ())
