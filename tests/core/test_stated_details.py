"""What a person says of a document over what its file says."""

from __future__ import annotations

from datetime import date

import pytest

from wenyuan.core.document_details import DetailField, DocumentDetails, StatedDetails

OLD, NEW = date(2018, 6, 1), date(2024, 1, 1)


@pytest.mark.parametrize("said", [{}, {"title": "x"}, {"effective_from": "2020-01-01"}])
def test_what_is_retired_stays_so(said: dict[DetailField, str]) -> None:
    """Its last day is not known, and stands before every first day."""
    read = DocumentDetails(title="a", effective_from=OLD, effective_until=date.min, tags={})
    details = StatedDetails(said).over(read)
    assert details.effective_until == date.min
    assert details.effective_from is not None


def test_a_draft_stays_one() -> None:
    """Its first day stands behind every last day."""
    read = DocumentDetails(title="a", effective_from=date.max, effective_until=None, tags={})
    assert StatedDetails({"effective_until": "2024-01-01"}).over(read).effective_from == date.max


def test_a_day_of_the_file_gives_way() -> None:
    """To the one that was said, where both cannot be."""
    read = DocumentDetails(title="a", effective_from=NEW, effective_until=None, tags={})
    details = StatedDetails({"effective_until": "2020-01-01"}).over(read)
    assert (details.effective_from, details.effective_until) == (None, date(2020, 1, 1))
