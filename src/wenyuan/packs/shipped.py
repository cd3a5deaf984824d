"""The rule packs that ship with the program: their names, and a pack as a folder."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from importlib.resources import as_file, files
from pathlib import Path

from wenyuan.core.errors import InvalidRequest, did_you_mean, msg

PACK_FILE = "pack.yaml"
"""The file of a shipped pack that declares its schema and sources."""


def shipped() -> tuple[str, ...]:
    """The names of the packs that come with the program."""
    return tuple(sorted(p.name for p in files(__package__).iterdir() if p.joinpath(PACK_FILE).is_file()))


@lru_cache
def _titles(name: str) -> tuple[str, ...]:
    """The title of a shipped pack in Chinese and in English, as its file has them."""
    lines = files(__package__).joinpath(name, PACK_FILE).read_text("utf-8").splitlines()
    written = next((line for line in lines if line.startswith("title: ")), "")
    return tuple(part.strip() for part in written.removeprefix("title: ").split(" · "))


def title_of(name: str, language: str) -> str:
    """The title of a pack; ``""`` for one that is not shipped."""
    titles = _titles(name) if name in shipped() else ("",)
    return titles[0] if language == "zh" else titles[-1]


def titled(name: str, language: str) -> str:
    """A pack as people read it: its title with its name behind it, or the name alone."""
    title = title_of(name, language)
    return (f"{title}（{name}）" if language == "zh" else f"{title} ({name})") if title else name


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
