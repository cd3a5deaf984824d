"""Keys of a library from before documents had readers do and see what they did, and nothing that came since is open to them."""

from __future__ import annotations

import json
import re
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import wenyuan
from governed_door import BODIES, at, send
from http_door import JSON, call
from wenyuan.catalog.format_upgrades import SCHEMA_VERSION
from wenyuan.core.access import RIGHTS
from wenyuan.server.app import ROUTES, create_app
from wenyuan.server.keys import KeyRing
from wenyuan.server.running import start_in_thread
from wenyuan.settings import ServerSettings

ARCHIVE = Path(__file__).parents[1] / "data" / "keyed_library.zip"
KEYS = (
    "nobody",
    "admin",
    "operator",
    "support",
    "registry",
    "ingest",
    "audit",
    "agent-registry",
    "revoked",
    "expired",
)
OLD_RIGHTS = {"retrieve", "search", "ingest", "registry", "audit", "admin"}


@dataclass
class Upgraded:
    """A library of that version, opened by this one, and what was answered then."""

    url: str
    library: Any
    told: Mapping[str, Any]
    folder: Path

    def secret(self, name: str) -> str | None:
        return self.told["keys"].get(name)

    def said(self, method: str, path: str, body: Any, name: str) -> list[Any]:
        """The status of an answer, and the documents and passages that it names."""
        answer = send(self.url, method, path, body, self.secret(name))
        pattern = r"(?:docs|wiki|desk)#\d+|\"document_id\": ?\d+"
        named = re.findall(pattern, answer.body.decode()) if answer.status == 200 else []
        return [answer.status, sorted(set(named))]


@pytest.fixture(scope="module")
def upgraded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Upgraded]:
    folder = tmp_path_factory.mktemp("keyed")
    with zipfile.ZipFile(ARCHIVE) as packed:
        packed.extractall(folder)
    told = json.loads((folder / "told.json").read_text("utf-8"))
    settings: dict[str, Any] = {"encoder": {"kind": "hashing"}, "cache": {"seconds": 0}, "search": {"floor": 0.0}}
    with wenyuan.open(folder / "library", audit={"retention_days": 36_500}, **settings) as library:
        ring = KeyRing(library.catalog, open_without_keys=True)
        app = create_app(library, authenticate=ring, settings=ServerSettings(rate_per_key=0))
        url, stop = start_in_thread(app, grace=1)
        try:
            yield Upgraded(url, library, told, folder)
        finally:
            stop()


def test_nothing_is_lost(upgraded: Upgraded) -> None:
    """It is of the present format; its keys are there with their rights, agents and states, and read as nobody in particular."""
    assert upgraded.library.catalog._version() == SCHEMA_VERSION
    held = upgraded.library.catalog.keys()
    keys = {key.name: key for key in held}
    assert set(keys) == set(KEYS) - {"nobody"} == set(upgraded.told["rights"])
    for name, key in keys.items():
        assert sorted(key.rights) == upgraded.told["rights"][name]
        assert key.agent_id == ("support" if name in ("support", "agent-registry") else None)
        assert (key.user, key.groups) == ("", frozenset())
        assert (key.revoked_at is not None, key.expires_at is not None) == (name == "revoked", name == "expired")
    assert upgraded.library.audit.verify().ok
    assert not upgraded.library.catalog.groups()


@pytest.mark.parametrize("name", KEYS)
def test_what_a_key_did_and_saw_it_does_and_sees(upgraded: Upgraded, name: str) -> None:
    """Each of some sixty calls has the status that it had, and names the same documents and passages."""
    then = upgraded.told["answers"][name]
    assert sum(status == 200 for status, _ in then) >= (0 if name in ("nobody", "revoked", "expired") else 2)
    now = [upgraded.said(*call, name) for call in upgraded.told["calls"]]
    differing = [
        (call, was, found) for call, was, found in zip(upgraded.told["calls"], then, now, strict=True) if was != found
    ]
    assert differing == []


def test_what_came_since_is_open_to_nobody_by_chance(upgraded: Upgraded) -> None:
    """Of the routes that are new, each answers 401 without a key and 403 to every key without its right; rights that are new are had
    by administrators alone.
    """
    new = [one for one in ROUTES if f"{one.method} {one.path}" not in upgraded.told["routes"] and one.right]
    assert len(new) >= 20
    for one in new:
        body = BODIES.get(one.path) if one.method in ("POST", "PUT", "PATCH") else None
        for name in KEYS:
            rights = set() if name == "nobody" else set(upgraded.told["rights"][name])
            if one.right in rights or name == "admin":
                continue
            refused = 401 if name in ("nobody", "revoked", "expired") else 403
            assert send(upgraded.url, one.method, at(one.path), body, upgraded.secret(name)).status == refused, (
                one,
                name,
            )
    assert {right for right in RIGHTS if right not in OLD_RIGHTS} == {"erase", "on_behalf_of"}


def test_nobody_speaks_for_others_by_an_old_key(upgraded: Upgraded) -> None:
    """Who was no administrator may not say for whom it asks."""
    for name in ("operator", "support", "registry", "ingest", "audit", "agent-registry"):
        headers = {**JSON, "Authorization": f"Bearer {upgraded.secret(name)}", "X-Wenyuan-On-Behalf-Of": "user:li"}
        body = {"query": "年假", "max_results": 5}
        assert call(upgraded.url, "POST", "/v1/retrieve_fragments", body, headers).status == 403
