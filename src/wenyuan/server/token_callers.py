"""Callers who are told by an issuer's tokens, or who have signed in at the console."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from wenyuan.core.access import Principal
from wenyuan.core.errors import KnowledgeError
from wenyuan.core.person import Person
from wenyuan.issuer.console_sessions import SignedIn, is_session
from wenyuan.issuer.issuer_keys import IssuerKeys
from wenyuan.issuer.login import Login
from wenyuan.issuer.mapping import GroupMapping
from wenyuan.issuer.persons import person_of, principal_of
from wenyuan.issuer.tokens import TokenRefused, TokenRules, UnknownKey, looks_like_token, scopes_of, verify
from wenyuan.oidc_settings import OidcSettings
from wenyuan.server.pool import Pool
from wenyuan.server.problems import Problem

_log = logging.getLogger("wenyuan.server")
METADATA = "/.well-known/oauth-protected-resource"
"""Where clients learn who gives tokens for this server (RFC 9728)."""


def challenge(settings: OidcSettings, **said: str) -> dict[str, str]:
    """The header that says to a client how to get a token, and what was wrong with the one it had (RFC 6750, RFC 9728)."""
    told = dict(said)
    if settings.address and settings.audience:
        told["resource_metadata"] = settings.address.rstrip("/") + METADATA
    shown = ", ".join(f'{name}="{value}"' for name, value in told.items())
    return {"WWW-Authenticate": f"Bearer {shown}".strip()}


class TokenCallers:
    """Principals of bearers' tokens.

    Signatures are checked in threads of its own, and the issuer is asked by one more, so that neither keeps the event loop
    or the bearers of keys waiting.

    Args:
        folder: Of the library, whose settings say what groups may do.
        met: Called in a thread with each person before they are admitted.
        clock: Seconds since the epoch.
    """

    def __init__(
        self,
        settings: OidcSettings,
        folder: Path | None = None,
        *,
        keys: IssuerKeys | None = None,
        met: Callable[[Person], None] = lambda person: None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.settings = settings
        self.keys = keys or IssuerKeys(settings)
        self.login = Login(settings, self.keys, clock) if settings.client_id else None
        self.signed_in = SignedIn(clock, settings.session_checked, self.login.renew if self.login else None)
        self.mapping = GroupMapping(settings, folder)
        self._met = met
        self._clock = clock
        self._rules = TokenRules(
            issuer=settings.issuer,
            audiences=settings.audience,
            algorithms=settings.algorithms,
            leeway=settings.leeway,
            most=settings.max_token,
        )
        self._checking = Pool(4, 256)
        self._renewing = Pool(4, 64)
        self._asking = Pool(1, 4)
        self._refreshing: asyncio.Task[None] | None = None

    def takes(self, credential: str) -> bool:
        """Whether a credential has the form of one that is checked here."""
        return is_session(credential) or looks_like_token(credential)

    async def principal(self, credential: str) -> Principal:
        """Who sends a credential.

        Raises:
            Problem: 401, it does not count; 403, it was given for less; 503, its issuer cannot be asked.
            NotPermitted: their groups contradict each other.
        """
        try:
            if is_session(credential):
                pool = self._renewing if self.signed_in.due(credential) else self._checking
                return await pool.run(lambda: self._of_session(credential))
            return await self._of_token(credential)
        except TokenRefused as refused:
            raise self._refusal(refused.reason) from None

    def unauthenticated(self, detail: str) -> Problem:
        """401 where nothing was sent that could count."""
        return Problem(401, "unauthenticated", detail, headers=challenge(self.settings))

    def _refusal(self, reason: str) -> Problem:
        said = challenge(self.settings, error="invalid_token", error_description=str(reason).replace('"', "'"))
        return Problem(401, "unauthenticated", reason, headers=said)

    async def _of_token(self, token: str) -> Principal:
        if not self._rules.audiences:
            raise TokenRefused("this server takes no tokens: it has no audience for which they would be")
        if self.keys.held() is None:
            await self._refresh()
        elif self.keys.stale:
            self._begin_refresh()
        try:
            return await self._checking.run(lambda: self._checked(token))
        except UnknownKey:
            if not self.keys.may_ask:
                if self.keys.failure is not None:  # the key may be a new one, of which nobody can tell
                    await self._refresh()
                raise
            await self._refresh()
        return await self._checking.run(lambda: self._checked(token))

    def _checked(self, token: str) -> Principal:
        claims = verify(token, self.keys.current(), self._rules, self._clock())
        settings = self.mapping.now()
        scopes = scopes_of(claims)
        if not set(settings.required_scopes) <= scopes:
            wanted = " ".join(settings.required_scopes)
            said = challenge(self.settings, error="insufficient_scope", scope=wanted)
            raise Problem(
                403, "not_permitted", "the token was not given for the scopes that are needed", headers=said
            )
        return self._admitted(person_of(claims, settings, scopes), settings)

    def _of_session(self, credential: str) -> Principal:
        person = self.signed_in.person(credential)
        if person is None:
            raise TokenRefused("this session is over")
        return self._admitted(person, self.mapping.now())

    def _admitted(self, person: Person, settings: OidcSettings) -> Principal:
        principal = principal_of(person, settings)
        try:
            self._met(person)
        except KnowledgeError as error:  # records name them all the same, by an id that is always theirs
            _log.warning("who %s is could not be written down: %s", person.person_id, error)
        return principal

    async def _refresh(self) -> None:
        """Fetch the keys, or wait for whoever does; IssuerUnavailable where they cannot be fetched."""
        await asyncio.shield(self._begin_refresh())

    def _begin_refresh(self) -> asyncio.Task[None]:
        if self._refreshing is None or self._refreshing.done():
            self._refreshing = asyncio.create_task(self._fetch())
            self._refreshing.add_done_callback(_told)
        return self._refreshing

    async def _fetch(self) -> None:
        await self._asking.run(self.keys.refresh)


def _told(task: asyncio.Task[None]) -> None:
    if not task.cancelled() and isinstance(error := task.exception(), KnowledgeError):
        _log.warning("the keys of the issuer could not be fetched: %s", error)


def token_callers(
    settings: OidcSettings, folder: Path | None, met: Callable[[Person], None] = lambda person: None
) -> TokenCallers | None:
    """The callers of an issuer's tokens; None where no issuer is set.

    Raises:
        ConfigError: what verifies signatures is not installed.
    """
    return TokenCallers(settings, folder, met=met) if settings.issuer else None


def protected_resource(settings: OidcSettings, path: str) -> Mapping[str, object]:
    """What a client must know to get a token (RFC 9728).

    Args:
        path: Of the resource: ``""`` for all of the server, ``/mcp`` for that door.
    """
    scopes = sorted({*settings.required_scopes, *settings.scopes})
    return {
        "resource": settings.address.rstrip("/") + path,
        "authorization_servers": [settings.issuer],
        "bearer_methods_supported": ["header"],
        **({"scopes_supported": scopes} if scopes else {}),
    }
