"""Who somebody at the console is, and in which groups, is asked of the issuer again while their session lasts."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from console_door import Browser
from governed_door import key
from issuer_server import NOTHING
from signing_door import SigningDoor, back, signing_console

AFTER = 3_600.0


@pytest.fixture
def door(tmp_path: Path) -> Iterator[SigningDoor]:
    with signing_console(tmp_path) as made:
        made.issuer.refreshing = True
        yield made


def later(door: SigningDoor, seconds: float = AFTER) -> None:
    """For sessions it is so much later."""
    before = door.tokens.signed_in._clock()
    door.tokens.signed_in._clock = lambda: before + seconds


def audit(browser: Browser) -> tuple[int, str]:
    seen = browser.get("/console/audit")
    return seen.status, "sign-in" if "sign-in" in (seen.location if seen.status == 303 else "") else ""


def test_groups_that_were_taken_away_do_not_count(door: SigningDoor) -> None:
    """Within an hour from then; the session goes on with what they have."""
    browser = Browser(door.url)
    back(door, browser)
    assert audit(browser) == (200, "")
    door.issuer.users["u-li"]["groups"] = []
    assert audit(browser) == (200, "")
    later(door)
    assert audit(browser)[0] == 403
    assert browser.get("/console/search").status == 200
    assert door.issuer.asked.count("/token") == 2
    door.issuer.users["u-li"]["groups"] = ["hr"]
    later(door)
    assert audit(browser) == (200, "")
    assert door.issuer.asked.count("/token") == 3


@pytest.mark.parametrize("gone", ["the person", "the right to refresh"])
def test_who_has_left_has_no_session(door: SigningDoor, gone: str) -> None:
    """A person whom the issuer knows no more, or whose session there was ended: at the next asking it is over here."""
    browser = Browser(door.url)
    back(door, browser)
    if gone == "the person":
        del door.issuer.users["u-li"]
    else:
        door.issuer.refreshable.clear()
    later(door, AFTER - 1)
    assert audit(browser) == (200, "")
    later(door, 1)
    assert audit(browser) == (303, "sign-in")
    assert audit(browser) == (303, "sign-in")


def test_without_a_way_to_ask_one_signs_in_again(tmp_path: Path) -> None:
    """An issuer that gives no refresh token is asked by the browser."""
    with signing_console(tmp_path, session_checked=600) as door:
        browser = Browser(door.url)
        back(door, browser)
        later(door, 599)
        assert audit(browser) == (200, "")
        later(door, 1)
        assert audit(browser) == (303, "sign-in")
        back(door, browser)
        assert audit(browser) == (200, "")


@pytest.mark.parametrize("fault", [500, b"<html>", b"[]"])
def test_while_the_issuer_does_not_answer_nobody_is_taken_for_granted(door: SigningDoor, fault: Any) -> None:
    """503, and the session goes on as soon as it answers; keys are not held up."""
    browser, other = Browser(door.url), Browser(door.url)
    back(door, browser)
    other.sign_in(key(door.library, "audit", "search"))
    later(door)
    door.issuer.faults["/token"] = fault
    for _ in range(2):
        assert audit(browser)[0] == 503
    assert audit(other) == (200, "")
    del door.issuer.faults["/token"]
    assert audit(browser) == (200, "")


@pytest.mark.parametrize(
    ("claims", "status"),
    [
        ({"sub": "u-wu"}, 303), ({"aud": "other"}, 303), ({"exp": 1}, 303), ({"iss": "https://evil.example.com"}, 303),
        ({"groups": NOTHING}, 303), ({"nonce": "of the first sign-in"}, 200), ({"sub": "u-li"}, 200),
    ],
    ids=str,
)  # fmt: skip
def test_what_comes_of_asking_again_is_checked(door: SigningDoor, claims: dict[str, Any], status: int) -> None:
    """It must speak of the same person, for this client, now, and of their groups; else the session is over."""
    browser = Browser(door.url)
    back(door, browser)
    door.issuer.refreshed_claims = claims
    later(door)
    assert audit(browser)[0] == status


def test_without_an_id_token_userinfo_is_asked(door: SigningDoor) -> None:
    """What comes of a refresh need not hold one; userinfo must speak of the same person."""
    browser = Browser(door.url)
    door.issuer.users["u-li"]["sub"] = "u-li"
    back(door, browser)
    door.issuer.refreshed_claims = {"id_token": NOTHING}
    door.issuer.users["u-li"]["groups"] = []
    later(door)
    assert audit(browser)[0] == 403
    assert door.issuer.asked.count("/userinfo") == 1
    door.issuer.users["u-li"]["sub"] = "u-wu"
    later(door)
    assert audit(browser) == (303, "sign-in")


def test_many_requests_at_once_ask_once(door: SigningDoor) -> None:
    """A refresh token counts once, so it is sent once."""
    browser = Browser(door.url)
    back(door, browser)
    later(door)
    found: list[int] = []
    threads = [threading.Thread(target=lambda: found.append(audit(browser)[0])) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert found == [200] * 8
    assert door.issuer.asked.count("/token") == 2


def test_a_silent_issuer_holds_up_only_whom_it_is_asked_about(tmp_path: Path) -> None:
    """Somebody who has signed in just now is answered while it is asked about another, and so is a bearer of a token."""
    with signing_console(tmp_path, timeout=10) as door:
        door.issuer.refreshing = True
        waiting, other = Browser(door.url), Browser(door.url)
        back(door, waiting)
        later(door)
        back(door, other, "u-li")
        door.issuer.faults["/token"] = 30.0
        thread = threading.Thread(target=audit, args=(waiting,))
        thread.start()
        while door.issuer.asked.count("/token") < 3:
            time.sleep(0.005)
        assert audit(other) == (200, "")
        assert door.search(door.issuer.token(groups=[])).status == 200
        door.issuer.released.set()
        thread.join(60)


def test_no_token_of_the_issuer_is_shown_or_kept_on_disk(door: SigningDoor) -> None:
    """By what it is asked again lies in the server's memory alone."""
    browser = Browser(door.url)
    back(door, browser)
    (token,) = door.issuer.refreshable
    later(door)
    pages = [browser.get(f"/console/{name}").body for name in ("audit", "search", "people", "health")]
    assert not any(token in page for page in pages)
    door.library.audit.flush()
    kept = [file.read_bytes() for file in door.library.folder.rglob("*") if file.is_file()]
    assert not any(one.encode() in content for one in (token, *door.issuer.refreshable) for content in kept)
    browser.post("/console/sign-out")
    assert not door.tokens.signed_in._kept
