"""Policies of redaction: levels, faults, versions, keys."""

from __future__ import annotations

import pytest

from wenyuan.core.errors import ConfigError, InvalidRequest
from wenyuan.core.redaction.policy import KINDS, LEVELS, RedactionPolicy, parse_policy, policy_for
from wenyuan.core.redaction.redact import redact

KEY = b"a key of this tenant, 32 bytes.."
PSEUDONYM = RedactionPolicy(level="restricted", actions=dict.fromkeys(KINDS, "pseudonym"))


def test_levels_keep_less_as_they_rise() -> None:
    """What a level keeps, all lower levels keep; secrets are kept by none."""
    kept = [{kind for kind, action in policy_for(level).actions.items() if action == "keep"} for level in LEVELS]
    assert kept[0] > kept[1] > kept[2] >= kept[3] == set()
    text = "联系人：张三，13800138000，密码：Abc@12345"
    assert redact(text, policy_for("public")).text == "联系人：张三，13800138000，密码：⟦密钥⟧"
    assert redact(text, policy_for("internal")).text == "联系人：张三，138****8000，密码：⟦密钥⟧"
    assert redact(text, policy_for("restricted")).text == "联系人：⟦姓名⟧，⟦手机⟧，密码：⟦密钥⟧"


def test_a_policy_names_all_its_faults() -> None:
    """A policy that cannot be read is refused with every fault and its path."""
    with pytest.raises(InvalidRequest) as caught:
        parse_policy(
            {"level": "cosy", "action": {}, "actions": {"person": "hide", "shoe_size": "drop", "ip": ["drop"]}}
        )
    assert {fault.path for fault in caught.value.faults} == {
        "level",
        "action",
        "actions.person",
        "actions.shoe_size",
        "actions.ip",
    }
    with pytest.raises(InvalidRequest, match="must be a table"):
        parse_policy({"actions": ["drop"]})
    with pytest.raises(InvalidRequest, match=r"actions\.person has no action"):
        RedactionPolicy(level="public", actions={k: "keep" for k in KINDS if k != "person"})
    with pytest.raises(InvalidRequest, match="level"):
        parse_policy({"level": ["public"]})


def test_a_version_tells_policies_apart() -> None:
    """The version differs with the level and with each action, and the fingerprint with the key where it matters."""
    versions = {policy_for(level).version for level in LEVELS} | {
        parse_policy({"actions": {"person": "mask"}}).version
    }
    assert len(versions) == 5
    assert parse_policy({}).version == policy_for("internal").version
    assert policy_for("internal").fingerprint(KEY) == policy_for("internal").version
    assert PSEUDONYM.fingerprint(KEY) != PSEUDONYM.fingerprint(KEY[::-1])


def test_a_pseudonym_needs_a_key() -> None:
    """Without a key of 16 bytes no pseudonym is made: hashes of all numbers could be compared."""
    with pytest.raises(ConfigError, match="16 bytes"):
        redact("nothing to see", PSEUDONYM, b"short")
    assert redact("13800138000", policy_for("internal")).text == "138****8000"


def test_a_kind_that_was_a_part_of_another_one_has_its_action() -> None:
    """Who had passports dropped has identity numbers of other countries dropped, unless another action is named for these."""
    told = {"level": "public", "actions": {"passport": "drop"}}
    assert parse_policy(told).actions["id_number"] == "drop"
    assert parse_policy({**told, "actions": {"passport": "drop", "id_number": "mask"}}).actions["id_number"] == "mask"
    assert parse_policy({"level": "public"}).actions["id_number"] == policy_for("public").actions["passport"]
