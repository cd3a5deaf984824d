"""The kinds of columns, so that SQLite and PostgreSQL hold the same values and put them in the same order."""

from __future__ import annotations

import json
from typing import Any

import sqlalchemy as sa

__all__ = ["ID", "JSON", "TEXT"]


class _Words(sa.TypeDecorator[str]):
    """Text in PostgreSQL: by code points, as SQLite orders it, and with NUL, which PostgreSQL does not hold.

    NUL is written as 1, 1 and the character 1 as 1, 2, which leaves the order of texts as it was.
    """

    impl = sa.Text(collation="C")
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: sa.Dialect) -> str | None:
        if value is None or ("\x00" not in value and "\x01" not in value):
            return value
        return value.replace("\x01", "\x01\x02").replace("\x00", "\x01\x01")

    def process_result_value(self, value: str | None, dialect: sa.Dialect) -> str | None:
        if value is None or "\x01" not in value:
            return value
        return value.replace("\x01\x01", "\x00").replace("\x01\x02", "\x01")


class _Tree(sa.TypeDecorator[Any]):
    """JSON as text: with its own order of keys, NaN and NUL, and so that rows can be compared."""

    impl = sa.Text(collation="C")
    cache_ok = True

    def process_bind_param(self, value: Any, dialect: sa.Dialect) -> str:
        return json.dumps(value)

    def process_result_value(self, value: str | None, dialect: sa.Dialect) -> Any:
        return None if value is None else json.loads(value)


TEXT = sa.Text().with_variant(_Words(), "postgresql")
JSON = sa.JSON().with_variant(_Tree(), "postgresql")
ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
"""On SQLite an INTEGER primary key is the row id; AUTOINCREMENT makes sure that a number is never given twice."""
