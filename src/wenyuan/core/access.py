"""Access control: agents, keys and rights."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from typing import Any, Literal

from wenyuan.core.errors import Fault, InvalidRequest, NotPermitted, listed, msg
from wenyuan.core.principals import Sight, parse_represented, sight_of

# Callers and what they may see: agents with their knowledge scope, and keys with their rights.


ON_BEHALF_OF = "on_behalf_of"
RIGHTS = ("retrieve", "search", "ingest", "registry", "audit", "erase", ON_BEHALF_OF, "admin")
"""What a key may be allowed to do; ``admin`` includes all others. ``on_behalf_of``: to say for whom it asks."""

AUTO: Literal["auto"] = "auto"
CONFIDENCE: Literal["confidence"] = "confidence"
TOKEN_BUDGET = 2_000
LONGEST_KEY_NAME = 100
"""Characters."""
"""The most tokens that a context may hold where nothing else is said, whoever makes it."""
MAX_DOMAINS = 32
MAX_TOP_K = 100
ID = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.\-]{0,63}")


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
        user: With whose eyes it reads documents, ``user:li``; "" for nobody's.
        groups: Names of the groups that whoever has it belongs to, ``group:hr`` each.
        created_at, expires_at, revoked_at: Seconds since the epoch; None for never.
    """

    key_id: str
    agent_id: str | None
    rights: frozenset[str]
    created_at: float
    expires_at: float | None = None
    revoked_at: float | None = None
    name: str = ""
    user: str = ""
    groups: frozenset[str] = frozenset()

    def described(self) -> dict[str, Any]:
        """What is said of it to whoever may see keys, as JSON values."""
        return {
            "key_id": self.key_id,
            "name": self.name,
            "agent_id": self.agent_id,
            "rights": sorted(self.rights),
            "user": self.user,
            "groups": sorted(self.groups),
            "created_at": self.created_at,
            "expires_at": self.expires_at,
            "revoked_at": self.revoked_at,
        }


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


class MissingRight(NotPermitted):
    """A right that a caller does not have.

    Args:
        scope: What the caller's token must be given for to have it; "" where no token would help.
    """

    def __init__(self, right: str, scope: str = "") -> None:
        super().__init__(
            msg("the token was not given for what this needs: it must have the scopes {scopes}", scopes=scope)
            if scope
            else msg("this needs a key with the right {right}", right=repr(right))
        )
        self.scope = scope


@dataclass(frozen=True, slots=True, kw_only=True)
class Principal:
    """The authenticated caller of a request. Created only where a credential was checked, or where none is needed
    (loopback).

    Attributes:
        agent_id: The agent it acts for and is bound to; None: any.
        key_id: For the audit; ``local`` when no key was needed.
        user, groups: See `Key`.
        on_behalf_of: Names of whom it asks for, somebody and their groups; see `acting_for`.
        wider: Rights that its token was not given for though its bearer has them, each with the scopes for which one must be.
    """

    key_id: str = "local"
    agent_id: str | None = None
    rights: frozenset[str] = field(default_factory=lambda: frozenset(RIGHTS))
    user: str = ""
    groups: frozenset[str] = frozenset()

    on_behalf_of: frozenset[str] = frozenset()
    wider: tuple[tuple[str, str], ...] = field(default=(), compare=False)

    @property
    def sight(self) -> Sight | None:
        """With whose eyes it reads documents: what it acts for somebody, both may read. None for an administrator, who sees all."""
        own = None if "admin" in self.rights else frozenset({self.user, *self.groups} - {""})
        return sight_of(own, self.on_behalf_of) if self.on_behalf_of else None if own is None else sight_of(own)

    @property
    def person(self) -> str:
        """Whom it acts for, ``user:li``; "" where for itself."""
        return next((name for name in self.on_behalf_of if name.startswith("user:")), "")

    @property
    def actor(self) -> str:
        """The name of who did something: the key, and for whom."""
        return f"{self.key_id} ({self.person})" if self.on_behalf_of else self.key_id

    def may(self, right: str) -> bool:
        """Whether it has a right. Who acts for somebody administers nothing, and lends the name to nobody else."""
        if self.on_behalf_of and right in (ON_BEHALF_OF, "admin"):
            return False
        return right in self.rights or "admin" in self.rights

    def need(self, right: str) -> None:
        """MissingRight where it does not have a right."""
        if not self.may(right):
            raise MissingRight(right, dict(self.wider).get(right, ""))

    def acting_for(self, names: object) -> Principal:
        """This caller on behalf of somebody: it sees what both may read, and has no right that it does not have by itself.

        Args:
            names: ``user:li``, or a list of that and of the groups that they are in, ``group:hr``. Somebody of whom nothing is
                known reads what a person without groups does.

        Raises:
            NotPermitted: it has no right to say so.
            InvalidRequest: these are no names, or not of one person.
        """
        self.need(ON_BEHALF_OF)
        return replace(self, on_behalf_of=parse_represented(names))


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
    if not isinstance(agent_id, str) or not ID.fullmatch(agent_id):
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
