"""The hash chain of audit records: what is hashed, how a fault is found, and the file that stores the chain's head.

::

    hash(n) = SHA-256( hash(n − 1) ‖ canonical JSON of [seq, audit_id, at, kind, principal, record] )

So a record cannot be edited, removed, inserted or moved without all later hashes changing. What the chain alone
cannot show is that its end was cut off: for that the head is also stored beside the database, and can be stored
elsewhere. Anyone who can write to the folder can make a whole new chain; only a head kept elsewhere shows that.
"""

from __future__ import annotations

from wenyuan.catalog.audit.chain import GENESIS, AuditRow, Head, Ids, canonical, commitment, row_hash
from wenyuan.catalog.audit.chain_check import check
from wenyuan.catalog.audit.head_file import HeadFile
from wenyuan.core.records import AuditFault

__all__ = [
    "GENESIS",
    "AuditFault",
    "AuditRow",
    "Head",
    "HeadFile",
    "Ids",
    "canonical",
    "check",
    "commitment",
    "row_hash",
]
