"""Signing in at an issuer in a real browser, in both languages.

Where the machine has no Chromium these tests are not run, and their names are told.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from chromium import Windows, assert_accessible, started
from console_door import Browser
from signing_door import SigningDoor, signing_console

pytestmark = [pytest.mark.browser, pytest.mark.integration]
WORDS = {
    "en": ("Sign in with Acme", "Sign out", "Sign out of Acme, too", "nobody has signed in"),
    "zh": ("用 Acme 登录", "退出", "同时退出 Acme", "没有登录"),
}


@pytest.fixture(scope="module")
def windows() -> Iterator[Windows]:
    with started() as browser:
        yield Windows(browser)


@pytest.fixture
def door(tmp_path: Path) -> Iterator[SigningDoor]:
    with signing_console(tmp_path) as made:
        yield made


@pytest.mark.parametrize("language", ["en", "zh"])
def test_signing_in_and_out_in_a_browser(windows: Windows, door: SigningDoor, language: str) -> None:
    """A page that needs signing in leads to the issuer and back to itself; after signing out it leads to the issuer again."""
    sign_in, sign_out, there, denied = WORDS[language]
    page: Any = windows.page(language)
    with windows.visited():
        page.goto(f"{door.url}/console/audit?kind=key")
        assert_accessible(page)
        page.get_by_role("link", name=sign_in).click()
        page.get_by_role("button", name="No", exact=True).click()
        page.wait_for_url("**/console/sign-in/back**")
        assert denied in page.inner_text("#fault")
        assert_accessible(page)
        page.goto(f"{door.url}/console/audit?kind=key")
        page.get_by_role("link", name=sign_in).click()
        page.get_by_role("button", name="u-li").click()
        page.wait_for_url("**/console/audit?kind=key")
        assert "Li Ming" in page.inner_text("header")
        assert page.evaluate("document.cookie") == "" or "wenyuan_session" not in page.evaluate("document.cookie")
        assert_accessible(page)
        page.get_by_role("button", name=sign_out).click()
        page.get_by_role("link", name=there).wait_for()
        assert_accessible(page)
        page.get_by_role("link", name=there).click()
        page.wait_for_url("**/end?**")
        page.goto(f"{door.url}/console/audit")
        page.get_by_role("link", name=sign_in).wait_for()
        complaints = [one for one in windows.heard if "401" not in one[1] and "favicon" not in one[1]]
        assert complaints == []
    assert Browser(door.url).get("/console/sign-in").status == 200
