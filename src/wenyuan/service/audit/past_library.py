"""Rebuilds the library as of an earlier change, for replaying audited queries."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import date
from functools import partial
from typing import TYPE_CHECKING, Any

from wenyuan.core.conflicts.record import ConflictDecision, StoredConflict
from wenyuan.core.errors import TextsGone
from wenyuan.core.hidden_documents import HiddenDocuments
from wenyuan.core.model import (
    IndexRow,
    Label,
    LabelVector,
    Passage,
    Source,
    indexed_headings,
    label_text,
)
from wenyuan.core.ports import Change, ChangeFeed, Deadline, Encoder, Engine
from wenyuan.core.scoring.adapt import Tuning
from wenyuan.core.stated_addresses import Holder
from wenyuan.core.task_profiles import TaskProfile
from wenyuan.core.text.synonyms import Synonym
from wenyuan.runtime.deadlines import deadline_after
from wenyuan.service.audit.request_entry import query_of
from wenyuan.service.audit.rerun import Rerun, rerun_of
from wenyuan.service.query import Query, SearchAnswer
from wenyuan.service.rules.derive import Deriver
from wenyuan.service.rules.name_vectors import name_vectors_of
from wenyuan.service.rules.schemas import SCHEMAS, stored_schema
from wenyuan.service.search.general_texts import SCRIPTS
from wenyuan.service.search.reranking import Reranking
from wenyuan.service.search.retriever import Retriever
from wenyuan.service.search.sight_traits import WITHIN_SIGHT
from wenyuan.service.search.sufficiency import retrieve_whole
from wenyuan.settings import RulesSettings, SearchSettings

if TYPE_CHECKING:
    from wenyuan.catalog.catalog import Catalog

_PATIENCE = 60.0  # seconds for one request: the engine may be the plain and slow one


class FeedAt:
    """A change feed that ends at an earlier change.

    Args:
        embed: Makes the vector, (dim,) float32, of a text whose own is not kept any more; None in a library
            without vectors.

    Raises, from `changes`:
        TextsGone: a text of that time is gone, since its source was removed or its redaction changed.
    """

    def __init__(self, feed: ChangeFeed, generation: int, embed: Callable[[str], Any] | None = None) -> None:
        self._feed = feed
        self._generation = generation
        self._embed = embed

    def seq(self) -> int:
        return self._generation

    def stamp(self, seq: int) -> str:
        return self._feed.stamp(seq)

    def lag(self, watermark: int) -> float:
        return 0.0

    def changes(self, after: int, upto: int, *, vectors: bool = True) -> Iterator[Change]:
        for change in self._feed.changes(after, min(upto, self._generation), vectors=vectors):
            yield change if change.row is None else replace(change, row=self._whole(change.row, vectors))

    def _whole(self, row: IndexRow, vectors: bool) -> IndexRow:
        if not row.text:
            raise TextsGone(self._generation, row.source_id)
        if vectors and row.vector is None and self._embed is not None:
            return replace(row, vector=self._embed(row.unembedded))
        return row


class RecordAt(FeedAt):
    """The catalog as of an earlier change, as a `Record` for a `Retriever`.

    Passages and documents are those of that change. Sources are those of the recorded scope, in force and with the
    recorded trust; collection traits are the recorded ones. Everything that was not recorded is as it is now.
    """

    def __init__(
        self, catalog: Catalog, record: Mapping[str, Any], embed: Callable[[str], Any] | None = None
    ) -> None:
        super().__init__(catalog, record["generation"], embed)
        self._catalog = catalog
        self._scope: Mapping[str, int | None] | None = record["scope"].get("sources")
        self._recorded_floor: Mapping[str, float] = record.get("floor", {})

    def _as_it_was(self, source: Source) -> Source:
        trust = (self._scope or {}).get(source.source_id) or source.trust
        return replace(
            source, trust=trust, effective_from=None, effective_until=None, status="in_force", supersedes=()
        )

    def sources(self, deadline: Deadline | None = None) -> tuple[Source, ...]:
        found = self._catalog.sources(deadline)
        if self._scope is None:
            return found
        return tuple(self._as_it_was(s) for s in found if s.source_id in self._scope)

    def hidden(self, deadline: Deadline | None = None) -> HiddenDocuments | None:
        return self._catalog.hidden(deadline)  # rights are those of now

    def passages(self, passage_ids: Sequence[int], deadline: Deadline | None = None) -> Mapping[int, Passage]:
        found = self._catalog.passages_at(passage_ids, self._generation, deadline)
        trusts = self._scope or {}
        return {i: replace(p, trust=trusts.get(p.source_id) or p.trust) for i, p in found.items()}

    def conflicts_by_passage(self) -> Mapping[int, Sequence[StoredConflict]]:
        return self._catalog.conflicts_by_passage()

    def conflict_decisions(self) -> Mapping[str, ConflictDecision]:
        return self._catalog.conflict_decisions()

    def labels(self, passage_ids: Sequence[int], deadline: Deadline | None = None) -> Mapping[int, Label]:
        return self._catalog.labels(passage_ids, deadline)

    def label_vectors(self, passage_ids: Sequence[int], deadline: Deadline | None = None) -> Sequence[LabelVector]:
        found = list(self._catalog.label_vectors(passage_ids, deadline))
        missing = set(passage_ids) - {label.passage_id for label in found}
        if missing and self._embed is not None:
            said = self._catalog.sentences_of(sorted(missing))
            for number, passage in self._catalog.passages_at(sorted(missing), self._generation, deadline).items():
                headings = indexed_headings(passage.headings, said.get(number))
                if text := label_text(passage.title, headings, passage.lead):
                    found.append(LabelVector(number, text, self._embed(text)))
        return found

    def document_by_uri(
        self, uri: str, sources: Sequence[str] | None = None, deadline: Deadline | None = None
    ) -> tuple[int, str, str] | None:
        return self._catalog.document_at(uri, self._generation, sources, deadline)

    def holders(self, uris: Sequence[str], but: str = "") -> Mapping[str, Sequence[Holder]]:
        return self._catalog.holders(uris, but)

    def floor(self, mode: str) -> Mapping[str, Mapping[str, float]]:
        # What was not recorded was not known then, and did not count.
        known = self._recorded_floor
        then = dict.fromkeys(SCRIPTS, known) if known else self._catalog.floor(mode)
        before = {"law": 0.0, "distinct": 0.0, WITHIN_SIGHT: 0.0}
        return {script: {**before, **then.get(script, {})} for script in SCRIPTS}

    def tuning_at(self, seq: int, deadline: Deadline | None = None) -> Tuning | None:
        return self._catalog.tuning_at(seq, deadline)

    def profiles_at(self, seq: int, deadline: Deadline | None = None) -> tuple[TaskProfile, ...]:
        return self._catalog.profiles_at(seq, deadline)

    def synonyms_version(self, seq: int, deadline: Deadline | None = None) -> int:
        return self._catalog.synonyms_version(seq, deadline)

    def synonyms_at(self, seq: int, deadline: Deadline | None = None) -> tuple[Synonym, ...]:
        return self._catalog.synonyms_at(seq, deadline)


@contextmanager
def past(
    record: Mapping[str, Any],
    *,
    catalog: Catalog,
    make_engine: Callable[[], Engine],
    encoder: Encoder | None,
    settings: SearchSettings,
    united: RulesSettings | None = None,
    reranking: Reranking | None = None,
    seconds: float = 600.0,
) -> Iterator[tuple[Retriever, RecordAt]]:
    """A retriever over the library as of an earlier change; takes as long as indexing the whole library.

    Args:
        make_engine: Makes an empty engine, which is closed in the end.
        seconds: How long building may take.

    Raises:
        TextsGone: texts of that time are not kept any more.
        KnowledgeError: the engine cannot be built.
    """

    def embed(text: str) -> Any:
        assert encoder is not None
        return encoder.encode_passages([text])[0]

    then = RecordAt(catalog, record, embed if encoder is not None else None)
    engine = make_engine()
    try:
        engine.sync(then, deadline=deadline_after(seconds))
        patient = settings.model_copy(update={"deadline": _PATIENCE})
        names = name_vectors_of(encoder, catalog, settings)
        united = united or RulesSettings()
        rules = Deriver(
            catalog.rules, lambda: stored_schema(catalog.value(SCHEMAS)), most=united.max_rules, at=then.seq(),
            names=names,
        )  # fmt: skip
        retriever = Retriever(then, engine, encoder, patient, rules=rules, united=united, reranking=reranking)
        try:
            yield retriever, then
        finally:
            retriever.close()
            rules.close()
    finally:
        engine.close()


def asked_of(retriever: Retriever, record: Mapping[str, Any]) -> Callable[[Query], SearchAnswer]:
    """The call that answers a recorded query: rules only, or all legs."""
    return retriever.derive if record.get("door") == "infer_rules" else partial(retrieve_whole, retriever)


def rerun_at(  # noqa: PLR0913  (what it is wired with)
    record: Mapping[str, Any],
    request: Mapping[str, Any],
    *,
    catalog: Catalog,
    make_engine: Callable[[], Engine],
    encoder: Encoder | None,
    settings: SearchSettings,
    settings_digest: str,
    united: RulesSettings | None = None,
    reranking: Reranking | None = None,
) -> Rerun:
    """Repeat a recorded query (see `audit.request_entry.request_of`) on the library as of its change; for `rerun` of `replay`.

    Outside sources cannot be asked about the past: only the library's own are.

    Raises:
        TextsGone: the library as it was cannot be had any more.
        KnowledgeError: it could not be asked.
    """
    with past(
        record,
        catalog=catalog,
        make_engine=make_engine,
        encoder=encoder,
        settings=settings,
        united=united,
        reranking=reranking,
    ) as (retriever, then):
        day = date.fromisoformat(record["scope"]["as_of"])
        own = tuple(s.source_id for s in then.sources() if s.type == "static_doc")
        query = query_of(request)
        asked = own if query.sources is None else tuple(name for name in query.sources if name in own)
        answer = asked_of(retriever, record)(replace(query, sources=asked, as_of=day))
    key = encoder.fingerprint.key if encoder is not None else ""
    return rerun_of(answer, settings_digest=settings_digest, encoder_key=key, sources=asked, as_of=day)
