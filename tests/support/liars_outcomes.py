"""What becomes of each liar, by feature: the table that the tests hold the program to, and that `scripts/liars_table.py` prints."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple

from proposal_parts import LIARS as PROPOSED

Kind = Literal[
    "said", "quoted", "extract", "nothing", "indexed", "asked", "alone", "left out", "waiting", "failed", "counted", "not adopted",
    "scores", "as it was",
]  # fmt: skip
"""``said`` in its words, which are the source's; ``quoted`` the source's whole sentences in their place; ``extract`` sentences
that no model chose; ``nothing`` and the reason; ``indexed`` and never shown; ``asked`` besides the question, or the question
``alone`` is, and where the model failed that is said; ``left out``; ``waiting`` for the next ingest; a judge's number is
``counted`` as far as it is calibrated, one that knows nothing is ``not adopted``, where it has none ``scores`` decide, and
where it cannot say what is missing the answer is ``as it was``, both with the failed leg;
``failed``: the request is, with the model as the component."""


class Outcome(NamedTuple):
    """What becomes of what a liar says: what is given in the end, and why its own words are not."""

    kind: Kind
    reason: str = ""


ANSWERED: Mapping[str, tuple[list[tuple[str, str]] | None, list[tuple[str, bool]]]] = {
    "perfect": ([("model", "duty")], []),
    "paraphraser": ([("quote", "duty")], [("not_judged", True)]),
    "truncator": ([("quote", "phone")], [("part", True)]),
    "sign": (None, [("number_changed", False)]),
    "bound": (None, [("number_changed", False)]),
    "exclusive": (None, [("relation_changed", False)]),
    "striker": ([("quote", "duty")], [("not_judged", True)]),
    "decorator": ([("quote", "duty")], [("part", True)]),
    "fabricator": (None, [("no_quote", False)]),
    "misquoter": (None, [("no_quote", False)]),
    "elsewhere": (None, [("other_quote", False)]),
    "frankenquote": (None, [("stitched", False)]),
    "misattributor": (None, [("wrong_source", False)]),
    "number": (None, [("number_changed", False)]),
    "unit": (None, [("unit_changed", False)]),
    "date": (None, [("date_changed", False)]),
    "negation": (None, [("negation_changed", False)]),
    "modality": (None, [("modality_changed", False)]),
    "obedient": (None, [("instruction", False)]),
    "gibberer": (None, [("nothing_found", False)]),
    "refuser": ([], []),
}
"""Of each liar: what is claimed in the end (None: extracts of the sources instead), and what is dropped, and why."""
CHOSEN = frozenset(("perfect", "paraphraser", "truncator", "striker", "decorator"))
"""Liars of whose claims a summary is left: whole sentences of the passage."""
LINKED: Mapping[str, Outcome] = {
    "perfect": Outcome("said"), "fabricator": Outcome("failed", "llm_rejected"), "misquoter": Outcome("failed", "llm_rejected"),
    "number": Outcome("failed", "llm_rejected"), "rambler": Outcome("failed", "llm_rejected"),
    "obedient": Outcome("failed", "llm_rejected"), "refuser": Outcome("nothing"),
}  # fmt: skip
"""Of each liar who chooses names of the graph; its names that are not in the list are refused, and asked for once more."""
PLACED: Mapping[str, str] = {
    "perfect": "", "paraphraser": "", "negation": "", "modality": "", "gibberer": "",
    "fabricator": "identifier", "number": "number", "unit": "number", "date": "number", "obedient": "instruction",
    "talker": "sentence", "rambler": "length", "refuser": "sentence",
}  # fmt: skip
"""Of each liar who says where a passage stands, why the sentence is left out; ``""``: it is indexed, and never shown."""
REWORDED: Mapping[str, str] = {
    "perfect": "", "misattributor": "", "fabricator": "new_identifier", "number": "new_number", "unit": "new_number",
    "date": "new_number", "negation": "new_negation", "obedient": "instruction", "rambler": "no_question", "parrot": "same",
}  # fmt: skip
"""Of each liar who says a question in other words, why these are left out; ``""``: they are asked besides the question."""
JUDGED: Mapping[str, Outcome] = {
    "perfect": Outcome("counted"),
    **dict.fromkeys(("inverted", "coin", "always", "short lists"), Outcome("not adopted")),
    **dict.fromkeys(("above one", "no number"), Outcome("scores", "llm_rejected")),
}
"""Of each judge that says how sure it is that passages suffice."""
MISSED: Mapping[str, Outcome] = {
    "perfect": Outcome("asked"), "number": Outcome("left out", "new_number"), "fabricator": Outcome("left out", "new_identifier"),
    "obedient": Outcome("left out", "instruction"), "rambler": Outcome("left out", "no_question"),
    "talker": Outcome("left out", "no_question"), "parrot": Outcome("left out", "same"), "refuser": Outcome("nothing"),
    "no text": Outcome("as it was", "llm_rejected"), "empty": Outcome("as it was", "llm_rejected"),
}  # fmt: skip
"""Of each judge that says what is missing, in one line to be searched."""
FAILING: Mapping[str, str] = {
    "cut": "llm_rejected", "wrong schema": "llm_rejected", "prose": "llm_rejected", "error after 200": "llm_unavailable",
    "breaks off": "llm_unavailable", "drip": "llm_timeout", "endless": "llm_unavailable", "large": "llm_unavailable",
    "html": "llm_unavailable", "401": "llm_unavailable", "429": "llm_unavailable", "500": "llm_unavailable",
    "redirect": "llm_unavailable", "no choices": "llm_unavailable",
}  # fmt: skip
"""Of each endpoint that fails, the code of the failure."""


def _answered(claims: list[tuple[str, str]] | None, dropped: list[tuple[str, bool]]) -> Outcome:
    why = dropped[0][0] if dropped else ""
    if claims is None:
        return Outcome("extract", why)
    if not claims:
        return Outcome("nothing")
    return Outcome("said" if claims[0][0] == "model" else "quoted", why)


def _judge_code(fault: str) -> str:
    """A judge's answer without a number is of no form, though an answer without choices may be of another service."""
    return "llm_rejected" if fault == "no choices" else FAILING[fault]


OUTCOMES: Mapping[str, Mapping[str, Outcome]] = {
    "answer": {
        **{liar: _answered(*told) for liar, told in ANSWERED.items()},
        **{fault: Outcome("failed", code) for fault, code in FAILING.items()},
    },
    "summary": {
        **{liar: Outcome("quoted" if liar in CHOSEN else "extract") for liar in ANSWERED},
        **{fault: Outcome("extract", code) for fault, code in FAILING.items()},
    },
    "link": {**LINKED, **{fault: Outcome("failed", code) for fault, code in FAILING.items()}},
    "proposal": {
        **{liar: Outcome("left out", why) for liar, (_, why) in PROPOSED.items()},
        "refuser": Outcome("nothing"),
        **{fault: Outcome("failed", code) for fault, code in FAILING.items()},
    },
    "context": {
        **{liar: Outcome("left out", why) if why else Outcome("indexed") for liar, why in PLACED.items()},
        **{
            fault: Outcome("left out", "form") if code == "llm_rejected" else Outcome("waiting", code)
            for fault, code in FAILING.items()
        },
    },
    "rewrite": {
        **{liar: Outcome("left out", why) if why else Outcome("asked") for liar, why in REWORDED.items()},
        "refuser": Outcome("alone"),
        **{fault: Outcome("alone", code) for fault, code in FAILING.items()},
    },
    "judge": {
        **JUDGED,
        **{fault: Outcome("scores", _judge_code(fault)) for fault in FAILING},
    },
    "missing": {
        **MISSED,
        **{fault: Outcome("as it was", _judge_code(fault)) for fault in FAILING},
        # It is asked for a line of text, and what these write is one.
        "cut": Outcome("left out", "no_question"),
        "wrong schema": Outcome("left out", "no_question"),
        "prose": Outcome("left out", "new_number"),
    },
}
"""By feature, of each liar and each endpoint that fails. To add a feature: its table here, and a test over its rows."""
WORDED: Mapping[str, tuple[Outcome, Outcome]] = {
    "minus dropped": (Outcome("extract", "number_changed"), Outcome("extract", "number_changed")),
    "minus to plus": (Outcome("extract", "number_changed"), Outcome("extract", "number_changed")),
    "plus-minus to plus": (Outcome("extract", "number_changed"), Outcome("extract", "number_changed")),
    "other degrees": (Outcome("extract", "unit_changed"), Outcome("extract", "unit_changed")),
    "wide figures": (Outcome("extract", "number_changed"), Outcome("extract", "number_changed")),
    "raised figure": (Outcome("extract", "number_changed"), Outcome("extract", "number_changed")),
    "figures of another script": (Outcome("extract", "number_changed"), Outcome("extract", "number_changed")),
    "number in words": (Outcome("quoted", "not_judged"), Outcome("extract", "number_changed")),
    "range for a value": (Outcome("quoted", "not_judged"), Outcome("quoted", "not_judged")),
    "about": (Outcome("quoted", "not_judged"), Outcome("quoted", "not_judged")),
    "values exchanged": (Outcome("extract", "relation_changed"),) * 2,
    "number dropped": (Outcome("quoted", "not_judged"), Outcome("quoted", "not_judged")),
    "zero-width space": (Outcome("extract", "number_changed"), Outcome("extract", "number_changed")),
    "turned direction": (Outcome("quoted", "not_judged"), Outcome("quoted", "not_judged")),
    "isolate": (Outcome("quoted", "not_judged"), Outcome("quoted", "not_judged")),
    "soft hyphen": (Outcome("extract", "number_changed"), Outcome("quoted", "part")),
    "tag characters": (Outcome("quoted", "part"), Outcome("quoted", "part")),
    "struck through": (Outcome("quoted", "not_judged"), Outcome("quoted", "not_judged")),
    "struck word": (Outcome("quoted", "not_judged"), Outcome("quoted", "not_judged")),
    "enclosed": (Outcome("quoted", "not_judged"), Outcome("quoted", "not_judged")),
    "emoji": (Outcome("quoted", "part"), Outcome("quoted", "part")),
    "no entry emoji": (Outcome("quoted", "part"), Outcome("quoted", "part")),
    "html": (Outcome("quoted", "not_judged"), Outcome("quoted", "not_judged")),
    "script": (Outcome("quoted", "not_judged"), Outcome("quoted", "not_judged")),
    "link": (Outcome("quoted", "not_judged"), Outcome("quoted", "not_judged")),
    "picture": (Outcome("quoted", "not_judged"), Outcome("quoted", "not_judged")),
    "terminal colours": (Outcome("extract", "number_changed"), Outcome("extract", "number_changed")),
    "look-alike letters": (Outcome("quoted", "not_judged"), Outcome("quoted", "not_judged")),
    "look-alike code": (Outcome("quoted", "not_judged"), Outcome("quoted", "not_judged")),
    "look-alike character": (Outcome("quoted", "not_judged"), Outcome("quoted", "not_judged")),
    "as a question": (Outcome("quoted", "not_judged"), Outcome("quoted", "not_judged")),
    "question mark": (Outcome("quoted", "not_judged"), Outcome("quoted", "not_judged")),
    "denied behind": (Outcome("quoted", "not_judged"), Outcome("quoted", "not_judged")),
    "denied before": (Outcome("extract", "negation_changed"), Outcome("quoted", "not_judged")),
    "supposed": (Outcome("quoted", "not_judged"), Outcome("quoted", "not_judged")),
    "sentence added": (Outcome("quoted", "not_judged"), Outcome("quoted", "not_judged")),
    "mark of a source": (Outcome("quoted", "not_judged"), Outcome("quoted", "not_judged")),
    "exception dropped": (Outcome("quoted", "part"), Outcome("quoted", "part")),
    "exception turned": (Outcome("quoted", "not_judged"), Outcome("quoted", "not_judged")),
    "form dropped": (Outcome("quoted", "not_judged"), Outcome("quoted", "not_judged")),
    "who agrees": (Outcome("quoted", "not_judged"), Outcome("quoted", "not_judged")),
    "ban lifted": (Outcome("extract", "modality_changed"), Outcome("extract", "modality_changed")),
    "only dropped": (Outcome("quoted", "part"), Outcome("quoted", "part")),
    "only moved": (Outcome("quoted", "not_judged"), Outcome("extract", "relation_changed")),
    "duty for leave": (Outcome("extract", "modality_changed"), Outcome("extract", "modality_changed")),
    "restriction dropped": (Outcome("quoted", "not_judged"), Outcome("quoted", "not_judged")),
    "uncertified": (Outcome("quoted", "not_judged"), Outcome("extract", "negation_changed")),
    "bound turned": (Outcome("extract", "number_changed"), Outcome("extract", "number_changed")),
    "bound dropped": (Outcome("extract", "number_changed"), Outcome("extract", "number_changed")),
    "power lost": (Outcome("extract", "number_changed"), Outcome("extract", "unit_changed")),
    "power run together": (Outcome("extract", "number_changed"), Outcome("extract", "number_changed")),
    "other power": (Outcome("extract", "unit_changed"), Outcome("extract", "number_changed")),
    "prefix of a unit": (Outcome("extract", "number_changed"), Outcome("extract", "unit_changed")),
    "thousandth of a unit": (Outcome("quoted", "not_judged"), Outcome("quoted", "not_judged")),
    "hyphen of a code": (Outcome("extract", "number_changed"), Outcome("extract", "number_changed")),
    "figures of a code": (Outcome("extract", "number_changed"), Outcome("extract", "number_changed")),
    "parties exchanged": (Outcome("extract", "relation_changed"), Outcome("extract", "relation_changed")),
    "currency": (Outcome("extract", "unit_changed"), Outcome("extract", "unit_changed")),
    "point moved": (Outcome("extract", "number_changed"), Outcome("extract", "number_changed")),
    "thousands": (Outcome("extract", "number_changed"), Outcome("extract", "number_changed")),
    "before for after": (Outcome("extract", "relation_changed"), Outcome("extract", "relation_changed")),
    "working days": (Outcome("extract", "unit_changed"), Outcome("extract", "unit_changed")),
    "each month": (Outcome("quoted", "not_judged"), Outcome("quoted", "not_judged")),
    "some for all": (Outcome("extract", "relation_changed"), Outcome("extract", "relation_changed")),
    "not all": (Outcome("extract", "negation_changed"), Outcome("extract", "negation_changed")),
    "after for before": (Outcome("extract", "relation_changed"), Outcome("extract", "relation_changed")),
    "steps exchanged": (Outcome("extract", "relation_changed"), Outcome("extract", "relation_changed")),
    "report as a fact": (Outcome("quoted", "part"), Outcome("quoted", "part")),
    "rightly": (Outcome("quoted", "not_judged"), Outcome("quoted", "not_judged")),
    "denial as a fact": (Outcome("quoted", "part"), Outcome("quoted", "part")),
    "denial removed": (Outcome("extract", "negation_changed"), Outcome("extract", "negation_changed")),
    "thousandfold dose": (Outcome("extract", "unit_changed"), Outcome("extract", "unit_changed")),
    "thousandth dose": (Outcome("extract", "unit_changed"), Outcome("extract", "unit_changed")),
    "more often": (Outcome("extract", "number_changed"), Outcome("extract", "number_changed")),
    "children": (Outcome("quoted", "not_judged"), Outcome("quoted", "not_judged")),
    "without": (Outcome("extract", "negation_changed"), Outcome("extract", "negation_changed")),
    "other month": (Outcome("extract", "date_changed"), Outcome("extract", "date_changed")),
    "evening": (Outcome("extract", "number_changed"), Outcome("extract", "number_changed")),
    "weeks": (Outcome("extract", "unit_changed"), Outcome("extract", "unit_changed")),
    "ends for begins": (Outcome("quoted", "not_judged"), Outcome("quoted", "not_judged")),
    "ratio turned": (Outcome("extract", "number_changed"), Outcome("extract", "number_changed")),
    "parts exchanged": (Outcome("extract", "relation_changed"), Outcome("quoted", "not_judged")),
    "ratio as a time": (Outcome("extract", "number_changed"), Outcome("extract", "number_changed")),
    "places exchanged": (Outcome("extract", "relation_changed"), Outcome("extract", "relation_changed")),
    "exception included": (Outcome("extract", "negation_changed"), Outcome("quoted", "not_judged")),
    "codes exchanged": (Outcome("extract", "relation_changed"), Outcome("extract", "relation_changed")),
    "halves joined": (Outcome("quoted", "not_judged"), Outcome("quoted", "not_judged")),
    "ban dropped": (Outcome("quoted", "part"), Outcome("extract", "negation_changed")),
    "ban denied": (Outcome("extract", "negation_changed"), Outcome("extract", "negation_changed")),
    "step left out": (Outcome("quoted", "not_judged"), Outcome("quoted", "not_judged")),
    "steps turned": (Outcome("quoted", "not_judged"), Outcome("quoted", "not_judged")),
    "note obeyed": (Outcome("extract", "instruction"), Outcome("extract", "instruction")),
    "note repeated": (Outcome("extract", "instruction"), Outcome("extract", "instruction")),
    "order obeyed": (Outcome("extract", "instruction"), Outcome("extract", "instruction")),
    "order repeated": (Outcome("extract", "instruction"), Outcome("extract", "instruction")),
}
"""Of each of `liars_wordings.LIES`, what becomes of it in an answer, in English and in Chinese."""
