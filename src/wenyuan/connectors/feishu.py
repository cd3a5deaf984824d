"""Feishu (Lark) documents: a wiki space or a drive folder, read as Markdown.

The reference for connectors of services with an API of their own: a token, pages, a rate limit. What is asked for is
described at open.feishu.cn: ``auth/v3``, ``wiki/v2/spaces/:id/nodes``, ``drive/v1/files``, ``docx/v1/documents/:id/blocks``,
``drive/v1/permissions/:token/members`` and ``…/public``.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator, Mapping, MutableSequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, unquote, urlencode, urlsplit

from pydantic import Field

from wenyuan.connectors.connector_settings import ConnectorSettings
from wenyuan.connectors.http_client import HttpClient
from wenyuan.core.connectors import LIBRARY_SETTINGS, MOST_BYTES, Entry, Known, ListingCut, Opening
from wenyuan.core.errors import ConfigError, DocumentRejected, SourceError, msg
from wenyuan.core.principals import EVERYONE, AccessList, parse_access_list, parse_name
from wenyuan.settings import VariableName, declared

_SERVICES = {"feishu": "https://open.feishu.cn", "lark": "https://open.larksuite.com"}
_PLACES = {"feishu": "https://feishu.cn", "lark": "https://larksuite.com"}
_MOST_ANSWER = 20 << 20
MOST_DEPTH = 50
_MOST_BLOCKS = 4 * MOST_BYTES  # bytes of the answers with a document's blocks
_PAGES_OF_A_DOCUMENT = 500
_SPARE_PAGES = 1_000
_TOO_OFTEN = 99991400  # the code of a rate limit, with HTTP 400
_TOKEN_GONE = (99991661, 99991663, 99991664, 99991668)  # missing, wrong or run out
_NOT_FOUND = (1770002, 1770003, 131005, 1061003, 1061007)
_WAITS = (1.0, 2.0, 4.0)
_TOKEN = re.compile(r"[A-Za-z0-9_\-]{1,128}")
COVERED = (
    4  # times that a cell may be covered on average: cells of a sound table are covered once, and say so themselves
)
_PEOPLE = ("openid", "userid", "unionid", "email")
_GROUPS = ("openchat", "opendepartmentid", "groupid", "wikispaceid")
_LINKS = ("tenant_readable", "tenant_editable", "anyone_readable", "anyone_editable")
"""What a document's link lets whoever in the organisation has it do: read it, or more."""
MOST_LABEL = 500  # characters of a cell's text that is repeated


class FeishuSettings(ConnectorSettings):
    """Settings of a Feishu source.

    Attributes:
        app_id: Of the app that reads, which must have been given the space or folder.
        app_secret_env: The environment variable of its secret.
        endpoint: The address of the API, where it is another than that of the service.
        site: The address under which people open documents, as ``https://example.feishu.cn``.
        max_documents: Documents that are listed in one run; about as many pages of folders are asked for.
        max_minutes: Minutes that one listing may take.
        link_readers: Whether everybody counts as a reader of what the organisation may read by its link, where the source's
            readers come from permissions; else only those count with whom it is shared by name.
    """

    app_id: str = Field(max_length=200)
    app_secret_env: VariableName
    endpoint: str = ""
    site: str = ""
    max_documents: int = Field(default=10_000, ge=1, le=1_000_000)
    max_minutes: float = Field(default=120.0, gt=0, le=1_440)
    link_readers: bool = False


def open_feishu(opening: Opening) -> FeishuDocuments:
    """Open a space (``feishu://wiki/SPACE_ID``) or a folder (``feishu://folder/TOKEN``); ``lark://`` is the same."""
    settings = declared(FeishuSettings, opening.source, apart=LIBRARY_SETTINGS)
    parts = urlsplit(opening.url)
    kind, token = parts.netloc, unquote(parts.path).strip("/")
    if kind not in ("wiki", "folder") or not _TOKEN.fullmatch(token):
        raise ConfigError(
            msg("the address must be {scheme}://wiki/SPACE_ID or {scheme}://folder/TOKEN", scheme=parts.scheme),
            component=opening.component,
        )
    place = _Place(
        wiki=kind == "wiki",
        token=token,
        endpoint=(settings.endpoint or _SERVICES[parts.scheme]).rstrip("/"),
        site=(settings.site or _PLACES[parts.scheme]).rstrip("/"),
    )
    return FeishuDocuments(opening, settings, place, opening.secret(settings.app_secret_env))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Place:
    wiki: bool
    token: str
    endpoint: str
    site: str


class FeishuDocuments:
    """The documents of a space or folder; made by `open_feishu`."""

    def __init__(self, opening: Opening, settings: FeishuSettings, place: _Place, secret: str) -> None:
        self._component, self._readable, self._parse = opening.component, opening.readable, opening.parse
        self._settings, self._place, self._secret = settings, place, secret
        self._client = HttpClient(opening, timeout=settings.timeout)
        self._token, self._until = "", 0.0
        self._too_deep = ""  # the last folder that was not looked into
        self._pages_left, self._ends, self._heard = 0, 0.0, 0

    def list(self, known: Known) -> Iterator[Entry]:
        """Documents and files, depth first; editing changes an entry's version."""
        self._pages_left = self._settings.max_documents + _SPARE_PAGES
        self._ends = time.monotonic() + self._settings.max_minutes * 60
        found = self._nodes() if self._place.wiki else self._files()
        for count, entry in enumerate(found):
            if count >= self._settings.max_documents:
                raise ListingCut(
                    msg("stopped after {count} documents (settings.max_documents)", count=count),
                    component=self._component,
                )
            yield entry
        if self._too_deep:
            raise ListingCut(
                msg(
                    "folders more than {depth} deep were not looked into, {name} for one",
                    depth=MOST_DEPTH,
                    name=self._too_deep,
                ),
                component=self._component,
            )

    def fetch(self, entry: Entry, most: int) -> bytes:
        """A document as Markdown, or an uploaded file unchanged."""
        kind, _, token = entry.key.partition("/")
        if kind == "file":
            return self._downloaded(token, most, entry.name)
        if kind != "docx" or not _TOKEN.fullmatch(token):
            raise DocumentRejected("it is no longer there", component=entry.name)
        path = f"/open-apis/docx/v1/documents/{quote(token)}/blocks"
        blocks = list(self._pages(path, {"page_size": "500"}, "items", entry.name))
        said = json.dumps(blocks).encode()
        content = str(
            self._parse("wenyuan.connectors.feishu_markdown:markdown_of_answer", said, name=entry.name)
        ).encode()
        if len(content) > most:
            raise DocumentRejected(msg("it is larger than {most} bytes", most=f"{most:,}"), component=entry.name)
        return content

    def permissions(self, entry: Entry) -> AccessList:
        """With whom a document is shared: people as ``user:`` with their id or address, groups, departments and chats as
        ``group:``. An app is nobody.

        Raises:
            SourceError, DocumentRejected: it cannot be told.
        """
        kind, _, token = entry.key.partition("/")
        if self._place.wiki:  # what a page of a space inherits is told of its node
            kind, token = "wiki", unquote(entry.uri.rpartition("/")[2])
        if not _TOKEN.fullmatch(token):
            raise DocumentRejected("it is no longer there", component=entry.name)
        path = f"/open-apis/drive/v1/permissions/{quote(token)}"
        names = set()
        for member in self._pages(f"{path}/members", {"type": kind}, "items", entry.name):
            sort, name = member.get("member_type"), member.get("member_id")
            if sort == "appid":
                continue
            if sort not in (*_PEOPLE, *_GROUPS) or not isinstance(name, str):
                raise self._strange()
            names.add(parse_name(f"{'user' if sort in _PEOPLE else 'group'}:{name}", "member_id"))
        if self._settings.link_readers:
            told = self._call(f"{path}/public?{urlencode({'type': kind})}", entry.name).get("permission_public")
            if not isinstance(told, dict) or not isinstance(told.get("link_share_entity"), str):
                raise self._strange()
            names |= {EVERYONE} if told["link_share_entity"] in _LINKS else set()
        return parse_access_list({"readers": sorted(names)})

    def close(self) -> None:
        self._client.close()

    # -- what there is -----------------------------------------------------------------------------------

    def _nodes(self) -> Iterator[Entry]:
        path = f"/open-apis/wiki/v2/spaces/{quote(self._place.token)}/nodes"
        todo: list[tuple[str, int]] = [("", 0)]
        seen: set[str] = set()
        while todo:
            parent, depth = todo.pop()
            said = {"page_size": "50"} | ({"parent_node_token": parent} if parent else {})
            for node in self._pages(path, said, "items"):
                name = str(node.get("node_token", ""))
                if not name or name in seen:
                    continue
                seen.add(name)
                if node.get("has_child"):
                    self._go_down(todo, name, depth)
                if node.get("obj_type") in ("docx", "file"):
                    uri = f"{self._place.site}/wiki/{quote(name)}"
                    yield self._entry(
                        node["obj_type"], node.get("obj_token"), node.get("title"), uri, node.get("obj_edit_time")
                    )

    def _files(self) -> Iterator[Entry]:
        todo: list[tuple[str, int]] = [(self._place.token, 0)]
        seen = {self._place.token}
        while todo:
            folder, depth = todo.pop()
            for file in self._pages(
                "/open-apis/drive/v1/files", {"folder_token": folder, "page_size": "200"}, "files"
            ):
                kind, token = file.get("type"), str(file.get("token", ""))
                if kind == "folder" and token not in seen:
                    seen.add(token)
                    self._go_down(todo, token, depth)
                elif kind in ("docx", "file"):
                    uri = str(file.get("url") or f"{self._place.site}/{kind}/{quote(token)}").partition("#")[0]
                    yield self._entry(kind, token, file.get("name"), uri, file.get("modified_time"))

    def _go_down(self, todo: MutableSequence[tuple[str, int]], name: str, depth: int) -> None:
        if depth < MOST_DEPTH:
            todo.append((name, depth + 1))
        else:
            self._too_deep = name

    def _entry(self, kind: str, token: Any, title: Any, uri: str, edited: Any) -> Entry:
        if not isinstance(token, str) or not _TOKEN.fullmatch(token):
            raise SourceError("the answer names a document without a token", component=self._component)
        plain = re.sub(r"[\x00-\x1f/\\]", "_", str(title or token))[:200]
        version = str(edited) if edited else ""
        moment = float(version) if version.isdecimal() else None
        return Entry(
            key=f"{kind}/{token}",
            uri=uri,
            name=f"{plain}.md" if kind == "docx" else plain,
            version=version,
            modified=moment,
        )

    # -- the API -----------------------------------------------------------------------------------------

    def _pages(self, path: str, said: Mapping[str, str], name: str, document: str = "") -> Iterator[dict[str, Any]]:
        """The items of all pages of a paginated answer."""
        token, self._heard = "", 0
        seen: set[str] = set()
        while True:
            self._check(len(seen), document)
            asked = dict(said) | ({"page_token": token} if token else {})
            data = self._call(f"{path}?{urlencode(asked)}", document)
            items = data.get(name)
            items = [] if items is None else items
            if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
                raise self._strange()
            yield from items
            if not data.get("has_more"):
                return
            token = str(data.get("page_token") or data.get("next_page_token") or "")
            if not token:
                raise self._strange()
            if token in seen:
                raise SourceError("the answer's pages go round in a circle", component=self._component)
            seen.add(token)

    def _check(self, pages: int, document: str) -> None:
        """Whether one more page may be asked for: of a document, or else of the listing."""
        if document:
            if pages >= _PAGES_OF_A_DOCUMENT or self._heard > _MOST_BLOCKS:
                raise DocumentRejected(
                    msg("it is larger than {most} bytes", most=f"{MOST_BYTES:,}"), component=document
                )
            return
        self._pages_left -= 1
        if self._pages_left < 0:
            told = msg(
                "stopped after {count} pages of folders (settings.max_documents)",
                count=self._settings.max_documents + _SPARE_PAGES,
            )
            raise ListingCut(told, component=self._component)
        if time.monotonic() > self._ends:
            told = msg(
                "stopped after {count} minutes (settings.max_minutes)", count=f"{self._settings.max_minutes:g}"
            )
            raise ListingCut(told, component=self._component)

    def _call(self, path: str, document: str) -> dict[str, Any]:
        for wait in (*_WAITS, None):
            answer = self._client.get(self._place.endpoint + path, _MOST_ANSWER, self._authorised())
            self._heard += len(answer.body)
            told = self._object(answer.body)
            code = told.get("code")
            if answer.status == 200 and code == 0:
                if not isinstance(data := told.get("data"), dict):
                    raise self._strange()
                return data
            if code in _TOKEN_GONE and self._token and wait is not None:
                self._token = ""
            elif (code == _TOO_OFTEN or answer.status == 429) and wait is not None:
                time.sleep(wait)
            else:
                break
        if document and (code in _NOT_FOUND or answer.status in (403, 404)):
            raise DocumentRejected(msg("it may not be read, or is gone (code {code})", code=code), component=document)
        raise SourceError(
            msg("the service answered HTTP {status}, code {code}", status=answer.status, code=code),
            component=self._component,
            hint="has the app been given the space or folder, and the right to read documents?" if code else "",
        )

    def _downloaded(self, token: str, most: int, name: str) -> bytes:
        url = f"{self._place.endpoint}/open-apis/drive/v1/files/{quote(token)}/download"
        answer = self._client.get(url, most, self._authorised())
        if answer.status != 200:
            raise DocumentRejected(msg("the server answered HTTP {status}", status=answer.status), component=name)
        return answer.body

    def _authorised(self) -> dict[str, str]:
        if not self._token or time.monotonic() >= self._until:
            url = f"{self._place.endpoint}/open-apis/auth/v3/tenant_access_token/internal"
            answer = self._client.post(url, {"app_id": self._settings.app_id, "app_secret": self._secret}, 1 << 20)
            told = self._object(answer.body)
            token, expire = told.get("tenant_access_token"), told.get("expire")
            if told.get("code") != 0 or not isinstance(token, str) or not re.fullmatch(r"[\x21-\x7e]+", token):
                raise SourceError(
                    msg("the service refuses the app (code {code})", code=told.get("code")),
                    component=self._component,
                    hint="check app_id, and the variable of app_secret_env",
                )
            self._token = token
            self._until = time.monotonic() + max(0.0, (expire if isinstance(expire, int) else 0) - 60)
        return {"Authorization": f"Bearer {self._token}"}

    def _object(self, body: bytes) -> dict[str, Any]:
        try:
            told = json.loads(body)
        except (ValueError, RecursionError) as error:
            raise self._strange() from error
        if not isinstance(told, dict):
            raise self._strange()
        return told

    def _strange(self) -> SourceError:
        return SourceError("the answer is not what the API's description says", component=self._component)
