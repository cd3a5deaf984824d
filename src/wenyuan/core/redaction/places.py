"""Redaction rules for postal addresses as they are written in English: number, street, and what follows of a town."""

from __future__ import annotations

import re

from wenyuan.core.redaction.matching import Rule, Span, View

_STREETS = "Street|St|Road|Rd|Avenue|Ave|Lane|Ln|Boulevard|Blvd|Drive|Dr|Court|Ct|Place|Pl|Square|Sq|Terrace|Way|Close|Crescent|Highway|Hwy|Parkway|Pkwy"
_ENGLISH = re.compile(
    rf"[1-9](?<![0-9A-Za-z.\-/].)[0-9]{{0,4}}[A-Za-z]?,?\s(?:(?:[NSEW]\.?|North|South|East|West|No\.)\s)?(?:[A-Z][A-Za-z'’\-]{{1,20}}\s){{1,4}}(?:{_STREETS})(?![A-Za-z])\.?"
    r"(?:,?\s(?:Apt|Apartment|Suite|Ste|Unit|Flat|Room|Rm|Floor|#)\.?\s?[0-9A-Za-z\-]{1,6}(?![A-Za-z0-9]))?"
    r"(?:,\s(?:[A-Z][a-z][A-Za-z.'\-]{0,20}\s?){1,3}){0,2}(?:,?\s?[A-Z]{2}\s[0-9]{5}(?:-[0-9]{4})?(?![0-9])|,?\s?[A-Z]{1,2}[0-9][0-9A-Z]?\s[0-9][A-Z]{2}(?![A-Za-z0-9])|,?\s[0-9]{5,6}(?![0-9]))?"
)


def _english(view: View, match: re.Match[str]) -> Span | None:
    end = match.start() + len(match[0].rstrip(" ,"))
    return match.start(), end, view.lower[match.start() : end]


RULES = (Rule("address", _ENGLISH, _english, cased=True),)
