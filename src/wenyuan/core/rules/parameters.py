"""Parameters as people name them: by their name, a label, an alias, or a part that only one of them has."""

from __future__ import annotations

import re
from collections.abc import Mapping

from wenyuan.core.errors import Fault, InvalidRequest, did_you_mean, listed, msg
from wenyuan.core.rules.expressions import WORDS
from wenyuan.core.rules.schema import Parameter
from wenyuan.core.text.folding import fold

_WORD = re.compile(r"(?P<string>'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\")|(?P<word>[^\W\d]\w*)")
_NUMBER = re.compile(r"(?<![\w.])\d+(?![\w.])")
_LEAF = re.compile(r"&&|\|\||'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"")


def by_name(word: str, declared: Mapping[str, Parameter]) -> tuple[str, ...]:
    """The parameters that a word names: the one with this name, else those with a label that contains it.

    ``depth_m``, ``开挖深度``, ``深度`` and ``depth`` all mean ``depth_m`` where no other parameter is about a depth.
    """
    if word in declared:
        return (word,)
    said = _form(word)
    ways = {name: {_form(way) for way in parameter.names} for name, parameter in declared.items()}
    exact = tuple(name for name, forms in ways.items() if said in forms)
    if exact or len(said) < 2:
        return exact
    return tuple(name for name, forms in ways.items() if any(_part(said, form) for form in forms))


def meant_parameters(given: Mapping[str, object], declared: Mapping[str, Parameter]) -> dict[str, object]:
    """The given values under their canonical parameter names; unknown names are kept.

    Raises:
        InvalidRequest: a name may mean several parameters, or two names mean one and have different values.
    """
    meant: dict[str, object] = {}
    faults = []
    for word, value in given.items():
        names = by_name(word, declared)
        if len(names) > 1:
            faults.append(Fault(f"parameters.{word}", msg("may mean each of {names}", names=", ".join(names))))
            continue
        name = names[0] if names else word
        if name in meant and meant[name] != value:
            faults.append(
                Fault(
                    f"parameters.{word}",
                    msg(
                        "is {value}, and {name} is given as {meant}",
                        value=f"{value!r:.60}",
                        name=name,
                        meant=f"{meant[name]!r:.60}",
                    ),
                )
            )
        meant[name] = value
    if faults:
        raise InvalidRequest(listed(faults), faults=tuple(faults))
    return meant


def plain_condition(text: str, declared: Mapping[str, Parameter]) -> str:
    """A condition with the names of parameters in place of their labels, and 5.0 for 5 beside a number: ``高度 >= 5`` → ``height_m >= 5.0``.

    What is no label of one parameter stays, and so does a text in quotes: faults are reported when the condition is
    checked.
    """

    def named(found: re.Match[str]) -> str:
        names = by_name(found["word"], declared) if found["word"] and found["word"] not in WORDS else ()
        return names[0] if len(names) == 1 else found[0]

    renamed = _WORD.sub(named, text)
    kept, reached = [], 0
    for border in _LEAF.finditer(renamed):
        kept += [_with_decimals(renamed[reached : border.start()], declared), border[0]]
        reached = border.end()
    return "".join((*kept, _with_decimals(renamed[reached:], declared)))


def suggestion(word: str, declared: Mapping[str, Parameter]) -> str:
    """The parameter that was probably meant by an unknown name."""
    ways = {way for parameter in declared.values() for way in parameter.names}
    # Of two Chinese characters one may be wrong: 深渡 for 深度.
    return did_you_mean(word, declared) or did_you_mean(word, ways, cutoff=0.6 if word.isascii() else 0.5)


def _with_decimals(piece: str, declared: Mapping[str, Parameter]) -> str:
    types = {declared[found["word"]].type for found in _WORD.finditer(piece) if found["word"] in declared}
    return _NUMBER.sub(lambda found: f"{found[0]}.0", piece) if types == {"number"} else piece


def _form(word: str) -> str:
    return re.sub(r"[\s_-]+", " ", fold(word)).strip()


def _part(said: str, form: str) -> bool:
    """Whether a word is part of a name; Latin words must match whole words."""
    return f" {said} " in f" {form} " if form.isascii() else said in form
