"""What an object of parts hands on."""

from __future__ import annotations

import inspect

from wenyuan.runtime.delegation import delegate, method_of


class Counter:
    def __init__(self, begin: int) -> None:
        self.at = begin

    def up(self, by: int = 1) -> int:
        """Count up."""
        self.at += by
        return self.at


class Owner:
    def __init__(self, begin: int) -> None:
        self.counter = Counter(begin)

    up = method_of("counter", Counter.up)
    also = delegate("counter", Counter.up)


def test_an_owner_has_the_method_of_its_own_part() -> None:
    """Two owners count apart, with the first call and with later ones."""
    one, other = Owner(0), Owner(10)
    assert [one.up(), other.up(), one.up(by=5), other.up(by=5)] == [1, 11, 6, 16]


def test_nothing_stands_between_an_owner_and_the_method_of_its_part() -> None:
    """What is called is the part's own method."""
    owner = Owner(0)
    assert owner.up.__func__ is Counter.up  # type: ignore[attr-defined]


def test_a_class_shows_what_its_part_takes_and_says() -> None:
    """Signature and docstring are the method's, and it can be called with an owner."""
    assert inspect.signature(Owner.up) == inspect.signature(Counter.up)
    assert Owner.up.__doc__ == "Count up."
    assert Owner.up(Owner(1), by=2) == 3


def test_a_method_that_is_put_in_place_of_one_is_the_one_called() -> None:
    """On one owner, as on all owners to come."""
    owner = Owner(0)
    owner.up()
    owner.up = lambda by=1: -by  # type: ignore[method-assign]
    assert owner.up(3) == -3

    class Other(Owner):
        def up(self, by: int = 1) -> int:
            return by * 100

    assert Other(0).up(2) == 200
