"""Reading and writing the registry file."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from wenyuan.core.access import agent_to_wire, parse_agent
from wenyuan.core.errors import Fault, InvalidRequest, did_you_mean, msg
from wenyuan.core.group_entries import Group, circle_in, group_to_wire, parse_group
from wenyuan.core.model import Source
from wenyuan.core.registry import SECTIONS, Marked, Registry, load_marked, refuse
from wenyuan.core.source_entries import is_source_id, parse_source, shown_source, source_to_wire, supersession_faults
from wenyuan.core.task_profiles import parse_profile, profile_to_wire, task_faults


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
            if key not in SECTIONS:
                self._fault(key, f"is no section{did_you_mean(key, SECTIONS)}")
        if not any(name in self._top for name in SECTIONS):
            self._fault("", "holds neither sources nor agents nor tasks nor groups")
        sources = self._parsed("sources", "source_id", lambda entry, _: parse_source(entry, self._base))
        agents = self._parsed("agents", "agent_id", parse_agent)
        tasks = self._parsed("tasks", "profile_id", lambda entry, _: parse_profile(entry))
        groups = self._parsed("groups", "group", parse_group)
        self._check_groups(groups)
        self._check_supersession()
        self._check_domains()
        for path, profile in tasks.items():
            for fault in task_faults(profile, tasks.values()):
                self._fault(f"{path}.{fault.path}", fault.message)
        refuse(self._faults)
        sections = frozenset(name for name in SECTIONS if name in self._top)
        return Registry(
            sources=tuple(sources.values()),
            agents=tuple(agents.values()),
            tasks=tuple(tasks.values()),
            groups=tuple(groups.values()),
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

    def _check_groups(self, groups: Mapping[str, Group]) -> None:
        """Check for two spellings of one name, and for groups that are in themselves."""
        paths: dict[str, str] = {}
        for path, group in groups.items():
            if paths.setdefault(group.name, path) != path:
                before = self._marked.line(f"{paths[group.name]}.group")
                name = repr(group.name.removeprefix("group:"))
                self._fault(
                    f"{path}.group",
                    msg("{name} stands twice; it is on line {before} already", name=name, before=before),
                )
        if circle := circle_in({one.name: one.members for one in groups.values()}):
            at = f"{paths[circle]}.members" if circle in paths else "groups"
            self._fault(at, msg("{group} would be in itself", group=circle))

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
    if registry.groups:
        shown["groups"] = [group_to_wire(one) for one in registry.groups]
    return yaml.dump(shown, Dumper=_Dumper, allow_unicode=True, sort_keys=False, width=100)


def _spoken(source: Source) -> dict[str, Any]:
    """The fields of a source that differ from their defaults, and always its trust."""
    plain = source_to_wire(Source(source_id=source.source_id))
    told = shown_source(source)
    return {k: v for k, v in told.items() if k in ("source_id", "type", "trust_level") or v != plain[k]}
