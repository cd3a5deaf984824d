"""What an issuer says of itself: where its keys lie, and where one signs in (OpenID Connect Discovery 1.0, RFC 8414)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from wenyuan.core.person import IssuerUnavailable
from wenyuan.issuer.issuer_http import COMPONENT, IssuerHttp

_WELL_KNOWN = "/.well-known/openid-configuration"
_MOST = 256 * 1024
_LONGEST = 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class IssuerMetadata:
    """The issuer's endpoints; ``""`` for those that it does not have.

    Attributes:
        basic: Whether a client says its secret in a header rather than in the form.
        names_itself: Whether it says in every answer to a browser who it is (RFC 9207).
    """

    jwks_uri: str
    authorization_endpoint: str = ""
    token_endpoint: str = ""
    userinfo_endpoint: str = ""
    end_session_endpoint: str = ""
    basic: bool = True
    names_itself: bool = False


def fetch_metadata(http: IssuerHttp, issuer: str, *, allow_http: bool) -> IssuerMetadata:
    """Ask an issuer for what it says of itself.

    Raises:
        IssuerUnavailable: it says nothing, or calls itself otherwise.
    """
    told = http.get(issuer.removesuffix("/") + _WELL_KNOWN, _MOST)
    if told.get("issuer") != issuer:
        raise IssuerUnavailable(
            "its metadata name another issuer",
            component=COMPONENT,
            hint="oidc.issuer must be exactly as it calls itself, a slash at the end included",
        )
    methods = told.get("token_endpoint_auth_methods_supported")
    return IssuerMetadata(
        jwks_uri=_endpoint(told, "jwks_uri", needed=True, allow_http=allow_http),
        authorization_endpoint=_endpoint(told, "authorization_endpoint", allow_http=allow_http),
        token_endpoint=_endpoint(told, "token_endpoint", allow_http=allow_http),
        userinfo_endpoint=_endpoint(told, "userinfo_endpoint", allow_http=allow_http),
        end_session_endpoint=_endpoint(told, "end_session_endpoint", allow_http=allow_http),
        basic=not isinstance(methods, list) or "client_secret_basic" in methods,
        names_itself=told.get("authorization_response_iss_parameter_supported") is True,
    )


def _endpoint(told: Mapping[str, Any], name: str, *, needed: bool = False, allow_http: bool) -> str:
    url = told.get(name)
    if url is None and not needed:
        return ""
    try:
        parts = urlsplit(url) if isinstance(url, str) and len(url) <= _LONGEST and url.isprintable() else None
        sound = parts is not None and bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        sound = False
    schemes = ("https", "http") if allow_http else ("https",)
    if not sound or parts is None or parts.scheme not in schemes or "@" in parts.netloc or " " in str(url):
        raise IssuerUnavailable("an address in its metadata is none that may be asked", component=COMPONENT)
    return str(url)
