"""The redaction policy: what is done with each kind of value, by the sensitivity of the source.

==============================================  ======  ========  ============  ==========
kind                                            public  internal  confidential  restricted
==============================================  ======  ========  ============  ==========
secret                                          drop    drop      drop          drop
cn_id, bank_card, passport, hmt_permit, us_ssn  mask    mask      pseudonym     drop
id_number (of other countries, licences)        mask    mask      pseudonym     drop
iban                                            keep    mask      pseudonym     drop
cn_mobile, phone, email, im_account, plate      keep    mask      pseudonym     drop
person                                          keep    keep      pseudonym     drop
address, ip, cn_landline, cn_uscc               keep    keep      mask          drop
==============================================  ======  ========  ============  ==========

*public* has been published: only what never should have been is taken out. *internal* (the default) keeps who
is responsible for what, since people ask for that, and needs no key. *confidential* hides people but lets one
be followed from text to text: a pseudonym is still personal information (PIPL Art. 73) to anyone who has the key.
*restricted* keeps nothing.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal, get_args

from wenyuan.core.errors import ConfigError, Fault, InvalidRequest, listed, msg

RULES_VERSION = "18"
"""Version of the rules and of what they write; texts redacted by another one are redacted anew."""

Action = Literal["keep", "mask", "pseudonym", "drop"]
Level = Literal["public", "internal", "confidential", "restricted"]

LABELS: Mapping[str, str] = MappingProxyType(
    {
        "secret": "密钥",
        "cn_id": "身份证",
        "cn_uscc": "信用代码",
        "iban": "IBAN",
        "bank_card": "银行卡",
        "us_ssn": "SSN",
        "hmt_permit": "港澳台证件",
        "passport": "护照",
        "id_number": "证件",
        "cn_mobile": "手机",
        "email": "邮箱",
        "cn_landline": "座机",
        "phone": "电话",
        "ip": "IP",
        "plate": "车牌",
        "im_account": "社交账号",
        "address": "地址",
        "person": "姓名",
    }
)
"""The kinds of values, most specific first, and how a mark names each."""

ERASED_MARK = "⟦已删除⟧"
"""Stands in the place of a value that was erased at somebody's request."""
KINDS: tuple[str, ...] = tuple(LABELS)
LEVELS: tuple[Level, ...] = get_args(Level)
_ACTIONS: tuple[Action, ...] = get_args(Action)
_MIN_KEY = 16  # bytes; a shorter key can be guessed, and then so can the values

PART_OF: Mapping[str, str] = MappingProxyType({"id_number": "passport"})
"""Kinds that were a part of another one in policies of former versions, and have its action where none is named."""

_TABLE: Mapping[str, tuple[Action, Action, Action, Action]] = {
    "secret": ("drop", "drop", "drop", "drop"),
    **dict.fromkeys(
        ("cn_id", "bank_card", "passport", "id_number", "hmt_permit", "us_ssn"), ("mask", "mask", "pseudonym", "drop")
    ),
    **dict.fromkeys(
        ("iban", "cn_mobile", "phone", "email", "im_account", "plate"), ("keep", "mask", "pseudonym", "drop")
    ),
    "person": ("keep", "keep", "pseudonym", "drop"),
    **dict.fromkeys(("address", "ip", "cn_landline", "cn_uscc"), ("keep", "keep", "mask", "drop")),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class RedactionPolicy:
    """An action for every kind of value.

    Attributes:
        level: The level it started from.
        actions: One action for each of `KINDS`. Rules of kinds that are kept do not run.

    Raises:
        InvalidRequest: on construction, listing every fault.
    """

    level: Level
    actions: Mapping[str, Action]

    def __post_init__(self) -> None:
        faults = [Fault(f"actions.{kind}", "has no action") for kind in KINDS if kind not in self.actions]
        faults += _faults(self.level, self.actions)
        if faults:
            raise InvalidRequest(listed(faults), faults=tuple(faults))
        object.__setattr__(self, "actions", MappingProxyType({kind: self.actions[kind] for kind in KINDS}))

    @property
    def version(self) -> str:
        """One string that differs whenever another text would be written (but for the key, see `fingerprint`)."""
        said = ",".join(f"{kind}={action}" for kind, action in self.actions.items())
        return f"redact/{RULES_VERSION}:{self.level}:{hashlib.sha256(said.encode()).hexdigest()[:8]}"

    def fingerprint(self, key: bytes = b"") -> str:
        """`version`, and the name of the key where one is used: what a document's fingerprint holds."""
        if "pseudonym" not in self.actions.values():
            return self.version
        return f"{self.version}:{hmac.new(key, b'name of this key', 'sha256').hexdigest()[:8]}"

    def check_key(self, key: bytes) -> None:
        """Refuse to make pseudonyms without a key: numbers are few enough to hash them all.

        Raises:
            ConfigError: the policy makes pseudonyms and the key has less than 16 bytes.
        """
        if "pseudonym" in self.actions.values() and len(key) < _MIN_KEY:
            raise ConfigError(
                msg(
                    "the policy {level} makes pseudonyms: that needs a key of at least {min_key} bytes",
                    level=repr(self.level),
                    min_key=_MIN_KEY,
                ),
                component="redaction",
                hint="set a redaction key, or choose mask or drop instead of pseudonym",
            )


def policy_for(level: Level = "internal") -> RedactionPolicy:
    """The policy of a level, as the table above says."""
    column = LEVELS.index(level)
    return RedactionPolicy(level=level, actions={kind: row[column] for kind, row in _TABLE.items()})


def parse_policy(said: Mapping[str, Any]) -> RedactionPolicy:
    """A policy from ``{"level": "internal", "actions": {"person": "mask"}}``; both may be left out.

    Raises:
        InvalidRequest: listing every unknown name, level, kind and action.
    """
    level, actions = said.get("level", "internal"), said.get("actions", {})
    faults = [
        Fault(str(name), "is not known; say level or actions") for name in said if name not in {"level", "actions"}
    ]
    if not isinstance(actions, Mapping):
        faults.append(Fault("actions", "must be a table of kinds and actions"))
        actions = {}
    faults += _faults(level, actions)
    if faults:
        raise InvalidRequest(listed(faults), faults=tuple(faults))
    told = {kind: actions[whole] for kind, whole in PART_OF.items() if whole in actions} | dict(actions)
    return RedactionPolicy(level=level, actions={**policy_for(level).actions, **told})


def _faults(level: object, actions: Mapping[Any, object]) -> list[Fault]:
    faults = []
    if level not in LEVELS:
        faults.append(
            Fault("level", msg("is {level}; it must be one of {levels}", level=repr(level), levels=", ".join(LEVELS)))
        )
    for kind, action in actions.items():
        if kind not in LABELS:
            faults.append(
                Fault(f"actions.{kind}", msg("is no kind of value; kinds are {kinds}", kinds=", ".join(KINDS)))
            )
        if action not in _ACTIONS:
            faults.append(
                Fault(
                    f"actions.{kind}",
                    msg("is {action}; it must be one of {actions}", action=repr(action), actions=", ".join(_ACTIONS)),
                )
            )
    return faults
