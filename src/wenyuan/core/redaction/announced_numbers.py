"""Redaction rules for numbers whose word right before them says whose or what they are, whatever their form and check digits: *tax ID 94-2841935*.

Rules for the forms of single countries find what no word announces (`licences`); here the word decides, since people mistype numbers, mask a part of them and
write them with signs of their own.
"""

from __future__ import annotations

import re

from wenyuan.core.redaction.matching import IN_DIGITS, Rule, Span, plain_number
from wenyuan.core.redaction.text_view import TextView

_LEAST_DIGITS = 5
_NEAR = 44  # characters before a number in which its words stand
# A token of digits and letters with a digit near its beginning; a space parts groups of digits only.
_VALUE = re.compile(
    r"[0-9a-z](?<![0-9a-z\-./@].)(?=[a-z]{0,12}[\-./]?[a-z]{0,4}[\-./]?[0-9])[0-9a-z](?:[\-./]?[0-9a-z]|[ ](?=[0-9])(?<=[0-9] )){4,24}(?![0-9a-z@]|[\-./][0-9a-z])|[0-9a-z](?<![0-9a-z\-./@].)(?=[0-9])[0-9](?:[ \-]?[0-9]){4,24}(?![0-9a-z@])"
)
_CONNECTS = r"(?:['’]s)?(?: card)?(?: (?:number|num|no\.?|nr\.?|code|id|details))?[*_]{0,2}\s{0,2}(?:[:=#是为]|is|was)?\s{0,2}(?:[a-z]{2,5}: )?[\"'“‘`(*]{0,3}\Z"
_PERSONAL = (
    r"(?:driver['’]?s?|driving) licen[cs]e|licen[cs]e(?= (?:number|no))|(?<![a-z])dl(?= ?(?:[:#]|no))|aadhaa?r|(?<![a-z])pan(?= (?:card|number|no))|voter(?:['’]s)? id|national id(?:entity|entification)?|identity card|(?<![a-z])id card"
    r"|tax(?:payer)? ?id(?:entification)?|(?<![a-z])[ia]?tin|patient id|(?<![a-z])mrn|medical record|health (?:card|insurance|id)(?= (?:number|no|id)| ?:)|insurance (?:policy|id|member)|social security|(?<![a-z])ssn|residence permit|work permit"
    r"|personal id|(?<![a-z])(?:cnic|nid|curp|cuit|bsn|pesel|personnummer)"
)
_BANK = r"(?:bank|savings|checking|current|salary) account|account(?= (?:number|no))|iban|(?<![a-z])(?:routing|aba|transit)(?= (?:number|no)|:? ?\Z)"
_COMPANY = r"(?<![a-z])ein(?= |:)|employer id(?:entification)?|vat(?: registration)?(?= (?:number|no|id))|信用代码|纳税人识别号|税号"
_DATE = re.compile(
    r"(?:19|20)[0-9]{2}[\-./][0-9]{1,2}[\-./][0-9]{1,2}|[0-9]{1,2}[\-./][0-9]{1,2}[\-./](?:19|20)[0-9]{2}"
)


def _announced(kind: str, cue: str, *needs: str) -> Rule:
    said = re.compile(f"(?:{cue}){_CONNECTS}")

    def check(view: TextView, match: re.Match[str]) -> Span | None:
        value = match[0]
        if sum(map(str.isdigit, value)) < _LEAST_DIGITS or _DATE.fullmatch(value):
            return None
        if not said.search(view.lower, max(0, match.start() - _NEAR), match.start()):
            return None
        return match.start(), match.end(), plain_number(value)

    return Rule(kind, _VALUE, check, needs, signs=IN_DIGITS)


RULES = (
    _announced(
        "id_number", _PERSONAL, "licen", "aadha", "pan ", "voter", "national id", "identity card", "id card", "tax", "tin ", "tin:", "patient id", "mrn", "medical record", "health", "insurance", "social security",
        "ssn", "permit", "personal id", "cnic", "curp", "cuit", "pesel", "personnummer",
    ),
    _announced("bank_card", _BANK, "account", "iban", "routing", "aba ", "transit"),
    _announced("cn_uscc", _COMPANY, "ein ", "ein:", "employer id", "vat ", "信用代码", "识别号", "税号"),
)  # fmt: skip
