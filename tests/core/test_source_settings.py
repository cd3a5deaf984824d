"""A setting of a source is read by somebody, or is refused: who believes that something is taken out must not be wrong."""

from __future__ import annotations

from typing import Any

import pytest

from wenyuan.connectors.selection import open_connector
from wenyuan.core.connectors import LIBRARY_SETTINGS
from wenyuan.core.errors import InvalidRequest
from wenyuan.core.model import Source
from wenyuan.core.retention import RETENTION
from wenyuan.core.source_entries import MODEL, PASSAGE_SIZE, parse_source
from wenyuan.core.source_readers import READERS
from wenyuan.core.vector_files import ENCODER

PLACES: tuple[dict[str, Any], ...] = (
    {},
    {"path": "/srv/rules"},
    {"path": "okf:/srv/bundle"},
    {"path": "/srv/rules/a.md"},
)
KNOWN: dict[str, Any] = {
    PASSAGE_SIZE: 120,
    MODEL: "deny",
    RETENTION: {"keep_days": 30},
    READERS: {"enforce": True},
    "redaction": {"actions": {"email": "drop"}},
    "base_uri": "kb://manuals/",
}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize(
    ("name", "near"), [("redact", "redaction"), ("reader", "readers"), ("include", ""), ("nonsense", "")]
)
def test_a_setting_that_nobody_reads_is_refused(place: dict[str, Any], name: str, near: str) -> None:
    """On folders, files, bundles and uploads; the one that was probably meant is named."""
    with pytest.raises(InvalidRequest) as caught:
        parse_source({"source_id": "a", **place, "settings": {name: "standard"}})
    assert [fault.path for fault in caught.value.faults] == [f"settings.{name}"]
    assert near in caught.value.faults[0].message


@pytest.mark.parametrize("place", PLACES)
def test_settings_that_are_read_are_taken(place: dict[str, Any]) -> None:
    """All that the library reads of a folder's settings."""
    found = parse_source({"source_id": "a", **place, "settings": KNOWN})
    assert KNOWN.items() <= found.settings.items()


@pytest.mark.parametrize("path", ["https://docs.example.com/guide/", "git+https://example.com/a.git"])
def test_what_the_library_reads_is_no_business_of_a_connector(path: str) -> None:
    """A web site and a repository may be kept from a language model, and have passages of another length, too."""
    said = {**KNOWN, ENCODER: "", "format": "okf"}
    assert said.keys() | {"required"} == LIBRARY_SETTINGS
    source = Source(source_id="a", path=path, settings=said)
    open_connector(source, readable=lambda name: True, parse=lambda *_: None)  # type: ignore[arg-type, return-value]
