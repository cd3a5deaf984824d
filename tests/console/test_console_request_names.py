"""What the console calls the parts of the service has a text in both languages."""

from __future__ import annotations

import pytest

from wenyuan.core.records import KINDS
from wenyuan.i18n.translation import texts
from wenyuan.server.app import ROUTES
from wenyuan.server.request_metrics import door_of


@pytest.mark.parametrize("language", ["en", "zh"])
def test_every_request_and_kind_of_record_has_a_name(language: str) -> None:
    """A new route or kind of audit record is told to have none."""
    known = texts("console", language)
    doors = {door_of(one.path) for one in ROUTES} | {"other"}
    assert sorted(door for door in doors if f"door_{door}" not in known) == []
    assert sorted(kind for kind in KINDS if f"kind_{kind}" not in known) == []
