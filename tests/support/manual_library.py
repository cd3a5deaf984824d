"""A library of one manual in a language, with a model of liars that lies about its sentences."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import wenyuan
from liars_outcomes import Outcome
from liars_server import KEY, Asked, Server, claim
from liars_wordings import LIES, MISSING, QUESTIONS, SENTENCES
from wenyuan.service.generation.answers import Answered, AnswerRequest


@contextmanager
def manual(folder: Path, language: str, server: Server) -> Iterator[wenyuan.Library]:
    """A library of the manual."""
    title = {"en": "Manual of the works", "zh": "工厂手册"}[language]
    (folder / "manual").mkdir(parents=True)
    text = "\n\n".join([f"# {title}", *SENTENCES[language].values()])
    (folder / "manual" / "manual.md").write_text(text + "\n", "utf-8")
    chosen: dict[str, Any] = {
        "encoder": {"kind": "hashing"}, "search": {"deadline": 60, "abstain": "off"}, "cache": {"seconds": 0},
        "llm": {"url": server.url, "model": "m-7b", "key": KEY, "timeout": 30},
    }  # fmt: skip
    with wenyuan.open(folder / "library", create=True, **chosen) as library:
        library.add(wenyuan.Source(source_id="manual", path=str(folder / "manual")))
        yield library


def lied(library: wenyuan.Library, server: Server, language: str, name: str) -> Answered:
    """The answer where a model tells a lie of `LIES`, with the quote that it changes."""
    lie = LIES[name]
    quote = SENTENCES[language][lie.about]

    def tell(asked: Asked) -> Any:
        passage = next(one["id"] for one in asked["passages"] if quote in one["text"])
        return {"claims": [claim(passage, getattr(lie, language), quote)], "missing": ""}

    server.begin("perfect")
    server.lie = tell
    return library.answer(AnswerRequest(query=QUESTIONS[language][lie.about]))


def lacked(library: wenyuan.Library, server: Server, language: str, name: str) -> Answered:
    """The answer where a model says what is missing as in `MISSING`."""
    said = dict(zip(("en", "zh"), MISSING[name], strict=True))[language]
    server.begin("perfect")
    server.lie = lambda _: {"claims": [], "missing": said}
    return library.answer(AnswerRequest(query=QUESTIONS[language]["cold"]))


def outcome_of(answered: Answered) -> Outcome:
    """What became of the one claim of an answer."""
    why = answered.dropped[0].reason if answered.dropped else ""
    if not answered.claims:
        return Outcome("nothing", why)
    if answered.origin == "extractive":
        return Outcome("extract", why)
    return Outcome("said" if answered.claims[0].origin == "model" else "quoted", why)
