"""Text exposition of metrics for Prometheus."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import accumulate

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

from wenyuan.runtime.timings import BOUNDS, Timing

Counted = Iterable[tuple[tuple[str, ...], float]]
"""Numbers, each with the values of its labels."""


class MetricFamilies(Collector):
    """Metric families for exposition; empty ones are left out."""

    def __init__(self, families: Iterable[Metric]) -> None:
        self._families = families

    def collect(self) -> Iterator[Metric]:
        return (family for family in self._families if family.samples)


def histogram(name: str, told: str, labels: tuple[str, ...], timings: Mapping[tuple[str, ...], Timing]) -> Metric:
    """Durations as a histogram: cumulative counts at `BOUNDS`, in seconds."""
    family = HistogramMetricFamily(name, told, labels=labels)
    bounds = (*(f"{bound:g}" for bound in BOUNDS), "+Inf")
    for values, timing in sorted(timings.items()):
        family.add_metric(values, list(zip(bounds, accumulate(timing.classes), strict=True)), timing.seconds)
    return family


def counter(name: str, told: str, labels: tuple[str, ...], counted: Counted) -> Metric:
    """Counters by the values of their labels."""
    family = CounterMetricFamily(name, told, labels=labels)
    for values, count in counted:
        family.add_metric(values, count)
    return family


def gauge(name: str, told: str, value: float) -> Metric:
    return GaugeMetricFamily(name, told, value=value)
