"""The catalog: the database of record of a library. Indexes are derived from it and can be rebuilt."""

from __future__ import annotations

from wenyuan.catalog.catalog import Catalog

__all__ = ["Catalog"]
