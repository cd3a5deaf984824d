"""The elements of a page that a control opens: the answers of questions, tabs, what a search within the page finds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_NAMING = ("aria-controls", "commandfor", "popovertarget", "data-bs-target", "data-target")
_CONTROLS = ", ".join((*(f"[{name}]" for name in _NAMING), "[role=tab][href]"))
_COLLAPSING = frozenset("display visibility opacity height max-height content-visibility".split())
_MOST = 100_000


class Openings:
    """What the controls of a page open.

    Args:
        body: Of the page.
    """

    def __init__(self, body: Any) -> None:
        self._names: set[str] = set()
        for node in body.css(_CONTROLS)[:_MOST] if body is not None else ():
            attributes = node.attributes
            for name in (*_NAMING, "href"):
                self._names.update((attributes.get(name) or "").replace("#", " ").split())

    def open(self, attributes: Mapping[str, str | None]) -> bool:
        """Whether an element that is closed can be opened: a control names it, or it says so itself."""
        if not attributes:
            return False
        if (attributes.get("role") or "").strip().lower() == "tabpanel":
            return True
        if (attributes.get("hidden") or "").strip().lower() == "until-found":
            return True
        return bool(self._names) and (attributes.get("id") or "") in self._names


def when_open(said: Mapping[str, str]) -> Mapping[str, str]:
    """The declarations of an element without those that close it."""
    return {name: value for name, value in said.items() if name not in _COLLAPSING}
