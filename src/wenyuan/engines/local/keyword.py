"""The keyword half: a tantivy index of our own terms, with the catalog's change number beside its commit."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any

import tantivy

from wenyuan.core.bodies import passage_bodies
from wenyuan.core.errors import IndexCorrupt
from wenyuan.core.filters import And, Filter, In, Not, Or, Range, Scope
from wenyuan.core.model import Facet, IndexRow
from wenyuan.core.score import PAIRED, squash, term_weights
from wenyuan.core.text import PAIR
from wenyuan.engines.local.columns import Columns, leaf_values

__all__ = ["KeywordIndex"]

_COMPONENT = "engine local/keyword"
_HEAP = 128_000_000
_SEPARATOR = "\x1f"
_EVERY = _SEPARATOR  # a term that every row has, so that rows can be counted as tantivy counts them
_FORMAT = "rows/2"  # changes with what is written into a row
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
def _translated(doing: str) -> Iterator[None]:
    """What is wrong with an index, tantivy says by ValueError, OSError or a panic (BaseException)."""
    try:
        yield
    except (ValueError, OSError) as error:
        raise IndexCorrupt(f"{doing}: {error}", component=_COMPONENT) from error
    except BaseException as error:
        if type(error).__name__ != "PanicException":
            raise
        raise IndexCorrupt(f"{doing}: {error}", component=_COMPONENT) from error


def _facet_term(field: str, value: Facet) -> str:
    if isinstance(value, bool):
        return f"{field}{_SEPARATOR}b{int(value)}"
    if isinstance(value, str):
        return f"{field}{_SEPARATOR}s{value}"
    return f"{field}{_SEPARATOR}n{float(value)!r}"


def _holding(searcher: Any, term: str) -> int:
    """How many rows have a term."""
    return int(searcher.doc_freq("body", term))


class KeywordIndex:
    """A folder with a tantivy index and ``watermark.json``.

    The watermark is recorded after the index's own commit, together with the commit's number: after a crash
    between the two it is too low, never too high, and replaying a change twice changes nothing.
    """

    def __init__(self, folder: Path, key: str) -> None:
        self._folder = folder
        self._mark = folder / "watermark.json"
        self._key = f"{key}/{_FORMAT}"
        self._schema = _schema()
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        with _translated("opening the index"):
            self._index = tantivy.Index(self._schema, path=str(folder), reuse=True)
            self._index.config_reader(reload_policy="manual")
        self.searcher: Any = None
        self._holding = lru_cache(8_192)(_holding)  # the words of a question are looked up twice, and many come again
        self.watermark = 0
        self.reload()

    def reload(self) -> None:
        """See what has been committed, by this process or another."""
        with _translated("reloading the index"):
            mark = self._read_mark()
            self._index.reload()
            self.searcher = self._index.searcher()
            self._holding.cache_clear()
            committed = self._opstamp()
        if mark is None:
            if self.searcher.num_docs:
                raise IndexCorrupt("the index has no watermark", component=_COMPONENT)
            self.watermark = 0
            return
        key, opstamp, seq = mark
        if key != self._key or opstamp > committed:
            raise IndexCorrupt("the watermark belongs to another index", component=_COMPONENT)
        self.watermark = seq

    def _read_mark(self) -> tuple[str, int, int] | None:
        if not self._mark.exists():
            return None
        state = json.loads(self._mark.read_text("utf-8"))
        try:
            return str(state["key"]), int(state["opstamp"]), int(state["seq"])
        except (KeyError, TypeError) as error:
            raise ValueError(f"{self._mark.name} does not hold a watermark") from error

    def probe(self) -> None:
        """Touch every file that queries read, in every segment; IndexCorrupt when one is lost or damaged."""
        with _translated("probing the index"):
            for field, term in (("body", "a"), ("facet", "a")):
                self.searcher.doc_freq(field, term)
            everything = tantivy.Query.all_query()
            self.searcher.search(everything, 1, count=False, order_by_field="passage")
            for field in ("document", "valid_from", "valid_until"):
                self.searcher.search(self._range(field, 0, 1), 1, count=False)

    def _opstamp(self) -> int:
        return int(json.loads((self._folder / "meta.json").read_text("utf-8"))["opstamp"])

    # -- writing (only while the library's writer lock is held) -----------------------------------------

    @contextmanager
    def writing(self, seq: int) -> Iterator[Any]:
        """A writer; on success everything is committed as of change `seq`."""
        with _translated("writing the index"):
            writer = self._index.writer(_HEAP, num_threads=1)
            try:
                writer.garbage_collect_files()  # of a commit that was cut off: tantivy will use their names again
                yield writer
                writer.commit()
            except BaseException:
                writer.rollback()
                raise
            finally:
                writer.wait_merging_threads()
            self.mark(seq)
        self.reload()

    def mark(self, seq: int) -> None:
        """Record that the last commit holds everything up to change `seq`."""
        part = self._mark.with_suffix(".part")
        with _translated("recording the watermark"), part.open("w", encoding="utf-8") as file:
            json.dump({"seq": seq, "opstamp": self._opstamp(), "key": self._key}, file)
            file.flush()
            os.fsync(file.fileno())
        part.replace(self._mark)
        self.watermark = seq

    def clear(self, writer: Any) -> None:
        """Drop every row, with all that was removed before, when the writer commits."""
        writer.delete_all_documents()

    def put(self, writer: Any, rows: Sequence[IndexRow]) -> None:
        bodies = passage_bodies([(row.heading_text, row.text) for row in rows])
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

    def removed_share(self) -> float:
        """How many of the rows in the files are removed ones, 0..1."""
        with _translated("counting rows"):
            rows = self.searcher.doc_freq("facet", _EVERY)
        return 1.0 - self.searcher.num_docs / rows if rows else 0.0

    def search(
        self, searcher: Any, terms: Sequence[str], limit: int, restriction: Any = None
    ) -> list[tuple[int, float]]:
        """(passage id, share of the query's information), best first, ties by id."""
        weights = self.information(searcher, terms)
        if not weights or not searcher.num_docs:
            return []
        with _translated("searching"):
            query = tantivy.Query.boolean_query([(_Should, self._asking(term)) for term in weights])
            if restriction is not None:
                query = tantivy.Query.boolean_query([(_Must, query), (_Must, restriction)])
            hits = searcher.search(query, limit, count=False).hits
            ids = searcher.fast_field_values("passage", [address for _, address in hits])
        total = math.fsum(weights.values())
        found = [(int(i), squash(score / total)) for i, (score, _) in zip(ids, hits, strict=True)]
        return sorted(found, key=lambda pair: (-pair[1], pair[0]))

    def _asking(self, term: str) -> Any:
        """For a term, with the score that `core.score` says."""
        query = tantivy.Query.term_query(self._schema, "body", term, "freq")
        return tantivy.Query.boost_query(query, PAIRED) if PAIR in term else query

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
            parts.append(self._filter(scope.filter, columns))
        if not parts:
            return None
        joined = tantivy.Query.boolean_query([(_Must, part) for part in parts])
        return tantivy.Query.const_score_query(joined, 0.0)

    def _filter(self, test: Filter, columns: Columns) -> Any:
        match test:
            case And():
                return tantivy.Query.boolean_query([(_Must, self._filter(p, columns)) for p in test.parts])
            case Or():
                return tantivy.Query.boolean_query([(_Should, self._filter(p, columns)) for p in test.parts])
            case Not():
                everything = (_Must, tantivy.Query.all_query())
                return tantivy.Query.boolean_query([everything, (_MustNot, self._filter(test.part, columns))])
            case In() | Range():
                return self._leaf(test, columns)

    def _leaf(self, leaf: In | Range, columns: Columns) -> Any:
        if leaf.field != "document_id":
            return self._any(leaf.field, leaf_values(leaf, columns.values(leaf.field)))
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
