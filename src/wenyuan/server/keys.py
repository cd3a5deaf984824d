"""Who calls, and what they may do."""

from __future__ import annotations

import re
import time
from asyncio import to_thread
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from starlette.requests import Request
from starlette.responses import Response

from wenyuan.core.access import Key, MissingRight, Principal
from wenyuan.core.errors import ConfigError, NotPermitted, msg
from wenyuan.core.principals import reading_as
from wenyuan.server.pool import Pool
from wenyuan.server.problems import Problem
from wenyuan.server.request_origin import is_loopback
from wenyuan.server.route import Handler
from wenyuan.server.service_port import is_no_key, open_on_loopback
from wenyuan.server.token_callers import TokenCallers, challenge
from wenyuan.service.audit.recorder import ACTING

_FRESH = 0.5
"""Seconds after which it is asked again whether there are any keys, as long as there are none."""
_TOKEN = re.compile(r"wy_[0-9a-f]{8}_[A-Za-z0-9_\-]{43}")


class Keys(Protocol):
    """Storage of API keys; `catalog.catalog.Catalog` implements it."""

    def keys(self) -> Sequence[Key]: ...

    def key_of_token(self, token: str) -> Key | None: ...


class KeyRing:
    """Checks ``Authorization: Bearer wy_…``; implements `Authenticate`.

    Args:
        keys: Asked in threads, never on the event loop.
        open_without_keys: Whether everybody may do everything as long as there is no unrevoked key. Once there was
            one, keys are required until the server restarts: to revoke the last key must not open the door.
        tokens: Checks bearers' credentials that are no keys; with it, nobody is admitted without a credential.
        clock: Seconds since the epoch.
        ticks: Seconds that never go back.
    """

    def __init__(
        self,
        keys: Keys,
        *,
        open_without_keys: bool,
        tokens: TokenCallers | None = None,
        clock: Callable[[], float] = time.time,
        ticks: Callable[[], float] = time.monotonic,
    ) -> None:
        self._keys = keys
        self._needed = not open_without_keys or tokens is not None
        self._tokens = tokens
        self._looked = float("-inf")
        self._clock = clock
        self._ticks = ticks
        self._pool = Pool(2, 256)

    async def __call__(self, headers: Mapping[str, str]) -> Principal:
        """The principal of a request.

        Raises:
            Problem: 401, no key or none that counts; 503, too many wait to be checked.
            NotPermitted: no key is needed, but the host name is a foreign one.
            CatalogError: the keys cannot be read, so no request is admitted.
        """
        given = [value for name, value in headers.items() if name == "authorization"]
        credential = _bearer(given)
        if self._tokens is not None and self._tokens.takes(credential):
            return await self._tokens.principal(credential)
        if all(map(is_no_key, given)) and not await self._keys_needed():
            open_on_loopback(headers)
            return Principal()
        key = await self._key(credential)
        if key is None or key.revoked_at is not None or (key.expires_at or float("inf")) <= self._clock():
            if self._tokens is not None:
                raise self._tokens.unauthenticated(
                    "an API key or a token is needed: Authorization: Bearer wy_…, or a token of the issuer"
                )
            raise Problem.unauthenticated("an API key is needed: Authorization: Bearer wy_…, not revoked or expired")
        return Principal(
            key_id=key.key_id, agent_id=key.agent_id, rights=key.rights, user=key.user, groups=key.groups
        )

    def forget(self) -> None:
        """After a change of the keys: ask again whether there are any. Whether one counts is asked for each request."""
        self._looked = float("-inf")

    def challenge(self, refused: MissingRight) -> Mapping[str, str]:
        """The headers by which a client learns what its token must be given for; none where no token would help."""
        if self._tokens is None or not refused.scope:
            return {}
        return challenge(self._tokens.settings, error="insufficient_scope", scope=refused.scope)

    async def _keys_needed(self) -> bool:
        if not self._needed and self._ticks() - self._looked >= _FRESH:
            begun = self._ticks()
            found = await self._pool.run(self._keys.keys)
            self._needed = self._needed or any(key.revoked_at is None for key in found)
            self._looked = begun
        return self._needed

    async def _key(self, credential: str) -> Key | None:
        if not _TOKEN.fullmatch(credential):
            return None
        return await self._pool.run(lambda: self._keys.key_of_token(credential))


def _bearer(given: Sequence[str]) -> str:
    """The credential of the only ``Authorization`` header; ``""`` for none of a bearer."""
    scheme, _, credential = given[0].partition(" ") if len(given) == 1 else ("", "", "")
    return credential.strip(" ") if scheme.lower() == "bearer" else ""


def key_ring(keys: Keys, host: str, tokens: TokenCallers | None = None) -> KeyRing:
    """The authentication for a server that listens on `host`.

    Args:
        tokens: See `KeyRing`.

    Raises:
        ConfigError: others than this machine can reach it, and there is neither an issuer nor a key that counts.
    """
    if is_loopback(host) or tokens is not None:
        return KeyRing(keys, open_without_keys=True, tokens=tokens)
    now, held = time.time(), keys.keys()
    if not any(key.revoked_at is None and (key.expires_at or float("inf")) > now for key in held):
        raise ConfigError(
            msg(
                "{host} is not a loopback address, and the library has no API keys: nobody could be told "
                "from anybody",
                host=host,
            ),
            component="server",
            hint="make a key first: wenyuan key create --rights retrieve,search; or keep to 127.0.0.1",
        )
    return KeyRing(keys, open_without_keys=False)


def guarded(
    right: str | None,
    handler: Handler,
    *,
    instead: str | None = None,
    filtered: bool = True,
    hides: Callable[[], bool] = lambda: False,
) -> Handler:
    """Wrap a handler: the caller needs `right`, reads documents with their own eyes, and changes are recorded as theirs.

    Args:
        instead: Another right that will do.
        filtered: Whether all that it reads is without documents that are hidden from the caller; else it is refused to whom
            something is hidden from.
        hides: Whether something is hidden from those with whose eyes is read; it may wait for a database.
    """
    if right is None:
        return handler

    async def checked(request: Request) -> Response:
        principal = request.state.principal
        if not isinstance(principal, Principal):
            raise MissingRight(right)
        if not (instead and principal.may(instead)):
            principal.need(right)
        acting = ACTING.set(principal)  # the threads that work for this request take it over
        try:
            with reading_as(principal.sight):
                if filtered or principal.sight is None:
                    return await handler(request)
                if await to_thread(hides):
                    raise NotPermitted(
                        "documents are hidden from this key: this needs one that sees all, as an administrator's does"
                    )
            return await handler(request)
        finally:
            ACTING.reset(acting)

    return checked
