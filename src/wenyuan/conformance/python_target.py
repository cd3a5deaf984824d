"""An implementation that is a Python object with a ``retrieve_fragments`` method."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Mapping
from importlib import import_module
from typing import Any

from wenyuan.conformance.targets import NOT_JSON, Answer
from wenyuan.core.errors import ConfigError, InvalidRequest, msg
from wenyuan.core.model import RetrievalRequest

WAYS = ("request", "dict", "keywords")


class PythonTarget:
    """An object whose ``retrieve_fragments`` is called in the way its attribute ``accepts`` names.

    ========== ==================================================================================
    accepts    call
    ========== ==================================================================================
    "request"  ``retrieve_fragments(RetrievalRequest(...))``; the default. A malformed request is refused by
               `wenyuan.core.model.RetrievalRequest`, which then is part of what is tested
    "dict"     ``retrieve_fragments({"query": ..., "max_results": ...})``, malformed ones too
    "keywords" ``retrieve_fragments(query=..., max_results=..., context=...)``, as many as the request has
    ========== ==================================================================================

    It returns a `wenyuan.core.model.RetrievalResponse`, a mapping, a dataclass or a pydantic model. It refuses a
    malformed request by raising ``TypeError``, ``ValueError`` or `InvalidRequest`; any other exception is a crash.

    Raises:
        ConfigError: no such method, or ``accepts`` is something else.
    """

    takes_bytes = False

    def __init__(self, subject: object, name: str = "") -> None:
        self._accepts = getattr(subject, "accepts", "request")
        if not callable(getattr(subject, "retrieve_fragments", None)):
            raise ConfigError(msg("{kind} has no method retrieve_fragments", kind=type(subject).__name__))
        if self._accepts not in WAYS:
            raise ConfigError(
                msg(
                    "accepts is {accepts}; it must be one of {ways}",
                    accepts=repr(self._accepts),
                    ways=", ".join(WAYS),
                )
            )
        self._subject: Any = subject
        self.name = name or type(subject).__name__

    @classmethod
    def load(cls, spec: str) -> PythonTarget:
        """The object that ``module:factory`` makes (or is, when it has the method and is no class); see `made`."""
        return cls(cls.made(spec, "retrieve_fragments"), spec)

    @staticmethod
    def made(spec: str, method: str = "") -> Any:
        """What ``module:factory`` makes, or is, when it is no class and has the method (or cannot be called).

        The current directory is searched too, as ``python -m`` does.

        Raises:
            ConfigError: nothing there, or the factory failed.
        """
        module_name, colon, attribute = spec.partition(":")
        if not (module_name and colon and attribute):
            raise ConfigError(msg("{spec} is not of the form module:factory", spec=repr(spec)))
        sys.path.insert(0, "")
        try:
            made: Any = import_module(module_name)
            for part in attribute.split("."):
                made = getattr(made, part)
            finished = hasattr(made, method) if method else not callable(made)
            if isinstance(made, type) or not finished:
                made = made()
        except Exception as error:  # whatever a stranger's module does, the caller must learn which one it was
            raise ConfigError(
                msg("{spec} cannot be loaded: {kind}: {error}", spec=spec, kind=type(error).__name__, error=error)
            ) from error
        finally:
            sys.path.remove("")
        return made

    def ask(self, request: Mapping[str, Any], headers: Mapping[str, str] | None = None) -> Answer:
        """Call the object; an exception becomes an answer (see `Answer.status`)."""
        try:
            result = self._call(dict(request))
        except (TypeError, ValueError, InvalidRequest) as error:
            return Answer(400, None, msg("{kind}: {error}", kind=type(error).__name__, error=error), by_http=False)
        except Exception as error:  # a crash is a finding, not the end of the run
            return Answer(500, None, msg("{kind}: {error}", kind=type(error).__name__, error=error), by_http=False)
        body = _plain(result)
        if not isinstance(body, dict):
            return Answer(200, NOT_JSON, repr(result), by_http=False)
        return Answer(200, body, repr(body), by_http=False)

    def send(self, body: bytes, headers: Mapping[str, str]) -> Answer:
        """Bytes cannot be sent to a Python object.

        Raises:
            TypeError: always.
        """
        raise TypeError("a Python object takes values, not bytes")

    def close(self) -> None:
        """Close the object, when it can be closed."""
        close = getattr(self._subject, "close", None)
        if callable(close):
            close()

    def _call(self, request: dict[str, Any]) -> Any:
        if self._accepts == "dict":
            return self._subject.retrieve_fragments(request)
        if self._accepts == "keywords":
            return self._subject.retrieve_fragments(**request)
        return self._subject.retrieve_fragments(RetrievalRequest(**request))


def _plain(value: Any) -> Any:
    """Dataclasses, pydantic models, mappings and tuples as JSON's own types."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        value = {f.name: getattr(value, f.name) for f in dataclasses.fields(value)}
    elif hasattr(value, "model_dump"):
        value = value.model_dump()
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return value
