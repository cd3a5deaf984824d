"""Redaction rules for postal addresses of other countries: a British postcode and what leads to it, 東京都…, ul. Piękna 18, Calle …, and the lines below a street."""

from __future__ import annotations

import re

from wenyuan.core.redaction.matching import IN_CAPITALS, IN_DIGITS, IN_HAN, Rule, Span
from wenyuan.core.redaction.text_view import OPAQUE, TextView
from wenyuan.core.text.folding import HAN

_BACK = 110  # characters before a postcode in which its address stands

# Flat 3, 88 Kilburn High Road, London NW6 4HS: read backwards from the code.
_POSTCODE = re.compile(r"[A-Z](?<![A-Za-z0-9\-/].)[A-Z]?[0-9][0-9A-Z]? [0-9][ABD-HJLNP-UW-Z]{2}(?![A-Za-z0-9\-])")
_LEADS_TO = re.compile(
    rf"(?:(?:The |Flat |Unit |No\.? ?)?(?:[A-Z0-9](?<![A-Za-z0-9.].)[A-Za-z0-9'’.\-]{{0,20}}|{OPAQUE})(?:,?[ ]|,?\n[ ]{{0,8}}|(?:[ ](?:of|upon|on|the|in|by|le|and)){{1,2}}[ ])){{1,12}}\Z"
)


def _to_postcode(view: TextView, match: re.Match[str]) -> Span | None:
    """At least a town or a street leads to it, behind a comma, a number or what was found above."""
    text, start, end = view.text, match.start(), match.end()
    before = _LEADS_TO.search(text, max(0, start - _BACK), start)
    said = before[0] if before else ""
    if OPAQUE in said:
        begin = start - len(said.rpartition(OPAQUE)[2].lstrip(" ,\n"))
        return begin, end, text[begin:end].casefold()
    if "," not in said and not any(map(str.isdigit, said)):
        return (start, end, match[0].casefold()) if _ALONE.search(text, max(0, start - 14), start) else None
    begin = start - len(said)
    return begin, end, text[begin:end].casefold()


_ALONE = re.compile(r"(?:[Pp]ost ?code|\n)[: ]{0,3}\Z")

# ⟦地址⟧⏎45127 Essen; ⟦地址⟧, Boise, ID 83704: what goes on below a street.
_BELOW = re.compile(
    rf"{OPAQUE},?(?:\n[ \t]{{0,12}}|[ ])(?P<town>(?:[A-Z]{{1,2}}-)?[0-9]{{4,5}}[ ][A-ZÄÖÜØ][\w.\-]{{1,24}}(?:[ ][A-Z][\w.\-]{{1,24}}){{0,2}}|[A-Z][a-z]{{1,20}}(?:[ ][A-Z][a-z]{{1,20}}){{0,2}},[ ][A-Z]{{2}}[ ][0-9]{{5}}(?:-[0-9]{{4}})?)(?=[ \t,]{{0,3}}(?:\n|\Z|{OPAQUE}))"
)


def _town(view: TextView, match: re.Match[str]) -> Span:
    start, end = match.span("town")
    return start, end, view.lower[start:end]


# 神奈川県横浜市西区みなとみらい2丁目3番1号
_PREFECTURES = (
    "北海道|[东東]京都|大阪府|京都府|(?:青森|岩手|[宫宮]城|秋田|山形|福[岛島]|茨城|[栃枥]木|群[马馬]|埼玉|千[叶葉]|神奈川|新潟|富山|石川|福井|山梨|[长長]野|岐阜|[静靜][冈岡]|[爱愛]知|三重|滋[贺賀]|兵[库庫]|奈良|和歌山|[鸟鳥]取|[岛島]根"
    "|[冈岡]山|[广広廣][岛島]|山口|[德徳][岛島]|香川|[爱愛]媛|高知|福[冈岡]|佐[贺賀]|[长長]崎|熊本|大分|[宫宮]崎|鹿[儿児兒][岛島]|[冲沖][绳縄繩])[县県縣]"
)
_JAPAN = re.compile(
    rf"(?:〒?[0-9]{{3}}-[0-9]{{4}}[ ]?)?(?:{_PREFECTURES})[{HAN}ぁ-ヿー ]{{2,28}}?[0-9一二三四五六七八九十]{{1,4}}(?:丁目|番地?|号|-|ー|の)(?:[0-9]{{1,4}}|丁目|番地?|号|-|ー|の){{0,6}}(?:[ ][{HAN}ぁ-ヿーA-Za-z]{{0,16}}[ ]?[0-9]{{1,5}}(?:号室?|F|阶)?)?"
)

# ul. Piękna 18/4, 00-549 Warszawa; Calle de Alcalá 147, 3º B, 28009 Madrid; Keizersgracht 12, 1015 CS Amsterdam; Storgatan 5.
_PARTS = r"(?:(?:de|del|della|dei|di|da|do|dos|das|la|las|los|el|il|van|von|der|den)[ ]){0,3}"
_EUROPE = re.compile(
    rf"(?:[UuACOPVRS](?<!\w.)(?:(?<=[Uu])l\.|(?<=A)(?:l\.|venida|vda\.?|v\.)|(?<=O)s\.|(?<=C)(?:alle|/|orso|arrera|amino)|(?<=P)(?:laza|aseo|iazza|raca)|(?<=V)ia(?:le)?|(?<=R)ua|(?<=S)trada)[ ]{_PARTS}[A-ZŁ][\w'’.\-]{{1,24}}(?:[ ]{_PARTS}[A-ZŁ][\w'’.\-]{{1,24}}){{0,3}}"
    rf"|[A-Z](?<![\w].)[a-zA-Zø]{{2,24}}(?:straat|laan|plein|gracht|kade|dijk|singel|gatan|vagen|gade|vej|veien|gata|utca|katu|tie))"
    rf",?[ ](?:[Nn]o?\.?[ºo]?[ ]?)?[0-9]{{1,4}}[a-zA-Z]?(?:[/\-][0-9]{{1,4}})?(?![0-9])(?:,?[ ][0-9]{{1,2}}[ºo°ª]?[ ]?[A-Z]{{0,3}}(?=,))?(?:,[ ](?:[A-Z]{{1,2}}-)?(?:[0-9]{{4,5}}|[0-9]{{2}}-[0-9]{{3}}|[0-9]{{4}}[ ]?[A-Z]{{2}})[ ][A-ZŁ][\w.\-]{{1,24}})?"
)
# Schwanenallee 112, 44135 Dortmund: no word for a street, but a number and the code of a town.
_CODED = re.compile(
    r"[A-ZÄÖÜ](?<![\w\-.].)[\w'’.\-]{1,24}(?:[ ][A-ZÄÖÜa-z][\w'’.\-]{1,24}){0,3}[ ][0-9]{1,4}[ ]?[a-z]?,[ ](?:[A-Z]{1,2}-)?[0-9]{4,5}[ ](?!(?:and|und|bis|of)[ ])[A-ZÄÖÜ][a-zäöüß][\w\-]{1,24}"
)


def _whole(view: TextView, match: re.Match[str]) -> Span:
    return match.start(), match.end(), view.lower[match.start() : match.end()]


_STREETS = tuple(
    "ul. al. os. calle c/ avenida avda av. plaza paseo via viale piazza corso rua praca carrera camino strada straat laan plein gracht kade dijk singel gatan vagen gade vej veien gata utca katu tie".split()
)

RULES = (
    Rule("address", _POSTCODE, _to_postcode, cased=True, signs=IN_DIGITS | IN_CAPITALS),
    Rule("address", _BELOW, _town, needs=(OPAQUE,), cased=True, signs=IN_CAPITALS),
    Rule("address", _JAPAN, _whole, signs=IN_DIGITS | IN_HAN, needs=("县", "県", "京都", "北海道", "大阪府")),
    Rule("address", _EUROPE, _whole, needs=_STREETS, cased=True, signs=IN_DIGITS | IN_CAPITALS),
    Rule("address", _CODED, _whole, needs=(", ",), cased=True, signs=IN_DIGITS | IN_CAPITALS),
)
