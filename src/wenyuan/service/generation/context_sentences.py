"""Context sentences for the passages of a source: a model is asked once per passage, and its sentence is checked.

A source is read first, and is whole without them. Then each passage that has none is asked about, some at once, and is
served anew with its sentence. What fails (no model, no time, no tokens left) leaves passages as they are; the next time the
source is taken in, what is missing is asked for. Answers and refusals are kept, so that nothing is asked twice.

No lock is held while the model is asked: others write meanwhile, perhaps to the same source. What it said is stored under
the source's lock, only for passages that are still live as they were, and where the source still asks for sentences.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field, replace
from functools import partial
from threading import Event
from typing import TYPE_CHECKING, Any, NamedTuple

from wenyuan.core.answering import Shown, room_of, shown_of
from wenyuan.core.context_sentences import (
    CONTEXT_PROMPT_VERSION,
    CONTEXT_SCHEMA,
    context_messages,
    key_of,
    read_sentence,
    refused,
)
from wenyuan.core.errors import CatalogBusy, KnowledgeError, LlmError, LlmRejected, VectorsGone, msg
from wenyuan.core.model import ContextSentence, KeptSentence, NewPassage, Passage, Source
from wenyuan.core.ports import LanguageModel
from wenyuan.core.source_entries import kept_from_model, wants_context
from wenyuan.runtime.deadlines import deadline_after
from wenyuan.service.generation.answering import kept_back
from wenyuan.service.generation.no_model import none_is_set_up
from wenyuan.settings import LlmSettings

if TYPE_CHECKING:
    from wenyuan.catalog.catalog import Catalog
    from wenyuan.catalog.context_sentences import ServedPassage
    from wenyuan.service.ingest.embedding import Embedding
    from wenyuan.service.ingest.redaction import Redactor

log = logging.getLogger(__name__)

Tell = Callable[[int, int], None]
"""Is told how many passages were looked at, of how many; at least every second."""
_AT_ONCE = 64  # passages read, asked about and stored at once
_PATIENCE = 600.0  # seconds to wait until what the model said can be stored: another ingest takes minutes
_TICK = 1.0  # seconds after which progress is told again, whether there was any or not


@dataclass(slots=True, kw_only=True)
class ContextReport:
    """The result of a run over a source.

    Attributes:
        made: Sentences that the model gave now, and that passed.
        left_out: Those that did not, by reason; see `core.context_sentences.Refusal`.
        waiting: Passages that were not asked about.
        removed: Passages whose sentence was taken away.
        error: Why passages are waiting; ``""`` where none is.
    """

    made: int = 0
    left_out: Counter[str] = field(default_factory=Counter)
    waiting: int = 0
    removed: int = 0
    error: str = ""
    tokens_in: int = 0
    tokens_out: int = 0


class _Said(NamedTuple):
    kept: KeptSentence
    tokens_in: int
    tokens_out: int


@dataclass(frozen=True, kw_only=True, eq=False)
class ContextSentences:
    """Adds context sentences to the passages of sources, or removes them.

    Attributes:
        llm: None where none is set up.
    """

    catalog: Catalog
    llm: LanguageModel | None
    settings: LlmSettings

    def of(self, source: Source, redactor: Redactor) -> SourceSentences | None:
        """The sentences of a source; None where its settings ask for none."""
        return SourceSentences(self, source, redactor) if wants_context(source) else None

    def settle(
        self,
        source: Source,
        sentences: SourceSentences | None,
        embedding: Embedding,
        *,
        progress: Tell,
        follow: Callable[[], None],
    ) -> ContextReport:
        """Add missing sentences to the live passages of a source; or remove them where its settings ask for none.

        Args:
            follow: Lets the index follow: what it gives must not have ended.
        """
        report = ContextReport()
        try:
            if sentences is None:
                self._remove(source.source_id, embedding, report, follow)
            else:
                self._make(sentences, embedding, report, progress, follow)
        except CatalogBusy as error:
            report.error = str(error)
        if report.error:
            log.warning(
                "%d passages of %s wait for a context sentence: %s", report.waiting, source.source_id, report.error
            )
        return report

    def _remove(
        self, source_id: str, embedding: Embedding, report: ContextReport, follow: Callable[[], None]
    ) -> None:
        if not (self.catalog.live_numbers(source_id, with_context=True) or self.catalog.kept_sentences(source_id)):
            return
        with self.catalog.taking_in(source_id, wait=_PATIENCE):
            if wants_context(self.catalog.source(source_id)):  # by now
                return
            numbers = self.catalog.live_numbers(source_id, with_context=True)
            for at in range(0, len(numbers), _AT_ONCE):
                held = self.catalog.served_passages(numbers[at : at + _AT_ONCE])
                new = _given([(one, None) for one in held], embedding)
                report.removed += self._serve(source_id, new, embedding.vectors(), embedding)
                follow()
            self.catalog.forget_sentences(source_id, self.catalog.kept_sentences(source_id).keys())

    def _make(
        self,
        sentences: SourceSentences,
        embedding: Embedding,
        report: ContextReport,
        progress: Tell,
        follow: Callable[[], None],
    ) -> None:
        numbers, live = self.catalog.live_numbers(sentences.source_id), set[str]()
        report.waiting = len(numbers)
        parts = [numbers[at : at + _AT_ONCE] for at in range(0, len(numbers), _AT_ONCE)]
        done = 0
        while parts:
            part = parts.pop(0)
            held = self.catalog.served_passages(part)
            live |= sentences.look(held)
            told = sentences.ask(held, report, partial(_looked_at, progress, done, len(numbers)))
            left = self._store(sentences, held, told, report, embedding, follow)
            report.waiting -= len(part) - sum(sentences.key_of(one) not in sentences.kept for one in left)
            done += len(part)
            if self.catalog.kept_sentences(sentences.source_id, told.keys() - sentences.kept.keys()):
                parts.reverse()  # another run asked about the same, and is a part ahead: it is met from the other end
        if sentences.kept.keys() - live:
            with self.catalog.taking_in(sentences.source_id, wait=_PATIENCE):
                numbers = self.catalog.live_numbers(sentences.source_id)  # anew, of what others stored meanwhile
                for at in range(0, len(numbers), _AT_ONCE):
                    live |= sentences.look(self.catalog.served_passages(numbers[at : at + _AT_ONCE]))
                if not sentences.changed():
                    self.catalog.forget_sentences(sentences.source_id, sentences.kept.keys() - live)

    def _store(
        self,
        sentences: SourceSentences,
        held: Sequence[ServedPassage],
        told: Mapping[str, _Said],
        report: ContextReport,
        embedding: Embedding,
        follow: Callable[[], None],
    ) -> Sequence[ServedPassage]:
        """Store what the model said by key, and serve passages with it; returns those that are live as they were."""
        known = [
            (one, told[key].kept if key in told else sentences.kept.get(key))
            for one in held
            for key in [sentences.key_of(one)]
        ]
        given = [(one, kept.said) for one, kept in known if kept is not None and kept.said != one.passage.context]
        if not told and not given:
            return held
        new = _given(given, embedding)
        vectors = embedding.vectors()  # before the lock: an encoder may be slow, too
        with self.catalog.taking_in(sentences.source_id, wait=_PATIENCE):
            now = self.catalog.served_passages([one.passage_id for one in held])
            same = [one for one in held if one in now]
            if changed := sentences.changed():
                embedding.clear()
                report.error = report.error or changed
                return same
            keys = {sentences.key_of(one) for one in same}
            sentences.keep({key: said for key, said in told.items() if key in keys}, report)
            live = {one.passage_id for one in same}
            new = {number: passage for number, passage in new.items() if number in live}
            self._serve(sentences.source_id, new, vectors, embedding)
        follow()
        return same

    def _serve(
        self, source_id: str, new: Mapping[int, NewPassage], vectors: Mapping[str, Any], embedding: Embedding
    ) -> int:
        """Serve passages with other sentences, by the number of the live one; returns how many."""
        try:
            count = self.catalog.serve_sentences(source_id, new, vectors) if new else 0
        except VectorsGone:  # another source had the same texts, and was removed between the look and the commit
            count = self.catalog.serve_sentences(source_id, new, embedding.vectors())
        embedding.clear()
        return count


def _given(
    given: Sequence[tuple[ServedPassage, ContextSentence | None]], embedding: Embedding
) -> Mapping[int, NewPassage]:
    """Passages with other sentences and the keys of their vectors, by number."""
    return {
        one.passage_id: embedding.keyed(replace(one.passage, context=said), one.title, one.lead)
        for one, said in given
    }


def _looked_at(progress: Tell, before: int, total: int, done: int) -> None:
    progress(before + done, total)


class SourceSentences:
    """The context sentences of one source, stored and new.

    Attributes:
        kept: By key, also what was refused.
    """

    def __init__(self, of: ContextSentences, source: Source, redactor: Redactor) -> None:
        self._of, self._source, self._redactor = of, source, redactor
        self.source_id = source.source_id
        self.kept: dict[str, KeptSentence] = dict(of.catalog.kept_sentences(source.source_id))

    def key(self, passage: NewPassage, title: str, lead: str) -> str:
        """The storage key of a passage's sentence."""
        return key_of(
            model=self._of.settings.model, redaction=f"{self._redactor.fingerprint} {self._source.copyright}",
            title=title, headings=passage.headings, lead=lead, sha256=passage.sha256,
        )  # fmt: skip

    def key_of(self, one: ServedPassage) -> str:
        """The storage key of a live passage's sentence."""
        return self.key(one.passage, one.title, one.lead)

    def known(self, passage: NewPassage, title: str, lead: str) -> ContextSentence | None:
        """The stored sentence of a passage; None without one."""
        kept = self.kept.get(self.key(passage, title, lead))
        return None if kept is None else kept.said

    def look(self, held: Sequence[ServedPassage]) -> Set[str]:
        """The storage keys of passages; what another run stored for them meanwhile is known from then on."""
        keys = {self.key_of(one) for one in held}
        self.kept |= self._of.catalog.kept_sentences(self.source_id, keys - self.kept.keys())
        return keys

    def keep(self, told: Mapping[str, _Said], report: ContextReport) -> None:
        """Store results by key, and count them."""
        if not told:
            return
        kept = {key: said.kept for key, said in told.items()}
        self._of.catalog.keep_sentences(
            self.source_id, kept, model=self._of.settings.model, prompt=CONTEXT_PROMPT_VERSION
        )
        self.kept |= kept
        for one in kept.values():
            if one.refusal:
                report.left_out[one.refusal] += 1
            else:
                report.made += 1

    def ask(
        self, held: Sequence[ServedPassage], report: ContextReport, progress: Callable[[int], None]
    ) -> Mapping[str, _Said]:
        """Ask the model about the passages without a result, concurrently within its limit; what it said, by key.

        After the first failure no more calls are made; the report has the reason.
        """
        new = {one.passage_id: key for one in held if (key := self.key_of(one)) not in self.kept}
        if not new or report.error:
            return {}
        report.error = self._closed()
        if report.error:
            return {}
        passages = self._of.catalog.passages(list(new))
        told = {}
        for one, answer in self._answers([passages[number] for number in new if number in passages], progress):
            if isinstance(answer, KnowledgeError):
                report.error = report.error or str(answer)
                continue
            told[new[one.passage_id]] = answer
            report.tokens_in += answer.tokens_in
            report.tokens_out += answer.tokens_out
        return told

    def changed(self) -> str:
        """Why what the model said is not stored: the source does not ask for it any more; ``""`` where it does."""
        source = self._of.catalog.source(self.source_id)
        if wants_context(source) and source.copyright == self._source.copyright:
            return ""
        changed = msg("source {source_id} was changed while the model was asked", source_id=repr(self.source_id))
        return self._closed() or changed

    def _closed(self) -> str:
        """Why the model cannot be asked about this source; ``""`` where it can."""
        if self._of.llm is None:
            return str(none_is_set_up())
        source = self._of.catalog.source(self.source_id)  # anew: it may be closed in the hours of a run
        why = kept_from_model(source, self._of.settings.max_sensitivity)
        return str(kept_back(self.source_id, why)) if why else ""

    def _answers(
        self, passages: Sequence[Passage], progress: Callable[[int], None]
    ) -> Iterator[tuple[Passage, _Said | LlmError]]:
        """Results in the order of completion; after a failure, calls not yet started are skipped."""
        failed, gone, done = Event(), Event(), 0
        shown = self._shown(passages)
        pool = ThreadPoolExecutor(self._of.settings.concurrency, thread_name_prefix="context")
        try:
            asked: dict[Future[_Said | None], Passage] = {
                pool.submit(self._answer, passage, shown.get(passage.passage_id), failed, gone): passage
                for passage in passages
            }
            pending = set(asked)
            while pending:
                finished, pending = wait(pending, timeout=_TICK, return_when=FIRST_COMPLETED)
                done += len(finished)
                progress(done)
                for future in finished:
                    try:
                        answer = future.result()
                    except LlmError as error:
                        failed.set()
                        yield asked[future], error
                    else:
                        if answer is not None:
                            yield asked[future], answer
        finally:
            failed.set()
            gone.set()
            pool.shutdown(cancel_futures=True)

    def _shown(self, passages: Sequence[Passage]) -> Mapping[int, Shown]:
        """By passage id, the part that the model may see: all of a document together is within its terms of use."""
        catalog = self._of.catalog
        found, _ = shown_of([one for one in passages if room_of(one, {}) is None], {})
        for document in {one.document_id for one in passages if room_of(one, {}) is not None}:
            numbers = [number for number, *_ in catalog.document_passages(document)]
            held = catalog.passages(numbers)
            found += shown_of([held[n] for n in numbers if n in held], catalog.document_chars({document}))[0]
        return {one.passage.passage_id: one for one in found}

    def _answer(self, passage: Passage, shown: Shown | None, failed: Event, gone: Event) -> _Said | None:
        """The model's result for one passage; None where the run was stopped."""
        if failed.is_set() or self._of.llm is None:
            return None
        if shown is None:  # its terms of use let a model see nothing of it
            return _Said(KeptSentence(None, "copyright"), 0, 0)
        lead = passage.lead if room_of(passage, {}) is None else ""  # it is another part of the document
        around = (passage.title, *passage.headings, lead, shown.text)
        said: dict[str, Any] = {
            "title": passage.title,
            "headings": passage.headings,
            "lead": lead,
            "text": shown.text,
        }
        try:
            reply = self._of.llm.ask(
                context_messages(**said), schema=CONTEXT_SCHEMA, read=read_sentence,
                deadline=deadline_after(self._of.settings.timeout).unless(gone.is_set),
            )  # fmt: skip
        except LlmRejected as error:
            return _Said(KeptSentence(None, "form"), error.tokens_in, error.tokens_out)
        sentence = reply.value
        why = refused(sentence, around) or ("redaction" if self._redactor.text(sentence) != sentence else None)
        own = ContextSentence(text=sentence, model=self._of.settings.model, prompt=CONTEXT_PROMPT_VERSION)
        kept = KeptSentence(None, why) if why else KeptSentence(own, "")
        return _Said(kept, reply.tokens_in, reply.tokens_out)
