"""What looks like a secret among names and values: it is not stored with a source, not exported, not audited."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from wenyuan.core.errors import Fault

HIDDEN = "***"

_NAME = re.compile(
    r"secret|token|passw|passphrase|pwd|credential|authori[sz]ation|cookie|(?:api|access|private)[_\-]?key"
    r"|(?:^|[_\-.])(?:key|auth|signature)\Z|密钥|秘钥|口令|密码|令牌",
    re.IGNORECASE,
)
_NO_SECRETS = frozenset({"token_budget", "tokens"})
_VALUE = re.compile(
    r"wy_[0-9a-f]{8}_[A-Za-z0-9_\-]+"
    r"|(?<=://)[^/\s@]{1,256}(?=@)"
    r"|(?<=[Bb]earer )[A-Za-z0-9._~+/=\-]{8,}"
    r"|(?<![A-Za-z0-9])sk-[A-Za-z0-9_\-]{16,}"
    r"|-----BEGIN [A-Z ]*PRIVATE KEY-----[^-]*(?:-----END [A-Z ]*PRIVATE KEY-----)?"
)
_PARAMETER = re.compile(
    r"([?&](?:[A-Za-z_\-]*(?:key|token|secret|password|passwd|pwd|auth|sig|signature))=)[^&#\s]+", re.IGNORECASE
)
_OTHERS_NAMES = frozenset({"columns", "filter", "redaction"})
"""Settings whose members are named by others: a column may be called ``key``."""
_BY_OTHERS = frozenset(f"settings.{name}" for name in _OTHERS_NAMES)


def scrubbed(name: str, value: Any) -> Any:
    """A value with secrets masked as ``***``; a changed secret thus shows as ``***`` → ``***``.

    Args:
        name: Name of the value; for some names, any value is a secret. A name that ends in ``_env`` holds the name of
            an environment variable, which is shown.
    """
    if isinstance(value, list):
        return [scrubbed(name, item) for item in value]
    if value is None or _is_secret(name):
        return None if value is None else HIDDEN
    if isinstance(value, Mapping):
        return {n: scrubbed(n, v) for n, v in value.items()}
    if isinstance(value, str):
        return _PARAMETER.sub(rf"\g<1>{HIDDEN}", _VALUE.sub(HIDDEN, value))
    return value


def shown_settings(settings: Mapping[str, Any]) -> dict[str, Any]:
    """A source's settings with secrets masked. Settings that pass `secret_faults` are unchanged."""
    return {
        name: _texts_scrubbed(value) if name in _OTHERS_NAMES else scrubbed(name, value)
        for name, value in settings.items()
    }


def _texts_scrubbed(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _texts_scrubbed(item) for name, item in value.items()}
    return [_texts_scrubbed(item) for item in value] if isinstance(value, list) else scrubbed("", value)


def secret_faults(settings: Mapping[str, Any]) -> tuple[Fault, ...]:
    """Faults for secrets in a source's settings, which belong in environment variables."""
    return tuple(_faults(settings, "settings"))


def _faults(value: Any, path: str, *, named: bool = True) -> Iterator[Fault]:
    if isinstance(value, Mapping):
        for name, item in value.items():
            at = f"{path}.{name}"
            if named and _is_secret(str(name)) and item is not None:
                yield Fault(at, "would hold a secret; put it into an environment variable, and name that in key_env")
            else:
                yield from _faults(item, at, named=named and at not in _BY_OTHERS)
    elif isinstance(value, (list, tuple)):
        for i, item in enumerate(value):
            yield from _faults(item, f"{path}[{i}]", named=named)
    elif isinstance(value, str) and scrubbed("", value) != value:
        yield Fault(path, "holds a secret; put it into an environment variable, and name that in key_env or dsn_env")


def _is_secret(name: str) -> bool:
    return name not in _NO_SECRETS and not name.endswith("_env") and _NAME.search(name) is not None
