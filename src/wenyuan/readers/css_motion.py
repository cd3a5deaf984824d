"""What the transitions and animations of a style sheet change, so that an element is seen after a while or a click."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

_FRAMES = re.compile(r"@(?:-webkit-)?keyframes\s+[\"']?([\w-]+)[\"']?\s*\{((?:[^{}]*+\{[^{}]*+\})*+)", re.IGNORECASE)
_FRAME = re.compile(r"\{([^{}]*+)\}")
_ANIMATIONS = ("animation", "animation-name", "-webkit-animation")
_MOVING = frozenset((*_ANIMATIONS, "transition", "transition-property"))
COLOURS = ("background", "color")
"""How the names of properties of colours begin."""
_WORD = re.compile(r"[\s,]+")
_COLLAPSING = frozenset("opacity visibility height max-height".split())
Frames = Mapping[str, Sequence[Mapping[str, str]]]


def frames_of(source: str, declared: Callable[[str], Mapping[str, str]]) -> Frames:
    """What each named animation of a style sheet says, frame by frame.

    Args:
        source: The style sheet, without comments.
        declared: Reads the declarations of a frame.
    """
    return {
        found[1].lower(): [declared(frame) for frame in _FRAME.findall(found[2])]
        for found in _FRAMES.finditer(source)
    }


def after_motion(said: Mapping[str, str], frames: Frames) -> Mapping[str, str]:
    """The declarations of an element without those that a transition or an animation of it changes."""
    if _MOVING.isdisjoint(said):
        return said
    changed = {name for name in animated(said, frames) if not name.startswith(COLOURS)}
    for name in ("transition", "transition-property"):
        words = _WORD.split(said[name]) if name in said else []
        every = "all" in words or (bool(words) and not any(word[:1].isalpha() for word in words))
        changed |= _COLLAPSING if every else _COLLAPSING.intersection(words)
    return {name: value for name, value in said.items() if name not in changed} if changed else said


def animated(said: Mapping[str, str], frames: Frames) -> set[str]:
    """The properties that the animations of an element change."""
    words = {word for name in _ANIMATIONS if name in said for word in _WORD.split(said[name])}
    return {
        name
        for word in words
        for frame in frames.get(word, ())
        for name, value in frame.items()
        if said.get(name) != value
    }
