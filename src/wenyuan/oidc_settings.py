"""Settings of signing in: the issuer, what its tokens must say, and what its groups may do."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal, Self
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, SecretStr, model_validator
from pydantic_core import PydanticCustomError

from wenyuan.core.access import ID, RIGHTS
from wenyuan.core.errors import InvalidRequest
from wenyuan.core.principals import parse_groups
from wenyuan.core.roles import ROLES

Algorithm = Literal[
    "RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA", "Ed25519"
]
"""None of them is made with a secret that both sides know."""


def _one_of(known: Mapping[str, object] | tuple[str, ...]) -> AfterValidator:
    def check(name: str) -> str:
        if name not in known:
            raise PydanticCustomError("literal_error", f"Input should be one of {', '.join(known)}")
        return name

    return AfterValidator(check)


def _groups(names: tuple[str, ...]) -> tuple[str, ...]:
    try:
        return tuple(sorted(parse_groups(names)))
    except InvalidRequest as error:
        raise PydanticCustomError("groups", "{why}", {"why": str(error)}) from None


def _agent(name: str) -> str:
    if name and not ID.fullmatch(name):
        raise PydanticCustomError("agent", "must be 1-64 letters, digits, '_', '.', '-'")
    return name


def _address(url: str) -> str:
    """An address to which a path can be added; ``""`` for none."""
    try:
        parts = urlsplit(url)
        whole = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        whole = False
    plain = url.isascii() and url.isprintable() and not any(one in url for one in " \\\"'<>")
    if url and not (whole and plain and not parts.query and not parts.fragment and "@" not in parts.netloc):
        raise PydanticCustomError("address", "must be an http or https address without query, fragment or user name")
    return url


Address = Annotated[str, AfterValidator(_address)]
Role = Annotated[str, _one_of(ROLES)]
Right = Annotated[str, _one_of(RIGHTS)]


class GroupGrant(BaseModel):
    """What members of a group may do."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    roles: tuple[Role, ...] = ()
    rights: tuple[Right, ...] = ()  # besides those of the roles
    agent: Annotated[str, AfterValidator(_agent)] = ""  # whose knowledge scope they see, and no more
    groups: Annotated[tuple[str, ...], AfterValidator(_groups)] = ()  # of readers, besides its own name


class ClientGrant(GroupGrant):
    """What a program may do, whoever it acts for, besides what that person may."""

    groups_optional: bool = False  # whether its tokens may lack the claim of groups, since it acts for itself


class OidcSettings(BaseModel):
    """Who is told by an issuer of OpenID Connect; without an issuer nobody is."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    issuer: Address = ""  # exactly as it calls itself
    address: Address = ""  # of this server, as browsers and clients reach it
    audience: tuple[str, ...] = ()  # what tokens for the API must be meant for; none: it takes no tokens
    algorithms: tuple[Algorithm, ...] = Field(default=("RS256", "PS256", "ES256", "EdDSA"), min_length=1)
    leeway: float = Field(default=30.0, ge=0, le=60)  # seconds that clocks may differ
    max_token: int = Field(default=16_384, ge=1_024, le=49_152)  # bytes of a token
    timeout: float = Field(default=5.0, gt=0, le=30)  # seconds in which the issuer must have answered
    keys_kept: float = Field(
        default=3_600.0, ge=60, le=86_400
    )  # seconds that its keys count while it does not answer
    allow_private: bool = False  # whether it may lie on this machine or in a private network, and speak plain HTTP
    user_claim: str = "sub"  # as whom documents are read; empty: as nobody
    name_claim: str = "name"  # what people call somebody
    groups_claim: str = ""  # where groups stand; empty: nowhere
    groups_optional: bool = False  # whether a token without that claim is one of somebody without groups
    everyone: tuple[Role, ...] = ()  # roles of everybody whom the issuer knows
    groups: Mapping[str, GroupGrant] = {}
    client_claim: str = "client_id"  # where a token says which program it was given to
    clients: Mapping[str, ClientGrant] = {}  # by what that claim says
    required_scopes: tuple[str, ...] = ()  # that a token for the API must have
    scopes: Mapping[str, tuple[Role, ...]] = {}  # roles to which a scope narrows a token; none: nothing narrows
    client_id: str = ""  # of the console at the issuer; empty: nobody signs in there by it
    client_secret: SecretStr = SecretStr("")  # better given as WENYUAN_OIDC__CLIENT_SECRET
    login_scopes: tuple[str, ...] = ("openid", "profile")  # that the console asks for
    userinfo: bool = False  # whether the console asks the issuer for claims that its tokens do not hold
    session: float = Field(default=28_800.0, ge=300, le=43_200)  # seconds until one has to sign in again
    session_checked: float = Field(
        default=3_600.0, ge=60, le=43_200
    )  # seconds after which the issuer is asked again who somebody at the console is, and in which groups
    console_keys: bool = True  # whether keys may sign in at the console, too
    label: str = Field(default="", max_length=60)  # how people call the issuer

    @model_validator(mode="after")
    def _whole(self) -> Self:
        if not self.issuer and (self.audience or self.client_id):
            raise PydanticCustomError("oidc", "audience and client_id need an issuer")
        if self.client_id and not self.address:
            raise PydanticCustomError("oidc", "client_id needs address: where browsers come back to")
        if self.client_id and "openid" not in self.login_scopes:
            raise PydanticCustomError("oidc", "login_scopes must have openid")
        if self.issuer.startswith("http:") and not self.allow_private:
            raise PydanticCustomError("oidc", "an issuer without https needs allow_private")
        if not self.console_keys and not self.client_id:
            raise PydanticCustomError("oidc", "without client_id nobody could sign in where keys may not")
        return self
