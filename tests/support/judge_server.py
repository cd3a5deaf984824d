"""A judge on this machine in every dialect: real HTTP, and numbers that are what a test wants to be said."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from liars_server import Answer, Server
from listening import listening

DIALECTS = ("decisions", "systemone", "logprobs", "vote")
Sure = Callable[[str, Sequence[str]], Any]
"""Of a question and passages, how sure the judge is that they suffice."""
Lacks = Callable[[str, Sequence[str]], Any]
"""Of a question and passages, what the judge writes when it is asked what they lack."""


class JudgeServer(Server):
    """Answers as `sure` says; `faults` and `liar` are those of `liars_server`.

    Attributes:
        bias: What is added to the first of two options, whatever it says.
        one_at_a_time: It knows no ``n``.
        votes: What is written for yes and no.
        instead: Sent in place of an answer.
        states: Questions and passages that it was shown.
        lacks: What it writes when it is asked what is missing.
        lacking: Questions and passages of which it was asked that.
        lacks_fault: What happens then instead of an answer.
    """

    def __init__(self) -> None:
        self.restart()
        super().__init__(JudgeAnswer)

    def begin(self, liar: str) -> None:
        super().begin(liar)
        self.restart()

    def restart(self) -> None:
        """Forget, and be sure of everything by half."""
        self.sure: Sure = lambda question, passages: 0.5
        self.bias = 0.0
        self.one_at_a_time = False
        self.votes = ("Yes.", "No.")
        self.instead: Any = None
        self.states: list[Mapping[str, Any]] = []
        self.lacks: Lacks = lambda question, passages: "NOTHING"
        self.lacking: list[Mapping[str, Any]] = []
        self.lacks_fault = "perfect"


class JudgeAnswer(Answer):
    server: JudgeServer

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.server.seen.append((self.path, self.headers.get("authorization", ""), body))
        fault = self.server.faults.pop(0) if self.server.faults else self.server.liar
        fault = self.server.lacks_fault if asks_what_lacks(body) and fault == "perfect" else fault
        if self.server.formless and "max_tokens" in body:
            fault = "400"
        try:
            if fault != "perfect":
                self.fail(fault)
            else:
                self.send(
                    200, json.dumps(self.said(body) if self.server.instead is None else self.server.instead).encode()
                )
        except OSError:
            self.server.gone.set()

    def said(self, body: Mapping[str, Any]) -> Any:
        if self.path.endswith("/decisions"):
            (question,) = body["questions"]
            sure = self.sure_of(json.loads(body["input"]))
            return {
                "model": "m",
                "answers": [{"type": "predicate", "name": question["name"], "probability": sure}],
                "usage": {},
            }
        if self.path.endswith("/systemone"):
            sure = self.sure_of(body["state"])
            return {"model": "m", "answers": {name: {"type": "noul", "noul": sure} for name in body["questions"]}}
        system, asked = (message["content"] for message in body["messages"])
        if asks_what_lacks(body):
            state = json.loads(asked)
            self.server.lacking.append(state)
            text = self.server.lacks(state["question"], state["passages"])
            return {"choices": [{"message": {"role": "assistant", "content": text}}], "usage": {"total_tokens": 50}}
        sure = self.sure_of(json.loads(asked))
        return self.letters(system, sure) if "logprobs" in body else self.voted(body.get("n", 1), sure)

    def sure_of(self, state: Mapping[str, Any]) -> Any:
        self.server.states.append(state)
        return self.server.sure(state["question"], state["passages"])

    def letters(self, system: str, sure: float) -> Any:
        yes_first = system.index("state everything") < system.index("Something that")
        first = min(1.0, max(0.0, (sure if yes_first else 1.0 - sure) + self.server.bias))
        mass = {" A": first * 0.9, "B": (1.0 - first) * 0.9, "The": 0.1}
        told = [{"token": token, "logprob": math.log(p) if p else -9999.0} for token, p in mass.items()]
        return {"choices": [{"logprobs": {"content": [{"token": "A", "logprob": -0.1, "top_logprobs": told}]}}]}

    def voted(self, count: int, sure: float) -> Any:
        given = 1 if self.server.one_at_a_time else count
        before = len(self.server.states) - 1 if self.server.one_at_a_time else 0
        yes, no = self.server.votes
        texts = [yes if at < round(sure * 5) else no for at in range(before, before + given)]
        return {
            "choices": [{"message": {"role": "assistant", "content": text}} for text in texts],
            "usage": {"total_tokens": 50},
        }


def asks_what_lacks(body: Mapping[str, Any]) -> bool:
    return "Name what they lack" in str(body.get("messages", ""))


@contextmanager
def judging() -> Iterator[JudgeServer]:
    """A judge, for as long as it is needed."""
    server = JudgeServer()
    with listening(server):
        yield server
