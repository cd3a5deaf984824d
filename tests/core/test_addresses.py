"""Web addresses where files are meant, services without an address, and private addresses that the operator forbids."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import wenyuan
from governed_door import governed_server, send
from scripted_server import SUCCESS, reply, scripted
from wenyuan.cli.root import app
from wenyuan.core.addresses import is_web_address
from wenyuan.core.errors import ConfigError, InvalidRequest
from wenyuan.core.source_entries import parse_source
from wenyuan.i18n.translation import translated

ADDRESS = "https://example.com/制度.pdf"


@pytest.mark.parametrize(
    ("text", "is_one"),
    [
        (ADDRESS, True), ("https:/example.com/x", True), ("file:///etc/passwd", True), ("s3://bucket/x", True),
        ("C:/Users/x", False), ("./a:b/c", False), ("制度：/x", False), ("/srv/https:/x", False), ("", False),
    ],
)  # fmt: skip
def test_what_is_a_web_address(text: str, is_one: bool) -> None:
    """A scheme of two letters or more before a slash; a drive, or a colon in a name, is none."""
    assert is_web_address(text) is is_one


@pytest.mark.parametrize("lang", ["en", "zh"])
@pytest.mark.parametrize(
    "command",
    [["apply", "https://example.com/registry.yaml"],
     ["rules", "import", "http://example.com/pack.yaml"]],
    ids=lambda c: c[0],
)  # fmt: skip
def test_a_command_says_that_nothing_is_fetched(tmp_path: Path, command: list[str], lang: str) -> None:
    """A web address in the place of a file is named as such, whole, with what to do instead."""
    environment = {"WENYUAN_ENCODER__KIND": "hashing", "WENYUAN_LIBRARY": str(tmp_path / "library"), "COLUMNS": "80"}
    assert CliRunner().invoke(app, ["init"], env=environment).exit_code == 0
    done = CliRunner().invoke(app, ["--lang", lang, *command], env=environment)
    assert done.exit_code != 0
    address = next(word for word in command if "://" in word)
    says = "is a web address; only files" if lang == "en" else "是网址，只能读取本机"
    assert f"{address} {says}" in done.output
    assert "wenyuan apply" in done.output


@pytest.mark.parametrize(
    ("address", "fault"),
    [
        ("file:///srv/docs", "write the path itself"), ("https:/example.com/x", "after its scheme stands ://"),
        ("https://user:secret@example.com/", "holds a user name or a secret"),
        ("https://example.com/?token=abc", "holds a user name or a secret"),
        ("s3://bucket/a/../b", "holds a step '..'"), ("s3://bucket/%2e%2e/b", "holds a step '..'"),
        ("zip://..::s3://bucket/a.zip", "holds a step '..'"), ("https:///x", "names no host"),
        ("imaps://", "names no host"), ("https://example.com:x/", "cannot be read"), ("https://a\\b/", "backslash"),
        ("zip://srv/a.zip", "does not begin with /"), ("zip://a::file://srv/a.zip", "does not begin with /"),
        ("git+file://~/repo", "does not begin with /"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("lang", ["en", "zh"])
def test_addresses_that_no_source_may_have(tmp_path: Path, address: str, fault: str, lang: str) -> None:
    """Secrets, steps upwards and addresses without a host are refused before anything is asked, in both languages."""
    with pytest.raises(InvalidRequest) as caught:
        parse_source({"source_id": "a", "path": address})
    [told] = caught.value.faults
    assert told.path == "path"
    assert fault in told.message
    environment = {"WENYUAN_ENCODER__KIND": "none", "WENYUAN_LIBRARY": str(tmp_path / "library"), "COLUMNS": "200"}
    CliRunner().invoke(app, ["init"], env=environment)
    done = CliRunner().invoke(app, ["--lang", lang, "add", address, "--source", "a"], env=environment)
    assert done.exit_code != 0
    assert (fault if lang == "en" else translated(told.message, "zh")) in done.output


def test_addresses_are_kept_as_they_are() -> None:
    """The address of what a connector reads is no path: it is not normalised, but for the case of its scheme."""
    address = "S3://bucket/手册/a b//c"
    assert parse_source({"source_id": "a", "path": address}, Path("/srv")).path == "s3://bucket/手册/a b//c"


def test_a_registry_file_says_where(tmp_path: Path) -> None:
    """In a registry file the line with the address, and that of a service without one, are told at once."""
    file = tmp_path / "registry.yaml"
    file.write_text(
        "sources:\n  - source_id: a\n    path: https://a:b@example.com/\n  - source_id: b\n    type: api\n    settings: {}\n",
        "utf-8",
    )
    with wenyuan.open(tmp_path / "library", create=True, encoder={"kind": "hashing"}) as library:
        from wenyuan.service.ingest.registry import read_registry

        with pytest.raises(InvalidRequest) as caught:
            read_registry(library, file)
    told = [(getattr(f, "line", 0), f.message) for f in caught.value.faults]
    assert told[0][0] == 3
    assert "holds a user name or a secret" in told[0][1]
    assert any("needs the address of its service" in message for _, message in told)


def test_a_service_without_an_address_is_refused() -> None:
    """A source of type api without a url is no source."""
    with pytest.raises(InvalidRequest, match=r"settings\.url: is missing"):
        parse_source({"source_id": "kb", "type": "api"})
    assert parse_source({"source_id": "kb", "type": "api", "settings": {"url": "https://kb.example"}})


def test_over_http(tmp_path: Path) -> None:
    """The same refusals over HTTP, by path; nothing is registered."""
    with governed_server(tmp_path, needs_keys=False) as (url, library):
        for body, path in (
            ({"source_id": "x", "path": "https://a:b@example.com/"}, "path"),
            ({"source_id": "x", "type": "api"}, "settings.url"),
        ):
            answer = send(url, "POST", "/v1/sources", body)
            assert answer.status in (400, 422), answer.json
            assert path in str(answer.json)
        assert "x" not in {s.source_id for s in library.sources()}


@pytest.mark.parametrize(
    "source",
    [
        wenyuan.Source(source_id="x", path="https://user:secret@example.com/"),
        wenyuan.Source(source_id="x", type="api", settings={"url": "https://kb.example"}),
    ],
)
def test_the_library_object_refuses_before_it_registers(library: Any, source: wenyuan.Source) -> None:
    """What cannot be taken in is not registered either."""
    with pytest.raises(InvalidRequest):
        library.add(source)
    assert library.sources() == ()


@pytest.mark.parametrize(("allowed", "asks"), [(True, True), (False, True), (True, False), (False, False)])
def test_the_operator_has_the_last_word(tmp_path: Path, allowed: bool, asks: bool) -> None:
    """A private address is asked only where the source says so and the setting lets it."""
    options: dict[str, Any] = {"encoder": {"kind": "hashing"}, "sources": {"allow_private": allowed}}
    with (
        scripted(reply(200, SUCCESS)) as server,
        wenyuan.open(tmp_path / "library", create=True, **options) as library,
    ):
        settings = {"url": f"http://127.0.0.1:{server.port}", "allow_private": asks}
        library.catalog.put_source(wenyuan.Source(source_id="kb", type="api", settings=settings))
        if allowed and asks:
            assert library.search("报销").hits
            return
        with pytest.raises(wenyuan.core.errors.KnowledgeError) as caught:
            library.search("报销")
        assert server.connections == 0
        if asks:
            assert isinstance(caught.value, ConfigError)
            assert "sources.allow_private" in caught.value.message


def test_a_narrow_message_comes_before_a_broad_one() -> None:
    """What may also be auto says so in Chinese, too, in one sentence."""
    said = translated('must be an integer from 1 to 100, "auto" or "confidence"')
    assert said == '应为 1 至 100 的整数、"auto" 或 "confidence"'
