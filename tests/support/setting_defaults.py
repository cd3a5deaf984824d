"""The settings of the program with their defaults."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pydantic import BaseModel

from wenyuan.settings import Settings


def settings(model: type[BaseModel] = Settings, path: str = "") -> Iterator[tuple[str, Any]]:
    """Each setting with its default."""
    for name, field in model.model_fields.items():
        if isinstance(field.default, BaseModel):
            yield from settings(type(field.default), f"{path}{name}.")
        else:
            yield path + name, field.default
