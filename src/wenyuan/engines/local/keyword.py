"""The keyword half: a tantivy index of our own terms, as of one change of the catalog."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from itertools import compress
from pathlib import Path
from typing import Any

import numpy as np
import tantivy

from wenyuan.core.errors import EngineError, EngineUnavailable, IndexCorrupt
from wenyuan.core.filters import And, Filter, In, Not, Or, Range, Scope
from wenyuan.core.model import Facet, IndexRow
from wenyuan.core.scoring.common_words import worth
from wenyuan.core.scoring.formula import K1, PAIRED, squash, term_weights
from wenyuan.core.text.analysis import PAIR
from wenyuan.engines.local.columns import Array, Columns, leaf_values
from wenyuan.engines.local.publication import COMPONENT, Segments, State
from wenyuan.runtime.full_disk import next_step

_HEAP = 128_000_000
_SEPARATOR = "\x1f"
_EVERY = _SEPARATOR  # a term that every row has, so that rows can be counted as tantivy counts them
_FORMAT = "rows/2"  # changes with what is written into a row
_FEW = 1_000  # passages in view that are named one by one
_Must, _Should, _MustNot = tantivy.Occur.Must, tantivy.Occur.Should, tantivy.Occur.MustNot


def _schema() -> Any:
    builder = tantivy.SchemaBuilder()
    builder.add_unsigned_field("passage", indexed=True, fast=True)
    builder.add_unsigned_field("document", indexed=True, fast=True)
    builder.add_unsigned_field("valid_from", indexed=True, fast=True)
    builder.add_unsigned_field("valid_until", indexed=True, fast=True)
    builder.add_text_field("facet", tokenizer_name="raw", index_option="basic")
    builder.add_text_field("body", tokenizer_name="whitespace", index_option="freq")
    return builder.build()


@contextmanager
def _translated(doing: str, meaning: type[EngineError] = IndexCorrupt) -> Iterator[None]:
    """Turn tantivy's errors (ValueError, OSError or a panic, which is a BaseException) into an `EngineError`."""
    try:
        yield
    except (ValueError, OSError) as error:
        raise meaning(f"{doing}: {error}", component=COMPONENT, hint=next_step(error)) from error
    except BaseException as error:
        if type(error).__name__ != "PanicException":
            raise
        raise meaning(f"{doing}: {error}", component=COMPONENT) from error


def _facet_term(field: str, value: Facet) -> str:
    if isinstance(value, bool):
        return f"{field}{_SEPARATOR}b{int(value)}"
    if isinstance(value, str):
        return f"{field}{_SEPARATOR}s{value}"
    return f"{field}{_SEPARATOR}n{float(value)!r}"


@dataclass(frozen=True, slots=True)
class Occurrences:
    """The rows that hold a term, removed ones left out.

    Attributes:
        passage_ids: (k,) int64.
        shares: (k,) float64: frequency / (frequency + norm), where the norm is of the row's length.
        mean_length: Of all rows, removed ones included, as the norms have it.
    """

    passage_ids: Array
    shares: Array
    mean_length: float


def _holding(searcher: Any, term: str) -> int:
    """How many rows have a term."""
    return int(searcher.doc_freq("body", term))


class KeywordIndex:
    """A tantivy index of what `Segments` has published, as of one change of the catalog.

    Args:
        folder: Its own; made when missing.
        key: What its terms were made with.

    Attributes:
        searcher: What queries read; another one after each commit, which leaves the older ones as they are.
        watermark: The change of the catalog that it holds.
        stamp: What tells that change from one of that number in another catalog.
    """

    def __init__(self, folder: Path, key: str) -> None:
        self._schema = _schema()
        self._segments = Segments(folder, f"{key}/{_FORMAT}")
        self._holding = lru_cache(8_192)(_holding)  # the words of a question are looked up twice, and many come again
        self.searcher: Any = None
        self.changed, self.restore = self._segments.changed, self._segments.restore
        self.reload()

    @property
    def watermark(self) -> int:
        return self._segments.state.seq

    @property
    def stamp(self) -> str:
        return self._segments.state.stamp

    def reload(self, belongs: Callable[[int, str], object] = lambda seq, stamp: None) -> None:
        """See what has been published, by this process or another.

        Args:
            belongs: Raises where a change and its stamp are not the catalog's; then what was held stays.
        """
        state = self._segments.read()
        if state is self._segments.state and self.searcher is not None:
            return
        belongs(state.seq, state.stamp)
        self._show(state)
        self._segments.hold(state)

    def _show(self, state: State) -> None:
        with _translated("opening the index"):
            if not state.meta:
                index = tantivy.Index(self._schema)  # of nothing, in memory
                self.searcher = index.searcher()
            else:
                with self._segments.opened(state) as folder:
                    index = tantivy.Index(self._schema, path=str(folder), reuse=True)
                    index.config_reader(reload_policy="manual")
                    index.reload()
                    self.searcher = index.searcher()
        self._holding.cache_clear()

    # -- writing (only while the library's writer lock is held) -----------------------------------------

    @contextmanager
    def writing(self, seq: int, stamp: str) -> Iterator[Any]:
        """A writer; on success everything is published as of change `seq`, else nothing."""
        with _translated("writing the index", EngineUnavailable):
            with self._segments.written(seq, stamp) as folder:
                writer = tantivy.Index(self._schema, path=str(folder), reuse=True).writer(_HEAP, num_threads=1)
                try:
                    yield writer
                    writer.commit()
                except BaseException:
                    writer.rollback()
                    raise
                finally:
                    writer.wait_merging_threads()
            self._show(self._segments.state)

    def mark(self, seq: int, stamp: str) -> None:
        """Record that what is published holds everything up to change `seq`."""
        self._segments.mark(seq, stamp)

    def clear(self, writer: Any) -> None:
        """Delete all rows, and the remains of removed ones, at the writer's next commit."""
        writer.delete_all_documents()

    def put(self, writer: Any, rows: Sequence[IndexRow], bodies: Sequence[str]) -> None:
        """Add rows; `bodies` are their terms (see `core.scoring.bodies`)."""
        for row, body in zip(rows, bodies, strict=True):
            document = tantivy.Document()
            document.add_unsigned("passage", row.passage_id)
            document.add_unsigned("document", row.document_id)
            document.add_unsigned("valid_from", row.valid_from)
            document.add_unsigned("valid_until", row.valid_until)
            document.add_text("facet", _EVERY)
            for name in ("source_id", "language", "collection"):
                document.add_text("facet", _facet_term(name, getattr(row, name)))
            for name, value in row.facets.items():
                document.add_text("facet", _facet_term(f"metadata.{name}", value))
            document.add_text("body", body)
            writer.add_document(document)

    def remove(self, writer: Any, passage_ids: Sequence[int]) -> None:
        # By query: a deletion by term takes the number for a signed one and matches nothing.
        writer.delete_documents_by_query(tantivy.Query.term_set_query(self._schema, "passage", list(passage_ids)))

    # -- reading ------------------------------------------------------------------------------------

    def information(self, searcher: Any, terms: Sequence[str]) -> Mapping[str, float]:
        """Idf by term. Removed rows count in both numbers, as in tantivy's own scores, until they are cleared."""
        with _translated("counting terms"):
            rows = searcher.doc_freq("facet", _EVERY)
            return term_weights(rows, {t: self._holding(searcher, t) for t in terms})

    def removed_share(self, searcher: Any) -> float:
        """How many of the rows in the files are removed ones, 0..1."""
        with _translated("counting rows"):
            rows = searcher.doc_freq("facet", _EVERY)
            return 1.0 - searcher.num_docs / rows if rows else 0.0

    def occurrences(self, searcher: Any, term: str) -> Occurrences:
        """Where a term occurs."""
        with _translated("reading postings"):
            most = searcher.doc_freq("body", term)
            query = tantivy.Query.term_query(self._schema, "body", term, "freq")
            hits = searcher.search(query, most, count=False).hits if most else []
            if not hits:
                return Occurrences(np.empty(0, np.int64), np.empty(0), 1.0)
            ids = np.array(searcher.fast_field_values("passage", [at for _, at in hits]), np.int64)
            told = json.loads(query.explain(searcher, hits[0][1]).to_json())
        idf, share = told["details"][1]["value"], told["details"][2]
        shares = np.array([score for score, _ in hits], np.float64) / (idf * (K1 + 1.0))
        return Occurrences(ids, shares, share["details"][-1]["value"])

    def search_within(
        self, searcher: Any, terms: Sequence[str], limit: int, scope: Scope, columns: Columns
    ) -> list[tuple[int, float]]:
        """As `search`, within a scope, by the statistics of the whole library.

        Documents that are hidden are no condition of the query, as it would name each of them: where few passages are
        left, these are named; else as many are looked at as it takes for `limit` of them to be in view.
        """
        if scope.hidden is None:
            return self.search(searcher, terms, limit, self.restriction(scope, columns))
        mask = columns.mask(scope)
        if mask is None:
            return self.search(searcher, terms, limit)
        if np.count_nonzero(mask) <= _FEW:
            return self.search(searcher, terms, limit, self.among(columns.passage_ids[mask].tolist()))
        looked, restriction = 2 * limit, self.restriction(scope, columns)
        while True:
            found = self.search(searcher, terms, looked, restriction)
            seen = columns.within([number for number, _ in found], mask)
            if len(found) < looked or np.count_nonzero(seen) >= limit:
                return list(compress(found, seen))[:limit]
            looked = min(8 * looked, len(mask) + 1)

    def search(
        self, searcher: Any, terms: Sequence[str], limit: int, restriction: Any = None
    ) -> list[tuple[int, float]]:
        """(passage id, share of the query's information), best first, ties by id."""
        weights = self.information(searcher, terms)
        if not weights or not searcher.num_docs:
            return []
        with _translated("searching"):
            counted = worth(weights, searcher.doc_freq("facet", _EVERY))
            query = tantivy.Query.boolean_query([(_Should, self._term(t, counted[t] / weights[t])) for t in weights])
            if restriction is not None:
                query = tantivy.Query.boolean_query([(_Must, query), (_Must, restriction)])
            hits = searcher.search(query, limit, count=False).hits
            ids = searcher.fast_field_values("passage", [address for _, address in hits])
        total = math.fsum(weights.values())
        found = [(int(i), squash(score / total)) for i, (score, _) in zip(ids, hits, strict=True)]
        return sorted(found, key=lambda pair: (-pair[1], pair[0]))

    def _term(self, term: str, counted: float) -> Any:
        """A term as it counts: a pair of words, or a common word, less than its idf."""
        query = tantivy.Query.term_query(self._schema, "body", term, "freq")
        share = counted * (PAIRED if PAIR in term else 1.0)
        return query if share == 1.0 else tantivy.Query.boost_query(query, share)

    def among(self, passage_ids: Sequence[int]) -> Any:
        """A restriction to given passages that adds nothing to the score."""
        # One term each, looked up directly: `term_set_query` goes through the dictionary and takes five times as long.
        each = [(_Should, tantivy.Query.term_query(self._schema, "passage", i, "basic")) for i in passage_ids]
        return tantivy.Query.const_score_query(tantivy.Query.boolean_query(each), 0.0)

    def restriction(self, scope: Scope, columns: Columns) -> Any:
        """A scope as a query that adds nothing to the score; None when it allows everything."""
        parts = []
        if not scope.sources.issuperset(columns.sources()):
            parts.append(self._any("source_id", sorted(scope.sources)))
        if columns.bounded:
            parts.append(self._range("valid_from", None, scope.day))
            parts.append(self._range("valid_until", scope.day, None))
        if scope.filter is not None:
            parts.append(self._filter(scope.filter, columns, columns.seen(scope)))
        if not parts:
            return None
        joined = tantivy.Query.boolean_query([(_Must, part) for part in parts])
        return tantivy.Query.const_score_query(joined, 0.0)

    def _filter(self, test: Filter, columns: Columns, rows: Any) -> Any:
        match test:
            case And():
                return tantivy.Query.boolean_query([(_Must, self._filter(p, columns, rows)) for p in test.parts])
            case Or():
                return tantivy.Query.boolean_query([(_Should, self._filter(p, columns, rows)) for p in test.parts])
            case Not():
                everything = (_Must, tantivy.Query.all_query())
                return tantivy.Query.boolean_query([everything, (_MustNot, self._filter(test.part, columns, rows))])
            case In() | Range():
                return self._leaf(test, columns, rows)

    def _leaf(self, leaf: In | Range, columns: Columns, rows: Any) -> Any:
        """A leaf of a filter as a query; `rows`: mask of the rows within the scope, see `Columns.seen`."""
        if leaf.field != "document_id":
            return self._any(leaf.field, leaf_values(leaf, columns.values(leaf.field, rows)))
        if isinstance(leaf, In):
            numbers = [int(v) for v in leaf.values if not isinstance(v, (str, bool)) and v >= 0 and v == int(v)]
            return tantivy.Query.term_set_query(self._schema, "document", numbers)
        if isinstance(leaf.ge, str) or isinstance(leaf.le, str):
            return tantivy.Query.empty_query()
        low = None if leaf.ge is None else max(0, math.ceil(leaf.ge))
        high = None if leaf.le is None else math.floor(leaf.le)
        return tantivy.Query.empty_query() if high is not None and high < 0 else self._range("document", low, high)

    def _any(self, field: str, values: Sequence[Facet]) -> Any:
        if not values:
            return tantivy.Query.empty_query()
        return tantivy.Query.term_set_query(self._schema, "facet", [_facet_term(field, v) for v in values])

    def _range(self, field: str, low: int | None, high: int | None) -> Any:
        return tantivy.Query.range_query(self._schema, field, tantivy.FieldType.Unsigned, low, high)
