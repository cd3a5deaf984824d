"""What a kind of task is about, as an operator says it: the domains and the terms that fit it.

A profile lifts what fits (`core.scoring.fusion.Topic`); it hides nothing and widens nobody's rights.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from wenyuan.core.access import ID
from wenyuan.core.errors import Fault, InvalidRequest, did_you_mean, listed, msg

MOST = 64
"""Tasks, domains or terms of one profile."""
MOST_CHARS = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskProfile:
    """The subject of a kind of task, used to rank its results.

    Attributes:
        tasks: Ids of the tasks that it applies to; one that ends in ``*`` is a prefix.
        domains: Knowledge domains preferred for such tasks.
        terms: Terms typical of such tasks, in any language.
    """

    profile_id: str
    title: str = ""
    tasks: tuple[str, ...]
    domains: tuple[str, ...] = ()
    terms: tuple[str, ...] = ()


def profile_of(profiles: Iterable[TaskProfile], task_id: str) -> TaskProfile | None:
    """The profile with the most specific pattern for a task id; None when none matches."""
    found = [(pattern, profile) for profile in profiles for pattern in profile.tasks if _meets(pattern, task_id)]
    return max(found, key=lambda pair: (not pair[0].endswith("*"), len(pair[0])))[1] if found else None


def _meets(pattern: str, task_id: str) -> bool:
    return task_id.startswith(pattern[:-1]) if pattern.endswith("*") else task_id == pattern


def task_faults(profile: TaskProfile, others: Iterable[TaskProfile]) -> tuple[Fault, ...]:
    """Faults for task patterns that are in two profiles, so that neither is the more specific."""
    taken = {task: one.profile_id for one in others if one.profile_id != profile.profile_id for task in one.tasks}
    return tuple(
        Fault(f"tasks[{at}]", msg("{task} has the profile {taken} already", task=repr(task), taken=repr(taken[task])))
        for at, task in enumerate(profile.tasks)
        if task in taken
    )


def parse_profile(value: Mapping[str, Any]) -> TaskProfile:
    """Parse a task profile. Without `tasks` it applies to all task ids that start with its own id.

    Raises:
        InvalidRequest: listing every fault.
    """
    known = ("profile_id", "title", "tasks", "domains", "terms")
    faults = [
        Fault(str(name), msg("unknown{near}", near=did_you_mean(str(name), known)))
        for name in value
        if name not in known
    ]
    profile_id, title = value.get("profile_id"), value.get("title", "")
    if not isinstance(profile_id, str) or not ID.fullmatch(profile_id):
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
        raise InvalidRequest(listed(faults), faults=tuple(faults))
    return TaskProfile(profile_id=str(profile_id), title=title, tasks=tasks, domains=domains, terms=terms)


def _texts(value: Mapping[str, Any], name: str, faults: list[Fault]) -> tuple[str, ...]:
    """Texts without duplicates, in their order."""
    given = value.get(name, ())
    if not isinstance(given, Sequence) or isinstance(given, str):
        faults.append(Fault(name, "must be an array of strings"))
        return ()
    if len(given) > MOST:
        faults.append(Fault(name, msg("has {count} entries; at most {most}", count=len(given), most=MOST)))
    wrong = [
        at for at, text in enumerate(given) if not isinstance(text, str) or not 0 < len(text.strip()) <= MOST_CHARS
    ]
    faults += [
        Fault(f"{name}[{at}]", msg("must be a string of 1 to {most_chars} characters", most_chars=MOST_CHARS))
        for at in wrong
    ]
    return () if wrong else tuple(dict.fromkeys(text.strip() for text in given))


def profile_to_wire(profile: TaskProfile) -> dict[str, Any]:
    """The inverse of `parse_profile`."""
    return {
        "profile_id": profile.profile_id,
        "title": profile.title,
        "tasks": list(profile.tasks),
        "domains": list(profile.domains),
        "terms": list(profile.terms),
    }
