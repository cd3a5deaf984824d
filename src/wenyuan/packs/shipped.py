"""The rule packs that ship with the program: their names, and a pack as a folder."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import as_file, files
from pathlib import Path

from wenyuan.core.errors import InvalidRequest, did_you_mean, msg

PACK_FILE = "pack.yaml"
"""The file of a shipped pack that declares its schema and sources."""


def shipped() -> tuple[str, ...]:
    """The names of the packs that come with the program."""
    return tuple(sorted(p.name for p in files(__package__).iterdir() if p.joinpath(PACK_FILE).is_file()))


@contextmanager
def located(name: str) -> Iterator[Path]:
    """The folder of a shipped pack, for as long as the context lasts (it may have come out of an archive).

    Raises:
        InvalidRequest: there is no pack of that name.
    """
    known = shipped()
    if name not in known:
        raise InvalidRequest(
            msg(
                "no pack {name} comes with the program{near}: {known}",
                name=repr(name),
                near=did_you_mean(name, known),
                known=", ".join(known),
            )
        )
    with as_file(files(__package__).joinpath(name)) as folder:
        yield folder
