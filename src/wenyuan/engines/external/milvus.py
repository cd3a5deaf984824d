"""External sources of type ``vector_index`` in Milvus: an existing collection with texts and vectors, searched in
place.
"""

from __future__ import annotations

import json
import math
import re
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from typing import Annotated, Any, TypeVar
from urllib.parse import quote

from pydantic import BaseModel, ConfigDict, Field

from wenyuan.core.addresses import with_fragment
from wenyuan.core.errors import ConfigError, EngineError, EngineTimeout, EngineUnavailable, msg
from wenyuan.core.model import EncoderFingerprint, Source
from wenyuan.core.ports import Deadline, OutsideHit
from wenyuan.core.scoring.formula import rescale
from wenyuan.core.scoring.vector_checks import checked_vectors
from wenyuan.engines.external.vector_sources import VectorSourceSettings, check_encoder, cosine_scale, open_checked
from wenyuan.engines.milvus.sessions import connect, leave, lost, seconds, translated
from wenyuan.runtime.bounded_calls import BoundedCalls, CallTimedOut
from wenyuan.settings import ENV_ALLOWED, VariableName, declared, secret

MOST_AT_ONCE = 16
LIFETIME = 300.0
"""Seconds after which the collection is looked at anew."""
ROUNDING = 1e-4
_CONTROL = re.compile(r"[\x00-\x1f\x7f\ud800-\udfff]")

FieldName = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]{0,254}$")]
T = TypeVar("T")


class MilvusFields(BaseModel):
    """Field names of a collection: `id` is the primary key; `metadata` is JSON, whose scalar members become facets."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, hide_input_in_errors=True)

    id: FieldName
    text: FieldName
    vector: FieldName
    title: FieldName | None = None
    uri: FieldName | None = None
    metadata: FieldName | None = None


class AttachedMilvusSettings(VectorSourceSettings):
    """Settings of a source of type ``vector_index`` that names a collection.

    Attributes:
        uri_env: The environment variable that holds the address, ``https://host:19530``.
        token_env: That which holds ``user:password`` or an API key.
        filter: What rows must have, by field; a value of the partition key is one, too.
    """

    uri_env: VariableName
    token_env: VariableName | None = None
    database: FieldName | None = None
    collection: FieldName
    fields: MilvusFields
    dimension: Annotated[int, Field(ge=1, le=32_768)]
    filter: Mapping[FieldName, str | int | float | bool] = Field(default_factory=dict)


def open_milvus(
    source: Source,
    *,
    scale: tuple[float, float] = (0.0, 1.0),
    encoder: EncoderFingerprint | None = None,
    lazy: bool = False,
    env_allowed: Sequence[str] = ENV_ALLOWED,
) -> MilvusCollection:
    """Open a Milvus collection as a source; the arguments are those of `engines.external.postgres.open_attached`.

    Raises:
        ConfigError: a setting is wrong, another encoder made the vectors, the collection or its fields are not there
            or not what the settings say, or the driver is not installed.
        EngineUnavailable, EngineTimeout: the server cannot be asked (unless `lazy`).
    """
    component = f"source {source.source_id}"
    settings = declared(AttachedMilvusSettings, source)
    bounds = cosine_scale(settings, scale, component)
    hint = "make the library with the encoder that made the collection's vectors"
    check_encoder(settings, settings.dimension, encoder, component, hint)
    address = secret(settings.uri_env, component, env_allowed)
    if not address.startswith(("http://", "https://")):
        raise ConfigError(
            msg("what {uri_env} holds is no address", uri_env=settings.uri_env),
            component=component,
            hint=msg("export {uri_env}=https://host:19530", uri_env=settings.uri_env),
        )
    token = secret(settings.token_env, component, env_allowed) if settings.token_env else ""
    collection = MilvusCollection(source.source_id, settings, address, token, bounds)
    return collection if lazy else open_checked(collection, settings.timeout)


def condition(filter_: Mapping[str, str | int | float | bool], component: str) -> str:
    """A filter as a Milvus expression. Field names are validated by their settings; quotes in strings are escaped.

    Raises:
        ConfigError: a text with control characters, which Milvus has no way to write, or a number that is none.
    """
    parts = []
    for name, value in filter_.items():
        if isinstance(value, str):
            if _CONTROL.search(value):
                raise ConfigError(
                    msg("filter on {name}: control characters cannot be asked for", name=repr(name)),
                    component=component,
                )
            quoted = value.replace("\\", "\\\\").replace('"', '\\"')
            parts.append(f'{name} == "{quoted}"')
        elif isinstance(value, bool):
            parts.append(f"{name} == {'true' if value else 'false'}")
        elif math.isfinite(value):
            parts.append(f"{name} == {value!r}")
        else:
            raise ConfigError(msg("filter on {name}: a number must be finite", name=repr(name)), component=component)
    return " and ".join(parts)


class MilvusCollection:
    """One collection; made by `open_milvus`. Thread-safe.

    Questions are asked with consistency level *Strong*: what was written before is found.
    """

    needs_vector = True

    def __init__(
        self, source_id: str, settings: AttachedMilvusSettings, address: str, token: str, scale: tuple[float, float]
    ) -> None:
        self.source_id, self.encoder, self.dimension = source_id, settings.encoder, settings.dimension
        self.component = f"source {source_id}"
        self._settings, self._scale = settings, scale
        self._address, self._token = address, token
        filled = f'{settings.fields.text} != ""'  # a row without text is no candidate
        self._where = " and ".join(filter(None, (filled, condition(settings.filter, self.component))))
        self._errands = BoundedCalls(MOST_AT_ONCE, f"wenyuan-{source_id}")
        self._lock = threading.Lock()
        self._client: Any = None
        self._looked = -math.inf
        self._closed = False

    def check(self, deadline: Deadline) -> None:
        """Connect, validate the collection's schema, and run one search; raises as `open_milvus`."""
        unit = [1.0] + [0.0] * (self.dimension - 1)
        self._within(deadline, lambda: self._found(unit, 1, deadline))

    def ask(self, query: str, *, vector: Any, limit: int, as_of: date, deadline: Deadline) -> Sequence[OutsideHit]:
        """The nearest rows to ``vector``, best first; rows without text are skipped. Query words are not used.

        Raises:
            EngineTimeout: no answer before the deadline, or within the source's own timeout.
            EngineUnavailable: the server refused or broke, or the collection is not what the settings say any more.
            VectorRejected: ``vector`` is not one of this collection's dimension.
        """
        deadline.check(self.component)
        unit = checked_vectors([vector], 1, self.dimension, self.component)[0].tolist()
        own = deadline.within(self._settings.timeout)
        try:
            rows = self._within(own, lambda: self._found(unit, limit, own))
        except ConfigError as error:
            raise EngineUnavailable(error.message, component=self.component, hint=error.hint) from error
        return self._hits(rows)

    def close(self) -> None:
        """Disconnect. Later queries fail."""
        self._closed = True
        self._leave()

    def _leave(self) -> None:
        with self._lock:
            client, self._client = self._client, None
        if client is not None:
            leave(client)

    def _within(self, deadline: Deadline, work: Callable[[], T]) -> T:
        """Run a driver call; the only place where the driver's exceptions are translated."""
        if self._closed:
            raise EngineUnavailable("is closed", component=self.component)
        try:
            return self._errands.run(work, deadline.remaining())
        except CallTimedOut as error:
            raise EngineTimeout("no answer in time", component=self.component) from error
        except (ConfigError, EngineError):
            raise
        except Exception as error:  # the driver raises its own, those of gRPC, and whatever Python has
            self._looked = -math.inf
            if lost(error):
                self._leave()
            raise translated(error, self.component) from None

    def _connected(self, deadline: Deadline) -> Any:
        with self._lock:
            if self._client is None:
                self._client = connect(
                    self._address, self._token, self._settings.database or "", deadline, self.component
                )
            return self._client

    def _found(self, vector: list[float], limit: int, deadline: Deadline) -> list[Any]:
        client, settings = self._connected(deadline), self._settings
        if time.monotonic() - self._looked > LIFETIME:
            self._look(client, deadline)
            self._looked = time.monotonic()
        fields = [name for name in settings.fields.model_dump().values() if name and name != settings.fields.vector]
        found = client.search(
            settings.collection,
            data=[vector],
            anns_field=settings.fields.vector,
            limit=limit,
            filter=self._where,
            output_fields=fields,
            search_params={"metric_type": "COSINE"},
            consistency_level="Strong",
            timeout=seconds(deadline),
        )
        return list(found[0])

    def _look(self, client: Any, deadline: Deadline) -> None:
        """Validate the collection against the settings; raises ConfigError."""
        settings, named = self._settings, self._settings.fields
        if not client.has_collection(settings.collection, timeout=seconds(deadline)):
            raise ConfigError(
                msg("there is no collection {collection}", collection=repr(settings.collection)),
                component=self.component,
            )
        told = client.describe_collection(settings.collection, timeout=seconds(deadline))
        fields = {field["name"]: field for field in told["fields"]}
        asked = [name for name in named.model_dump().values() if name is not None]
        if missing := [name for name in (*asked, *settings.filter) if name not in fields]:
            raise ConfigError(
                msg(
                    "collection {collection} has no field {repr}; it has {fields}",
                    collection=repr(settings.collection),
                    repr=", ".join(map(repr, missing)),
                    fields=", ".join(sorted(fields)),
                ),
                component=self.component,
            )
        if not fields[named.id].get("is_primary"):
            raise ConfigError(msg("field {id} is not the primary key", id=repr(named.id)), component=self.component)
        kind = getattr(fields[named.vector]["type"], "name", "")
        size = fields[named.vector].get("params", {}).get("dim")
        if not kind.endswith("FLOAT_VECTOR") or size is None:
            raise ConfigError(
                msg("field {vector} is {kind}, not a dense vector of floats", vector=repr(named.vector), kind=kind),
                component=self.component,
            )
        if int(size) != settings.dimension:
            raise ConfigError(
                msg(
                    "field {vector} holds vectors of {size} dimensions, the settings say {dimension}",
                    vector=repr(named.vector),
                    size=size,
                    dimension=settings.dimension,
                ),
                component=self.component,
            )

    def _hits(self, rows: list[Any]) -> Sequence[OutsideHit]:
        hits = []
        for row in rows:
            cosine = float(row["distance"])
            if not -1.0 - ROUNDING <= cosine <= 1.0 + ROUNDING:  # false for NaN too
                raise EngineUnavailable("the collection gives a score that is no cosine", component=self.component)
            entity = row["entity"]
            if entity.get(self._settings.fields.text):
                hits.append(self._hit(entity, float(rescale(cosine, self._scale))))
        return tuple(sorted(hits, key=lambda hit: (-hit.score, hit.key)))

    def _hit(self, entity: Mapping[str, Any], score: float) -> OutsideHit:
        named, settings = self._settings.fields, self._settings

        def text(name: str | None) -> str:
            return str(entity.get(name) or "") if name is not None else ""

        metadata = entity.get(named.metadata) if named.metadata is not None else None
        try:
            members = json.loads(metadata) if isinstance(metadata, (str, bytes)) else metadata
        except (ValueError, RecursionError) as error:
            raise EngineUnavailable(
                "the collection holds metadata that is no JSON", component=self.component
            ) from error
        key = str(entity[named.id])
        return OutsideHit(
            key=key,
            uri=text(named.uri)
            or with_fragment(f"source:{self.source_id}/{quote(settings.collection, safe='')}", key),
            content=text(named.text),
            score=score,
            title=text(named.title),
            facets={
                name: value
                for name, value in (members if isinstance(members, dict) else {}).items()
                if isinstance(value, (str, int, float, bool))
            },
        )
