"""Settings of a source of type ``vector_index`` that names a table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from wenyuan.engines.external.vector_sources import VectorSourceSettings
from wenyuan.settings import VariableName

Name = Annotated[str, Field(min_length=1, max_length=63)]


class AttachedColumns(BaseModel):
    """Column names of a table.

    Attributes:
        id: Must be unique.
        metadata: JSON, whose scalar members become facets.
        effective_from, effective_until: The first and the last day on which a row counts, ``date`` or ``timestamp``;
            NULL for no bound. Rows that do not count on the day of a question are no candidates.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, hide_input_in_errors=True)

    id: Name
    text: Name
    vector: Name
    title: Name | None = None
    uri: Name | None = None
    metadata: Name | None = None
    effective_from: Name | None = None
    effective_until: Name | None = None


class AttachedSettings(VectorSourceSettings):
    """Settings of a source of type ``vector_index``.

    Attributes:
        dsn_env: The environment variable that holds the connection string.
        table: A table or view, ``schema.table``; without a schema it is in ``public``.
        dimension: Of the vectors.
        filter: What rows must have, by column.
    """

    dsn_env: VariableName
    table: Annotated[str, Field(pattern=r"^[^.\x00]{1,63}(\.[^.\x00]{1,63})?$")]
    columns: AttachedColumns
    dimension: Annotated[int, Field(ge=1, le=16_000)]
    filter: Mapping[Name, str | int | float | bool] = Field(default_factory=dict)

    @property
    def place(self) -> tuple[str, str]:
        """Schema and table."""
        schema, _, table = self.table.rpartition(".")
        return schema or "public", table
