"""Signing in at the issuer with a browser: authorization code, PKCE, state and nonce (OpenID Connect Core 1.0, RFC 7636)."""

from __future__ import annotations

import base64
import hashlib
import hmac
import logging
import re
import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import quote, urlencode

from wenyuan.core.person import IssuerUnavailable, Person
from wenyuan.issuer.issuer_http import COMPONENT
from wenyuan.issuer.issuer_keys import IssuerKeys
from wenyuan.issuer.metadata import IssuerMetadata
from wenyuan.issuer.persons import person_of
from wenyuan.issuer.tokens import TokenRefused, TokenRules, UnknownKey, hash_matches, verify
from wenyuan.oidc_settings import OidcSettings

_log = logging.getLogger("wenyuan.console")
BACK = "/console/sign-in/back"
"""Where the issuer sends browsers back to, behind the server's address."""
LASTS = 600
"""Seconds that somebody may take at the issuer."""
_MOST_BEGUN = 10_000
_MOST_ID_TOKEN = 49_152
_MOST_ANSWER = 1 << 20
_CODE = re.compile(r"[\x20-\x7e]{1,4096}")
_TOKEN = re.compile(r"[\x21-\x7e]{1,16384}")


@dataclass(frozen=True, slots=True)
class _Begun:
    """A sign-in that waits for the browser to come back."""

    browser: bytes
    nonce: str
    verifier: str
    following: str
    until: float


class Login:
    """Sends browsers to the issuer, and takes them back, each once. Thread-safe.

    Args:
        clock: Seconds since the epoch.
    """

    def __init__(self, settings: OidcSettings, keys: IssuerKeys, clock: Callable[[], float] = time.time) -> None:
        self.settings = settings
        self._keys = keys
        self._clock = clock
        self._lock = threading.Lock()
        self._begun: OrderedDict[bytes, _Begun] = OrderedDict()
        self._back = settings.address.rstrip("/") + BACK
        self._rules = TokenRules(
            issuer=settings.issuer,
            audiences=(settings.client_id,),
            algorithms=settings.algorithms,
            leeway=settings.leeway,
            most=_MOST_ID_TOKEN,
            login=True,
        )

    def begin(self, following: str) -> tuple[str, str]:
        """Where a browser signs in, and a secret for its cookie, by which it is known again.

        Args:
            following: The page that it is shown then.

        Raises:
            IssuerUnavailable: the issuer cannot be asked, or has no place to sign in.
        """
        endpoint = self._metadata().authorization_endpoint
        if not endpoint:
            raise IssuerUnavailable("it has no page where people sign in", component=COMPONENT)
        state, browser, nonce, verifier = (secrets.token_urlsafe(32) for _ in range(4))
        begun = _Begun(_digest(browser), nonce, verifier, following, self._clock() + LASTS)
        with self._lock:
            self._begun[_digest(state)] = begun
            while len(self._begun) > _MOST_BEGUN:
                self._begun.popitem(last=False)
        challenge = base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).rstrip(b"=").decode()
        asked = {
            "response_type": "code", "client_id": self.settings.client_id, "redirect_uri": self._back,
            "scope": " ".join(self.settings.login_scopes), "state": state, "nonce": nonce,
            "code_challenge": challenge, "code_challenge_method": "S256",
        }  # fmt: skip
        return f"{endpoint}{'&' if '?' in endpoint else '?'}{urlencode(asked)}", browser

    def finish(self, answer: Mapping[str, str], browser: str) -> tuple[Person, str, str]:
        """Who has signed in, by what the issuer can be asked again (see `renew`), and the page that they are shown then.

        Args:
            answer: What the browser brings back, each name once.
            browser: The secret of its cookie.

        Raises:
            TokenRefused: nobody has, with the reason.
            IssuerUnavailable: the issuer cannot be asked.
        """
        begun = self._taken(answer.get("state", ""), browser)
        metadata = self._metadata()
        said = answer.get("iss")
        if (said is None and metadata.names_itself) or (said is not None and said != self.settings.issuer):
            raise TokenRefused("another issuer has sent the browser back")
        if "error" in answer:
            denied = answer["error"] == "access_denied"
            raise TokenRefused("the issuer says that nobody has signed in" if denied else "the issuer has refused")
        if not _CODE.fullmatch(answer.get("code", "")):
            raise TokenRefused("the issuer has sent the browser back without a code")
        told = self._exchanged(answer["code"], begun.verifier, metadata)
        claims = self._verified(told, replace(self._rules, nonce=begun.nonce))
        person = self._person(told, claims, metadata)
        return replace(person, until=self._clock() + self.settings.session), _refresh_token(told), begun.following

    def renew(self, person: Person, token: str) -> tuple[Person, str]:
        """Who somebody is now, and by what the issuer can be asked the next time.

        Args:
            token: By what it can be asked (a refresh token).

        Raises:
            TokenRefused: the issuer does not vouch for them any more.
            IssuerUnavailable: the issuer cannot be asked.
        """
        metadata = self._metadata()
        told = self._granted({"grant_type": "refresh_token", "refresh_token": token}, metadata)
        if "id_token" in told:
            claims = self._verified(told, replace(self._rules, subject=person.subject))
            now = self._person(told, claims, metadata)
        else:  # what comes of a refresh need not hold one
            claims = self._userinfo(told, metadata, person.subject)
            now = person_of({**claims, "exp": person.until}, self.settings, None)
        return replace(now, until=person.until), _refresh_token(told) or token

    def _person(self, told: Mapping[str, Any], claims: dict[str, Any], metadata: IssuerMetadata) -> Person:
        if self.settings.userinfo:
            claims = {**self._userinfo(told, metadata, str(claims["sub"])), **claims}
        return person_of(claims, self.settings, None)

    def sign_out_address(self) -> str:
        """Where one signs out of the issuer, too; ``""`` where that is not known."""
        held = self._keys.held()
        if held is None or not held.metadata.end_session_endpoint:
            return ""
        endpoint = held.metadata.end_session_endpoint
        told = {
            "client_id": self.settings.client_id,
            "post_logout_redirect_uri": self.settings.address.rstrip("/") + "/console/sign-in",
        }
        return f"{endpoint}{'&' if '?' in endpoint else '?'}{urlencode(told)}"

    def _metadata(self) -> IssuerMetadata:
        return self._keys.current().metadata

    def _taken(self, state: str, browser: str) -> _Begun:
        """The sign-in that a state belongs to, which is over with this."""
        with self._lock:
            begun = self._begun.pop(_digest(state), None)
        if begun is None or begun.until <= self._clock():
            raise TokenRefused("this sign-in is not known, or over, or was finished before")
        if not hmac.compare_digest(begun.browser, _digest(browser)):
            raise TokenRefused("this sign-in was begun in another browser")
        return begun

    def _exchanged(self, code: str, verifier: str, metadata: IssuerMetadata) -> dict[str, Any]:
        """What the issuer gives for a code."""
        fields = {
            "grant_type": "authorization_code", "code": code, "redirect_uri": self._back, "code_verifier": verifier,
        }  # fmt: skip
        return self._granted(fields, metadata)

    def _granted(self, fields: dict[str, str], metadata: IssuerMetadata) -> dict[str, Any]:
        """What the issuer gives for a code, or for what came of an earlier one."""
        if not metadata.token_endpoint:
            raise IssuerUnavailable("it has no place where codes are taken", component=COMPONENT)
        secret = self.settings.client_secret.get_secret_value()
        headers = {}
        if secret and metadata.basic:
            pair = f"{quote(self.settings.client_id, safe='')}:{quote(secret, safe='')}"
            headers["Authorization"] = f"Basic {base64.b64encode(pair.encode()).decode()}"
        else:
            fields["client_id"] = self.settings.client_id
            if secret:
                fields["client_secret"] = secret
        status, told = self._keys.http.post(metadata.token_endpoint, fields, headers, _MOST_ANSWER)
        if status == 200:
            return told
        if told.get("error") in ("invalid_client", "unauthorized_client"):
            _log.error("the issuer refuses this client: check oidc.client_id and WENYUAN_OIDC__CLIENT_SECRET")
            raise TokenRefused("the issuer does not know this service as its client")
        if "refresh_token" in fields:
            raise TokenRefused("the issuer does not vouch for this session any more")
        raise TokenRefused("the issuer does not take the code: it was used before, or is over")

    def _verified(self, told: Mapping[str, Any], rules: TokenRules) -> dict[str, Any]:
        """The claims of the ID token of an answer."""
        token, access = told.get("id_token"), told.get("access_token", "")
        if not isinstance(token, str) or not isinstance(access, str):
            raise TokenRefused("the issuer's answer has no ID token")
        try:
            claims = verify(token, self._keys.current(), rules, self._clock())
        except UnknownKey:
            if not self._keys.may_ask:
                raise
            claims = verify(token, self._keys.refresh(), rules, self._clock())
        if access and not hash_matches(claims, "at_hash", access):
            raise TokenRefused("the tokens of the issuer's answer do not belong together")
        return claims

    def _userinfo(self, told: Mapping[str, Any], metadata: IssuerMetadata, subject: str) -> dict[str, Any]:
        token = told.get("access_token")
        if not metadata.userinfo_endpoint or not isinstance(token, str) or not _TOKEN.fullmatch(token):
            raise IssuerUnavailable("it cannot be asked for more claims", component=COMPONENT)
        claims = self._keys.http.get(metadata.userinfo_endpoint, _MOST_ANSWER, token=token)
        if claims.get("sub") != subject:
            raise TokenRefused("the issuer's further claims are of somebody else")
        return claims


def _refresh_token(told: Mapping[str, Any]) -> str:
    """By what the issuer can be asked again; "" where it has given nothing for that."""
    token = told.get("refresh_token", "")
    return token if isinstance(token, str) and _TOKEN.fullmatch(token) else ""


def _digest(secret: str) -> bytes:
    return hashlib.sha256(secret.encode("utf-8", "replace")).digest()
