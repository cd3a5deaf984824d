"""Which former versions of documents are past what their source keeps."""

from __future__ import annotations

from collections import defaultdict

import sqlalchemy as sa

from wenyuan.catalog import schema as t
from wenyuan.catalog.database import Database


def expired_versions(database: Database, source_id: str, keep: int | None, before: float | None) -> dict[int, str]:
    """Removed documents of a source with their texts that need not be kept: address by number.

    Args:
        keep: So many of each address stay, those that were removed last; None: all.
        before: Those stay that were removed from then on, in seconds since the epoch; None: all.
    """
    d, c = t.documents.c, t.commits.c
    query = (
        sa.select(d.document_id, d.uri, c.at)
        .join(t.commits, c.seq == d.removed_seq)
        .where(d.source_id == source_id, d.fingerprint != "")
        .order_by(d.removed_seq.desc(), d.document_id.desc())
    )
    met: dict[str, int] = defaultdict(int)
    found: dict[int, str] = {}
    with database.reading("looking for former versions") as connection:
        for number, uri, at in connection.execute(query):
            met[uri] += 1
            if (keep is not None and met[uri] > keep) or (before is not None and at < before):
                found[number] = uri
    return found
