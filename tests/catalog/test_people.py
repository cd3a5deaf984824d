"""People whom an issuer has told: written down once, found by the ids that records have."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from wenyuan.catalog.catalog import Catalog
from wenyuan.catalog.erased_texts import ErasedTexts
from wenyuan.core.person import Person, person_id, stands_for_itself
from wenyuan.core.redaction.erased_values import ErasedValues, values_of

ISSUER = "https://id.example.com/realms/acme"


@pytest.fixture
def catalog(tmp_path: Path):
    with closing(Catalog.create(tmp_path)) as made:
        yield made


def somebody(subject: str, name: str = "", issuer: str = ISSUER) -> Person:
    return Person(issuer=issuer, subject=subject, name=name, until=0.0)


def test_people_are_found_by_their_ids(catalog: Catalog) -> None:
    """All in the order of their ids, page by page, or those that are asked for; unknown ids are no people."""
    met = [somebody(f"u-{number}", f"Li {number}") for number in range(5)]
    for person in met:
        catalog.meet(person)
    ids = sorted(person.person_id for person in met)
    assert [one.person_id for one in catalog.people()] == ids
    assert [one.person_id for one in catalog.people(after=ids[1], limit=2)] == ids[2:4]
    (found,) = catalog.people([met[3].person_id, "person-" + "0" * 20])
    assert (found.issuer, found.subject, found.name) == (ISSUER, "u-3", "Li 3")
    assert catalog.people([]) == ()


def test_a_name_that_changes_is_written_anew(tmp_path: Path) -> None:
    """Somebody keeps their id under another name, also for a program that starts later."""
    with closing(Catalog.create(tmp_path)) as catalog:
        catalog.meet(somebody("u-li", "Li Ming"))
        (before,) = catalog.people()
    with closing(Catalog.open(tmp_path)) as catalog:
        catalog.meet(somebody("u-li", "Li Ming"))
        assert catalog.people() == (before,)
        catalog.meet(somebody("u-li", "Wang Ming"))
        (after,) = catalog.people()
        assert (after.person_id, after.name, after.first_seen) == (before.person_id, "Wang Ming", before.first_seen)


def test_who_is_known_costs_no_write(catalog: Catalog) -> None:
    """Who comes again under the same name is not looked up."""
    catalog.meet(somebody("u-li", "Li Ming"))
    with catalog.database.writing():  # nothing is waited for, though somebody else could not write now
        catalog.meet(somebody("u-li", "Li Ming"))
    assert len(catalog.people()) == 1


def test_an_id_is_of_issuer_and_subject() -> None:
    """The same subject of two issuers are two people, and no pair can be cut otherwise into the same id."""
    assert (
        len({person_id(ISSUER, "a"), person_id(ISSUER + "/", "a"), person_id(ISSUER, "A"), person_id(ISSUER, "")})
        == 4
    )


@pytest.mark.parametrize(
    "name", ["li", "Li", "李明", "研发部（北京）", "Domain Users", "é", "e\u0301", "/hr/a-b_c.d", "ñandú", "한국"]
)
def test_names_that_stand_for_themselves(name: str) -> None:
    """Ordinary names in any writing."""
    assert stands_for_itself(name)


@pytest.mark.parametrize(
    "name", ["ｌi", "①", "\u212aim", "boſs", "straße", "ﬁn", "𝐥𝐢", "ⅻ", "x²", "ㇱ".replace("ㇱ", "ｶ")]
)
def test_names_that_could_stand_for_others(name: str) -> None:
    """Letters and digits that lists of readers read as other ones."""
    assert not stands_for_itself(name)


def test_a_person_is_erased_from_it(catalog: Catalog) -> None:
    """What an id stands for goes where its person is forgotten; the id in records stays, and says nothing."""
    catalog.meet(somebody("li.ming@example.com", "Li Ming"))
    catalog.meet(somebody("u-wu", "Wu"))
    found = ErasedValues(b"key", values_of(b"key", ["Li Ming", "li.ming@example.com"]))
    assert ErasedTexts(catalog.database).mask(found) == {"people": 1}
    assert "Li Ming" not in {one.name for one in catalog.people()}
    assert "li.ming" not in str(catalog.people())
    assert len(catalog.people()) == 2
