"""How many, in English: the noun and what goes with it follow the number."""

from __future__ import annotations

__all__ = ["Counted"]


class Counted(str):
    """A value of a message that may be counted: ``{count:fault|faults}`` becomes ``1 fault`` or ``2 faults``.

    Raises:
        ValueError: what stands after the colon is not the two forms, the singular first.
    """

    __slots__ = ()

    def __format__(self, forms: str) -> str:
        if not forms:
            return str(self)
        one, separator, many = forms.partition("|")
        if not separator:
            raise ValueError(f"{forms!r} are not two forms like 'fault|faults'")
        return f"{self} {one if self == '1' else many}"
