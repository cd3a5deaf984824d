"""Why a derived rule that was given is not given now."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from typing import Any, Literal

RuleCause = Literal["rule retired", "rule expired", "rule withdrawn", "rule not derived", "unknown passage"]
Fate = Mapping[str, Any]
"""What became of a statement; see `catalog.rules.RulesBook.statement_fate`."""


def rule_end(source_id: str, fate: Fate, searched: frozenset[str], today: date) -> tuple[RuleCause, str]:
    """Why a rule is no longer returned: cause and details.

    Args:
        source_id: Of the evidence that was given with the rule.
        searched: Ids of the sources that count now.
    """
    state = fate["state"]
    if state == "never":
        return (
            "unknown passage",
            "the library has never held the rule: it is not the one that answered, or an older copy",
        )
    if state == "retired":
        lost = ", ".join(_evidence(one) for one in fate.get("lost", ()))
        return "rule retired", f"{fate.get('reason') or 'no evidence supports it any more'}" + (
            f" ({lost})" if lost else ""
        )
    if state in ("rejected", "proposed"):
        decided = next((r for r in reversed(fate.get("reviews", ())) if r.get("reason")), None)
        return "rule withdrawn", f"it is {state}" + (f": {decided['reason']}" if decided else "")
    if state in ("expired", "future"):
        until, since = fate.get("valid_until"), fate.get("valid_from")
        said = f"it was valid until {until}" if state == "expired" else f"it is valid from {since}"
        return "rule expired", f"{said}, and this is {today}"
    if source_id not in searched:
        return (
            "rule not derived",
            f"its evidence in {source_id} does not count: superseded, below the trust asked for, or not permitted",
        )
    return (
        "rule not derived",
        "it is in force, but does not follow, or not among the best: the rules on the way, or the names, have changed",
    )


def _evidence(lost: Mapping[str, Any]) -> str:
    return " ".join(filter(None, (str(lost.get("source_id", "")), str(lost.get("clause", "")))))
