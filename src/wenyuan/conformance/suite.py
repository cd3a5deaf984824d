"""The test module for ``pytest --pyargs wenyuan.conformance.suite``; see `wenyuan.conformance.plugin`."""

from __future__ import annotations

from wenyuan.conformance.plugin import ConformanceSuite

__all__ = ["TestConformance"]


class TestConformance(ConformanceSuite):
    """The eleven cases of the outline and the extra ones."""
