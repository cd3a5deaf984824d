"""The licences of what is installed with the program are known, written down, and none of them binds who uses it."""

from __future__ import annotations

import re
import tomllib
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def licences() -> Any:
    """The script that prints the page."""
    spec = spec_from_file_location("licences", ROOT / "scripts" / "licences.py")
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_each_package_has_a_licence_that_may_be_there(licences: Any) -> None:
    """Of what is always installed; each says which it has."""
    always = licences.table()[""]
    assert len(always) > 40
    assert {name: told for name, told in always.items() if not told or licences.reaches(told)} == {}


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_page_is_what_the_script_prints(licences: Any, language: str) -> None:
    """Every package of this environment stands in its table with the licence that it has; and none that no lock names."""
    page = (ROOT / "docs" / ("licences.md" if language == "en" else "licences.zh.md")).read_text("utf-8")
    rows = set(re.findall(r"^\| ([\w-]+) \| (.+) \|$", page, re.MULTILINE))
    told = {row for packages in licences.table().values() for row in packages.items()}
    assert told - rows == set()
    locked = set(re.findall(r"^([\w.-]+)==", (ROOT / "requirements-dev.lock").read_text("utf-8"), re.MULTILINE))
    assert {name for name, _ in rows} - {licences.canonical(one) for one in locked} - {"package", "软件包"} == set()
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    assert set(extras) <= set(re.findall(r"`(\w+)`", page))


@pytest.mark.parametrize(
    ("said", "binds"),
    [
        ("MIT", False),
        ("Apache-2.0 OR GPL-2.0-or-later", False),
        ("LGPL-3.0-only", False),
        ("GPL-3.0-only", True),
        ("AGPL-3.0-or-later", True),
        ("MIT AND GPL-2.0-only", True),
        ("GNU General Public License v3 (GPLv3)", True),
        ("SSPL-1.0", True),
    ],
)
def test_a_licence_that_binds_its_users_is_seen(licences: Any, said: str, binds: bool) -> None:
    """However it is written; not where another may be chosen."""
    assert licences.reaches(said) is binds
