"""The page of agents, keys, tasks and synonyms."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date, timedelta
from typing import Any

from starlette.responses import Response

from wenyuan.console.api import Refused
from wenyuan.console.forms import Form, read_form
from wenyuan.console.sign_in import begin_session
from wenyuan.console.visit import Page, Visit
from wenyuan.core.access import RIGHTS
from wenyuan.core.roles import ROLES
from wenyuan.runtime.local_time import day_begins

_SYNONYMS = 50  # of one page
_SIDE = 64
_BETWEEN = re.compile(r"[\n,，、;；]")  # one term and the next, however they were typed


def names_in(written: str) -> list[str]:
    """The names of readers in a field, however they are separated; a name has no space in it."""
    return [name for name in re.split(r"[\s,，、;；]+", written) if name]


async def list_people(visit: Visit) -> Response:
    """Agents, tasks, synonyms and keys."""
    group = visit.request.query_params.get("group", "")
    held = await visit.glance("v1", "groups", group) if group and "/" not in group else None
    if held is None:
        return await _people_page(visit)
    return await _people_page(visit, form=Form([("group", held["group"]), ("members", "\n".join(held["members"]))]))


async def _people_page(visit: Visit, status: int = 200, **shown: Any) -> Response:
    agents = await visit.glance("v1", "agents")
    tasks = await visit.glance("v1", "tasks")
    synonyms = await _synonyms(visit)
    keys = await visit.glance("v1", "keys")
    groups = await visit.glance("v1", "groups")
    await visit.learn_names(*(one["actor"] for one in (synonyms or {"synonyms": ()})["synonyms"]))
    if agents is None and keys is None:  # not even a part of the page: say which right is missing
        await visit.get("v1", "agents")
    sources = await visit.glance("v1", "sources")
    domains = sorted({source["domain"] for source in (sources or {"sources": ()})["sources"]})
    given = {"refused": None, "made": None, "form": Form([]), **shown}
    found = {
        "agents": agents,
        "tasks": tasks,
        "synonyms": synonyms,
        "keys": keys,
        "groups": groups,
        "domains": domains,
    }
    return visit.page("people.html", status, rights=RIGHTS, roles=ROLES, **found, **given)


async def agent_put(visit: Visit) -> Response:
    """Create or change an agent."""
    form = await read_form(visit.request)
    scope = [{"domain": domain, "top_k": form.number(f"top_k.{domain}") or 3} for domain in form.all("domain")]
    body: dict[str, Any] = {"agent_id": form["agent_id"], "title": form["title"], "knowledge_scope": scope}
    numbers = {name: form.number(name) for name in ("min_trust", "token_budget")}
    body |= {name: number for name, number in numbers.items() if number is not None}
    if form["allow_low_trust"] == "yes":
        body["allow_low_trust"] = True
    return await _after_change(visit, form, "POST", "agents", body=body)


async def agent_removed(visit: Visit) -> Response:
    """Remove an agent and revoke its keys, after confirmation."""
    return await _removed(visit, "agents", "agent_id")


async def task_put(visit: Visit) -> Response:
    """Create or change a task profile."""
    form = await read_form(visit.request)
    body: dict[str, Any] = {"profile_id": form["profile_id"], "title": form["title"], "domains": form.all("domain")}
    body |= {name: [one.strip() for one in _BETWEEN.split(form[name]) if one.strip()] for name in ("tasks", "terms")}
    return await _after_change(visit, form, "POST", "tasks", body=body)


async def task_removed(visit: Visit) -> Response:
    """Remove a task profile, after confirmation."""
    return await _removed(visit, "tasks", "profile_id")


async def _synonyms(visit: Visit) -> Any:
    """A page of synonyms that contain the search text; None where the key may not list them."""
    asked = Form(visit.request.query_params.multi_items())
    after = asked.number("after")
    containing = asked["containing"][:_SIDE]
    more = {} if after is None else {"after": after}
    found = await visit.glance("v1", "synonyms", limit=_SYNONYMS, containing=containing, **more)
    return None if found is None else {**found, "containing": containing}


async def synonym_put(visit: Visit) -> Response:
    """Add a synonym, or change its direction."""
    form = await read_form(visit.request)
    entry = {"term": form["term"], "synonym": form["synonym"], "direction": form["direction"] or "both"}
    return await _after_change(visit, form, "POST", "synonyms", body=entry)


async def synonym_removed(visit: Visit) -> Response:
    """Remove a synonym, after confirmation."""
    return await _removed(visit, "synonyms", "number")


async def key_made(visit: Visit) -> Response:
    """Create a key; its secret is shown only here."""
    form = await read_form(visit.request)
    body: dict[str, Any] = {"name": form["name"], "rights": form.all("right"), "groups": names_in(form["groups"])}
    if form["user"]:
        body["user"] = form["user"]
    if form.all("role"):
        body["roles"] = form.all("role")
    if form["agent_id"]:
        body["agent_id"] = form["agent_id"]
    if form["expires"]:
        try:
            last = date.fromisoformat(form["expires"])
            body["expires_at"] = day_begins(last + timedelta(days=1), visit.zone)
        except (ValueError, OverflowError):
            body["expires_at"] = form["expires"]  # for the API to refuse
    try:
        made = await visit.post("v1", "keys", body=body)
    except Refused as refused:
        return await _form_again(visit, form, refused)
    try:
        return await _people_page(visit, made=made)
    except Refused as refused:
        if refused.status != 401 or visit.token:
            raise
    # It is the first one: from now on every page needs a key. This one is shown, and its maker signed in with it.
    response = visit.page("key_made.html", made=made, admin="admin" in made["rights"])
    known = frozenset(RIGHTS if "admin" in made["rights"] else made["rights"])
    await begin_session(visit, response, made["key"], known)
    return response


async def key_changed(visit: Visit) -> Response:
    """Change as whom a key reads documents."""
    form = await read_form(visit.request)
    body = {"user": form["user"] or None, "groups": names_in(form["groups"])}
    return await _after_change(visit, form, "PATCH", "keys", form["key_id"], body=body)


async def group_put(visit: Visit) -> Response:
    """Say who is in a group."""
    form = await read_form(visit.request)
    return await _after_change(
        visit, form, "PUT", "groups", form["group"], body={"members": names_in(form["members"])}
    )


async def group_removed(visit: Visit) -> Response:
    """Remove a group, after confirmation."""
    form = await read_form(visit.request)
    if form["sure"] != "yes":
        return visit.see("/console/people")
    return await _after_change(visit, form, "PUT", "groups", form["group"], body={"members": []})


async def key_revoked(visit: Visit) -> Response:
    """Revoke a key, after confirmation."""
    form = await read_form(visit.request)
    if form["sure"] != "yes":
        return visit.see("/console/people")
    return await _after_change(visit, form, "DELETE", "keys", form["key_id"])


async def _removed(visit: Visit, kind: str, field: str) -> Response:
    """Delete the item named by a form field, after confirmation."""
    form = await read_form(visit.request)
    if form["sure"] != "yes":
        return visit.see("/console/people")
    return await _after_change(visit, form, "DELETE", kind, form[field])


async def _after_change(visit: Visit, form: Form, method: str, *segments: str, **asked: Any) -> Response:
    try:
        await visit.call(method, "v1", *segments, **asked)
    except Refused as refused:
        return await _form_again(visit, form, refused)
    return visit.see("/console/people")


async def _form_again(visit: Visit, form: Form, refused: Refused) -> Response:
    if refused.status not in (400, 403, 404, 409):
        raise refused
    return await _people_page(visit, refused.status, refused=refused, form=form)


PEOPLE_PAGES: Mapping[tuple[str, str], Page] = {
    ("GET", "people"): list_people,
    ("POST", "people/agents"): agent_put,
    ("POST", "people/agents/remove"): agent_removed,
    ("POST", "people/tasks"): task_put,
    ("POST", "people/tasks/remove"): task_removed,
    ("POST", "people/synonyms"): synonym_put,
    ("POST", "people/synonyms/remove"): synonym_removed,
    ("POST", "people/keys"): key_made,
    ("POST", "people/keys/change"): key_changed,
    ("POST", "people/keys/revoke"): key_revoked,
    ("POST", "people/groups"): group_put,
    ("POST", "people/groups/remove"): group_removed,
}
