"""Recall of redaction beside Presidio's, by class and language, on the values of `redaction_forms` that stand as they are, on `redaction_texts`
and on the half of `redaction_company` that is held apart; with FOLDER on the sentences of others, too.

    python bench/redaction_peers.py items FILE [FOLDER]   # with Wenyuan: writes texts, spans and what its rules find
    python bench/redaction_peers.py compare FILE [MODEL]  # with presidio-analyzer, in an environment of its own

Presidio has no recognisers for Chinese; its patterns are asked with the language ``en``, each with every country. Names and addresses
it finds with a model of spaCy only, whose name is given as MODEL. A value counts where all its letters and digits are covered, of whatever kind.
FOLDER holds JSON lines as those that `redaction` reads; its names are parted into full and single ones.
"""

from __future__ import annotations

import json
import random
import re
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

Row = dict[str, Any]
_HAN = re.compile("[\u3400-\u9fff]")
_OTHERS = {
    "PERSON",
    "EMAIL_ADDRESS",
    "PHONE_NUMBER",
    "CREDIT_CARD",
    "IBAN_CODE",
    "US_SSN",
    "IP_ADDRESS",
    "STREET_ADDRESS",
}
_COMPANY_FILLS = 2


def _covers(spans: list[list[int]], found: list[list[int]], text: str) -> bool:
    return all(any(a <= i < b for a, b in found) for s, e in spans for i in range(s, e) if text[i].isalnum())


def _items(path: Path, folder: str) -> None:
    from redaction import covered, read
    from redaction_company import apart
    from redaction_fill import decoys, items
    from redaction_forms import TEMPLATES
    from redaction_values import value

    draw = random.Random(23)
    rows: list[Row] = [{"kind": kind, "text": text, "spans": spans} for kind, text, spans in items(draw)]
    for kind, templates in TEMPLATES.items():
        for template in templates:
            for _ in range(4):
                said = value(draw, kind)
                text = template.format(said)
                at = text.index(said)
                rows.append({"kind": kind, "text": text, "spans": [(at, at + len(said))]})
    rows += [{"kind": "", "text": text, "spans": []} for text in decoys()]
    for row in rows:
        row["set"] = "plain values"
    for text, values in apart(_COMPANY_FILLS):
        rows += [
            {
                "set": "companies' forms",
                "kind": kind,
                "text": text,
                "spans": [(text.index(said), text.index(said) + len(said))],
            }
            for kind, said in values
        ]
    for one in read(Path(folder)) if folder else ():
        told = [span for span in one["spans"] if span["type"] in _OTHERS]
        rows += [
            {
                "set": "sentences of others",
                "kind": _kind(span),
                "text": one["text"],
                "spans": [(span["start"], span["end"])],
            }
            for span in told
        ]
        if not one["spans"]:
            rows.append({"set": "sentences of others", "kind": "", "text": one["text"], "spans": []})
    for row in rows:
        row["found"] = [(a, b) for a, b, _ in covered(row["text"])]
    path.write_text(json.dumps(rows, ensure_ascii=False), encoding="utf-8")


def _kind(span: dict[str, Any]) -> str:
    if span["type"] != "PERSON":
        return span["type"].lower()
    return "full name" if " " in span["value"].strip() else "single name"


def _presidio(model: str) -> Any:
    import spacy
    from presidio_analyzer import AnalyzerEngine, RecognizerRegistry, predefined_recognizers
    from presidio_analyzer.nlp_engine import SpacyNlpEngine
    from presidio_analyzer.pattern_recognizer import PatternRecognizer

    class Loaded(SpacyNlpEngine):
        def __init__(self, nlp: Any) -> None:
            super().__init__()
            self.nlp = {"en": nlp}

    registry = RecognizerRegistry(supported_languages=["en"])
    for name in dir(predefined_recognizers):
        made = getattr(predefined_recognizers, name)
        if isinstance(made, type) and issubclass(made, PatternRecognizer) and made is not PatternRecognizer:
            registry.add_recognizer(made(supported_language="en"))
    registry.add_recognizer(predefined_recognizers.PhoneRecognizer(supported_regions=("CN", "US", "GB", "DE", "HK")))
    if model:
        registry.add_recognizer(predefined_recognizers.SpacyRecognizer())
    nlp = spacy.load(model) if model else spacy.blank("en")
    return AnalyzerEngine(registry=registry, nlp_engine=Loaded(nlp), supported_languages=["en"])


def _compare(path: Path, model: str) -> None:
    rows: list[Row] = json.loads(path.read_text(encoding="utf-8"))
    analyzer = _presidio(model)
    known: dict[str, list[list[int]]] = {}
    hits: dict[tuple[str, str, str], list[tuple[bool, bool]]] = defaultdict(list)
    for row in rows:
        text = row["text"]
        if text not in known:
            known[text] = [[r.start, r.end] for r in analyzer.analyze(text, language="en")]
        found = known[text]
        at = row["set"], row["kind"] or "false findings", "zh" if _HAN.search(text) else "en"
        if row["kind"]:
            hits[at].append((_covers(row["spans"], row["found"], text), _covers(row["spans"], found, text)))
        else:
            hits[at].append((bool(row["found"]), bool(found)))
    print("| set | class | language | n | Wenyuan | Presidio |\n|---|---|---|--:|--:|--:|")
    for (which, kind, language), pairs in sorted(hits.items()):
        ours, theirs = (sum(side) / len(pairs) for side in zip(*pairs, strict=True))
        print(f"| {which} | {kind} | {language} | {len(pairs)} | {ours:.2f} | {theirs:.2f} |")


def main() -> None:
    does, path, *more = sys.argv[1:]
    _items(Path(path), *(more or [""])) if does == "items" else _compare(Path(path), *(more or [""]))


if __name__ == "__main__":
    main()
