"""Which encoder and which reranker the settings name."""

from __future__ import annotations

from typing import Any, cast

from wenyuan.core.errors import ConfigError
from wenyuan.core.ports import Encoder, Reranker
from wenyuan.plugins import ENCODERS, RERANKERS
from wenyuan.settings import EncoderSettings, RerankerSettings


def open_encoder(settings: EncoderSettings) -> Encoder | None:
    """The encoder that the settings name: one of the program's own, or a plugin's; None for ``none``."""
    plugin = ENCODERS.make(settings.kind, settings)
    if plugin is not None:
        return cast("Encoder", plugin)
    match settings.kind:
        case "none":
            return None
        case "builtin":
            from wenyuan.encoders.builtin import open_builtin

            return open_builtin(threads=settings.threads)
        case "hashing":
            from wenyuan.encoders.checking import HashingEncoder

            return HashingEncoder(**_without_none(dimension=settings.dimension))
        case "onnx_dir":
            from wenyuan.encoders.onnx_encoder import open_onnx_dir

            if settings.path is None:
                raise ConfigError("encoder.kind is onnx_dir, but encoder.path is not set", component="settings")
            return open_onnx_dir(settings.path, **_without_none(pooling=settings.pooling, **_use(settings)))
        case _:
            from wenyuan.encoders.http import open_http

            return open_http(
                settings.url,
                settings.model,
                key=settings.key.get_secret_value(),
                timeout=settings.timeout,
                batch=settings.batch,
                concurrency=settings.concurrency,
                **_without_none(dimension=settings.dimension, **_use(settings)),
            )


def open_reranker(settings: RerankerSettings) -> Reranker | None:
    """The reranker that the settings name: one of the program's own, or a plugin's; None for ``none``."""
    plugin = RERANKERS.make(settings.kind, settings)
    if plugin is not None:
        return cast("Reranker", plugin)
    match settings.kind:
        case "none":
            return None
        case "onnx_dir":
            from wenyuan.encoders.cross_encoder import CrossEncoder

            if settings.path is None:
                raise ConfigError("reranker.kind is onnx_dir, but reranker.path is not set", component="settings")
            return CrossEncoder(
                settings.path, max_tokens=settings.max_tokens, threads=settings.threads,
                logits=settings.scores != "probability",
            )  # fmt: skip
        case _:
            from wenyuan.encoders.http import HttpReranker

            return HttpReranker(
                settings.url,
                settings.dialect,
                settings.model,
                key=settings.key.get_secret_value(),
                timeout=settings.timeout,
                batch=settings.batch,
                logits=settings.scores == "logit",
            )


def _use(settings: EncoderSettings) -> dict[str, Any]:
    return {
        "query_prefix": settings.query_prefix, "passage_prefix": settings.passage_prefix, "scale": settings.scale,
    }  # fmt: skip


def _without_none(**values: Any) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}
