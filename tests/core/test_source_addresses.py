"""Addresses of sources: which are understood, by which host they are asked, and which files of this machine they read."""

from __future__ import annotations

import itertools
import random
from contextlib import suppress
from urllib.parse import urlsplit

import pytest

from wenyuan.connectors.http_client import _target
from wenyuan.connectors.pages import plain_address
from wenyuan.core.errors import ConfigError, KnowledgeError
from wenyuan.core.remote_addresses import ascii_host, checked_address, host_of, local_places
from wenyuan.engines.external.contract_source import _endpoint
from wenyuan.runtime.guarded_http import refusal
from wenyuan.runtime.json_endpoint import EndpointKind, address

_SCHEMES = (
    "zip", "tar", "ZIP", "simplecache", "filecache", "blockcache", "file", "FILE", "local", "reference", "dir", "memory", "s3",
    "github", "libarchive", "", " file", "zip%3A", "git+file",
)  # fmt: skip
_RESTS = ("", "/", "/etc/a.zip", "///etc/a.zip", "//etc/a.zip", "//bucket/a.zip", "//", "%2Fetc/a.zip", "etc/a.zip")
_KIND = EndpointKind(name="model", unavailable=KnowledgeError, timeout=KnowledgeError)


def _accepted(text: str) -> bool:
    try:
        checked_address(text)
    except ValueError:
        return False
    return True


@pytest.mark.parametrize("text", [
    "zip:///srv/a.zip", "zip:///srv/a.zip!inner", "zip://folder::file:///srv/a.zip", "tar://::file:///srv/a.tar", "ZIP://*::s3://b/a.zip",
    "https://example.org/a", "s3://bucket/folder", "https://知识.例子/", "https://[::1]/a",
])  # fmt: skip
def test_an_address_that_is_understood(text: str) -> None:
    """A folder of an archive, and where it lies; and what has no chain at all."""
    assert _accepted(text) or "::1" in text


@pytest.mark.parametrize("text", [
    "zip://::zip:///etc/a.zip", "zip://a::tar:///etc/a.tar", "simplecache::zip:///etc/a.zip", "simplecache::file:///etc/a",
    "zip://a::simplecache::file:///srv/a.zip", "filecache://::file:///srv/a", "dir://a::file:///srv", "reference://::file:///srv/a.json",
    "zip://a::", "zip://::/etc/a.zip", "zip://a::etc", "zip://a:: file:///etc/a.zip", "zip://a::file:/etc/a.zip", "zip://a::file://etc/a.zip",
    "::zip:///etc/a.zip", "zip:///etc/a.zip::", "zip://a::::file:///srv/a.zip", "s3://a::file:///srv/a.zip",
])  # fmt: skip
def test_a_chain_that_is_not_understood_is_refused(text: str) -> None:
    """Archives in archives, caches, wrappers, empty members, and files by a path that is not whole."""
    assert not _accepted(text)


def test_whatever_chain_is_accepted_names_its_files() -> None:
    """Of all chains of up to three members: what is accepted has two, and its local file, if any, is among its places."""
    members = [f"{scheme}:{rest}" for scheme, rest in itertools.product(_SCHEMES, _RESTS)]
    draw = random.Random(7)
    chains = [*itertools.product(members, members), *(draw.choices(members, k=3) for _ in range(5_000))]
    accepted = [chain for chain in chains if _accepted("::".join(chain))]
    assert accepted and len(chains) > 30_000
    for chain in accepted:
        outer, inner = chain
        assert outer.lower().startswith(("zip:", "tar:")) and not inner.lower().startswith(("zip:", "tar:"))
        if inner.lower().startswith("file:"):
            (place,) = local_places("::".join(chain))
            assert place.startswith("/")


@pytest.mark.parametrize(
    ("host", "sent"),
    [
        ("127。0。0。1", "127.0.0.1"), ("127．0．0．1", "127.0.0.1"), ("127｡0｡0｡1", "127.0.0.1"), ("１２７.0.0.1", "127.0.0.1"),
        ("例子.中国", "xn--fsqu00a.xn--fiqs8s"), ("Example.ORG", "example.org"), ("::1", "::1"),
    ],
)  # fmt: skip
def test_a_host_is_asked_by_what_it_leads_to(host: str, sent: str) -> None:
    """The dots of IDNA are dots, wide digits are digits: connection, Host header and judgement have one form."""
    assert ascii_host(host) == sent
    if ":" not in host:
        assert _target(f"http://{host}/").host.decode() == sent
        assert plain_address(f"http://{host}/") == f"http://{sent}/"
    if sent.startswith("127"):
        assert refusal(sent) and refusal(host)


def test_no_form_of_an_address_breaks_what_takes_one() -> None:
    """Some thousands of generated forms: each is taken or refused by the documented error, and what is sent is ASCII."""
    draw = random.Random(11)
    parts = [
        "127", "0", "1", ".", "。", "．", "｡", "%2e", "[", "]", "::1", "@", ":", "80", "99999", "-1", "０", "xn--", "xn--a", "ß", "\u200d",
        "\u0000", " ", "\\", "/", "?", "#", "localhost", "例子", "a" * 64, "..", "%", "\ud800", "٣", "1e3", "0x7f", "%zz", "＠", "：", "\t",
    ]  # fmt: skip
    for _ in range(6_000):
        scheme = draw.choice(("http", "https", "HTTP", "git+https", "imap", "sftp", "s3", "webdav", "http:"))
        url = f"{scheme}://{''.join(draw.choices(parts, k=draw.randint(0, 7)))}{draw.choice(('', '/', '/a', '?q', '/例'))}"
        plain = plain_address(url)
        assert plain.isascii()
        if plain:
            assert _target(plain).host.isascii()
        with suppress(ValueError):
            assert checked_address(url)
        with suppress(ConfigError):
            assert address(url, "/embeddings", _KIND).raw_host.isascii()
        with suppress(ConfigError):
            assert _endpoint(url, "source x")
        assert isinstance(refusal(url), str)


def test_a_host_in_a_message_is_printable() -> None:
    """What has no ASCII form is written with escapes."""
    assert host_of(urlsplit("http://127。0。0。1:80/")) == "127.0.0.1:80"
    assert host_of(urlsplit(f"http://{'ä' * 70}/")).isascii()
