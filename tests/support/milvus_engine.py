"""The engine on Milvus over a catalog of a test."""

from __future__ import annotations

from typing import Any

import milvus_server
from engine_laws import SPEC
from wenyuan.catalog import Catalog
from wenyuan.engines.milvus.engine import MilvusEngine
from wenyuan.engines.milvus.sessions import ServerAddress


def opened(address: str, catalog: Catalog, **more: Any) -> MilvusEngine:
    """An engine on the Milvus at that address; its collections are dropped when the server is given back."""
    place, prefix = ServerAddress(uri=address), milvus_server.PREFIX
    return MilvusEngine(
        place, SPEC, library_id=catalog.library_id(), exclusive=catalog.writing, prefix=prefix, **more
    )
