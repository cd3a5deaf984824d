"""What the console's forms call the fields of the API, for refusals that name one."""

from __future__ import annotations

import re
from collections.abc import Mapping

LABELS: Mapping[str, str] = {
    **{
        name: f"field_{name}"
        for name in ("agent_id", "knowledge_scope", "min_trust", "as_of", "query", "answer", "claims", "token_budget", "rights")
    },
    **{
        name: f"f_{name}"
        for name in (
            "source_id", "title", "type", "path", "domain", "collection", "trust_level", "language", "refresh_cycle",
            "copyright", "owner", "sensitivity", "tags", "status", "effective_from", "effective_until", "supersedes", "settings",
        )
    },
    "trust": "f_trust_level", "agent": "agent", "source": "source", "state": "state",
    "profile_id": "agent_id", "tasks": "task_ids", "domains": "task_domains", "terms": "task_terms",
    "term": "synonym_term", "synonym": "synonym_other", "direction": "synonym_direction", "containing": "synonyms_containing",
    "name": "key_name", "expires_at": "key_expires", "user": "key_user", "as": "key_user", "groups": "key_groups",
    "roles": "key_roles", "group": "group", "members": "group_members",
    "readers": "readers_allowed", "deny": "readers_denied",
    "kind": "hand_kind", "fidelity_below": "hand_fidelity", "read_since": "hand_since", "read_until": "day_until",
    "since": "day_since", "until": "day_until", "sort": "hand_sort", "q": "documents_search", "limit": "limit",
    "values": "erasures_values", "except": "erasures_stays", "document_id": "erasures_document", "uri": "erasures_document",
    "reference": "erasures_reference", "reason": "field_reason", "note": "gaps_note", "author": "gaps_author",
    "beside": "gaps_beside", "review_on": "gaps_review_on", "ref": "gaps_passage", "days": "gaps_days",
    "text": "correct_text", "questions": "correct_questions", "heading": "correct_heading", "at": "correct_split",
    "target": "impact_target", "question": "field_query",
}  # fmt: skip
"""By the name of a field in the API, the key of what the console calls it."""
_PLACE = re.compile(r"([a-z_]+)(?:\[([0-9]{1,6})\].*)?", re.ASCII | re.DOTALL)


def label_of(path: str) -> tuple[str, int]:
    """The key of what a fault's path is called in the forms, ``""`` where none has it; and the number of its entry, from 1.

    Args:
        path: As ``members[2]`` or ``expires_at``; 0 is the number of a field that is no list.
    """
    found = _PLACE.fullmatch(path)
    if found is None:
        return "", 0
    return LABELS.get(found[1], ""), int(found[2]) + 1 if found[2] else 0
