"""Redaction rules for postal addresses as they are written in English: number, street, and what follows of a town."""

from __future__ import annotations

import re

from wenyuan.core.redaction.matching import Rule, Span
from wenyuan.core.redaction.text_view import TextView

_STREETS = "Street|St|Road|Rd|Avenue|Ave|Lane|Ln|Boulevard|Blvd|Drive|Dr|Court|Ct|Place|Pl|Square|Sq|Terrace|Way|Close|Crescent|View|Parade|Gardens|Grove|Mews|Quay|Wharf|Row|Highway|Hwy|Parkway|Pkwy"
_ENGLISH = re.compile(
    rf"[1-9](?<![0-9A-Za-z.\-/].)[0-9]{{0,4}}[A-Za-z]?,?\s(?:(?:[NSEW]\.?|North|South|East|West|No\.)\s)?(?:[A-Z][A-Za-z'’\-]{{1,20}}\s){{1,4}}(?:{_STREETS})(?![A-Za-z])\.?"
    r"(?:,?\s(?:Apt|Apartment|Suite|Ste|Unit|Flat|Room|Rm|Floor|#)\.?\s?[0-9A-Za-z\-]{1,6}(?![A-Za-z0-9]))?"
    r"(?:,\s(?:[A-Z][a-z][A-Za-z.'\-]{0,20}\s?){1,3}){0,2}(?:,?\s?[A-Z]{2}\s[0-9]{5}(?:-[0-9]{4})?(?![0-9])|,?\s?[A-Z]{1,2}[0-9][0-9A-Z]?\s[0-9][A-Z]{2}(?![A-Za-z0-9])|,?\s[0-9]{5,6}(?![0-9]))?"
)


def _english(view: TextView, match: re.Match[str]) -> Span | None:
    end = match.start() + len(match[0].rstrip(" ,"))
    return match.start(), end, view.lower[match.start() : end]


# Hauptstraße 12, 10827 Berlin; 12 rue de la Paix, 75002 Paris.
_GERMAN = re.compile(
    r"[A-ZÄÖÜ](?<![^\W_].)[\wäöüß\-]{1,30}(?:straße|strasse|str\.|weg|platz|allee|gasse|damm|ufer)\s[0-9]{1,4}\s?[a-z]?(?![0-9A-Za-z])"
    r"(?:,\s?(?:[A-Z]{1,2}-)?[0-9]{4,5}\s[A-ZÄÖÜ][\wäöüß.\-]{1,30})?"
)
_FRENCH = re.compile(
    r"[1-9](?<![0-9A-Za-z.\-/].)[0-9]{0,3}(?:\s(?:bis|ter))?,?\s(?:[Rr]ue|[Aa]venue|[Bb]oulevard|[Pp]lace|[Cc]hemin|[Qq]uai|[Ii]mpasse|[Aa]llée)\s(?:(?:de|du|des|la|le|les|l'|d')\s?){0,3}[A-ZÉ][\w'’\-]{1,30}"
    r"(?:\s[A-ZÉ][\w'’\-]{1,30}){0,2}(?:,\s?[0-9]{5}\s[A-ZÉ][\w'’\-]{1,30})?"
)

# 63 Kingsway, London WC2B 6TE: no word for a street, but a code of the town; P.O. Box 12, Boulder, CO 80306.
_CODES = (
    r"(?:[A-Z]{1,2}[0-9][0-9A-Z]?\s[0-9][A-Z]{2}|[A-Z][0-9][0-9W]\s[0-9A-Z]{4}|[A-Z][0-9][A-Z]\s[0-9][A-Z][0-9]|(?:NSW|VIC|QLD|WA|SA|TAS|ACT|NT)\s[0-9]{4}"
    r"|[A-Z]{2}\s[0-9]{5}(?:-[0-9]{4})?)(?![0-9A-Za-z])"
)
_CODED = re.compile(
    rf"[1-9](?<![0-9A-Za-z.\-/].)[0-9]{{0,4}}[A-Za-z]?\s(?:[A-Z][A-Za-z'’.]{{1,20}},?\s){{1,4}}(?:(?:Suite|Ste|Apt|Unit|Flat)\s[0-9A-Z]{{1,5}},?\s)?"
    rf"(?:[A-Z][A-Za-z'’]{{1,20}},?\s){{0,3}}(?:[A-Z]{{2}}\s)?{_CODES}"
)
_BOX = re.compile(
    r"P(?<![A-Za-z].)\.?O\.?\sBox\s[0-9]{1,6}(?:,\s[A-Z][a-z]{1,20}){0,2}(?:,?\s[A-Z]{2}\s[0-9]{5})?(?![0-9])"
)

RULES = (
    Rule("address", _CODED, _english, cased=True),
    Rule("address", _BOX, _english, needs=("box",), cased=True),
    Rule("address", _ENGLISH, _english, cased=True),
    Rule("address", _GERMAN, _english, needs=("str", "weg", "platz", "allee", "gasse", "damm", "ufer"), cased=True),
    Rule(
        "address",
        _FRENCH,
        _english,
        needs=("rue", "avenue", "boulevard", "place", "chemin", "quai", "impasse", "allée"),
        cased=True,
    ),
)
