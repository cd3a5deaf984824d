"""The system of record: sources, documents, passages, vectors, and the numbered changes that indexes follow."""

from wenyuan.catalog.store import Catalog

__all__ = ["Catalog"]
