"""Connection settings in a source's registry entry, validated; they name secrets but never contain them."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Sequence
from difflib import get_close_matches
from fnmatch import fnmatchcase
from typing import Annotated, TypeVar

from pydantic import BaseModel, Field, ValidationError

from wenyuan.core.errors import ConfigError
from wenyuan.core.messages import msg
from wenyuan.core.model import Source

ENV_ALLOWED = ("WENYUAN_*",)
"""Which environment variables a source may name, unless the settings say otherwise."""

_OWN = re.compile(r"WENYUAN_[A-Za-z0-9]+__.*")

VariableName = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$", max_length=128)]
"""The name of an environment variable that holds a secret. The pattern keeps the secret itself from being put here."""


Shape = TypeVar("Shape", bound=BaseModel)


def declared(shape: type[Shape], source: Source, *, apart: Collection[str] = ()) -> Shape:
    """Parse and validate a source's settings.

    Args:
        shape: What they may be.
        apart: Names of settings that are for others to read.

    Raises:
        ConfigError: they are not what its type needs; every fault is listed, no value is shown.
    """
    try:
        return shape.model_validate({n: v for n, v in source.settings.items() if n not in apart})
    except ValidationError as error:
        faults = "; ".join(
            f"{'.'.join(map(str, fault['loc']))}: {_meaning(shape, fault['type'], fault['msg'], str(fault['loc'][-1]))}"
            for fault in error.errors(include_input=False, include_url=False)
        )
        raise ConfigError(
            msg("its settings are wrong: {faults}", faults=faults), component=f"source {source.source_id}"
        ) from None


def secret(variable: str, component: str, allowed: Sequence[str] = ENV_ALLOWED) -> str:
    """The value of an environment variable that a source's settings name.

    Otherwise a user who may edit sources could send any variable of this process to an address of their choice.

    Args:
        allowed: Patterns of names, as of files (``*``, ``?``). The program's own settings, such as
            ``WENYUAN_ENCODER__KEY``, match none but their own name.

    Raises:
        ConfigError: no source may read it, it is not set, or empty.
    """
    if not (variable in allowed or (not _OWN.fullmatch(variable) and any(fnmatchcase(variable, p) for p in allowed))):
        raise ConfigError(
            msg(
                "the environment variable {variable} may not be read by a source: the setting "
                "sources.env_allowed has {allowed}",
                variable=variable,
                allowed=", ".join(allowed) or "no pattern",
            ),
            component=component,
            hint=msg("rename it to WENYUAN_{variable}, or add it to sources.env_allowed", variable=variable.upper()),
        )
    value = os.environ.get(variable, "").strip()
    if not value:
        raise ConfigError(
            msg("the environment variable {variable} is not set", variable=variable),
            component=component,
            hint=msg("export {variable}=…", variable=variable),
        )
    return value


def _meaning(shape: type[BaseModel], kind: str, message: str, name: str) -> str:
    if kind != "extra_forbidden":
        return message
    near = get_close_matches(name, list(shape.model_fields), n=1)
    return "there is no such setting" + (msg("; did you mean {near}?", near=repr(near[0])) if near else "")
