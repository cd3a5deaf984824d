"""What the stated risk of a judge is worth: judges that are known to be good, bad or biased, calibrated on many sets of questions.

    python bench/judge.py [--sets 1000] [--compared 100] [--json]

No model and no library is asked. The first passage that answers lies at a geometric rank (.35), passages are given up to ten, and a
judge of a known kind says how sure it is at 1, 3, 5 and 8. For each judge, number of questions and risk ε: in how many of the
sets the share of 100,000 questions to come that are stopped too early is at most ε (stated: 90 %), that share, and how many
passages are given to how many sufficient answers; then, for fewer sets, calibration errors on held-out questions beside those of
a retrieval probability that knows a little, and how often the judge is adopted.
"""

from __future__ import annotations

import argparse
import json
from typing import Any

import numpy as np

from wenyuan.core.scoring.curve_fit import Floats
from wenyuan.core.scoring.risk import (
    Flags,
    allowed,
    bound_of,
    compared,
    highest_wrong,
    monotone,
    steps_below,
    threshold,
)

MOST = 10
STEPS = np.array(steps_below(MOST))
JUDGES = ("perfect", "noisy", "always .95", "inverted", "order-biased", "coin")
TO_COME = 100_000


def simulated(judge: str, questions: int, seed: int, sets: int = 1) -> tuple[Floats, Flags]:
    """What a judge of a known kind says, and what suffices: ``(sets, questions, steps)`` both."""
    draw = np.random.default_rng(seed)
    rank = draw.geometric(0.35, (sets, questions, 1))
    sufficient: Flags = rank <= STEPS
    noise = draw.random((sets, questions, len(STEPS)))
    match judge:
        case "perfect":
            raw = np.where(sufficient, 0.5 + noise / 2, noise / 2)
        case "noisy":
            raw = np.clip(np.where(sufficient, 0.65, 0.35) + draw.normal(0, 0.2, sufficient.shape), 0, 1)
        case "always .95":
            raw = np.full(sufficient.shape, 0.95)
        case "inverted":
            raw = np.where(sufficient, noise / 2, 0.5 + noise / 2)
        case "order-biased":  # it prefers short lists, whatever they say
            raw = np.clip(1.0 - STEPS / 10 + 0.1 * noise, 0, 1)
        case _:
            raw = noise
    return raw, sufficient


def retrieval(sufficient: Flags, seed: int) -> Floats:
    """A retrieval probability that knows how many passages there are, and a little of what they say."""
    noise = np.random.default_rng(seed).normal(0, 0.15, sufficient.shape)
    found: Floats = np.clip(0.35 + 0.04 * STEPS + 0.05 * sufficient + noise, 0, 1)
    return found


def outcome(raw: Floats, sufficient: Flags, risk: float, come: tuple[Floats, Flags]) -> dict[str, float]:
    """Calibrated on one set, ``(questions, steps)``, and tried on questions to come."""
    lost = allowed(len(raw), risk) or 0
    curve = monotone(raw.ravel(), sufficient.ravel())
    least = threshold(curve, float(bound_of(highest_wrong(raw, sufficient), lost)))
    stops = np.zeros(come[0].shape, bool) if least is None else curve.probabilities(come[0]) >= least
    stopped = stops.any(axis=1)
    first = np.where(stopped, stops.argmax(axis=1), 0)
    enough = np.take_along_axis(come[1], first[:, None], axis=1)[:, 0]
    return {
        "used": float(least is not None), "risk": float((stopped & ~enough).mean()),
        "passages": float(np.where(stopped, STEPS[first], MOST).mean()),
    }  # fmt: skip


def measured(judge: str, questions: int, risk: float, sets: int, few: int) -> dict[str, Any]:
    raw, sufficient = simulated(judge, questions, 1, sets)
    come = tuple(one[0] for one in simulated(judge, TO_COME, 2))
    sample = tuple(one[:5_000] for one in come)
    bounds = np.sort(highest_wrong(*come))
    exact = (
        1.0
        - np.searchsorted(bounds, bound_of(highest_wrong(raw, sufficient), allowed(questions, risk) or 0), "right")
        / TO_COME
    )
    tried = [outcome(raw[i], sufficient[i], risk, sample) for i in range(few)]  # type: ignore[arg-type]
    folds = np.arange(questions) % 5
    beside = [compared(raw[i], retrieval(sufficient[i], i), sufficient[i], folds) for i in range(few)]
    mean = {name: round(float(np.mean([one[name] for one in tried])), 3) for name in ("used", "risk", "passages")}
    return {
        "judge": judge, "questions": questions, "epsilon": risk, "held": round(float((exact <= risk).mean()), 3),
        "risk_at_bound": round(float(exact.mean()), 3), **mean,
        "ece_raw": round(float(np.mean([one.raw_error for one in beside])), 3),
        "ece_judge": round(float(np.mean([one.error[0] for one in beside])), 3),
        "ece_retrieval": round(float(np.mean([one.error[1] for one in beside])), 3),
        "adopted": round(float(np.mean([one.better and t["used"] for one, t in zip(beside, tried, strict=True)])), 3),
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", type=int, default=1_000)
    parser.add_argument("--compared", type=int, default=100)
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    rows = [
        measured(judge, questions, risk, args.sets, args.compared)
        for questions, risk in ((60, 0.1), (200, 0.1), (200, 0.05))
        for judge in JUDGES
    ]
    if args.json:
        print(json.dumps(rows, indent=1))
        return
    print("  ".join(rows[0]))
    for row in rows:
        print("  ".join(str(value).ljust(len(name)) for name, value in row.items()))


if __name__ == "__main__":
    main()
