"""Who erased and who holds is shown by name where an issuer has told it, as everywhere else."""

from __future__ import annotations

from pathlib import Path

import pytest

from command_line import run
from console_door import Browser
from signing_door import back, signing_console
from wenyuan.core.person import person_id


@pytest.mark.parametrize("language", ["en", "zh"])
def test_people_are_named(tmp_path: Path, language: str) -> None:
    """In the console, of erasures, holds and the plan that a hold forbids; by the command, too."""
    with signing_console(tmp_path, everyone=["administrator"]) as door:
        door.tokens._met = door.library.catalog.meet
        browser = Browser(door.url, language)
        back(door, browser)
        browser.post(
            "/console/erasures", {"kind": "source", "source_id": "wiki", "do": "hold", "reference": "case 7"}
        )
        target = {"kind": "person", "values": "欧阳雪松", "do": "erase", "sure": "yes", "reference": "no. 7"}
        assert browser.post("/console/erasures", target).status == 200
        plan = browser.post("/console/erasures", {"kind": "source", "source_id": "wiki", "do": "plan"})
        who = person_id(door.issuer.issuer, "u-li")
        assert who not in plan.text("main")
        assert plan.text("main").count("Li Ming") == 3
        for command in ("list", "holds"):
            told = run("--library", door.library.folder, "--lang", language, "forget", command).output
            assert ("Li Ming" in told, who in told) == (True, False)
        planned = run(
            "--library", door.library.folder, "--lang", language, "forget", "source", "wiki", "--plan"
        ).output
        assert "Li Ming" in planned
        certificate = door.library.erasures.certificate(door.library.erasures.list_all()[0].erasure_id)
        assert certificate["actor"] == who  # a name may change, and is kept beside
