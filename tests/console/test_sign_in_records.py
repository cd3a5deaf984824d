"""The audit has who signed in at the console and out, and who was refused, without anything that they sent."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from command_line import run
from console_door import Browser
from governed_door import key
from signing_door import SigningDoor, back, signing_console
from wenyuan.core.errors import CatalogUnavailable
from wenyuan.core.person import person_id
from wenyuan.server.sign_ins import MOST_REFUSED, NOBODY, SPAN, SignIns


def records(door: SigningDoor) -> list[tuple[str, str, str, str]]:
    """Who did what, by which way and with which reason, the oldest first."""
    door.library.audit.flush()
    found = door.library.audit.list(kind="sign_in", limit=100)
    return [
        (one.principal, one.record["action"], one.record["object"], one.record["changes"].get("reason", ["", ""])[1])
        for one in reversed(found)
    ]


def test_who_signs_in_and_out_is_recorded(tmp_path: Path) -> None:
    """By the issuer and by key, with the id that other records name them by."""
    with signing_console(tmp_path) as door:
        browser = Browser(door.url)
        back(door, browser)
        browser.post("/console/sign-out")
        held = key(door.library, "search")
        browser.sign_in(held)
        browser.post("/console/sign-out")
        browser.post("/console/sign-out")  # there is no session any more
        li, name = person_id(door.issuer.issuer, "u-li"), held.split("_")[1]
        assert records(door) == [
            (li, "signed in", "issuer", ""), (li, "signed out", "issuer", ""),
            (name, "signed in", "key", ""), (name, "signed out", "key", ""),
        ]  # fmt: skip


def test_who_is_refused_is_recorded_without_what_was_sent(tmp_path: Path) -> None:
    """The reason, and who it was where the issuer has said so; no token, code or key, and nothing that a stranger wrote."""
    with signing_console(tmp_path, everyone=[]) as door:
        browser = Browser(door.url)
        revoked = key(door.library, "admin")
        door.library.catalog.revoke_key(revoked.split("_")[1])
        browser.sign_in(revoked)
        browser.sign_in("SECRET-<script>")
        back(door, browser, code="SECRET-code")
        back(door, browser, error="SECRET-error")
        back(door, browser, "u-wu")
        assert records(door) == [
            (NOBODY, "refused", "key", "no key that counts"), (NOBODY, "refused", "key", "no key that counts"),
            (NOBODY, "refused", "issuer", "the issuer does not take the code: it was used before, or is over"),
            (NOBODY, "refused", "issuer", "the issuer has refused"),
            (person_id(door.issuer.issuer, "u-wu"), "refused", "issuer", "no right is given to them"),
        ]  # fmt: skip
        written = json.dumps([one.record for one in door.library.audit.list(limit=100)])
        assert "SECRET" not in written and revoked not in written and "script" not in written
        assert door.library.audit.verify().ok


@pytest.mark.parametrize(
    ("language", "words"), [("en", ("sign-in", "signed in", "refused")), ("zh", ("登录", "登录", "被拒绝"))]
)
def test_they_are_filtered_for(tmp_path: Path, language: str, words: tuple[str, ...]) -> None:
    """In the console and by the command, in both languages."""
    with signing_console(tmp_path) as door:
        browser = Browser(door.url, language)
        browser.sign_in("x")
        back(door, browser)
        seen = browser.get("/console/audit", kind="sign_in")
        assert seen.count("tbody tr") == 2
        assert all(word in seen.text("tbody") for word in words)
        record = browser.get(seen.tree.css("tbody a")[1].attributes["href"] or "")
        assert "no key that counts" in record.text("main")
        assert browser.get("/console/audit", kind="sign_in", principal=NOBODY).count("tbody tr") == 1
        door.library.audit.flush()
        listed = run("--library", door.library.folder, "--lang", language, "audit", "list", "--kind", "sign_in")
        assert listed.exit_code == 0
        assert all(word in listed.output for word in words)
        name = door.library.audit.list(kind="sign_in", principal=NOBODY)[0].audit_id
        shown = run("--library", door.library.folder, "--lang", language, "audit", "show", name)
        assert "no key that counts" in shown.output


class Written:
    """Keeps what is recorded; may be broken."""

    def __init__(self) -> None:
        self.told: list[tuple[str, Any]] = []
        self.broken = False

    def __call__(self, kind: str, action: str, name: str, _before: Any, after: Any) -> None:
        assert (kind, name) == ("sign_in", "key")
        if self.broken:
            raise CatalogUnavailable("the disk is full", component="audit")
        self.told.append((action, after))


def test_refusals_are_bounded() -> None:
    """However many there are, sixty in ten minutes are recorded; the next record says how many were not."""
    now, written = [0.0], Written()
    sign_ins = SignIns(written, clock=lambda: now[0])
    for _ in range(1_000):
        sign_ins.refused("no key that counts", "key")
    assert len(written.told) == MOST_REFUSED
    sign_ins.signed_in("k", "key")
    assert written.told[-1] == ("signed in", None)
    now[0] += SPAN
    sign_ins.refused("no key that counts", "key")
    assert written.told[-1][1] == {"reason": "no key that counts", "not recorded before": 1_000 - MOST_REFUSED}
    sign_ins.refused("no key that counts", "key")
    assert written.told[-1][1] == {"reason": "no key that counts"}


def test_nobody_signs_in_unrecorded(tmp_path: Path) -> None:
    """While the audit cannot be written nobody signs in, as nobody is answered; to sign out is held up by nothing."""
    written = Written()
    written.broken = True
    sign_ins = SignIns(written)
    with pytest.raises(CatalogUnavailable):
        sign_ins.signed_in("k", "key")
    sign_ins.signed_out("k", "key")
    sign_ins.refused("x", "key")
    with signing_console(tmp_path, sign_ins=sign_ins) as door:
        browser = Browser(door.url)
        assert browser.sign_in(key(door.library, "search")).status == 503
        assert "sign-in" in browser.get("/console/search").location
