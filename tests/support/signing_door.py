"""The small governed library behind a real server whose callers an issuer tells."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import httpx2

import wenyuan
from console_door import Browser, Seen
from copies import copied
from governed_door import SETTINGS, governed, send
from http_door import Answer
from issuer_server import CLIENT, SECRET, IssuerServer, issuing, signing_settings
from listening import free_port
from wenyuan.cli.snippets import marks
from wenyuan.console import with_console
from wenyuan.console.state import console_issuer
from wenyuan.issuer.issuer_keys import IssuerKeys
from wenyuan.server.app import create_app
from wenyuan.server.keys import KeyRing
from wenyuan.server.running import start_in_thread
from wenyuan.server.sign_ins import SignIns
from wenyuan.server.token_callers import TokenCallers


class Clock:
    """Seconds that go on when a test says so."""

    def __init__(self, now: float = 1_000.0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


@dataclass
class SigningDoor:
    url: str
    issuer: IssuerServer
    library: Any
    tokens: TokenCallers
    ticks: Clock

    def search(self, token: str | None) -> Answer:
        return send(self.url, "POST", "/v1/search", {"query": "客户投诉"}, token)


@contextmanager
def signing_door(folder: Path, path: str = "", **oidc: Any) -> Iterator[SigningDoor]:
    """A server, its issuer, and the clock by which keys grow old."""
    copied(governed, folder)
    ticks = Clock()
    with (
        issuing(path) as issuer,
        wenyuan.open(folder / "library", oidc=signing_settings(issuer, **oidc), **SETTINGS) as library,
    ):
        settings = library.settings.oidc
        tokens = TokenCallers(settings, library.folder, keys=IssuerKeys(settings, clock=ticks))
        ring = KeyRing(library.catalog, open_without_keys=True, tokens=tokens)
        url, stop = start_in_thread(create_app(library, authenticate=ring), grace=1)
        try:
            yield SigningDoor(url, issuer, library, tokens, ticks)
        finally:
            issuer.released.set()
            stop()


@contextmanager
def signing_console(
    folder: Path, path: str = "", *, sign_ins: SignIns | None = None, **oidc: Any
) -> Iterator[SigningDoor]:
    """As `signing_door`, with the console in front, whose client at the issuer it is; "u-li" and "u-wu" can sign in."""
    copied(governed, folder)
    ticks, port = Clock(), free_port()
    address = f"http://127.0.0.1:{port}"
    with issuing(path) as issuer:
        issuer.redirects = {f"{address}/console/sign-in/back"}
        issuer.users = {"u-li": {"name": "Li Ming", "groups": ["hr"]}, "u-wu": {"name": "吴 <b>", "groups": []}}
        told = {
            "client_id": CLIENT, "client_secret": SECRET, "address": address, "groups_claim": "groups",
            "groups": {"hr": {"roles": ["source_owner", "auditor"]}}, "label": "Acme", **oidc,
        }  # fmt: skip
        with wenyuan.open(folder / "library", oidc=signing_settings(issuer, **told), **SETTINGS) as library:
            settings = library.settings.oidc
            tokens = TokenCallers(settings, library.folder, keys=IssuerKeys(settings, clock=ticks))
            ring = KeyRing(library.catalog, open_without_keys=True, tokens=tokens)
            app = with_console(
                create_app(library, authenticate=ring),
                marks,
                console_issuer(tokens),
                sign_ins or SignIns(library.catalog.database.on_change),
            )
            url, stop = start_in_thread(app, port=port, grace=1)
            try:
                yield SigningDoor(url, issuer, library, tokens, ticks)
            finally:
                issuer.released.set()
                stop()


def to_issuer(door: SigningDoor, browser: Browser, following: str = "/console/search") -> dict[str, str]:
    """What a browser asks the issuer for."""
    seen = browser.get("/console/sign-in/issuer", next=following)
    assert seen.status == 303
    parts = urlsplit(seen.location)
    assert f"{parts.scheme}://{parts.netloc}{parts.path}" == f"{door.issuer.issuer}/authorize"
    return dict(parse_qsl(parts.query))


def approved(door: SigningDoor, asked: dict[str, str], subject: str = "u-li") -> str:
    """Where the issuer sends the browser back to, once somebody has signed in there."""
    with httpx2.Client(trust_env=False) as client:
        assert client.get(f"{door.issuer.issuer}/authorize", params=asked).status_code == 200
        answer = client.post(f"{door.issuer.issuer}/approve", data={**asked, "sub": subject})
    assert answer.status_code == 303
    return str(answer.headers["location"])


def path_of(address: str) -> str:
    parts = urlsplit(address)
    return f"{parts.path}?{parts.query}"


def back(door: SigningDoor, browser: Browser, subject: str = "u-li", **changed: str | None) -> Seen:
    """The page that a browser sees after signing in; parameters of the answer may be changed on the way."""
    address = approved(door, to_issuer(door, browser), subject)
    told = dict(parse_qsl(urlsplit(address).query)) | changed
    return browser.get(urlsplit(address).path, **{name: value for name, value in told.items() if value is not None})
