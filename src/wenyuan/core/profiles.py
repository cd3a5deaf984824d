"""What a kind of task is about, as an operator says it: the domains and the terms that fit it.

A profile lifts what fits (`fuse.Topic`); it hides nothing and widens nobody's rights.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from wenyuan.core.errors import Fault, InvalidRequest
from wenyuan.core.suggest import did_you_mean

__all__ = ["TaskProfile", "parse_profile", "profile_of", "profile_to_wire", "task_faults"]

MOST = 64
"""Tasks, domains or terms of one profile."""
MOST_CHARS = 200
_ID = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.\-]{0,63}")


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskProfile:
    """What tasks of one kind are about.

    Attributes:
        tasks: Ids of tasks that it counts for; one that ends in ``*`` stands for all that begin so.
        domains: Knowledge domains in which such tasks look first.
        terms: What such tasks speak of, in any language.
    """

    profile_id: str
    title: str = ""
    tasks: tuple[str, ...]
    domains: tuple[str, ...] = ()
    terms: tuple[str, ...] = ()


def profile_of(profiles: Iterable[TaskProfile], task_id: str) -> TaskProfile | None:
    """The profile that names a task most exactly; None when none does."""
    found = [(pattern, profile) for profile in profiles for pattern in profile.tasks if _meets(pattern, task_id)]
    return max(found, key=lambda pair: (not pair[0].endswith("*"), len(pair[0])))[1] if found else None


def _meets(pattern: str, task_id: str) -> bool:
    return task_id.startswith(pattern[:-1]) if pattern.endswith("*") else task_id == pattern


def task_faults(profile: TaskProfile, others: Iterable[TaskProfile]) -> tuple[Fault, ...]:
    """Two profiles that name a task alike would leave it open which counts."""
    taken = {task: one.profile_id for one in others if one.profile_id != profile.profile_id for task in one.tasks}
    return tuple(
        Fault(f"tasks[{at}]", f"{task!r} has the profile {taken[task]!r} already")
        for at, task in enumerate(profile.tasks)
        if task in taken
    )


def parse_profile(value: Mapping[str, Any]) -> TaskProfile:
    """A profile from its wire form; without `tasks` it counts for all whose ids begin with its own.

    Raises:
        InvalidRequest: listing every fault.
    """
    known = ("profile_id", "title", "tasks", "domains", "terms")
    faults = [Fault(str(name), f"unknown{did_you_mean(str(name), known)}") for name in value if name not in known]
    profile_id, title = value.get("profile_id"), value.get("title", "")
    if not isinstance(profile_id, str) or not _ID.fullmatch(profile_id):
        faults.append(Fault("profile_id", "must be 1-64 letters, digits, '_', '.', '-'"))
    if not isinstance(title, str):
        faults.append(Fault("title", "must be a string"))
    tasks = _texts(value, "tasks", faults) or (f"{profile_id}*",)
    domains, terms = _texts(value, "domains", faults), _texts(value, "terms", faults)
    faults += [
        Fault(f"tasks[{at}]", "may hold * only at its end") for at, task in enumerate(tasks) if "*" in task[:-1]
    ]
    if not faults and not (domains or terms):
        faults.append(Fault("terms", "a profile needs a domain or a term"))
    if faults:
        raise InvalidRequest("; ".join(f"{f.path} {f.message}" for f in faults), faults=tuple(faults))
    return TaskProfile(profile_id=str(profile_id), title=title, tasks=tasks, domains=domains, terms=terms)


def _texts(value: Mapping[str, Any], name: str, faults: list[Fault]) -> tuple[str, ...]:
    """Texts without doubles, in the order in which they were given."""
    given = value.get(name, ())
    if not isinstance(given, Sequence) or isinstance(given, str):
        faults.append(Fault(name, "must be an array of strings"))
        return ()
    if len(given) > MOST:
        faults.append(Fault(name, f"has {len(given)} entries; at most {MOST}"))
    wrong = [
        at for at, text in enumerate(given) if not isinstance(text, str) or not 0 < len(text.strip()) <= MOST_CHARS
    ]
    faults += [Fault(f"{name}[{at}]", f"must be a string of 1 to {MOST_CHARS} characters") for at in wrong]
    return () if wrong else tuple(dict.fromkeys(text.strip() for text in given))


def profile_to_wire(profile: TaskProfile) -> dict[str, Any]:
    """What `parse_profile` reads."""
    return {
        "profile_id": profile.profile_id,
        "title": profile.title,
        "tasks": list(profile.tasks),
        "domains": list(profile.domains),
        "terms": list(profile.terms),
    }
