"""From claims to a person, and from a person to what they may do."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

from wenyuan.core.access import RIGHTS, Principal
from wenyuan.core.errors import InvalidRequest, NotPermitted, msg
from wenyuan.core.person import Person, stands_for_itself
from wenyuan.core.principals import MAX_NAMES, parse_groups, parse_user
from wenyuan.core.roles import rights_of
from wenyuan.issuer.tokens import TokenRefused
from wenyuan.oidc_settings import GroupGrant, OidcSettings

_LONGEST_NAME = 100
_LONGEST_GROUP = 512
_ABSENT = object()


def person_of(claims: Mapping[str, Any], settings: OidcSettings, scopes: frozenset[str] | None) -> Person:
    """The person of whom verified claims speak.

    Raises:
        TokenRefused: what bears on what they may see is missing or not understood.
    """
    return Person(
        issuer=settings.issuer,
        subject=str(claims["sub"]),
        name=_display(claim(claims, settings.name_claim)),
        user=_user(claims, settings),
        member_of=_member_of(claims, settings),
        scopes=scopes,
        client="" if scopes is None else _client(claims, settings),
        until=float(claims["exp"]),
    )


def claim(claims: Mapping[str, Any], path: str) -> object:
    """A claim by its name, or by the names on the way to it with dots between them; `_ABSENT` for none."""
    if path in claims:
        return claims[path]
    at: object = claims
    for name in path.split("."):
        if not isinstance(at, Mapping) or name not in at:
            return _ABSENT
        at = at[name]
    return at


def _display(value: object) -> str:
    plain = " ".join(value.split()) if isinstance(value, str) else ""
    return "".join(one for one in plain if one.isprintable())[:_LONGEST_NAME]


def _user(claims: Mapping[str, Any], settings: OidcSettings) -> str:
    if not settings.user_claim:
        return ""
    value = claim(claims, settings.user_claim)
    if settings.user_claim == "email" and claims.get("email_verified") is not True:
        raise TokenRefused("the issuer has not verified the address of the token's subject")
    if not isinstance(value, str) or not stands_for_itself(value):
        raise TokenRefused(msg("the claim {name} names nobody", name=settings.user_claim))
    try:
        return parse_user(f"user:{value}")
    except InvalidRequest:
        raise TokenRefused(msg("the claim {name} names nobody", name=settings.user_claim)) from None


def _member_of(claims: Mapping[str, Any], settings: OidcSettings) -> frozenset[str]:
    """The groups that claims name; refused where they are not said, since somebody may be denied something by one."""
    path = settings.groups_claim
    if not path:
        return frozenset()
    value = claim(claims, path)
    elsewhere = claims.get("_claim_names")
    if claims.get("hasgroups") is not None or (isinstance(elsewhere, Mapping) and path in elsewhere):
        raise TokenRefused("the token does not hold all groups of its subject")
    if value is _ABSENT:
        if settings.groups_optional or _of_program(claims, settings):
            return frozenset()
        raise TokenRefused(msg("the token has no claim {name}", name=path))
    entries = [value] if isinstance(value, str) else value
    if not isinstance(entries, list) or not all(isinstance(one, str) for one in entries):
        raise TokenRefused(msg("the claim {name} is no list of names", name=path))
    if len(entries) > MAX_NAMES:
        raise TokenRefused(msg("the claim {name} has more than {most} names", name=path, most=MAX_NAMES))
    if not all(0 < len(one) <= _LONGEST_GROUP and stands_for_itself(one) and one.isprintable() for one in entries):
        raise TokenRefused(msg("the claim {name} has a name that could stand for another", name=path))
    return frozenset(entries)


def _client(claims: Mapping[str, Any], settings: OidcSettings) -> str:
    """The program that a token was given to; "" where that is not told, or no rights depend on it."""
    value = claim(claims, settings.client_claim) if settings.clients else ""
    return value if isinstance(value, str) else ""


def _of_program(claims: Mapping[str, Any], settings: OidcSettings) -> bool:
    """Whether a token is one of a program that acts for itself, of which no groups are told."""
    grant = settings.clients.get(_client(claims, settings))
    return grant is not None and grant.groups_optional


def principal_of(person: Person, settings: OidcSettings) -> Principal:
    """What a person may do, by the mapping as it is now.

    Raises:
        NotPermitted: their groups bind them to different agents.
    """
    grants = [settings.groups[name] for name in sorted(person.member_of & settings.groups.keys())]
    if person.client in settings.clients:
        grants.append(settings.clients[person.client])
    whole = rights = rights_of(settings.everyone).union(*(_rights(grant) for grant in grants))
    wider: tuple[tuple[str, str], ...] = ()
    if settings.scopes and person.scopes is not None:
        rights = _narrowed(whole, _by_scope(person.scopes, settings))
        wider = tuple(_wider(whole, rights, person.scopes, settings))
    agents = {grant.agent for grant in grants if grant.agent}
    if len(agents) > 1:
        raise NotPermitted("groups of this person are bound to different agents")
    return Principal(
        key_id=person.person_id,
        agent_id=next(iter(agents), None),
        rights=rights,
        user=person.user,
        groups=_readers(person.member_of).union(*(grant.groups for grant in grants)),
        wider=wider,
    )


def _rights(grant: GroupGrant) -> frozenset[str]:
    return rights_of(grant.roles) | frozenset(grant.rights)


def _by_scope(scopes: frozenset[str], settings: OidcSettings) -> frozenset[str]:
    return rights_of(role for scope in scopes & settings.scopes.keys() for role in settings.scopes[scope])


def _narrowed(rights: frozenset[str], by: frozenset[str]) -> frozenset[str]:
    """The rights that both have; ``admin`` has all."""
    whole = frozenset(RIGHTS)
    both = (whole if "admin" in rights else rights) & (whole if "admin" in by else by)
    return both if "admin" in both else both - {"admin"}


def _wider(
    whole: frozenset[str], held: frozenset[str], scopes: frozenset[str], settings: OidcSettings
) -> Iterator[tuple[str, str]]:
    """The rights that narrower scopes took away, each with the scopes for which a token must be given to have it too.

    Of several scopes that would do, that which gives least is named.
    """
    of_scope = {name: rights_of(roles) for name, roles in settings.scopes.items()}
    kept = {*settings.required_scopes, *(scopes & of_scope.keys())}
    for right in RIGHTS:
        if not _has(whole, right) or _has(held, right):
            continue
        doing = [
            (len(RIGHTS) if "admin" in rights else len(rights), name)
            for name, rights in of_scope.items()
            if _has(rights, right)
        ]
        if doing:
            yield right, " ".join(sorted({*kept, min(doing)[1]}))


def _has(rights: frozenset[str], right: str) -> bool:
    return right in rights or "admin" in rights


@lru_cache(256)
def _readers(member_of: frozenset[str]) -> frozenset[str]:
    """Groups as names of readers; one that no list can name, such as one with a space, is none."""
    found: set[str] = set()
    for name in member_of:
        try:
            found |= parse_groups([f"group:{name}"])
        except InvalidRequest:
            continue
    return frozenset(found)
