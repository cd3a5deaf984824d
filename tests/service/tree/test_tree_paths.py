"""Paths, and the addresses that they stand for."""

from __future__ import annotations

from pathlib import Path

import pytest

from wenyuan.core.model import Source
from wenyuan.service.tree.tree_paths import TreePath, mounts_of

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
        (FILES, "file:///srv/docs/book.xlsx?sheet=A%20B", "/files/book.xlsx?sheet=A%20B"),
        (FILES, "file:///srv/docs/bad%FF.md", "/files/bad%FF.md"),
    ],
)
def test_a_path_leads_back_to_its_address(source: Source, address: str, path: str) -> None:
    """Whatever signs stand in it; paths of this machine are not in it."""
    (mount,) = {one.base: one for one in mounts_of(source, Path("/library/uploads"))}.values()
    assert mount.path(address) == path
    assert address in mount.addresses(TreePath.parse(path).rest)


def test_uploads_hang_below_their_source() -> None:
    """A source without a path is read from the library's folder, which no path names."""
    (mount,) = mounts_of(Source(source_id="up"), Path("/library/uploads"))
    assert mount.path("file:///library/uploads/up/a.md") == "/up/a.md"
