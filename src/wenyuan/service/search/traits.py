"""Collection traits that scoring depends on: languages, statutes and labels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from wenyuan.core.ports import Encoder, Engine
from wenyuan.core.records import KeptTuning
from wenyuan.core.scoring import BRIDGE, LAW
from wenyuan.core.text import OWN
from wenyuan.service.search.analysis import SCRIPTS
from wenyuan.service.search.retriever import Retriever

if TYPE_CHECKING:
    from wenyuan.catalog import Catalog

_MEASURE = 8  # version of what is measured of a library: what another one measured is measured anew
_SAMPLE = 400  # passages that tell which languages there are
_BOTH = 0.05  # share of them that the rarer language must have
_FIRST_ARTICLES = tuple(f"{OWN}article:{number}" for number in range(1, 6))  # every law has some of them


class CollectionTraits:
    """Measures the traits of a collection and stores them in the catalog, where searches read them
    (`core.scoring.Traits`).
    """

    def __init__(self, catalog: Catalog, engine: Engine, encoder: Encoder | None, retriever: Retriever) -> None:
        self._catalog, self._engine, self._encoder, self._retriever = catalog, engine, encoder, retriever

    def keep(self) -> None:
        """Measure and store the traits (both languages, statutes) if they changed."""
        known, now = self._catalog.value("floor"), self.under(self._curve())
        if known != now:
            self._catalog.set_value("floor", now)

    def under(self, curve: Mapping[str, float]) -> Mapping[str, Any]:
        """The traits with a learned probability curve (``{}`` for none), by mode and script: see `Traits`."""
        passages, mode = self._catalog.some_passages(_SAMPLE), self._retriever.mode
        chinese = sum(passage.language == "zh" for passage in passages)
        both = bool(passages) and min(chinese, len(passages) - chinese) >= _BOTH * len(passages)
        law = LAW if self._engine.information(_FIRST_ARTICLES) else 0.0
        labels = float(self._encoder is not None and bool(passages) and not self._catalog.unlabelled())
        traits = {
            "bridge": BRIDGE if both and self._encoder is not None else 0.0, "law": law, "labels": labels, **curve
        }  # fmt: skip
        known = self._catalog.value("floor") or {}
        others = known if known.get("measure") == _MEASURE else {}
        return {**others, mode: dict.fromkeys(SCRIPTS, traits), "measure": _MEASURE}

    def _curve(self) -> Mapping[str, float]:
        """The learned probability curve of the tuning in effect; empty without one."""
        tuning = self._retriever.tuning()
        kept = kept_tuning(self._catalog) if tuning is not None else None
        if tuning is None or kept is None or kept.fingerprint != tuning.fingerprint:
            return {}
        learned: Mapping[str, float] = kept.report.get("curve", {})
        return learned


def kept_tuning(catalog: Catalog) -> KeptTuning | None:
    """The tuning that was adopted last and not undone; None while there is none."""
    last = next(iter(catalog.tunings()[::-1]), None)
    return last if last is not None and last.undone_seq is None else None
