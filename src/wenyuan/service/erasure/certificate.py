"""The certificate of an erasure: what is in it, and whether it is still true."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from wenyuan.core.erasure import Erasure
from wenyuan.core.errors import NotFound
from wenyuan.core.version import VERSION

if TYPE_CHECKING:
    from wenyuan.catalog.audit.log import AuditLog

SEAL = "seal"
"""The member of a certificate that is made of all others with the library's key."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CertificateCheck:
    """One thing that was checked of a certificate.

    Attributes:
        name: ``seal``, ``audit``, ``record``, ``values``, ``servers`` or ``absence``.
        detail: Why it does not hold, or what it is about.
    """

    name: str
    ok: bool
    detail: str = ""


def certificate_of(erasure: Erasure, library_id: str, key: bytes, done_at: float) -> dict[str, Any]:
    """The certificate of an erasure whose steps have all been taken."""
    report = erasure.report
    told: dict[str, Any] = {
        "erasure_id": erasure.erasure_id, "library_id": library_id, "kind": erasure.target.kind,
        "digest": erasure.target.digest, "values": [one.digest for one in erasure.target.values if not one.stays],
        "reference": erasure.reference, "actor": erasure.actor, "begun_at": erasure.begun_at, "done_at": done_at,
        "program": VERSION, **{name: report.get(name) for name in ("places", "erased", "left", "before", "after")},
    }  # fmt: skip
    return told | {SEAL: seal_of(told, key)}


def seal_of(certificate: Mapping[str, Any], key: bytes) -> str:
    """HMAC-SHA256 of a certificate without its seal."""
    from wenyuan.catalog.audit.chain import canonical

    told = canonical({name: value for name, value in certificate.items() if name != SEAL})
    return hmac.new(key, b"certificate\0" + told.encode(), hashlib.sha256).hexdigest()


def check_seal(certificate: Mapping[str, Any], key: bytes) -> CertificateCheck:
    """Whether a certificate is as it was made."""
    ok = hmac.compare_digest(str(certificate.get(SEAL, "")), seal_of(certificate, key))
    return CertificateCheck(name="seal", ok=ok, detail="" if ok else "it is not as it was made, or by another key")


def check_record(certificate: Mapping[str, Any], audit_id: str, log: AuditLog) -> CertificateCheck:
    """Whether the audit knows of a certificate."""
    try:
        record = log.show(audit_id).record if audit_id else {}
    except NotFound:
        record = {}
    after = record.get("changes", {}).get(SEAL, (None, None))
    ok = record.get("object") == certificate["erasure_id"] and after[1] == certificate.get(SEAL)
    return CertificateCheck(name="record", ok=ok, detail=audit_id if ok else "the audit has no record of it")
