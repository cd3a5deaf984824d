"""A message is a text, and has its template and its values with it wherever it goes."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable

import pytest

from wenyuan.core.errors import EngineError, Fault, did_you_mean, listed
from wenyuan.core.messages import Message, joined, msg


def test_a_message_reads_as_an_f_string_would() -> None:
    """Whatever stands in it, and braces in what stands in it."""
    assert msg("{count} of {names}: {why}", count=3, names=["a", "b"], why="{x}") == f"{3} of {['a', 'b']}: {{x}}"


@pytest.mark.parametrize("carried", [copy.copy, copy.deepcopy, *(lambda m, p=p: pickle.loads(pickle.dumps(m, p)) for p in range(6))])  # fmt: skip
def test_nothing_is_lost_when_a_message_is_copied(carried: Callable[[str], Message]) -> None:
    """Copies, and what another process is given, have template and values, those of messages within it, too."""
    message = msg("{place}: {faults}", place="a", faults=joined([msg("no {x}", x=1), "b"]))
    told = carried(message)
    assert (told, told.template, told.values) == (message, message.template, message.values)
    assert told.values["faults"].values["messages"][0].template == "no {x}"


def test_what_an_error_says_is_a_message() -> None:
    """With the part that failed before it; so a message that is made of an error can be said in another language."""
    said = str(EngineError(msg("no {x}", x=1), component="engine local"))
    assert isinstance(said, Message)
    assert said == "engine local: no 1"
    assert isinstance(said.values["message"], Message)


def test_faults_in_one_message_keep_their_own() -> None:
    """A list of faults says each with its place, and what was meant."""
    told = listed(
        [Fault("a.b", msg("unknown{near}", near=did_you_mean("alow", ["allow"]))), Fault("c", "is missing")]
    )
    assert told == "a.b unknown; did you mean 'allow'?; c is missing"
    assert isinstance(told, Message)
