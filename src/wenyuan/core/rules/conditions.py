"""Under which condition a statement holds: a CEL expression over the request's parameters, in three values.

``depth_m >= 5.0 && soil == 'soft'`` is met, not met, or not known, because a parameter was not given. ``&&``, ``||``
and ``!`` follow Kleene: what is missing does not matter where the rest decides. They are taken apart here; what is
between them is left to the CEL library, and is asked only when all that it names was given.

Of CEL only what cannot run long is let in: comparisons, arithmetic, ``in`` over a written list, and a few string
functions. No macros, no regular expressions, no fields; also no ``size``, which counts bytes in the library.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal, cast

from wenyuan.core.errors import Fault, InvalidRequest, did_you_mean, joined, listed, msg
from wenyuan.core.rules.expressions import Leaf, Tree, Unknown, read, value_of, wrong
from wenyuan.core.rules.schema import Parameter, label_in

_MOST = 2**53  # beyond, a JSON number is not the same everywhere (RFC 7493, section 2.2)
_TYPICAL: Mapping[str, object] = {"number": 7.5, "integer": 7, "string": "7", "boolean": True}
_NATURE = {"number": "a finite number", "integer": "an integer", "string": "a text", "boolean": "true or false"}


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of a condition; ``missing`` lists the parameters without which it is undecided, sorted."""

    state: Literal["met", "not_met", "unknown"]
    missing: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Condition:
    """A compiled condition; made by `compile_condition`.

    Attributes:
        names: The parameters that it asks for, sorted.
    """

    text: str
    names: tuple[str, ...]
    _tree: Tree
    _declared: Mapping[str, Parameter]

    def check(self, parameters: Mapping[str, object]) -> Outcome:
        """Evaluate the condition. None means that a parameter was not given; surplus parameters are ignored.

        Raises:
            InvalidRequest: a parameter that it names is of the wrong type, or it cannot be worked out with those
                values (a division by zero, an overflow).
        """
        given = {name: parameters[name] for name in self.names if parameters.get(name) is not None}
        value = value_of(self._tree, checked_parameters(self._declared, given))
        if not isinstance(value, Unknown):
            return Outcome("met" if value else "not_met")
        if value.faults:
            shown = ", ".join(f"{name} = {given[name]!r:.60}" for name in given)
            raise wrong(self.text, f"cannot be worked out with {shown}: {'; '.join(value.faults)}")
        return Outcome("unknown", tuple(sorted(value.missing)))


def checked_parameters(declared: Mapping[str, Parameter], given: Mapping[str, object]) -> dict[str, object]:
    """The values converted to their declared types: ``6`` for a number is ``6.0``. None and undeclared parameters
    stay as they are.

    Raises:
        InvalidRequest: values of the wrong type, each named with its type and unit.
    """
    checked: dict[str, object] = {}
    faults = []
    for name, value in given.items():
        parameter = declared.get(name)
        checked[name] = value if value is None else _convert(value, parameter.type if parameter else _type_of(value))
        if value is not None and checked[name] is None:
            nature = _NATURE[parameter.type] if parameter else "a finite number, a text, or true or false"
            what = described(parameter, "en") if parameter else name
            faults.append(
                Fault(
                    f"parameters.{name}",
                    msg("must be {nature} ({what}), not {value}", nature=nature, what=what, value=f"{value!r:.60}"),
                )
            )
    if faults:
        raise InvalidRequest(listed(faults), faults=tuple(faults))
    return checked


def described(parameter: Parameter, language: str) -> str:
    """A parameter with label and unit, ``depth_m，开挖深度，单位 m``, for messages that ask for it."""
    comma, unit = ("，", "单位") if language.split("-", maxsplit=1)[0] == "zh" else (", ", "unit")
    label = label_in(parameter.labels, language, "")
    return comma.join(filter(None, (parameter.name, label, parameter.unit and f"{unit} {parameter.unit}")))


def _type_of(value: object) -> str:
    return {bool: "boolean", int: "integer", float: "number", str: "string"}.get(type(value), "")


def _convert(value: object, kind: str) -> object:
    """The value converted to a type, or None if it does not fit. True is no number, and neither is "six"."""
    if kind in ("string", "boolean"):
        return value if isinstance(value, str if kind == "string" else bool) else None
    number = isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) <= _MOST  # no NaN either
    if not number or (kind == "integer" and value != int(cast(float, value))):
        return None
    return float(cast(float, value)) if kind == "number" else int(cast(float, value))


def compile_condition(text: str, parameters: Mapping[str, Parameter] | None = None) -> Condition:
    """Validate and compile a condition; the result is cached by text and parameters.

    Args:
        text: At most 1,000 characters, brackets at most 16 deep.
        parameters: What it may name, with their types; None: anything, taken as it comes.

    Raises:
        InvalidRequest: it cannot be read, names what is not declared, or compares what cannot be compared.
    """
    return _compiled(text, None if parameters is None else tuple(parameters.values()))


@lru_cache(maxsize=4096)
def _compiled(text: str, parameters: tuple[Parameter, ...] | None) -> Condition:
    tree, leaves = read(text)
    names = sorted({name for leaf in leaves for name in leaf.names})
    if not names:
        raise wrong(text, "names no parameter; what holds always has no condition")
    declared = {p.name: p for p in parameters or () if p.name in names}
    if parameters is not None:
        by_name, ways = [p.name for p in parameters], [way for p in parameters for way in p.names]
        unknown = [
            msg("{name} is not declared{near}", name=repr(n), near=did_you_mean(n, by_name) or did_you_mean(n, ways))
            for n in names
            if n not in declared
        ]
        if unknown:
            raise wrong(text, joined(unknown))
        _check_types(text, leaves, {p.name: _TYPICAL[p.type] for p in declared.values()})
    return Condition(text, tuple(names), tree, declared)


def _check_types(text: str, leaves: tuple[Leaf, ...], typical: Mapping[str, object]) -> None:
    """Find type errors in a leaf by evaluating it once with a value of each parameter's type."""
    for leaf in leaves:
        value = leaf.value(typical)
        if isinstance(value, Unknown):
            if value.clash:
                mixed = "operation" in value.faults[0]
                hint = "beside a number stands 2.0, not 2; double(x) makes one of an integer" if mixed else ""
                raise wrong(text, f"{leaf.source!r}: {value.faults[0]}", hint=hint)
            continue
        left, right = (_family(v) for v in leaf.sides(typical))
        if left != right:
            raise wrong(
                text, msg("{source} compares {left} with {right}", source=repr(leaf.source), left=left, right=right)
            )


def _family(value: Any) -> str:
    if isinstance(value, list):
        return " or ".join(sorted({_family(v) for v in value})) or "nothing"
    return {bool: "true or false", int: "a number", float: "a number", str: "a text"}.get(type(value), "?")
