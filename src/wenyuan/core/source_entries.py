"""Parsing and writing of source entries: all fields are validated, whatever their origin."""

from __future__ import annotations

import json
import os.path
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields, replace
from datetime import date
from pathlib import Path
from typing import Any

from wenyuan.core.connectors import LIBRARY_SETTINGS
from wenyuan.core.cycles import parse_cycle
from wenyuan.core.errors import Fault, InvalidRequest, did_you_mean, listed, msg, said_by
from wenyuan.core.model import Source
from wenyuan.core.okf import FORMAT, bundle_path
from wenyuan.core.remote_addresses import checked_address, is_remote
from wenyuan.core.secret_settings import secret_faults, shown_settings
from wenyuan.core.source_readers import READERS, parse_source_readers
from wenyuan.core.terms_of_use import parse_copyright
from wenyuan.core.text.folding import fold
from wenyuan.core.text.token_meter import MAX_TOKENS, TARGET_TOKENS
from wenyuan.core.validity import Validity
from wenyuan.core.validity_dates import parse_date, parse_status
from wenyuan.core.validity_ends import effective_ends
from wenyuan.core.vector_files import FORMAT as VECTORS

_SENSITIVITIES = {
    "public": "public", "internal": "internal", "confidential": "confidential", "restricted": "restricted",
    "公开": "public", "内部": "internal", "机密": "confidential", "受限": "restricted",
}  # fmt: skip


_ORDER = ("public", "internal", "confidential", "restricted")
PASSAGE_SIZE = "passage_size"
"""Setting of a source: about how long the parts of a long section become."""
LEAST_TOKENS, MOST_TOKENS = 64, MAX_TOKENS
MODEL = "llm"
"""The setting of a source that says whether a language model may be shown its texts: ``allow`` or ``deny``; or what it is to
do with them: ``{context: true}`` for context sentences, which it may be shown them for."""
_MODEL_CHOICES = ("allow", "deny")
_CONTEXT = "context"


def kept_from_model(source: Source, most: str) -> str:
    """Why a language model may not see a source's texts: ``denied`` or ``sensitivity``; ``""`` where it may.

    Args:
        most: The highest sensitivity that it may be shown.
    """
    told = source.settings.get(MODEL, "allow")
    if told != "allow" and not isinstance(told, Mapping):
        return "denied"
    return "sensitivity" if _ORDER.index(source.sensitivity) > _ORDER.index(most) else ""


def wants_context(source: Source) -> bool:
    """Whether a language model is to say of a source's passages where they stand; see `core.answering`."""
    told = source.settings.get(MODEL)
    return isinstance(told, Mapping) and told.get(_CONTEXT) is True


def with_context_wanted(source: Source, wanted: bool) -> dict[str, Any]:
    """A source's settings with context sentences switched on or off.

    Raises:
        InvalidRequest: they are wanted of a source that no model may be shown.
    """
    kept = source.settings.get(MODEL)
    if wanted and kept == "deny":
        said = msg(
            "the source {source} may not be shown to a language model: it says llm: deny",
            source=repr(source.source_id),
        )
        raise InvalidRequest(said, faults=(Fault(f"settings.{MODEL}", said),))
    rest = {name: value for name, value in source.settings.items() if name != MODEL}
    if wanted:
        return {**rest, MODEL: {_CONTEXT: True}}
    return rest if isinstance(kept, Mapping) or kept is None else {**rest, MODEL: kept}


def described_anew(known: Source, given: Source) -> Source:
    """A registered source updated with the non-default fields of another description."""
    plain = Source(source_id=given.source_id)
    names = (field.name for field in fields(Source))
    said = {name: getattr(given, name) for name in names if getattr(given, name) != getattr(plain, name)}
    return replace(known, **said)


def source_to_wire(source: Source) -> dict[str, Any]:
    """A source's fields as in a file; the inverse of `parse_source`."""
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
    """As `source_to_wire`, for display and export: secrets in older settings are masked."""
    told = source_to_wire(source)
    return told | {"settings": shown_settings(source.settings)}


def _iso(day: date | None) -> str | None:
    return None if day is None else day.isoformat()


def parse_source(value: Mapping[str, Any], base: Path | None = None) -> Source:
    """Parse a source; null means not given.

    Args:
        value: ``trust`` is accepted for ``trust_level``, and fields of `Copyright` for ``copyright``.
        base: The folder that a relative ``path`` is resolved against.

    Raises:
        InvalidRequest: listing every fault.
    """
    faults: list[Fault] = []
    fields: dict[str, Any] = {}
    spelled: dict[str, str] = {}
    value = _of_bundle(value)
    for key, given in value.items():
        name = _NAMES.get(key)
        if name is None:
            faults.append(Fault(key, msg("is no field of a source{near}", near=did_you_mean(key, _NAMES))))
        elif name in spelled:
            faults.append(Fault(key, msg("says the same as {spelled}; write one of them", spelled=spelled[name])))
        elif given is not None:
            spelled[name] = key
            try:
                fields[name] = _absolute(given, base) if name == "path" else _READERS[name](given)
            except InvalidRequest as error:
                faults += error.faults
            except ValueError as error:
                faults.append(Fault(key, said_by(error)))
    if "source_id" not in spelled:
        faults.append(Fault("source_id", "is missing"))
    try:
        source = Source(**{"source_id": "unknown", **fields})
    except InvalidRequest as error:
        faults += [Fault(spelled.get(fault.path, fault.path), fault.message) for fault in error.faults]
    faults += _without_address(fields, spelled) + _unenforced(fields) + _never_read(fields)
    if faults:
        raise InvalidRequest(listed(faults, "{place}: {fault}"), faults=tuple(faults))
    return source


def _of_bundle(value: Mapping[str, Any]) -> Mapping[str, Any]:
    """An entry whose path is ``okf:PATH`` with the path alone, and what it says in its settings."""
    path = bundle_path(given) if isinstance(given := value.get("path"), str) else None
    settings = value.get("settings") or {}
    if path is None or not isinstance(settings, Mapping):
        return value
    return {**value, "path": path, "settings": {**settings, "format": FORMAT}}


def _without_address(fields: Mapping[str, Any], spelled: Mapping[str, str]) -> list[Fault]:
    if fields.get("type") != "api" or fields.get("settings", {}).get("url"):
        return []
    if "settings" in spelled and "settings" not in fields:  # they have a fault of their own
        return []
    return [Fault("settings.url", "is missing: a source of type api needs the address of its service")]


def _unenforced(fields: Mapping[str, Any]) -> list[Fault]:
    """Readers of documents that lie elsewhere could not be enforced."""
    if fields.get("type", "static_doc") == "static_doc" or fields.get("settings", {}).get(READERS) is None:
        return []
    why = "cannot be applied to a source that is asked elsewhere: give its domain to no agent that may not see all of it"
    return [Fault(f"settings.{READERS}", why)]


def _never_read(fields: Mapping[str, Any]) -> list[Fault]:
    """Settings of a folder, a file or uploads that nothing reads. Connectors, services and indexes check their own."""
    if fields.get("type", "static_doc") != "static_doc" or is_remote(fields.get("path", "")):
        return []
    return [
        Fault(
            f"settings.{name}",
            msg("is no setting of a folder, a file or uploads{near}", near=did_you_mean(name, LIBRARY_SETTINGS)),
        )
        for name in fields.get("settings", {})
        if name not in LIBRARY_SETTINGS
    ]


def is_source_id(text: str) -> bool:
    """Whether a text is a valid source id."""
    try:
        return bool(Source(source_id=text))
    except InvalidRequest:
        return False


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(msg("must be text, not {value}", value=_kind(value)))
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


def _as_given(value: Any) -> Any:
    return value


def _day(value: Any) -> date | None:
    if value == "":
        return None
    try:
        return parse_date(value)
    except ValueError as error:
        raise ValueError(msg("{value} is no day of the calendar; write YYYY-MM-DD", value=repr(value))) from error


def _status(value: Any) -> str:
    return parse_status(_text(value))


def _sensitivity(value: Any) -> str:
    found = _SENSITIVITIES.get(fold(_text(value)).strip())
    if found is None:
        choices = ", ".join(dict.fromkeys(_SENSITIVITIES.values()))
        raise ValueError(
            msg(
                "is {value}; it must be one of {choices}{near}",
                value=repr(value),
                choices=choices,
                near=did_you_mean(value, _SENSITIVITIES),
            )
        )
    return found


def _cycle(value: Any) -> str:
    parse_cycle(_text(value))
    return str(value)


def _copyright(value: Any) -> str:
    terms = parse_copyright(value)
    return _text(value) if isinstance(value, str) else terms.short()


def _settings(value: Any) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise ValueError(msg("must be a mapping, not {value}", value=_kind(value)))
    try:
        _storable(json.dumps(value, ensure_ascii=False, allow_nan=False))
    except (TypeError, ValueError) as error:
        raise ValueError("holds what JSON cannot say") from error
    if faults := secret_faults(value):
        raise InvalidRequest(listed(faults), faults=faults)
    if value.get("format", FORMAT) not in (FORMAT, VECTORS):
        known = f"{FORMAT}, {VECTORS}"
        said = msg("must be {known}, or not be there; it is {value}", known=known, value=repr(value["format"]))
        raise InvalidRequest(listed([fault := Fault("settings.format", said)]), faults=(fault,))
    told = value.get(MODEL, "allow")
    switch = isinstance(told, Mapping) and told.keys() == {_CONTEXT} and isinstance(told[_CONTEXT], bool)
    if told not in _MODEL_CHOICES and not switch:
        said = msg("must be allow, deny, or a mapping with context: true or false, not {value}", value=repr(told))
        raise InvalidRequest(listed([fault := Fault(f"settings.{MODEL}", said)]), faults=(fault,))
    if value.get(READERS) is not None:
        parse_source_readers(value[READERS])
    passage_size(value)
    return dict(value)


def passage_size(settings: Mapping[str, Any]) -> int:
    """About how long the parts of a long section become, as a source's settings say it.

    Raises:
        InvalidRequest: it is out of bounds.
    """
    told = settings.get(PASSAGE_SIZE, TARGET_TOKENS)
    if type(told) is not int or not LEAST_TOKENS <= told <= MOST_TOKENS:
        said = msg("must be a whole number from {least} to {most}", least=LEAST_TOKENS, most=MOST_TOKENS)
        raise InvalidRequest(listed([fault := Fault(f"settings.{PASSAGE_SIZE}", said)]), faults=(fault,))
    return told


def _absolute(value: Any, base: Path | None) -> str:
    text = _text(value)
    if is_remote(text):
        return checked_address(text)
    if text.startswith("~"):
        raise ValueError("begins with '~', which stands for another folder with every user; write it out")
    return os.path.normpath(base / text) if base is not None and text else text


_READERS: Mapping[str, Callable[[Any], Any]] = {
    "source_id": _text, "title": _text, "type": _text, "trust": _as_given, "domain": _text, "collection": _text,
    "language": _text, "owner": _text, "tags": _texts, "supersedes": _texts, "status": _status, "settings": _settings,
    "sensitivity": _sensitivity, "refresh_cycle": _cycle, "copyright": _copyright, "effective_from": _day,
    "effective_until": _day,
}  # fmt: skip
_NAMES: Mapping[str, str] = {"trust_level": "trust", "path": "path", **{name: name for name in _READERS}}


def supersession_faults(sources: Iterable[Source], others: Iterable[Source] = ()) -> tuple[Fault, ...]:
    """Faults in which sources supersede which: unknown ids and loops; the fault's path is the source's id.

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
