"""External sources of type ``vector_index`` in PostgreSQL: an existing table with texts and vectors, searched in
place.
"""

from __future__ import annotations

from collections.abc import Sequence

from wenyuan.core.model import EncoderFingerprint, Source
from wenyuan.engines.external.table_sessions import PostgresTable
from wenyuan.engines.external.table_settings import AttachedSettings
from wenyuan.engines.external.vector_sources import check_encoder, cosine_scale, open_checked
from wenyuan.settings import ENV_ALLOWED, declared, secret


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
            the settings say.
        EngineUnavailable, EngineTimeout: the database cannot be asked (unless `lazy`).
    """
    component = f"source {source.source_id}"
    settings = declared(AttachedSettings, source)
    bounds = cosine_scale(settings, scale, component)
    hint = "make the library with the encoder that made the table's vectors"
    check_encoder(settings, settings.dimension, encoder, component, hint)
    table = PostgresTable(source.source_id, settings, secret(settings.dsn_env, component, env_allowed), bounds)
    return table if lazy else open_checked(table, settings.timeout)
