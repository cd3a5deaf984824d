"""Redaction rules for one name alone in Latin letters: a given name in any sentence, *Ask Maria*, a surname where somebody speaks, *Collins said*.

A familiar given name that is no word, place or brand as well counts wherever no other word with a capital letter stands beside it. Others
count beside what persons do, or in a row with a familiar one. A surname alone is too often a firm: it counts before what only persons do.
"""

from __future__ import annotations

import re

from wenyuan.core.redaction import listed_names
from wenyuan.core.redaction.commonness import commonness
from wenyuan.core.redaction.english_names import BEHIND, FOR
from wenyuan.core.redaction.family_names import FAMILY, SURNAME_WORDS, WORLD
from wenyuan.core.redaction.given_names import AMBIGUOUS, GIVEN
from wenyuan.core.redaction.matching import IN_CAPITALS, Rule, Span
from wenyuan.core.redaction.neighbours import NO_PERSON
from wenyuan.core.redaction.text_view import TextView

_ALONE = re.compile(
    r"[A-ZÀ-Þ](?<![\w'’\-./@#:\\].)[a-zà-ɏ]{2,14}(?:-[A-ZÀ-Þ][a-zà-ɏ]{2,14})?(?![\wÀ-ɏ]|[-_/.@:=(\\][A-Za-z0-9]| [A-Z][A-Za-z])"
)
_CAPITAL_BEFORE = re.compile(
    r"(?P<starts>(?:\A|[\n.!?:;\"“”>*•\-]) {0,2})?(?P<word>[A-Z][A-Za-zà-ɏ'’.]{0,20}),?[ ]\Z"
)
_PART_OF_A_NAME = frozenset(
    "New Great North South East West Saint San Santa Fort Port Lake Mount Camp Cape King Queen Prince Princess Lady Lord Hurricane Storm Operation Project Team House The A An".split()
)
_A_WORD, _COMMON_WORD = 4.5, 4.6  # of 6.5; names as frequent as words; words that a sentence begins with
_SPEAKS = re.compile(
    r" (?:said|says|told|asked|replied|added that|explained|wrote|e-?mailed|called (?:me|us|him|her|back|in)|agreed to|resigned|retired|thinks|thought|apologi[sz]ed|complained|promised|forgot|"
    r"mentioned|insisted|admitted|laughed|smiled|shouted|whispered|and (?:I|he|she)(?![a-z])|(?:himself|herself)(?![a-z]))|, (?:who|whose|she|he) (?!are)|['’]s (?:wife|husband|son|daughter|mother|father|boss|birthday|salary|phone|email|e-mail|desk|laptop|office|house|manager)(?![a-z])"
)
_ADDRESSED = re.compile(
    r"(?:[Aa]sk(?:ed)?|[Tt]ell|[Tt]old|[Cc]all(?:ed)?|[Ee]mail(?:ed)?|[Pp]ing|[Cc]c|[Tt]hank(?:s|ed)?|[Dd]ear|[Hh]i|[Hh]ello|[Hh]ey|[Mm]et|[Mm]arried|[Nn]amed|[Cc]alled|[Nn]ame is|name's|[Mm]y (?:name|wife|husband|son|daughter|brother|sister|boss|friend|colleague)(?: is|,)?|"
    r"[Hh]is (?:wife|son|daughter|brother|sister)|[Hh]er (?:husband|son|daughter|brother|sister))[,:]? \Z"
)
_ROLE = re.compile(
    r"(?:Officer|Nurse|Agent|Detective|Inspector|Sergeant|Constable|Coach|Pastor|Father|Sister|Brother|Uncle|Aunt|Auntie|Grandma|Grandpa|Chef|Foreman|Supervisor) \Z"
)
"""What somebody is called with a surname behind."""
_PLACES = frozenset(
    """Austin Florence Georgia Victoria Virginia Jordan Madison Jackson Charlotte Sofia Salvador Paris Chelsea Brooklyn Sidney Lourdes Mercedes Stella Regina Marshall
    Roman Christian Grant Grace Will May April June Summer Art Rose Hope Joy Faith Crystal Ruby Dawn Iris Violet Max Melody Patience Pearl""".split()
)
"""Ambiguous ones that do and say things as places, brands and words, too."""
_THINGS = frozenset(
    """Cassandra Julia Athena Apollo Sierra Siri Cortana Aurora Luna Terra Flora Celeste Jenkins Norma Dora Amara Iris Phoenix Orlando Jersey Carolina Dakota Savannah Houston Dallas Denver
    Lincoln Hudson Cleveland Trinity Genesis Nova Ariel Arial Helvetica Verdana Tahoma Calibri Georgia Monaco Geneva Israel Kenya China India Asia Africa America Britain Ireland Holland Brittany
    Siemens Ford Boeing Morgan Bosch Philips Disney Dell Ferrari Porsche Pfizer Merck Bayer Goldman Barclays Lloyds Honda Toyota Suzuki Yamaha Mazda Nissan Heinz Kellogg
    Chase Benz Daimler Krupp Thyssen Linde Adidas Puma Gucci Prada Chanel Cartier Hilton Marriott Hyatt Macy Bloomberg Reuters Moody Fitch Deloitte Ernst Douglas Lockheed Hermes Lenovo Claude Gemini Alexa Watson""".split()
)
"""Firms, programs and places that are called by a person's name."""
_SAID_BY = re.compile(r"[,.!?][\"”’'] (?:said|says|asked|added|replied|wrote|noted|explained) \Z")
_ROW_BEHIND = re.compile(r"(?:,|,? (?:and|or|&)) (?P<name>[A-ZÀ-Þ][a-zà-ɏ]{2,14})(?![\w'’]| [A-Z])")
_ROW_BEFORE = re.compile(r"(?P<name>[A-ZÀ-Þ][a-zà-ɏ]{2,14})(?:,|,? (?:and|or|&)) \Z")


def is_familiar(word: str) -> bool:
    """Whether a word is a given name that is hardly anything else."""
    return (
        (word in GIVEN or word in listed_names.familiar())
        and word not in AMBIGUOUS
        and word not in _THINGS
        and commonness(word) < (_A_WORD if word in GIVEN else 2.5)
    )


def _within_a_name(text: str, start: int) -> bool:
    """Whether a word with a capital letter stands before, other than the first of a sentence."""
    before = _CAPITAL_BEFORE.search(text, max(0, start - 28), start)
    if before is None or before[0].rstrip().endswith(","):
        return False
    word = before["word"]
    if before["starts"] is None and before.start() > max(0, start - 28):
        return True
    return word.rstrip(".") in _PART_OF_A_NAME or (
        commonness(word) < _COMMON_WORD and not _ADDRESSED.search(text, max(0, start - 28), start)
    )


def _in_a_row(text: str, start: int, end: int) -> bool:
    """Whether a familiar given name stands beside it in a list."""
    behind = _ROW_BEHIND.match(text, end)
    before = _ROW_BEFORE.search(text, max(0, start - 24), start)
    return any(match is not None and is_familiar(match["name"]) for match in (behind, before))


def _given_alone(view: TextView, match: re.Match[str]) -> Span | None:
    word, text, start, end = match[0], view.text, match.start(), match.end()
    head = word.partition("-")[0]
    if _ROLE.search(text, max(0, start - 12), start) and (
        _is_surname(head) or head in GIVEN or head in listed_names.given()
    ):
        return start, end, word.casefold()
    if head in GIVEN or head in AMBIGUOUS or head in WORLD or head in listed_names.given():
        told = _is_told(text, head, start, end)
    else:
        told = (
            head in listed_names.family()
            and commonness(head) < 1.5
            and head not in _THINGS
            and (_SPEAKS.match(text, end) is not None or _SAID_BY.search(text, max(0, start - 14), start) is not None)
        )
    return (start, end, word.casefold()) if told and not _within_a_name(text, start) else None


def _is_surname(word: str) -> bool:
    return word in FAMILY or (word in listed_names.family() and word not in SURNAME_WORDS and commonness(word) < 3.0)


def _is_told(text: str, word: str, start: int, end: int) -> bool:
    """Whether what stands around a given name says that it is one, unless it is familiar."""
    if is_familiar(word):
        return True
    low = max(0, start - 40)
    if word in AMBIGUOUS or word in _THINGS or commonness(word) >= _A_WORD:
        if word in _PLACES or commonness(word) >= _A_WORD:
            return _ADDRESSED.search(text, low, start) is not None and _SPEAKS.match(text, end) is not None
        return (
            _ADDRESSED.search(text, low, start) is not None
            or _SPEAKS.match(text, end) is not None
            or _in_a_row(text, start, end)
        )
    return (
        FOR.search(text, low, start) is not None
        or _ADDRESSED.search(text, low, start) is not None
        or BEHIND.match(text, end) is not None
        or _SPEAKS.match(text, end) is not None
        or _in_a_row(text, start, end)
    )


# J. Smith, R.J. Hughes, J Okafor: initials and a surname.
_INITIALS = re.compile(
    r"[A-Z](?<![\w'’\-./@#:&\\].)(?:\.[ ]?(?:[A-Z]\.[ ]?){0,2}|[ ])(?P<family>(?:Mac|Mc|O['’]|De|Di|Van|Le|La)?[A-ZÀ-Þ][a-zà-ɏ]{2,20}(?:-[A-ZÀ-Þ][a-zà-ɏ]{1,20})?)"
    r"(?![\wÀ-ɏ]|[-_/@(\\][A-Za-z0-9])"
)
_UNIT = re.compile(
    r"(?:[0-9]|[Ff]ig(?:ure)?|[Tt]able|[Ss]ection|[Aa]ppendix|[Pp]art|[Pp]lan|[Cc]lass|[Tt]ype|[Gg]rade|[Vv]itamin|[Hh]epatitis|[Oo]ption|[Gg]roup|[Bb]lock|[Ss]tep|[Ee]xhibit|[Aa]nnex)[ ]\Z"
)


def _initialled(view: TextView, match: re.Match[str]) -> Span | None:
    family, text = match["family"], view.text
    dotted = "." in match[0]
    named = family in FAMILY or (family in listed_names.family() and family not in _THINGS)
    if dotted and family in FAMILY and family not in SURNAME_WORDS:
        named = True
    elif not (named and commonness(family) < (3.5 if dotted else 1.5)) and not (dotted and commonness(family) < 1.0):
        return None
    if not dotted and match[0][0] in "AI":
        return None
    if _UNIT.search(text, max(0, match.start() - 12), match.start()) or NO_PERSON.intersection((family,)):
        return None
    return match.start(), match.end(), match[0].casefold()


RULES = (
    Rule("person", _ALONE, _given_alone, cased=True, signs=IN_CAPITALS),
    Rule("person", _INITIALS, _initialled, cased=True, signs=IN_CAPITALS),
)
