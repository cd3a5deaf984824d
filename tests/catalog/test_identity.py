"""A copied library: it has the id of the original, the doctor says so, and it can have one of its own."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

from wenyuan.catalog import Catalog
from wenyuan.cli.root import app


def doctor(folder: Path, *more: str) -> tuple[str, str]:
    environment = {"WENYUAN_ENCODER__KIND": "hashing", "WENYUAN_LIBRARY": str(folder), "COLUMNS": "80"}
    done = CliRunner().invoke(app, ["doctor", *more], env=environment)
    return done.stdout, done.stderr


@pytest.fixture
def original(tmp_path: Path) -> Path:
    Catalog.create(tmp_path / "a").close()
    return tmp_path / "a"


def identity(folder: Path) -> tuple[str, bool]:
    catalog = Catalog.open(folder)
    try:
        return catalog.library_id(), catalog.elsewhere()
    finally:
        catalog.close()


def test_a_library_is_where_it_was_made(original: Path) -> None:
    """A library that was never copied is no copy, and still none when its folder has another name."""
    name, elsewhere = identity(original)
    assert name
    assert not elsewhere
    original.rename(original.parent / "moved")
    assert identity(original.parent / "moved") == (name, False)


def test_a_copy_is_found_out(original: Path) -> None:
    """A copy has the id of the original, and knows that it is one; the original is not in doubt."""
    copy = original.parent / "b"
    shutil.copytree(original, copy)
    assert identity(copy) == (identity(original)[0], True)
    assert identity(original)[1] is False


def test_a_copy_can_have_its_own_id(original: Path) -> None:
    """With a new id it is another library, and no copy any more."""
    copy = original.parent / "b"
    shutil.copytree(original, copy)
    catalog = Catalog.open(copy)
    name = catalog.renew_id()
    catalog.close()
    assert identity(copy) == (name, False)
    assert identity(original)[0] != name


@pytest.mark.parametrize(("lang", "says"), [("en", "this folder is a copy"), ("zh", "此目录是复制")])
def test_the_doctor_says_so_and_helps(original: Path, lang: str, says: str) -> None:
    """It warns with the command that helps, and after it has nothing more to say of that."""
    copy = original.parent / "b"
    shutil.copytree(original, copy)
    shown, _ = doctor(copy, "--lang", lang)
    assert says in shown
    assert "wenyuan doctor --new-id" in shown
    before = identity(copy)[0]
    checked = json.loads(doctor(copy, "--new-id", "--json")[0])
    assert "identity" not in [check["name"] for check in checked["checks"]]
    assert identity(copy)[0] != before
    assert says not in doctor(original, "--lang", lang)[0]
