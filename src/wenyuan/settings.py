"""One frozen `Settings`, read once: ``wenyuan.toml`` in the library's folder, then the environment over it. And the
connection settings of a source, which its registry entry has.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Collection, Mapping, Sequence
from difflib import get_close_matches
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar, get_args, get_origin

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    SecretStr,
    ValidationError,
    ValidationInfo,
    field_validator,
)
from pydantic.fields import FieldInfo
from pydantic_core import PydanticCustomError
from pydantic_settings import (
    BaseSettings,
    EnvSettingsSource,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    TomlConfigSettingsSource,
)

from wenyuan.core.errors import ConfigError, msg
from wenyuan.core.model import Source
from wenyuan.oidc_settings import OidcSettings
from wenyuan.plugins import ENCODERS, ENGINES, JUDGES, RERANKERS, ExtensionPoint

__all__ = [
    "AuditSettings",
    "CacheSettings",
    "CatalogSettings",
    "EncoderSettings",
    "JudgeSettings",
    "LlmSettings",
    "MilvusSettings",
    "OidcSettings",
    "OpenSearchSettings",
    "PostgresSettings",
    "RedactionSettings",
    "RerankerSettings",
    "RulesSettings",
    "SearchSettings",
    "ServerSettings",
    "Settings",
    "SourcesSettings",
    "load_settings",
]


FILE_NAME = "wenyuan.toml"

_ORIGIN = re.compile(r"[a-z][a-z0-9+.\-]{0,30}://[a-z0-9_\-.\[\]:]{1,300}")
"""As browsers write where a page is from; another spelling would never be met."""
Share = Annotated[float, Field(ge=0, le=1)]


def _named_at(point: ExtensionPoint) -> AfterValidator:
    """Refuses what is neither one of the program's own nor of a plugin at an extension point, with the list of both."""

    def known(name: str) -> str:
        if name not in point.built_in and not point.has(name):
            *others, last = map(repr, point.names())
            raise PydanticCustomError("literal_error", f"Input should be {', '.join(others)} or {last}")
        return name

    return AfterValidator(known)


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class EncoderSettings(_Section):
    """Which encoder embeds passages and queries."""

    kind: Annotated[str, _named_at(ENCODERS)] = "builtin"
    path: Path | None = None  # onnx_dir
    url: str = ""  # http
    model: str = ""  # http
    key: SecretStr = SecretStr("")  # http; better given as WENYUAN_ENCODER__KEY
    dimension: int | None = Field(default=None, ge=1, le=65_536)
    query_prefix: str | None = None
    passage_prefix: str | None = None
    pooling: Literal["mean", "cls", "last"] | None = None  # onnx_dir; None: what the directory says
    scale: tuple[float, float] | None = None  # onnx_dir, http: cosines from unrelated to identical
    timeout: float = Field(default=10.0, gt=0, le=600)
    batch: int = Field(default=32, ge=1, le=1_000)  # http: texts in one request; fewer while the server refuses
    concurrency: int = Field(default=4, ge=1, le=256)  # http: requests for passages at once, by one process
    threads: int = Field(default=0, ge=0, le=256)  # 0: one per core

    @field_validator("scale")
    @classmethod
    def _rising(cls, value: tuple[float, float] | None) -> tuple[float, float] | None:
        if value is not None and not -1.0 <= value[0] < value[1] <= 1.0:
            raise ValueError("scale is two cosines, the smaller one first")
        return value


class RerankerSettings(_Section):
    """What reads the best candidates with the query; see `core.scoring.blending`."""

    kind: Annotated[str, _named_at(RERANKERS)] = "none"
    path: Path | None = None  # onnx_dir
    max_tokens: int = Field(default=0, ge=0, le=65_536)  # onnx_dir; 0: what the directory says
    threads: int = Field(default=0, ge=0, le=256)  # onnx_dir; 0: one per core
    url: str = ""  # http
    dialect: Literal["jina", "cohere", "tei"] = "jina"  # http
    model: str = ""  # http
    key: SecretStr = SecretStr("")  # http; better given as WENYUAN_RERANKER__KEY
    batch: int = Field(default=32, ge=1, le=1_000)  # http: texts in one request
    scores: Literal["logit", "probability"] | None = None  # what the model gives; by default as its kind does
    top_n: int = Field(default=20, ge=1, le=100)  # candidates, at least; more when more are asked for
    blend: tuple[Share, Share, Share] = (0.25, 0.4, 0.6)  # its say at the places 1-3, 4-10, behind
    timeout: float = Field(default=1.0, gt=0, le=60)  # seconds; within those of the request
    required: bool = False  # its failure fails the request


class LlmSettings(_Section):
    """The language model behind an OpenAI-compatible endpoint; without a URL there is none, and nothing asks one."""

    url: str = ""  # of the server, its API (…/v1) or the endpoint (…/chat/completions)
    model: str = ""
    key: SecretStr = SecretStr("")  # better given as WENYUAN_LLM__KEY
    timeout: float = Field(default=60.0, gt=0, le=600)  # seconds for an answer, its repair included
    concurrency: int = Field(default=4, ge=1, le=256)  # calls at once, of each process
    tokens_a_day: int = Field(default=0, ge=0)  # of all processes, in UTC; 0: no limit
    most_tokens: int = Field(default=2_000, ge=100, le=100_000)  # of one answer
    max_sensitivity: Literal["public", "internal", "confidential", "restricted"] = "public"  # of what it may be shown
    price_in: float = Field(default=0.0, ge=0)  # for a million tokens, in your currency
    price_out: float = Field(default=0.0, ge=0)


class JudgeSettings(_Section):
    """What says whether passages suffice, where ``top_k`` is ``confidence``; it counts once ``wenyuan tune --judge`` has calibrated it."""

    dialect: Annotated[str, _named_at(JUDGES)] = "none"
    url: str = ""  # of the server, its API (…/v1) or the endpoint; all but onnx_dir
    model: str = ""
    key: SecretStr = SecretStr("")  # better given as WENYUAN_JUDGE__KEY
    path: Path | None = None  # onnx_dir: the folder of a classifier of (question, passages)
    max_tokens: int = Field(default=0, ge=0, le=65_536)  # onnx_dir; 0: what the directory says
    threads: int = Field(default=0, ge=0, le=256)  # onnx_dir; 0: one per core
    samples: int = Field(default=5, ge=2, le=50)  # vote: answers to count
    timeout: float = Field(
        default=1.0, gt=0, le=60
    )  # seconds for all that it is asked of a question, within those of the request
    concurrency: int = Field(default=4, ge=1, le=256)  # calls at once, of each process
    max_sensitivity: Literal["public", "internal", "confidential", "restricted"] = (
        "public"  # of what may be sent to it
    )
    risk: float = Field(default=0.1, ge=0.01, le=0.5)  # of stopping too early, at most
    required: bool = False  # its failure fails the request
    follow_up: bool = False  # logprobs, vote: what it says is missing is searched once more, where nothing sufficed


class SearchSettings(_Section):
    """How answers are found; see `core.scoring`."""

    vector_weight: float | None = Field(default=None, ge=0, le=1)  # .75 when not set, or as it was tuned
    # Names in the rules graph are guessed by meaning from this likeness on; 1: never. At .60 (five sixths of it for a text without
    # Chinese) 6 of 900 questions about other things named something, three of them construction and two spam.
    similar_names: float = Field(default=0.60, gt=0, le=1)
    depth: int = Field(default=100, ge=10, le=1_000)  # candidates of each leg, at least
    floor: float | None = Field(default=None, ge=0, le=1)  # of the raw score; takes the place of `abstain`
    min_confidence: float = Field(default=0.5, ge=0, le=1)  # of recognised text, on the mean; below is no answer
    abstain: Literal["off", "lenient", "normal", "strict"] = "normal"  # how likely there must be an answer
    deadline: float = Field(default=2.0, gt=0, le=60)  # seconds for one request
    # Seconds that answers may be behind while others write, and say so; beyond they fail.
    max_lag: float = Field(default=3_600.0, ge=0, le=86_400)
    threads: int = Field(default=16, ge=1, le=256)  # legs at work at once
    query_vectors: int = Field(default=0, ge=0, le=100_000)  # how many to remember; they hide a dead encoder
    auto_least: int = Field(
        default=1, ge=1, le=100
    )  # passages of a domain whose top_k is "auto", as far as there are
    auto_most: int = Field(default=10, ge=1, le=100, validate_default=True)
    withhold_disputed: bool = False  # leave out what contradicts a statement that holds: see `wenyuan conflicts`
    # Frequencies and means count documents that are hidden from the caller, too: scores then tell of these how rare a word is.
    shared_statistics: bool = False

    @field_validator("auto_most")
    @classmethod
    def _rising(cls, most: int, info: ValidationInfo) -> int:
        least = info.data.get("auto_least")
        if least is not None and most < least:
            raise PydanticCustomError("auto_most", f"must be at least search.auto_least, which is {least}")
        return most


class PostgresSettings(_Section):
    """Where the engine ``postgres`` keeps its index."""

    dsn: SecretStr = SecretStr("")  # better given as WENYUAN_POSTGRES__DSN; empty: where the catalog lies
    schema_prefix: str = Field(default="wenyuan", pattern=r"^[a-z_][a-z0-9_]{0,39}$")
    sessions: int = Field(default=16, ge=2, le=500)  # connections at most, of each process


class MilvusSettings(_Section):
    """Where the engine ``milvus`` keeps its index."""

    uri: str = ""  # http(s)://host:port
    token: SecretStr = SecretStr("")  # user:password or a key; better given as WENYUAN_MILVUS__TOKEN
    database: str = Field(default="", max_length=255)
    prefix: str = Field(default="wenyuan", pattern=r"^[A-Za-z_][A-Za-z0-9_]{0,39}$")  # of the collections' names
    index: Literal["FLAT", "HNSW", "AUTOINDEX"] = "FLAT"  # of vectors, when the collections are made
    calls: int = Field(default=16, ge=2, le=500)  # at once, of each process


class OpenSearchSettings(_Section):
    """Where the engine ``opensearch`` keeps its index."""

    urls: tuple[str, ...] = ()  # http(s)://host:port, of any nodes
    user: str = Field(default="", max_length=255)
    password: SecretStr = SecretStr("")  # better given as WENYUAN_OPENSEARCH__PASSWORD
    key: SecretStr = SecretStr("")  # an API key, instead of user and password
    ca: str = ""  # a file with the certificates that sign those of the nodes; empty: the system's
    prefix: str = Field(default="wenyuan", pattern=r"^[a-z][a-z0-9_]{0,39}$")  # of the indices' names
    shards: int = Field(default=1, ge=1, le=1_024)  # when the indices are made, as the two below
    replicas: int = Field(default=1, ge=0, le=10)  # further copies of each part
    quantised: bool = False  # a byte for a dimension in the graphs
    calls: int = Field(default=16, ge=2, le=500)  # at once, of each process


class CatalogSettings(_Section):
    """Where the catalog is stored: in the library's folder, or on a PostgreSQL that several servers share."""

    dsn: SecretStr = SecretStr("")  # better given as WENYUAN_CATALOG__DSN; empty: SQLite in the folder
    schema_name: str = Field(default="wenyuan", pattern=r"^[a-z_][a-z0-9_]{0,62}$")
    sessions: int = Field(default=16, ge=2, le=500)  # connections that read, at most, of each process


class CacheSettings(_Section):
    """Answers of the knowledge service that are given again; the contract's own method is never cached."""

    seconds: float = Field(default=120, ge=0, le=300)  # 0: off
    max_mb: int = Field(default=64, ge=1, le=65_536)  # in this process; with a URL, of one answer at most
    url: SecretStr = SecretStr("")  # redis://…: kept there, for several processes


class RulesSettings(_Section):
    """Unified retrieval: which chapters need rules, and what counts as a case. The defaults are for construction."""

    chapters_need_rules: tuple[str, ...] = ("ch07_quality", "ch08_safety", "ch09_emergency")
    chapters: tuple[str, ...] = ()  # all there are; empty: any name is one
    template_collection: str = "templates"
    type_facets: tuple[str, ...] = ("engineering_type", "工程类型")  # where documents say which type they are for
    case_top_k: int = Field(default=3, ge=1, le=100)
    case_threshold: float = Field(default=0.6, ge=0, le=1)  # of the score that a case is given with
    template_top_k: int = Field(default=3, ge=0, le=100)  # places of their own, besides those of cases
    max_rules: int = Field(default=500, ge=1, le=10_000)  # in one answer
    unverified_quotes: Literal["mark", "refuse"] = "mark"  # what becomes of quotes that no document here can show


class SourcesSettings(_Section):
    """What sources may ask of this machine."""

    env_allowed: tuple[str, ...] = ("WENYUAN_*",)  # environment variables that key_env and dsn_env may name
    allow_private: bool = True  # whether a source may say that it lies on this machine or in a private network


class RedactionSettings(_Section):
    """What is taken out of documents, besides what their source's sensitivity says."""

    ner: str = ""  # what finds names of persons: lac, or module:function
    scanner: str = ""  # what says whether a file may be taken in: clamd://…, http(s)://…, or a command
    scanner_key: SecretStr = SecretStr("")  # http; better given as WENYUAN_REDACTION__SCANNER_KEY
    scanner_timeout: float = Field(default=60.0, gt=0, le=3_600)  # seconds for a file
    found: Literal["refuse", "quarantine"] = (
        "quarantine"  # what becomes of a file in which clamd or a command finds something
    )


class OcrSettings(_Section):
    """How pages that are pictures are recognised, where the extra ``ocr`` is installed."""

    workers: int = Field(default=0, ge=0, le=64)  # pages at one time, a process for each; 0: the cores, at most 4


class UploadSettings(_Section):
    """What is kept of uploaded files."""

    keep_versions: int = Field(default=20, ge=0, le=10_000)  # of each file, beside the one in its place


class AuditSettings(_Section):
    """The record of what was asked and answered."""

    enabled: bool = True
    keep_queries: bool = True  # what replay needs
    sensitivity: Literal["none", "public", "internal", "confidential", "restricted"] = "internal"  # of questions
    retention_days: int = Field(default=180, ge=180, le=36_500)
    head_file: str = ""  # outside of the library's folder: the head of the audit is kept there as well


class TracingSettings(_Section):
    """OpenTelemetry spans of retrievals."""

    enabled: bool = False  # needs wenyuan[otel]
    content: bool = False  # whether spans hold queries, and ids and scores of what was found


class ServerSettings(_Section):
    """The HTTP door: where it listens, its limits and options."""

    host: str = "127.0.0.1"
    port: int = Field(default=8765, ge=0, le=65_535)
    processes: int = Field(default=1, ge=0, le=64)  # that serve together; 0: one for each core
    shared_port: bool = False  # several servers, a process each, listen on it, and connections are spread over them
    failed_http_status: Literal[200, 503] = 200
    dify_failure_record: bool = False  # tell Dify of a failure in a record, not by status
    allowed_origins: tuple[str, ...] = ()  # whose pages may ask it and read what it answers, besides its own
    threads: int = Field(default=8, ge=1, le=256)  # requests at work at once
    rate_per_key: float = Field(default=50, ge=0)  # requests a second of one key; 0: no limit
    rate_total: float = Field(default=0, ge=0)  # of all together
    concurrency_per_key: int = Field(default=32, ge=0)  # open requests of one key; 0: no limit
    queue: int = Field(default=64, ge=0, le=10_000)  # requests that may wait for a thread; further ones get 503
    max_body: int = Field(default=1024 * 1024, ge=1_024, le=64 * 1024 * 1024)  # bytes of a request body
    body_timeout: float = Field(default=10.0, gt=0, le=600)  # seconds in which a body must have arrived whole
    grace: float = Field(default=30.0, ge=1, le=600)  # seconds that open requests get when the server stops
    console: bool = True  # pages for people, at the address of the server
    ingest_roots: tuple[Path, ...] = ()  # folders below which a path given over HTTP may lie
    worker: bool = False  # refresh sources when they are due, as `wenyuan worker` does
    worker_poll: float = Field(default=30.0, ge=0.1, le=3_600)  # seconds between its looks for what is due

    @field_validator("allowed_origins")
    @classmethod
    def _origins(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        if any(not _ORIGIN.fullmatch(origin) for origin in value):
            raise ValueError("an origin is scheme://host or scheme://host:port in small letters, and no pattern")
        return value

    @field_validator("failed_http_status", mode="before")
    @classmethod
    def _number(cls, value: Any) -> Any:
        return int(value) if value in ("200", "503") else value  # the environment has texts alone


class _Variables(EnvSettingsSource):
    """The environment. A list is JSON, or values with commas between them; what is neither is left to the validation, which
    names the setting.
    """

    def decode_complex_value(self, field_name: str, field: FieldInfo, value: Any) -> Any:
        try:
            found = super().decode_complex_value(field_name, field, value)
        except ValueError:
            found = value
        if isinstance(found, (list, dict)) or value == "null" or value.lstrip().startswith(("[", "{")):
            return found
        is_list = field is None or any(
            get_origin(a) is tuple for a in (field.annotation, *get_args(field.annotation))
        )
        return [part.strip() for part in value.split(",") if part.strip()] if is_list else found

    def next_field(self, field: Any, key: str, case_sensitive: bool | None = None) -> Any:
        annotation = field.annotation if isinstance(field, FieldInfo) else field
        if get_origin(annotation) is Mapping:  # the library knows dict alone
            return get_args(annotation)[-1]
        return super().next_field(field, key, case_sensitive)


class Settings(BaseSettings):
    """All settings. Environment: ``WENYUAN_ENGINE``, ``WENYUAN_ENCODER__KIND``, ``WENYUAN_SEARCH__DEADLINE`` …"""

    model_config = SettingsConfigDict(
        env_prefix="WENYUAN_",
        env_nested_delimiter="__",
        extra="forbid",
        frozen=True,
        case_sensitive=False,
        hide_input_in_errors=True,  # an error's own text may be logged, and the value may be a secret
    )

    engine: Annotated[str, _named_at(ENGINES)] = "local"
    encoder: EncoderSettings = EncoderSettings()
    reranker: RerankerSettings = RerankerSettings()
    llm: LlmSettings = LlmSettings()
    judge: JudgeSettings = JudgeSettings()
    search: SearchSettings = SearchSettings()
    catalog: CatalogSettings = CatalogSettings()
    postgres: PostgresSettings = PostgresSettings()
    milvus: MilvusSettings = MilvusSettings()
    opensearch: OpenSearchSettings = OpenSearchSettings()
    cache: CacheSettings = CacheSettings()
    rules: RulesSettings = RulesSettings()
    sources: SourcesSettings = SourcesSettings()
    redaction: RedactionSettings = RedactionSettings()
    ocr: OcrSettings = OcrSettings()
    uploads: UploadSettings = UploadSettings()
    audit: AuditSettings = AuditSettings()
    tracing: TracingSettings = TracingSettings()
    server: ServerSettings = ServerSettings()
    oidc: OidcSettings = OidcSettings()

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        file = settings_cls.model_config.get("toml_file")
        sources: list[PydanticBaseSettingsSource] = [init_settings, _Variables(settings_cls)]
        if file is not None:
            sources.append(TomlConfigSettingsSource(settings_cls, toml_file=file))
        return tuple(sources)


def load_settings(folder: Path | None = None, **overrides: Any) -> Settings:
    """Settings of a library in `folder`; `overrides` come before the environment, which comes before the file.

    Raises:
        ConfigError: listing every fault at once.
    """
    file = folder / FILE_NAME if folder is not None else None
    chosen: type[Settings] = Settings
    if file is not None and os.path.lexists(file):  # a dangling link is no reason to go on without
        if not file.is_file():
            raise ConfigError(msg("{file} is not a file", file=file), component="settings")

        class FromFile(Settings):
            model_config = SettingsConfigDict(toml_file=file)

        chosen = FromFile
    astray = [
        f"{name}: {_no_such(name, Settings)}" for name in _named_sections() if name not in Settings.model_fields
    ]
    try:
        made = chosen(**overrides)
        if astray:
            raise ConfigError(
                "; ".join(astray),
                component="settings",
                hint=msg("see {file}, or WENYUAN_… in the environment", file=file),
            )
        return made
    except ValidationError as error:
        faults = "; ".join([*(_fault(e) for e in error.errors()), *astray])
        raise ConfigError(
            faults, component="settings", hint=msg("see {file}, or WENYUAN_… in the environment", file=file)
        ) from error
    except UnicodeDecodeError as error:  # its own text is the file's content: it is not passed on
        raise ConfigError(
            msg("{file}: not UTF-8 (byte {start})", file=file, start=error.start), component="settings"
        ) from None
    except (tomllib.TOMLDecodeError, OSError) as error:
        raise ConfigError(msg("{file}: {error}", file=file, error=error), component="settings") from error


_FORMS = {
    "tuple_type": 'must be a list: ["a", "b"]; in the environment also a,b',
    "dict_type": "must be a table: names with values; in the environment as JSON",
    "model_type": "is a section, whose settings are named one by one, as in WENYUAN_SEARCH__DEPTH",
}
"""What a value must look like, by the kind of the error."""


def _fault(error: Any) -> str:
    path = ".".join(str(part) for part in error["loc"])
    if error["type"] in _FORMS:
        return f"{path}: {_FORMS[error['type']]}"
    if error["type"] != "extra_forbidden":
        return f"{path}: {error['msg']}"  # the value itself is not shown: it may be a secret
    section: Any = Settings
    for part in error["loc"][:-1]:
        section = section.model_fields[part].annotation
    return f"{path}: {_no_such(str(error['loc'][-1]), section)}"


def _no_such(name: str, section: Any) -> str:
    near = get_close_matches(name, list(section.model_fields), n=1)
    return "there is no such setting" + (msg("; did you mean {near}?", near=repr(near[0])) if near else "")


def _named_sections() -> list[str]:
    """The sections that variables name, whether there are any such; without ``__`` a variable may be somebody else's,
    as Kubernetes sets ``WENYUAN_PORT`` for a service of that name.
    """
    names = (name.upper() for name in os.environ)
    told = (name.removeprefix("WENYUAN_") for name in names if name.startswith("WENYUAN_") and "__" in name)
    return sorted({name.partition("__")[0].lower() for name in told} - {""})


# Connection settings in a source's registry entry, validated; they name secrets but never contain them.

ENV_ALLOWED = ("WENYUAN_*",)
"""Which environment variables a source may name, unless the settings say otherwise."""

_OWN = re.compile(r"WENYUAN_[A-Za-z0-9]+__.*")

VariableName = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$", max_length=128)]
"""The name of an environment variable that holds a secret. The pattern keeps the secret itself from being put here."""


Shape = TypeVar("Shape", bound=BaseModel)


def declared(shape: type[Shape], source: Source, *, apart: Collection[str] = ()) -> Shape:
    """Parse and validate a source's settings.

    Args:
        shape: What they may be.
        apart: Names of settings that are for others to read.

    Raises:
        ConfigError: they are not what its type needs; every fault is listed, no value is shown.
    """
    try:
        return shape.model_validate({n: v for n, v in source.settings.items() if n not in apart})
    except ValidationError as error:
        faults = "; ".join(
            f"{'.'.join(map(str, fault['loc']))}: {_meaning(shape, fault['type'], fault['msg'], str(fault['loc'][-1]))}"
            for fault in error.errors(include_input=False, include_url=False)
        )
        raise ConfigError(
            msg("its settings are wrong: {faults}", faults=faults), component=f"source {source.source_id}"
        ) from None


def secret(variable: str, component: str, allowed: Sequence[str] = ENV_ALLOWED) -> str:
    """The value of an environment variable that a source's settings name.

    Otherwise a user who may edit sources could send any variable of this process to an address of their choice.

    Args:
        allowed: Patterns of names, as of files (``*``, ``?``). The program's own settings, such as
            ``WENYUAN_ENCODER__KEY``, match none but their own name.

    Raises:
        ConfigError: no source may read it, it is not set, or empty.
    """
    if not (variable in allowed or (not _OWN.fullmatch(variable) and any(fnmatchcase(variable, p) for p in allowed))):
        raise ConfigError(
            msg(
                "the environment variable {variable} may not be read by a source: the setting "
                "sources.env_allowed has {allowed}",
                variable=variable,
                allowed=", ".join(allowed) or "no pattern",
            ),
            component=component,
            hint=msg("rename it to WENYUAN_{variable}, or add it to sources.env_allowed", variable=variable.upper()),
        )
    value = os.environ.get(variable, "").strip()
    if not value:
        raise ConfigError(
            msg("the environment variable {variable} is not set", variable=variable),
            component=component,
            hint=msg("export {variable}=…", variable=variable),
        )
    return value


def _meaning(shape: type[BaseModel], kind: str, message: str, name: str) -> str:
    if kind != "extra_forbidden":
        return message
    near = get_close_matches(name, list(shape.model_fields), n=1)
    return "there is no such setting" + (msg("; did you mean {near}?", near=repr(near[0])) if near else "")


def default_library() -> Path:
    """The folder in ``WENYUAN_LIBRARY``, else ``./library``."""
    return Path(os.environ.get("WENYUAN_LIBRARY") or "library")
