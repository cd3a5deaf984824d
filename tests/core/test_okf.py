"""What the front matter of a concept says."""

from __future__ import annotations

from datetime import UTC, date, datetime

import pytest

from wenyuan.core.okf import (
    bundle_path,
    concept_facets,
    instant,
    is_concept,
    may_be_concept,
    stale_since,
    trust_tier,
    verifications,
)

CHANGED = datetime(2026, 6, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("value", "at"),
    [
        ("2026-06-30T14:00:00Z", datetime(2026, 6, 30, 14, tzinfo=UTC)),
        ("2026-06-30T14:00:00+08:00", datetime(2026, 6, 30, 6, tzinfo=UTC)),
        (date(2026, 6, 30), datetime(2026, 6, 30, tzinfo=UTC)),
        (datetime(2026, 6, 30, 1), datetime(2026, 6, 30, 1, tzinfo=UTC)),
        ("soon", None),
        (20260630, None),
        (None, None),
        ("0001-01-01T00:00:00+14:00", datetime(1, 1, 1, tzinfo=UTC)),
    ],
)
def test_points_in_time(value: object, at: datetime | None) -> None:
    """With an offset, and as of UTC without one; nothing else is one."""
    assert instant(value) == at


@pytest.mark.parametrize(
    ("verified", "tier"),
    [
        (None, "unverified"),
        ([{"by": "process:nightly", "at": "2026-06-02T00:00:00Z"}], "machine-confirmed"),
        ({"by": "human:li", "at": "2026-06-02T00:00:00Z"}, "human-reviewed"),
        (
            [{"by": "human:li", "at": "2026-05-02T00:00:00Z"}, {"by": "team:qa", "at": "2026-06-01T00:00:00Z"}],
            "machine-confirmed",
        ),
        ([{"by": "human:li", "at": "2026-05-02T00:00:00Z"}], "unverified"),
        ([{"by": "human:li"}], "unverified"),
        ([{"at": "2026-06-02T00:00:00Z"}, "human:li", 3], "unverified"),
    ],
)
def test_trust_is_what_was_verified_since_the_last_change(verified: object, tier: str) -> None:
    """By a person counts for more than by a program; a single event needs no list."""
    assert trust_tier(verifications({"verified": verified}), CHANGED) == tier


def test_without_a_known_change_every_verification_counts() -> None:
    """Also one that does not say when."""
    assert trust_tier(verifications({"verified": {"by": "human:li"}}), None) == "human-reviewed"


def test_what_a_concept_says_becomes_metadata() -> None:
    """Who made and verified it, its sources, and when it is stale, in one form."""
    facets, notes = concept_facets(
        {
            "type": "Policy",
            "generated": {"by": "agent/1", "at": "2026-06-01T00:00:00Z"},
            "verified": [{"by": "human:li", "at": "2026-06-02T00:00:00+00:00"}],
            "stale_after": date(2026, 7, 1),
            "sources": [{"title": "Handbook", "resource": "https://x.example/h"}, {"resource": "/a.md"}, 3],
        }
    )
    assert notes == ()
    assert facets == {
        "generated_by": "agent/1", "generated_at": "2026-06-01T00:00:00Z", "verified_by": "human:li",
        "verified_at": "2026-06-02T00:00:00Z", "trust_tier": "human-reviewed", "stale_after": "2026-07-01T00:00:00Z",
        "sources": "Handbook <https://x.example/h>, /a.md, 3",
    }  # fmt: skip


def test_a_file_without_a_type_says_nothing() -> None:
    """Its keys mean what they mean elsewhere."""
    assert concept_facets({"verified": {"by": "human:li"}, "stale_after": "x"}) == ({}, ())
    assert not is_concept({"type": " "})


def test_an_unreadable_end_counts_as_stale() -> None:
    """And is told."""
    facets, notes = concept_facets({"type": "Policy", "stale_after": "next summer"})
    assert stale_since(facets, CHANGED) == "unreadable"
    assert "next summer" in notes[0]


def test_content_is_stale_from_the_instant_on() -> None:
    """Not before."""
    facets = {"stale_after": "2026-06-01T00:00:00Z"}
    assert stale_since(facets, CHANGED) == "2026-06-01T00:00:00Z"
    assert stale_since(facets, datetime(2026, 5, 31, 23, 59, tzinfo=UTC)) is None
    assert stale_since({}, CHANGED) is None


def test_names_of_concepts_and_addresses_of_bundles() -> None:
    """Indexes and logs are none; an address is a path with the format before it."""
    assert [name for name in ("a.md", "B.MD", "index.md", "log.md", "a.py", "Index.md") if may_be_concept(name)] == [
        "a.md",
        "B.MD",
        "Index.md",
    ]
    assert bundle_path("okf:./a") == "./a"
    assert bundle_path("OKF:s3://b/c") == "s3://b/c"
    assert [bundle_path(text) for text in ("okf://host/a", "okf:", "./okf", "https://a")] == [None] * 4
