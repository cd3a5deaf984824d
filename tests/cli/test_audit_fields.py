"""Records of changes are shown in Chinese whatever their fields are called."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from command_line import HASHING, runner
from wenyuan.i18n.translation import texts


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        (("forget", "hold", "person", "欧阳雪松", "--reason", "case 7"), "原因: – → case 7"),
        (("group", "set", "hr", "user:li"), "移除"),
    ],
)
def test_a_field_that_is_called_like_a_message_is_shown(tmp_path: Path, words: tuple[str, ...], shown: str) -> None:
    """A hold's reason, and who was taken out of a group, in ``audit show``."""
    run = runner(tmp_path / "library", **HASHING)
    run("add", _docs(tmp_path), "--source", "docs")
    run(*words)
    if words[0] == "group":
        run("group", "remove", "hr", "user:li")
    kind = {"forget": "erasure"}.get(words[0], words[0])
    name = json.loads(run("audit", "list", "--kind", kind, "--json").stdout)["records"][0]["audit_id"]
    assert shown in run("--lang", "zh", "audit", "show", name).output


def test_names_of_fields_have_no_gaps() -> None:
    """What a field is called is said as it stands."""
    for language in ("en", "zh"):
        named = {key: text for key, text in texts("command_line", language).items() if key.startswith("field_")}
        assert len(named) >= 6
        assert not any("{" in text for text in named.values())


def _docs(folder: Path) -> Path:
    (folder / "docs").mkdir()
    (folder / "docs" / "a.md").write_text("# 投诉\n\n客户投诉应在 24 小时内答复。\n", "utf-8")
    return folder / "docs"
