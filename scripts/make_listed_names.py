"""Write given names and surnames in Latin letters: core/redaction/listed_names.npz.

    python scripts/make_listed_names.py CENSUS FAKER

CENSUS is the folder ``names`` of the source archive of the package "names" (files of the United States' census of 1990), FAKER is the folder
``faker/providers/person`` of the package "faker" (NOTICE names their licences). Left out are names that general English has as daily words.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from wenyuan.core.redaction import listed_names
from wenyuan.core.redaction.english_names import commonness

_NAME = re.compile(r"[A-ZÀ-Þ][a-zà-ɏ]{1,20}\Z")
_MOST_COMMON = 4.0
_CENSUS_SURNAMES, _CENSUS_FAMILIAR = 25_000, 0.005  # by how many have them; percent of people
_ASIDE = {"is_IS"}  # a register of names that may be given, most of which nobody has


def main(census: str, faker: str) -> None:
    given = {name for file in ("male", "female") for name, _ in _census(Path(census) / f"dist.{file}.first")}
    familiar = {
        name
        for file in ("male", "female")
        for name, share in _census(Path(census) / f"dist.{file}.first")
        if share >= _CENSUS_FAMILIAR
    }
    family = {name for name, _ in list(_census(Path(census) / "dist.all.last"))[:_CENSUS_SURNAMES]}
    for field, name in _faker(Path(faker)):
        (given if "first" in field else family).add(name)
    path = Path(listed_names.__file__).with_name(listed_names.FILE)
    kept = {name: _kept(names) for name, names in (("given", given), ("familiar", familiar), ("family", family))}
    np.savez_compressed(path, **{name: np.array([one.encode() for one in names]) for name, names in kept.items()})
    print(
        f"{path.name}: {', '.join(f'{len(names):,} {name}' for name, names in kept.items())}, {path.stat().st_size:,} bytes"
    )


def _kept(names: set[str]) -> list[str]:
    return sorted(name for name in names if _NAME.match(name) and len(name) > 2 and commonness(name) <= _MOST_COMMON)


def _census(path: Path) -> Iterator[tuple[str, float]]:
    for line in path.read_text("ascii").splitlines():
        name, share, *_ = line.split()
        yield name.capitalize(), float(share)


def _faker(folder: Path) -> Iterator[tuple[str, str]]:
    """The field and the name, of each list of names of each country."""
    for file in sorted(folder.glob("*/__init__.py")):
        if file.parent.name in _ASIDE:
            continue
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if not isinstance(node, ast.Assign) or not isinstance(node.targets[0], ast.Name):
                continue
            field = node.targets[0].id
            if not ("first" in field or "last" in field):
                continue
            for each in ast.walk(node.value):
                if isinstance(each, ast.Constant) and isinstance(each.value, str):
                    yield field, each.value


if __name__ == "__main__":
    main(*sys.argv[1:])
