"""Names of uploaded files: whatever was sent, what is kept lies below the folder, in sight, and can be opened."""

from __future__ import annotations

from pathlib import PurePosixPath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wenyuan.service.uploads import clean_name


@pytest.mark.parametrize(
    ("given_name", "kept"),
    [
        ("说明.pdf", "说明.pdf"),
        ("制度/2026/请假.md", "制度/2026/请假.md"),
        ("../../etc/passwd.txt", "etc/passwd.txt"),
        ("/etc/hosts.txt", "etc/hosts.txt"),
        ("C:\\Users\\x\\a.docx", "C/Users/x/a.docx"),
        (".hidden.md", "hidden.md"),
        ("...md", "md"),
        ("a/./b//c.md", "a/b/c.md"),
        ("con.txt", "_con.txt"),
        ("x/NUL", "x/_NUL"),
        ("a\u202egpj.md", "agpj.md"),
        ("a\x00b\n.md", "ab.md"),
        ("cafe\u0301.md", "café.md"),
        (" a .md. ", "a .md"),
    ],
)
def test_what_is_kept_of_a_name(given_name: str, kept: str) -> None:
    """Folders stay; steps up, to the root, hidden names, devices and invisible characters do not."""
    assert clean_name(given_name) == kept


@pytest.mark.parametrize("name", ["", ".", "..", "a/", "/", "\x00", "...", "x" * 300 + ".md", "a/" * 10 + "b.md"])
def test_a_name_of_which_nothing_is_left_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match=r"name|folders"):
        clean_name(name)


@given(st.text(max_size=80))
def test_no_name_leads_out(name: str) -> None:
    """And a name that was cleaned stays as it is."""
    try:
        kept = clean_name(name)
    except ValueError:
        return
    parts = PurePosixPath(kept).parts
    assert not PurePosixPath(kept).is_absolute()
    assert not {"..", "."} & set(parts)
    assert not any(part.startswith(".") for part in parts)
    assert clean_name(kept) == kept
