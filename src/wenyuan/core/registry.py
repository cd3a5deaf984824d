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
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

import yaml

from wenyuan.core.access import Agent
from wenyuan.core.errors import Fault, InvalidRequest, joined, listed, msg
from wenyuan.core.group_entries import Group
from wenyuan.core.model import Source
from wenyuan.core.task_profiles import TaskProfile

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


Kind = Literal["source", "agent", "task", "group"]
SECTIONS = ("sources", "agents", "tasks", "groups")


@dataclass(frozen=True, slots=True, kw_only=True)
class Registry:
    """Sources, agents, task profiles and groups of a file or a library.

    Attributes:
        sections: Which of the four it describes completely.
    """

    sources: tuple[Source, ...] = ()
    agents: tuple[Agent, ...] = ()
    tasks: tuple[TaskProfile, ...] = ()
    groups: tuple[Group, ...] = ()
    sections: frozenset[str] = frozenset(SECTIONS)


@dataclass(frozen=True, slots=True)
class RegistryKey:
    """The section and id of a source, an agent, a task profile or a group."""

    kind: Kind
    id: str


@dataclass(frozen=True, slots=True)
class FieldChange:
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
    added: tuple[RegistryKey, ...] = ()
    changed: tuple[FieldChange, ...] = ()
    unchanged: tuple[RegistryKey, ...] = ()
    missing: tuple[RegistryKey, ...] = ()

    @property
    def changed_entries(self) -> tuple[RegistryKey, ...]:
        return tuple(dict.fromkeys(RegistryKey(change.kind, change.id) for change in self.changed))
