"""The engine on OpenSearch over a catalog of a test."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import opensearch_cluster
from engine_laws import SPEC
from wenyuan.catalog import Catalog
from wenyuan.engines.opensearch.engine import OpenSearchEngine
from wenyuan.engines.opensearch.indices import IndexShape
from wenyuan.engines.opensearch.sessions import ClusterAddress


def opened(urls: Sequence[str], catalog: Catalog, **more: Any) -> OpenSearchEngine:
    """An engine on the cluster at those addresses, in two parts of two copies each."""
    shape = more.pop("shape", IndexShape(shards=2, replicas=1))
    place = ClusterAddress(urls=urls, **more.pop("place", {}))
    return OpenSearchEngine(
        place, SPEC, library_id=catalog.library_id(), exclusive=catalog.writing, prefix=opensearch_cluster.PREFIX,
        shape=shape, **more,
    )  # fmt: skip
