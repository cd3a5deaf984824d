"""Wenyuan (文渊): a knowledge service for LLM agents. Governed sources in, checkable evidence out.

>>> import wenyuan
>>> with wenyuan.open("library") as library:                                         # doctest: +SKIP
...     answer = library.retrieve_fragments(wenyuan.RetrievalRequest(query="投诉多久响应", max_results=3))
...     answer.status, [fragment.source for fragment in answer.fragments]

Importing this module loads no driver, no model and no numpy; a name is loaded when it is first used.
"""

from __future__ import annotations

import os
from importlib import import_module
from typing import TYPE_CHECKING, Any

from wenyuan.core.version import VERSION

if TYPE_CHECKING:
    from wenyuan.app import create_library as create
    from wenyuan.app import open_library as open
    from wenyuan.client import AsyncClient, Client
    from wenyuan.core.errors import InvalidRequest, KnowledgeError, NotPermitted, RetrievalFailed
    from wenyuan.core.model import Fragment, Passage, RetrievalRequest, RetrievalResponse, Source
    from wenyuan.service.library import Library

__all__ = [
    "AsyncClient",
    "Client",
    "Fragment",
    "InvalidRequest",
    "KnowledgeError",
    "Library",
    "NotPermitted",
    "Passage",
    "RetrievalFailed",
    "RetrievalRequest",
    "RetrievalResponse",
    "Source",
    "create",
    "open",
]


__version__ = VERSION

# The wheels of onnxruntime 1.29 and later report to their maker, over the network, unless the environment says otherwise
# before they are first imported, by whoever it be: https://github.com/microsoft/onnxruntime/pull/29843. Its own switch
# comes too late: one event is sent, and an id of the machine is written, when it is loaded.
for _name in ("ORT_DISABLE_TELEMETRY", "ORT_TELEMETRY_DISABLED"):
    os.environ.setdefault(_name, "1")

_HOME = {
    "AsyncClient": "wenyuan.client.async_client:AsyncClient",
    "Client": "wenyuan.client:Client",
    "Fragment": "wenyuan.core.model:Fragment",
    "InvalidRequest": "wenyuan.core.errors:InvalidRequest",
    "KnowledgeError": "wenyuan.core.errors:KnowledgeError",
    "Library": "wenyuan.service.library:Library",
    "NotPermitted": "wenyuan.core.errors:NotPermitted",
    "Passage": "wenyuan.core.model:Passage",
    "RetrievalFailed": "wenyuan.core.errors:RetrievalFailed",
    "RetrievalRequest": "wenyuan.core.model:RetrievalRequest",
    "RetrievalResponse": "wenyuan.core.model:RetrievalResponse",
    "Source": "wenyuan.core.model:Source",
    "create": "wenyuan.app:create_library",
    "open": "wenyuan.app:open_library",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'wenyuan' has no attribute {name!r}")
    module, _, attribute = _HOME[name].partition(":")
    value = getattr(import_module(module), attribute)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
