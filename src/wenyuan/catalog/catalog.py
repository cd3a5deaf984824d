"""The catalog of a library: its parts over one database, opened together."""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path
from shlex import quote

import sqlalchemy as sa

from wenyuan.catalog import format_upgrades, schema
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
from wenyuan.catalog.library_folder import Files
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
from wenyuan.catalog.values import Values
from wenyuan.catalog.vector_pages import Vectors
from wenyuan.catalog.writes import DocumentWrites
from wenyuan.core.errors import CatalogUnavailable, CatalogVersion, msg
from wenyuan.runtime.delegation import method_of
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
        if version > format_upgrades.SCHEMA_VERSION:
            raise CatalogVersion(
                msg(
                    "the library in {place} has format {version}, this program knows up to {schema_version}",
                    place=self.database.place,
                    version=version,
                    schema_version=format_upgrades.SCHEMA_VERSION,
                ),
                component="catalog",
                hint=msg("upgrade the program: {upgrade_command}", upgrade_command=upgrade_command()),
            )
        if version < format_upgrades.SCHEMA_VERSION:
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

    def indexing_on_server(self, *, wait: float = 10.0) -> AbstractContextManager[None]:
        """Hold the lock for writing to an index on a server."""
        return self.database.place.held_shared_index(wait=wait)

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

    value = method_of("values", Values.value)
    values_below = method_of("values", Values.values_below)
    set_value = method_of("values", Values.set_value)
    floor = method_of("values", Values.floor)
    encoder = method_of("values", Values.encoder)

    where = method_of("identity", Identity.where)
    library_id = method_of("identity", Identity.library_id)
    key_mark = method_of("identity", Identity.key_mark)
    mark_key = method_of("identity", Identity.mark_key)
    renew_key_mark = method_of("identity", Identity.renew_key_mark)
    names = method_of("identity", Identity.names)
    elsewhere = method_of("identity", Identity.elsewhere)
    lies = method_of("identity", Identity.lies)
    pseudonym_key = method_of("identity", Identity.pseudonym_key)
    renew_id = method_of("identity", Identity.renew_id)

    sources = method_of("registry", SourceRegistry.sources)
    registered_at = method_of("registry", SourceRegistry.registered_at)
    source = method_of("registry", SourceRegistry.source)
    put_source = method_of("registry", SourceRegistry.put_source)
    remove_source = method_of("registry", SourceRegistry.remove_source)
    source_states = method_of("registry", SourceRegistry.source_states)
    put_source_state = method_of("registry", SourceRegistry.put_source_state)
    claim_source = method_of("registry", SourceRegistry.claim_source)
    let_go = method_of("registry", SourceRegistry.let_go)

    live_documents = method_of("documents", Documents.live_documents)
    document_of_file = method_of("documents", Documents.document_of_file)
    same_contents = method_of("documents", Documents.same_contents)
    uris_of_type = method_of("documents", Documents.uris_of_type)
    known_vectors = method_of("documents", Documents.known_vectors)
    failures = method_of("documents", Documents.failures)
    passages = method_of("documents", Documents.passages)
    labels = method_of("documents", Documents.labels)
    label_vectors = method_of("documents", Documents.label_vectors)
    unlabelled = method_of("documents", Documents.unlabelled)
    some_passages = method_of("documents", Documents.some_passages)
    document_by_uri = method_of("documents", Documents.document_by_uri)
    holders = method_of("documents", Documents.holders)
    document_chars = method_of("documents", Documents.document_chars)
    document_words = method_of("documents", Documents.document_words)
    collections = method_of("counted", DocumentCounts.collections)
    document_passages = method_of("documents", Documents.document_passages)
    first_passage = method_of("documents", Documents.first_passage)
    documents_after = method_of("documents", Documents.documents_after)
    last_days = method_of("documents", Documents.last_days)
    field_values = method_of("counted", DocumentCounts.field_values)
    live_versions = method_of("documents", Documents.live_versions)
    counts = method_of("counted", DocumentCounts.counts)
    counts_by_source = method_of("counted", DocumentCounts.counts_by_source)
    passages_of = method_of("documents", Documents.passages_of)
    seq = method_of("documents", Documents.seq)
    stamp = method_of("documents", Documents.stamp)
    lag = method_of("documents", Documents.lag)
    changes = method_of("documents", Documents.changes)
    passage_fate = method_of("documents", Documents.passage_fate)
    passages_at = method_of("documents", Documents.passages_at)
    document_at = method_of("documents", Documents.document_at)

    hidden = method_of("admitted", DocumentReaders.hidden)
    document_access = method_of("admitted", DocumentReaders.document_access)
    set_document_access = method_of("admitted", DocumentReaders.set_document_access)
    has_access = method_of("admitted", DocumentReaders.has_access)
    keep_access = method_of("admitted", DocumentReaders.keep_access)
    uploaded_access = method_of("admitted", DocumentReaders.uploaded_access)
    access_of_contents = method_of("admitted", DocumentReaders.access_of_contents)
    move_access = method_of("admitted", DocumentReaders.move_access)
    access_counts = method_of("admitted", DocumentReaders.access_counts)
    unmatched_patterns = method_of("admitted", DocumentReaders.unmatched_patterns)

    origin = method_of("origins", Origins.origin)
    source_of_document = method_of("origins", Origins.source_of_document)
    source_of_passage = method_of("origins", Origins.source_of_passage)
    source_of_ended_passage = method_of("origins", Origins.source_of_ended_passage)
    file_held = method_of("origins", Origins.file_held)
    file_hidden = method_of("origins", Origins.file_hidden)
    file_excluded = method_of("origins", Origins.file_excluded)
    listed_documents = method_of("readings", Readings.listed_documents)
    sorted_documents = method_of("sorted_lists", SortedDocuments.sorted_documents)
    held_document = method_of("readings", Readings.held_document)
    passages_of_document = method_of("readings", Readings.passages_of_document)
    chars_up_to = method_of("readings", Readings.chars_up_to)
    document_lines = method_of("readings", Readings.document_lines)
    worst_read = method_of("readings", Readings.worst_read)

    past_document = method_of("history", PastDocuments.past_document)
    past_documents = method_of("history", PastDocuments.past_documents)
    past_texts = method_of("history", PastDocuments.past_texts)
    removed_texts = method_of("history", PastDocuments.removed_texts)

    kept_sentences = method_of("contexts", StoredContextSentences.kept_sentences)
    keep_sentences = method_of("contexts", StoredContextSentences.keep_sentences)
    forget_sentences = method_of("contexts", StoredContextSentences.forget_sentences)
    live_numbers = method_of("contexts", StoredContextSentences.live_numbers)
    served_passages = method_of("contexts", StoredContextSentences.served_passages)
    serve_sentences = method_of("contexts", StoredContextSentences.serve_sentences)
    sentences_of = method_of("contexts", StoredContextSentences.sentences_of)

    corrections = method_of("corrected", Corrections.corrections)
    correction = method_of("corrected", Corrections.correction)
    counting_corrections = method_of("corrected", Corrections.counting_corrections)
    cut_document = method_of("corrected", Corrections.cut_document)
    correct = method_of("corrected", Corrections.correct)
    end_correction = method_of("corrected", Corrections.end_correction)
    reword_corrections = method_of("corrected", Corrections.reword_corrections)

    stated_details = method_of("detailed", StoredDetails.stated_details)
    kept_details = method_of("detailed", StoredDetails.kept_details)
    detailed_document = method_of("detailed", StoredDetails.detailed_document)
    set_details = method_of("detailed", StoredDetails.set_details)
    keep_with_version = method_of("detailed", StoredDetails.keep_with_version)
    note_read = method_of("detailed", StoredDetails.note_read)
    reword_details = method_of("detailed", StoredDetails.reword_details)

    commit_documents = method_of("writes", DocumentWrites.commit_documents)
    retire_documents = method_of("writes", DocumentWrites.retire_documents)
    amend_ends = method_of("writes", DocumentWrites.amend_ends)
    record_failure = method_of("writes", DocumentWrites.record_failure)
    failure_key = method_of("writes", DocumentWrites.failure_key)
    forget_addresses = method_of("writes", DocumentWrites.forget_addresses)
    forget_failures = method_of("writes", DocumentWrites.forget_failures)
    forget_removed = method_of("writes", DocumentWrites.forget_removed)

    addresses = method_of("stored", StoredAddresses.addresses)
    address_identity = method_of("stored", StoredAddresses.address_identity)
    keep_addresses = method_of("stored", StoredAddresses.keep_addresses)

    listed = method_of("listings", Listings.listed)
    listed_for = method_of("listings", Listings.listed_for)
    keep_listed = method_of("listings", Listings.keep_listed)
    forget_listed = method_of("listings", Listings.forget_listed)

    embedded_after = method_of("vectors", Vectors.embedded_after)
    keep_vectors = method_of("vectors", Vectors.keep_vectors)
    change_encoder = method_of("vectors", Vectors.change_encoder)
    renew_stamps = method_of("vectors", Vectors.renew_stamps)

    agents = method_of("access", Access.agents)
    agent = method_of("access", Access.agent)
    put_agent = method_of("access", Access.put_agent)
    remove_agent = method_of("access", Access.remove_agent)
    create_key = method_of("access", Access.create_key)
    keys = method_of("access", Access.keys)
    key_of_token = method_of("access", Access.key_of_token)
    change_key = method_of("access", Access.change_key)
    revoke_key = method_of("access", Access.revoke_key)

    profiles = method_of("tasks", TaskProfiles.profiles)
    profiles_at = method_of("tasks", TaskProfiles.profiles_at)
    put_profile = method_of("tasks", TaskProfiles.put_profile)
    remove_profile = method_of("tasks", TaskProfiles.remove_profile)

    adopt_tuning = method_of("learned", Tunings.adopt_tuning)
    undo_tuning = method_of("learned", Tunings.undo_tuning)
    tunings = method_of("learned", Tunings.tunings)
    tuning_at = method_of("learned", Tunings.tuning_at)
    put_feedback = method_of("learned", Tunings.put_feedback)
    feedback = method_of("learned", Tunings.feedback)
    stated_files = method_of("stated", StatedFiles.stated_files)
    keep_stated_files = method_of("stated", StatedFiles.keep_stated_files)

    groups = method_of("memberships", Groups.groups)
    members = method_of("memberships", Groups.members)
    set_group = method_of("memberships", Groups.set_group)
    change_group = method_of("memberships", Groups.change_group)
    groups_of = method_of("memberships", Groups.groups_of)
    meet = method_of("known", People.meet)
    people = method_of("known", People.people)
    person_names = method_of("known", People.person_names)
    all_people = method_of("known", People.all_people)

    gap_decisions = method_of("decided", GapDecisions.gap_decisions)
    decide_gap = method_of("decided", GapDecisions.decide_gap)
    gap_closings = method_of("decided", GapDecisions.gap_closings)
    keep_gap_closings = method_of("decided", GapDecisions.keep_gap_closings)
    written_answers = method_of("decided", GapDecisions.written_answers)
    keep_written_answer = method_of("decided", GapDecisions.keep_written_answer)
    golden_questions = method_of("golden", GoldenQuestions.golden_questions)
    keep_golden_questions = method_of("golden", GoldenQuestions.keep_golden_questions)
    remove_golden_questions = method_of("golden", GoldenQuestions.remove_golden_questions)
    conflicts = method_of("disputed", ConflictRecords.conflicts)
    conflicts_by_passage = method_of("disputed", ConflictRecords.conflicts_by_passage)
    conflicts_version = method_of("disputed", ConflictRecords.conflicts_version)
    conflict_decisions = method_of("disputed", ConflictRecords.conflict_decisions)
    keep_conflicts = method_of("disputed", ConflictRecords.keep_conflicts)
    remove_conflicts = method_of("disputed", ConflictRecords.remove_conflicts)
    decide_conflict = method_of("disputed", ConflictRecords.decide_conflict)
    passages_beginning = method_of("disputed", ConflictRecords.passages_beginning)

    begin_erasure = method_of("forgotten", StoredErasures.begin_erasure)
    note_erasure = method_of("forgotten", StoredErasures.note_erasure)
    erasures = method_of("forgotten", StoredErasures.erasures)
    erasure = method_of("forgotten", StoredErasures.erasure)
    erased_values = method_of("forgotten", StoredErasures.erased_values)
    erased_identities = method_of("forgotten", StoredErasures.erased_identities)
    put_hold = method_of("forgotten", StoredErasures.put_hold)
    lift_hold = method_of("forgotten", StoredErasures.lift_hold)
    holds = method_of("forgotten", StoredErasures.holds)
    withheld = method_of("forgotten", StoredErasures.withheld)
    withhold = method_of("forgotten", StoredErasures.withhold)

    put_batch = method_of("batches", EmbeddingBatches.put_batch)
    take_batch = method_of("batches", EmbeddingBatches.take_batch)
    renew_lease = method_of("batches", EmbeddingBatches.renew_lease)
    give_vectors = method_of("batches", EmbeddingBatches.give_vectors)
    give_back = method_of("batches", EmbeddingBatches.give_back)
    batch_outcome = method_of("batches", EmbeddingBatches.batch_outcome)
    remove_batches = method_of("batches", EmbeddingBatches.remove_batches)
    note_worker = method_of("batches", EmbeddingBatches.note_worker)
    remove_worker = method_of("batches", EmbeddingBatches.remove_worker)
    workers = method_of("batches", EmbeddingBatches.workers)
    runs = method_of("batches", EmbeddingBatches.runs)
    note_progress = method_of("taken_in", SourceRuns.note_progress)

    adopt_calibration = method_of("judged", Calibrations.adopt_calibration)
    undo_calibration = method_of("judged", Calibrations.undo_calibration)
    calibration_at = method_of("judged", Calibrations.calibration_at)

    keep_evaluation = method_of("evaluated", Evaluations.keep_evaluation)
    evaluations = method_of("evaluated", Evaluations.evaluations)
    evaluation = method_of("evaluated", Evaluations.evaluation)
    golden_set = method_of("evaluated", Evaluations.golden_set)
    remove_evaluation = method_of("evaluated", Evaluations.remove_evaluation)

    synonyms = method_of("vocabulary", Synonyms.synonyms)
    synonyms_at = method_of("vocabulary", Synonyms.synonyms_at)
    synonyms_version = method_of("vocabulary", Synonyms.synonyms_version)
    put_synonyms = method_of("vocabulary", Synonyms.put_synonyms)
    remove_synonyms = method_of("vocabulary", Synonyms.remove_synonyms)

    apply_rules = method_of("rule_writes", RuleWrites.apply_rules)
    review_rules = method_of("rule_writes", RuleWrites.review_rules)
    clauses_read = method_of("rule_writes", RuleWrites.clauses_read)
    mark_clauses_read = method_of("rule_writes", RuleWrites.mark_clauses_read)

    name_vectors = method_of("rule_names", StoredNameVectors.name_vectors)
    keep_name_vectors = method_of("rule_names", StoredNameVectors.keep_name_vectors)

    cited = method_of("citations", Citations.cited)
    source_changed = method_of("citations", Citations.source_changed)
    texts_of = method_of("citations", Citations.texts_of)
    cited_passages = method_of("citations", Citations.cited_passages)
    mark_quotes = method_of("citations", Citations.mark_quotes)
    standings = method_of("citations", Citations.standings)
    withdraw_evidence = method_of("citations", Citations.withdraw_evidence)


def _place(where: Path | StoragePlace) -> StoragePlace:
    return Files(where) if isinstance(where, Path) else where


def make_tables(connection: sa.Connection, version: int, place: StoragePlace) -> None:
    """Migrate the tables from `version` to the current version; 0 creates them."""
    for step in format_upgrades.MIGRATIONS[version:]:
        if isinstance(step, sa.MetaData):
            create_missing(connection, step)
        elif version:
            step(connection)
    connection.execute(schema.library.delete().where(schema.library.c.key == "schema"))
    connection.execute(schema.library.insert(), {"key": "schema", "value": str(format_upgrades.SCHEMA_VERSION)})
    if version == 0:
        name_library(connection, place)
        place.begin(connection)
