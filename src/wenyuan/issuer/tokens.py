"""Tokens of an issuer: JSON Web Tokens (RFC 7519), signed by one of its keys, and for us.

What a token says of itself is not believed before its signature is checked, except which of the issuer's own keys it
names; addresses of keys in it are never read.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from wenyuan.core.contract import read_object
from wenyuan.core.errors import msg
from wenyuan.issuer.issuer_keys import KeySnapshot

_FORM = re.compile(r"[A-Za-z0-9_\-]+\.[A-Za-z0-9_\-]*\.[A-Za-z0-9_\-]*")
_LIKE = re.compile(r"[A-Za-z0-9_\-=]*(?:\.[A-Za-z0-9_\-=]*){2,}")
_ACCESS_TYPES = ("jwt", "at+jwt", "application/at+jwt")
_LOGIN_TYPES = ("jwt",)
_OTHER_USES = ("ID", "Refresh", "Offline", "Logout")
_OF_A_LOGIN = ("nonce", "at_hash", "c_hash")
"""What only the tokens say that tell a client who has signed in."""
MOST_AUDIENCES = 100
LONGEST_SUBJECT = 255


class TokenRefused(Exception):
    """A token that does not count, with the reason: without anything that it says."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class UnknownKey(TokenRefused):
    """A token that names none of the keys that are known; the issuer may have others by now."""


def looks_like_token(credential: str) -> bool:
    """Whether a bearer's credential has the form of a token rather than of a key: parts with dots between them."""
    return _LIKE.fullmatch(credential) is not None


@dataclass(frozen=True, slots=True)
class TokenRules:
    """What a token must say.

    Attributes:
        audiences: It must be meant for one of them.
        leeway: Seconds that clocks may differ.
        most: Bytes of a token.
        login: Whether it tells a client who has signed in (an ID token); else it is one for an API.
        nonce: Of the sign-in that it must belong to.
        subject: Of whom it must speak, as one that renews a sign-in does; "" for anybody. It needs no nonce then.
    """

    issuer: str
    audiences: tuple[str, ...]
    algorithms: tuple[str, ...]
    leeway: float
    most: int
    login: bool = False
    nonce: str = ""
    subject: str = ""


def verify(token: str, held: KeySnapshot, rules: TokenRules, now: float) -> dict[str, Any]:
    """The claims of a token that counts.

    Args:
        now: Seconds since the epoch.

    Raises:
        UnknownKey: it names none of the keys.
        TokenRefused: it does not count.
    """
    if len(token) > rules.most:
        raise TokenRefused(msg("the token has more than {most} bytes", most=rules.most))
    if token.count(".") == 4:
        raise TokenRefused("the token is encrypted, which is not taken")
    if not _FORM.fullmatch(token):
        raise TokenRefused("the token does not have the form of one")
    header = _part(token.partition(".")[0], "the token's header is no JSON object with each name once")
    algorithm = _check_header(header, rules)
    kid = header.get("kid")
    keys = held.candidates(kid, algorithm)
    if not keys:
        raise UnknownKey("the token names no key of the issuer")
    if not any(_signed(token, algorithm, one.key) for one in keys):
        raise TokenRefused("the token's signature is wrong")
    claims = _part(token.split(".")[1], "the token's content is no JSON object with each name once")
    check_claims(claims, rules, now)
    return claims


def _part(encoded: str, why: str) -> dict[str, Any]:
    try:
        padded = encoded + "=" * (-len(encoded) % 4)
        return read_object(base64.b64decode(padded, altchars=b"-_", validate=True))
    except (ValueError, binascii.Error, RecursionError):
        raise TokenRefused(why) from None


def _check_header(header: Mapping[str, Any], rules: TokenRules) -> str:
    """The algorithm that a header names."""
    algorithm, kind, kid = header.get("alg"), header.get("typ", "JWT"), header.get("kid")
    if not isinstance(algorithm, str) or algorithm not in rules.algorithms:
        raise TokenRefused("the token's algorithm is none of those that are taken")
    if "crit" in header or "b64" in header or "enc" in header or "zip" in header:
        raise TokenRefused("the token's header asks for what is not done here")
    if "cty" in header:
        raise TokenRefused("the token holds another one")
    if kid is not None and (not isinstance(kid, str) or not kid or len(kid) > 256):
        raise TokenRefused("the token's key name is none")
    types = _LOGIN_TYPES if rules.login else _ACCESS_TYPES
    if not isinstance(kind, str) or kind.lower() not in types:
        raise TokenRefused("the token is one for another use")
    return algorithm


def _signed(token: str, algorithm: str, key: Any) -> bool:
    from joserfc.errors import JoseError
    from joserfc.jws import JWSRegistry

    signing, _, signature = token.rpartition(".")
    method = JWSRegistry.algorithms[algorithm]
    try:
        method.check_key(key)
        given = base64.b64decode(signature + "=" * (-len(signature) % 4), altchars=b"-_", validate=True)
        return method.verify(signing.encode(), given, key)
    except (JoseError, ValueError, TypeError):
        return False


def check_claims(claims: Mapping[str, Any], rules: TokenRules, now: float) -> None:
    """Refuse claims of another issuer, for another audience, use or time.

    Raises:
        TokenRefused: with the first reason.
    """
    if claims.get("iss") != rules.issuer:
        raise TokenRefused("the token is of another issuer")
    _check_use(claims, rules)
    audiences = _texts(claims.get("aud"))
    if audiences is None or len(audiences) > MOST_AUDIENCES or not set(audiences) & set(rules.audiences):
        raise TokenRefused("the token is for another audience")
    _check_times(claims, rules.leeway, now)
    subject = claims.get("sub")
    if not (isinstance(subject, str) and 0 < len(subject) <= LONGEST_SUBJECT and subject.isprintable()):
        raise TokenRefused("the token does not say who its subject is")
    if rules.login:
        if rules.subject and subject != rules.subject:
            raise TokenRefused("the token is of somebody else")
        if not rules.subject and (claims.get("nonce") != rules.nonce or not rules.nonce):
            raise TokenRefused("the token belongs to another sign-in")
        party = claims.get("azp")
        if (party is not None or len(audiences) > 1) and party not in rules.audiences:
            raise TokenRefused("the token was made for another client")


def _check_use(claims: Mapping[str, Any], rules: TokenRules) -> None:
    if "cnf" in claims and not rules.login:
        raise TokenRefused("the token is bound to a key of its holder, which cannot be checked here")
    other = claims.get("typ") in _OTHER_USES or any(name in claims for name in _OF_A_LOGIN)
    if not rules.login and (other or "events" in claims):
        raise TokenRefused("the token is one for another use")


def _check_times(claims: Mapping[str, Any], leeway: float, now: float) -> None:
    times: dict[str, float] = {}
    for name in ("exp", "nbf", "iat"):
        value = claims.get(name)
        if value is None and name not in claims:
            continue
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < 1e12:
            raise TokenRefused(msg("the token's {name} is no time", name=name))
        times[name] = float(value)
    if "exp" not in times:
        raise TokenRefused("the token does not say until when it counts")
    if now >= times["exp"] + leeway:
        raise TokenRefused("the token has expired")
    if now < times.get("nbf", -math.inf) - leeway:
        raise TokenRefused("the token does not count yet")
    if now < times.get("iat", -math.inf) - leeway:
        raise TokenRefused("the token was made at a time to come")


def _texts(value: object) -> tuple[str, ...] | None:
    """A text or a list of texts; None for anything else."""
    entries = [value] if isinstance(value, str) else value
    if not isinstance(entries, list) or not all(isinstance(one, str) for one in entries):
        return None
    return tuple(entries)


def scopes_of(claims: Mapping[str, Any]) -> frozenset[str]:
    """What an access token was given for: ``scope`` or ``scp``, a text with spaces or a list.

    Raises:
        TokenRefused: it says something else.
    """
    found: set[str] = set()
    for name in ("scope", "scp"):
        if name in claims:
            texts = _texts(claims[name])
            if texts is None or sum(map(len, texts)) > 20_000:
                raise TokenRefused(msg("the token's {name} is no list of scopes", name=name))
            found |= {word for text in texts for word in text.split()}
    return frozenset(found)


def hash_matches(claims: Mapping[str, Any], name: str, value: str) -> bool:
    """Whether ``at_hash`` or ``c_hash`` of an ID token, where it has one, is that of what came beside it."""
    if name not in claims:
        return True
    said = claims[name]
    for digest in (hashlib.sha256, hashlib.sha384, hashlib.sha512):
        whole = digest(value.encode()).digest()
        if said == base64.urlsafe_b64encode(whole[: len(whole) // 2]).rstrip(b"=").decode():
            return True
    return False
