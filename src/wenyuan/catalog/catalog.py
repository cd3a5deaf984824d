"""The catalog of a library: its parts over one database, opened together."""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path
from shlex import quote

import sqlalchemy as sa

from wenyuan.catalog import schema, storage
from wenyuan.catalog.address_tree import AddressTree
from wenyuan.catalog.addresses import StoredAddresses
from wenyuan.catalog.agents import Access
from wenyuan.catalog.anchor import Anchor
from wenyuan.catalog.conflict_records import ConflictRecords
from wenyuan.catalog.context_sentences import StoredContextSentences
from wenyuan.catalog.corrections import Corrections
from wenyuan.catalog.database import Database, StoragePlace
from wenyuan.catalog.dialects import create_missing
from wenyuan.catalog.document_counts import DocumentCounts
from wenyuan.catalog.document_details import StoredDetails
from wenyuan.catalog.document_readers import DocumentReaders
from wenyuan.catalog.documents import Documents
from wenyuan.catalog.embedding_batches import EmbeddingBatches
from wenyuan.catalog.erasures import StoredErasures
from wenyuan.catalog.evaluations import Evaluations
from wenyuan.catalog.gap_decisions import GapDecisions
from wenyuan.catalog.golden_questions import GoldenQuestions
from wenyuan.catalog.groups import Groups
from wenyuan.catalog.history import PastDocuments
from wenyuan.catalog.identity import Identity, name_library
from wenyuan.catalog.listings import Listings
from wenyuan.catalog.origins import Origins
from wenyuan.catalog.people import People
from wenyuan.catalog.readings import Readings
from wenyuan.catalog.rules.evidence import Citations
from wenyuan.catalog.rules.graph import RulesGraph
from wenyuan.catalog.rules.name_vectors import StoredNameVectors
from wenyuan.catalog.rules.writes import RuleWrites
from wenyuan.catalog.sorted_documents import SortedDocuments
from wenyuan.catalog.source_runs import SourceRuns
from wenyuan.catalog.sources import SourceRegistry
from wenyuan.catalog.sql import translated
from wenyuan.catalog.stated_files import StatedFiles
from wenyuan.catalog.synonyms import Synonyms
from wenyuan.catalog.task_profiles import TaskProfiles
from wenyuan.catalog.tunings import Calibrations, Tunings
from wenyuan.catalog.values import Files, Values
from wenyuan.catalog.vector_pages import Vectors
from wenyuan.catalog.writes import DocumentWrites
from wenyuan.core.errors import CatalogUnavailable, CatalogVersion, msg
from wenyuan.runtime.delegation import delegate
from wenyuan.runtime.installation import upgrade_command

MOVING = "moving"
"""Of `library`, while one is moved here (see `catalog.backup`): whose rows come."""


class Catalog:
    """The catalog of one library, in parts by subject, on SQLite or PostgreSQL. Safe to share between threads.

    Attributes:
        database: The connections and caches that the parts share.
        rules: Reads of the rules graph.
    """

    def __init__(self, place: StoragePlace) -> None:
        self.folder = place.folder
        self.database = database = Database(place)
        self.values = Values(database)
        self.identity = Identity(database)
        self.registry = SourceRegistry(database)
        self.documents = Documents(database)
        self.counted = DocumentCounts(database)
        self.admitted = DocumentReaders(database)
        self.origins = Origins(database)
        self.readings, self.sorted_lists = Readings(database), SortedDocuments(database)
        self.addressed = AddressTree(database)
        self.corrected, self.detailed = Corrections(database), StoredDetails(database)
        self.contexts = StoredContextSentences(database)
        self.writes = DocumentWrites(database)
        self.vectors = Vectors(database)
        self.listings = Listings(database)
        self.stored = StoredAddresses(database)
        self.access = Access(database)
        self.tasks = TaskProfiles(database)
        self.learned = Tunings(database)
        self.judged = Calibrations(database)
        self.evaluated = Evaluations(database)
        self.vocabulary = Synonyms(database)
        self.rules = RulesGraph(database.reader)
        self.rule_writes, self.rule_names = RuleWrites(database), StoredNameVectors(database)
        self.citations = Citations(database)
        self.anchor, self.history = Anchor(database), PastDocuments(database)
        self.stated, self.memberships, self.known = StatedFiles(database), Groups(database), People(database)
        self.forgotten, self.taken_in, self.batches = (
            StoredErasures(database),
            SourceRuns(database),
            EmbeddingBatches(database),
        )
        self.decided, self.disputed, self.golden = (
            GapDecisions(database),
            ConflictRecords(database),
            GoldenQuestions(database),
        )

    # -- life ---------------------------------------------------------------------------------------

    @classmethod
    def create(cls, where: Path | StoragePlace) -> Catalog:
        """Create an empty library in a folder (made when missing) or at a place; there must not be one already."""
        place = _place(where)
        place.make()
        catalog = cls(place)
        try:
            with (
                catalog.indexing(),
                catalog.writing(),
                translated("creating the library"),
                catalog.database.claims.begin() as connection,
            ):
                if sa.inspect(connection).get_table_names():
                    raise CatalogUnavailable(
                        msg("there is a database in {place} already", place=place),
                        component="catalog",
                        hint="open it, or choose another folder or catalog.schema_name",
                    )
                make_tables(connection, 0, place)
        except BaseException:
            catalog.close()
            raise
        return catalog

    @classmethod
    def open(cls, where: Path | StoragePlace) -> Catalog:
        """Open an existing library, and migrate one written by an older version.

        Raises:
            CatalogUnavailable: there is none, or it cannot be read.
            CatalogVersion: it was written by a newer program.
        """
        place = _place(where)
        try:
            if not place.found():
                raise CatalogUnavailable(
                    msg("there is no library in {place}", place=place),
                    component="catalog",
                    hint=msg("wenyuan --library {folder} init", folder=quote(str(place.folder))),
                )
            catalog = cls(place)
            catalog._make_current()
        except BaseException:
            place.close()
            raise
        return catalog

    def _make_current(self) -> None:
        version = self._version()
        if version > storage.SCHEMA_VERSION:
            raise CatalogVersion(
                msg(
                    "the library in {place} has format {version}, this program knows up to {schema_version}",
                    place=self.database.place,
                    version=version,
                    schema_version=storage.SCHEMA_VERSION,
                ),
                component="catalog",
                hint=msg("upgrade the program: {upgrade_command}", upgrade_command=upgrade_command()),
            )
        if version < storage.SCHEMA_VERSION:
            with self.indexing(), self.writing():  # nobody takes a source in with tables that change meanwhile
                if version == 0:
                    self.check_not_emptied()  # asked again with the lock, and before the writer changes the file
                with translated("migrating the library"), self.database.claims.begin() as connection:
                    if self._number(connection) == version:  # else another process has done it meanwhile
                        make_tables(connection, version, self.database.place)

    def check_not_emptied(self) -> None:
        """Raise CatalogUnavailable where a library existed and its tables are gone. Only reads."""
        if self._version() == 0 and self.database.place.emptied():
            raise CatalogUnavailable(
                msg(
                    "the library in {place} was emptied: its tables are gone, and what was made with them is there",
                    place=self.database.place,
                ),
                component="catalog",
                hint="restore it from a backup; or choose another folder, or another catalog.schema_name",
            )

    def _version(self) -> int:
        """Version of the stored format; 0 when creating the library was interrupted before anything was stored."""
        with self.database.reading(msg("opening {place}", place=self.database.place)) as connection:
            return self._number(connection)

    def _number(self, connection: sa.Connection) -> int:
        names = sa.inspect(connection).get_table_names()
        if not names:
            return 0
        number = None
        if "library" in names:
            number = connection.scalar(sa.select(schema.library.c.value).where(schema.library.c.key == "schema"))
        if number is None or not number.isdecimal():
            raise CatalogUnavailable(
                msg("{place} is a database, but no library", place=self.database.place),
                component="catalog",
                hint="choose another folder, or another catalog.schema_name",
            )
        if connection.scalar(sa.select(sa.func.count()).where(schema.library.c.key == MOVING)):
            raise CatalogUnavailable(
                msg("the library in {place} is not all there yet", place=self.database.place),
                component="catalog",
                hint="go on with moving it: wenyuan migrate --to … as before",
            )
        return int(number)

    def close(self) -> None:
        self.database.place.close()

    def writing(self, *, wait: float = 10.0) -> AbstractContextManager[None]:
        """Hold the lock of those that write to the tables, for as long as a transaction takes; readers are not blocked."""
        return self.database.place.held(wait=wait)

    def taking_in(self, source_id: str, *, wait: float = 10.0) -> AbstractContextManager[None]:
        """Hold the lock for ingesting or removing one source; in a folder one source at a time, with the index."""
        return self.taken_in.run(source_id, wait=wait)

    def indexing(self, *, wait: float = 10.0) -> AbstractContextManager[None]:
        """Hold the lock for writing to an index in the library's folder."""
        return self.database.place.held_index(wait=wait)

    def erasing(self) -> AbstractContextManager[None]:
        """Hold the lock for erasing; CatalogBusy where somebody else erases. Taken before all others."""
        return self.database.place.held_erasure()

    def compact(self) -> None:
        """Write the tables anew, without what was deleted, and empty the write-ahead log.

        Raises:
            CatalogBusy: somebody reads; it can be done later.
            CatalogUnavailable: there is no room on the disk.
        """
        with self.writing(wait=60.0):
            self.database.place.compact()

    # -- what its parts do, as callers ask it --------------------------------------------------------

    value = delegate("values", Values.value)
    values_below = delegate("values", Values.values_below)
    set_value = delegate("values", Values.set_value)
    floor = delegate("values", Values.floor)
    encoder = delegate("values", Values.encoder)

    where = delegate("identity", Identity.where)
    library_id = delegate("identity", Identity.library_id)
    key_mark = delegate("identity", Identity.key_mark)
    mark_key = delegate("identity", Identity.mark_key)
    renew_key_mark = delegate("identity", Identity.renew_key_mark)
    names = delegate("identity", Identity.names)
    elsewhere = delegate("identity", Identity.elsewhere)
    lies = delegate("identity", Identity.lies)
    pseudonym_key = delegate("identity", Identity.pseudonym_key)
    renew_id = delegate("identity", Identity.renew_id)

    sources = delegate("registry", SourceRegistry.sources)
    registered_at = delegate("registry", SourceRegistry.registered_at)
    source = delegate("registry", SourceRegistry.source)
    put_source = delegate("registry", SourceRegistry.put_source)
    remove_source = delegate("registry", SourceRegistry.remove_source)
    source_states = delegate("registry", SourceRegistry.source_states)
    put_source_state = delegate("registry", SourceRegistry.put_source_state)
    claim_source = delegate("registry", SourceRegistry.claim_source)
    let_go = delegate("registry", SourceRegistry.let_go)

    live_documents = delegate("documents", Documents.live_documents)
    document_of_file = delegate("documents", Documents.document_of_file)
    same_contents = delegate("documents", Documents.same_contents)
    uris_of_type = delegate("documents", Documents.uris_of_type)
    known_vectors = delegate("documents", Documents.known_vectors)
    failures = delegate("documents", Documents.failures)
    passages = delegate("documents", Documents.passages)
    labels = delegate("documents", Documents.labels)
    label_vectors = delegate("documents", Documents.label_vectors)
    unlabelled = delegate("documents", Documents.unlabelled)
    some_passages = delegate("documents", Documents.some_passages)
    document_by_uri = delegate("documents", Documents.document_by_uri)
    holders = delegate("documents", Documents.holders)
    document_chars = delegate("documents", Documents.document_chars)
    document_words = delegate("documents", Documents.document_words)
    collections = delegate("counted", DocumentCounts.collections)
    document_passages = delegate("documents", Documents.document_passages)
    first_passage = delegate("documents", Documents.first_passage)
    documents_after = delegate("documents", Documents.documents_after)
    last_days = delegate("documents", Documents.last_days)
    field_values = delegate("counted", DocumentCounts.field_values)
    live_versions = delegate("documents", Documents.live_versions)
    counts = delegate("counted", DocumentCounts.counts)
    counts_by_source = delegate("counted", DocumentCounts.counts_by_source)
    passages_of = delegate("documents", Documents.passages_of)
    seq = delegate("documents", Documents.seq)
    stamp = delegate("documents", Documents.stamp)
    lag = delegate("documents", Documents.lag)
    changes = delegate("documents", Documents.changes)
    passage_fate = delegate("documents", Documents.passage_fate)
    passages_at = delegate("documents", Documents.passages_at)
    document_at = delegate("documents", Documents.document_at)

    hidden = delegate("admitted", DocumentReaders.hidden)
    document_access = delegate("admitted", DocumentReaders.document_access)
    set_document_access = delegate("admitted", DocumentReaders.set_document_access)
    has_access = delegate("admitted", DocumentReaders.has_access)
    keep_access = delegate("admitted", DocumentReaders.keep_access)
    uploaded_access = delegate("admitted", DocumentReaders.uploaded_access)
    access_of_contents = delegate("admitted", DocumentReaders.access_of_contents)
    move_access = delegate("admitted", DocumentReaders.move_access)
    access_counts = delegate("admitted", DocumentReaders.access_counts)
    unmatched_patterns = delegate("admitted", DocumentReaders.unmatched_patterns)

    origin = delegate("origins", Origins.origin)
    source_of_document = delegate("origins", Origins.source_of_document)
    source_of_passage = delegate("origins", Origins.source_of_passage)
    source_of_ended_passage = delegate("origins", Origins.source_of_ended_passage)
    file_held = delegate("origins", Origins.file_held)
    file_hidden = delegate("origins", Origins.file_hidden)
    file_excluded = delegate("origins", Origins.file_excluded)
    listed_documents = delegate("readings", Readings.listed_documents)
    sorted_documents = delegate("sorted_lists", SortedDocuments.sorted_documents)
    held_document = delegate("readings", Readings.held_document)
    passages_of_document = delegate("readings", Readings.passages_of_document)
    chars_up_to = delegate("readings", Readings.chars_up_to)
    document_lines = delegate("readings", Readings.document_lines)
    worst_read = delegate("readings", Readings.worst_read)

    past_document = delegate("history", PastDocuments.past_document)
    past_documents = delegate("history", PastDocuments.past_documents)
    past_texts = delegate("history", PastDocuments.past_texts)
    removed_texts = delegate("history", PastDocuments.removed_texts)

    kept_sentences = delegate("contexts", StoredContextSentences.kept_sentences)
    keep_sentences = delegate("contexts", StoredContextSentences.keep_sentences)
    forget_sentences = delegate("contexts", StoredContextSentences.forget_sentences)
    live_numbers = delegate("contexts", StoredContextSentences.live_numbers)
    served_passages = delegate("contexts", StoredContextSentences.served_passages)
    serve_sentences = delegate("contexts", StoredContextSentences.serve_sentences)
    sentences_of = delegate("contexts", StoredContextSentences.sentences_of)

    corrections = delegate("corrected", Corrections.corrections)
    correction = delegate("corrected", Corrections.correction)
    counting_corrections = delegate("corrected", Corrections.counting_corrections)
    cut_document = delegate("corrected", Corrections.cut_document)
    correct = delegate("corrected", Corrections.correct)
    end_correction = delegate("corrected", Corrections.end_correction)
    reword_corrections = delegate("corrected", Corrections.reword_corrections)

    stated_details = delegate("detailed", StoredDetails.stated_details)
    kept_details = delegate("detailed", StoredDetails.kept_details)
    detailed_document = delegate("detailed", StoredDetails.detailed_document)
    set_details = delegate("detailed", StoredDetails.set_details)
    keep_with_version = delegate("detailed", StoredDetails.keep_with_version)
    note_read = delegate("detailed", StoredDetails.note_read)
    reword_details = delegate("detailed", StoredDetails.reword_details)

    commit_documents = delegate("writes", DocumentWrites.commit_documents)
    retire_documents = delegate("writes", DocumentWrites.retire_documents)
    amend_ends = delegate("writes", DocumentWrites.amend_ends)
    record_failure = delegate("writes", DocumentWrites.record_failure)
    failure_key = delegate("writes", DocumentWrites.failure_key)
    forget_addresses = delegate("writes", DocumentWrites.forget_addresses)
    forget_failures = delegate("writes", DocumentWrites.forget_failures)
    forget_removed = delegate("writes", DocumentWrites.forget_removed)

    addresses = delegate("stored", StoredAddresses.addresses)
    address_identity = delegate("stored", StoredAddresses.address_identity)
    keep_addresses = delegate("stored", StoredAddresses.keep_addresses)

    listed = delegate("listings", Listings.listed)
    listed_for = delegate("listings", Listings.listed_for)
    keep_listed = delegate("listings", Listings.keep_listed)
    forget_listed = delegate("listings", Listings.forget_listed)

    embedded_after = delegate("vectors", Vectors.embedded_after)
    keep_vectors = delegate("vectors", Vectors.keep_vectors)
    change_encoder = delegate("vectors", Vectors.change_encoder)
    renew_stamps = delegate("vectors", Vectors.renew_stamps)

    agents = delegate("access", Access.agents)
    agent = delegate("access", Access.agent)
    put_agent = delegate("access", Access.put_agent)
    remove_agent = delegate("access", Access.remove_agent)
    create_key = delegate("access", Access.create_key)
    keys = delegate("access", Access.keys)
    key_of_token = delegate("access", Access.key_of_token)
    change_key = delegate("access", Access.change_key)
    revoke_key = delegate("access", Access.revoke_key)

    profiles = delegate("tasks", TaskProfiles.profiles)
    profiles_at = delegate("tasks", TaskProfiles.profiles_at)
    put_profile = delegate("tasks", TaskProfiles.put_profile)
    remove_profile = delegate("tasks", TaskProfiles.remove_profile)

    adopt_tuning = delegate("learned", Tunings.adopt_tuning)
    undo_tuning = delegate("learned", Tunings.undo_tuning)
    tunings = delegate("learned", Tunings.tunings)
    tuning_at = delegate("learned", Tunings.tuning_at)
    put_feedback = delegate("learned", Tunings.put_feedback)
    feedback = delegate("learned", Tunings.feedback)
    stated_files = delegate("stated", StatedFiles.stated_files)
    keep_stated_files = delegate("stated", StatedFiles.keep_stated_files)

    groups = delegate("memberships", Groups.groups)
    members = delegate("memberships", Groups.members)
    set_group = delegate("memberships", Groups.set_group)
    change_group = delegate("memberships", Groups.change_group)
    groups_of = delegate("memberships", Groups.groups_of)
    meet = delegate("known", People.meet)
    people = delegate("known", People.people)
    person_names = delegate("known", People.person_names)
    all_people = delegate("known", People.all_people)

    gap_decisions = delegate("decided", GapDecisions.gap_decisions)
    decide_gap = delegate("decided", GapDecisions.decide_gap)
    gap_closings = delegate("decided", GapDecisions.gap_closings)
    keep_gap_closings = delegate("decided", GapDecisions.keep_gap_closings)
    written_answers = delegate("decided", GapDecisions.written_answers)
    keep_written_answer = delegate("decided", GapDecisions.keep_written_answer)
    golden_questions = delegate("golden", GoldenQuestions.golden_questions)
    keep_golden_questions = delegate("golden", GoldenQuestions.keep_golden_questions)
    remove_golden_questions = delegate("golden", GoldenQuestions.remove_golden_questions)
    conflicts = delegate("disputed", ConflictRecords.conflicts)
    conflicts_by_passage = delegate("disputed", ConflictRecords.conflicts_by_passage)
    conflicts_version = delegate("disputed", ConflictRecords.conflicts_version)
    conflict_decisions = delegate("disputed", ConflictRecords.conflict_decisions)
    keep_conflicts = delegate("disputed", ConflictRecords.keep_conflicts)
    remove_conflicts = delegate("disputed", ConflictRecords.remove_conflicts)
    decide_conflict = delegate("disputed", ConflictRecords.decide_conflict)
    passages_beginning = delegate("disputed", ConflictRecords.passages_beginning)

    begin_erasure = delegate("forgotten", StoredErasures.begin_erasure)
    note_erasure = delegate("forgotten", StoredErasures.note_erasure)
    erasures = delegate("forgotten", StoredErasures.erasures)
    erasure = delegate("forgotten", StoredErasures.erasure)
    erased_values = delegate("forgotten", StoredErasures.erased_values)
    erased_identities = delegate("forgotten", StoredErasures.erased_identities)
    put_hold = delegate("forgotten", StoredErasures.put_hold)
    lift_hold = delegate("forgotten", StoredErasures.lift_hold)
    holds = delegate("forgotten", StoredErasures.holds)
    withheld = delegate("forgotten", StoredErasures.withheld)
    withhold = delegate("forgotten", StoredErasures.withhold)

    put_batch = delegate("batches", EmbeddingBatches.put_batch)
    take_batch = delegate("batches", EmbeddingBatches.take_batch)
    renew_lease = delegate("batches", EmbeddingBatches.renew_lease)
    give_vectors = delegate("batches", EmbeddingBatches.give_vectors)
    give_back = delegate("batches", EmbeddingBatches.give_back)
    batch_outcome = delegate("batches", EmbeddingBatches.batch_outcome)
    remove_batches = delegate("batches", EmbeddingBatches.remove_batches)
    note_worker = delegate("batches", EmbeddingBatches.note_worker)
    remove_worker = delegate("batches", EmbeddingBatches.remove_worker)
    workers = delegate("batches", EmbeddingBatches.workers)
    runs = delegate("batches", EmbeddingBatches.runs)
    note_progress = delegate("taken_in", SourceRuns.note_progress)

    adopt_calibration = delegate("judged", Calibrations.adopt_calibration)
    undo_calibration = delegate("judged", Calibrations.undo_calibration)
    calibration_at = delegate("judged", Calibrations.calibration_at)

    keep_evaluation = delegate("evaluated", Evaluations.keep_evaluation)
    evaluations = delegate("evaluated", Evaluations.evaluations)
    evaluation = delegate("evaluated", Evaluations.evaluation)
    golden_set = delegate("evaluated", Evaluations.golden_set)
    remove_evaluation = delegate("evaluated", Evaluations.remove_evaluation)

    synonyms = delegate("vocabulary", Synonyms.synonyms)
    synonyms_at = delegate("vocabulary", Synonyms.synonyms_at)
    synonyms_version = delegate("vocabulary", Synonyms.synonyms_version)
    put_synonyms = delegate("vocabulary", Synonyms.put_synonyms)
    remove_synonyms = delegate("vocabulary", Synonyms.remove_synonyms)

    apply_rules = delegate("rule_writes", RuleWrites.apply_rules)
    review_rules = delegate("rule_writes", RuleWrites.review_rules)
    clauses_read = delegate("rule_writes", RuleWrites.clauses_read)
    mark_clauses_read = delegate("rule_writes", RuleWrites.mark_clauses_read)

    name_vectors = delegate("rule_names", StoredNameVectors.name_vectors)
    keep_name_vectors = delegate("rule_names", StoredNameVectors.keep_name_vectors)

    cited = delegate("citations", Citations.cited)
    source_changed = delegate("citations", Citations.source_changed)
    texts_of = delegate("citations", Citations.texts_of)
    cited_passages = delegate("citations", Citations.cited_passages)
    mark_quotes = delegate("citations", Citations.mark_quotes)
    standings = delegate("citations", Citations.standings)
    withdraw_evidence = delegate("citations", Citations.withdraw_evidence)


def _place(where: Path | StoragePlace) -> StoragePlace:
    return Files(where) if isinstance(where, Path) else where


def make_tables(connection: sa.Connection, version: int, place: StoragePlace) -> None:
    """Migrate the tables from `version` to the current version; 0 creates them."""
    for step in storage.MIGRATIONS[version:]:
        if isinstance(step, sa.MetaData):
            create_missing(connection, step)
        elif version:
            step(connection)
    connection.execute(schema.library.delete().where(schema.library.c.key == "schema"))
    connection.execute(schema.library.insert(), {"key": "schema", "value": str(storage.SCHEMA_VERSION)})
    if version == 0:
        name_library(connection, place)
        place.begin(connection)
