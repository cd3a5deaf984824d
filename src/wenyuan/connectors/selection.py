"""The connector of a source, selected by the scheme of its address."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from typing import cast

from wenyuan.core.connectors import LIBRARY_SETTINGS, Connector, Factory, Opening, Parse
from wenyuan.core.errors import ConfigError, did_you_mean, msg
from wenyuan.core.model import Source
from wenyuan.core.remote_addresses import connector_scheme
from wenyuan.plugins import CONNECTORS
from wenyuan.settings import ENV_ALLOWED, secret

BUILT_IN = {
    "http": "wenyuan.connectors.web:open_site",
    "https": "wenyuan.connectors.web:open_site",
    **dict.fromkeys(("git+https", "git+http", "git+file"), "wenyuan.connectors.git:open_repository"),
    **dict.fromkeys(("imaps", "imap"), "wenyuan.connectors.mail:open_mail"),
    **dict.fromkeys(("feishu", "lark"), "wenyuan.connectors.feishu:open_feishu"),
    **dict.fromkeys(
        ("s3", "oss", "gs", "az", "sftp", "ftp", "smb", "webdav", "webdavs", "github", "zip", "tar", "memory"),
        "wenyuan.connectors.files:open_folder",
    ),
}


def schemes() -> tuple[str, ...]:
    """The schemes that have a connector, built-in ones first, whether or not their libraries are installed."""
    return tuple(dict.fromkeys((*BUILT_IN, *CONNECTORS.names())))


def open_connector(
    source: Source,
    *,
    readable: Callable[[str], bool],
    parse: Parse,
    env_allowed: Sequence[str] = ENV_ALLOWED,
    allow_private: bool = True,
) -> Connector:
    """The connector for a source. It connects only when it is asked for a list.

    Args:
        source: Its registry entry; `path` is its address.
        readable: Whether a file of this name can be read at all.
        parse: Parses what the other side sent, in a process of its own.
        env_allowed: Patterns of the environment variables that its settings may name.
        allow_private: Whether the source's own ``allow_private`` counts.

    Raises:
        ConfigError: there is no such connector, something must be installed for it, or a setting is wrong.
    """
    component = f"source {source.source_id}"
    private = source.settings.get("allow_private", False)
    if private and not allow_private:
        raise ConfigError(
            "its settings have allow_private, which the setting sources.allow_private forbids",
            component=component,
            hint="take it out of the source's settings, or set sources.allow_private = true",
        )
    opening = Opening(
        source=source,
        settings={name: value for name, value in source.settings.items() if name not in LIBRARY_SETTINGS},
        secret=partial(secret, component=component, allowed=env_allowed),
        readable=readable,
        parse=parse,
        allow_private=private is True,
    )
    scheme = connector_scheme(source.path)
    plugin = CONNECTORS.plugin(scheme, built_in=scheme in BUILT_IN)
    if plugin is not None:
        return cast("Connector", CONNECTORS.checked(plugin, plugin.load()(opening)))
    return _factory(scheme, component)(opening)


def check_scheme(scheme: str, component: str) -> None:
    """ConfigError where there is no connector for a scheme."""
    if scheme not in schemes():
        raise ConfigError(
            msg("there is no connector for {scheme}://{near}", scheme=scheme, near=did_you_mean(scheme, schemes())),
            component=component,
            hint=msg("known are: {schemes}", schemes=", ".join(schemes())),
        )


def _factory(scheme: str, component: str) -> Factory:
    check_scheme(scheme, component)
    module, _, name = BUILT_IN[scheme].partition(":")
    return cast("Factory", getattr(import_module(module), name))
