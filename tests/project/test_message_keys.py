"""Every message whose name is put together while the program runs has a text in every language."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, get_args, get_type_hints

import pytest

import wenyuan
from wenyuan.catalog.erased_texts import PLACES as PLACES_OF_TABLES
from wenyuan.cli import apply, audit_records, connections, retrieve, rules, sources, tasks
from wenyuan.cli.options import LangOption
from wenyuan.console.documents_at_hand import ACTIONS as HAND_ACTIONS
from wenyuan.console.exports import LISTS as EXPORTED
from wenyuan.console.feedback import SAID
from wenyuan.core.conflicts import comparison
from wenyuan.core.conflicts.record import STATES as CONFLICT_STATES
from wenyuan.core.conflicts.record import Why
from wenyuan.core.context_sentences import Refusal
from wenyuan.core.corrections import CORRECTION_ACTIONS
from wenyuan.core.document_choice import SORTS
from wenyuan.core.document_details import DETAIL_FIELDS
from wenyuan.core.erasure import KINDS as ERASURE_KINDS
from wenyuan.core.erasure import STEPS as ERASURE_STEPS
from wenyuan.core.gaps import REASONS as GAP_REASONS
from wenyuan.core.gaps import STATES as GAP_STATES
from wenyuan.core.likelihood import Likelihood
from wenyuan.core.model import DOCUMENT_STATES, Source
from wenyuan.core.prompt_parts import REASONS
from wenyuan.core.query_rewriting import Left
from wenyuan.core.question_outcomes import OUTCOMES
from wenyuan.core.records import KINDS, QueryState
from wenyuan.core.rules.model import StatementStatus, Strength
from wenyuan.core.rules.proposals import REASONS as REFUSALS
from wenyuan.core.scoring.reliability import PLACES
from wenyuan.i18n.translation import texts
from wenyuan.service.audit.rerun import Cause
from wenyuan.service.generation.answering import GATES
from wenyuan.service.generation.answers import Origin
from wenyuan.service.learning import sufficiency, tuning
from wenyuan.service.query import Confidence, FollowUp
from wenyuan.service.uploads import Taken
from wenyuan.service.verification import VERDICTS

PACKAGE = Path(wenyuan.__file__).parent
LANGUAGES = get_args(get_args(get_args(LangOption)[0])[0])
TOLD = ("text", "say")
"""Methods that raise for the name of a message that is not there; `known` and `term` do not."""


def literals(shape: type, name: str) -> tuple[str, ...]:
    """The values that a field of a dataclass may have."""
    return get_args(get_type_hints(shape)[name])


@cache
def tree(path: str) -> ast.Module:
    return ast.parse((PACKAGE / path).read_text("utf-8"))


def calls(path: str, name: str) -> Iterator[ast.Call]:
    """All calls of a function or a method in a file."""
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] == name:
            yield node


def first_words(path: str, *names: str) -> set[str]:
    """The texts that are the first argument of such calls."""
    found = (call.args[0] for name in names for call in calls(path, name) if call.args)
    return {word.value for word in found if isinstance(word, ast.Constant) and isinstance(word.value, str)}


def parts_of_health() -> set[str]:
    """The parts of a library that its readiness may list: what is written to ``parts[…]``, and what that begins with."""
    found: set[str] = set()
    for node in ast.walk(tree("service/operations/health.py")):
        if isinstance(node, ast.Subscript) and ast.unparse(node.value) == "parts":
            found.add(ast.literal_eval(node.slice))
        if (
            isinstance(node, ast.Assign)
            and ast.unparse(node.targets[0]) == "parts"
            and isinstance(node.value, ast.Dict)
        ):
            found |= {ast.literal_eval(key) for key in node.value.keys if key is not None}
    return found


def looks_of_doctor() -> set[str]:
    """The checks that are named after the function that made them, where it fails."""
    loops = (n for n in ast.walk(tree("cli/doctor.py")) if isinstance(n, ast.For) and ast.unparse(n.target) == "look")
    return {ast.unparse(look).strip("_").replace("parts", "engine") for loop in loops for look in loop.iter.elts}  # type: ignore[attr-defined]


def outcomes(outcome: Any) -> list[str]:
    return [one.replace(" ", "_") for one in get_args(outcome)]


_STAGES = {
    "propose": {"reading"},
    "reembed": first_words("service/ingest/reembedding.py", "step", "tell") | {"text", "index"},
    "encoder": {"text"},
    "eval_at": first_words("service/learning/evaluation.py", "step"),
    "judge": first_words("service/learning/sufficiency.py", "step"),
    "tune": first_words("service/learning/tuning.py", "step") | first_words("service/learning/training.py", "step"),
}
_KEPT_FROM = {"denied", "sensitivity", "removed", "copyright"}
_FIGURES = {"ndcg", "recall", "mrr", "hit", "answered", "refused", "answer_refused", "no_answer_refused", "no_answer_first", "ece", "p50_ms", "p95_ms"}  # fmt: skip

_CONFLICTING = set(comparison._KINDS.values())

COMMAND_LINE: Mapping[str, Iterable[str]] = {
    "d_": parts_of_health() | looks_of_doctor() | first_words("cli/doctor.py", "Check") | {"settings", "library"},
    "d_size_": ("free", "catalog", "index"),
    "state_": {"valid", "expired", "revoked", "ok", "degraded", "starting", "failed", "live", "future",
               *literals(Source, "status"), *get_args(StatementStatus), "last_success", "last_failure", "reason",
               "failures_in_a_row", "next_refresh", "stale_since", "refreshing"},
    "audit_": KINDS,
    "gap_": {*GAP_REASONS, *GAP_STATES},
    "outcome_": OUTCOMES,
    "impact_": ("agents", "tasks", "was", "now"),
    "review_failed_": ("impact", "conflicts", "gaps"),
    "conflict_": {*_CONFLICTING, *CONFLICT_STATES},
    "conflict_by_": {*get_args(Why), "nobody"} - {""},
    "conflict_side_": ("first", "second"),
    "verify_disputed_": ("this", "other"),
    "audit_why_": {*REASONS, "top_k"},
    "withheld_": {*REASONS, "top_k"},
    "did_": audit_records._DID,
    "field_": {"reason", "removed", "note", "failed", "kept", "not recorded before"},
    "verdict_": {*VERDICTS, *GATES, *REFUSALS},
    "query_": set(get_args(QueryState)) - {"kept"},  # only what is not kept is said
    "words_": get_args(Origin),
    "kept_from_": _KEPT_FROM | {"not_in_force", "changed"},
    "cause_": get_args(Cause),
    "connect_": first_words("cli/connections.py", "PasteText"),
    "place_": {*PLACES_OF_TABLES.values(), "other", "documents", "versions", "passages", "originals", "quarantine", "audit", "withdrawn"},
    "erasure_": ERASURE_KINDS,
    "erasure_state_": ("done", "failed", "running"),
    "erasure_step_": ERASURE_STEPS,
    "erasure_check_": ("seal", "audit", "record", "values", "servers", "absence"),
    "encoder_pooling_": ("own", "mean", "cls", "last"),
    "encoder_foreign_": ("zh", "en"),
    "check_": ("ok", "warn", "fail"),
    "doctor_": ("ok", "warn", "fail"),
    "document_": DOCUMENT_STATES,
    "readers_of_": ("set", "registry", "document", "sidecar", "permissions", "upload"),
    "history_": ("live", "not_yet", "superseded", "expired", "replaced", "added", "removed", "changed"),
    "correction_": {*CORRECTION_ACTIONS, "counts", "lost"},
    "detail_": DETAIL_FIELDS,
    "uploaded_": literals(Taken, "state"),
    "judge_": {*outcomes(sufficiency.Outcome)},
    "tune_": {*outcomes(tuning.Outcome)},
    "tune_from_": ("golden", "feedback"),
    "eval_": {*_FIGURES, *PLACES},
    "left_out_": get_args(Refusal),
    "rewrite_left_": get_args(Left),
    "follow_up_": literals(FollowUp, "state"),
    "confidence_": literals(Confidence, "state"),
    "move_": ("copying", "comparing"),
    "mode_": ("hybrid", "keyword-only"),
    "found_": get_args(Likelihood),
    "": {f"{prefix}_{stage}" for prefix, stages in _STAGES.items() for stage in stages},
}  # fmt: skip
"""What begins a name that is put together, and how such names go on; `first_words` and the like read it in the code."""

CONSOLE: Mapping[str, Iterable[str]] = {
    "fig_": _FIGURES,
    "review_did_": ("approve", "reject"),
    "verify_disputed_": ("this", "other"),
    "eval_": {"better", "worse", "no difference", *PLACES},
    "eval_stage_": _STAGES["eval_at"],
    "eval_wrongly_": ("refused", "answered"),
    "search_example_": ("1", "2"),
    "problem_": ("403", "404", "409", "413", "503"),
    "f_": {"source_id", "title", "type", "path", "domain", "collection", "trust_level", "language", "refresh_cycle",
           "copyright", "owner", "sensitivity", "tags", "status", "effective_from", "effective_until", "supersedes",
           "settings"},
    "confidence_": literals(Confidence, "state"),
    "follow_up_": literals(FollowUp, "state"),
    "rewrite_left_": get_args(Left),
    "fresh_": ("fresh", "overdue", "failed", "busy", "never", "outside"),
    "change_": ("added", "changed", "retired", "conflicting", "unchanged"),
    "feedback_": SAID,
    "feedback_kept_": SAID,
    "hand_did_": HAND_ACTIONS,
    "hand_": HAND_ACTIONS,
    "hand_sort_": SORTS,
    "as_file_": EXPORTED,
    "gaps_to_": GAP_STATES,
    "conflicts_to_": CONFLICT_STATES,
    "nav_": first_words("console/visit.py", "Area") | {"search", "context", "verify", "answer", "sources", "rules", "review", "audit",
             "evaluation", "people", "health", "gaps", "impact", "conflicts", "overview", "documents"},
    "found_": get_args(Likelihood),
    "light_to_": ("dark", "light", "auto"),
    "around_": ("in", "out"),
    "cycle_": ("never", "hourly", "daily", "weekly", "monthly"),
    "part_": ("vector", "keyword", "context", "trust", "identifier", "rivals", "law", "reranker", "score",
              *(name.removeprefix("part_") for name in retrieve._PARTS.values())),
}  # fmt: skip

BY_NAME: Mapping[str, Iterable[str]] = {
    "tasks.py name": tasks._FIELDS,
    "agents.py name": ("agent_id", "title", "knowledge_scope", "min_trust", "allow_low_trust", "token_budget", "keys",
                       "profile_id", *tasks._FIELDS),
    "sources.py key": sources._SHOWN,
    "apply.py _KINDS[entry.kind]": apply._KINDS.values(),
    "retrieve.py _ORIGINS[item.source]": retrieve._ORIGINS.values(),
    "retrieve.py _PARTS[name]": retrieve._PARTS.values(),
    "retrieve.py _ENGINES[engine]": retrieve._ENGINES.values(),
    "retrieve.py _STRENGTHS[item.metadata['strength']]": get_args(Strength),
    "rules.py _STRENGTHS[told['strength']]": get_args(Strength),
    "rules.py said.strength": get_args(Strength),
    "rules.py _DONE[action]": rules._DONE.values(),
    "rules.py _DONE.get(entry['action'], 'rule_reviews')": (*rules._DONE.values(), "rule_reviews"),
    "search.py leg.state": ("ok", "skipped"),
}  # fmt: skip
"""Names that stand in a table or in a field, and their values."""


def built(names: tuple[str, ...] = TOLD) -> Iterator[tuple[str, ast.expr]]:
    """The names of messages of the command line that are no plain text: of which file, and the expression."""
    for file in sorted((PACKAGE / "cli").rglob("*.py")):
        for name in names:
            for call in calls(str(file.relative_to(PACKAGE)), name):
                for one in _either(call.args[0]) if call.args else ():
                    if not isinstance(one, ast.Constant):
                        yield file.name, one


def _either(name: ast.expr) -> Iterator[ast.expr]:
    """Both branches of ``a if b else c``."""
    if isinstance(name, ast.IfExp):
        yield from _either(name.body)
        yield from _either(name.orelse)
    else:
        yield name


def beginning(name: ast.expr) -> str | None:
    """What a name begins with that is put together; None for one that is not."""
    if isinstance(name, ast.JoinedStr):
        return str(name.values[0].value) if isinstance(name.values[0], ast.Constant) else ""
    if isinstance(name, ast.BinOp) and isinstance(name.left, ast.Constant):
        return str(name.left.value)
    return None


def keys(door: str) -> Mapping[str, Iterable[str]]:
    return COMMAND_LINE if door == "command_line" else CONSOLE


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize(("door", "beginning"), [(d, p) for d in ("command_line", "console") for p in keys(d)])
def test_every_name_that_is_put_together_has_a_text(door: str, beginning: str, language: str) -> None:
    """Whatever the name ends with, there is a text of it: a library with a language model and a judge is served, too."""
    said = texts(door, language)
    assert [f"{beginning}{end}" for end in keys(door)[beginning] if f"{beginning}{end}" not in said] == []


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_name_of_a_table_has_a_text(language: str) -> None:
    """Names that stand in tables are texts' names, too."""
    said = texts("command_line", language)
    assert [(where, name) for where, names in BY_NAME.items() for name in names if name not in said] == []


def test_no_name_is_put_together_unseen() -> None:
    """The tables above have every way in which the command line and the console put names together, and no other."""
    found = {one for _, name in built() if (one := beginning(name)) is not None} - {"where_"}
    assert found | {"move_"} == set(COMMAND_LINE)  # that one is given a name first
    pages = "\n".join(file.read_text("utf-8") for file in (PACKAGE / "console" / "templates").glob("*.html"))
    assert set(re.findall(r"""\bt\(\s*['"]([a-z_]+)['"] ?~""", pages)) == set(CONSOLE)


def test_no_name_stands_in_a_table_unseen() -> None:
    """A name that is looked up, or a field's, is in the table above; a variable's is one that is written out elsewhere."""
    found = {f"{file} {ast.unparse(one)}" for file, one in built() if beginning(one) is None}
    known = {"key", "heading", "told", "named", "sure", "self._label", "headers[at]"}
    assert {one for one in found if one.partition(" ")[2] not in known} == set(BY_NAME) - {"sources.py key"}


def test_a_plain_name_has_a_text() -> None:
    """Names that the command line and the console write out have texts."""
    said = texts("command_line", "en")
    plain = {
        one.value
        for file in (PACKAGE / "cli").rglob("*.py")
        for name in TOLD
        for call in calls(str(file.relative_to(PACKAGE)), name)
        for one in (_either(call.args[0]) if call.args else ())
        if isinstance(one, ast.Constant)
    }
    assert plain
    assert [name for name in plain if name not in said] == []
    pages = "\n".join(file.read_text("utf-8") for file in (PACKAGE / "console" / "templates").glob("*.html"))
    named = set(re.findall(r"""\bt\(\s*['"]([a-z0-9_]+)['"]\s*[,)]""", pages))
    assert named
    assert [name for name in named if name not in texts("console", "en")] == []


def test_every_recipe_names_its_pieces() -> None:
    """`connect` heads each piece with a text."""
    assert first_words("cli/connections.py", "PasteText")
    here = connections.Here(url="http://h", program=("wenyuan",), library="/l", key="K")
    where = {piece.where for recipe in connections.RECIPES.values() for piece in recipe(here)}
    assert where <= set(COMMAND_LINE["connect_"])
