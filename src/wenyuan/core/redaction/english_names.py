"""Redaction rules for names in Latin letters by all that speaks for one and against it, whatever the sentence.

Two to four words with capital letters are a candidate. Lists of given names and surnames, endings that surnames have,
and how often general English has the words tell a person from a thing; what stands before and behind counts, too. The
points are summed; what reaches `ENOUGH` is a name.
"""

from __future__ import annotations

import re
from functools import lru_cache

from wenyuan.core.redaction import listed_names, neighbours
from wenyuan.core.redaction.commonness import commonness
from wenyuan.core.redaction.correspondence import ACTS_BEHIND, OFFICES, PLACED_BEFORE
from wenyuan.core.redaction.family_names import ENDINGS, FAMILY, WORLD
from wenyuan.core.redaction.given_names import AMBIGUOUS, GIVEN, pinyin_points
from wenyuan.core.redaction.matching import IN_CAPITALS, Rule, Span
from wenyuan.core.redaction.names import NO_NAME
from wenyuan.core.redaction.text_view import OPAQUE, TextView
from wenyuan.core.text.folding import HAN

_LEAST = -1.0
"""Points of words that no place makes a name."""
ENOUGH = 2.5
"""Points; each piece of evidence below gives or takes up to two."""

_WORD = r"[A-ZÀ-Þ][A-Za-zÀ-ɏ]{0,20}(?:['’\-](?!s(?![A-Za-z]))[A-Za-zÀ-ɏ]{1,20})?"
_CANDIDATE = re.compile(
    rf"[A-ZÀ-Þ](?<![\w'’\-./].)[A-Za-zÀ-ɏ]{{1,20}}(?:['’\-](?!s(?![A-Za-z]))[A-Za-zÀ-ɏ]{{1,20}})?"
    rf"(?:[ ](?:[A-Z]\.|{_WORD}|(?:de|da|di|del|dos|van|von|der|den|bin|al|la|le|el)(?=[ ]))){{1,4}}(?![A-Za-zÀ-ɏ]|[-_/][A-Za-z0-9])"
)
_PARTICLES = frozenset(
    "de da di del dos van von der den bin al la le el De Da Di Del Van Von Der Bin Al La Le El".split()
)
_AGAINST = re.compile(
    rf"(?:(?<![A-Za-z])(?:[Tt]he|[Aa]n?|[Ee]very|[Ee]ach|[Tt]his|[Oo]ur|[Yy]our|[Nn]ew|[Oo]ld|[Ii]n|[Aa]t|[Oo]pen|[Ss]elect|[Cc]lick|[Ii]nstall|[Rr]un|[Uu]se|[Uu]sing|[A-Z][a-zA-Z]{{1,20}}|{OPAQUE})[ ])\Z"
)
FOR = re.compile(
    r"(?:(?:[Bb]y|[Hh]eard|[Ss]een|[Ss]aw|[Kk]nows?|[Aa]sk(?:ed)?|[Tt]old|[Tt]ell|[Tt]hank(?:s|ed)?|[Mm]et|[Cc]all(?:ed)?|[Nn]amed|[Pp]aged?|[Ss]poke (?:to|with)|[Ss]peak (?:to|with)|[Tt]alk(?:ed)? (?:to|with)|[Ii]nterviewed|[Hh]ired|[Ff]ired"
    r"|[Ii]nform(?:ed)?|[Rr]emind(?:ed)?|[Hh]elp(?:ed)?|[Aa]ccording to|belongs to|next to|[Ww]elcome|[Cc]ongratulations to|[Bb]irthday,?|said|says|wrote|ran into|bumped into|lunch with|meeting with|reviewed [a-z ]{3,20} with"
    r"|[Dd]ear|[Hh]i|[Hh]ello|manager|driver|nurse|user|student|patient|client|customer|colleague|friend|brother|sister|wife|husband|mother|father|son|daughter|uncle|aunt|neighbou?r|boss|teacher|tutor|engineer|technician|officer|doctor|lawyer|agent"
    r"|deceased|defendant|claimant|witness|suspect|victim|candidate|tenant|owner|author|contact|assignee|reporter|I am|I'm|[Ii]t's|this is|copied|cc'?d|replace[sd]?|replacing|between|transfer [a-z ]{3,20} to|received from|keys? to|give [a-z ]{3,20} to)[:,]?[ (\"“-]{1,3}"
    r"|\AI, |[\n.] ?I, |(?:\A|\n)(?:Author|Name|Owner|Contact|User|From|To|Cc|By|Creator|Assigned[a-z ]{0,12}|Backup|Reviewer|Driver|Emergency contact)[ ]?[:\-][ ]?|(?:created|updated|assigned|author|owner)(?:By|_by|To|_to)?[\"']?[:=][ ]?[\"']?)\Z"
)
BEHIND = re.compile(
    rf"[ ]?\([{HAN}]{{2,4}}\)"
    r"|['’]s? (?:laptop|phone|desk|office|email|e-mail|account|manager|team|visa|application|birthday|contract|salary|leave|wife|husband|mother|father|son|daughter|family|car|house|idea|request|report)"
    r"|[ ](?:and I(?![a-z])|is (?:out|sick|leaving|away|ill|back|on|late|here|not|our|the|a|in\?)|was (?:born|late|sick|hired|fired|promoted|injured|told|asked|seen|called|the|our|not)|has (?:left|joined|agreed|not|been|asked|sent|resigned|approved)|had |said|says|asked|wrote|called|emailed|e-mailed"
    r"|told|replied|resigned|retired|joined|left|arrived|arrives|agreed|mentioned|thinks|thought|wants|wanted|needs|will (?:send|be|call|take|visit|meet|join|write|check|present|speak|talk|come|follow|do|bring|give|review|draft)|can (?:be|help)|complained|suggested|signed|approved|reported|confirmed|noted|explained"
    r"|missed|forgot|works|worked|lives|lived|died|offered|promised|apologi[sz]ed|hereby|in\?|who|whose|logged|wondered|visited|fell|took|gave|brought|sent|came|went|reviewed|presented|covers|handled|handles|paid|owes|recommends|recommended|leaves|starts|started|covered|signs|owns|leads|runs|chairs|attends|attended|asks|tells|knows|sends|manages|managed|maintains|maintained|lends|pays)(?![a-z])"
    r"|,? (?:who|whose|born|aged|hereby|\(he|\(she)(?![a-z])|, (?:[A-Z][a-z]+ )?(?:manager|director|engineer|analyst|nurse|doctor|our|my|the|CEO|CTO|CFO|MD|PhD|RN|age)(?![a-z])|[ ]?<|[ ]\((?:chair|HR|IT|Finance|Legal|Sales|sister|brother|wife|husband|mother|father|son|daughter|he|she|they|remote|ext)"
)
_EDGE_BEFORE = re.compile(r"(?:\A|\n|[|,;:(\[\"“>•])[ \t]{0,3}[\-*•]?[ ]?\Z")
_EDGE_BEHIND = re.compile(r"[ \t]{0,3}(?:\n|\Z|[|,;:)\]\"”])")
_LINKS_BEFORE = re.compile(
    r"(?:[ \n](?:to|with|of|under|and|or|from|for|add|including|by|can|could|will|would|did|does|has|have|let|had|is|was|if|when|because|that|whether|since|while|as|than|except|only|also|see)|['’]s) \Z"
)
_LINKS_BEHIND = re.compile(r" (?:from|of|and|as|over|is|was|has|at|or|to|for|on|in) |['’]s? ")
_INNER_CAPITAL = re.compile(r"[a-z][A-Z](?<!Mc.)(?<!Mac.)(?<!De.)(?<!Di.)(?<!La.)(?<!Le.)(?<!Van.)(?<!Fitz.)")
_ROLE_BEFORE = re.compile(
    r"(?:PM|QA|QC|HR|PO|BD|DBA|SRE|Dev|Ops|[Cc][Cc]|President|Minister|Chairman|Chairwoman|Chair|Director|Manager|Secretary|Governor|Mayor|Senator|Ambassador|Commissioner|Professor|Coach|Founder|Partner|Inspector|Detective|Officer|Sergeant|Colonel|General|Major"
    r"|Attorney|Judge|Nurse|Engineer|Analyst|Consultant|Supervisor|Foreman|Operator|Technician|Author|Editor|Reporter|Applicant|Candidate|Employee|Patient|Client|Customer|Tenant|Student|Contractor|Trainee|Intern|Volunteer|Driver|Passenger|Guest|Visitor|Accountant|Agent|Lawyer|Doctor|CEO|CFO|CTO|COO|VP|Dr|Prof|Rep|Sen|Gov)\.?,? "
)
_NATION_BEFORE = re.compile(
    r"(?:American|British|German|French|Italian|Spanish|Dutch|Russian|Chinese|Japanese|Korean|Indian|Australian|Canadian|Swiss|Swedish|Irish|Polish|Brazilian|Mexican|When|While|If|And|But|So|As|Then|Yesterday|Today|Did|Does|Is|Was|Has|Will|Can|Could|Would|Should|Have|May|Where|Why|How|Yes|No) "
)
_CAPITAL_WORD = re.compile(r"[A-Z](?<![\w.].)[A-Za-z]{0,20}\.?,? \Z")
_BESIDE_A_MARK = re.compile(rf"{OPAQUE}(?:[,;/]| and| or| &)[ ]?\Z")
_CLAUSE = re.compile(r"(?:\A|[\n;.:,(•*\-] {0,2})\Z")
_AGENT = re.compile(r"[A-Z][a-z]{2,12}(?:er|or|ee|ist|ian|lord|lady|man|woman|ess|ent|ant) ")
"""A word for who does something, at the beginning of a clause: *Landlord Jade Buckley*."""
_HAN_BEFORE = re.compile(f"[{HAN}] ?\\Z")
_GREETINGS = frozenset(
    "Hello Hi Hey Dear Thanks Thank Good Welcome Greetings Cheers Regards Best Kind Happy Sorry Please Yes No Ok Okay".split()
)
# A mark counts like the name that it stands for, so that names in a row are not found one by one.
_CAPITAL_BEHIND = re.compile(rf"[ ](?:[A-Z][a-z]|{OPAQUE})")


_FIRMS_AND_PLACES = frozenset(
    """Morgan Stanley|Goldman Sachs|Wells Fargo|Johnson Controls|Merrill Lynch|Louis Vuitton|Calvin Klein|Hugo Boss|Ralph Lauren|Jack Daniels|Hong Kong|Buenos Aires|Costa Rica|Puerto Rico|Sierra Leone|Aston Villa
    |Tommy Hilfiger|Giorgio Armani|Salomon Brothers|Lehman Brothers|Wolters Kluwer|Harley Davidson|Aston Martin|Alfa Romeo|Michael Kors|Jim Beam|Johnnie Walker|Mary Kay|Helena Rubinstein|Booz Allen|Arthur Andersen
    |Charles Schwab|Fannie Mae|Freddie Mac|Sherwin Williams|Rolls Royce|John Deere|Betty Crocker|Sara Lee|San Francisco|San Diego|San Jose|Santa Clara|Santa Monica|Los Angeles|Las Vegas|Saint Louis|Kuala Lumpur|Tel Aviv|Abu Dhabi
    |Sri Lanka|El Salvador|Viet Nam|Las Palmas|Palo Alto|Baton Rouge|Des Moines|Fort Worth|Grand Rapids|Santa Maria""".replace(
        "\n", ""
    )
    .replace("    |", "|")
    .split("|")
)


@lru_cache(maxsize=16_384)
def _inside(name: str) -> float:
    """What the words of a candidate say for it."""
    words = name.split(" ")
    if name in _FIRMS_AND_PLACES:
        return -9.0
    pinyin = pinyin_points(words)
    if pinyin:
        return pinyin + 0.4 * (commonness(words[0]) == commonness(words[1]) == 0)
    plain = {word for word in words if len(word.removesuffix(".")) > 1}
    if words[-1] in FAMILY and (words[0] in GIVEN or words[0] in WORLD) and words[0] not in AMBIGUOUS:
        plain.discard(words[-1])  # Fletcher Hill
    if not (NO_NAME.isdisjoint(plain) and OFFICES.isdisjoint(plain) and neighbours.NO_PERSON.isdisjoint(plain)):
        return -9.0
    if (
        any(word.isupper() and len(word.rstrip(".")) > 1 for word in words)
        or words[-1] in _PARTICLES
        or words[0] in _PARTICLES
    ):
        return -9.0
    first, last = words[0], words[-1].rstrip(".")
    if len(last) < 2 or first in _GREETINGS or any(map(_INNER_CAPITAL.search, words)):
        return -9.0
    points = _given(first) + _family(last)
    points += 0.5 * any(word in _PARTICLES for word in words[1:-1]) + 0.6 * any(
        len(word.rstrip(".")) == 1 for word in words[1:]
    )
    if commonness(first) == commonness(last) == 0:
        points += 0.4 + 0.5 * (not name.isascii())
    return points - 0.4 * max(0, len(words) - 3)


def _given(word: str) -> float:
    if word in GIVEN or word in WORLD:
        return 1.4 if word in AMBIGUOUS else 2.2
    head, _, tail = word.replace("’", "'").partition("-")
    if tail and (head in GIVEN or head in WORLD):
        return 2.0
    common = commonness(word)
    if word in AMBIGUOUS:
        return 0.9
    if word in listed_names.given():
        return 1.8 if common < 2.5 else 1.0
    return 0.8 if common == 0 else 0.4 if common < 1.5 else -0.8 if common < 3.5 else -1.6


def _family(word: str) -> float:
    parts = word.replace("’", "'").split("-")
    if any(part in FAMILY or (part.startswith(("O'", "D'", "Mc", "Mac")) and len(part) > 4) for part in parts):
        return 1.2
    common = commonness(word)
    if common < 2.5 and (ENDINGS.search(word) or word in listed_names.family()):
        return 1.0
    if word in GIVEN or word in WORLD:
        return 0.6
    return 0.7 if common == 0 else 0.4 if common < 1.5 else -0.6 if common < 3.5 else -1.4


_BY_PLACE = 2.6
"""Points of a place that holds hardly anything but names: behind *Attendees:*, before *wrote:*."""


def _before(text: str, start: int) -> float:
    """What stands before a candidate says for it."""
    low = max(0, start - 40)
    if PLACED_BEFORE.search(text, low, start):
        return _BY_PLACE
    if FOR.search(text, low, start) or _BESIDE_A_MARK.search(text, max(0, start - 6), start):
        return 1.2
    if neighbours.CUES.search(text, max(0, start - neighbours.WINDOW), start):
        return _BY_PLACE
    if text[start - 1 : start] == " " and (capital := _CAPITAL_WORD.search(text, max(0, start - 24), start)):
        if _ROLE_BEFORE.match(text, capital.start()):
            return 1.2
        if _NATION_BEFORE.match(text, capital.start()) or (
            _AGENT.match(text, capital.start()) and _CLAUSE.search(text, max(0, capital.start() - 3), capital.start())
        ):
            return 0.4
    elif _HAN_BEFORE.search(text, max(0, start - 2), start):
        return 0.4
    if _AGAINST.search(text, low, start):
        return -1.2
    return 0.4 if _EDGE_BEFORE.search(text, low, start) or _LINKS_BEFORE.search(text, low, start) else 0.0


def _behind(text: str, end: int) -> float:
    """What stands behind a candidate says for it."""
    if ACTS_BEHIND.match(text, end):
        return _BY_PLACE
    if BEHIND.match(text, end):
        return 1.2
    if _CAPITAL_BEHIND.match(text, end):
        return -1.0
    return 0.4 if _EDGE_BEHIND.match(text, end) or _LINKS_BEHIND.match(text, end) else 0.0


def _name(view: TextView, match: re.Match[str]) -> Span | None:
    """The words that speak most for a name: the candidate, without a first word that begins the sentence."""
    text, start, name = view.text, match.start(), match[0]
    if text[start - 1 : start] == "@" and text[start - 2 : start - 1].isalnum():
        return None
    before: float | None = None
    while " " in name:
        points = _inside(name)
        if points > _LEAST:
            points += _behind(text, start + len(name))
        if points >= ENOUGH - _BY_PLACE and points > _LEAST:
            before = _before(text, start) if before is None else before
            if points + before >= ENOUGH:
                return start, start + len(name), name.casefold()
        if name.count(" ") < 2:
            return None
        shorter = name.rpartition(" ")[0]
        if shorter.rpartition(" ")[2] in _PARTICLES:
            return None
        name = shorter
    return None


RULES = (Rule("person", _CANDIDATE, _name, cased=True, signs=IN_CAPITALS),)
