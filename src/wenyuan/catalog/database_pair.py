"""The databases of a library at both ends of a move."""

from __future__ import annotations

from typing import NamedTuple

import sqlalchemy as sa

from wenyuan.catalog import schema as t
from wenyuan.catalog.catalog import MOVING
from wenyuan.catalog.every_table import ALL
from wenyuan.catalog.task_anchor import TASK_ANCHOR

OWN = ("schema", "library_file", "tick", "audit", MOVING, t.PSEUDONYMS, TASK_ANCHOR)
"""Keys of `library` that belong to a place, not to what it holds."""


CATALOG = [table for kept in ALL for table in kept.sorted_tables if table is not t.library]


class DatabasePair(NamedTuple):
    """A table with the engine that reads the origin, and those that write and read the target."""

    table: sa.Table
    old: sa.Engine
    sink: sa.Engine
    new: sa.Engine
