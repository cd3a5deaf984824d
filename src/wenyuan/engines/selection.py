"""Which engine the settings name."""

from __future__ import annotations

from typing import cast

from wenyuan.core.engine_opening import EngineOpening
from wenyuan.core.errors import ConfigError
from wenyuan.core.ports import Engine
from wenyuan.engines.memory import MemoryEngine
from wenyuan.plugins import ENGINES
from wenyuan.runtime.installation import install_command
from wenyuan.settings import Settings


def open_engine(settings: Settings, opening: EngineOpening) -> Engine:
    """The engine of the setting ``engine``: one of the program's own, or a plugin's; its driver is imported only now.

    Raises:
        ConfigError: a setting or a driver is missing, or the plugin cannot be used.
        EngineError: it cannot be opened.
    """
    plugin = ENGINES.make(settings.engine, opening)
    if plugin is not None:
        return cast("Engine", plugin)
    match settings.engine:
        case "memory":
            return MemoryEngine(opening.spec)
        case "postgres":
            return _postgres(settings, opening)
        case "milvus":
            return _milvus(settings, opening)
        case "opensearch":
            return _opensearch(settings, opening)
    from wenyuan.engines.local.engine import LocalEngine

    return LocalEngine(opening.folder, opening.spec, exclusive=opening.indexing, max_lag=opening.max_lag)


def _postgres(settings: Settings, opening: EngineOpening) -> Engine:
    chosen = settings.postgres
    dsn = chosen.dsn.get_secret_value().strip() or settings.catalog.dsn.get_secret_value().strip()
    if not dsn:
        raise ConfigError(
            "engine is postgres, but postgres.dsn is not set",
            component="settings",
            hint="export WENYUAN_POSTGRES__DSN='postgresql://user:password@host:5432/database'",
        )
    try:
        from wenyuan.engines.postgres.engine import PostgresEngine
    except ImportError as error:
        raise ConfigError(
            "the driver of PostgreSQL is not installed", component="settings", hint=install_command("postgres")
        ) from error
    return PostgresEngine(
        dsn, opening.spec, library_id=opening.library_id, prefix=chosen.schema_prefix, sessions=chosen.sessions,
        max_lag=opening.max_lag,
    )  # fmt: skip


def _milvus(settings: Settings, opening: EngineOpening) -> Engine:
    chosen = settings.milvus
    if not chosen.uri.strip():
        raise ConfigError(
            "engine is milvus, but milvus.uri is not set",
            component="settings",
            hint="export WENYUAN_MILVUS__URI=https://host:19530",
        )
    from wenyuan.engines.milvus.engine import MilvusEngine
    from wenyuan.engines.milvus.sessions import ServerAddress

    token = chosen.token.get_secret_value().strip()
    return MilvusEngine(
        ServerAddress(uri=chosen.uri.strip(), token=token, database=chosen.database, calls=chosen.calls),
        opening.spec, library_id=opening.library_id, exclusive=opening.writing, prefix=chosen.prefix, index=chosen.index,
        max_lag=opening.max_lag,
    )  # fmt: skip


def _opensearch(settings: Settings, opening: EngineOpening) -> Engine:
    chosen = settings.opensearch
    if not chosen.urls:
        raise ConfigError(
            "engine is opensearch, but opensearch.urls is not set",
            component="settings",
            hint="export WENYUAN_OPENSEARCH__URLS=https://host:9200,https://other:9200",
        )
    from wenyuan.engines.opensearch.engine import OpenSearchEngine
    from wenyuan.engines.opensearch.indices import IndexShape
    from wenyuan.engines.opensearch.sessions import ClusterAddress

    password, key = chosen.password.get_secret_value(), chosen.key.get_secret_value().strip()
    return OpenSearchEngine(
        ClusterAddress(urls=chosen.urls, user=chosen.user, password=password, key=key, ca=chosen.ca, calls=chosen.calls),
        opening.spec, library_id=opening.library_id, exclusive=opening.writing, prefix=chosen.prefix,
        shape=IndexShape(shards=chosen.shards, replicas=chosen.replicas, quantised=chosen.quantised),
        max_lag=opening.max_lag,
    )  # fmt: skip
