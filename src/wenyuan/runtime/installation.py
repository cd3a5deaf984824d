"""How this copy of the program was installed, and the commands to reinstall it, also with an extra.

Installers record where a package came from in ``direct_url.json`` beside it (packaging.python.org, "Recording the
Direct URL Origin of installed distributions"): a folder, perhaps editable, an archive, or a version control system.
"""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Mapping, Sequence
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from shlex import join, quote
from typing import Any
from urllib.parse import urlsplit
from urllib.request import url2pathname

_NAME = "wenyuan"


def install_command(
    *extras: str, beside: Sequence[str] = (), options: Sequence[str] = (), pip: Sequence[str] | None = None
) -> str:
    """A shell command that installs this copy of the program.

    Args:
        extras: Optional parts to install with it, as ``pyproject.toml`` names them.
        beside: Further packages.
        options: Of ``pip install``.
        pip: The installer; by default that of the Python that runs this.

    Returns:
        Where nothing is known of where the copy came from: what sets up a checkout, with ``CHECKOUT`` for its folder.
    """
    origin = _origin()
    what = _requirement(origin, extras)
    if what:
        return join([*(own_pip() if pip is None else pip), "install", *options, *what, *beside])
    more = [*([_with(".", extras)] if extras else ()), *beside]
    made = "cd CHECKOUT && make demo"
    return f"{made} && {join(['.venv/bin/pip', 'install', *options, *more])}" if more or options else made


def upgrade_command() -> str:
    """A shell command that upgrades this copy of the program; ``WHEEL`` stands for a file to download."""
    origin = _origin()
    if origin.get("vcs_info"):
        newest = {**origin, "vcs_info": {**origin["vcs_info"], "requested_revision": ""}}
        return join([*own_pip(), "install", "--upgrade", *_requirement(newest, ())])
    if "archive_info" in origin:
        return join([*own_pip(), "install", "--upgrade", "WHEEL"])
    if not _requirement(origin, ()):
        return "cd CHECKOUT && git pull && make demo"
    return f"git -C {quote(_path(origin))} pull && {install_command()}"


def own_pip() -> tuple[str, ...]:
    """The command for pip of the running Python, in its shortest form."""
    found = shutil.which("pip")
    mine = Path(sys.executable).parent
    return ("pip",) if found and Path(found).parent == mine else (sys.executable, "-m", "pip")


def _origin() -> Mapping[str, Any]:
    """The installation record of the program (PEP 610); empty where none can be read."""
    try:
        found = json.loads(distribution(_NAME).read_text("direct_url.json") or "{}")
    except (PackageNotFoundError, ValueError):
        return {}
    return found if isinstance(found, dict) and isinstance(found.get("url"), str) else {}


def _requirement(origin: Mapping[str, Any], extras: Sequence[str]) -> list[str]:
    """The requirement that reinstalls this program; empty where its origin is unknown or gone."""
    url = origin.get("url", "")
    if vcs := origin.get("vcs_info"):
        at = f"@{vcs['requested_revision']}" if vcs.get("requested_revision") else ""
        below = f"#subdirectory={origin['subdirectory']}" if origin.get("subdirectory") else ""
        return [f"{_with(_NAME, extras)} @ {vcs['vcs']}+{url}{at}{below}"]
    if url.startswith("file:") and not Path(_path(origin)).exists():
        return []
    if "dir_info" in origin:
        editable = ["-e"] if origin["dir_info"].get("editable") else []
        return [*editable, _with(_path(origin), extras)]
    return [f"{_with(_NAME, extras)} @ {url}"] if url else []


def _path(origin: Mapping[str, Any]) -> str:
    return url2pathname(urlsplit(origin["url"]).path)


def _with(what: str, extras: Sequence[str]) -> str:
    return f"{what}[{','.join(extras)}]" if extras else what
