"""Tunings, feedback, evaluations and synonyms."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from wenyuan.catalog import schema as t
from wenyuan.catalog.schema import calibrations, evaluations, feedback, golden_sets, synonyms, tunings
from wenyuan.catalog.sql import next_seq, now
from wenyuan.catalog.storage import Database
from wenyuan.core.errors import InvalidRequest, NotFound, msg
from wenyuan.core.ports import Deadline
from wenyuan.core.records import (
    AskedQuestion,
    Evaluation,
    Judgement,
    KeptCalibration,
    KeptTuning,
    Pair,
    WholeEvaluation,
)
from wenyuan.core.text.synonyms import MOST_SYNONYMS, Synonym, SynonymsPut, synonym_to_wire

if TYPE_CHECKING:  # what counts with arrays is loaded where something was learned
    from wenyuan.core.scoring.adapt import Tuning
    from wenyuan.core.scoring.risk import Calibration

# Tunings and feedback: what a library has learned from judged questions, and the judgements.


_BATCH = 500


@dataclass(frozen=True, slots=True, eq=False)
class Tunings:
    """Tunings trained on judged questions. Adopting or undoing one is a change of the library: caches, indexes and
    audit records depend on it.
    """

    database: Database

    def adopt_tuning(self, tuning: Tuning, report: Mapping[str, Any], collection: Mapping[str, Any]) -> int:
        """Store a tuning in place of the active one, with the collection traits measured under it; returns its
        number.
        """
        row = {
            "created_at": now(),
            "encoder": tuning.encoder,
            "fingerprint": tuning.fingerprint,
            "map": None if tuning.map is None else tuning.map.to_bytes(),
            "weight": tuning.weight,
            "report": dict(report),
        }
        with self.database.changing("storing a tuning") as connection:
            seq = _end(connection)
            done = connection.execute(tunings.insert(), {**row, "seq": seq})
            _put_collection(connection, collection)
            (number,) = done.inserted_primary_key or (0,)
        return int(number)

    def undo_tuning(self, collection: Mapping[str, Any]) -> None:
        """End the active tuning; NotFound when there is none."""
        with self.database.changing("undoing a tuning") as connection:
            if connection.scalar(sa.select(sa.func.count()).where(tunings.c.undone_seq.is_(None))) == 0:
                raise NotFound("the library has no tuning", hint="wenyuan tune --golden FILE")
            _end(connection)
            _put_collection(connection, collection)

    def tunings(self) -> tuple[KeptTuning, ...]:
        """All tunings ever adopted, oldest first, without their query maps."""
        columns = [c for c in tunings.c if c.name != "map"]
        with self.database.reading("listing tunings") as connection:
            rows = connection.execute(sa.select(*columns).order_by(tunings.c.tuning_id)).mappings().all()
        return tuple(KeptTuning(**row) for row in rows)

    def tuning_at(self, seq: int, deadline: Deadline | None = None) -> Tuning | None:
        """The tuning that was active at change `seq`, or None.

        Raises:
            IndexCorrupt: its map is damaged.
        """
        c = tunings.c
        query = sa.select(c.weight, c.encoder, c.map).where(
            c.seq <= seq, sa.or_(c.undone_seq.is_(None), c.undone_seq > seq)
        )
        with self.database.reading("reading the tuning", deadline) as connection:
            row = connection.execute(query).first()
        if row is None:
            return None
        from wenyuan.core.scoring.adapt import QueryMap, Tuning

        learned = None if row.map is None else QueryMap.from_bytes(row.map)
        return Tuning(weight=row.weight, encoder=row.encoder, map=learned)

    # -- feedback -----------------------------------------------------------------------------------------

    def put_feedback(self, audit_id: str, judgements: Mapping[str, bool], actor: str) -> None:
        """Store an actor's judgements of parts of an answer, by ref; they replace that actor's earlier ones."""
        rows = [
            {"audit_id": audit_id, "ref": ref, "actor": actor, "good": good, "at": now()}
            for ref, good in judgements.items()
        ]
        f = feedback.c
        with self.database.changing("keeping feedback") as connection:
            for row in rows:
                same = sa.and_(f.audit_id == row["audit_id"], f.ref == row["ref"], f.actor == row["actor"])
                connection.execute(feedback.delete().where(same))
            connection.execute(feedback.insert(), rows)

    def feedback(self) -> tuple[Judgement, ...]:
        """All judgements, by answer, in the order in which they were made."""
        f = feedback.c
        with self.database.reading("reading feedback") as connection:
            rows = connection.execute(sa.select(feedback).order_by(f.audit_id, f.at, f.ref)).mappings().all()
        return tuple(Judgement(**row) for row in rows)


def _end(connection: sa.Connection) -> int:
    """End the active tuning, if any, at a new change; returns that change's number."""
    seq = next_seq(connection, "tuning")
    live = tunings.c.undone_seq.is_(None)
    connection.execute(tunings.update().where(live).values(undone_seq=seq, undone_at=now()))
    return seq


def _put_collection(connection: sa.Connection, collection: Mapping[str, Any]) -> None:
    connection.execute(t.library.delete().where(t.library.c.key == "value/floor"))
    value = json.dumps(dict(collection), ensure_ascii=False)
    connection.execute(t.library.insert(), {"key": "value/floor", "value": value})


@dataclass(frozen=True, slots=True, eq=False)
class Calibrations:
    """Calibrations of a judge. Adopting and undoing one is a change of the library, as with tunings."""

    database: Database

    def adopt_calibration(self, calibration: Calibration, report: Mapping[str, Any]) -> int:
        """Store a calibration in place of the current one; returns its number."""
        row = {"created_at": now(), "calibration": dict(calibration.stored()), "report": dict(report)}
        with self.database.changing("storing a calibration") as connection:
            seq = _end_calibration(connection)
            done = connection.execute(calibrations.insert(), {**row, "seq": seq})
            (number,) = done.inserted_primary_key or (0,)
        return int(number)

    def undo_calibration(self) -> None:
        """End the current calibration; NotFound when there is none."""
        with self.database.changing("undoing a calibration") as connection:
            if not connection.scalar(sa.select(sa.func.count()).where(calibrations.c.undone_seq.is_(None))):
                raise NotFound("the library has no calibrated judge", hint="wenyuan tune --judge --golden FILE")
            _end_calibration(connection)

    def calibration_at(self, seq: int, deadline: Deadline | None = None) -> KeptCalibration | None:
        """The calibration in effect at a change; None without one."""
        c = calibrations.c
        query = sa.select(calibrations).where(c.seq <= seq, sa.or_(c.undone_seq.is_(None), c.undone_seq > seq))
        with self.database.reading("reading the calibration", deadline) as connection:
            row = connection.execute(query).mappings().first()
        if row is None:
            return None
        from wenyuan.core.scoring.risk import calibration_of

        return KeptCalibration(**{**row, "calibration": calibration_of(row["calibration"])})


def _end_calibration(connection: sa.Connection) -> int:
    """End the current calibration, if there is one, at a new change; returns that change."""
    seq = next_seq(connection, "calibration")
    live = calibrations.c.undone_seq.is_(None)
    connection.execute(calibrations.update().where(live).values(undone_seq=seq, undone_at=now()))
    return seq


# Evaluations that are kept, with the questions, so that the same can be asked again.


_REPORT = ("questions", "unknown", "examples", "figures", "bins", "made_of", "seconds", "places")


@dataclass(frozen=True, slots=True, eq=False)
class Evaluations:
    """Stored evaluations of retrieval quality. They are no changes of the library: no answer depends on them."""

    database: Database

    def keep_evaluation(self, kept: Evaluation, pairs: Iterable[Pair], asked: Iterable[AskedQuestion]) -> int:
        """Store an evaluation, and its golden set unless it is stored already; returns its number."""
        told = asdict(kept)
        row = {name: told[name] for name in ("at", "name", "set_id")}
        row |= {"report": {name: told[name] for name in _REPORT}, "asked": [asdict(one) for one in asked]}
        same = sa.select(sa.func.count()).where(golden_sets.c.set_id == kept.set_id)
        with self.database.changing("keeping an evaluation") as connection:
            if not connection.scalar(same):
                connection.execute(golden_sets.insert(), {"set_id": kept.set_id, "pairs": [asdict(p) for p in pairs]})
            done = connection.execute(evaluations.insert(), row)
            (number,) = done.inserted_primary_key or (0,)
        return int(number)

    def evaluations(self, limit: int = 50, before: int | None = None) -> tuple[Evaluation, ...]:
        """The latest evaluations, newest first; with `before`, those with lower numbers."""
        c = evaluations.c
        query = sa.select(*(column for column in c if column.name != "asked"))
        if before is not None:
            query = query.where(c.evaluation_id < before)
        with self.database.reading("listing evaluations") as connection:
            rows = connection.execute(query.order_by(c.evaluation_id.desc()).limit(limit)).mappings().all()
        return tuple(_evaluation(dict(row)) for row in rows)

    def evaluation(self, evaluation_id: int) -> WholeEvaluation:
        """One evaluation with all its details; NotFound when there is none of that number."""
        query = sa.select(evaluations).where(evaluations.c.evaluation_id == evaluation_id)
        with self.database.reading("reading an evaluation") as connection:
            row = connection.execute(query).mappings().first()
        if row is None:
            raise _none(evaluation_id)
        asked = [AskedQuestion(**one) for one in row["asked"]]
        return WholeEvaluation(
            evaluation=_evaluation(dict(row)),
            asked=tuple(one for one in asked if not one.vain),
            in_vain=tuple(one for one in asked if one.vain),
        )

    def golden_set(self, set_id: str) -> tuple[Pair, ...]:
        """The questions and expected answers of a golden set; NotFound when it is not stored."""
        query = sa.select(golden_sets.c.pairs).where(golden_sets.c.set_id == set_id)
        with self.database.reading("reading a golden set") as connection:
            pairs = connection.scalar(query)
        if pairs is None:
            raise NotFound(msg("there is no golden set {set_id}", set_id=repr(set_id)), hint="wenyuan eval --runs")
        return tuple(Pair(**{**pair, "otherwise": tuple(pair["otherwise"])}) for pair in pairs)

    def remove_evaluation(self, evaluation_id: int) -> None:
        """Remove an evaluation, and its golden set unless another one uses it; NotFound when there is none of that
        number.
        """
        c = evaluations.c
        with self.database.changing("removing an evaluation") as connection:
            if not connection.execute(evaluations.delete().where(c.evaluation_id == evaluation_id)).rowcount:
                raise _none(evaluation_id)
            used = sa.select(c.set_id)
            connection.execute(golden_sets.delete().where(golden_sets.c.set_id.not_in(used)))


def _none(evaluation_id: int) -> NotFound:
    return NotFound(
        msg("there is no evaluation {evaluation_id}", evaluation_id=evaluation_id), hint="wenyuan eval --runs"
    )


def _evaluation(row: Mapping[str, Any]) -> Evaluation:
    from wenyuan.core.scoring.evaluation import Bin
    from wenyuan.core.scoring.reliability import reliability_of

    report = {"places": {}} | row["report"]
    return Evaluation(
        evaluation_id=row["evaluation_id"],
        at=row["at"],
        name=row["name"],
        set_id=row["set_id"],
        **{
            **{name: report[name] for name in _REPORT},
            "places": {name: reliability_of(one) for name, one in report["places"].items()},
            "bins": tuple(Bin(**one) for one in report["bins"]),
            "examples": tuple((address, where) for address, where in report["examples"]),
        },
    )


# The synonyms of a library: which there are, and which there were at a change.


_Sides = tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True, eq=False)
class Synonyms:
    """The synonym table: users' words for words of the documents. A change of it is a change of the library."""

    database: Database

    def synonyms(self) -> tuple[Synonym, ...]:
        """The current entries, in the order in which they were entered."""
        with self.database.reading("reading synonyms") as connection:
            return _entries(connection, synonyms.c.removed_seq.is_(None))

    def synonyms_at(self, seq: int, deadline: Deadline | None = None) -> tuple[Synonym, ...]:
        """The entries at change `seq`, in the same order."""
        c = synonyms.c
        counted = sa.and_(c.seq <= seq, sa.or_(c.removed_seq.is_(None), c.removed_seq > seq))
        with self.database.reading("reading synonyms", deadline) as connection:
            return _entries(connection, counted)

    def synonyms_version(self, seq: int, deadline: Deadline | None = None) -> int:
        """Number of the last change of the table up to change `seq`; 0 for none."""
        c = synonyms.c
        entered = sa.select(sa.func.max(c.seq)).where(c.seq <= seq).scalar_subquery()
        ended = sa.select(sa.func.max(c.removed_seq)).where(c.removed_seq <= seq).scalar_subquery()
        with self.database.reading("reading synonyms", deadline) as connection:
            return max(number or 0 for number in connection.execute(sa.select(entered, ended)).one())

    def put_synonyms(self, entries: Iterable[Synonym], actor: str) -> SynonymsPut:
        """Add entries in one change. An entry replaces an earlier one of the same two words; equal entries change
        nothing.

        Args:
            actor: Id of the key, or ``local``, with which they are entered.

        Raises:
            InvalidRequest: there would be more than `MOST_SYNONYMS`; then none is entered.
        """
        wanted = _by_sides(entries)
        live = synonyms.c.removed_seq.is_(None)
        with self.database.changing("writing synonyms") as connection:
            known = _entries(connection, live)
            new, ended = _changes(wanted, _by_sides(known))
            count = len(known) - len(ended) + len(new)
            if count > MOST_SYNONYMS:
                raise InvalidRequest(
                    msg(
                        "there would be {count} synonyms; a library has at most {most_synonyms}",
                        count=count,
                        most_synonyms=MOST_SYNONYMS,
                    )
                )
            entered: tuple[Synonym, ...] = ()
            if new:
                seq, at = next_seq(connection, "synonyms"), now()
                _end_synonym(connection, ended, seq)
                rows = [_row(replace(entry, actor=actor, at=at), seq) for entry in new]
                connection.execute(synonyms.insert(), rows)
                entered = _entries(connection, synonyms.c.seq == seq)
        self._tell(ended, entered)
        changed = len({_sides(entry) for entry in ended})
        unchanged = sum(map(len, wanted.values())) - len(entered)
        return SynonymsPut(added=len(entered) - changed, changed=changed, unchanged=unchanged, entries=entered)

    def remove_synonyms(self, numbers: Sequence[int]) -> tuple[Synonym, ...]:
        """Remove entries by number, in one change; returns them.

        Raises:
            NotFound: there is none of a number; then none is removed.
        """
        live = synonyms.c.removed_seq.is_(None)
        with self.database.changing("removing synonyms") as connection:
            known = {entry.number: entry for entry in _entries(connection, live)}
            if not numbers or (unknown := [number for number in numbers if number not in known]):
                told = f"the number {unknown[0]}" if numbers else "no number"
                raise NotFound(msg("there is no synonym of {told}", told=told), hint="wenyuan synonyms list")
            removed = [known[number] for number in dict.fromkeys(numbers)]
            _end_synonym(connection, removed, next_seq(connection, "synonyms"))
        self._tell(removed, [])
        return tuple(removed)

    def _tell(self, before: Sequence[Synonym], after: Sequence[Synonym]) -> None:
        """Report changes to the audit: one record per entry, or one record for a few hundred entered together."""
        if len(before) <= 1 and len(after) <= 1:
            old, new = (synonym_to_wire(one[0]) if one else None for one in (before, after))
            if old or new:
                named = (after or before)[0].label
                self.database.on_change(
                    "synonym", "changed" if old and new else "added" if new else "removed", named, old, new
                )
            return
        removed, added = [one.label for one in before], [one.label for one in after]
        for start in range(0, max(len(removed), len(added)), _BATCH):
            part = slice(start, start + _BATCH)
            told = {"removed": removed[part], "added": added[part]}
            self.database.on_change(
                "synonym", "changed" if after else "removed", f"{len(after or before)} synonyms", None, told
            )


def _entries(connection: sa.Connection, which: sa.ColumnElement[bool]) -> tuple[Synonym, ...]:
    c = synonyms.c
    query = sa.select(c.number, c.term, c.synonym, c.both, c.actor, c.at).where(which).order_by(c.number)
    return tuple(Synonym(**row) for row in connection.execute(query).mappings())


def _row(entry: Synonym, seq: int) -> dict[str, object]:
    return {
        "term": entry.term, "synonym": entry.synonym, "both": entry.both, "actor": entry.actor, "at": entry.at,
        "seq": seq,
    }  # fmt: skip


def _end_synonym(connection: sa.Connection, entries: Sequence[Synonym], seq: int) -> None:
    numbers = [entry.number for entry in entries]
    for start in range(0, len(numbers), _BATCH):
        some = synonyms.c.number.in_(numbers[start : start + _BATCH])
        connection.execute(synonyms.update().where(some).values(removed_seq=seq))


def _changes(
    wanted: Mapping[_Sides, Sequence[Synonym]], held: Mapping[_Sides, Sequence[Synonym]]
) -> tuple[list[Synonym], list[Synonym]]:
    """The entries to add, and the stored ones that they replace; equal entries are left out."""
    new: list[Synonym] = []
    ended: dict[int, Synonym] = {}
    for sides, entries in wanted.items():
        for entry in entries:
            others = held.get(sides, ())
            if not any(_same(entry, other) for other in others):
                new.append(entry)
                ended |= {other.number: other for other in others if entry.replaces(other)}
    return new, list(ended.values())


def _sides(entry: Synonym) -> _Sides:
    """The two words of an entry, in a fixed order whatever its direction."""
    return tuple(sorted(entry.key))


def _same(entry: Synonym, other: Synonym) -> bool:
    return entry.both == other.both and entry.key == other.key


def _by_sides(entries: Iterable[Synonym]) -> dict[_Sides, list[Synonym]]:
    """Entries by their two words; later entries replace earlier ones."""
    found: dict[_Sides, list[Synonym]] = {}
    for entry in entries:
        sides = _sides(entry)
        found[sides] = [*(other for other in found.get(sides, ()) if not entry.replaces(other)), entry]
    return found
