"""An issuer of OpenID Connect on this machine: real HTTP, real signatures, and whatever faults a test asks for."""

from __future__ import annotations

import base64
import hashlib
import json
import secrets
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

from joserfc import jws
from joserfc.jwk import ECKey, OKPKey, RSAKey

from listening import listening

AUDIENCE = "https://kb.example.com"
CLIENT, SECRET = "console", "a secret, with: signs & more"
NOTHING = ...
"""In place of a claim: it is left out."""


@cache
def rsa_key(number: int = 0) -> RSAKey:
    """A key of the process; to make one takes a while."""
    return RSAKey.generate_key(2048, parameters={"kid": f"rsa-{number}", "use": "sig"}, private=True)


@cache
def ec_key(curve: str = "P-256") -> ECKey:
    return ECKey.generate_key(curve, parameters={"kid": f"ec-{curve}", "use": "sig"}, private=True)


@cache
def ed_key() -> OKPKey:
    return OKPKey.generate_key("Ed25519", parameters={"kid": "ed", "use": "sig"}, private=True)


def encoded(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()


def signed(key: Any, header: Mapping[str, Any] | bytes, payload: Mapping[str, Any] | bytes, algorithm: str) -> str:
    """A token with exactly this header and content, signed by a key with an algorithm, whatever the header says."""
    head = header if isinstance(header, bytes) else json.dumps(header).encode()
    body = payload if isinstance(payload, bytes) else json.dumps(payload).encode()
    signing = f"{encoded(head)}.{encoded(body)}"
    method = jws.JWSRegistry.algorithms[algorithm]
    method.check_key(key)
    return f"{signing}.{encoded(method.sign(signing.encode(), key))}"


class IssuerServer(ThreadingHTTPServer):
    """Attributes:
    keys: What signs; the first one is used.
    published: What it gives for keys; None: the public parts of `keys`.
    users: Claims by subject, of those who can sign in.
    faults: By path, what is answered in place of the right thing: bytes, an HTTP status, or seconds of silence.
    asked: Paths that were asked for.
    refreshing: Whether it gives refresh tokens, each of which it takes once; `refreshable` has those that count.
    refreshed_claims: In the ID token of a refresh; `NOTHING` as ``id_token``: it gives none.
    """

    daemon_threads = True
    request_queue_size = 64

    def __init__(self, path: str = "") -> None:
        super().__init__(("127.0.0.1", 0), IssuerAnswer)
        self.path = path
        self.keys: list[Any] = [rsa_key()]
        self.published: Any = None
        self.users: dict[str, dict[str, Any]] = {}
        self.faults: dict[str, bytes | int | float] = {}
        self.asked: list[str] = []
        self.codes: dict[str, dict[str, str]] = {}
        self.redirects: set[str] = set()
        self.metadata: dict[str, Any] = {}
        self.login_claims: dict[str, Any] = {}
        self.refreshing = False
        self.refreshable: dict[str, str] = {}
        self.refreshed_claims: dict[str, Any] = {}
        self.released = threading.Event()

    @property
    def issuer(self) -> str:
        return f"http://127.0.0.1:{self.server_port}{self.path}"

    def token(self, key: Any = None, header: Mapping[str, Any] | None = None, **claims: Any) -> str:
        """An access token; claims besides or in place of the usual ones."""
        now = time.time()
        usual = {
            "iss": self.issuer, "aud": AUDIENCE, "sub": "u-li", "iat": int(now), "exp": int(now) + 300,
            "name": "Li Ming",
        }  # fmt: skip
        told = {name: value for name, value in {**usual, **claims}.items() if value is not NOTHING}
        chosen = key or self.keys[0]
        algorithm = {"RSA": "RS256", "EC": "ES256", "OKP": "EdDSA"}[chosen.key_type]
        head = {"alg": algorithm, "typ": "at+jwt", "kid": chosen.kid, **(header or {})}
        shown = {name: value for name, value in head.items() if value is not NOTHING}
        made = shown.get("alg", algorithm)
        return signed(chosen, shown, told, made if made in jws.JWSRegistry.algorithms else algorithm)

    def jwks(self) -> Any:
        return (
            self.published
            if self.published is not None
            else {"keys": [key.as_dict(private=False) for key in self.keys]}
        )


class IssuerAnswer(BaseHTTPRequestHandler):
    server: IssuerServer
    protocol_version = "HTTP/1.1"

    def log_message(self, *_args: Any) -> None:
        pass

    def do_GET(self) -> None:
        parts = urlsplit(self.path)
        asked = parts.path.removeprefix(self.server.path)
        self.server.asked.append(asked)
        if self._fault(asked):
            return
        if asked == "/.well-known/openid-configuration":
            self._json(self._metadata())
        elif asked == "/jwks":
            self._json(self.server.jwks())
        elif asked == "/authorize":
            self._authorize(dict(parse_qsl(parts.query)))
        elif asked == "/userinfo":
            token = self.headers.get("authorization", "").removeprefix("Bearer ")
            user = self.server.users.get(token.removeprefix("opaque-"))
            self._json(user if user else {"error": "invalid_token"}, 200 if user else 401)
        elif asked == "/end":
            self._send(
                200,
                b"<!doctype html><html lang=en><link rel=icon href='data:,'><title>Out</title><h1>Signed out here</h1>",
                "text/html",
            )
        else:
            self._send(404, b"", "text/plain")

    def do_POST(self) -> None:
        asked = urlsplit(self.path).path.removeprefix(self.server.path)
        self.server.asked.append(asked)
        form = dict(parse_qsl(self.rfile.read(int(self.headers.get("content-length", "0"))).decode()))
        if self._fault(asked):
            return
        if asked == "/token":
            self._token(form)
        elif asked == "/approve":
            self._approve(form)
        else:
            self._send(404, b"", "text/plain")

    def _metadata(self) -> dict[str, Any]:
        here = self.server.issuer
        return {
            "issuer": here,
            "jwks_uri": f"{here}/jwks",
            "authorization_endpoint": f"{here}/authorize",
            "token_endpoint": f"{here}/token",
            "userinfo_endpoint": f"{here}/userinfo",
            "end_session_endpoint": f"{here}/end",
            "authorization_response_iss_parameter_supported": True,
            "code_challenge_methods_supported": ["S256"],
            **self.server.metadata,
        }

    def _authorize(self, asked: Mapping[str, str]) -> None:
        sound = (
            asked.get("client_id") == CLIENT
            and asked.get("redirect_uri") in self.server.redirects
            and asked.get("response_type") == "code"
            and asked.get("code_challenge_method") == "S256"
            and "openid" in asked.get("scope", "").split()
        )
        if not sound:
            self._send(400, b"not such a request", "text/plain")
            return
        fields = "".join(
            f'<input type="hidden" name="{name}" value="{quote(value)}">' for name, value in asked.items()
        )
        buttons = "".join(f'<button name="sub" value="{sub}">{sub}</button>' for sub in self.server.users)
        page = f'<!doctype html><html lang=en><link rel=icon href=data:,><title>Issuer</title><h1>Issuer</h1><form method=post action="{self.server.path}/approve">{fields}{buttons}<button name="sub" value="">No</button></form>'
        self._send(200, page.encode(), "text/html")

    def _approve(self, form: Mapping[str, str]) -> None:
        from urllib.parse import unquote

        asked = {name: unquote(value) for name, value in form.items()}
        back = {"state": asked.get("state", ""), "iss": self.server.issuer}
        if asked.get("sub"):
            code = secrets.token_urlsafe(16)
            self.server.codes[code] = asked
            back["code"] = code
        else:
            back["error"] = "access_denied"
        self.send_response(303)
        self.send_header("Location", f"{asked['redirect_uri']}?{urlencode(back)}")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def _token(self, form: Mapping[str, str]) -> None:
        scheme, _, given = self.headers.get("authorization", "").partition(" ")
        basic = f"{quote(CLIENT, safe='')}:{quote(SECRET, safe='')}"
        known = scheme == "Basic" and base64.b64decode(given).decode() == basic
        known = known or (form.get("client_id") == CLIENT and form.get("client_secret") == SECRET)
        if not known:
            self._json({"error": "invalid_client"}, 401)
            return
        if form.get("grant_type") == "refresh_token":
            self._refresh(form)
            return
        asked = self.server.codes.pop(form.get("code", ""), None)
        challenge = encoded(hashlib.sha256(form.get("code_verifier", "").encode()).digest())
        if (
            asked is None
            or form.get("grant_type") != "authorization_code"
            or form.get("redirect_uri") != asked["redirect_uri"]
            or challenge != asked["code_challenge"]
        ):
            self._json({"error": "invalid_grant"}, 400)
            return
        sub = asked["sub"]
        claims = {"aud": CLIENT, "sub": sub, "nonce": asked.get("nonce", ""), **self.server.users[sub]}
        token = self.server.token(header={"typ": "JWT"}, **{**claims, **self.server.login_claims})
        more = self._renewal(sub) if self.server.refreshing else {}
        self._json(
            {"access_token": f"opaque-{sub}", "token_type": "Bearer", "id_token": token, "expires_in": 300, **more}
        )

    def _renewal(self, sub: str) -> dict[str, str]:
        made = secrets.token_urlsafe(16)
        self.server.refreshable[made] = sub
        return {"refresh_token": made}

    def _refresh(self, form: Mapping[str, str]) -> None:
        sub = self.server.refreshable.pop(form.get("refresh_token", ""), "")
        if sub not in self.server.users:
            self._json({"error": "invalid_grant"}, 400)
            return
        told = {"access_token": f"opaque-{sub}", "token_type": "Bearer", "expires_in": 300, **self._renewal(sub)}
        claims = {"aud": CLIENT, "sub": sub, **self.server.users[sub], **self.server.refreshed_claims}
        if claims.pop("id_token", "") is not NOTHING:
            told["id_token"] = self.server.token(header={"typ": "JWT"}, **claims)
        self._json(told)

    def _fault(self, asked: str) -> bool:
        fault = self.server.faults.get(asked)
        if fault is None:
            return False
        if isinstance(fault, bytes):
            self._send(200, fault, "application/json")
        elif isinstance(fault, int):
            self._send(fault, b"{}", "application/json")
        else:
            self.server.released.wait(fault)
            self.close_connection = True
        return True

    def _json(self, value: Any, status: int = 200) -> None:
        self._send(status, json.dumps(value).encode(), "application/json")

    def _send(self, status: int, content: bytes, kind: str) -> None:
        try:
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)
        except OSError:
            self.close_connection = True


@contextmanager
def issuing(path: str = "") -> Iterator[IssuerServer]:
    """An issuer for as long as the context lasts.

    Args:
        path: Behind its host, where it lies at one.
    """
    server = IssuerServer(path)
    with listening(server):
        try:
            yield server
        finally:
            server.released.set()


def signing_settings(server: IssuerServer, **more: Any) -> dict[str, Any]:
    """Settings of a library whose callers this issuer tells."""
    return {
        "issuer": server.issuer, "address": AUDIENCE, "audience": [AUDIENCE], "allow_private": True, "timeout": 30,
        "everyone": ["reader"], **more,
    }  # fmt: skip
