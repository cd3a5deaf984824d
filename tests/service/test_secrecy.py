"""Secrets are named by sources, not held by them: not taken in, not given out, and only some can be named."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

import wenyuan
from governed_door import governed_server, key, send
from http_door import assert_problem
from wenyuan.cli.root import app
from wenyuan.core.errors import ConfigError, EngineUnavailable, InvalidRequest
from wenyuan.core.registry import Registry
from wenyuan.core.registry_file import parse_registry, registry_to_yaml
from wenyuan.core.secret_settings import HIDDEN, scrubbed, secret_faults, shown_settings
from wenyuan.core.source_entries import parse_source, shown_source, source_to_wire
from wenyuan.service.ingest.registry import apply, export, plan
from wenyuan.settings import load_settings, secret

SECRET = "Geheim-0815-密钥"
HELD: list[tuple[dict[str, Any], str]] = [
    ({"url": "https://kb.example", "key": SECRET}, "settings.key"),
    ({"api_key": SECRET}, "settings.api_key"),
    ({"口令": SECRET}, "settings.口令"),
    ({"headers": {"Authorization": f"Bearer {SECRET}"}}, "settings.headers.Authorization"),
    ({"url": f"https://user:{SECRET}@kb.example/"}, "settings.url"),
    ({"url": f"https://kb.example/?lang=zh&token={SECRET}"}, "settings.url"),
    ({"dsn": f"postgresql://u:{SECRET}@h/db"}, "settings.dsn"),
    ({"list": [{"password": SECRET}]}, "settings.list[0].password"),
]
SOUND: list[dict[str, Any]] = [
    {"url": "https://kb.example/v1", "key_env": "WENYUAN_KB", "required": False},
    {"dsn_env": "WENYUAN_DB", "columns": {"id": "key", "text": "token"}, "filter": {"key": 7, "secret": "no"}},
    {"redaction": {"actions": {"secret": "mask"}}},
    {"api_key_env": "WENYUAN_KB"},
]


@pytest.fixture
def library(tmp_path: Path) -> Iterator[Any]:
    with wenyuan.open(tmp_path / "library", create=True, encoder={"kind": "hashing"}) as opened:
        yield opened


@pytest.mark.parametrize(("held", "path"), HELD)
def test_settings_hold_no_secret(held: dict[str, Any], path: str) -> None:
    """Wherever it stands, it is refused with its place, and the message does not repeat it."""
    with pytest.raises(InvalidRequest) as caught:
        parse_source({"source_id": "kb", "type": "api", "settings": held})
    assert [fault.path for fault in caught.value.faults] == [path]
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize("held", SOUND)
def test_names_are_no_secrets(held: dict[str, Any]) -> None:
    """Names of variables, of columns and of kinds of values are taken in and shown as they are."""
    source = parse_source({"source_id": "kb", "path": "https://kb.example/", "settings": held})
    assert shown_source(source) == source_to_wire(source)


@pytest.mark.parametrize(("held", "_path"), HELD)
def test_what_older_settings_hold_is_not_exported(library: Any, held: dict[str, Any], _path: str) -> None:
    """A secret that is stored already stands in no export, in the rest nothing changes."""
    library.catalog.put_source(wenyuan.Source(source_id="kb", title="知识库", type="api", settings=held))
    text = export(library)
    assert SECRET not in text
    assert HIDDEN in text
    assert yaml.safe_load(text)["sources"][0]["title"] == "知识库"
    with pytest.raises(InvalidRequest):
        parse_registry(text.replace(HIDDEN, f"Bearer {SECRET}"), Path("/"))


def test_no_door_gives_a_secret_out(tmp_path: Path) -> None:
    """Neither HTTP nor the command line nor the audit shows what a source's settings should not hold."""
    with governed_server(tmp_path) as (url, library):
        held = {"url": f"https://u:{SECRET}@kb.example", "key": SECRET}
        library.catalog.put_source(wenyuan.Source(source_id="kb", type="api", settings=held))
        token = key(library, "admin")
        for path in ("/v1/sources", "/v1/sources/kb", "/v1/audit"):
            assert SECRET not in send(url, "GET", path, token=token).body.decode()
        assert send(url, "GET", "/v1/sources/kb", token=token).json["settings"]["key"] == HIDDEN
        body = {"source_id": "kb2", "type": "api", "settings": held}
        problem = assert_problem(send(url, "POST", "/v1/sources", body, token), 400, "invalid_request")
        assert {entry["path"] for entry in problem["errors"]} == {"settings.url", "settings.key"}
        env = {"WENYUAN_LIBRARY": str(library.folder), "WENYUAN_ENCODER__KIND": "hashing"}
        for command in (["source", "show", "kb", "--json"], ["source", "export"], ["source", "list", "--json"]):
            assert SECRET not in CliRunner().invoke(app, command, env=env).output


def test_a_source_that_is_added_holds_no_secret(library: Any, tmp_path: Path) -> None:
    """From Python, too, it is refused before anything is registered."""
    with pytest.raises(InvalidRequest, match=r"settings\.token"):
        library.add(wenyuan.Source(source_id="kb", path=str(tmp_path), settings={"token": SECRET}))
    assert library.sources() == ()


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)))  # fmt: skip
def test_scrubbing_twice_is_scrubbing_once(value: Any) -> None:
    """What was hidden stays as it is."""
    once = scrubbed("settings", value)
    assert scrubbed("settings", once) == once


@given(st.dictionaries(st.sampled_from(("url", "filter", "口令", "key_env", "n")) | st.text(), st.text(), max_size=3))
def test_what_has_no_fault_is_shown_whole(held: dict[str, str]) -> None:
    """Whatever is taken in comes out of an export as it went in."""
    if not secret_faults(held):
        assert shown_settings(held) == held


# -- which variables -----------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("name", "allowed", "may"),
    [
        ("WENYUAN_KB", ("WENYUAN_*",), True),
        ("AWS_SECRET_ACCESS_KEY", ("WENYUAN_*",), False),
        ("wenyuan_kb", ("WENYUAN_*",), False),
        ("XWENYUAN_KB", ("WENYUAN_*",), False),
        ("WENYUAN_ENCODER__KEY", ("WENYUAN_*",), False),
        ("WENYUAN_ENCODER__KEY", ("*",), False),
        ("WENYUAN_ENCODER__KEY", ("WENYUAN_ENCODER__KEY",), True),
        ("PARTNER_KEY", ("WENYUAN_*", "PARTNER_?EY"), True),
        ("WENYUAN_KB", (), False),
    ],
)
def test_which_variables_a_source_may_read(
    name: str, allowed: tuple[str, ...], may: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those that the setting allows, and the program's own settings only by their full name."""
    monkeypatch.setenv(name, SECRET)
    if may:
        assert secret(name, "source kb", allowed) == SECRET
        return
    with pytest.raises(ConfigError, match=r"sources\.env_allowed") as caught:
        secret(name, "source kb", allowed)
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize("settings", [
    {"type": "api", "settings": {"url": "http://127.0.0.1:9", "allow_private": True, "key_env": "HOME"}},
    {"type": "vector_index", "settings": {
        "dsn_env": "HOME", "table": "t", "columns": {"id": "i", "text": "t", "vector": "v"}, "encoder": "hashing-256",
        "dimension": 256,
    }},
])  # fmt: skip
def test_a_source_cannot_send_any_variable_anywhere(library: Any, settings: dict[str, Any]) -> None:
    """A question to a source that names another variable fails, and names the setting."""
    fingerprint = library.encoder.fingerprint
    if settings["type"] == "vector_index":
        settings["settings"] |= {"encoder": fingerprint.id, "dimension": fingerprint.dimension}
    library.catalog.put_source(wenyuan.Source(source_id="kb", **settings))
    with pytest.raises(ConfigError, match=r"HOME may not be read by a source.*sources\.env_allowed"):
        library.search("投诉")


def test_the_setting_lets_more_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A variable that the settings allow is read: the question gets as far as the network."""
    monkeypatch.setenv("PARTNER_KEY", "sk-1")
    options = {"encoder": {"kind": "hashing"}, "sources": {"env_allowed": ["PARTNER_*"]}}
    assert load_settings(None, **options).sources.env_allowed == ("PARTNER_*",)
    with wenyuan.open(tmp_path / "library", create=True, **options) as library:
        held = {"url": "http://127.0.0.1:9", "allow_private": True, "key_env": "PARTNER_KEY"}
        library.catalog.put_source(wenyuan.Source(source_id="kb", type="api", settings=held))
        with pytest.raises(EngineUnavailable, match="cannot be reached"):
            library.search("投诉")


# -- who replaces whom ---------------------------------------------------------------------------------------
def test_no_change_makes_a_loop(tmp_path: Path) -> None:
    """PATCH refuses a loop with 400, names it and stores nothing; the library goes on answering."""
    with governed_server(tmp_path) as (url, library):
        token = key(library, "admin")
        assert send(url, "PATCH", "/v1/sources/wiki", {"supersedes": ["crm_policy"]}, token).status == 200
        for body in ({"supersedes": ["wiki"]}, {"supersedes": ["crm_policy"]}):
            problem = assert_problem(
                send(url, "PATCH", "/v1/sources/crm_policy", body, token), 400, "invalid_request"
            )
            assert "crm_policy →" in json.dumps(problem, ensure_ascii=False)
        assert library.catalog.source("crm_policy").supersedes == ()
        asked = send(url, "POST", "/v1/search", {"query": "客户投诉"}, token)
        assert asked.json["status"] == "SUCCESS"


def test_two_changes_that_are_sound_apart(library: Any) -> None:
    """Of two plans made at the same time that close a loop together, the second is refused and changes nothing."""
    a, b = (wenyuan.Source(source_id=name, type="api", settings={"url": "http://x"}) for name in "ab")
    for source in (a, b):
        library.catalog.put_source(source)
    plans = [
        plan(library, Registry(sources=(replace(one, supersedes=(other,)),), sections=frozenset({"sources"})))
        for one, other in ((a, "b"), (b, "a"))
    ]
    apply(library, plans[0])
    with pytest.raises(InvalidRequest, match="→"):
        apply(library, plans[1])
    assert library.catalog.source("b").supersedes == ()


def test_what_is_pruned_closes_no_loop(library: Any) -> None:
    """A registry that removes a source is not refused for what that source says."""
    library.catalog.put_source(wenyuan.Source(source_id="old", type="api", supersedes=("new",)))
    library.catalog.put_source(wenyuan.Source(source_id="new", type="api"))
    wanted = Registry(sources=(wenyuan.Source(source_id="new", type="api", title="新"),))
    apply(library, plan(library, wanted), prune=True)
    assert [source.title for source in library.sources()] == ["新"]
    assert registry_to_yaml(Registry(sources=library.sources()))
