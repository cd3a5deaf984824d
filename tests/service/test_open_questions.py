"""What is kept of questions that were not answered well is, after each change, what judging all of them anew gives."""

from __future__ import annotations

import random
from typing import Any

import pytest

from wenyuan.service.gaps import audited_questions
from wenyuan.service.gaps.audited_questions import AuditedQuestion, unanswered
from wenyuan.service.gaps.open_questions import OpenQuestions
from wenyuan.service.gaps.remembered_questions import QuestionsRead


def question(drawn: random.Random, at: int) -> AuditedQuestion:
    return AuditedQuestion(
        audit_id=f"a-{at}", at=float(at), text="", digest=str(drawn.randrange(4)), kept="", agent=drawn.choice(("", "x")),
        caller=drawn.choice(("k", "l")), person="", again=drawn.random() < 0.2, failed=drawn.random() < 0.1, code="", error="",
        lacking=drawn.choice((None, None, "weak", "nothing")), score=drawn.random(), address="", source_id="",
        sha256=str(drawn.randrange(2)), searched=(),
    )  # fmt: skip


def read_of(
    every: list[AuditedQuestion], begin: int, settled: int, repeated: frozenset[str], epoch: int
) -> QuestionsRead:
    return QuestionsRead(
        questions=every[begin:], repeated=repeated, version=(0, 0), epoch=epoch, begin=begin, settled=settled - begin, since=0.0,
        complete=True,
    )  # fmt: skip


@pytest.mark.parametrize("seed", range(20))
def test_it_is_as_if_judged_anew(seed: int) -> None:
    """Whatever was asked, judged, asked again in other words, became too old or was read anew."""
    drawn, kept = random.Random(seed), OpenQuestions()
    every: list[AuditedQuestion] = []
    bad: dict[str, bool] = {}
    begin = settled = epoch = 0
    repeated: frozenset[str] = frozenset()
    for _ in range(60):
        every += [question(drawn, len(every) + more) for more in range(drawn.randrange(4))]
        settled = drawn.randint(settled, len(every))
        begin = drawn.randint(begin, min(settled, begin + 2))
        names = [one.audit_id for one in every]
        if names and drawn.random() < 0.4:
            bad = {**bad, drawn.choice(names): drawn.random() < 0.5}
        if bad and drawn.random() < 0.1:
            bad = {name: said for name, said in bad.items() if name != min(bad)}
        if names and drawn.random() < 0.3:
            repeated |= {drawn.choice(names)}
        if drawn.random() < 0.05:
            epoch, begin = epoch + 1, 0
        read = read_of(every, begin, settled, repeated, epoch)
        assert kept.found(read, dict(bad)) == unanswered(every[begin:], bad, repeated)


def test_only_what_changed_is_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    """After a thousand wordings one more question costs one judgement, and looking again none."""
    drawn, kept, judged = random.Random(1), OpenQuestions(), []
    every = [question(drawn, at) for at in range(1_000)]
    every = [audited_questions.AuditedQuestion(**{**_fields(one), "digest": str(at)}) for at, one in enumerate(every)]
    kept.found(read_of(every, 0, len(every), frozenset(), 0), {})
    from wenyuan.service.gaps import open_questions

    real = open_questions.judged
    monkeypatch.setattr(open_questions, "judged", lambda *asked: judged.append(asked) or real(*asked))
    kept.found(read_of(every, 0, len(every), frozenset(), 0), {})
    assert not judged
    every.append(question(drawn, len(every)))
    kept.found(read_of(every, 0, len(every) - 1, frozenset(), 0), {})
    assert len(judged) == 1
    kept.found(read_of(every, 3, len(every), frozenset(), 0), {"a-500": True})
    assert len(judged) == 1 + 3 + 1 + 1  # three too old, one that is settled now, one that was judged wrong


def _fields(one: AuditedQuestion) -> dict[str, Any]:
    return {name: getattr(one, name) for name in one.__dataclass_fields__}
