"""Validated settings of external sources. Secrets are referenced by environment variable, never stored."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from difflib import get_close_matches
from fnmatch import fnmatchcase
from typing import Annotated, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from wenyuan.core.errors import ConfigError
from wenyuan.core.messages import msg
from wenyuan.core.model import Source

ENV_ALLOWED = ("WENYUAN_*",)
"""Which environment variables a source may name, unless the settings say otherwise."""

_OWN = re.compile(r"WENYUAN_[A-Za-z0-9]+__.*")

VariableName = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$", max_length=128)]
"""The name of an environment variable that holds a secret. The pattern keeps the secret itself from being put here."""


class SourceSettings(BaseModel):
    """Settings of every source that is searched in place.

    Attributes:
        timeout: Seconds that a question may take, when its deadline leaves more.
        required: Whether an answer without this source is a failure; the service reads it.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, hide_input_in_errors=True)

    timeout: float = Field(default=10.0, gt=0, le=60)
    required: bool = True


Shape = TypeVar("Shape", bound=SourceSettings)


def declared(shape: type[Shape], source: Source) -> Shape:
    """Parse and validate a source's settings.

    Raises:
        ConfigError: they are not what its type needs; every fault is listed, no value is shown.
    """
    try:
        return shape.model_validate(dict(source.settings))
    except ValidationError as error:
        faults = "; ".join(
            f"{'.'.join(map(str, fault['loc']))}: {_meaning(shape, fault['type'], fault['msg'], str(fault['loc'][-1]))}"
            for fault in error.errors(include_input=False, include_url=False)
        )
        raise ConfigError(
            msg("its settings are wrong: {faults}", faults=faults), component=f"source {source.source_id}"
        ) from None


def secret(variable: str, component: str, allowed: Sequence[str] = ENV_ALLOWED) -> str:
    """The value of an environment variable that a source's settings may name.

    Whoever may describe sources could else send any variable of this process to an address of their choice.

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


def _meaning(shape: type[SourceSettings], kind: str, message: str, name: str) -> str:
    if kind != "extra_forbidden":
        return message
    near = get_close_matches(name, list(shape.model_fields), n=1)
    return "there is no such setting" + (msg("; did you mean {near}?", near=repr(near[0])) if near else "")
