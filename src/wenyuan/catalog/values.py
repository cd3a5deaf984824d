"""What is kept of the library as a whole, by key."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from wenyuan.catalog import schema
from wenyuan.catalog.database import Database
from wenyuan.core.errors import CatalogUnavailable, msg
from wenyuan.core.model import EncoderFingerprint


@dataclass(frozen=True, slots=True, eq=False)
class Values:
    """Library-wide settings and state: JSON values by key."""

    database: Database

    def value(self, key: str) -> Any:
        """The JSON value of a key, or None.

        Raises:
            CatalogUnavailable: it cannot be read, or is no JSON.
        """
        raw = self.database.remembered.get(("value", key), lambda: self._value(key))
        try:
            return None if raw is None else json.loads(raw)  # a fresh value: callers may change it
        except ValueError as error:
            raise CatalogUnavailable(
                msg("the stored value {key} is no JSON", key=repr(key)), component="catalog"
            ) from error

    def _value(self, key: str) -> str | None:
        with self.database.reading(f"reading {key!r}") as connection:
            raw: str | None = connection.scalar(
                sa.select(schema.library.c.value).where(schema.library.c.key == "value/" + key)
            )
        return raw

    def set_value(self, key: str, value: Any) -> None:
        """Store a JSON value under a key, replacing the former one."""
        with self.database.changing(f"writing {key!r}") as connection:
            connection.execute(schema.library.delete().where(schema.library.c.key == "value/" + key))
            connection.execute(
                schema.library.insert(), {"key": "value/" + key, "value": json.dumps(value, ensure_ascii=False)}
            )

    def values_below(self, beginning: str) -> Mapping[str, Any]:
        """The JSON values whose keys have a beginning in common, by the rest of the key; no `None` among them."""
        own = "value/" + beginning
        key, value = schema.library.c.key, schema.library.c.value
        with self.database.reading(f"reading {beginning!r}") as connection:
            rows = connection.execute(sa.select(key, value).where(key.startswith(own, autoescape=True))).all()
        found = {name.removeprefix(own): json.loads(raw) for name, raw in rows}
        return {name: held for name, held in found.items() if held is not None}

    def floor(self, mode: str) -> Mapping[str, Mapping[str, float]]:
        """Measured collection traits for a retrieval mode, by script (see `core.scoring.formula.Traits`); empty before the
        first measurement.
        """
        return self.database.remembered.get(("floor", mode), lambda: (self.value("floor") or {}).get(mode, {}))

    def encoder(self) -> EncoderFingerprint | None:
        """Fingerprint of the encoder that computed the stored vectors; None while there are none."""
        value = self.value("encoder")
        return None if value is None else EncoderFingerprint(**{**value, "scale": tuple(value["scale"])})
