"""Parses robots.txt (RFC 9309)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

MOST_BYTES = 500 * 1_024
"""So much of a robots.txt counts; RFC 9309 asks for no less."""
_MOST_RULES = 5_000
_LONGEST_DELAY = 60.0


@dataclass(frozen=True, slots=True)
class Robots:
    """The rules of a robots.txt for our agent.

    Attributes:
        rules: Patterns of paths, as compiled, with their length and whether they allow.
        delay: Seconds between two requests, ``Crawl-delay``; 0 where nothing is asked.
        sitemaps: Addresses of sitemaps.
    """

    rules: tuple[tuple[re.Pattern[str], int, bool], ...] = ()
    delay: float = 0.0
    sitemaps: tuple[str, ...] = ()

    def allows(self, url: str) -> bool:
        """Whether an address may be fetched: the longest matching rule decides, and of equal ones the one that
        allows.
        """
        parts = urlsplit(url)
        path = unquote(f"{parts.path or '/'}?{parts.query}" if parts.query else parts.path or "/")
        fitting = [(length, allowing) for pattern, length, allowing in self.rules if pattern.match(path)]
        return max(fitting)[1] if fitting else True


def parse_robots(text: str, agent: str) -> Robots:
    """The rules of the group for an agent, else of the group for all. Unknown lines are ignored."""
    groups: dict[str, list[tuple[str, str]]] = {}
    sitemaps: list[str] = []
    names: list[str] = []
    begun = False
    for line in text.lstrip("\ufeff").splitlines():
        name, found, value = line.partition("#")[0].partition(":")
        name, value = name.strip().lower(), value.strip()
        if not found:
            continue
        if name == "sitemap":
            sitemaps.append(value)
        elif name == "user-agent":
            names, begun = ([], False) if begun else (names, False)
            names.append(value.lower())
            groups.setdefault(value.lower(), [])
        elif name in ("allow", "disallow", "crawl-delay"):
            begun = True
            for one in names:
                groups[one].append((name, value))
    lines = groups.get(agent, groups.get("*", []))[:_MOST_RULES]
    rules = tuple(
        (_pattern(value), len(value), name == "allow") for name, value in lines if value and "allow" in name
    )
    delays = [_seconds(value) for name, value in lines if name == "crawl-delay"]
    return Robots(rules, max(delays, default=0.0), tuple(sitemaps[:100]))


def _pattern(rule: str) -> re.Pattern[str]:
    plain = unquote(rule)
    end = plain.endswith("$")
    # Stars side by side are one: a row of them would be tried in as many ways as there are characters.
    steps = re.sub(r"\*+", "*", plain.removesuffix("$")).split("*")[:32]
    return re.compile(".*?".join(map(re.escape, steps)) + (r"\Z" if end else ""), re.DOTALL)


def _seconds(value: str) -> float:
    try:
        return min(_LONGEST_DELAY, max(0.0, float(value)))
    except ValueError:
        return 0.0
