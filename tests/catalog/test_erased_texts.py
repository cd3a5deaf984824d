"""Where a person may stand in the tables of a catalog."""

from __future__ import annotations

from wenyuan.catalog.erased_texts import OF_DOCUMENTS, PLACES, SILENT
from wenyuan.catalog.every_table import ALL


def test_of_each_table_it_is_said_whether_a_person_can_stand_there() -> None:
    """A new one is searched under a name that people know, or is said to hold no text of anybody; none is named that is gone."""
    tables = {table.name for each in ALL for table in each.tables.values()}
    assert tables == OF_DOCUMENTS | SILENT | PLACES.keys()
    assert not OF_DOCUMENTS & SILENT and not (OF_DOCUMENTS | SILENT) & PLACES.keys()
