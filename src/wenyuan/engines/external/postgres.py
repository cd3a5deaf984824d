"""External sources of type ``vector_index`` in PostgreSQL: an existing table with texts and vectors, searched in
place.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from wenyuan.core.errors import ConfigError
from wenyuan.core.messages import msg
from wenyuan.core.model import EncoderFingerprint, Source
from wenyuan.engines.external import SourceSettings
from wenyuan.runtime import deadline_after, install_command
from wenyuan.runtime.declared import ENV_ALLOWED, VariableName, declared, secret

if TYPE_CHECKING:
    from wenyuan.engines.external.pgvector_table import PostgresTable


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


class AttachedSettings(SourceSettings):
    """Settings of a source of type ``vector_index``.

    Attributes:
        dsn_env: The environment variable that holds the connection string.
        table: A table or view, ``schema.table``; without a schema it is in ``public``.
        distance: Only the cosine gives a score that can be compared between sources.
        encoder: What made the vectors: a model's id, or the key of an encoder's fingerprint.
        dimension: Of the vectors.
        filter: What rows must have, by column.
        scale: Cosines from unrelated to identical; without it the encoder's own.
    """

    dsn_env: VariableName
    table: Annotated[str, Field(pattern=r"^[^.\x00]{1,63}(\.[^.\x00]{1,63})?$")]
    columns: AttachedColumns
    distance: Literal["cosine"] = "cosine"
    encoder: Annotated[str, Field(min_length=1)]
    dimension: Annotated[int, Field(ge=1, le=16_000)]
    filter: Mapping[Name, str | int | float | bool] = Field(default_factory=dict)
    scale: Annotated[tuple[float, float], Field(strict=False)] | None = None

    @property
    def place(self) -> tuple[str, str]:
        """Schema and table."""
        schema, _, table = self.table.rpartition(".")
        return schema or "public", table


def open_attached(
    source: Source,
    *,
    scale: tuple[float, float] = (0.0, 1.0),
    encoder: EncoderFingerprint | None = None,
    lazy: bool = False,
    env_allowed: Sequence[str] = ENV_ALLOWED,
) -> PostgresTable:
    """Open a PostgreSQL table as a source, over a read-only connection.

    Args:
        source: Its registry entry.
        scale: Of the encoder whose vectors will be asked with; the source's own ``scale`` comes first.
        encoder: The encoder whose vectors will be asked with, to be compared with what the settings name.
        lazy: Connect and check at the first question, not now.
        env_allowed: Patterns of the names that ``dsn_env`` may have.

    Raises:
        ConfigError: a setting is wrong, another encoder made the vectors, table or columns are not there or not what
            the settings say, or the driver is not installed.
        EngineUnavailable, EngineTimeout: the database cannot be asked (unless `lazy`).
    """
    component = f"source {source.source_id}"
    settings = declared(AttachedSettings, source)
    low, high = settings.scale or scale
    if not -1.0 <= low < high <= 1.0:
        raise ConfigError("scale must be two rising cosines", component=component)
    if encoder is not None:
        _same_encoder(settings, encoder, component)
    try:
        from wenyuan.engines.external.pgvector_table import PostgresTable
    except ImportError as error:
        raise ConfigError(
            "the driver of PostgreSQL is not installed", component=component, hint=install_command("postgres")
        ) from error
    table = PostgresTable(source.source_id, settings, secret(settings.dsn_env, component, env_allowed), (low, high))
    if not lazy:
        try:
            table.check(deadline_after(settings.timeout))
        except BaseException:
            table.close()
            raise
    return table


def _same_encoder(settings: AttachedSettings, encoder: EncoderFingerprint, component: str) -> None:
    if settings.encoder not in (encoder.id, encoder.key) or settings.dimension != encoder.dimension:
        raise ConfigError(
            msg(
                "its vectors are of {encoder} ({dimension} dimensions), questions are embedded by {id} "
                "({dimension2}); they cannot be compared",
                encoder=settings.encoder,
                dimension=settings.dimension,
                id=encoder.id,
                dimension2=encoder.dimension,
            ),
            component=component,
            hint="make the library with the encoder that made the table's vectors",
        )
