"""Tokens that do not count are refused over HTTP with their reason; none opens anything, and none says more than it must."""

from __future__ import annotations

import contextlib
import json
import logging
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import wenyuan
from copies import copied
from governed_door import SETTINGS, governed, send
from issuer_server import (
    AUDIENCE,
    CLIENT,
    NOTHING,
    IssuerServer,
    ec_key,
    ed_key,
    encoded,
    issuing,
    rsa_key,
    signed,
    signing_settings,
)
from wenyuan.server.app import create_app
from wenyuan.server.keys import KeyRing
from wenyuan.server.running import start_in_thread
from wenyuan.server.token_callers import TokenCallers

Make = Callable[[IssuerServer], str]
Served = tuple[str, IssuerServer]
_SEARCH = {"query": "客户投诉"}


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("tokens")
    copied(governed, folder)
    with issuing("/realms/acme") as issuer:
        issuer.keys = [rsa_key(), ec_key(), ec_key("P-384"), ed_key()]
        oidc = signing_settings(
            issuer, groups_claim="groups", groups_optional=True, groups={"hr": {"roles": ["auditor"]}}
        )
        with wenyuan.open(folder / "library", oidc=oidc, **SETTINGS) as library:
            tokens = TokenCallers(library.settings.oidc, library.folder)
            ring = KeyRing(library.catalog, open_without_keys=True, tokens=tokens)
            url, stop = start_in_thread(create_app(library, authenticate=ring), grace=1)
            try:
                yield url, issuer
            finally:
                stop()


def claims(**told: Any) -> Make:
    return lambda issuer: issuer.token(**told)


def header(**told: Any) -> Make:
    return lambda issuer: issuer.token(header=told)


def later(**seconds: float) -> Make:
    return lambda issuer: issuer.token(**{name: int(time.time() + value) for name, value in seconds.items()})


def usual(issuer: IssuerServer, **more: Any) -> dict[str, Any]:
    now = int(time.time())
    return {"iss": issuer.issuer, "aud": AUDIENCE, "sub": "u-li", "iat": now, "exp": now + 300, **more}


def with_secret(secret: Callable[[IssuerServer], bytes], algorithm: str = "HS256", **told: Any) -> Make:
    """Signed with a secret that everybody knows: the issuer's public key as it is written in some form."""

    def made(issuer: IssuerServer) -> str:
        import hashlib
        import hmac

        head = encoded(json.dumps({"alg": algorithm, "kid": issuer.keys[0].kid, **told}).encode())
        signing = f"{head}.{encoded(json.dumps(usual(issuer)).encode())}"
        digest = {"HS256": hashlib.sha256, "HS384": hashlib.sha384, "HS512": hashlib.sha512}[algorithm]
        return f"{signing}.{encoded(hmac.new(secret(issuer), signing.encode(), digest).digest())}"

    return made


def raw(payload: Callable[[str], str]) -> Make:
    """Rightly signed content that is written by hand; it is given the usual one, as JSON."""
    return lambda issuer: signed(
        issuer.keys[0],
        {"alg": "RS256", "kid": issuer.keys[0].kid},
        payload(json.dumps(usual(issuer))).encode(),
        "RS256",
    )


def raw_header(written: str) -> Make:
    return lambda issuer: signed(
        issuer.keys[0], written.replace("KID", issuer.keys[0].kid).encode(), usual(issuer), "RS256"
    )


def unsigned(algorithm: Any, end: str = "") -> Make:
    def made(issuer: IssuerServer) -> str:
        head = {"alg": algorithm, "kid": issuer.keys[0].kid}
        return f"{encoded(json.dumps(head).encode())}.{encoded(json.dumps(usual(issuer)).encode())}.{end}"

    return made


def cut(change: Callable[[list[str]], str]) -> Make:
    return lambda issuer: change(issuer.token().split("."))


ALGORITHM = "algorithm is none of those"
KEY = "names no key of the issuer"
SIGNATURE = "signature is wrong"
FORM = "does not have the form"
HEADER = "header is no JSON object"
CONTENT = "content is no JSON object"
USE = "for another use"
ISSUER, AUD = "of another issuer", "for another audience"
EXPIRED, NOT_YET = "has expired", "does not count yet"
SUBJECT = "does not say who its subject is"
NO_KEY = "an API key or a token is needed"
LARGE = "has more than 16384 bytes"

TOKENS: dict[str, tuple[Make, str]] = {
    # How it is signed.
    "none": (unsigned("none"), ALGORITHM),
    "None": (unsigned("None"), ALGORITHM),
    "NONE": (unsigned("NONE"), ALGORITHM),
    "nOnE": (unsigned("nOnE"), ALGORITHM),
    "none with a signature": (unsigned("none", "AAAA"), ALGORITHM),
    "no algorithm": (header(alg=NOTHING), ALGORITHM),
    "empty algorithm": (unsigned("", "AAAA"), ALGORITHM),
    "null algorithm": (unsigned(None, "AAAA"), ALGORITHM),
    "algorithm a list": (unsigned(["RS256"], "AAAA"), ALGORITHM),
    "algorithm a number": (unsigned(256, "AAAA"), ALGORITHM),
    "algorithm an object": (unsigned({"RS256": 1}, "AAAA"), ALGORITHM),
    "algorithm with a space": (unsigned("RS256 ", "AAAA"), ALGORITHM),
    "lower case": (unsigned("rs256", "AAAA"), ALGORITHM),
    "full width": (unsigned("ＲＳ256", "AAAA"), ALGORITHM),
    "HS256, PEM": (with_secret(lambda one: one.keys[0].as_pem(private=False)), ALGORITHM),
    "HS256, DER": (with_secret(lambda one: one.keys[0].as_der(private=False)), ALGORITHM),
    "HS256, JWK": (with_secret(lambda one: json.dumps(one.keys[0].as_dict(private=False)).encode()), ALGORITHM),
    "HS256, modulus": (with_secret(lambda one: one.keys[0].as_dict(private=False)["n"].encode()), ALGORITHM),
    "HS256, empty": (with_secret(lambda one: b""), ALGORITHM),
    "HS384, PEM": (with_secret(lambda one: one.keys[0].as_pem(private=False), "HS384"), ALGORITHM),
    "HS512, PEM": (with_secret(lambda one: one.keys[0].as_pem(private=False), "HS512"), ALGORITHM),
    "RS384, not allowed": (header(alg="RS384"), ALGORITHM),
    "ES256K": (unsigned("ES256K", "AAAA"), ALGORITHM),
    "another's key, its name": (lambda one: one.token(key=rsa_key(9), header={"kid": one.keys[0].kid}), SIGNATURE),
    "another's key, own name": (lambda one: one.token(key=rsa_key(9)), KEY),
    "kid of a key of another kind": (header(kid="ec-P-256"), KEY),
    "RS256 said of an EC signature": (
        lambda one: signed(ec_key(), {"alg": "RS256", "kid": "rsa-0"}, usual(one), "ES256"), SIGNATURE,
    ),
    "PS256 said of an RS256 signature": (
        lambda one: signed(rsa_key(), {"alg": "PS256", "kid": "rsa-0"}, usual(one), "RS256"), SIGNATURE,
    ),
    "ES256 said of a P-384 key": (
        lambda one: signed(ec_key("P-384"), {"alg": "ES256", "kid": "ec-P-384"}, usual(one), "ES384"), KEY,
    ),
    "zeros for an EC signature": (
        lambda one: ".".join([*one.token(key=ec_key()).split(".")[:2], encoded(bytes(64))]), SIGNATURE,
    ),
    "zeros for an EdDSA signature": (
        lambda one: ".".join([*one.token(key=ed_key()).split(".")[:2], encoded(bytes(64))]), SIGNATURE,
    ),
    "no signature": (cut(lambda parts: f"{parts[0]}.{parts[1]}."), SIGNATURE),
    "half a signature": (cut(lambda parts: f"{parts[0]}.{parts[1]}.{parts[2][:170]}"), SIGNATURE),
    "content of another token": (
        lambda one: ".".join([one.token().split(".")[0], one.token(sub="u-wu").split(".")[1], one.token().split(".")[2]]), SIGNATURE,
    ),
    "header of another token": (
        lambda one: ".".join([one.token(header={"x": 1}).split(".")[0], *one.token().split(".")[1:]]), SIGNATURE,
    ),
    # Which key it names.
    "kid a path": (header(kid="../../../../dev/null"), KEY),
    "kid a file": (header(kid="/etc/passwd"), KEY),
    "kid an address": (header(kid="http://127.0.0.1:9/key"), KEY),
    "kid SQL": (header(kid="rsa-0' OR '1'='1"), KEY),
    "kid with a NUL": (header(kid="rsa-0\x00"), KEY),
    "kid a command": (header(kid="rsa-0|sleep 60"), KEY),
    "kid a template": (header(kid="{{7*7}}${jndi:ldap://x}"), KEY),
    "kid full width": (header(kid="ｒｓａ-0"), KEY),
    "kid empty": (header(kid=""), "key name is none"),
    "kid huge": (header(kid="k" * 5_000), "key name is none"),
    "kid a number": (header(kid=0), "key name is none"),
    "kid a list": (header(kid=["rsa-0"]), "key name is none"),
    "kid an object": (header(kid={"kid": "rsa-0"}), "key name is none"),
    "kid true": (header(kid=True), "key name is none"),
    "no kid of several": (lambda one: one.token(key=rsa_key(9), header={"kid": NOTHING}), SIGNATURE),
    "jku": (lambda one: one.token(key=rsa_key(9), header={"jku": "http://127.0.0.1:9/jwks"}), KEY),
    "jku of the issuer": (lambda one: one.token(key=rsa_key(9), header={"jku": f"{one.issuer}/jwks"}), KEY),
    "x5u": (lambda one: one.token(key=rsa_key(9), header={"x5u": "http://127.0.0.1:9/x"}), KEY),
    "jwk": (
        lambda one: one.token(key=rsa_key(9), header={"jwk": rsa_key(9).as_dict(private=False), "kid": "rsa-0"}), SIGNATURE,
    ),
    "jwk without kid": (
        lambda one: one.token(key=rsa_key(9), header={"jwk": rsa_key(9).as_dict(private=False), "kid": NOTHING}),
        SIGNATURE,
    ),
    "x5c": (lambda one: one.token(key=rsa_key(9), header={"x5c": ["MIIB"], "kid": "rsa-0"}), SIGNATURE),
    # What its header asks for.
    "crit": (header(crit=["exp"]), "asks for what is not done"),
    "crit empty": (header(crit=[]), "asks for what is not done"),
    "crit of its own": (header(crit=["http://x/y"], **{"http://x/y": 1}), "asks for what is not done"),
    "b64 false": (header(b64=False, crit=["b64"]), "asks for what is not done"),
    "b64 false without crit": (header(b64=False), "asks for what is not done"),
    "zip": (header(zip="DEF"), "asks for what is not done"),
    "nested": (header(cty="JWT"), "holds another one"),
    "nested, lower case": (header(cty="jwt"), "holds another one"),
    "an ID token's type": (header(typ="id+jwt"), USE),
    "a logout token": (header(typ="logout+jwt"), USE),
    "a DPoP proof": (header(typ="dpop+jwt"), USE),
    "a security event": (header(typ="secevent+jwt"), USE),
    "an authorization grant": (header(typ="oauth-id-jag+jwt"), USE),
    "type a number": (header(typ=1), USE),
    "algorithm twice": (raw_header('{"alg":"RS256","alg":"none","kid":"KID"}'), HEADER),
    "kid twice": (raw_header('{"alg":"RS256","kid":"x","kid":"KID"}'), HEADER),
    "header a list": (raw_header('["RS256"]'), HEADER),
    "header a text": (raw_header('"RS256"'), HEADER),
    "header half": (raw_header('{"alg":"RS256"'), HEADER),
    "header no UTF-8": (lambda one: signed(rsa_key(), b'{"alg":"RS256\xff"}', usual(one), "RS256"), HEADER),
    "header deep": (raw_header('{"alg":"RS256","x":' + "[" * 2_000 + "]" * 2_000 + "}"), "header"),
    "header NaN": (raw_header('{"alg":"RS256","kid":"KID","x":NaN}'), HEADER),
    "header with half a pair": (raw_header('{"alg":"RS256","kid":"KID","x":"\\ud800"}'), HEADER),
    # Its form.
    "encrypted": (cut(lambda parts: ".".join([*parts, "AAAA", "AAAA"])), "is encrypted"),
    "four parts": (cut(lambda parts: ".".join([*parts, "AAAA"])), FORM),
    "six parts": (cut(lambda parts: ".".join([*parts, *parts])), FORM),
    "two parts": (cut(lambda parts: ".".join(parts[:2])), NO_KEY),
    "only dots": (lambda one: "..", FORM),
    "padding": (cut(lambda parts: f"{parts[0]}==.{parts[1]}.{parts[2]}"), FORM),
    "the other alphabet": (cut(lambda parts: f"{parts[0]}+.{parts[1]}.{parts[2]}"), NO_KEY),
    "one letter more": (cut(lambda parts: f"{parts[0]}A.{parts[1]}.{parts[2]}"), ""),
    "a space": (cut(lambda parts: f"{parts[0]} .{parts[1]}.{parts[2]}"), NO_KEY),
    "JSON for a token": (lambda one: json.dumps({"payload": "x"}), NO_KEY),
    "20 kB": (claims(more="x" * 15_000), LARGE),
    "60 kB": (lambda one: "A" * 20_000 + "." + "B" * 20_000 + "." + "C" * 20_000, LARGE),
    # Whose it is.
    "another issuer": (claims(iss="https://evil.example.com"), ISSUER),
    "no issuer": (claims(iss=NOTHING), ISSUER),
    "issuer null": (claims(iss=None), ISSUER),
    "issuer a list": (lambda one: one.token(iss=[one.issuer]), ISSUER),
    "issuer with a slash": (lambda one: one.token(iss=one.issuer + "/"), ISSUER),
    "issuer without its path": (lambda one: one.token(iss=one.issuer.removesuffix("/realms/acme")), ISSUER),
    "issuer with another path": (lambda one: one.token(iss=one.issuer.replace("acme", "Acme")), ISSUER),
    "issuer in capitals": (lambda one: one.token(iss=one.issuer.upper()), ISSUER),
    "issuer with a query": (lambda one: one.token(iss=one.issuer + "?x"), ISSUER),
    "issuer by another name": (lambda one: one.token(iss=one.issuer.replace("127.0.0.1", "localhost")), ISSUER),
    "issuer with a lookalike": (lambda one: one.token(iss=one.issuer.replace("acme", "аcme")), ISSUER),
    # Whom it is for.
    "another audience": (claims(aud="https://other.example.com"), AUD),
    "no audience": (claims(aud=NOTHING), AUD),
    "audience null": (claims(aud=None), AUD),
    "audience empty": (claims(aud=""), AUD),
    "audiences none": (claims(aud=[]), AUD),
    "audience an object": (claims(aud={AUDIENCE: 1}), AUD),
    "audience a number": (claims(aud=1), AUD),
    "audiences with a number": (claims(aud=[AUDIENCE, 1]), AUD),
    "audience with a slash": (claims(aud=AUDIENCE + "/"), AUD),
    "audience a beginning": (claims(aud=AUDIENCE[:-1]), AUD),
    "audience of the console": (claims(aud=CLIENT), AUD),
    "audience with a lookalike": (claims(aud=AUDIENCE.replace("e", "е")), AUD),
    "too many audiences": (claims(aud=[f"a{n}" for n in range(200)] + [AUDIENCE]), AUD),
    # When.
    "expired": (later(exp=-31), EXPIRED),
    "expired an hour ago": (later(exp=-3_600, iat=-7_200), EXPIRED),
    "expired in 1970": (claims(exp=0), EXPIRED),
    "no end": (claims(exp=NOTHING), "until when"),
    "end null": (claims(exp=None), "exp is no time"),
    "end a text": (claims(exp="2999999999"), "exp is no time"),
    "end true": (claims(exp=True), "exp is no time"),
    "end a list": (claims(exp=[9_999_999_999]), "exp is no time"),
    "end negative": (claims(exp=-1), "exp is no time"),
    "end in the year 300000": (claims(exp=10**13), "exp is no time"),
    "end infinite": (raw(lambda told: told.replace('"exp": ', '"exp": 1e999, "x": ')), CONTENT),
    "end NaN": (raw(lambda told: told.replace('"exp": ', '"exp": NaN, "x": ')), CONTENT),
    "end of 5,000 digits": (raw(lambda told: told.replace('"exp": ', '"exp": 9' + "9" * 5_000 + ', "x": ')), CONTENT),
    "not yet": (later(nbf=40), NOT_YET),
    "in an hour": (later(nbf=3_600, exp=7_200), NOT_YET),
    "begin a text": (claims(nbf="0"), "nbf is no time"),
    "made in an hour": (later(iat=3_600, exp=7_200), "time to come"),
    "made in a minute": (later(iat=45), "time to come"),
    "made null": (claims(iat=None), "iat is no time"),
    # Of whom.
    "no subject": (claims(sub=NOTHING), SUBJECT),
    "subject empty": (claims(sub=""), SUBJECT),
    "subject null": (claims(sub=None), SUBJECT),
    "subject a number": (claims(sub=7), SUBJECT),
    "subject a list": (claims(sub=["u-li"]), SUBJECT),
    "subject an object": (claims(sub={"id": "u-li"}), SUBJECT),
    "subject with a NUL": (claims(sub="u-li\x00"), SUBJECT),
    "subject with a line end": (claims(sub="u-li\nu-wu"), SUBJECT),
    "subject of 5,000": (claims(sub="u" * 5_000), SUBJECT),
    "subject that runs backwards": (claims(sub="u-\u202eil"), SUBJECT),
    "subject full width": (claims(sub="ｕ-ｌｉ"), "claim sub names nobody"),
    "subject with a long s": (claims(sub="boſs"), "claim sub names nobody"),
    "subject with a space": (claims(sub="u li"), "claim sub names nobody"),
    "subject with a comma": (claims(sub="u-li,group:hr"), "claim sub names nobody"),
    # What it holds.
    "claims twice": (raw(lambda told: told.replace('"sub"', '"sub": "u-boss", "sub"')), CONTENT),
    "audience twice": (raw(lambda told: told.replace('"aud"', '"aud": "x", "aud"')), CONTENT),
    "content a list": (raw(lambda told: f"[{told}]"), CONTENT),
    "content empty": (raw(lambda told: ""), CONTENT),
    "content half": (raw(lambda told: told[:-1]), CONTENT),
    "content and more": (raw(lambda told: told + "{}"), CONTENT),
    "content deep": (raw(lambda told: told[:-1] + ', "x": ' + "[" * 3_000 + "]" * 3_000 + "}"), ""),
    "content with half a pair": (raw(lambda told: told[:-1] + ', "x": "\\udc00"}'), CONTENT),
    "an ID token": (claims(nonce="n"), USE),
    "an ID token by its hash": (claims(at_hash="x"), USE),
    "an ID token by its kind": (claims(typ="ID"), USE),
    "a refresh token": (claims(typ="Refresh"), USE),
    "a logout token by its events": (claims(events={"http://schemas.openid.net/event/backchannel-logout": {}}), USE),
    "bound to a key": (claims(cnf={"jkt": "x"}), "bound to a key"),
    "bound to a certificate": (claims(cnf={"x5t#S256": "x"}), "bound to a key"),
    "scope a number": (claims(scope=1), "scope is no list"),
    "scope an object": (claims(scope={"a": 1}), "scope is no list"),
    "scp with a number": (claims(scp=["a", 1]), "scp is no list"),
    # Groups, on which what somebody may not see depends.
    "groups a number": (claims(groups=7), "claim groups is no list"),
    "groups null": (claims(groups=None), "claim groups is no list"),
    "groups an object": (claims(groups={"hr": True}), "claim groups is no list"),
    "groups of objects": (claims(groups=[{"name": "hr"}]), "claim groups is no list"),
    "groups nested": (claims(groups=[["hr"]]), "claim groups is no list"),
    "groups with a number": (claims(groups=["hr", 1]), "claim groups is no list"),
    "a group full width": (claims(groups=["ｈｒ"]), "could stand for another"),
    "a group with a Kelvin sign": (claims(groups=["wor\u212as"]), "could stand for another"),
    "a group empty": (claims(groups=[""]), "could stand for another"),
    "a group of 2,000": (claims(groups=["g" * 2_000]), "could stand for another"),
    "groups elsewhere": (claims(_claim_names={"groups": "src1"}, _claim_sources={"src1": {}}), "not hold all groups"),
    "groups left out": (claims(hasgroups=True), "not hold all groups"),
}  # fmt: skip


@pytest.mark.parametrize("name", TOKENS)
def test_a_token_that_does_not_count_is_refused(served: Served, name: str, caplog: pytest.LogCaptureFixture) -> None:
    """401 with its reason and how to get another; neither the answer nor the log has the token, and nothing was called wrong."""
    url, issuer = served
    make, reason = TOKENS[name]
    token = make(issuer)
    with caplog.at_level(logging.DEBUG):
        answer = send(url, "POST", "/v1/search", _SEARCH, token)
    assert answer.status == 401, answer.body
    assert answer.json["code"] == "unauthenticated"
    assert reason in answer.json["detail"]
    assert "resource_metadata=" in answer.headers["WWW-Authenticate"]
    logged = "\n".join(record.getMessage() for record in caplog.records)
    assert not any(record.exc_info for record in caplog.records)
    long_parts = [part for part in token.split(".") if len(part) > 20]
    assert not any(part in logged or part in answer.body.decode() for part in long_parts)


def test_there_are_enough_of_them() -> None:
    """At least 120 ways in which a token is wrong."""
    assert len(TOKENS) >= 120


@pytest.mark.parametrize("key", [rsa_key(), ec_key(), ed_key()], ids=["RS256", "ES256", "EdDSA"])
def test_a_token_that_counts_is_admitted(served: Served, key: Any) -> None:
    """Each kind of key that the issuer gives signs a token that is answered."""
    url, issuer = served
    assert send(url, "POST", "/v1/search", _SEARCH, issuer.token(key=key)).status == 200


@pytest.mark.parametrize(
    "told",
    [
        {"aud": ["https://other.example.com", AUDIENCE]}, {"nbf": 0}, {"iat": NOTHING}, {"scope": "a b"}, {"scp": ["a"]},
        {"groups": []}, {"groups": "hr"}, {"groups": ["Domain Users", "研发部（北京）", "hr"]}, {"typ": "Bearer"}, {"sub": "张三"},
        {"jti": "x", "azp": "cli", "acr": "1", "name": 7}, {"name": "\u202eLi"},
    ],
    ids=str,
)  # fmt: skip
def test_ordinary_differences_are_admitted(served: Served, told: dict[str, Any]) -> None:
    """What issuers write otherwise and mean alike counts."""
    url, issuer = served
    assert send(url, "POST", "/v1/search", _SEARCH, issuer.token(**told)).status == 200


@pytest.mark.parametrize(("seconds", "status"), [(-25, 200), (-35, 401)])
def test_clocks_may_differ_a_little(served: Served, seconds: float, status: int) -> None:
    """A token that has expired within the leeway counts, and not beyond."""
    url, issuer = served
    answer = send(url, "POST", "/v1/search", _SEARCH, issuer.token(exp=int(time.time() + seconds)))
    assert answer.status == status


def test_a_token_of_a_megabyte_ends_at_the_door(served: Served) -> None:
    """The head of such a request is refused before anything of it is looked at; the server goes on."""
    url, issuer = served
    with contextlib.suppress(ConnectionError):  # it may be refused while it is still being sent
        assert send(url, "POST", "/v1/search", _SEARCH, "A" * 1_000_000 + ".B.C").status in (400, 431)
    assert send(url, "POST", "/v1/search", _SEARCH, issuer.token()).status == 200


def test_addresses_in_tokens_are_never_asked(served: Served) -> None:
    """A token may name where its keys lie: nothing is fetched from there."""
    url, issuer = served
    with issuing() as other:
        other.keys = [rsa_key(9)]
        for name in ("jku", "x5u"):
            token = issuer.token(key=rsa_key(9), header={name: f"{other.issuer}/jwks"})
            assert send(url, "POST", "/v1/search", _SEARCH, token).status == 401
        assert other.asked == []


def test_two_tokens_are_none(served: Served) -> None:
    """Two Authorization headers are not a credential, whichever of them would count."""
    import http.client
    from urllib.parse import urlsplit

    url, issuer = served
    connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=60)
    connection.putrequest("GET", "/v1/vector_stores")
    for _ in range(2):
        connection.putheader("Authorization", f"Bearer {issuer.token()}")
    connection.endheaders()
    assert connection.getresponse().status == 401
    connection.close()
