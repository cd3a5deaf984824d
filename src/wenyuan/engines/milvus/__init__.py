"""An engine on Milvus: the index is on a server or a cluster, the catalog elsewhere.

It has the same terms and the same scores as the other engines. A query reads one state of the index: rows up to the
change that the newest mark names (`marks`), and again when rows of that state were deleted meanwhile.
"""

from __future__ import annotations

from wenyuan.engines.milvus.engine import MilvusEngine
from wenyuan.engines.milvus.sessions import ServerAddress

__all__ = ["MilvusEngine", "ServerAddress"]
