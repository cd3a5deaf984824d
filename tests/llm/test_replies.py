"""What servers put around what a model wrote."""

from __future__ import annotations

import pytest

from wenyuan.llm.replies import content_of, object_in, without_thoughts


@pytest.mark.parametrize(
    "text",
    [
        '{"a": 1}',
        'I think {x}. </think>{"a": 1}',
        '<think>\nhm {\n</think>\n{"a": 1}',
        '<thinking>so {"b": 2}</thinking>{"a": 1}',
        'Here is the JSON:\n```json\n{"a": 1}\n```\nDone.',
        'Sure! {"a": 1} I hope that helps.',
        '```\n{"a": 1}\n```',
    ],
)
def test_the_object_is_found_whatever_is_around_it(text: str) -> None:
    """Thoughts with and without their beginning, fences, prose."""
    assert object_in(text) == {"a": 1}


@pytest.mark.parametrize("text", ["", "no", '{"a": 1} or {"a": 2}', '{"a": 1', "{" * 5_000])
def test_none_or_several_are_refused(text: str) -> None:
    """Nothing is chosen among several objects, and none is made up."""
    with pytest.raises(ValueError, match=r"."):
        object_in(text)


def test_a_mark_within_the_object_is_no_end_of_thoughts() -> None:
    assert object_in('{"a": "</think>"}') == {"a": "</think>"}
    assert without_thoughts("yes </think>no") == "no"


def test_content_is_a_text_or_parts() -> None:
    """Some servers send parts; those that are no text are left out."""
    assert content_of({"content": "x"}) == "x"
    assert (
        content_of({"content": [{"type": "text", "text": "a"}, {"type": "image"}, {"type": "text", "text": "b"}]})
        == "ab"
    )
    assert content_of({"content": None}) == ""
