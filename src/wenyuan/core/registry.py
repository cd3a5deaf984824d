"""The registry as a file: which sources and agents a library has, read, written and compared.

::

    sources:
      - {source_id: crm_policy, path: ./policies, trust_level: 5, refresh_cycle: daily}
    agents:
      - {agent_id: support, knowledge_scope: [{domain: crm_policy, top_k: 3}]}

A section that is not there is not managed by the file. Every fault is told at once, with its line.
"""

from __future__ import annotations

import json
import os.path
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import Any, Literal

import yaml

from wenyuan.core.agents import Agent, agent_to_wire, parse_agent
from wenyuan.core.copyright import parse_copyright
from wenyuan.core.errors import Fault, InvalidRequest
from wenyuan.core.marked import Marked, load_marked, refuse
from wenyuan.core.model import Source
from wenyuan.core.refresh import parse_cycle
from wenyuan.core.suggest import did_you_mean
from wenyuan.core.text import fold
from wenyuan.core.validity import Validity, effective_ends, parse_date, parse_status

__all__ = [
    "Change",
    "Entry",
    "Plan",
    "Registry",
    "diff",
    "parse_registry",
    "parse_source",
    "registry_to_yaml",
    "source_to_wire",
    "supersession_faults",
]

Kind = Literal["source", "agent"]
_SECTIONS = ("sources", "agents")
_SENSITIVITIES = {
    "public": "public", "internal": "internal", "confidential": "confidential", "restricted": "restricted",
    "公开": "public", "内部": "internal", "机密": "confidential", "受限": "restricted",
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Registry:
    """Sources and agents, of a file or of a library.

    Attributes:
        sections: Which of the two it speaks for; what is not in such a section is missing from it.
    """

    sources: tuple[Source, ...] = ()
    agents: tuple[Agent, ...] = ()
    sections: frozenset[str] = frozenset(_SECTIONS)


@dataclass(frozen=True, slots=True)
class Entry:
    """A source or an agent, by id."""

    kind: Kind
    id: str


@dataclass(frozen=True, slots=True)
class Change:
    """One field that differs; values as they stand in a file."""

    kind: Kind
    id: str
    field: str
    old: Any
    new: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What it takes to make a library what a file says.

    Attributes:
        wanted: The file.
        missing: What the library has and the file does not name.
    """

    wanted: Registry
    added: tuple[Entry, ...] = ()
    changed: tuple[Change, ...] = ()
    unchanged: tuple[Entry, ...] = ()
    missing: tuple[Entry, ...] = ()

    @property
    def changed_entries(self) -> tuple[Entry, ...]:
        return tuple(dict.fromkeys(Entry(change.kind, change.id) for change in self.changed))


# --- one source -----------------------------------------------------------------------------------------
def source_to_wire(source: Source) -> dict[str, Any]:
    """A source's fields as they stand in a file; `parse_source` reads it back."""
    return {
        "source_id": source.source_id,
        "title": source.title,
        "type": source.type,
        "path": source.path,
        "trust_level": source.trust,
        "domain": source.domain,
        "collection": source.collection,
        "language": source.language,
        "refresh_cycle": source.refresh_cycle,
        "copyright": source.copyright,
        "owner": source.owner,
        "sensitivity": source.sensitivity,
        "tags": list(source.tags),
        "status": source.status,
        "effective_from": _iso(source.effective_from),
        "effective_until": _iso(source.effective_until),
        "supersedes": list(source.supersedes),
        "settings": dict(source.settings),
    }


def _iso(day: date | None) -> str | None:
    return None if day is None else day.isoformat()


def parse_source(value: Mapping[str, Any], base: Path | None = None) -> Source:
    """A source from its wire form; null means not given.

    Args:
        value: ``trust`` is accepted for ``trust_level``, and fields of `Copyright` for ``copyright``.
        base: The folder from which a ``path`` is meant.

    Raises:
        InvalidRequest: listing every fault.
    """
    faults: list[Fault] = []
    fields: dict[str, Any] = {}
    spelled: dict[str, str] = {}
    for key, given in value.items():
        name = _NAMES.get(key)
        if name is None:
            faults.append(Fault(key, f"is no field of a source{did_you_mean(key, _NAMES)}"))
        elif name in spelled:
            faults.append(Fault(key, f"says the same as {spelled[name]}; write one of them"))
        elif given is not None:
            spelled[name] = key
            try:
                fields[name] = _absolute(given, base) if name == "path" else _READERS[name](given)
            except InvalidRequest as error:
                faults += error.faults
            except ValueError as error:
                faults.append(Fault(key, str(error)))
    if "source_id" not in spelled:
        faults.append(Fault("source_id", "is missing"))
    try:
        source = Source(**{"source_id": "unknown", **fields})
    except InvalidRequest as error:
        faults += [Fault(spelled.get(fault.path, fault.path), fault.message) for fault in error.faults]
    if faults:
        raise InvalidRequest("; ".join(f"{f.path}: {f.message}" for f in faults), faults=tuple(faults))
    return source


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(f"must be text, not {_kind(value)}")
    return _storable(value)


def _storable(text: str) -> str:
    if "\0" in text or text.encode("utf-8", "replace").decode() != text:
        raise ValueError("holds what is no character")
    return text


def _kind(value: Any) -> str:
    words = {bool: "true or false", int: "a number", float: "a number", list: "a list", dict: "a mapping"}
    return words.get(type(value), "null")


def _texts(value: Any) -> tuple[str, ...]:
    if not isinstance(value, (list, tuple)) or not all(isinstance(item, str) for item in value):
        raise ValueError("must be a list of texts")
    return tuple(map(_storable, value))


def _given(value: Any) -> Any:
    return value


def _day(value: Any) -> date | None:
    if value == "":
        return None
    try:
        return parse_date(value)
    except ValueError as error:
        raise ValueError(f"{value!r} is no day of the calendar; write YYYY-MM-DD") from error


def _status(value: Any) -> str:
    return parse_status(_text(value))


def _sensitivity(value: Any) -> str:
    found = _SENSITIVITIES.get(fold(_text(value)).strip())
    if found is None:
        choices = ", ".join(dict.fromkeys(_SENSITIVITIES.values()))
        raise ValueError(f"is {value!r}; it must be one of {choices}{did_you_mean(value, _SENSITIVITIES)}")
    return found


def _cycle(value: Any) -> str:
    parse_cycle(_text(value))
    return str(value)


def _copyright(value: Any) -> str:
    terms = parse_copyright(value)
    return _text(value) if isinstance(value, str) else terms.short()


def _settings(value: Any) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise ValueError(f"must be a mapping, not {_kind(value)}")
    try:
        _storable(json.dumps(value, ensure_ascii=False, allow_nan=False))
    except (TypeError, ValueError) as error:
        raise ValueError("holds what JSON cannot say") from error
    return dict(value)


def _absolute(value: Any, base: Path | None) -> str:
    text = _text(value)
    if text.startswith("~"):
        raise ValueError("begins with '~', which stands for another folder with every user; write it out")
    return os.path.normpath(base / text) if base is not None and text else text


_READERS: Mapping[str, Callable[[Any], Any]] = {
    "source_id": _text, "title": _text, "type": _text, "trust": _given, "domain": _text, "collection": _text,
    "language": _text, "owner": _text, "tags": _texts, "supersedes": _texts, "status": _status, "settings": _settings,
    "sensitivity": _sensitivity, "refresh_cycle": _cycle, "copyright": _copyright, "effective_from": _day,
    "effective_until": _day,
}  # fmt: skip
_NAMES: Mapping[str, str] = {"trust_level": "trust", "path": "path", **{name: name for name in _READERS}}


def supersession_faults(sources: Iterable[Source], others: Iterable[Source] = ()) -> tuple[Fault, ...]:
    """What is wrong with who supersedes whom: unknown ids and loops; the fault's path is the source's id.

    Args:
        others: Sources that may be named and may close a loop, whose own unknown ids are not our business.
    """
    first = {source.source_id: source for source in reversed(list(sources))}
    rest = {source.source_id: source for source in others if source.source_id not in first}
    known = first.keys() | rest.keys()
    closed = [replace(s, supersedes=tuple(old for old in s.supersedes if old in known)) for s in rest.values()]
    try:
        effective_ends([_validity(source) for source in [*first.values(), *closed]], undated=date.min)
    except InvalidRequest as error:
        return error.faults
    return ()


def _validity(source: Source) -> Validity:
    return Validity(id=source.source_id, effective_from=source.effective_from, supersedes=source.supersedes)


# --- a file ---------------------------------------------------------------------------------------------
def parse_registry(text: str, base: Path, *, library: Sequence[Source] = ()) -> Registry:
    """The registry that a YAML (or JSON) text describes.

    Args:
        text: The file's content.
        base: Its folder; a relative ``path`` is meant from there.
        library: Sources that a library has already and that the file may refer to without naming them.

    Raises:
        InvalidRequest: listing every fault as a `LineFault`.
    """
    return _File(load_marked(text), base, library).registry()


class _File:
    """One reading of a file: collects faults from all of it."""

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
            self._fault("", "holds neither sources nor agents")
        sources = self._parsed("sources", "source_id", lambda entry, _: parse_source(entry, self._base))
        agents = self._parsed("agents", "agent_id", parse_agent)
        self._check_supersession(sources)
        self._check_domains()
        refuse(self._faults)
        sections = frozenset(name for name in _SECTIONS if name in self._top)
        return Registry(sources=tuple(sources.values()), agents=tuple(agents.values()), sections=sections)

    def _fault(self, path: str, message: str) -> None:
        self._faults.append(self._marked.at(Fault(path, message)))

    def _entries(self, section: str, *, quiet: bool = False) -> list[tuple[str, dict[str, Any]]]:
        """The mappings of a section with their paths, text as it was written (``no`` is a language, too)."""
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
        """What a section holds, by path."""
        found = {}
        seen: dict[str, str] = {}
        for path, entry in self._entries(section):
            name = entry.get(id_key)
            if isinstance(name, str) and seen.setdefault(name, path) != path:
                before = self._marked.line(f"{seen[name]}.{id_key}")
                self._fault(f"{path}.{id_key}", f"{name!r} stands twice; it is on line {before} already")
            try:
                found[path] = parse(entry, path)
            except InvalidRequest as error:
                for fault in error.faults:
                    at = fault.path if fault.path.startswith(path) else f"{path}.{fault.path}"
                    self._fault(at, fault.message)
        return found

    def _check_supersession(self, sources: Mapping[str, Source]) -> None:
        broken = [Source(source_id=n) for n in self._names() - {s.source_id for s in sources.values()}]
        paths = {source.source_id: path for path, source in sources.items()}
        for fault in supersession_faults(sources.values(), [*self._others, *broken]):
            self._fault(f"{paths[fault.path]}.supersedes" if fault.path in paths else "sources", fault.message)

    def _names(self) -> set[str]:
        """Ids that the file gives, as far as they are ids: a source with a fault is known nevertheless."""
        named = (str(entry.get("source_id")) for _, entry in self._entries("sources", quiet=True))
        return {name for name in named if not _id_faults(name)}

    def _check_domains(self) -> None:
        domains = {source.domain for source in self._others}
        domains |= {str(e.get("domain") or e.get("source_id")) for _, e in self._entries("sources", quiet=True)}
        for path, entry in self._entries("agents", quiet=True):
            scope = entry.get("knowledge_scope")
            for i, wanted in enumerate(scope if isinstance(scope, list) else ()):
                domain = wanted.get("domain") if isinstance(wanted, dict) else None
                if isinstance(domain, str) and domain and domain not in domains:
                    at = f"{path}.knowledge_scope[{i}].domain"
                    self._fault(at, f"no source has the domain {domain!r}{did_you_mean(domain, domains)}")


_NOT_TEXT = ("trust_level", "trust", "settings", "min_trust", "allow_low_trust", "token_budget")


def _id_faults(name: str) -> bool:
    try:
        Source(source_id=name)
    except InvalidRequest:
        return True
    return False


class _Dumper(yaml.SafeDumper):
    def ignore_aliases(self, data: Any) -> bool:
        return True


def registry_to_yaml(registry: Registry) -> str:
    """The file that describes a registry; `parse_registry` reads the same registry from it."""
    shown: dict[str, Any] = {"sources": [_spoken(source) for source in registry.sources]}
    if registry.agents:
        shown["agents"] = [agent_to_wire(agent) for agent in registry.agents]
    return yaml.dump(shown, Dumper=_Dumper, allow_unicode=True, sort_keys=False, width=100)


def _spoken(source: Source) -> dict[str, Any]:
    """The fields that say something; the trust always does."""
    plain = source_to_wire(Source(source_id=source.source_id))
    told = source_to_wire(source)
    return {k: v for k, v in told.items() if k in ("source_id", "type", "trust_level") or v != plain[k]}


# --- two registries -------------------------------------------------------------------------------------
def diff(state: Registry, wanted: Registry) -> Plan:
    """What differs between what a library has and what a file says, in the sections that the file has."""
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
    return found | {Entry("agent", agent.agent_id): agent_to_wire(agent) for agent in registry.agents}
