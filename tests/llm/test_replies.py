"""What servers put around what a model wrote."""

from __future__ import annotations

import pytest

from wenyuan.llm.replies import content_of, object_in, reply_of, without_thoughts


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
        '~~~json\n{"a": 1}\n~~~',
        '{"a": 1,}',
        'So:\n{"a": 1,\n}',
        '\ufeff{"a": 1}',
        '[{"a": 1}]',
        '"{\\"a\\": 1}"',
        '{"a": 1}\n{"a": 1}',
        '[THINK]{"b": 2}[/THINK]{"a": 1}',
        '<seed:think>hm {"b"</seed:think>{"a": 1}',
        '◁think▷{"b": 2}◁/think▷{"a": 1}',
        '<|channel|>analysis<|message|>{"b": 2}<|end|><|start|>assistant<|channel|>final<|message|>{"a": 1}',
        '<think>\n{"a": 1}',
        '<answer>{"a": 1}</answer>',
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
    assert (
        content_of({"content": ["a", {"type": "thinking", "thinking": [{"type": "text", "text": "b"}]}, "c"]}) == "ac"
    )


@pytest.mark.parametrize(
    ("message", "said"),
    [
        ({"content": "x", "reasoning_content": "y"}, "x"),
        ({"content": None, "reasoning_content": '{"a": 1}'}, '{"a": 1}'),
        ({"content": "", "reasoning": '{"a": 1}'}, '{"a": 1}'),
        ({"reasoning_content": '{"a": 1}'}, '{"a": 1}'),
        ({"content": None, "tool_calls": [{"function": {"name": "answer", "arguments": '{"a": 1}'}}]}, '{"a": 1}'),
        ({"content": None, "tool_calls": [{"function": {"name": "answer", "arguments": {"a": 1}}}]}, '{"a": 1}'),
        ({"content": None, "function_call": {"name": "answer", "arguments": '{"a": 1}'}}, '{"a": 1}'),
        ({"content": None, "tool_calls": [{"function": {"arguments": "{}"}}, {"function": {"arguments": "{}"}}]}, ""),
        ({"content": None, "tool_calls": "no"}, ""),
        ({"content": None, "refusal": "no"}, ""),
    ],
)
def test_the_reply_stands_where_a_server_puts_it(message: dict[str, object], said: str) -> None:
    """In the content; without one in the one call of a tool, or among thoughts that never ended."""
    assert reply_of(message) == said


def test_line_breaks_and_commas_within_texts_stay() -> None:
    """Models break lines within a text, and a comma before a bracket there is the text's own."""
    assert object_in('{"a": "one,\n]", }') == {"a": "one,\n]"}


def test_a_long_reply_takes_linear_time() -> None:
    """Quotes, commas and braces without an end are looked at once each."""
    for hostile in ('"\\' * 50_000, "{," * 50_000, ", " * 100_000, '{"' * 50_000):
        with pytest.raises(ValueError, match=r"."):
            object_in(hostile)
