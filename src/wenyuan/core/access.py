"""Access control: agents, keys and rights, task profiles, and masking of secrets in settings."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any, Literal

from wenyuan.core.errors import Fault, InvalidRequest, did_you_mean, listed, msg

# Callers and what they may see: agents with their knowledge scope, and keys with their rights.


RIGHTS = ("retrieve", "search", "ingest", "registry", "audit", "admin")
"""What a key may be allowed to do; ``admin`` includes all others."""

AUTO: Literal["auto"] = "auto"
CONFIDENCE: Literal["confidence"] = "confidence"
TOKEN_BUDGET = 2_000
LONGEST_KEY_NAME = 100
"""Characters."""
"""The most tokens that a context may hold where nothing else is said, whoever makes it."""
MAX_DOMAINS = 32
MAX_TOP_K = 100
_ID = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.\-]{0,63}")


@dataclass(frozen=True, slots=True, kw_only=True)
class DomainScope:
    """A knowledge domain, and how many of its passages an answer may hold.

    Attributes:
        top_k: ``"auto"``: decided by the scores; ``"confidence"``: as many as a calibrated judge finds sufficient.
    """

    domain: str
    top_k: int | Literal["auto", "confidence"] = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Agent:
    """A registered agent.

    Attributes:
        knowledge_scope: The domains it may ask, with their top_k. Requests may narrow it, never widen it.
        min_trust: Passages of lower trust are never found for it.
        allow_low_trust: Whether passages of trust below 3 may be injected into its prompts.
        token_budget: The most tokens that one context may hold.
    """

    agent_id: str
    title: str = ""
    knowledge_scope: tuple[DomainScope, ...] = ()
    min_trust: int = 1
    allow_low_trust: bool = False
    token_budget: int = TOKEN_BUDGET


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """An API key without its secret, bound to an agent (None: an operator's key) and to rights.

    Attributes:
        name: What people call it, "" for nothing; several keys may have the same.
        created_at, expires_at, revoked_at: Seconds since the epoch; None for never.
    """

    key_id: str
    agent_id: str | None
    rights: frozenset[str]
    created_at: float
    expires_at: float | None = None
    revoked_at: float | None = None
    name: str = ""


def parse_key_name(name: str) -> str:
    """The name of a key, with white space in one form; InvalidRequest where it is too long or no line of text."""
    plain = " ".join(name.split())
    if len(plain) > LONGEST_KEY_NAME:
        why = msg("must have at most {max_length} characters", max_length=LONGEST_KEY_NAME)
    elif not plain.isprintable():
        why = msg("must hold no control characters")
    else:
        return plain
    raise _bad([Fault("name", why)])


@dataclass(frozen=True, slots=True, kw_only=True)
class Principal:
    """The authenticated caller of a request. Created only where a credential was checked, or where none is needed
    (loopback).

    Attributes:
        agent_id: The agent it acts for and is bound to; None: any.
        key_id: For the audit; ``local`` when no key was needed.
    """

    key_id: str = "local"
    agent_id: str | None = None
    rights: frozenset[str] = field(default_factory=lambda: frozenset(RIGHTS))

    def may(self, right: str) -> bool:
        return right in self.rights or "admin" in self.rights


def parse_scope(value: object, path: str = "knowledge_scope") -> tuple[DomainScope, ...]:
    """Parse a knowledge scope, ``[{"domain": …, "top_k": 3 | "auto" | "confidence"}]``.

    Raises:
        InvalidRequest: listing every fault.
    """
    if not isinstance(value, Sequence) or isinstance(value, str) or not value:
        raise _bad([Fault(path, "must be a non-empty array")])
    if len(value) > MAX_DOMAINS:
        raise _bad(
            [
                Fault(
                    path, msg("has {count} domains; at most {max_domains}", count=len(value), max_domains=MAX_DOMAINS)
                )
            ]
        )
    faults: list[Fault] = []
    scopes = [_domain_scope(entry, f"{path}[{i}]", faults) for i, entry in enumerate(value)]
    names = [scope.domain for scope in scopes]
    faults += [
        Fault(path, msg("domain {name} stands twice", name=repr(n))) for n in sorted(set(names)) if names.count(n) > 1
    ]
    if faults:
        raise _bad(faults)
    return tuple(scopes)


def _domain_scope(entry: object, path: str, faults: list[Fault]) -> DomainScope:
    if not isinstance(entry, Mapping):
        faults.append(Fault(path, "must be an object with domain and top_k"))
        return DomainScope(domain=path)
    _unknown(entry, ("domain", "top_k"), path, faults)
    domain, top_k = entry.get("domain"), entry.get("top_k", 3)
    if not isinstance(domain, str) or not domain:
        faults.append(Fault(f"{path}.domain", "must be a non-empty string"))
        domain = path
    if top_k not in (AUTO, CONFIDENCE) and (type(top_k) is not int or not 1 <= top_k <= MAX_TOP_K):
        faults.append(
            Fault(
                f"{path}.top_k",
                msg('must be an integer from 1 to {max_top_k}, "auto" or "confidence"', max_top_k=MAX_TOP_K),
            )
        )
        top_k = 1
    return DomainScope(domain=domain, top_k=top_k)


_AGENT_FIELDS = ("agent_id", "title", "knowledge_scope", "min_trust", "allow_low_trust", "token_budget")


def parse_agent(value: Mapping[str, Any], path: str = "") -> Agent:
    """Parse an agent; InvalidRequest lists every fault."""
    faults: list[Fault] = []
    at = f"{path}." if path else ""
    _unknown(value, _AGENT_FIELDS, path, faults)
    agent_id, title = value.get("agent_id"), value.get("title", "")
    if not isinstance(agent_id, str) or not _ID.fullmatch(agent_id):
        faults.append(Fault(f"{at}agent_id", "must be 1-64 letters, digits, '_', '.', '-'"))
    if not isinstance(title, str):
        faults.append(Fault(f"{at}title", "must be a string"))
    min_trust, low = value.get("min_trust", 1), value.get("allow_low_trust", False)
    budget = value.get("token_budget", TOKEN_BUDGET)
    if type(min_trust) is not int or not 1 <= min_trust <= 5:
        faults.append(Fault(f"{at}min_trust", "must be an integer from 1 to 5"))
    if type(low) is not bool:
        faults.append(Fault(f"{at}allow_low_trust", "must be true or false"))
    if type(budget) is not int or not 50 <= budget <= 100_000:
        faults.append(Fault(f"{at}token_budget", "must be an integer from 50 to 100000"))
    scope: tuple[DomainScope, ...] = ()
    try:
        scope = parse_scope(value.get("knowledge_scope"), f"{at}knowledge_scope")
    except InvalidRequest as error:
        faults += error.faults
    if faults:
        raise _bad(faults)
    return Agent(
        agent_id=str(agent_id), title=str(title), knowledge_scope=scope, min_trust=min_trust,
        allow_low_trust=low, token_budget=budget,
    )  # fmt: skip


def agent_to_wire(agent: Agent) -> dict[str, Any]:
    """The inverse of `parse_agent`."""
    return {
        "agent_id": agent.agent_id,
        "title": agent.title,
        "knowledge_scope": [{"domain": s.domain, "top_k": s.top_k} for s in agent.knowledge_scope],
        "min_trust": agent.min_trust,
        "allow_low_trust": agent.allow_low_trust,
        "token_budget": agent.token_budget,
    }


def _unknown(entry: Mapping[str, Any], known: Sequence[str], path: str, faults: list[Fault]) -> None:
    for name in entry:
        if name not in known:
            near = get_close_matches(str(name), known, n=1)
            faults.append(
                Fault(
                    f"{path}.{name}".strip("."),
                    msg("unknown{near}", near=msg("; did you mean {near}?", near=repr(near[0])) if near else ""),
                )
            )


def _bad(faults: list[Fault]) -> InvalidRequest:
    return InvalidRequest(listed(faults), faults=tuple(faults))


# What looks like a secret among names and values: it is not stored with a source, not exported, not audited.


HIDDEN = "***"

_NAME = re.compile(
    r"secret|token|passw|passphrase|pwd|credential|authori[sz]ation|cookie|(?:api|access|private)[_\-]?key"
    r"|(?:^|[_\-.])(?:key|auth|signature)\Z|密钥|秘钥|口令|密码|令牌",
    re.IGNORECASE,
)
_NO_SECRETS = frozenset({"token_budget", "tokens"})
_VALUE = re.compile(
    r"wy_[0-9a-f]{8}_[A-Za-z0-9_\-]+"
    r"|(?<=://)[^/\s@]{1,256}(?=@)"
    r"|(?<=[Bb]earer )[A-Za-z0-9._~+/=\-]{8,}"
    r"|(?<![A-Za-z0-9])sk-[A-Za-z0-9_\-]{16,}"
    r"|-----BEGIN [A-Z ]*PRIVATE KEY-----[^-]*(?:-----END [A-Z ]*PRIVATE KEY-----)?"
)
_PARAMETER = re.compile(
    r"([?&](?:[A-Za-z_\-]*(?:key|token|secret|password|passwd|pwd|auth|sig|signature))=)[^&#\s]+", re.IGNORECASE
)
_OTHERS_NAMES = frozenset({"columns", "filter", "redaction"})
"""Settings whose members are named by others: a column may be called ``key``."""
_BY_OTHERS = frozenset(f"settings.{name}" for name in _OTHERS_NAMES)


def scrubbed(name: str, value: Any) -> Any:
    """A value with secrets masked as ``***``; a changed secret thus shows as ``***`` → ``***``.

    Args:
        name: Name of the value; for some names, any value is a secret. A name that ends in ``_env`` holds the name of
            an environment variable, which is shown.
    """
    if isinstance(value, list):
        return [scrubbed(name, item) for item in value]
    if value is None or _is_secret(name):
        return None if value is None else HIDDEN
    if isinstance(value, Mapping):
        return {n: scrubbed(n, v) for n, v in value.items()}
    if isinstance(value, str):
        return _PARAMETER.sub(rf"\g<1>{HIDDEN}", _VALUE.sub(HIDDEN, value))
    return value


def shown_settings(settings: Mapping[str, Any]) -> dict[str, Any]:
    """A source's settings with secrets masked. Settings that pass `secret_faults` are unchanged."""
    return {
        name: _texts_scrubbed(value) if name in _OTHERS_NAMES else scrubbed(name, value)
        for name, value in settings.items()
    }


def _texts_scrubbed(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _texts_scrubbed(item) for name, item in value.items()}
    return [_texts_scrubbed(item) for item in value] if isinstance(value, list) else scrubbed("", value)


def secret_faults(settings: Mapping[str, Any]) -> tuple[Fault, ...]:
    """Faults for secrets in a source's settings, which belong in environment variables."""
    return tuple(_faults(settings, "settings"))


def _faults(value: Any, path: str, *, named: bool = True) -> Iterator[Fault]:
    if isinstance(value, Mapping):
        for name, item in value.items():
            at = f"{path}.{name}"
            if named and _is_secret(str(name)) and item is not None:
                yield Fault(at, "would hold a secret; put it into an environment variable, and name that in key_env")
            else:
                yield from _faults(item, at, named=named and at not in _BY_OTHERS)
    elif isinstance(value, (list, tuple)):
        for i, item in enumerate(value):
            yield from _faults(item, f"{path}[{i}]", named=named)
    elif isinstance(value, str) and scrubbed("", value) != value:
        yield Fault(path, "holds a secret; put it into an environment variable, and name that in key_env or dsn_env")


def _is_secret(name: str) -> bool:
    return name not in _NO_SECRETS and not name.endswith("_env") and _NAME.search(name) is not None


# What a kind of task is about, as an operator says it: the domains and the terms that fit it.
#
# A profile lifts what fits (`core.scoring.fusion.Topic`); it hides nothing and widens nobody's rights.


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
