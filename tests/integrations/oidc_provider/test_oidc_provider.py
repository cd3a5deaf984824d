"""Signing in at oidc-provider, an issuer by another hand: the console by code and PKCE, the API by access tokens.

It is installed by ``make test-issuer``; where there is no Node, or it is not installed, these tests are skipped.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import pytest

import wenyuan
from console_door import Browser
from copies import copied
from governed_door import SETTINGS, governed, send
from issuer_server import AUDIENCE, SECRET
from listening import free_port
from wenyuan.cli.snippets import marks
from wenyuan.console import with_console
from wenyuan.console.state import console_issuer
from wenyuan.core.person import person_id
from wenyuan.server.app import create_app
from wenyuan.server.keys import KeyRing
from wenyuan.server.running import start_in_thread
from wenyuan.server.token_callers import TokenCallers

_HOME = Path(sys.prefix).with_name(f"{Path(sys.prefix).name}-oidc-provider")


@dataclass
class World:
    url: str
    issuer: str
    library: Any


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    node = shutil.which("node")
    if node is None or not (_HOME / "node_modules" / "oidc-provider").is_dir():
        pytest.skip("oidc-provider is not installed: make test-issuer, on a machine with Node")
    folder, port, own = tmp_path_factory.mktemp("provider"), free_port(), free_port()
    issuer, address = f"http://127.0.0.1:{port}", f"http://127.0.0.1:{own}"
    process = subprocess.Popen(
        [node, str(_HOME / "issuer.mjs"), str(port), f"{address}/console/sign-in/back", AUDIENCE, SECRET],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
    )  # fmt: skip
    try:
        assert process.stdout is not None
        assert "listening" in process.stdout.readline()
        copied(governed, folder)
        oidc = {
            "issuer": issuer, "address": address, "audience": [AUDIENCE], "allow_private": True, "timeout": 30,
            "client_id": "console", "client_secret": SECRET, "groups_claim": "groups", "required_scopes": ["kb"],
            "groups": {"hr": {"roles": ["source_owner", "auditor"]}}, "scopes": {"kb": ["source_owner"], "kb.read": ["reader"]},
        }  # fmt: skip
        with wenyuan.open(folder / "library", oidc=oidc, **SETTINGS) as library:
            tokens = TokenCallers(library.settings.oidc, library.folder, met=library.catalog.meet)
            ring = KeyRing(library.catalog, open_without_keys=True, tokens=tokens)
            app = with_console(create_app(library, authenticate=ring), marks, console_issuer(tokens))
            url, stop = start_in_thread(app, port=own, grace=1)
            try:
                yield World(url, issuer, library)
            finally:
                stop()
    finally:
        process.kill()
        process.communicate()


def signed_in(world: World, browser: Browser) -> str:
    """Where the issuer sends a browser back to, after signing in and consenting there."""
    asked = browser.get("/console/sign-in/issuer", next="/console/audit")
    assert asked.status == 303
    with httpx2.Client(trust_env=False, timeout=60) as client:
        answer = client.get(asked.location)
        for _ in range(10):
            if answer.is_redirect:
                to = answer.headers["location"]
                if to.startswith(f"{world.url}/console/sign-in/back"):
                    return str(to)
                answer = client.get(httpx2.URL(world.issuer).join(to))
                continue
            prompt = re.search(r'name="prompt" value="(\w+)"', answer.text)
            action = re.search(r'action="([^"]+)"', answer.text)
            assert prompt, answer.text[:500]
            assert action
            fields = {"prompt": prompt[1], "login": "u-li", "password": "x"}
            answer = client.post(httpx2.URL(world.issuer).join(action[1]), data=fields)
    raise AssertionError("the issuer did not send the browser back")


def test_people_sign_in_at_the_console(world: World) -> None:
    """Code, PKCE, state, nonce and ID token of another implementation; then the page that was asked for, by name; once."""
    browser = Browser(world.url)
    back = signed_in(world, browser)
    path = back.removeprefix(world.url)
    seen = browser.send("GET", path)
    assert seen.status == 200, seen.text("#fault")
    page = browser.get("/console/audit")
    assert page.status == 200
    assert "Li Ming" in page.text("header")
    assert [one.subject for one in world.library.catalog.people([person_id(world.issuer, "u-li")])] == ["u-li"]
    out = browser.post("/console/sign-out")
    there = out.tree.css_first("a.button").attributes["href"] or ""
    with httpx2.Client(trust_env=False) as client:
        assert client.get(there).status_code == 200
    again = browser.send("GET", path)
    assert again.status == 401


def token(world: World, scope: str, resource: str = AUDIENCE) -> str:
    with httpx2.Client(trust_env=False, auth=("batch", SECRET)) as client:
        fields = {"grant_type": "client_credentials", "scope": scope, "resource": resource}
        answer = client.post(f"{world.issuer}/token", data=fields)
    assert answer.status_code == 200, answer.text
    return str(answer.json()["access_token"])


def test_programs_call_the_api(world: World) -> None:
    """An access token of the issuer counts for what its scopes allow; without the scope that is needed it is told which."""
    whole = token(world, "kb kb.read")
    assert send(world.url, "POST", "/v1/search", {"query": "客户投诉"}, whole).status == 200
    assert send(world.url, "GET", "/v1/audit", None, whole).status == 403
    narrow = send(world.url, "POST", "/v1/search", {"query": "客户投诉"}, token(world, "kb.read"))
    assert narrow.status == 403
    assert 'error="insufficient_scope", scope="kb"' in narrow.headers["WWW-Authenticate"]


def test_a_token_that_was_changed_is_refused(world: World) -> None:
    """Its signature covers all of it."""
    head, content, signature = token(world, "kb").split(".")
    for wrong in (f"{head}.{content[:-4]}AAAA.{signature}", f"{head}.{content}.{signature[:-4]}AAAA"):
        assert send(world.url, "POST", "/v1/search", {"query": "x"}, wrong).status == 401
