"""What an erasure does not reach: what does not lie in the library, or cannot be searched."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from wenyuan.core.erasure import ErasureTarget
from wenyuan.core.errors import msg
from wenyuan.core.model import Source
from wenyuan.core.redaction.erased_values import ErasedValues
from wenyuan.core.remote_addresses import is_remote

if TYPE_CHECKING:
    from wenyuan.catalog.catalog import Catalog


def what_stays(
    catalog: Catalog, engine: str, target: ErasureTarget, documents: Mapping[str, int], found: ErasedValues, unsearched: int
) -> list[str]:  # fmt: skip
    """What stays, each with a word on what to do.

    Args:
        engine: The name of the engine.
        documents: Live documents that are concerned, by source.
        found: What finds a person; empty for another target.
        unsearched: Files in quarantine that cannot be searched.
    """
    left = [
        msg("the id of agent {agent}: register it under another one", agent=agent.agent_id)
        for agent in catalog.agents()
        if found.holds(agent.agent_id)
    ]
    left += [
        msg("{person_id} may sign in at {issuer} again: that ends there", person_id=one.person_id, issuer=one.issuer)
        for one in catalog.all_people()
        if found.holds(one.name) or found.holds(one.subject)
    ]
    for source in catalog.sources():
        left += _of_source(source, target, source.source_id in documents, found)
    if unsearched:
        left.append(
            msg("{count} files in quarantine cannot be searched: wenyuan quarantine discard", count=unsearched)
        )
    left.append("backups, exports of the audit, and log files of other programs")
    if engine == "milvus":
        left.append("files that a Milvus server has compacted, until it removes them (dataCoord.gc.dropTolerance)")
    if engine == "opensearch":
        left.append(
            "rows that a cluster keeps for copies that catch up (index.soft_deletes.retention_lease), and its snapshots"
        )
    if not catalog.forgotten.in_folder:
        left.append("the write-ahead log and the backups of the database server, for as long as it keeps them")
        if engine == "local":
            left.append(
                "the index files of other servers of this library, until these have rewritten them: running ones do so by "
                "themselves, and wenyuan forget verify says which have"
            )
    return left


def _of_source(source: Source, target: ErasureTarget, concerned: bool, found: ErasedValues) -> Iterator[str]:
    name, settings = source.source_id, json.dumps(source.settings, ensure_ascii=False)
    if any(map(found.holds, (name, source.path, settings))):
        yield msg("the id, the address or the settings of source {source}: rename it", source=name)
    if source.type != "static_doc":
        if target.kind == "person":
            yield msg("what source {source} holds elsewhere, which is searched where it is", source=name)
    elif concerned and source.path:
        if found.holds(source.path):
            yield msg("the files of source {source}, which are not the library's", source=name)
        else:
            yield msg(
                "the files of source {source} in {path}, which are not the library's", source=name, path=source.path
            )
        if is_remote(source.path):
            yield msg("former versions that {source} keeps itself, such as the history of a repository", source=name)
