"""Packages of others, as an installer leaves them in a folder: a module, and what it adds to the program."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path


def install_package(
    folder: Path, name: str, groups: Mapping[str, Mapping[str, str]], code: str = "", *, version: str = "1"
) -> None:
    """Install a package in a folder of the import path.

    Args:
        name: Of the package; its module has ``_`` for ``-``.
        groups: Entry points by group and name, as ``module:function``.
        code: Of the module.
    """
    module = name.replace("-", "_")
    record = folder / f"{module}-{version}.dist-info"
    record.mkdir(parents=True)
    (record / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    lines = [
        line
        for group, entries in groups.items()
        for line in (f"[{group}]", *(f"{entry} = {value}" for entry, value in entries.items()))
    ]
    (record / "entry_points.txt").write_text("\n".join(lines) + "\n")
    (folder / f"{module}.py").write_text(code)
