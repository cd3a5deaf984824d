"""Restrictions of a question within the contract's ``context``: domain, filter, least trust, agent.

The contract lets a context have any keys. One that restricts what may be answered is applied; one that only looks like it
is refused, since an answer from everything would be taken for the restricted one.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from wenyuan.core.errors import ConfigError, Fault, InvalidRequest, RetrievalFailed, listed, msg
from wenyuan.core.filters import Filter, parse_filter
from wenyuan.core.misspelling import meant_by, plain
from wenyuan.core.model import Fragment

RESTRICTIONS = ("domain", "filter", "min_trust", "agent_id")
"""Keys of a context that restrict what is searched."""
KNOWN = (
    *RESTRICTIONS, "as_of", "source_document_uri", "task_id", "chapter", "engineering_type", "processes", "parameters",
    "rewrite", "history", "nearest", "abstain",
)  # fmt: skip
APPLIED = "restrictions"
"""Key of a fragment's metadata: the names of the restrictions that were applied."""
_LONGEST = 200

_MEANT: Mapping[str, str] = {
    **dict.fromkeys(("filters", "where", "metadatafilter", "metadatafilters", "metadatacondition", "metadataconditions", "searchfilter", "queryfilter", "filterby", "filterexpr", "filterexpression", "searchkwargs", "filterconditions", "conditions", "筛选", "过滤", "过滤条件"), "filter"),
    **dict.fromkeys(("source", "sources", "sourceid", "sourceids", "language", "languages", "collection", "collections", "documentids", "来源", "数据源", "语言"), "filter"),
    **dict.fromkeys(("domains", "knowledgedomain", "knowledgedomains", "knowledgescope", "domainid", "domainids", "scope", "namespace", "tenant", "tenantid", "knowledgebase", "kbid", "datasetid", "vectorstoreid", "领域", "知识域", "知识领域", "知识库"), "domain"),
    **dict.fromkeys(("agent", "acl", "permissions", "allowed", "智能体", "权限"), "agent_id"),
    **dict.fromkeys(("trust", "leasttrust", "minimumtrust", "trustlevel", "mintrustlevel", "可信度", "最低可信度", "信任度", "最低信任度"), "min_trust"),
    **dict.fromkeys(("topk", "limit", "maxresults", "maxfragments", "条数"), "max_results"),
    **dict.fromkeys(("date", "day", "asofdate", "effectiveon", "日期"), "as_of"),
    **dict.fromkeys(("onbehalfof", "actingfor", "actas", "代表谁"), "X-Wenyuan-On-Behalf-Of"),
    **dict.fromkeys(("minscore", "leastscore", "scorethreshold", "threshold", "similaritythreshold"), ""),
}  # fmt: skip
"""Names that restrict elsewhere, in lower case without separators → what says it here; ``""``: nothing does."""
REFUSED = tuple(_MEANT)
"""Keys of a context that are refused, in whatever case and with whatever separators they are written; so are misspellings."""
_PLAIN = {name.replace("_", ""): name for name in KNOWN}
_NARROWING = (*RESTRICTIONS, "as_of", "source_document_uri", "max_results")
"""What narrows a question here, and elsewhere under the same name."""
_TWO_AMISS = ("min_trust", "max_results")
"""Names in which two letters may be amiss, since no other word is as near."""
_CLEAR = 12  # letters of a name that is like no other, in Latin script
_NEAR: Mapping[str, str] = {
    **{short: name for short, name in _MEANT.items() if not short.isascii() or len(short) >= _CLEAR},
    **_PLAIN, "maxresults": "max_results",
}  # fmt: skip
"""Names without separators of which misspellings are found → what says it here."""
_AMISS = {short: 1 for short, name in _PLAIN.items() if name not in _TWO_AMISS}


@dataclass(frozen=True, slots=True, kw_only=True)
class Restrictions:
    """What a context restricts a question to, beyond the least trust, which every query has.

    Attributes:
        domain: Only sources of this knowledge domain; ``""`` for all.
        agent_id: Only what this agent may see; ``""`` for whoever asks.
        names: Which restrictions the context has.
    """

    domain: str = ""
    filter: Filter | None = None
    agent_id: str = ""
    names: tuple[str, ...] = ()


def restrictions_of(context: Mapping[str, Any] | None) -> Restrictions:
    """The restrictions that a context has.

    Raises:
        InvalidRequest: one cannot be applied, or another key looks like one; all faults are listed.
    """
    faults = faults_of(context or {})
    if faults:
        raise InvalidRequest(listed(faults), faults=tuple(faults))
    given = {name: value for name in RESTRICTIONS if (value := (context or {}).get(name)) is not None}
    return Restrictions(
        domain=given.get("domain", ""),
        filter=None if "filter" not in given else parse_filter(given["filter"]),
        agent_id=given.get("agent_id", ""),
        names=tuple(given),
    )


def faults_of(context: Mapping[str, Any]) -> list[Fault]:
    """What is wrong with the restrictions of a context, and keys that would restrict it elsewhere."""
    faults = []
    for name in ("domain", "agent_id"):
        value = context.get(name)
        if value is not None and not (isinstance(value, str) and 0 < len(value) <= _LONGEST and "\0" not in value):
            faults.append(Fault(f"context.{name}", msg("must be a string of 1 to {most_chars} characters", most_chars=_LONGEST)))  # fmt: skip
    if context.get("filter") is not None:
        try:
            parse_filter(context["filter"], "context.filter")
        except InvalidRequest as error:
            faults += error.faults or (Fault("context.filter", error.message),)
    return faults + [fault for key, value in context.items() if value is not None for fault in _misplaced(str(key))]


def _misplaced(key: str) -> Iterable[Fault]:
    """The fault of a key that would restrict a question elsewhere, and is not known here."""
    if key in KNOWN:
        return
    place, short = f"context.{key[:64]}", plain(key)
    meant = _PLAIN.get(short) or _MEANT.get(short)
    if meant is None:
        yield from _misspelt(key, place)
    elif meant == "":
        yield Fault(place, "looks like a restriction, and none here says it: leave it out")
    elif meant == "max_results":
        yield Fault(place, "looks like a restriction that is not known here; max_results stands beside context")
    elif meant == "as_of" or meant not in RESTRICTIONS:
        yield Fault(place, msg("is not known here; did you mean {known}?", known=meant))
    else:
        yield Fault(
            place, msg("looks like a restriction that is not known here; {known} is", known=f"context.{meant}")
        )


def _misspelt(key: str, place: str) -> Iterable[Fault]:
    """The fault of a key that is a misspelling of one that is known, or of one that would restrict a question elsewhere."""
    near = meant_by(key, _NEAR, most=_AMISS)
    if near is not None and _NEAR[near]:
        yield Fault(place, msg("is not known here; did you mean {known}?", known=_NEAR[near]))
    elif near is not None:
        yield Fault(place, "looks like a restriction, and none here says it: leave it out")


def misplaced_in(body: object, own: Collection[str], known: Mapping[str, str], path: str = "") -> list[Fault]:
    """Members of a body of another protocol that look like restrictions and are none of it: nothing would apply them.

    Args:
        own: The protocol's own members at this place.
        known: What of the protocol says a restriction, by the name that it has here.
        path: Of the body, for messages.
    """
    if not isinstance(body, Mapping):
        return []
    faults = []
    narrowing = {name.replace("_", ""): name for name in _NARROWING}
    members = {plain(name): name for name in own}
    for key, value in body.items():
        if value is None or key in own:
            continue
        place, short = f"{path}{str(key)[:64]}", plain(str(key))
        meant = narrowing.get(short, _MEANT.get(short))
        if meant is None:
            member = members.get(short) or members.get(meant_by(str(key), members) or "")
            near = None if member else meant_by(str(key), {**narrowing, **_NEAR}, most=_AMISS)
            if member:
                faults.append(Fault(place, msg("is not known here; did you mean {known}?", known=member)))
            meant = None if near is None else narrowing.get(near, _MEANT.get(near))
        if meant is None:
            continue
        said = known.get(meant or "least_score")
        if said is None:
            faults.append(Fault(place, "looks like a restriction, and none here says it: leave it out"))
        else:
            faults.append(
                Fault(place, msg("looks like a restriction that is not known here; {known} is", known=said))
            )
    return faults


def given_restrictions(**restrictions: Any) -> dict[str, Any]:
    """Those restrictions that are given."""
    return {name: value for name, value in restrictions.items() if value is not None}


def restricted(
    context: Mapping[str, Any] | None,
    *,
    domain: str | None = None,
    filter: Mapping[str, Any] | None = None,
    min_trust: int | None = None,
) -> Mapping[str, Any] | None:
    """A context with these restrictions in it.

    Whoever is asked may have keys of its own, which are passed on; a misspelling of one of these restrictions is none.

    Raises:
        InvalidRequest: it holds another value for one of them, or a key that is a misspelling of one.
    """
    if isinstance(context, Mapping) and (misspelt := list(_misspelt_keys(context))):
        raise InvalidRequest(listed(misspelt), faults=tuple(misspelt))
    given = given_restrictions(domain=domain, filter=filter, min_trust=min_trust)
    if not given:
        return context
    if context is not None and not isinstance(context, Mapping):
        raise InvalidRequest("context must be an object", faults=(Fault("context", "must be an object"),))
    faults = [
        Fault(name, msg("differs from {name}", name=f"context.{name}"))
        for name, value in given.items()
        if context and context.get(name) not in (None, value)
    ]
    if faults:
        raise InvalidRequest(listed(faults), faults=tuple(faults))
    return {**(context or {}), **given}


def _misspelt_keys(context: Mapping[str, Any]) -> Iterable[Fault]:
    """The faults of keys that are misspellings of restrictions, and no names that restrict at some other service."""
    known = {plain(name): name for name in RESTRICTIONS}
    for key, value in context.items():
        own = value is None or key in KNOWN or plain(str(key)) in _MEANT
        near = None if own else meant_by(str(key), known, most=_AMISS)
        if near is not None:
            place = f"context.{str(key)[:64]}"
            yield Fault(place, msg("is not known here; did you mean {known}?", known=known[near]))


def check_applied(fragments: Iterable[Fragment], names: Iterable[str], *, component: str) -> None:
    """Check that a service applied restrictions, as each of its fragments has to say (`APPLIED`).

    A service that keeps the contract may ignore keys of a context that it does not know.

    Raises:
        RetrievalFailed: a fragment does not say so.
    """
    wanted = set(names)
    for fragment in fragments if wanted else ():
        said = fragment.metadata.get(APPLIED)
        missing = wanted - set(map(str, said if isinstance(said, (list, tuple)) else ()))
        if missing:
            raise RetrievalFailed(
                msg("the service does not say that it applied {names}: what it gave is not to be used", names=", ".join(sorted(missing))),
                component=component, hint="it keeps the contract, but may not know this restriction",
            )  # fmt: skip


def refuse_options(service: object, options: Mapping[str, Any]) -> None:
    """Refuse options of a `Client` beside something that is asked without making one.

    Raises:
        ConfigError: there are any.
    """
    if given := [name for name, value in options.items() if value is not None]:
        raise ConfigError(
            msg("{names} cannot be applied to {kind}: it is for a service that is given by its URL", names=", ".join(given), kind=type(service).__name__)
        )  # fmt: skip
