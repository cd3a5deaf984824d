"""A message is a text, and has its template and its values with it wherever it goes."""

from __future__ import annotations

import copy
import json
import pickle
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wenyuan.core.errors import (
    MOST_CHARS,
    MOST_DEPTH,
    MOST_PARTS,
    EngineError,
    Fault,
    Message,
    as_sent,
    did_you_mean,
    joined,
    listed,
    msg,
    received,
    without,
)


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


# --- over a network ------------------------------------------------------------------------------------------
def _messages(values: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    several = st.lists(values, max_size=3).map(joined)
    return st.builds(lambda a, b: msg("{a} 第 {{{b}}} {a}", a=a, b=b), values, values) | several


@given(st.recursive(st.text(max_size=20), _messages, max_leaves=8))
def test_a_message_survives_the_network(message: str) -> None:
    """Text, templates and values arrive as they were sent; a plain text is sent alone."""
    sent = json.loads(json.dumps(as_sent(message)))
    told = received(message, sent.get("translatable"))
    assert (told, _made_of(told)) == (message, _made_of(message))
    assert isinstance(message, Message) == bool(sent)


def _made_of(text: Any) -> Any:
    if isinstance(text, tuple):
        return [_made_of(part) for part in text]
    return [text.template, {n: _made_of(v) for n, v in text.values.items()}] if isinstance(text, Message) else text


def _nested(levels: int) -> str:
    message = "x"
    for _ in range(levels):
        message = msg("a {x}", x=message)
    return message


@pytest.mark.parametrize(
    "message",
    [
        msg("no {x}", x="y" * MOST_CHARS),
        joined(["x"] * MOST_PARTS),
        _nested(MOST_DEPTH + 1),
        Message("{x:>9}", {"x": "y"}),
        Message("{x!r}", {"x": "y"}),
    ],
    ids=["too long", "too many parts", "too deep", "with a format", "with a conversion"],
)
def test_a_message_that_nobody_would_take_is_sent_as_text(message: str) -> None:
    assert as_sent(message) == {}


def test_what_a_text_does_not_show_is_not_sent() -> None:
    """A value that no place in the template takes stays here."""
    assert as_sent(Message("no {x}", {"x": "1", "key": "secret"})) == {
        "translatable": {"template": "no {x}", "values": {"x": "1"}}
    }


_ONE = {"template": "no {x}", "values": {"x": "1"}}


def _parts_of(template: object, **values: object) -> dict[str, object]:
    return {"template": template, "values": values}


def _many(levels: int) -> dict[str, object]:
    """Each level names the one within a hundred times."""
    inner: Any = "x" * 100
    for _ in range(levels):
        inner = _parts_of("{x}" * 100, x=inner)
    return dict(inner)


@pytest.mark.parametrize(
    "parts",
    [
        "no 1",
        ["no {x}"],
        {},
        {"template": "no {x}"},
        _parts_of(1, x="1"),
        _parts_of("no {x}"),
        _parts_of("no {x}", x=1),
        _parts_of("no {x}", x=None),
        _parts_of("no {x}", x=[["1"]]),
        _parts_of("no {x}", x={"template": "1"}),
        _parts_of("no {x}", x="1", y="2"),
        _parts_of("no {x}", x="2"),
        _parts_of("no {x"),
        _parts_of("no {}", **{"": "1"}),
        _parts_of("no {x.__class__}", **{"x.__class__": "1"}),
        _parts_of("no {x[0]}", **{"x[0]": "1"}),
        _parts_of("no {x:1000000000}", x="1"),
        _parts_of("no {x!r}", x="1"),
        _many(MOST_DEPTH),
    ],
)
def test_parts_that_are_not_those_of_the_text_are_left_aside(parts: object) -> None:
    """Another server may send anything: what is shown is its text, and no template of its own is run."""
    assert not isinstance(received("no 1", parts), Message)
    assert received("no 1", parts) == "no 1"
    assert isinstance(received("no 1", {**_ONE, "since": "a later version"}), Message)


def test_what_an_exception_says_in_a_message_stays_one() -> None:
    """Whether a part of its own or ours was made with it; of any other exception it is the text."""
    told = [
        ValueError(msg("no {x}", x=1)),
        EngineError(msg("no {x}", x=1)),
        KeyError(msg("no {x}", x=1)),
        OSError(2, "gone"),
    ]
    said = [msg("it cannot be read: {error}", error=error) for error in told]
    assert [_made_of(one)[1]["error"] for one in said] == [["no {x}", {"x": "1"}]] * 2 + ["'no 1'", "[Errno 2] gone"]


def test_what_is_taken_out_of_a_message_is_in_none_of_its_parts() -> None:
    """A folder that nobody needs to know of goes from the values, too, and the rest stays a message."""
    message = msg("{a}; {b}", a=msg("no {x}", x="/tmp/secret/file"), b=joined(["/tmp/secret/x", "y"]))
    told = without(message, "/tmp/secret/")
    assert told == "no file; x; y"
    assert "secret" not in json.dumps(as_sent(told))
    assert as_sent(told)
    assert as_sent(without(msg("/tmp/{x}", x="a"), "/tmp/")) == {}
