"""An engine on an OpenSearch cluster: the index is spread over its nodes, the catalog elsewhere.

It has the same terms and the same scores as the other engines: the cluster proposes candidates within the scope, and what
they score is computed here. A query reads one state of the index, that of the newest mark (`marks`).
"""

from __future__ import annotations

from wenyuan.engines.opensearch.engine import OpenSearchEngine
from wenyuan.engines.opensearch.sessions import ClusterAddress

__all__ = ["ClusterAddress", "OpenSearchEngine"]
