"""The registry file: sources, agents and task profiles of a library as YAML, read with line numbers.

The registry as a file: which sources, agents and profiles of tasks a library has, read, written and compared.

::

    sources:
      - {source_id: crm_policy, path: ./policies, trust_level: 5, refresh_cycle: daily}
    agents:
      - {agent_id: support, knowledge_scope: [{domain: crm_policy, top_k: 3}]}
    tasks:
      - {profile_id: complaint, tasks: [ticket-*], domains: [crm_policy], terms: [投诉]}

A section that is not there is not managed by the file. All faults are reported at once, with their lines.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import yaml

from wenyuan.core.access import (
    Agent,
    TaskProfile,
    agent_to_wire,
    parse_agent,
    parse_profile,
    profile_to_wire,
    task_faults,
)
from wenyuan.core.errors import Fault, InvalidRequest, did_you_mean, joined, listed, msg
from wenyuan.core.model import Source
from wenyuan.core.sources import is_source_id, parse_source, shown_source, source_to_wire, supersession_faults

# YAML as plain values with line numbers, so that faults can be reported with their line.
#
# Only plain values come out (text, numbers, booleans, null, lists, mappings with text keys); a date stays text.
# Anchors, aliases and ``<<`` work, but what they expand to is bounded.
#
# Packs of rules have a reader of their own (`readers.rulebooks.entries`): they come from others, are ten times as large,
# and their values are texts, so that one refuses aliases, builds no nodes, and reads ``no`` as text. A registry is short,
# and the field says whether ``no`` is a text or False, so both are kept here.


_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_MAX_CHARS = 4_000_000
_MAX_DEPTH = 32
_MAX_NODES = 200_000
_MAX_NUMBER = 400  # characters; more would cost time that grows with their square
_TAG = "tag:yaml.org,2002:"
_AS_WRITTEN = (f"{_TAG}str", f"{_TAG}timestamp")
_COLLECTIONS = (f"{_TAG}seq", f"{_TAG}map")
_ALIEN = "the tag {tag} is not allowed"
_NUMBERS = (f"{_TAG}int", f"{_TAG}float", f"{_TAG}bool")


@dataclass(frozen=True, slots=True)
class LineFault(Fault):
    """A fault in a file with its line (1-based; 0 where unknown)."""

    line: int = 0


@dataclass(slots=True)
class Marked:
    """A parsed YAML document with line numbers.

    Attributes:
        value: The document as plain values.
        lines: Line of each value by its path, e.g. ``sources[1].tags[0]``; of a mapping's entry, its key's line.
        written: By path, the text of a scalar as written: ``no`` where the value is False.
        faults: Values that could not be read; the others are still returned.
    """

    value: Any = None
    lines: dict[str, int] = field(default_factory=dict)
    written: dict[str, str] = field(default_factory=dict)
    faults: list[LineFault] = field(default_factory=list)

    def line(self, path: str) -> int:
        """The line of `path`, or of the nearest enclosing value with a line."""
        while path not in self.lines and path:
            path = path[: max(path.rfind("."), path.rfind("["), 0)]
        return self.lines.get(path, 0)

    def at(self, fault: Fault) -> LineFault:
        """A fault with its line."""
        return LineFault(fault.path, fault.message, self.line(fault.path))


def refuse(faults: Iterable[LineFault], hint: str = "correct the file and try again") -> None:
    """Raise InvalidRequest with all faults sorted by line; does nothing without faults."""
    ordered = tuple(sorted(faults, key=lambda fault: fault.line))
    if ordered:
        told = (msg("line {line}: {fault}", line=f.line, fault=listed([f]) if f.path else f.message) for f in ordered)
        raise InvalidRequest(joined(told), faults=ordered, hint=hint)


def load_marked(text: str) -> Marked:
    """Parse one YAML document.

    Raises:
        InvalidRequest: it is no YAML, or too large; other faults are in ``faults`` of what is returned.
    """
    if len(text) > _MAX_CHARS:
        refuse(
            [
                LineFault(
                    "",
                    msg(
                        "the file has {count} characters; at most {max_chars}", count=len(text), max_chars=_MAX_CHARS
                    ),
                    1,
                )
            ]
        )
    try:
        _check_depth(text)
        node = yaml.compose(text, Loader=_LOADER)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        told = " ".join(part for part in (error.context, error.problem) if part)
        refuse([LineFault("", msg("is no YAML: {told}", told=told), mark.line + 1 if mark else 1)])
    except (yaml.YAMLError, UnicodeEncodeError) as error:
        refuse([LineFault("", msg("is no YAML: {error}", error=str(error).splitlines()[0]), 1)])
    marked = Marked()
    if node is not None:
        marked.value = _Walk(marked).value(node, "", 0)
    return marked


def _check_depth(text: str) -> None:
    """Refuse values nested deeper than the recursive parser can handle."""
    depth = 0
    event: Any
    for event in yaml.parse(text, Loader=_LOADER):
        depth += isinstance(event, yaml.CollectionStartEvent)
        depth -= isinstance(event, yaml.CollectionEndEvent)
        if depth > _MAX_DEPTH:
            line = event.start_mark.line + 1
            refuse([LineFault("", msg("values are nested more than {max_depth} deep", max_depth=_MAX_DEPTH), line)])


class _Walk:
    """Converts YAML nodes to values and records their lines."""

    def __init__(self, marked: Marked) -> None:
        self._marked = marked
        self._seen = 0
        self._constructor = yaml.constructor.SafeConstructor()

    def value(self, node: Any, path: str, depth: int) -> Any:
        self._seen += 1
        line = node.start_mark.line + 1
        if self._seen > _MAX_NODES or depth > _MAX_DEPTH:  # an alias may lead to what holds it
            refuse([LineFault("", "anchors and aliases expand to too much, or the file is too large", line)])
        self._marked.lines.setdefault(path, line)
        if isinstance(node, yaml.ScalarNode):
            return self._scalar(node, path)
        if node.tag not in _COLLECTIONS:
            self._fault(path, msg(_ALIEN, tag=repr(node.tag.removeprefix(_TAG))), line)
        if isinstance(node, yaml.SequenceNode):
            return [self.value(item, f"{path}[{i}]", depth + 1) for i, item in enumerate(node.value)]
        return self._mapping(node, path, depth)

    def _mapping(self, node: Any, path: str, depth: int) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for base in reversed(list(self._merged(node, path))):  # of several, the first one counts
            found |= self.value(base, path, depth + 1)
        own: dict[str, int] = {}
        for key_node, value_node in node.value:
            key, at = self._key(key_node, path)
            if not key:
                continue
            line = key_node.start_mark.line + 1
            if key in own:
                self._fault(at, msg("stands twice; it is on line {own} already", own=own[key]), line)
                continue
            own[key] = self._marked.lines[at] = line
            self._marked.written.pop(at, None)
            found[key] = self.value(value_node, at, depth + 1)
        return found

    def _merged(self, node: Any, path: str) -> Iterator[yaml.MappingNode]:
        """The mappings merged by ``<<``."""
        for key_node, value_node in node.value:
            if key_node.tag != f"{_TAG}merge":
                continue
            bases = value_node.value if isinstance(value_node, yaml.SequenceNode) else [value_node]
            for base in bases:
                if isinstance(base, yaml.MappingNode):
                    yield base
                else:
                    self._fault(f"{path}.<<".strip("."), "must be a mapping", key_node.start_mark.line + 1)

    def _key(self, node: yaml.Node, path: str) -> tuple[str, str]:
        """A key and its path; ``""`` for an invalid key or one already handled."""
        if node.tag == f"{_TAG}merge":
            return "", path
        if not isinstance(node, yaml.ScalarNode) or not node.value:
            self._fault(path, "has a key that is no text", node.start_mark.line + 1)
            return "", path
        return node.value, f"{path}.{node.value}".strip(".")

    def _scalar(self, node: yaml.ScalarNode, path: str) -> Any:
        text: str = node.value
        if node.tag == f"{_TAG}null":
            return None
        self._marked.written[path] = text
        if node.tag in _AS_WRITTEN:
            return text
        if node.tag not in _NUMBERS:
            self._fault(path, msg(_ALIEN, tag=repr(node.tag.removeprefix(_TAG))), node.start_mark.line + 1)
            return None
        try:
            value = self._constructor.construct_object(node) if len(text) <= _MAX_NUMBER else math.inf
        except (ValueError, yaml.YAMLError):
            value = math.nan
        if isinstance(value, float) and not math.isfinite(value):
            self._fault(
                path, msg("{text} is no number that can be used; for text put it in quotes", text=repr(text[:40])), 0
            )
            return None
        return value

    def _fault(self, path: str, message: str, line: int) -> None:
        self._marked.faults.append(LineFault(path, message, line or self._marked.line(path)))


Kind = Literal["source", "agent", "task"]
_SECTIONS = ("sources", "agents", "tasks")


@dataclass(frozen=True, slots=True, kw_only=True)
class Registry:
    """Sources, agents and task profiles of a file or a library.

    Attributes:
        sections: Which of the three it describes completely.
    """

    sources: tuple[Source, ...] = ()
    agents: tuple[Agent, ...] = ()
    tasks: tuple[TaskProfile, ...] = ()
    sections: frozenset[str] = frozenset(_SECTIONS)


@dataclass(frozen=True, slots=True)
class Entry:
    """The section and id of a source, an agent or a task profile."""

    kind: Kind
    id: str


@dataclass(frozen=True, slots=True)
class Change:
    """One changed field, with its values as in a file."""

    kind: Kind
    id: str
    field: str
    old: Any
    new: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The changes that make a library match a file.

    Attributes:
        wanted: The registry of the file.
        missing: Entries that the library has and the file does not.
    """

    wanted: Registry
    added: tuple[Entry, ...] = ()
    changed: tuple[Change, ...] = ()
    unchanged: tuple[Entry, ...] = ()
    missing: tuple[Entry, ...] = ()

    @property
    def changed_entries(self) -> tuple[Entry, ...]:
        return tuple(dict.fromkeys(Entry(change.kind, change.id) for change in self.changed))


# --- a file ---------------------------------------------------------------------------------------------
def parse_registry(text: str, base: Path, *, library: Sequence[Source] = ()) -> Registry:
    """Parse a registry from YAML (or JSON).

    Args:
        text: The file's content.
        base: Its folder; relative paths are resolved against it.
        library: Sources that a library has already and that the file may refer to without naming them.

    Raises:
        InvalidRequest: listing every fault as a `LineFault`.
    """
    return _File(load_marked(text), base, library).registry()


class _File:
    """One parse of a file; collects all faults."""

    def __init__(self, marked: Marked, base: Path, library: Sequence[Source]) -> None:
        self._marked = marked
        self._base = base
        self._faults = list(marked.faults)
        self._top = marked.value if isinstance(marked.value, dict) else {}
        named = {str(e.get("source_id")) for _, e in self._entries("sources", quiet=True)}
        self._others = [source for source in library if source.source_id not in named]

    def registry(self) -> Registry:
        for key in self._top:
            if key not in _SECTIONS:
                self._fault(key, f"is no section{did_you_mean(key, _SECTIONS)}")
        if not any(name in self._top for name in _SECTIONS):
            self._fault("", "holds neither sources nor agents nor tasks")
        sources = self._parsed("sources", "source_id", lambda entry, _: parse_source(entry, self._base))
        agents = self._parsed("agents", "agent_id", parse_agent)
        tasks = self._parsed("tasks", "profile_id", lambda entry, _: parse_profile(entry))
        self._check_supersession()
        self._check_domains()
        for path, profile in tasks.items():
            for fault in task_faults(profile, tasks.values()):
                self._fault(f"{path}.{fault.path}", fault.message)
        refuse(self._faults)
        sections = frozenset(name for name in _SECTIONS if name in self._top)
        return Registry(
            sources=tuple(sources.values()),
            agents=tuple(agents.values()),
            tasks=tuple(tasks.values()),
            sections=sections,
        )

    def _fault(self, path: str, message: str) -> None:
        self._faults.append(self._marked.at(Fault(path, message)))

    def _entries(self, section: str, *, quiet: bool = False) -> list[tuple[str, dict[str, Any]]]:
        """The mappings of a section with their paths; text fields keep their spelling (``no`` is a language code)."""
        listed = self._top.get(section, [])
        if not isinstance(listed, list):
            if not quiet:
                self._fault(section, "must be a list")
            return []
        found = []
        for i, entry in enumerate(listed):
            path = f"{section}[{i}]"
            if isinstance(entry, dict):
                plain = {k: v if k in _NOT_TEXT else self._as_written(v, f"{path}.{k}") for k, v in entry.items()}
                found.append((path, plain))
            elif not quiet:
                self._fault(path, "must be a mapping")
        return found

    def _as_written(self, value: Any, path: str) -> Any:
        if isinstance(value, (bool, int, float)):
            return self._marked.written[path]
        if isinstance(value, list):
            return [self._as_written(item, f"{path}[{i}]") for i, item in enumerate(value)]
        return value

    def _parsed(self, section: str, id_key: str, parse: Callable[[Any, str], Any]) -> dict[str, Any]:
        """The parsed entries of a section by path."""
        found = {}
        seen: dict[str, str] = {}
        for path, entry in self._entries(section):
            name = entry.get(id_key)
            if isinstance(name, str) and seen.setdefault(name, path) != path:
                before = self._marked.line(f"{seen[name]}.{id_key}")
                self._fault(
                    f"{path}.{id_key}",
                    msg("{name} stands twice; it is on line {before} already", name=repr(name), before=before),
                )
            try:
                found[path] = parse(entry, path)
            except InvalidRequest as error:
                for fault in error.faults:
                    at = fault.path if fault.path.startswith(path) else f"{path}.{fault.path}"
                    self._fault(at, fault.message)
        return found

    def _check_supersession(self) -> None:
        """Check for loops on the raw values, so that another fault in a source does not hide one."""
        sources: list[Source] = []
        paths: dict[str, str] = {}
        for path, entry in self._entries("sources", quiet=True):
            name, old = str(entry.get("source_id")), entry.get("supersedes")
            if is_source_id(name) and name not in paths:
                paths[name] = path
                ids = [i for i in old if isinstance(i, str)] if isinstance(old, list) else []
                sources.append(Source(source_id=name, supersedes=tuple(ids)))
        for fault in supersession_faults(sources, self._others):
            self._fault(f"{paths[fault.path]}.supersedes" if fault.path in paths else "sources", fault.message)

    def _check_domains(self) -> None:
        domains = {source.domain for source in self._others}
        domains |= {str(e.get("domain") or e.get("source_id")) for _, e in self._entries("sources", quiet=True)}
        named: list[tuple[str, Any]] = []
        for path, entry in self._entries("agents", quiet=True):
            scope = entry.get("knowledge_scope")
            for i, wanted in enumerate(scope if isinstance(scope, list) else ()):
                domain = wanted.get("domain") if isinstance(wanted, dict) else None
                named.append((f"{path}.knowledge_scope[{i}].domain", domain))
        for path, entry in self._entries("tasks", quiet=True):
            listed = entry.get("domains")
            named += [
                (f"{path}.domains[{i}]", one) for i, one in enumerate(listed if isinstance(listed, list) else ())
            ]
        for at, domain in named:
            if isinstance(domain, str) and domain and domain not in domains:
                self._fault(
                    at,
                    msg(
                        "no source has the domain {domain}{near}",
                        domain=repr(domain),
                        near=did_you_mean(domain, domains),
                    ),
                )


_NOT_TEXT = ("trust_level", "trust", "settings", "min_trust", "allow_low_trust", "token_budget")


class _Dumper(yaml.SafeDumper):
    def ignore_aliases(self, data: Any) -> bool:
        return True

    def text(self, data: str) -> yaml.ScalarNode:
        # Left to itself it writes these line breaks bare, where a reader takes them for a space.
        style = '"' if _BREAKS.intersection(data) else None
        return self.represent_scalar("tag:yaml.org,2002:str", data, style=style)


_BREAKS = frozenset("\x85\u2028\u2029\ufeff")
_Dumper.add_representer(str, _Dumper.text)


def registry_to_yaml(registry: Registry) -> str:
    """The file for a registry; the inverse of `parse_registry`."""
    shown: dict[str, Any] = {"sources": [_spoken(source) for source in registry.sources]}
    if registry.agents:
        shown["agents"] = [agent_to_wire(agent) for agent in registry.agents]
    if registry.tasks:
        shown["tasks"] = [{k: v for k, v in profile_to_wire(one).items() if v} for one in registry.tasks]
    return yaml.dump(shown, Dumper=_Dumper, allow_unicode=True, sort_keys=False, width=100)


def _spoken(source: Source) -> dict[str, Any]:
    """The fields of a source that differ from their defaults, and always its trust."""
    plain = source_to_wire(Source(source_id=source.source_id))
    told = shown_source(source)
    return {k: v for k, v in told.items() if k in ("source_id", "type", "trust_level") or v != plain[k]}


# --- two registries -------------------------------------------------------------------------------------
def diff(state: Registry, wanted: Registry) -> Plan:
    """The differences between a library and a file, in the sections that the file has."""
    added: list[Entry] = []
    changed: list[Change] = []
    unchanged: list[Entry] = []
    missing: list[Entry] = []
    has, says = _wires(state), _wires(wanted)
    for entry, new in says.items():
        old = has.get(entry)
        if old is None:
            added.append(entry)
        elif old == new:
            unchanged.append(entry)
        else:
            changed += [Change(entry.kind, entry.id, k, old.get(k), v) for k, v in new.items() if old.get(k) != v]
    missing += [entry for entry in has if entry not in says and f"{entry.kind}s" in wanted.sections]
    return Plan(
        wanted=wanted,
        added=tuple(added),
        changed=tuple(changed),
        unchanged=tuple(unchanged),
        missing=tuple(missing),
    )


def _wires(registry: Registry) -> dict[Entry, dict[str, Any]]:
    found = {Entry("source", source.source_id): source_to_wire(source) for source in registry.sources}
    found |= {Entry("agent", agent.agent_id): agent_to_wire(agent) for agent in registry.agents}
    return found | {Entry("task", profile.profile_id): profile_to_wire(profile) for profile in registry.tasks}
