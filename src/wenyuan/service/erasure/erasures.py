"""Plans erasures, begins them and goes on with those that were cut off; holds what must not be erased; checks certificates."""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from wenyuan.core.access import Principal
from wenyuan.core.erasure import COMMON, Erasure, ErasurePlan, ErasureTarget, Hold
from wenyuan.core.errors import Fault, InvalidRequest, KnowledgeError, NotFound, listed, msg
from wenyuan.core.redaction.erased_values import ErasedValues, checked_values, plain_form, values_of
from wenyuan.service.erasure.certificate import CertificateCheck, check_record, check_seal
from wenyuan.service.erasure.eraser import Eraser
from wenyuan.service.erasure.index_copies import IndexCopies
from wenyuan.service.erasure.remains import what_stays
from wenyuan.service.ingest.erased_documents import identity_in
from wenyuan.service.search.searcher import LOCAL

if TYPE_CHECKING:
    from wenyuan.catalog.catalog import Catalog
    from wenyuan.core.model import Source
    from wenyuan.service.ingest.redaction import Redactor

_MOST_TEXT = 1_000  # characters of a reason or a reference


@dataclass(frozen=True, kw_only=True, eq=False)
class Erasures:
    """The erasures of a library.

    Attributes:
        redacting: Gives the keyed hashes of addresses.
        copies: The index files of each server.
    """

    catalog: Catalog
    eraser: Eraser
    redacting: Callable[[Source], Redactor]
    copies: IndexCopies

    # -- what it is about

    def person(self, values: Sequence[str], *, stays: Sequence[str] = (), whole: bool = False) -> ErasureTarget:
        """A person by names and numbers, each in whatever form.

        Args:
            stays: Values that are to stay though one of `values` is a part of them.
            whole: Whether documents go as a whole, and not only the values in them.

        Raises:
            InvalidRequest: a value is too short, too long, or nothing that could be found.
        """
        checked_values(values, stays)
        key = self.eraser.key
        return self._digested(
            ErasureTarget(
                kind="person", values=values_of(key, values) + values_of(key, stays, stays=True), whole=whole
            )
        )

    def document(self, source_id: str, uri: str) -> ErasureTarget:
        """A document by its source and its address, with all its versions and parts; it need not be live.

        Raises:
            NotFound: the library has never held it, or it is erased.
        """
        live, past = self.catalog.forgotten.texts.documents_at(source_id, uri)
        if not live and not past:
            raise NotFound(
                msg("there is no document {uri} in source {source_id}", uri=repr(uri), source_id=repr(source_id)),
                hint="wenyuan document list",
            )
        redactor = self.redacting(self.catalog.source(source_id))
        return self._digested(
            ErasureTarget(
                kind="document", source_id=source_id, uri=uri, identities=(self._identity(redactor, source_id, uri),)
            )
        )

    def document_numbered(self, document_id: int) -> ErasureTarget:
        """A document by its number; NotFound where there is none, or where it is erased."""
        place = self.catalog.forgotten.texts.address_of(document_id)
        if place is None:
            raise NotFound(
                msg("there is no such document: {document_id}", document_id=document_id),
                hint="its number changes when it is read again: look for it in wenyuan document list",
            )
        return self.document(*place)

    def source(self, source_id: str) -> ErasureTarget:
        """A source with all that was ever taken in from it; NotFound when there is none."""
        self.catalog.source(source_id)
        return self._digested(ErasureTarget(kind="source", source_id=source_id))

    def _identity(self, redactor: Redactor, source_id: str, uri: str) -> str:
        """The identity of a stored document; one whose address was changed is known by that of its true one."""
        stored = self.catalog.address_identity(source_id, uri)
        return identity_in(redactor, source_id, uri) if stored is None else stored

    def _digested(self, target: ErasureTarget) -> ErasureTarget:
        told = json.dumps(replace(target, digest="").stored() | {"kind": target.kind}, sort_keys=True)
        return replace(target, digest=hmac.new(self.eraser.key, told.encode(), hashlib.sha256).hexdigest())

    # -- before anything is erased

    def plan(self, target: ErasureTarget) -> ErasurePlan:
        """What an erasure would take away. No text of any document is given: counts alone, by place and source."""
        texts, log = self.catalog.forgotten.texts, self.eraser.log
        if target.kind == "person":
            found = self.eraser.found(target)
            live, past, passages = texts.documents_with(found)
            places = texts.counted(found)
            quarantined, unsearched = self.eraser.files.quarantined_with(found)
            places |= {"quarantine": len(quarantined), "originals": len(self.eraser.files.uploads_with(found))}
        else:
            found, passages, unsearched = ErasedValues(b""), 0, 0
            live, past = self._own_documents(target)
            uploads = self.eraser.files.uploads_of(target.source_id, target.uri) if target.uri else []
            places = {"originals": len(uploads)}
        documents = {name: len(numbers) for name, numbers in sorted(live.items())}
        places |= {
            "documents": sum(documents.values()), "versions": sum(map(len, past.values())), "passages": passages,
        }  # fmt: skip
        if log is not None:
            places["audit"] = sum(1 for _ in log.wanted_records(self.eraser.mentions(target)))
        engine = self.eraser.ingestion.ingester.engine
        return ErasurePlan(
            target=target,
            places={name: count for name, count in sorted(places.items()) if count},
            documents=documents,
            left=what_stays(self.catalog, engine.name, target, documents, found, unsearched),
            warnings=self._warnings(target, found),
            holds=self._holds(target, {*documents, *past}, {n for part in live.values() for n in part}),
            common=passages >= COMMON,
        )

    def _own_documents(self, target: ErasureTarget) -> tuple[dict[str, set[int]], dict[str, set[int]]]:
        texts = self.catalog.forgotten.texts
        live, past = (
            texts.documents_at(target.source_id, target.uri) if target.uri else texts.documents_in(target.source_id)
        )
        return ({target.source_id: set(live)} if live else {}), ({target.source_id: set(past)} if past else {})

    def _warnings(self, target: ErasureTarget, found: ErasedValues) -> list[str]:
        if target.kind != "person":
            return []
        every = self.catalog.keys()
        keys = [key for key in every if key.revoked_at is None and found.holds(key.user)]
        return [
            msg("key {key_id} reads as that person: revoke it first, or readers that deny the person would let it in", key_id=key.key_id)
            for key in keys
        ]  # fmt: skip

    def _holds(self, target: ErasureTarget, sources: set[str], live: set[int]) -> list[Hold]:
        """The holds that forbid an erasure."""
        texts = self.catalog.forgotten.texts
        found = []
        for hold in self.catalog.holds():
            own = hold.target
            if own.kind == "person":
                held = {one.digest for one in own.values if not one.stays}
                covers = bool(held & {one.digest for one in target.values if not one.stays})
            elif own.kind == "source":
                covers = own.source_id in sources or own.source_id == target.source_id
            else:
                at, past = texts.documents_at(own.source_id, own.uri)
                same = target.source_id == own.source_id and (
                    not target.uri or own.uri.startswith(target.uri) or target.uri.startswith(own.uri)
                )
                covers = same or (target.kind == "person" and bool({*at, *past} & (live | self._past_of(target))))
            if covers:
                found.append(hold)
        return found

    def _past_of(self, target: ErasureTarget) -> set[int]:
        _, past, _ = self.catalog.forgotten.texts.documents_with(self.eraser.found(target))
        return {number for part in past.values() for number in part}

    # -- erasing

    def erase(
        self, target: ErasureTarget, *, reference: str = "", common: bool = False, principal: Principal = LOCAL,
        progress: Callable[[str], None] = lambda _: None,
    ) -> Erasure:  # fmt: skip
        """Erase, and return the erasure with its certificate.

        Args:
            reference: What the owner calls the request for it, such as a ticket.
            common: Erase also what stands in so many passages that it is probably a common word.

        Raises:
            InvalidRequest: a legal hold forbids it; it is common, and that was not said; or a key still reads as that person.
            CatalogBusy: another erasure is under way.
            KnowledgeError: a step failed; the erasure goes on from there with `resume`.
        """
        _check_text("reference", reference)
        with self.catalog.erasing():
            erasure_id = self._begun(target, reference, common, principal)
            done = self.eraser.run(self.catalog.erasure(erasure_id), progress)
        self.copies.erased_here()
        return done

    def begin(
        self, target: ErasureTarget, *, reference: str = "", common: bool = False, principal: Principal = LOCAL
    ) -> Erasure:
        """Begin an erasure without taking its steps, which `resume` does. Errors as `erase`, but for those of steps."""
        _check_text("reference", reference)
        with self.catalog.erasing():
            return self.catalog.erasure(self._begun(target, reference, common, principal))

    def _begun(self, target: ErasureTarget, reference: str, common: bool, principal: Principal) -> str:
        plan = self.plan(target)
        if plan.holds:
            hold = plan.holds[0]
            raise InvalidRequest(
                msg(
                    "it is held by {actor}: {reason} ({hold_id})",
                    actor=hold.actor,
                    reason=hold.reason,
                    hold_id=hold.hold_id,
                ),
                hint=msg("wenyuan forget lift {hold_id}", hold_id=hold.hold_id),
            )
        if plan.warnings:
            raise InvalidRequest(plan.warnings[0])
        if self.eraser.found(target).holds(reference):
            raise InvalidRequest("the reference names who is to be erased, and is kept: call the request another way")
        if plan.common and not common:
            raise InvalidRequest(
                msg("it stands in {count} passages: is it a common word?", count=f"{plan.places['passages']:,}"),
                hint="look for it first; if it is meant: --common",
            )
        if target.kind == "person" and target.whole:
            target = replace(target, identities=self._identities(target))
        refs = self.catalog.forgotten.texts.refs_at(target.source_id, target.uri) if target.uri else ()
        report = {
            "places": dict(plan.places), "left": list(plan.left), "actor": principal.key_id, "refs": sorted(refs),
        }  # fmt: skip
        erasure_id = self.catalog.begin_erasure(target, reference, principal.key_id, report)
        self.catalog.note_erasure(erasure_id, "tables", {**report, "erasure_id": erasure_id})
        self.catalog.database.on_change(
            "erasure", "begun", erasure_id, None, {"kind": target.kind, "digest": target.digest}
        )
        return erasure_id

    def _identities(self, target: ErasureTarget) -> tuple[str, ...]:
        """The identities of the documents that go as a whole."""
        live, _, _ = self.catalog.forgotten.texts.documents_with(self.eraser.found(target))
        found = []
        for source_id, numbers in live.items():
            redactor = self.redacting(self.catalog.source(source_id))
            for number in sorted(numbers):
                place = self.catalog.forgotten.texts.address_of(number)
                if place is not None:
                    found.append(self._identity(redactor, *place))
        return tuple(found)

    def resume(self, progress: Callable[[str], None] = lambda _: None) -> list[Erasure]:
        """Go on with every erasure that did not come to its end; returns those that have by now.

        Raises:
            CatalogBusy: another process does.
            KnowledgeError: one failed again; the others were gone on with.
        """
        if not self.catalog.erasures(unfinished=True):
            return []
        done, wrong = [], None
        with self.catalog.erasing():
            for erasure in reversed(self.catalog.erasures(unfinished=True)):
                try:
                    done.append(self.eraser.run(erasure, progress))
                except KnowledgeError as error:
                    wrong = wrong or error
        if done:
            self.copies.erased_here()
        if wrong is not None:
            raise wrong
        return done

    def unfinished(self) -> list[Erasure]:
        """The erasures that did not come to their end, the newest first."""
        return self.catalog.erasures(unfinished=True)

    def unrecognised(self) -> list[Erasure]:
        """The erasures whose standing rules were made with another key than the library has now: what they were about is not
        recognised any more.
        """
        return [
            one
            for one in self.catalog.erasures()
            if one.state == "done"
            and (one.target.values or one.target.identities)
            and not check_seal(one.report["certificate"], self.eraser.key).ok
        ]

    def list_all(self) -> list[Erasure]:
        """All erasures, the newest first."""
        return self.catalog.erasures()

    # -- proof

    def certificate(self, erasure_id: str) -> dict[str, Any]:
        """The certificate of an erasure.

        Raises:
            NotFound: there is no such erasure.
            InvalidRequest: it is not done yet.
        """
        erasure = self.catalog.erasure(erasure_id)
        if erasure.state != "done":
            raise InvalidRequest(
                msg(
                    "the erasure {erasure_id} is not done: {step}",
                    erasure_id=erasure_id,
                    step=erasure.problem or erasure.step,
                ),
                hint="wenyuan forget resume",
            )
        return dict(erasure.report["certificate"])

    def verify(self, erasure_id: str, values: Sequence[str] = ()) -> list[CertificateCheck]:
        """Check a certificate: its seal, the audit and its record there, and that nothing of it is found now.

        Args:
            values: What is said to have been erased: whether it is what the certificate is about.
        """
        certificate, erasure = self.certificate(erasure_id), self.catalog.erasure(erasure_id)
        checks = [check_seal(certificate, self.eraser.key)]
        if self.eraser.log is not None:
            found = self.eraser.log.verify()
            checks.append(
                CertificateCheck(
                    name="audit", ok=found.ok, detail=found.first_fault.what if found.first_fault else found.head
                )
            )
            checks.append(check_record(certificate, str(erasure.report.get("audit_id", "")), self.eraser.log))
        if values:
            known = set(certificate["values"])
            others = [
                value
                for value in values
                if not plain_form(value) or not {one.digest for one in values_of(self.eraser.key, [value])} & known
            ]
            checks.append(
                CertificateCheck(
                    name="values",
                    ok=not others,
                    detail=msg("{count} are not what it is about", count=len(others)) if others else "",
                )
            )
        if self.copies.shared:
            behind = self.copies.behind(erasure)
            told = msg("{count} servers have rewritten their index files", count=self.copies.followed(erasure))
            waiting = msg("not rewritten yet: the index files of {servers}", servers=", ".join(behind))
            checks.append(CertificateCheck(name="servers", ok=not behind, detail=waiting if behind else told))
        left = self.eraser.remains(erasure.target)
        checks.append(
            CertificateCheck(
                name="absence", ok=not left, detail=", ".join(f"{name} ({count})" for name, count in left.items())
            )
        )
        return checks

    # -- holds

    def hold(self, target: ErasureTarget, reason: str, principal: Principal = LOCAL) -> Hold:
        """Hold a person, a document or a source: neither erasure nor retention touches it.

        Raises:
            InvalidRequest: no reason is given, or it is too long.
        """
        _check_text("reason", reason)
        if not reason.strip():
            raise InvalidRequest("say why: reason must not be empty")
        hold = self.catalog.put_hold(target, reason, principal.key_id)
        self.catalog.database.on_change(
            "erasure", "held", hold.hold_id, None, {"kind": target.kind, "reason": reason}
        )
        return hold

    def lift(self, hold_id: str, principal: Principal = LOCAL) -> Hold:
        """Lift a hold; NotFound where none of that id stands."""
        hold = self.catalog.lift_hold(hold_id, principal.key_id)
        self.catalog.database.on_change("erasure", "lifted", hold_id, {"reason": hold.reason}, None)
        return hold

    def holds(self, *, lifted: bool = False) -> list[Hold]:
        """The holds that stand; or also those that were lifted."""
        return self.catalog.holds(lifted=lifted)


def _check_text(name: str, text: str) -> None:
    if len(text) > _MOST_TEXT or (text and not text.isprintable()):
        fault = Fault(name, msg("must be one line of at most {most} characters", most=_MOST_TEXT))
        raise InvalidRequest(listed([fault]), faults=(fault,))
