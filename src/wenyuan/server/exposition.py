"""The Prometheus text format, version 0.0.4: what ``/metrics`` is written in.

https://prometheus.io/docs/instrumenting/exposition_formats/#text-based-format
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from wenyuan.service.meters import BOUNDS, Timing

__all__ = ["CONTENT_TYPE", "Family", "Sample", "histogram", "render"]

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

_NAME = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]*", re.ASCII)
_LABEL = re.compile(r"(?!__)[a-zA-Z_][a-zA-Z0-9_]*", re.ASCII)


@dataclass(frozen=True, slots=True)
class Sample:
    """One number.

    Attributes:
        suffix: What its name has beyond the family's: ``_bucket``, ``_sum``, ``_count`` of a histogram.
    """

    labels: Mapping[str, str]
    value: float
    suffix: str = ""


@dataclass(frozen=True, slots=True)
class Family:
    """Numbers of one name.

    Raises:
        ValueError: a name or label that the format does not have.
    """

    name: str
    kind: Literal["counter", "gauge", "histogram"]
    help: str
    samples: tuple[Sample, ...]

    def __post_init__(self) -> None:
        labels = {label for sample in self.samples for label in sample.labels}
        wrong = [name for name in (self.name,) if not _NAME.fullmatch(name)]
        wrong += [label for label in labels if not _LABEL.fullmatch(label)]
        if wrong:
            raise ValueError(f"no name of a metric or label: {', '.join(wrong)}")


def histogram(name: str, help_text: str, timings: Iterable[tuple[Mapping[str, str], Timing]]) -> Family:
    """Times as a histogram: cumulative counts at each of `BOUNDS`, in seconds."""
    return Family(name, "histogram", help_text, tuple(s for labels, t in timings for s in _classes(labels, t)))


def _classes(labels: Mapping[str, str], timing: Timing) -> Iterator[Sample]:
    below = 0
    for bound, count in zip((*BOUNDS, math.inf), timing.classes, strict=True):
        below += count
        yield Sample({**labels, "le": _number(bound)}, below, "_bucket")
    yield Sample(labels, timing.seconds, "_sum")
    yield Sample(labels, below, "_count")


def render(families: Iterable[Family]) -> str:
    """The text of families, each introduced by its help and its type; one without samples is left out."""
    lines = []
    for family in families:
        if family.samples:
            told = family.help.replace("\\", r"\\").replace("\n", r"\n")
            lines += [f"# HELP {family.name} {told}", f"# TYPE {family.name} {family.kind}"]
            lines += [f"{family.name}{s.suffix}{_labels(s.labels)} {_number(s.value)}" for s in family.samples]
    return "".join(f"{line}\n" for line in lines)


def _labels(labels: Mapping[str, str]) -> str:
    shown = ",".join(f'{name}="{_escaped(value)}"' for name, value in labels.items())
    return f"{{{shown}}}" if shown else ""


def _escaped(value: str) -> str:
    return value.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")


def _number(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    return str(int(value)) if value == int(value) and abs(value) < 1e15 else repr(float(value))
