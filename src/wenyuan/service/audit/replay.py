"""Records asked again, and what is said of an answer that is another one now."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from dataclasses import replace
from datetime import date
from typing import Any

from wenyuan.core.errors import TextsGone, msg
from wenyuan.core.model import RULE_IDS, Source
from wenyuan.core.rules.inference import REVISION
from wenyuan.core.scoring.copies import REVISION as COPIES
from wenyuan.core.scoring.probability import key_of
from wenyuan.service.audit.rerun import TOLERANCE, Difference, Replay, Rerun
from wenyuan.service.audit.rule_ends import Fate, rule_end


def replay(
    record: Mapping[str, Any],
    query: Mapping[str, Any] | None,
    *,
    rerun: Callable[[Mapping[str, Any]], Rerun],
    describe_passage: Callable[[int], Fate],
    tolerance: float = TOLERANCE,
    visible: Set[str] | None = None,
) -> Replay:
    """Repeat a recorded request and compare the answers.

    Args:
        record: Of kind ``retrieval``, as `audit.retrieval_entry.retrieval_record` made it.
        query: What was asked; None when it was erased, or not kept.
        rerun: Asks it; what it raises goes up, but for texts that are not kept any more: that is an outcome.
        describe_passage: The fate of a passage, by its id.
        visible: Ids of the sources that may be mentioned; None: all.

    Raises:
        ValueError: the record is of no retrieval.
        KnowledgeError: asking again failed.
    """
    if "fragments" not in record or "scope" not in record:
        raise ValueError("only records of retrievals can be replayed")
    shown = _shown_fragments(record["fragments"], record.get("nearest", ()))
    given = [entry for entry in shown if visible is None or entry["source_id"] in visible]
    less = len(given) < len(shown)
    gone = visible is not None and not visible >= set(record["scope"].get("sources") or ())
    narrower = (_NARROWER,) if less or gone else ()
    record = {**record, "fragments": given}
    try:
        if query is None:
            return _unasked(no_query(record), *narrower, *_lost_passages(record, describe_passage))
        now = rerun(query)
        now = replace(now, fragments=_shown_fragments(now.fragments, now.nearest))
    except TextsGone as error:  # an outcome: removed texts are meant to be gone
        told = error if visible is None or error.source_id in visible else TextsGone(error.change)
        reason = Difference(what="texts not kept", detail=str(told))
        return _unasked(reason, *narrower, *_lost_passages(record, describe_passage))
    if _same(record, now, tolerance):
        return Replay(identical=not less, differences=narrower if less else ())
    found = _Comparison(record, now, describe_passage, tolerance).differences()
    found = explained_by_redaction(record, found)
    if narrower:  # which explains what nothing else does
        found = [one for one in found if one.what != "unexplained"]
    return Replay(identical=False, differences=(*narrower, *found))


def _shown_fragments(
    fragments: Iterable[Mapping[str, Any]], nearest: Iterable[Mapping[str, Any]]
) -> list[Mapping[str, Any]]:
    """All that was shown: what was given, and what was only the nearest passage, which is marked so."""
    return [*fragments, *({**entry, "nearest": True} for entry in nearest)]


def _unasked(*why: Difference) -> Replay:
    return Replay(identical=False, differences=why, asked=False)


_COUNTED = 1e-9
_TOLD = frozenset(("bridge", "law", "labels", "least"))
"""Of what is measured of a library, what bears on an answer."""

_NARROWER = Difference(
    what="left the scope",
    detail="the agent may see less than when the answer was given; what else it was is not compared",
)


def _same(record: Mapping[str, Any], now: Rerun, tolerance: float) -> bool:
    was = record["fragments"]
    return bool(
        record["status"] == now.status
        and _sufficed(record) == now.sufficed
        and list(map(_told_of, was)) == list(map(_told_of, now.fragments))
        and all(abs(a["score"] - b["score"]) <= tolerance for a, b in zip(was, now.fragments, strict=True))
    )


def _told_of(entry: Mapping[str, Any]) -> tuple[str, str, bool]:
    return entry["ref"], entry["sha256"], entry.get("nearest", False)


def _sufficed(record: Mapping[str, Any]) -> str:
    """How many passages a judge found sufficient, as in `Rerun.sufficed`."""
    said = record.get("judge")
    if said is None:
        return ""
    return str(said["k"] if said["state"] == "stopped" else said["state"])


def no_query(record: Mapping[str, Any]) -> Difference:
    if "query_sha256" in record:
        return Difference(what="query erased", detail="the query was erased, or never kept: it cannot be asked again")
    return Difference(what="query not kept", detail="the record was made without its query")


_OF_OTHER_WORDS = frozenset({"unexplained", "order", "scores changed", "outranked", "verdict changed"})


def explained_by_redaction(record: Mapping[str, Any], found: list[Difference]) -> list[Difference]:
    """The differences; where the query was stored redacted, that stands for those that nothing else explains."""
    if not record.get("redacted"):
        return found
    kinds = ", ".join(f"{kind} ({count})" for kind, count in sorted(record["redacted"].items()))
    detail = f"the question was kept without what names a person: {kinds}; what is asked again reads otherwise"
    redacted = Difference(what="query redacted", detail=detail)
    return [redacted, *(one for one in found if one.what not in _OF_OTHER_WORDS)]


def _lost_passages(record: Mapping[str, Any], describe: Callable[[int], Fate]) -> Iterator[Difference]:
    """The passages of a record that no longer exist; known without repeating the request."""
    for entry in record["fragments"]:
        fate = describe(entry["passage_id"]) if entry["passage_id"] > 0 else {"state": "live"}
        if fate["state"] != "live":
            yield end_of(entry, fate)


def end_of(entry: Mapping[str, Any], fate: Fate) -> Difference:
    """Why a passage is no longer in the library."""
    ref = entry["ref"]
    if fate["state"] == "never":
        detail = "the library has never held it: it is not the library that answered, or an older copy of it"
        return Difference(what="unknown passage", detail=detail, ref=ref)
    at = _moment(fate["removed_at"])
    if fate["source"] is None or not fate["document_uri"]:
        return Difference(
            what="source removed",
            detail=msg("{source_id} was removed {at}", source_id=fate["source_id"], at=at),
            ref=ref,
        )
    heir = fate["replaced_by"]
    if heir is None:
        return Difference(
            what="document removed",
            detail=msg("{document_uri} was removed {at}", document_uri=fate["document_uri"], at=at),
            ref=ref,
        )
    if heir["same_document"] and heir["placed"]:
        detail = msg(
            "{document_uri}: the passage was given another context sentence {at}, or lost it",
            document_uri=fate["document_uri"],
            at=at,
        )
        return Difference(what="context sentence changed", detail=detail, ref=ref)
    if heir["same_document"]:
        detail = msg("{document_uri}: the passage was corrected {at}", document_uri=fate["document_uri"], at=at)
        return Difference(what="passage corrected", detail=detail, ref=ref)
    if heir["same_content"]:
        until = heir["effective_until"]
        detail = msg(
            "{document_uri}: since {at} it is in force {until}",
            document_uri=fate["document_uri"],
            at=at,
            until=msg("until {day}", day=until) if until else "without end",
        )
        return Difference(what="validity", detail=detail, ref=ref)
    same = heir["passage_id"]
    kept = (
        msg("the same text is now {source_id}#{same}", source_id=fate["source_id"], same=same)
        if same
        else "this text is not in it any more"
    )
    detail = msg(
        "{document_uri} has a new version (document {document_id}) since {at}; {kept}",
        document_uri=fate["document_uri"],
        document_id=heir["document_id"],
        at=at,
        kept=kept,
    )
    return Difference(what="document changed", detail=detail, ref=ref)


def fates_within(describe: Callable[[int], Fate], visible: Set[str] | None) -> Callable[[int], Fate]:
    """`describe` for a caller to whom only these sources may be mentioned (None: all): of others nothing is told."""
    if visible is None:
        return describe

    def within(passage_id: int) -> Fate:
        fate = describe(passage_id)
        return fate if fate.get("source_id") in visible else {"state": "live"}

    return within


def why_otherwise(ref: str, was: str, now: str, describe: Callable[[int], Fate]) -> Difference | None:
    """Why what was found about a passage is another thing now; None where it is not.

    Args:
        describe: See `replay`.
    """
    if was == now:
        return None
    number = ref.rpartition("#")[2]
    fate = describe(int(number)) if number.isdecimal() else {"state": "live"}
    if fate["state"] != "live":
        return end_of({"ref": ref}, fate)
    return Difference(
        what="verdict changed", detail=msg("was {was}, is {now}", was=was or "—", now=now or "—"), ref=ref
    )


def _moment(seconds: float | None) -> str:
    return "at an unknown time" if seconds is None else time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(seconds))


class _Comparison:
    """A recorded answer, and a different one given now."""

    def __init__(
        self, record: Mapping[str, Any], now: Rerun, describe: Callable[[int], Fate], tolerance: float
    ) -> None:
        self._record = record
        self._now = now
        self._describe = describe
        self._tolerance = tolerance
        self._was = {entry["ref"]: entry for entry in record["fragments"]}
        self._is = {entry["ref"]: entry for entry in now.fragments}
        self._day = date.fromisoformat(record["scope"]["as_of"])
        self._added = [
            entry for ref, entry in self._is.items() if ref not in self._was and self._is_new(entry["passage_id"])
        ]

    def _is_new(self, passage_id: int) -> bool:
        added: int = self._describe(passage_id).get("added_seq", 0) if passage_id > 0 else 0
        return bool(added > self._record["generation"])

    def differences(self) -> list[Difference]:
        """The differences: causes that affect the whole answer first, then each passage."""
        found = [*self._of_the_whole()]
        found += [self._why_gone(entry) for ref, entry in self._was.items() if ref not in self._is]
        for entry in self._added:
            detail = msg("{uri} came into the library after the recorded answer", uri=entry["uri"])
            found.append(Difference(what="passages added", detail=detail, ref=entry["ref"]))
        for ref, entry in self._was.items():
            found += self._why_other(entry, self._is[ref]) if ref in self._is else ()
        if not found and list(self._was) != list(self._is):
            found.append(self._order())
        if any(one.what == "program changed" for one in found):  # which explains what nothing else does
            found = [one for one in found if one.what != "unexplained"]
        detail = "nothing that is recorded explains the difference"
        return found or [Difference(what="unexplained", detail=detail)]

    def _of_the_whole(self) -> Iterator[Difference]:
        record, now = self._record, self._now
        if record["status"] != now.status:
            said = record.get("error") or now.error
            yield Difference(
                what="status",
                detail=msg(
                    "was {status}, is {status2}: {said}", status=record["status"], status2=now.status, said=said
                ),
            )
        if record["settings"] != now.settings_digest:
            yield Difference(
                what="settings changed",
                detail=msg(
                    "digest was {settings}, is {settings_digest}",
                    settings=record["settings"],
                    settings_digest=now.settings_digest,
                ),
            )
        if record["encoder"] != now.encoder_key:
            was, new = record["encoder"] or "none", now.encoder_key or "none"
            yield Difference(what="encoder changed", detail=msg("was {was}, is {new}", was=was, new=new))
        yield from self._taught()
        derived = any(leg["name"] == "rules" for leg in record["legs"])
        if derived and (said := record.get("derivation", 1)) != REVISION:
            detail = msg(
                "rules are derived otherwise since: by revision {said} then, by {revision} now",
                said=said,
                revision=REVISION,
            )
            yield Difference(what="program changed", detail=detail)
        yield from self._measured()
        searched = any(leg["name"] != "rules" for leg in record["legs"])
        told = (record.get("floor") or {}).get("distinct")
        if searched and now.fragments and now.measured.get("distinct") and told != COPIES:
            detail = "passages that say the same were all given then"
            if told:
                detail = msg(
                    "copies are told otherwise since: by revision {told} then, by {copies} now",
                    told=f"{told:g}",
                    copies=COPIES,
                )
            yield Difference(what="program changed", detail=detail)
        if (
            searched
            and now.measured
            and (record.get("floor") or {}).get("answerable") != now.measured.get("answerable")
        ):
            detail = "whether a question is answered, and how likely by what, was told otherwise then"
            yield Difference(what="program changed", detail=detail)
        was = next((leg["state"] for leg in record["legs"] if leg["name"] == "reranker"), "")
        if was != now.reranker and now.status == "SUCCESS":
            detail = msg("was {was}, is {reranker}", was=was or "none", reranker=now.reranker or "none")
            yield Difference(what="reranker changed", detail=detail)

    def _taught(self) -> Iterator[Difference]:
        """Changes in what was learned or configured: tuning, synonyms, probability curve."""
        record, now = self._record, self._now
        if record.get("tuning", "") != now.tuning:
            was, new = record.get("tuning") or "none", now.tuning or "none"
            yield Difference(what="tuning changed", detail=msg("was {was}, is {new}", was=was, new=new))
        if (then := record.get("synonyms", [])) != list(now.synonyms):
            was, new = (", ".join(map(str, numbers)) or "–" for numbers in (then, now.synonyms))
            yield Difference(what="synonyms changed", detail=msg("was {was}, is {new}", was=was, new=new))
        if (then_k := _sufficed(record)) != now.sufficed and now.status == "SUCCESS":
            detail = msg(
                "the judge's numbers led to {was} passages, by the calibration of now they lead to {now}",
                was=then_k,
                now=now.sufficed,
            )
            yield Difference(what="judge changed", detail=detail)
        if now.fragments and record["fragments"] and (was := key_of(record.get("floor") or {})) != now.curve:
            detail = msg("was {was}, is {curve}", was=was or "none", curve=now.curve or "none")
            yield Difference(what="calibration changed", detail=detail)

    def _measured(self) -> Iterator[Difference]:
        """Changes in index statistics and measured traits, which are no changes of the catalog."""
        was, now = self._record.get("floor") or {}, self._now.measured
        if not was or not now or self._record["generation"] != self._now.generation:
            return
        then, since = was.get("removed", 0.0), now.get("removed", 0.0)
        if abs(then - since) > _COUNTED:
            detail = msg(
                "of the rows in which the index counted words {then} were removed ones, now {since} are",
                then=f"{then:.1%}",
                since=f"{since:.1%}",
            )
            yield Difference(what="index merged", detail=detail)
        names = sorted(name for name in _TOLD & (was.keys() | now.keys()) if was.get(name) != now.get(name))
        if names:
            told = "; ".join(f"{name} {was.get(name, 0.0):.4g} → {now.get(name, 0.0):.4g}" for name in names)
            yield Difference(what="measured anew", detail=told)

    def _why_gone(self, entry: Mapping[str, Any]) -> Difference:
        """Why a passage of the record is not returned now."""
        ref = entry["ref"]
        if entry["passage_id"] <= RULE_IDS:
            fate = self._describe(entry["passage_id"])
            cause, detail = rule_end(entry["source_id"], fate, self._now.sources, self._now.as_of)
            return Difference(what=cause, detail=detail, ref=ref)
        if entry["passage_id"] <= 0:
            return Difference(
                what="outside source",
                detail=msg("{source_id} answers otherwise now", source_id=entry["source_id"]),
                ref=ref,
            )
        fate = self._describe(entry["passage_id"])
        if fate["state"] != "live":
            return end_of(entry, fate)
        return self._registry(entry, fate) or self._passed(entry, fate) or self._outranked(entry)

    def _registry(self, entry: Mapping[str, Any], fate: Fate) -> Difference | None:
        """Changes in the registry entry of the passage's source."""
        ref, source = entry["ref"], fate["source"]
        name = f"source {fate['source_id']}"
        if source.trust != entry["trust"]:
            detail = f"{name}: trust was {entry['trust']}, is {source.trust}"
            return Difference(what="source changed", detail=detail, ref=ref)
        if source.status != "in_force" or not _in_force(source, self._day):
            said = source.status if source.status != "in_force" else _period(source)
            detail = msg(
                "{name} is {said}; on {day} it was in force when the answer was given",
                name=name,
                said=said,
                day=self._day,
            )
            return Difference(what="source changed", detail=detail, ref=ref)
        return None

    def _passed(self, entry: Mapping[str, Any], fate: Fate) -> Difference | None:
        """Whether a validity date has passed, or the scope differs."""
        ref, source, today = entry["ref"], fate["source"], self._now.as_of
        starts, ends = fate["effective_from"] or date.min, fate["effective_until"] or date.max
        if not (_in_force(source, today) and starts <= today <= ends):
            detail = msg("in force on {day}, not on {today}", day=self._day, today=today)
            return Difference(what="validity", detail=detail, ref=ref)
        if fate["source_id"] not in self._now.sources:
            detail = msg(
                "{source_id} is not searched any more: superseded, or not permitted to whom this asks for",
                source_id=fate["source_id"],
            )
            return Difference(what="left the scope", detail=detail, ref=ref)
        return None

    def _outranked(self, entry: Mapping[str, Any]) -> Difference:
        if self._added:
            detail = msg("others rank before it, among them {count} that are new", count=len(self._added))
            return Difference(what="outranked", detail=detail, ref=entry["ref"])
        return self._moved(entry["ref"], "it is still in force, but not among the best or below the floor")

    def _why_other(self, was: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[Difference]:
        """Why a passage that is returned again has another text or score."""
        ref = was["ref"]
        if was["sha256"] != now["sha256"]:
            rule = was["passage_id"] <= RULE_IDS
            who = "rule changed" if rule else "outside source" if was["passage_id"] <= 0 else "unexplained"
            yield Difference(what=who, detail="another text stands under the same id", ref=ref)  # type: ignore[arg-type]
        if was["trust"] != now["trust"]:
            detail = msg(
                "source {source_id}: trust was {trust}, is {trust2}",
                source_id=was["source_id"],
                trust=was["trust"],
                trust2=now["trust"],
            )
            yield Difference(what="source changed", detail=detail, ref=ref)
        elif was.get("nearest") != now.get("nearest"):
            yield self._moved(ref, "it was an answer, or only the nearest passage: now it is the other one")
        elif abs(was["score"] - now["score"]) > self._tolerance:
            yield self._moved(
                ref, msg("score was {score}, is {score2}", score=f"{was['score']:.6f}", score2=f"{now['score']:.6f}")
            )

    def _moved(self, ref: str, detail: str) -> Difference:
        """A score changed because of the rest of the library, for example by document frequencies."""
        was, now = self._record["generation"], self._now.generation
        if was == now and any(self._measured()):
            return Difference(what="scores changed", detail=detail, ref=ref)
        if was != now:
            changed = msg(
                "{detail}; the library has gone from change {was} to {now}", detail=detail, was=was, now=now
            )
            return Difference(what="scores changed", detail=changed, ref=ref)
        return Difference(
            what="unexplained",
            detail=msg("{detail}; the library is at the same change {now}", detail=detail, now=now),
            ref=ref,
        )

    def _order(self) -> Difference:
        entered = [ref for ref in self._is if ref not in self._was]
        detail = (
            msg("{entered} entered", entered=", ".join(entered))
            if entered
            else "the same passages with the same scores, otherwise"
        )
        return self._moved("", detail) if entered else Difference(what="order", detail=detail)


def _in_force(source: Source, day: date) -> bool:
    return (source.effective_from or date.min) <= day <= (source.effective_until or date.max)


def _period(source: Source) -> str:
    return msg(
        "in force from {effective_from} until {effective_until}",
        effective_from=source.effective_from or "ever",
        effective_until=source.effective_until or "further notice",
    )
