"""The public keys of an issuer: fetched when they are needed, again when they change, and kept for a while when they cannot be."""

from __future__ import annotations

import base64
import math
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from wenyuan.core.errors import ConfigError, KnowledgeError
from wenyuan.core.person import IssuerUnavailable
from wenyuan.issuer.issuer_http import COMPONENT, IssuerHttp
from wenyuan.issuer.metadata import IssuerMetadata, fetch_metadata
from wenyuan.oidc_settings import OidcSettings
from wenyuan.runtime.installation import install_command

FRESH = 300.0
"""Seconds after which the keys are fetched again, beside the answering."""
BETWEEN = 5.0
"""Seconds that lie at least between two requests for the keys, whatever tokens say."""
_MOST_BYTES = 512 * 1024
_MOST_KEYS = 100
_RSA_BITS = (2_048, 8_192)
_LONGEST_EXPONENT = 32  # bits
_KINDS: Mapping[tuple[str, str], tuple[str, ...]] = {
    ("RSA", ""): ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512"),
    ("EC", "P-256"): ("ES256",),
    ("EC", "P-384"): ("ES384",),
    ("EC", "P-521"): ("ES512",),
    ("OKP", "Ed25519"): ("EdDSA", "Ed25519"),
}
"""By kind and curve of a key, the algorithms that it can verify."""
_MEMBERS = {"RSA": ("n", "e"), "EC": ("crv", "x", "y"), "OKP": ("crv", "x")}


@dataclass(frozen=True, slots=True)
class PublicKey:
    """A key that verifies signatures.

    Attributes:
        kid: As tokens name it; "" where it has no name.
        algorithms: Those that it may be used with.
    """

    kid: str
    algorithms: tuple[str, ...]
    key: Any


@dataclass(frozen=True, slots=True)
class KeySnapshot:
    """Keys, what the issuer said of itself then, and when they were fetched (`time.monotonic`)."""

    keys: tuple[PublicKey, ...]
    metadata: IssuerMetadata
    at: float

    def candidates(self, kid: str | None, algorithm: str) -> tuple[PublicKey, ...]:
        """The keys that a token may be signed with; one that names none needs the only one that fits."""
        fit = tuple(key for key in self.keys if algorithm in key.algorithms)
        if kid is None:
            return fit if len(fit) == 1 else ()
        return tuple(key for key in fit if key.kid == kid)


class IssuerKeys:
    """Keeps an issuer's keys. Thread-safe; `refresh` waits for the network, nothing else does.

    Args:
        clock: Seconds that never go back.
    """

    def __init__(
        self, settings: OidcSettings, http: IssuerHttp | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        require_library()
        self._settings = settings
        self.http = http or IssuerHttp(timeout=settings.timeout, allow_private=settings.allow_private)
        self._clock = clock
        self._asking = threading.Lock()
        self._held: KeySnapshot | None = None
        self._asked = -math.inf
        self._failure: KnowledgeError | None = None

    def held(self) -> KeySnapshot | None:
        """The keys as long as they count; None where they must be fetched first."""
        kept = self._held
        return kept if kept is not None and self._clock() - kept.at <= self._settings.keys_kept else None

    @property
    def stale(self) -> bool:
        """Whether it is time to fetch them again."""
        return (self._held is None or self._clock() - self._held.at >= FRESH) and self.may_ask

    @property
    def may_ask(self) -> bool:
        """Whether the issuer has not been asked just now."""
        return self._clock() - self._asked >= BETWEEN

    @property
    def failure(self) -> KnowledgeError | None:
        """Why the last request for the keys failed; None when it did not."""
        return self._failure

    def current(self) -> KeySnapshot:
        """The keys that count, fetched where there are none.

        Raises:
            IssuerUnavailable: there are none, and they cannot be fetched.
        """
        return self.held() or self.refresh()

    def refresh(self) -> KeySnapshot:
        """Fetch the keys; who comes while somebody does, or just after, gets what was fetched then.

        Raises:
            IssuerUnavailable: they cannot be fetched. Those that were fetched before count on, for a while.
        """
        with self._asking:
            if self.may_ask:
                self._fetch()
            if self._failure is not None:
                raise IssuerUnavailable(
                    self._failure.message, component=self._failure.component, hint=self._failure.hint
                ) from self._failure
            assert self._held is not None
            return self._held

    def _fetch(self) -> None:
        self._asked = self._clock()
        settings = self._settings
        try:
            metadata = fetch_metadata(self.http, settings.issuer, allow_http=settings.allow_private)
            keys = read_keys(self.http.get(metadata.jwks_uri, _MOST_BYTES))
            if not keys:
                raise IssuerUnavailable("it has no key that can verify a signature", component=COMPONENT)
            self._held, self._failure = KeySnapshot(keys, metadata, self._clock()), None
        except KnowledgeError as error:
            self._failure = error
        finally:
            self._asked = self._clock()


def require_library() -> None:
    """ConfigError with the command that installs it, where what verifies signatures is missing."""
    try:
        import joserfc  # noqa: F401
    except ImportError:
        raise ConfigError(
            "oidc.issuer is set, and what verifies its signatures is not installed",
            component="settings",
            hint=install_command("oidc"),
        ) from None


def read_keys(told: Mapping[str, Any]) -> tuple[PublicKey, ...]:
    """The keys of a JSON Web Key Set (RFC 7517) that can verify signatures; others are left out, as are those too weak.

    Raises:
        IssuerUnavailable: it is none.
    """
    entries = told.get("keys")
    if not isinstance(entries, list) or len(entries) > _MOST_KEYS:
        raise IssuerUnavailable("what it gives for keys is no set of keys", component=COMPONENT)
    return tuple(key for key in map(_key, entries) if key is not None)


def _key(entry: Any) -> PublicKey | None:
    if not isinstance(entry, dict) or entry.get("use", "sig") != "sig":
        return None
    operations = entry.get("key_ops", ["verify"])
    kind, curve, kid = entry.get("kty"), entry.get("crv", ""), entry.get("kid", "")
    if not (isinstance(kind, str) and isinstance(curve, str) and isinstance(kid, str) and len(kid) <= 256):
        return None
    usable = _KINDS.get((kind, curve), ())
    if "alg" in entry:
        usable = tuple(one for one in usable if one == entry["alg"])
    if not usable or not isinstance(operations, list) or "verify" not in operations:
        return None
    members = {name: entry.get(name) for name in _MEMBERS[kind]}
    if not all(isinstance(value, str) and len(value) <= 1_400 for value in members.values()):
        return None
    if kind == "RSA" and not _RSA_BITS[0] <= _bits(str(members["n"])) <= _RSA_BITS[1]:
        return None
    if kind == "RSA" and not 2 <= _bits(str(members["e"])) <= _LONGEST_EXPONENT:
        return None
    key = _imported({"kty": kind, **members})
    return None if key is None else PublicKey(kid, usable, key)


def _bits(written: str) -> int:
    """Of a number that is written in base64url; 0 for none."""
    try:
        content = base64.b64decode(written + "=" * (-len(written) % 4), altchars=b"-_", validate=True)
    except ValueError:
        return 0
    return int.from_bytes(content, "big").bit_length()


def _imported(members: Mapping[str, Any]) -> Any:
    """The key of these public members; None where they are none."""
    from joserfc.errors import JoseError
    from joserfc.jwk import JWKRegistry

    try:
        return JWKRegistry.import_key(dict(members))
    except (JoseError, ValueError, TypeError, OverflowError):
        return None


def algorithms_of(keys: Sequence[PublicKey]) -> tuple[str, ...]:
    """The algorithms that some keys can verify, for people to read."""
    return tuple(sorted({name for key in keys for name in key.algorithms}))
