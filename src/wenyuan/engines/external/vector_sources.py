"""What tables and collections with vectors have in common when they are opened as sources."""

from __future__ import annotations

from typing import Annotated, Literal, Protocol, TypeVar

from pydantic import Field

from wenyuan.core.errors import ConfigError, msg
from wenyuan.core.model import EncoderFingerprint
from wenyuan.core.ports import Deadline
from wenyuan.engines.external.source_settings import SourceSettings
from wenyuan.runtime.deadlines import deadline_after


class VectorSourceSettings(SourceSettings):
    """Settings of every source whose vectors are searched in place.

    Attributes:
        distance: Only the cosine gives a score that can be compared between sources.
        encoder: What made the vectors: a model's id, or the key of an encoder's fingerprint.
        scale: Cosines from unrelated to identical; without it the encoder's own.
    """

    distance: Literal["cosine"] = "cosine"
    encoder: Annotated[str, Field(min_length=1)]
    scale: Annotated[tuple[float, float], Field(strict=False)] | None = None


class VectorSource(Protocol):
    """A source that can be checked against its settings."""

    def check(self, deadline: Deadline) -> None: ...

    def close(self) -> None: ...


S = TypeVar("S", bound=VectorSource)


def cosine_scale(settings: VectorSourceSettings, scale: tuple[float, float], component: str) -> tuple[float, float]:
    """The cosines from unrelated to identical: the source's own, else those of the encoder.

    Raises:
        ConfigError: they do not rise, or are no cosines.
    """
    low, high = settings.scale or scale
    if not -1.0 <= low < high <= 1.0:
        raise ConfigError("scale must be two rising cosines", component=component)
    return low, high


def check_encoder(
    settings: VectorSourceSettings, dimension: int, encoder: EncoderFingerprint | None, component: str, hint: str
) -> None:
    """Refuse a source whose vectors another encoder made than the one that embeds questions.

    Args:
        dimension: Of the source's vectors.
        encoder: The one that embeds questions; None where that is not known.
        hint: What to do.

    Raises:
        ConfigError: it is another one.
    """
    if encoder is None or (settings.encoder in (encoder.id, encoder.key) and dimension == encoder.dimension):
        return
    raise ConfigError(
        msg(
            "its vectors are of {encoder} ({dimension} dimensions), questions are embedded by {id} "
            "({dimension2}); they cannot be compared",
            encoder=settings.encoder,
            dimension=dimension,
            id=encoder.id,
            dimension2=encoder.dimension,
        ),
        component=component,
        hint=hint,
    )


def open_checked(source: S, timeout: float) -> S:
    """The source, after it was compared with its settings; closed where that fails.

    Args:
        timeout: Seconds.
    """
    try:
        source.check(deadline_after(timeout))
    except BaseException:
        source.close()
        raise
    return source
