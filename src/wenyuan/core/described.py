"""A source as it is written down: its fields by name, checked whole, whoever wrote them."""

from __future__ import annotations

import json
import os.path
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields, replace
from datetime import date
from pathlib import Path
from typing import Any

from wenyuan.core.copyright import parse_copyright
from wenyuan.core.errors import Fault, InvalidRequest
from wenyuan.core.model import Source
from wenyuan.core.refresh import parse_cycle
from wenyuan.core.secrecy import secret_faults, shown_settings
from wenyuan.core.suggest import did_you_mean
from wenyuan.core.text import fold
from wenyuan.core.uri import is_web_address
from wenyuan.core.validity import Validity, effective_ends, parse_date, parse_status

__all__ = ["described_anew", "is_source_id", "parse_source", "shown_source", "source_to_wire", "supersession_faults"]

_SENSITIVITIES = {
    "public": "public", "internal": "internal", "confidential": "confidential", "restricted": "restricted",
    "公开": "public", "内部": "internal", "机密": "confidential", "受限": "restricted",
}  # fmt: skip


def described_anew(known: Source, given: Source) -> Source:
    """A known source with what another description of it says; what that leaves at its default stays."""
    plain = Source(source_id=given.source_id)
    names = (field.name for field in fields(Source))
    said = {name: getattr(given, name) for name in names if getattr(given, name) != getattr(plain, name)}
    return replace(known, **said)


def source_to_wire(source: Source) -> dict[str, Any]:
    """A source's fields as they stand in a file; `parse_source` reads it back."""
    return {
        "source_id": source.source_id,
        "title": source.title,
        "type": source.type,
        "path": source.path,
        "trust_level": source.trust,
        "domain": source.domain,
        "collection": source.collection,
        "language": source.language,
        "refresh_cycle": source.refresh_cycle,
        "copyright": source.copyright,
        "owner": source.owner,
        "sensitivity": source.sensitivity,
        "tags": list(source.tags),
        "status": source.status,
        "effective_from": _iso(source.effective_from),
        "effective_until": _iso(source.effective_until),
        "supersedes": list(source.supersedes),
        "settings": dict(source.settings),
    }


def shown_source(source: Source) -> dict[str, Any]:
    """As `source_to_wire`, to be shown or exported: without the secrets that older settings may hold."""
    told = source_to_wire(source)
    return told | {"settings": shown_settings(source.settings)}


def _iso(day: date | None) -> str | None:
    return None if day is None else day.isoformat()


def parse_source(value: Mapping[str, Any], base: Path | None = None) -> Source:
    """A source from its wire form; null means not given.

    Args:
        value: ``trust`` is accepted for ``trust_level``, and fields of `Copyright` for ``copyright``.
        base: The folder from which a ``path`` is meant.

    Raises:
        InvalidRequest: listing every fault.
    """
    faults: list[Fault] = []
    fields: dict[str, Any] = {}
    spelled: dict[str, str] = {}
    for key, given in value.items():
        name = _NAMES.get(key)
        if name is None:
            faults.append(Fault(key, f"is no field of a source{did_you_mean(key, _NAMES)}"))
        elif name in spelled:
            faults.append(Fault(key, f"says the same as {spelled[name]}; write one of them"))
        elif given is not None:
            spelled[name] = key
            try:
                fields[name] = _absolute(given, base) if name == "path" else _READERS[name](given)
            except InvalidRequest as error:
                faults += error.faults
            except ValueError as error:
                faults.append(Fault(key, str(error)))
    if "source_id" not in spelled:
        faults.append(Fault("source_id", "is missing"))
    try:
        source = Source(**{"source_id": "unknown", **fields})
    except InvalidRequest as error:
        faults += [Fault(spelled.get(fault.path, fault.path), fault.message) for fault in error.faults]
    faults += _without_address(fields, spelled)
    if faults:
        raise InvalidRequest("; ".join(f"{f.path}: {f.message}" for f in faults), faults=tuple(faults))
    return source


def _without_address(fields: Mapping[str, Any], spelled: Mapping[str, str]) -> list[Fault]:
    if fields.get("type") != "api" or fields.get("settings", {}).get("url"):
        return []
    if "settings" in spelled and "settings" not in fields:  # they have a fault of their own
        return []
    return [Fault("settings.url", "is missing: a source of type api needs the address of its service")]


def is_source_id(text: str) -> bool:
    """Whether a source could have that id."""
    try:
        return bool(Source(source_id=text))
    except InvalidRequest:
        return False


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(f"must be text, not {_kind(value)}")
    return _storable(value)


def _storable(text: str) -> str:
    if "\0" in text or text.encode("utf-8", "replace").decode() != text:
        raise ValueError("holds what is no character")
    return text


def _kind(value: Any) -> str:
    words = {bool: "true or false", int: "a number", float: "a number", list: "a list", dict: "a mapping"}
    return words.get(type(value), "null")


def _texts(value: Any) -> tuple[str, ...]:
    if not isinstance(value, (list, tuple)) or not all(isinstance(item, str) for item in value):
        raise ValueError("must be a list of texts")
    return tuple(map(_storable, value))


def _given(value: Any) -> Any:
    return value


def _day(value: Any) -> date | None:
    if value == "":
        return None
    try:
        return parse_date(value)
    except ValueError as error:
        raise ValueError(f"{value!r} is no day of the calendar; write YYYY-MM-DD") from error


def _status(value: Any) -> str:
    return parse_status(_text(value))


def _sensitivity(value: Any) -> str:
    found = _SENSITIVITIES.get(fold(_text(value)).strip())
    if found is None:
        choices = ", ".join(dict.fromkeys(_SENSITIVITIES.values()))
        raise ValueError(f"is {value!r}; it must be one of {choices}{did_you_mean(value, _SENSITIVITIES)}")
    return found


def _cycle(value: Any) -> str:
    parse_cycle(_text(value))
    return str(value)


def _copyright(value: Any) -> str:
    terms = parse_copyright(value)
    return _text(value) if isinstance(value, str) else terms.short()


def _settings(value: Any) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise ValueError(f"must be a mapping, not {_kind(value)}")
    try:
        _storable(json.dumps(value, ensure_ascii=False, allow_nan=False))
    except (TypeError, ValueError) as error:
        raise ValueError("holds what JSON cannot say") from error
    if faults := secret_faults(value):
        raise InvalidRequest("; ".join(f"{f.path} {f.message}" for f in faults), faults=faults)
    return dict(value)


def _absolute(value: Any, base: Path | None) -> str:
    text = _text(value)
    if is_web_address(text):
        raise ValueError("is a web address; only files and folders of this machine are read")
    if text.startswith("~"):
        raise ValueError("begins with '~', which stands for another folder with every user; write it out")
    return os.path.normpath(base / text) if base is not None and text else text


_READERS: Mapping[str, Callable[[Any], Any]] = {
    "source_id": _text, "title": _text, "type": _text, "trust": _given, "domain": _text, "collection": _text,
    "language": _text, "owner": _text, "tags": _texts, "supersedes": _texts, "status": _status, "settings": _settings,
    "sensitivity": _sensitivity, "refresh_cycle": _cycle, "copyright": _copyright, "effective_from": _day,
    "effective_until": _day,
}  # fmt: skip
_NAMES: Mapping[str, str] = {"trust_level": "trust", "path": "path", **{name: name for name in _READERS}}


def supersession_faults(sources: Iterable[Source], others: Iterable[Source] = ()) -> tuple[Fault, ...]:
    """What is wrong with who supersedes whom: unknown ids and loops; the fault's path is the source's id.

    Args:
        others: Sources that may be named and may close a loop, whose own unknown ids are not our business.
    """
    first: dict[str, Source] = {}
    for source in sources:
        first.setdefault(source.source_id, source)
    rest = {source.source_id: source for source in others if source.source_id not in first}
    known = first.keys() | rest.keys()
    closed = [replace(s, supersedes=tuple(old for old in s.supersedes if old in known)) for s in rest.values()]
    try:
        effective_ends([_validity(source) for source in [*first.values(), *closed]], undated=date.min)
    except InvalidRequest as error:
        return error.faults
    return ()


def _validity(source: Source) -> Validity:
    return Validity(id=source.source_id, effective_from=source.effective_from, supersedes=source.supersedes)
