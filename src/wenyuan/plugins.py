"""The extension points: what other packages may add to the program, in one list, and how it is found and checked.

A package adds something with an entry point, whose group is ``wenyuan.`` and the name of the point::

    [project.entry-points."wenyuan.readers"]
    srt = "subtitles:read_srt"

The group carries the version of the port: ``wenyuan.readers`` is the first, ``wenyuan.readers.2`` would be the second. So
what was written for another version is known, and named, before any of its code runs. Names are looked up when they are
used, and the code of a plugin is imported only when it is to do something.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any, NoReturn, cast

from wenyuan.core.connectors import Connector
from wenyuan.core.errors import ConfigError, did_you_mean, msg
from wenyuan.core.ports import Encoder, Engine, Judge, Reader, Reranker

_GROUP = re.compile(r"wenyuan\.(?P<point>[^.]+)(?:\.(?P<version>[0-9]{1,4}))?")
_NAME = re.compile(r"[a-z0-9][a-z0-9_+-]*")


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtensionPoint:
    """A place where other packages add to the program.

    Attributes:
        point: As in the group of its entry points, ``wenyuan.POINT``.
        named_by: What the name of an entry point is.
        port: The interface of what an entry point leads to, or makes when it is called.
        arguments: What an entry point is called with.
        built_in: Names that the program has itself, where a setting chooses among them.
        version: Of the port; it rises when plugins written for it would not work any more.
    """

    point: str
    named_by: str
    port: type[Any]
    arguments: str
    built_in: tuple[str, ...] = ()
    version: int = 1

    @property
    def group(self) -> str:
        """The group of the entry points that are written for this version of the port."""
        return f"wenyuan.{self.point}" if self.version == 1 else f"wenyuan.{self.point}.{self.version}"

    def installed(self) -> tuple[Plugin, ...]:
        """The plugins of all versions of the port, in the order of their names."""
        return tuple(plugin for plugin in installed_plugins() if plugin.point_name == self.point)

    def names(self) -> tuple[str, ...]:
        """What the setting or address may say: the program's own names, then those of plugins."""
        return tuple(dict.fromkeys((*self.built_in, *(plugin.name for plugin in self.installed()))))

    def has(self, name: str) -> bool:
        """Whether a plugin has this name, sound or not; `plugin` says what is wrong with it."""
        return any(plugin.name == name for plugin in self.installed())

    def plugin(self, name: str, *, built_in: bool = False) -> Plugin | None:
        """The plugin of a name; None without one.

        Args:
            built_in: Whether the program itself has this name, too.

        Raises:
            ConfigError: two bring it, the program has it itself, or it is written for another version of the port.
        """
        plugins = [plugin for plugin in self.installed() if plugin.name == name]
        if not plugins:
            return None
        first, *others = plugins
        hint = msg("uninstall one of them: {package}", package=first.package)
        if built_in or name in self.built_in:
            raise ConfigError(
                msg("the plugin {plugin} takes a name that the program has itself", plugin=first), hint=hint
            )
        if others:
            raise ConfigError(msg("the plugins {a} and {b} have the same name", a=first, b=others[0]), hint=hint)
        if first.group != self.group:
            self._refuse_version(first)
        return first

    def checked(self, plugin: Plugin, made: Any) -> Any:
        """What a plugin has made.

        Raises:
            ConfigError: it is not of the port.
        """
        if not isinstance(made, self.port):
            lacking = ", ".join(sorted(name for name in _members(self.port) if not hasattr(made, name)))
            raise ConfigError(
                msg(
                    "the plugin {plugin} gave a {kind}, which is no {port}: it has no {names}",
                    plugin=plugin, kind=type(made).__name__, port=self.port.__name__, names=lacking,
                ),
                hint=_mend(plugin),
            )  # fmt: skip
        return made

    def make(self, name: str, *arguments: Any) -> Any:
        """What the plugin of a name makes of these arguments, checked; None where there is no such plugin.

        Raises:
            ConfigError: the plugin cannot be used; see `plugin`, `Plugin.load`, `checked`.
        """
        plugin = self.plugin(name)
        return None if plugin is None else self.checked(plugin, plugin.load()(*arguments))

    def _refuse_version(self, plugin: Plugin) -> NoReturn:
        raise ConfigError(
            msg("the plugin {plugin} is written for {group}; this program has {own}", plugin=plugin, group=plugin.group, own=self.group),
            hint=msg("install a version of {package} that is written for {own}", package=plugin.package, own=self.group),
        )  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Plugin:
    """An entry point of another package.

    Attributes:
        value: What it leads to, as ``module:function``.
        package: The package that brings it, as installers call it.
    """

    group: str
    name: str
    value: str
    package: str
    version: str

    def __str__(self) -> str:
        return f"{self.name} ({self.package} {self.version})"

    @property
    def point_name(self) -> str:
        """The point that its group names, whether or not there is one."""
        match = _GROUP.fullmatch(self.group)
        return match["point"] if match else ""

    def load(self) -> Callable[..., Any]:
        """Import what it leads to.

        Raises:
            ConfigError: it cannot be imported, or not be called.
        """
        return load_function(self.value, plugin=str(self))


READERS = ExtensionPoint(
    point="readers",
    named_by="the suffix of a file, without its dot",
    port=Reader,
    arguments="(content, *, uri, name)",
)
CONNECTORS = ExtensionPoint(
    point="connectors", named_by="the scheme of a source's address", port=Connector, arguments="(opening)"
)
ENGINES = ExtensionPoint(
    point="engines", named_by="engine", port=Engine, arguments="(opening)", built_in=("local", "memory", "postgres", "milvus", "opensearch")
)  # fmt: skip
ENCODERS = ExtensionPoint(
    point="encoders", named_by="encoder.kind", port=Encoder, arguments="(settings)",
    built_in=("builtin", "onnx_dir", "http", "hashing", "none"),
)  # fmt: skip
RERANKERS = ExtensionPoint(
    point="rerankers", named_by="reranker.kind", port=Reranker, arguments="(settings)", built_in=("none", "onnx_dir", "http")
)  # fmt: skip
JUDGES = ExtensionPoint(
    point="judges", named_by="judge.dialect", port=Judge, arguments="(settings, budget)",
    built_in=("none", "decisions", "systemone", "logprobs", "vote", "onnx_dir"),
)  # fmt: skip
EXTENSION_POINTS = (READERS, CONNECTORS, ENGINES, ENCODERS, RERANKERS, JUDGES)


def installed_plugins() -> tuple[Plugin, ...]:
    """Everything that an installed package adds, or means to add, to the program; looked up once in a process."""
    return _installed(tuple(sys.path))


def load_function(value: str, *, plugin: str) -> Callable[..., Any]:
    """Import ``module:function`` of a plugin.

    Args:
        plugin: Its name and package, for messages.

    Raises:
        ConfigError: it cannot be imported, or not be called.
    """
    try:
        found = EntryPoint(name="", value=value, group="").load()
    except Exception as error:  # whatever its module raises
        reason = f"{type(error).__name__}: {error}"[:300]
        raise ConfigError(
            msg("the plugin {plugin} cannot be imported: {error}", plugin=plugin, error=reason),
            hint=msg("see what it needs, or uninstall it: {value}", value=value),
        ) from error
    if not callable(found):
        raise ConfigError(
            msg("the plugin {plugin} leads to a {kind}, which cannot be called", plugin=plugin, kind=type(found).__name__),
            hint=msg("see what it needs, or uninstall it: {value}", value=value),
        )  # fmt: skip
    return cast("Callable[..., Any]", found)


def check_name(plugin: Plugin) -> None:
    """Refuse a plugin that nothing would ever look up.

    Raises:
        ConfigError: its group is of no extension point, or its name cannot be one of the point's.
    """
    points = {point.point: point for point in EXTENSION_POINTS}
    if plugin.point_name not in points:
        known = [point.group for point in EXTENSION_POINTS]
        raise ConfigError(
            msg("the plugin {plugin} is for {group}, which is no extension point{near}", plugin=plugin, group=plugin.group,
                near=did_you_mean(plugin.group, known)),
            hint=msg("known are: {known}", known=", ".join(known)),
        )  # fmt: skip
    if not _NAME.fullmatch(plugin.name):
        raise ConfigError(
            msg("the plugin {plugin} cannot be looked up: its name must be {named_by}, in small letters", plugin=plugin,
                named_by=points[plugin.point_name].named_by),
            hint=_mend(plugin),
        )  # fmt: skip


def examine(plugin: Plugin, built_in: Mapping[str, Collection[str]]) -> None:
    """Import a plugin, after all checks that need none of its code.

    Args:
        built_in: The program's own names by extension point, where the point itself does not list them.

    Raises:
        ConfigError: it cannot be used.
    """
    check_name(plugin)
    point = next(point for point in EXTENSION_POINTS if point.point == plugin.point_name)
    point.plugin(plugin.name, built_in=plugin.name in built_in.get(point.point, ()))
    plugin.load()


@lru_cache(maxsize=8)
def _installed(path: tuple[str, ...]) -> tuple[Plugin, ...]:
    """The plugins on an import path, in the order of their groups and names."""
    groups = sorted(group for group in entry_points().groups if group.startswith("wenyuan."))
    found = [entry for group in groups for entry in entry_points(group=group)]
    return tuple(sorted(map(_plugin, found), key=lambda plugin: (plugin.group, plugin.name, plugin.package)))


def _plugin(entry: EntryPoint) -> Plugin:
    package, version = (entry.dist.name, entry.dist.version) if entry.dist is not None else ("", "")
    return Plugin(group=entry.group, name=entry.name, value=entry.value, package=package, version=version)


def _members(port: type[Any]) -> set[str]:
    """The attributes and methods that a port asks for."""
    own = {name for base in port.__mro__ for name in (*vars(base), *vars(base).get("__annotations__", {}))}
    return {name for name in own if not name.startswith("_")}


def _mend(plugin: Plugin) -> str:
    return msg("install another version of it, or uninstall it: {package}", package=plugin.package)
