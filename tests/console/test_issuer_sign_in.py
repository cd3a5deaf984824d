"""Signing in at the console by an issuer: each step once, in one browser, for one session; and what is refused."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

import pytest

from console_door import Browser
from governed_door import key, send
from issuer_server import CLIENT, ec_key, rsa_key
from signing_door import SigningDoor, approved, back, path_of, signing_console, to_issuer
from wenyuan.console.sessions import COOKIE
from wenyuan.core.person import person_id
from wenyuan.issuer.issuer_keys import BETWEEN


@pytest.fixture
def door(tmp_path: Path) -> Iterator[SigningDoor]:
    with signing_console(tmp_path) as made:
        yield made


@pytest.mark.parametrize("language", ["en", "zh"])
def test_signing_in_and_out(door: SigningDoor, language: str) -> None:
    """The page leads to the issuer and back to where one wanted; the session is a strict cookie; signing out ends it all."""
    browser = Browser(door.url, language)
    locked = browser.get("/console/audit")
    assert locked.location.startswith("/console/sign-in?next=")
    page = browser.get(locked.location)
    assert "Acme" in page.text("a.button")
    asked = to_issuer(door, browser, "/console/audit")
    assert set(asked) == {
        "response_type", "client_id", "redirect_uri", "scope", "state", "nonce", "code_challenge", "code_challenge_method",
    }  # fmt: skip
    assert asked["redirect_uri"] == f"{door.url}/console/sign-in/back"
    address = approved(door, asked)
    seen = browser.send("GET", path_of(address))
    assert seen.status == 200
    assert 'content="0; url=/console/audit"' in seen.body
    cookies = [cookie for cookie in seen.headers.get_all("Set-Cookie") or () if cookie.startswith(COOKIE)]
    assert all(word in cookies[0] for word in ("HttpOnly", "SameSite=strict", "Path=/console", "Max-Age=28800"))
    shown = browser.get("/console/audit")
    assert shown.status == 200
    assert "Li Ming" in shown.text("header")
    before = dict(browser.cookies)
    out = browser.post("/console/sign-out")
    assert out.status == 200
    there = urlsplit(out.tree.css_first("a.button").attributes["href"] or "")
    assert there.path == "/end"
    assert dict(parse_qsl(there.query)) == {
        "client_id": CLIENT, "post_logout_redirect_uri": f"{door.url}/console/sign-in",
    }  # fmt: skip
    browser.cookies = before
    assert "sign-in" in browser.get("/console/audit").location


def test_names_are_shown_as_text(door: SigningDoor) -> None:
    """A name with marks of HTML in it is a name."""
    browser = Browser(door.url)
    assert back(door, browser, "u-wu").status == 200
    assert "吴 <b>" in browser.get("/console/search").text("header")


@pytest.mark.parametrize("language", ["en", "zh"])
def test_records_show_people_by_name(door: SigningDoor, language: str) -> None:
    """The audit and the corrections name who did something; whoever may not read the record sees an id."""
    door.tokens._met = door.library.catalog.meet
    browser = Browser(door.url, language)
    back(door, browser)
    who = person_id(door.issuer.issuer, "u-li")
    browser.get("/console/search", q="客户投诉")
    browser.post("/console/corrections", {"action": "exclude", "ref": "wiki#3", "reason": "x"})
    seen = browser.get("/console/audit")
    assert "Li Ming" in seen.text("td code")
    assert who not in seen.text("td")
    record = browser.get(seen.tree.css_first("td a").attributes["href"] or "")
    assert {who, "Li Ming"} <= set(record.text("dd").split()) | {
        record.text("dd")[record.text("dd").find("Li Ming") :][:7]
    }
    assert "Li Ming" in browser.get("/console/corrections").text("main")
    (door.library.folder / "wenyuan.toml").write_text('[oidc.groups.hr]\nroles = ["source_owner"]\n', "utf-8")
    assert who in browser.get("/console/corrections").text("main")


@pytest.mark.parametrize(("language", "words"), [("en", "Owner of sources"), ("zh", "来源负责人")])
def test_roles_are_shown_and_given_to_keys(tmp_path: Path, language: str, words: str) -> None:
    """The page of keys says what each role may do, and a key is made of roles."""
    with signing_console(tmp_path, everyone=["administrator"]) as door:
        browser = Browser(door.url, language)
        back(door, browser)
        page = browser.get("/console/people")
        assert words in page.text("table")
        assert page.count("input[name=role]") == 5
        made = browser.post(
            "/console/people/keys", {"name": "x", "role": ["reader", "auditor"], "agent_id": "", "expires": ""}
        )
        assert made.status == 200
        (held,) = door.library.catalog.keys()
        assert held.rights == {"retrieve", "search", "audit"}


def test_rights_are_those_of_the_groups(door: SigningDoor) -> None:
    """Whose groups give nothing more searches, and sees no audit; a page for which a right is missing says so."""
    browser = Browser(door.url)
    back(door, browser, "u-wu")
    assert browser.get("/console/search").status == 200
    assert browser.get("/console/audit").status == 403
    assert "audit" not in browser.get("/console/search").text("nav").lower()


def test_who_may_nothing_is_told_so(tmp_path: Path) -> None:
    """Somebody without any right has no session, and learns as whom the issuer knows them."""
    with signing_console(tmp_path, everyone=[]) as door:
        browser = Browser(door.url)
        seen = back(door, browser, "u-wu")
        assert seen.status == 403
        assert "吴 <b>" in seen.text("#fault")
        assert COOKIE not in browser.cookies


def test_a_mapping_that_changes_counts_for_the_next_page(door: SigningDoor) -> None:
    """What groups may do is looked up for each page, whenever one signed in."""
    browser = Browser(door.url)
    back(door, browser)
    assert browser.get("/console/audit").status == 200
    (door.library.folder / "wenyuan.toml").write_text('[oidc.groups.hr]\nroles = ["reader"]\n', "utf-8")
    assert browser.get("/console/audit").status == 403


def test_a_session_has_an_end(tmp_path: Path) -> None:
    """After the seconds that are set one has to sign in again."""
    with signing_console(tmp_path, session=300) as door:
        browser = Browser(door.url)
        back(door, browser)
        assert browser.get("/console/audit").status == 200
        now = time.time()
        door.tokens.signed_in._clock = lambda: now + 301
        assert "sign-in" in browser.get("/console/audit").location


def test_a_second_sign_in_ends_the_first_session(door: SigningDoor) -> None:
    """Who signs in anew has another session, and the former one opens nothing."""
    browser = Browser(door.url)
    back(door, browser)
    former = dict(browser.cookies)
    back(door, browser)
    assert browser.cookies[COOKIE] != former[COOKIE]
    browser.cookies = former
    assert "sign-in" in browser.get("/console/audit").location


def test_keys_sign_in_beside_the_issuer(door: SigningDoor) -> None:
    """A key signs in as before."""
    browser = Browser(door.url)
    assert browser.sign_in(key(door.library, "search")).status == 303
    assert browser.get("/console/search").status == 200
    assert browser.post("/console/sign-out").status == 303


def test_keys_may_be_kept_from_signing_in(tmp_path: Path) -> None:
    """Where the settings say so the page has no field for a key, and a key that is sent signs nobody in."""
    with signing_console(tmp_path, console_keys=False) as door:
        browser = Browser(door.url)
        assert browser.get("/console/sign-in").count("input[name=key]") == 0
        assert browser.sign_in(key(door.library, "admin")).status == 403
        assert COOKIE not in browser.cookies
        assert back(door, browser).status == 200


def test_a_session_is_no_key_elsewhere(door: SigningDoor) -> None:
    """The cookie of a session is no credential of the API, and what the API takes of the console is in no page."""
    browser = Browser(door.url)
    back(door, browser)
    assert send(door.url, "GET", "/v1/audit", None, browser.cookies[COOKIE]).status == 401
    assert send(door.url, "GET", "/v1/audit", None, "ws_" + browser.cookies[COOKIE]).status == 401
    assert "ws_" not in browser.get("/console/audit").body


def test_each_answer_counts_once(door: SigningDoor) -> None:
    """The same address again, in the same browser or another one: nobody is signed in by it."""
    browser = Browser(door.url)
    address = approved(door, to_issuer(door, browser))
    kept = dict(browser.cookies)
    assert browser.send("GET", path_of(address)).status == 200
    for cookies in (kept, browser.cookies, {}):
        again = Browser(door.url)
        again.cookies = {name: value for name, value in cookies.items() if name != COOKIE}
        seen = again.send("GET", path_of(address))
        assert seen.status == 401
        assert "finished before" in seen.text("#fault")
        assert COOKIE not in again.cookies


def test_a_code_counts_once(door: SigningDoor) -> None:
    """A code that the issuer has taken signs nobody in a second time, in a sign-in of one's own either."""
    browser, other = Browser(door.url), Browser(door.url)
    address = approved(door, to_issuer(door, browser))
    code = dict(parse_qsl(urlsplit(address).query))["code"]
    assert browser.send("GET", path_of(address)).status == 200
    seen = back(door, other, code=code)
    assert seen.status == 401
    assert "does not take the code" in seen.text("#fault")


def test_anothers_answer_signs_nobody_in(door: SigningDoor) -> None:
    """Somebody who is led to the answer of another's sign-in does not become the other one."""
    attacker, victim = Browser(door.url), Browser(door.url)
    address = approved(door, to_issuer(door, attacker), "u-wu")
    to_issuer(door, victim)
    seen = victim.send("GET", path_of(address))
    assert seen.status == 401
    assert "another browser" in seen.text("#fault")
    assert COOKIE not in victim.cookies


CHANGED: dict[str, tuple[dict[str, Any], str]] = {
    "no state": ({"state": None}, "not known"),
    "state made up": ({"state": "A" * 43}, "not known"),
    "state empty": ({"state": ""}, "not known"),
    "another issuer": ({"iss": "https://evil.example.com"}, "another issuer"),
    "no issuer": ({"iss": None}, "another issuer"),
    "no code": ({"code": None}, "without a code"),
    "code empty": ({"code": ""}, "without a code"),
    "code made up": ({"code": "made-up"}, "does not take the code"),
    "code with a line end": ({"code": "a\nb"}, "without a code"),
    "code in Chinese": ({"code": "代码"}, "without a code"),
    "code huge": ({"code": "x" * 4_900}, "without a code"),
    "denied": ({"error": "access_denied", "error_description": "<script>alert(1)</script>"}, "nobody has signed in"),
    "another error": ({"error": "<script>alert(1)</script>"}, "has refused"),
}


@pytest.mark.parametrize("name", CHANGED)
def test_an_answer_that_was_changed_signs_nobody_in(door: SigningDoor, name: str) -> None:
    """Each part of the issuer's answer counts; what is wrong is said, and nothing that came with it."""
    changed, reason = CHANGED[name]
    browser = Browser(door.url)
    seen = back(door, browser, **changed)
    assert seen.status == 401
    assert reason in seen.text("#fault")
    assert "alert(1)" not in seen.body
    assert COOKIE not in browser.cookies


def test_a_parameter_twice_is_not_understood(door: SigningDoor) -> None:
    """Two states or codes are none."""
    browser = Browser(door.url)
    address = approved(door, to_issuer(door, browser))
    seen = browser.send("GET", f"{path_of(address)}&state=x")
    assert seen.status == 400
    assert COOKIE not in browser.cookies


LOGINS: dict[str, tuple[Callable[[SigningDoor], dict[str, Any]], str]] = {
    "another nonce": (lambda door: {"nonce": "x"}, "another sign-in"),
    "no nonce": (lambda door: {"nonce": None}, "another sign-in"),
    "another client": (lambda door: {"aud": "other"}, "another audience"),
    "several clients": (lambda door: {"aud": [CLIENT, "other"]}, "another client"),
    "made for another": (lambda door: {"azp": "other"}, "another client"),
    "another issuer": (lambda door: {"iss": door.issuer.issuer + "/"}, "another issuer"),
    "expired": (lambda door: {"exp": int(time.time()) - 60}, "has expired"),
    "clock off by an hour": (lambda door: {"iat": int(time.time()) + 3_600}, "time to come"),
    "no groups": (lambda door: {"groups": None}, "no list of names"),
    "another's hash": (lambda door: {"at_hash": "AAAA"}, "do not belong together"),
    "no subject": (lambda door: {"sub": None}, "subject"),
}


@pytest.mark.parametrize("name", LOGINS)
def test_an_id_token_that_does_not_count_signs_nobody_in(door: SigningDoor, name: str) -> None:
    """The token that tells who has signed in is checked as strictly as any."""
    make, reason = LOGINS[name]
    door.issuer.login_claims = make(door)
    browser = Browser(door.url)
    seen = back(door, browser)
    assert seen.status == 401
    assert reason in seen.text("#fault")
    assert COOKIE not in browser.cookies


def test_a_key_that_is_new_counts_at_once(door: SigningDoor) -> None:
    """An ID token that is signed by a key that the issuer has only now."""
    browser = Browser(door.url)
    asked = to_issuer(door, browser)
    door.issuer.keys = [ec_key()]
    door.ticks.now += BETWEEN
    assert browser.send("GET", path_of(approved(door, asked))).status == 200
    door.issuer.keys = [rsa_key(9)]
    seen = back(door, Browser(door.url))
    assert "no key of the issuer" in seen.text("#fault")


@pytest.mark.parametrize(
    ("fault", "status"),
    [(500, 503), (b"<html>", 503), (30.0, 503), (b"{}", 401), (b'{"id_token": 7}', 401), (b'{"id_token": "a.b.c"}', 401),
     (b'{"id_token": "' + b"x" * 2_000_000 + b'"}', 503), (b'{"id_token": "a", "id_token": "b"}', 503), (401, 401)],
    ids=["500", "HTML", "silence", "nothing", "a number", "no token", "huge", "twice", "401"],
)  # fmt: skip
def test_codes_that_are_not_taken(tmp_path: Path, fault: Any, status: int) -> None:
    """An issuer that answers otherwise, too much, or not at all signs nobody in."""
    with signing_console(tmp_path, timeout=4 if fault == 30.0 else 30) as door:
        door.issuer.faults["/token"] = fault
        browser = Browser(door.url)
        seen = back(door, browser)
        assert seen.status == status
        assert seen.count("#fault") == 1
        assert COOKIE not in browser.cookies


def test_an_issuer_that_is_down_leaves_keys(tmp_path: Path) -> None:
    """The page says that the issuer cannot be asked, and a key signs in."""
    with signing_console(tmp_path) as door:
        door.issuer.faults["/.well-known/openid-configuration"] = 500
        browser = Browser(door.url)
        seen = browser.get("/console/sign-in/issuer")
        assert seen.status == 503
        assert "HTTP 500" in seen.text("#fault")
        assert browser.sign_in(key(door.library, "search")).status == 303


def test_a_client_that_the_issuer_does_not_know(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A wrong secret is said to whoever signs in without it, and to the log with the settings to look at."""
    with signing_console(tmp_path, client_secret="wrong-secret") as door, caplog.at_level(logging.INFO):
        seen = back(door, Browser(door.url))
        assert seen.status == 401
        assert "does not know this service" in seen.text("#fault")
        logged = "\n".join(record.getMessage() for record in caplog.records)
        assert "oidc.client_id" in logged
        assert "wrong-secret" not in logged + seen.body


def test_a_secret_in_the_form(tmp_path: Path) -> None:
    """An issuer that does not take the client's secret in a header is told it in the form."""
    with signing_console(tmp_path) as door:
        door.issuer.metadata = {"token_endpoint_auth_methods_supported": ["client_secret_post"]}
        assert back(door, Browser(door.url)).status == 200


def test_more_claims_are_asked_for(tmp_path: Path) -> None:
    """Where the ID token lacks groups the issuer is asked for them, of the same person."""
    with signing_console(tmp_path, userinfo=True) as door:
        door.issuer.users["u-li"]["sub"] = "u-li"
        assert back(door, Browser(door.url)).status == 200
        assert "/userinfo" in door.issuer.asked
        door.issuer.users["u-li"]["sub"] = "u-wu"
        door.issuer.login_claims = {"sub": "u-li"}
        seen = back(door, Browser(door.url))
        assert seen.status == 401
        assert "somebody else" in seen.text("#fault")


def test_guessing_answers_ends_in_waiting(door: SigningDoor) -> None:
    """Answers that are made up are refused, and after some there is a wait."""
    browser = Browser(door.url)
    found = [browser.get("/console/sign-in/back", state="x", code="y").status for _ in range(8)]
    assert found == [401] * 5 + [429] * 3


@pytest.mark.parametrize(
    "following", ["https://evil.example.com", "//evil.example.com", "/console//evil", "/v1/audit", ""]
)
def test_signing_in_leads_nowhere_else(door: SigningDoor, following: str) -> None:
    """The page after signing in is one of the console, whatever the address says."""
    browser = Browser(door.url)
    address = approved(door, to_issuer(door, browser, following))
    assert 'content="0; url=/console/search"' in browser.send("GET", path_of(address)).body


def test_the_first_key_does_not_open_the_console(tmp_path: Path) -> None:
    """With an issuer nobody gets in without signing in, though there is no key yet and everything is on this machine."""
    with signing_console(tmp_path) as door:
        assert "sign-in" in Browser(door.url).get("/console/people").location
        assert send(door.url, "POST", "/v1/keys", {"rights": ["admin"]}).status == 401


def test_tokens_codes_and_secrets_are_in_no_log(door: SigningDoor, caplog: pytest.LogCaptureFixture) -> None:
    """A whole sign-in, a failed one and an expired token leave nothing of them in the log and in the audit."""
    with caplog.at_level(logging.DEBUG):
        browser = Browser(door.url)
        address = approved(door, to_issuer(door, browser))
        browser.send("GET", path_of(address))
        browser.get("/console/search?q=客户投诉")
        browser.send("GET", path_of(address))
        token = door.issuer.token(exp=1)
        send(door.url, "POST", "/v1/search", {"query": "x"}, token)
    secrets = {*dict(parse_qsl(urlsplit(address).query)).values(), *browser.cookies.values(), *token.split(".")}
    secrets -= {door.issuer.issuer}
    ours = [record for record in caplog.records if not record.name.startswith("http")]  # the test's own requests
    logged = "\n".join(f"{record.getMessage()} {record.args}" for record in ours)
    door.library.recorder.log.flush()
    kept = b"".join(one.read_bytes() for one in door.library.folder.glob("audit*"))
    assert not [
        one for one in secrets if one in logged or one.encode() in kept or urlencode({"x": one})[2:] in logged
    ]
