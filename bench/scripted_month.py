"""A month of an invented company: what its library answers, what the list of gaps makes of it, and what answering them changes.

    python bench/scripted_month.py [--questions 5000] [--gaps 200] [--days 30] [--half apart|tuned] [--plot FILE.svg]

Several agents ask questions whose answers are known, in the wordings of one half (bench/month_company.py). Some ask for what
no document holds, some may not be given what they ask for (trust, copyright), some meet an engine that fails; some of those
who got nothing of use say so, or ask again in other words. Days are those of the audit's clock. Then the list of gaps is
compared with what was planted, its owner answers on the spot what it lists, all is asked again, and the month is lived once
more by the same people in the other half's wordings too.
"""

from __future__ import annotations

import argparse
import random
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import wenyuan
from month_company import HALVES, Company, Topic, company, says, spoken
from wenyuan.core.access import Agent, DomainScope, Principal
from wenyuan.core.errors import Conflict, EngineUnavailable, KnowledgeError, NotFound
from wenyuan.core.gaps import GapReport, digest_of
from wenyuan.core.likelihood import LIKELY
from wenyuan.service.context import ContextRequest
from wenyuan.service.gaps.answers import GapAnswerRequest, GapAnswers, GapSettlement
from wenyuan.service.search.searcher import SearchRequest

AGENTS = ("personnel", "machines", "service", "sales", "portal")
STRICT = "hotline"
"""The agent that is given what is trusted most only."""
_DAY = 86_400.0
_SHARES = {"gap": 0.16, "withheld": 0.03, "failed": 0.03}
_SAYS_SO, _ASKS_AGAIN = 0.15, 0.2  # of those who got nothing of use


@dataclass(frozen=True, slots=True)
class Asking:
    """One question of the plan: when, by whom, of what, in which words."""

    at: float
    agent: str
    caller: str
    topic: Topic
    text: str
    kind: str


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of it: whether something likely was given, and whether that was right."""

    asking: Asking
    answered: bool
    right: bool


class Month:
    """The library of the company, and the people who ask it."""

    def __init__(self, folder: Path, made: Company, begins: float) -> None:
        self.made, self.begins = made, begins
        for name, text in made.documents.items():
            place = folder / ("doubted" if name in made.doubted else "trusted")
            place.mkdir(exist_ok=True)
            (place / f"{name}.md").write_text(text, "utf-8")
        self.library: Any = wenyuan.open(
            folder / "library", create=True, search={"deadline": 30.0}, cache={"seconds": 0}
        )
        self.library.add(
            wenyuan.Source(source_id="company", path=str(folder / "trusted"), trust=5, domain="company", owner="li")
        )
        self.library.add(
            wenyuan.Source(source_id="notes", path=str(folder / "doubted"), trust=2, domain="company", owner="wu")
        )
        scope = (DomainScope(domain="company"),)
        for name in AGENTS:
            self.library.catalog.put_agent(Agent(agent_id=name, knowledge_scope=scope))
        self.library.catalog.put_agent(Agent(agent_id=STRICT, knowledge_scope=scope, min_trust=4))
        self._now = begins
        self.library.audit.clock = lambda: self._now

    def live(self, plan: list[Asking], drawn: random.Random, half: str) -> list[Outcome]:
        """Ask the questions of a plan, each at its time; who got nothing of use may say so, or ask again."""
        outcomes = []
        for asking in plan:
            self._now = asking.at
            outcome, audit_id, ref = self._ask(asking)
            outcomes.append(outcome)
            if outcome.right or asking.kind == "failed":
                continue
            if ref and drawn.random() < _SAYS_SO:
                self.library.give_feedback(audit_id, bad=[ref])
            elif drawn.random() < _ASKS_AGAIN:
                self._now += 90.0
                self._ask(
                    Asking(
                        self._now,
                        asking.agent,
                        asking.caller,
                        asking.topic,
                        spoken(asking.topic, half, drawn),
                        asking.kind,
                    )
                )
        self._now = max(self._now, self.begins)
        self.library.audit.flush()
        return outcomes

    def _ask(self, asking: Asking) -> tuple[Outcome, str, str]:
        principal = Principal(key_id=asking.caller)
        if asking.kind == "failed":
            with _engine_gone(self.library.engine), _expected():
                self.library.find(SearchRequest(query=asking.text, agent_id=asking.agent, summary=False), principal)
            return Outcome(asking, answered=False, right=False), "", ""
        if asking.kind == "withheld":
            context = self.library.get_context(
                ContextRequest(retrieval_query=asking.text, agent_id=asking.agent), principal
            )
            said = " ".join(one.content for one in context.build.snippets)
            return Outcome(asking, answered=bool(said), right=says(asking.topic, said)), "", ""
        found = self.library.find(SearchRequest(query=asking.text, agent_id=asking.agent, summary=False), principal)
        first = found.passages[0] if found.passages else None
        answered = first is not None and first.hit.score >= LIKELY
        right = answered and first is not None and says(asking.topic, _whole_of(first.passage))
        ref = "" if first is None else first.passage.ref
        return Outcome(asking, answered=answered, right=right), next(iter(found.audit_ids), ""), ref


def _whole_of(passage: Any) -> str:
    return "\n".join((passage.title, *passage.headings, passage.text))


@contextmanager
def _engine_gone(engine: Any) -> Iterator[None]:
    """While the index cannot be reached."""

    def gone(*_: object, **__: object) -> Any:
        raise EngineUnavailable("the index is gone", component="engine")

    kept = {name: getattr(engine, name) for name in ("keyword", "vector", "sync")}
    try:
        for name in kept:
            setattr(engine, name, gone)
        yield
    finally:
        for name in kept:
            delattr(engine, name)


@contextmanager
def _expected() -> Iterator[None]:
    try:
        yield
    except KnowledgeError:
        return
    raise RuntimeError("a question was answered without an index")


def planned(
    made: Company, options: argparse.Namespace, drawn: random.Random, begins: float, gaps: list[Topic]
) -> list[Asking]:
    """The questions of a month in the order of their times."""
    counts = {name: round(share * options.questions) for name, share in _SHARES.items()}
    known = [one for one in made.topics if one.kind == "known"]
    withheld = [one for one in made.topics if one.kind == "withheld"]
    weights = [1 / (1 + at) ** 0.6 for at in range(len(known))]
    drawn.shuffle(known)
    asked = [("gap", one) for one in gaps]  # each at least once
    asked += [("gap", one) for one in drawn.choices(gaps, k=max(0, counts["gap"] - len(gaps)))]
    asked += [("withheld", one) for one in drawn.choices(withheld, k=counts["withheld"])]
    asked += [("failed", one) for one in drawn.choices(known, k=counts["failed"])]
    asked += [("known", one) for one in drawn.choices(known, weights, k=options.questions - len(asked))]
    times = sorted(begins + drawn.random() * options.days * _DAY for _ in asked)
    drawn.shuffle(asked)
    return [
        Asking(at, STRICT if kind == "withheld" else drawn.choice(AGENTS), f"caller-{drawn.randrange(12)}", topic,
               spoken(topic, options.half, drawn), kind)
        for at, (kind, topic) in zip(times, asked, strict=True)
    ]  # fmt: skip


def chosen_gaps(made: Company, most: int, drawn: random.Random, half: str) -> list[Topic]:
    """The planted gaps of a half: four of five are of subjects that no document has, and each half has subjects of its own."""
    subjects = sorted({one.subject for one in made.topics if one.kind == "far"})
    random.Random(1).shuffle(subjects)
    own = set(subjects[HALVES.index(half) :: 2]) if most <= len(subjects) else set(subjects)
    far = [one for one in made.topics if one.kind == "far" and one.subject in own]
    near = [one for one in made.topics if one.kind == "near"]
    count = min(len(far), most * 4 // 5)
    return drawn.sample(far, count) + drawn.sample(near, min(len(near), most - count))


def compared(report: GapReport, outcomes: list[Outcome], planted: list[Topic]) -> None:
    """Print how the list compares with what was planted, and how well questions of one meaning are together."""
    of_text: dict[str, Topic] = {}
    right: set[str] = set()
    for one in outcomes:
        of_text[digest_of(one.asking.text)] = one.asking.topic
        if one.right:
            right.add(digest_of(one.asking.text))
    kinds: Counter[str] = Counter()
    found: set[int] = set()
    groups: list[list[Topic]] = []
    for gap in report.gaps:
        topics = [of_text[name] for text in gap.wordings if (name := digest_of(text)) in of_text]
        if not topics:
            continue
        groups.append(topics)
        main = Counter(map(id, topics)).most_common(1)[0][0]
        kind = next(one.kind for one in topics if id(one) == main)
        if kind == "known":
            kind = "known, right" if right.intersection(map(digest_of, gap.wordings)) else "known, not right"
        kinds[kind] += 1
        found.update(map(id, topics))
    listed = sum(kinds.values())
    for kind in ("far", "near"):
        of = [one for one in planted if one.kind == kind]
        print(f"planted, {kind}: {sum(id(one) in found for one in of)} of {len(of)} found")
    print(f"planted: {sum(id(one) in found for one in planted)} of {len(planted)} found")
    print(f"listed: {listed} groups: " + ", ".join(f"{name} {count}" for name, count in kinds.most_common()))
    print(f"listed though answered right: {kinds['known, right'] / max(1, listed):.3f}")
    print(
        f"listed though the answer is there: {(kinds['known, right'] + kinds['known, not right']) / max(1, listed):.3f}"
    )
    together = sum(a is b for of in groups for a, b in combinations(of, 2))
    pairs = sum(len(of) * (len(of) - 1) // 2 for of in groups)
    every = Counter(id(one) for of in groups for one in of)
    same = sum(count * (count - 1) // 2 for count in every.values())
    print(
        f"pairs put together that mean the same: {together / max(1, pairs):.3f} of {pairs}; of those that do, together: {together / max(1, same):.3f} of {same}"
    )
    failed = [one for one in outcomes if one.asking.kind == "failed"]
    print(f"failed: {len(report.failed)} listed apart of {len(failed)}")


def settle(month: Month, report: GapReport, outcomes: list[Outcome]) -> Counter[str]:
    """The owner's morning with the list: each gap is answered, or shown where it stands, or put aside; what came of each."""
    of_text = {digest_of(one.asking.text): one.asking.topic for one in outcomes}
    done: Counter[str] = Counter()
    for gap in report.gaps:
        topic = of_text.get(digest_of(gap.question))
        if topic is None:
            continue
        if topic.kind == "withheld":
            month.library.gaps.decide(gap.gap_id, "out_of_scope", note="不对热线开放", again=True)
            done["withheld on purpose"] += 1
            continue
        try:
            settled = _settled(month, gap.gap_id, topic)
        except (NotFound, Conflict):
            done["closed by another answer"] += 1  # asking again closes whatever is answered by then
            continue
        done["closed at once" if settled.gap.closing else "left open"] += 1
    return done


def _settled(month: Month, gap_id: str, topic: Topic) -> GapSettlement:
    answers: GapAnswers = month.library.gap_answers
    if topic.kind == "known":
        return answers.point_out(gap_id, month_ref(month, topic), again=True)
    wanted = GapAnswerRequest(answer=topic.said, author="li", beside="company", again=True)
    return answers.answer(gap_id, wanted)


def month_ref(month: Month, topic: Topic) -> str:
    """The address of the passage that has the answer, as its owner looks it up."""
    for passage in month.library.search(topic.subject, limit=20).passages.values():
        if says(topic, _whole_of(passage)):
            return str(passage.ref)
    raise RuntimeError(f"no passage says {topic.key}")


def shares(outcomes: list[Outcome], begins: float, days: int) -> list[tuple[float, float]]:
    """Of each day the share answered, and the share answered right; failures are in the sum."""
    found = []
    for day in range(days):
        of = [one for one in outcomes if begins + day * _DAY <= one.asking.at < begins + (day + 1) * _DAY]
        found.append(
            (sum(one.answered for one in of) / max(1, len(of)), sum(one.right for one in of) / max(1, len(of)))
        )
    return found


def whole(outcomes: list[Outcome]) -> str:
    """The shares of a month, in words: of all, and right of what the library knew from the start and of what it lacked."""
    said = [
        f"answered {_share(outcomes, lambda one: one.answered)}, right {_share(outcomes, lambda one: one.right)} of {len(outcomes)}"
    ]
    for kind in ("known", "gap", "withheld"):
        of = [one for one in outcomes if one.asking.kind == kind]
        said.append(f"{kind}: right {_share(of, lambda one: one.right)} of {len(of)}")
    return "; ".join(said)


def _share(outcomes: list[Outcome], counts: Callable[[Outcome], bool]) -> str:
    return f"{sum(map(counts, outcomes)) / max(1, len(outcomes)):.3f}"


_WIDTH, _HEIGHT, _LEFT, _TOP = 760, 260, 44, 26
_WORDS = {"en": ("answered", "right", "day {n}", "gaps settled"), "zh": ("已答", "答对", "第 {n} 天", "处理未答")}


def plotted(before: list[tuple[float, float]], after: list[tuple[float, float]], language: str) -> str:
    """Share answered and share right by day, before and after, as SVG."""
    every = [*before, *after]
    answered, right, day, settled = _WORDS[language]
    wide, high = _WIDTH - _LEFT - 90, _HEIGHT - _TOP - 34

    def at(number: float, share: float) -> str:
        return f"{_LEFT + wide * number / max(1, len(every) - 1):.1f},{_TOP + high * (1 - share):.1f}"

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" font-family="sans-serif" font-size="12">',
        f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="#fff"/>',
    ]
    for tenth in (0, 0.25, 0.5, 0.75, 1.0):
        y = _TOP + high * (1 - tenth)
        parts.append(
            f'<path d="M{_LEFT} {y:.1f}h{wide}" stroke="#ddd"/><text x="{_LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{tenth:.0%}</text>'
        )
    middle = _LEFT + wide * (len(before) - 0.5) / max(1, len(every) - 1)
    parts.append(
        f'<path d="M{middle:.1f} {_TOP}v{high}" stroke="#888" stroke-dasharray="4 3"/><text x="{middle:.1f}" y="{_TOP - 8}" text-anchor="middle">{settled}</text>'
    )
    for column, (name, colour) in enumerate(((answered, "#2b6cb0"), (right, "#2f855a"))):
        line = " ".join(at(number, pair[column]) for number, pair in enumerate(every))
        last = every[-1][column]
        parts.append(f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="2"/>')
        parts.append(
            f'<text x="{_LEFT + wide + 8}" y="{_TOP + high * (1 - last) + (14 if column else -4):.1f}" fill="{colour}">{name} {last:.0%}</text>'
        )
    parts.append(
        f'<text x="{_LEFT}" y="{_HEIGHT - 10}">{day.format(n=1)}</text><text x="{_LEFT + wide}" y="{_HEIGHT - 10}" text-anchor="end">{day.format(n=len(every))}</text></svg>'
    )
    return "\n".join(parts) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--questions", type=int, default=5_000)
    parser.add_argument("--gaps", type=int, default=200)
    parser.add_argument("--days", type=int, default=30)
    parser.add_argument("--half", choices=HALVES, default="apart")
    parser.add_argument("--listed", action="store_true", help="stop when the list was compared")
    parser.add_argument("--plot", type=Path, help="write FILE.svg and FILE.zh.svg")
    options = parser.parse_args()
    made, drawn = company(), random.Random(HALVES.index(options.half) + 11)
    begins = time.time() - (options.days + 0.01) * _DAY
    planted = chosen_gaps(made, options.gaps, drawn, options.half)
    with tempfile.TemporaryDirectory(prefix="wenyuan-bench-") as scratch:
        month = Month(Path(scratch), made, begins)
        plan = planned(made, options, drawn, begins, planted)
        print(
            f"{len(made.documents)} documents, {sum(one.kind == 'known' for one in made.topics)} facts, {len(plan)} questions in {len({one.text for one in plan})} wordings, half {options.half}"
        )
        before = month.live(plan, drawn, options.half)
        print(f"before: {whole(before)}", flush=True)
        report = month.library.gaps.find(days=options.days + 1)
        compared(report, before, planted)
        if not options.listed:
            began = time.process_time()
            print(
                "settled: "
                + ", ".join(f"{name} {count}" for name, count in settle(month, report, before).most_common())
            )
            print(f"processor seconds of settling: {time.process_time() - began:.0f}", flush=True)
            month.library.gaps.ask_again(days=options.days + 1)
            left = [one for one in month.library.gaps.find(days=options.days + 1).gaps if one.state == "open"]
            print(
                f"open after asking again: {len(left)} of {len(report.gaps)}; golden questions kept: {len(month.library.catalog.golden_questions())}"
            )
            same = month.live([_later(one, options.days) for one in plan], random.Random(5), options.half)
            print(f"after, the same wordings: {whole(same)}", flush=True)
            if options.plot:
                days = shares(before, begins, options.days), shares(same, begins + options.days * _DAY, options.days)
                options.plot.parent.mkdir(parents=True, exist_ok=True)
                options.plot.write_text(plotted(*days, "en"), "utf-8")
                options.plot.with_suffix(".zh.svg").write_text(plotted(*days, "zh"), "utf-8")
            other = HALVES[1 - HALVES.index(options.half)]
            others = [_reworded(one, options.days, spoken(one.topic, other, drawn)) for one in plan]
            print(f"after, wordings that nobody used before: {whole(month.live(others, random.Random(6), other))}")
        month.library.close()


def _later(one: Asking, days: int) -> Asking:
    return Asking(one.at + days * _DAY, one.agent, one.caller, one.topic, one.text, one.kind)


def _reworded(one: Asking, days: int, text: str) -> Asking:
    return Asking(one.at + 2 * days * _DAY, one.agent, one.caller, one.topic, text, one.kind)


if __name__ == "__main__":
    main()
