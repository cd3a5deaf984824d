"""The tests notice an adapter that answers with nothing instead of failing: a sample of `scripts/mutate.py`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "scripts"))
import mutate

SAMPLE = mutate.sampled(mutate.mutants(), 6)


@pytest.fixture(scope="module")
def laboratory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    yield mutate.Laboratory(tmp_path_factory.mktemp("laboratory"))


@pytest.mark.slow
@pytest.mark.parametrize("mutant", SAMPLE, ids=lambda mutant: mutant.name)
def test_mutant_is_found(laboratory: Any, mutant: Any) -> None:
    """A `raise` that became `return []` makes a test fail, unless it is listed as changing nothing."""
    assert mutant.key in mutate.EQUIVALENT or not laboratory.passes(mutant, mutant.tests)


def test_every_raise_is_a_mutant() -> None:
    """Each mutant is another place, is still Python, and answers with nothing where it failed before."""
    found = mutate.mutants()
    assert len({(m.module, m.begin) for m in found}) == len(found) > 60
    for mutant in found:
        content = (mutate.PACKAGE / mutant.module).read_bytes()
        changed = mutant.apply(content)
        compile(changed, mutant.name, "exec")
        assert content[mutant.begin :].startswith(b"raise")
        assert changed.count(b"raise") < content.count(b"raise")


def test_equivalents_are_there() -> None:
    """The list of mutants that change nothing names only places that exist, each with its reason."""
    assert mutate.EQUIVALENT.keys() <= {mutant.key for mutant in mutate.mutants()}
    assert all(len(reason) > 20 for reason in mutate.EQUIVALENT.values())
