"""Numbers in messages: the English words that go with them follow them, the Chinese ones stay."""

from __future__ import annotations

import re

import pytest

from wenyuan.cli.terminal import Terminal
from wenyuan.core.errors import Counted
from wenyuan.i18n.translation import texts

_UNCOUNTED = re.compile(r"{\w+} (sources|documents|passages|files|rules|nodes|hits|faults|records|questions|tokens)")


@pytest.mark.parametrize(
    ("count", "language", "said"),
    [
        (0, "en", "0 faults in the file"),
        (1, "en", "1 fault in the file"),
        (2, "en", "2 faults in the file"),
        (11, "en", "11 faults in the file"),
        (1, "zh", "文件中有 1 处错误"),
    ],
)
def test_the_noun_follows_the_number(count: int, language: str, said: str) -> None:
    """One is singular, everything else is plural, and Chinese has one form."""
    assert Terminal(language=language).text("faults", count=count) == said


def test_a_value_without_forms_is_itself() -> None:
    """What is not counted stands as it was given."""
    assert "{name}".format(name=Counted("policy")) == "policy"


def test_a_form_alone_is_a_mistake_in_the_message() -> None:
    """A message with only one of the two forms is refused, not shown."""
    with pytest.raises(ValueError, match="two forms"):
        "{count:faults}".format(count=Counted("2"))


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("door", ["command_line", "console"])
def test_every_message_can_be_said_of_one_and_of_many(door: str, language: str) -> None:
    """All messages are well-formed, and none says '1 sources'."""
    for key, message in texts(door, language).items():
        names = re.findall(r"{(\w+)[:}]", message)
        for number in ("1", "2"):
            message.format(**dict.fromkeys(names, Counted(number)))
        assert not _UNCOUNTED.search(message), key
