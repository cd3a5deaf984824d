"""Paths, and the addresses that they stand for."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wenyuan.core.addresses import escaped_path
from wenyuan.core.model import Source
from wenyuan.service.tree.tree_paths import INDEX, TreePath, mounts_of

WEB = Source(source_id="web", path="https://example.com/docs/")
FILES = Source(source_id="files", path="/srv/docs")


@pytest.mark.parametrize(
    ("source", "address", "path"),
    [
        (WEB, "https://example.com/docs/a", "/web/https:/example.com/docs/a"),
        (WEB, "https://example.com/docs/", "/web/https:/example.com/docs/index"),
        (WEB, "https://example.com/docs/a%20b?x=1", "/web/https:/example.com/docs/a%20b?x=1"),
        (FILES, "file:///srv/docs/a/b.md", "/files/a/b.md"),
        (FILES, "file:///srv/docs/a%20b%23.md", "/files/a b#.md"),
        (FILES, "file:///srv/docs/差旅.md", "/files/差旅.md"),
        (FILES, "file:///srv/docs/book%20一.xlsx?sheet=%E8%B4%B9%202026", "/files/book 一.xlsx?sheet=费 2026"),
        (FILES, "file:///srv/docs/a.zip?entry=b%26c.md&sheet=1%25", "/files/a.zip?entry=b%26c.md&sheet=1%25"),
        (FILES, "file:///srv/docs/a.zip?entry=b/c%20d.md", "/files/a.zip?entry=b/c d.md"),
        (FILES, "file:///srv/docs/a.zip%3Fentry=x.md", "/files/a.zip%3Fentry=x.md"),
        (FILES, "file:///srv/docs/a%2520b.md", "/files/a%2520b.md"),
        (FILES, "file:///srv/docs/100%25.md", "/files/100%25.md"),
        (FILES, "file:///srv/docs/bad%FF.md", "/files/bad%FF.md"),
    ],
)
def test_a_path_leads_back_to_its_address(source: Source, address: str, path: str) -> None:
    """Whatever signs stand in it; paths of this machine are not in it."""
    (mount,) = {one.base: one for one in mounts_of(source, Path("/library/uploads"))}.values()
    assert mount.path(address) == path
    assert mount.addresses(TreePath.parse(path).rest)[-1 if path.endswith(INDEX) else 0] == address


@given(st.text(max_size=8).filter(lambda name: name not in {"", ".", ".."} and "/" not in name and "\0" not in name))
def test_no_two_files_have_one_path(name: str) -> None:
    """Whatever a file is called, what is listed of it leads to it and to no other."""
    (mount,) = {one.base: one for one in mounts_of(FILES, Path("/library/uploads"))}.values()
    address = f"file:///srv/docs/{escaped_path(name)}"
    rest = mount.path(address).removeprefix("/files/")
    assert mount.addresses(rest)[0] == address


def test_a_name_is_found_as_it_is_typed() -> None:
    """Escaped or not; a percent sign of the name, too."""
    (mount,) = {one.base: one for one in mounts_of(FILES, Path("/library/uploads"))}.values()
    for typed in ("a b.md", "a%20b.md"):
        assert "file:///srv/docs/a%20b.md" in mount.addresses(typed)
    assert "file:///srv/docs/100%25.md" in mount.addresses("100%.md")
    assert "file:///srv/docs/a.zip%3Fentry=x.md" in mount.addresses("a.zip?entry=x.md")


def test_uploads_hang_below_their_source() -> None:
    """A source without a path is read from the library's folder, which no path names."""
    (mount,) = mounts_of(Source(source_id="up"), Path("/library/uploads"))
    assert mount.path("file:///library/uploads/up/a.md") == "/up/a.md"
