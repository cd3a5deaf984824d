"""Addresses: readable, valid, and leading back to the file that they name."""

from __future__ import annotations

import os
from pathlib import Path, PurePosixPath
from urllib.parse import unquote, urldefrag, urlsplit
from urllib.request import url2pathname

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from wenyuan.core.addresses import file_uri, folder_of, legible, path_words, with_fragment

names = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="/\x00"), min_size=1, max_size=20)


@pytest.mark.parametrize(
    ("path", "uri"),
    [
        ("/a/b.md", "file:///a/b.md"),
        ("/资料/安全 手册.md", "file:///资料/安全%20手册.md"),
        ("/a/100%#1?.md", "file:///a/100%25%231%3F.md"),
        ("/a/a&b=c;d,e+f@g:h!(i)'j'*$~.md", "file:///a/a&b=c;d,e+f@g:h!(i)'j'*$~.md"),
        ('/a/"<>[]{}|\\^`.md', "file:///a/%22%3C%3E%5B%5D%7B%7D%7C%5C%5E%60.md"),
        ("/a/\n\t\u00a0\u2028\x7f.md", "file:///a/%0A%09%C2%A0%E2%80%A8%7F.md"),
        ("/a/投诉（试行）.md", "file:///a/投诉（试行）.md"),
    ],
)
def test_known_uris(path: str, uri: str) -> None:
    """Chinese stays as it is; what a URI may not hold, or gives a meaning to, is escaped."""
    assert file_uri(PurePosixPath(path)) == uri


@given(st.lists(names, min_size=1, max_size=3))
def test_file_uri_leads_back(parts: list[str]) -> None:
    """The path of a file's URI, unescaped, is the file's, whatever its name; it has no query or fragment."""
    path = PurePosixPath("/", *parts)
    uri = file_uri(path)
    assert unquote(uri.removeprefix("file://")) == path.as_posix()
    assert not any(c.isspace() or c in '#?"<>' for c in uri)


@given(st.binary(min_size=1, max_size=12).filter(lambda raw: not {0, 47} & {*raw} and raw != b"."))
def test_file_uri_of_any_bytes(raw: bytes) -> None:
    """A name that is no UTF-8 has a URI too, which holds its bytes."""
    uri = file_uri(PurePosixPath("/") / os.fsdecode(raw))
    assert uri.encode().decode() == uri
    assert os.fsencode(unquote(uri.removeprefix("file:///"), errors="surrogateescape")) == raw


def test_file_uri_opens(tmp_path: Path) -> None:
    """A file can be opened by its URI with the standard library alone."""
    file = tmp_path / "安全 手册 100%#1?.md"
    file.write_text("文", encoding="utf-8")
    assert Path(url2pathname(urlsplit(file_uri(file)).path)).read_text(encoding="utf-8") == "文"


@given(names, st.text(st.characters(exclude_categories=("Cs",)), max_size=20))
@example("0", "第一章\u3000总则")
@example("0", "\u1680")
def test_fragment_comes_apart(name: str, fragment: str) -> None:
    """A fragment can be taken off again, and unescaped it is what was put on."""
    uri = file_uri(PurePosixPath("/") / name)
    bare, _, found = with_fragment(uri, fragment).partition("#")
    assert (bare, unquote(found)) == (uri, fragment)
    assert not any(c.isspace() or c in '#"<>' for c in found)


def test_no_fragment() -> None:
    """Without a fragment the URI stays as it is."""
    assert with_fragment("file:///a.md", "") == "file:///a.md"
    assert with_fragment("file:///a.md", "第三章-投诉 处理") == "file:///a.md#第三章-投诉%20处理"
    assert urldefrag(with_fragment("http://x/?q=1", "a#b")) == ("http://x/?q=1", "a%23b")


@pytest.mark.parametrize(
    ("uri", "folder"),
    [
        ("file:///a/b/c.md#x/y", "file:///a/b/"),
        ("http://x/a/b?path=/c/d", "http://x/a/"),
        ("file:///c.md", "file:///"),
        ("urn:x", ""),
        ("", ""),
    ],
)
def test_folder(uri: str, folder: str) -> None:
    """A folder is what comes before the last slash of the path; slashes of query and fragment do not count."""
    assert folder_of(uri) == folder


@pytest.mark.parametrize(
    ("uri", "words"),
    [
        ("file:///policies/complaint_handling-rules.md", "policies complaint handling rules"),
        ("file:///%E8%B5%84%E6%96%99/安全%20手册.docx#第一条", "资料 安全 手册"),
        ("gatewayService.md", "gateway Service"),
        ("TASK-17", "TASK 17"),
        ("https://host/a/b.html?q=z#f", "a b"),
        ("", ""),
    ],
)
def test_path_words(uri: str, words: str) -> None:
    """The words of an address are those that its author chose, without the suffix."""
    assert path_words(uri) == words


@pytest.mark.parametrize(
    "uri", ["http://[x", "//[", "http://a]b/c", "http://\u2100.com/x", "%zz%", "\x00", "file://", "a" * 9_000]
)
def test_path_words_never_fail(uri: str) -> None:
    """What is no URI has words all the same: context is never a reason to fail."""
    assert isinstance(path_words(uri), str)


@given(st.text(max_size=40))
def test_path_words_of_anything(text: str) -> None:
    """Any text at all has words, without white space around."""
    words = path_words(text)
    assert words == words.strip()


@pytest.mark.parametrize("name", ["安全手册.md", "plan.md", "é.md", ""])
def test_legible_name(name: str) -> None:
    """A name that is text stays as it is; one in GB18030 is read; any other is shown with replacement characters."""
    assert legible(name) == name
    assert legible("安全手册.md".encode("gb18030").decode("utf-8", "surrogateescape")) == "安全手册.md"
    assert legible(b"\xff\xfe.md".decode("utf-8", "surrogateescape")) == "\ufffd\ufffd.md"


@given(st.binary(max_size=20))
def test_legible_is_text(raw: bytes) -> None:
    """The legible form of any name can be stored and shown."""
    shown = legible(raw.decode("utf-8", "surrogateescape"))
    assert shown.encode().decode() == shown
