"""Check digits, dates and issuers: what tells an identity number from any other number."""

from __future__ import annotations

from datetime import date

# GB/T 2260, first two digits; 81-83 residents from Hong Kong, Macau and Taiwan, 91 foreign permanent residents.
# No table of districts: they change, and a real number whose district is missing would be let through.
_PROVINCES = frozenset(
    "11 12 13 14 15 21 22 23 31 32 33 34 35 36 37 41 42 43 44 45 46 50 51 52 53 54 61 62 63 64 65 71 81 82 83 91".split()
)
_USCC_ALPHABET = "0123456789ABCDEFGHJKLMNPQRTUWXY"  # GB 32100-2015
_USCC_VALUES = {c: i for i, c in enumerate(_USCC_ALPHABET)}
_LUHN_DOUBLED = str.maketrans("0123456789", "0246813579")
# ISO 13616 registry: letters of the country and length of its numbers.
_IBAN_LENGTHS = {
    entry[:2]: int(entry[2:])
    for entry in """
    AD24 AE23 AL28 AT20 AZ28 BA20 BE16 BG22 BH22 BI27 BR29 BY28 CH21 CR22 CY28 CZ24 DE22 DJ27 DK18 DO28 EE20 EG29
    ES24 FI18 FK18 FO18 FR27 GB22 GE22 GI23 GL18 GR27 GT28 HN28 HR21 HU28 IE22 IL23 IQ23 IS26 IT27 JO30 KW30 KZ20
    LB28 LC32 LI21 LT20 LU20 LV21 LY25 MC27 MD24 ME22 MK19 MN20 MR27 MT31 MU30 NI28 NL18 NO15 OM23 PK24 PL28 PS29
    PT25 QA29 RO24 RS22 RU33 SA24 SC31 SD18 SE24 SI19 SK24 SM27 SO23 ST25 SV28 TL23 TN24 TR26 UA29 VA22 VG24 XK20 YE30
    """.split()
}
_CARDS = (  # first digits from, to; lengths
    ("62", "62", range(16, 20)),  # UnionPay
    ("81", "81", range(16, 20)),
    ("60", "60", range(16, 20)),  # Discover, and older debit cards of Chinese banks
    ("4", "4", (13, 16, 19)),  # Visa
    ("51", "55", (16,)),  # Mastercard
    ("2221", "2720", (16,)),
    ("34", "34", (15,)),  # American Express
    ("37", "37", (15,)),
    ("3528", "3589", range(16, 20)),  # JCB
    ("300", "305", range(14, 20)),  # Diners
    ("36", "36", range(14, 20)),
    ("38", "39", range(14, 20)),
    ("644", "649", range(16, 20)),  # Discover
    ("65", "65", range(16, 20)),
)


def _is_date(year: int, month: int, day: int) -> bool:
    try:
        date(year, month, day)
    except ValueError:
        return False
    return True


def id_body(number: str) -> bool:
    """Whether 15 or 18 characters begin like an identity number: a province, and a date of birth."""
    if number[:2] not in _PROVINCES:
        return False
    born = number[6:14] if len(number) == 18 else "19" + number[6:12]
    return born[:2] in {"19", "20"} and _is_date(int(born[:4]), int(born[4:6]), int(born[6:]))


def id_check(number: str) -> bool:
    """MOD 11-2 of GB 11643-1999 (ISO 7064) over 18 characters, the last of which may be ``X``."""
    total = sum(int(digit) * (1 << (17 - i)) for i, digit in enumerate(number[:17]))
    return "10X98765432"[total % 11] == number[17]


def luhn(number: str) -> bool:
    """The check digit of ISO/IEC 7812-1."""
    return (sum(map(int, number[-1::-2])) + sum(map(int, number[-2::-2].translate(_LUHN_DOUBLED)))) % 10 == 0


def card_issuer(number: str) -> bool:
    """Whether the first digits and the length are those of a card scheme (ISO/IEC 7812)."""
    return any(low <= number[: len(low)] <= high and len(number) in lengths for low, high, lengths in _CARDS)


def uscc(code: str) -> bool:
    """GB 32100-2015: an 18-character unified social credit code, in upper case."""
    if code[2:4] not in _PROVINCES and code[2:4] != "10":
        return False
    total = sum(_USCC_VALUES[c] * pow(3, i, 31) for i, c in enumerate(code[:17]))
    return _USCC_ALPHABET[-total % 31] == code[17]


def iban(code: str) -> int:
    """The length of the IBAN at the beginning of `code` (upper case, no spaces); 0 when there is none."""
    length = _IBAN_LENGTHS.get(code[:2], 0)
    if not length or len(code) < length:
        return 0
    turned = code[4:length] + code[:4]
    return length if int("".join(str(int(c, 36)) for c in turned)) % 97 == 1 else 0


def hk_id(letters: str, digits: str, check: str) -> bool:
    """The check digit of a Hong Kong identity card, ``A123456(3)``."""
    values = [36 if c == " " else int(c, 36) for c in letters.rjust(2)] + [int(c) for c in digits]
    total = sum(value * weight for value, weight in zip(values, range(9, 1, -1), strict=True))
    return "0A987654321"[total % 11] == check


def tw_id(number: str) -> bool:
    """The check digit of a Taiwan identity card, ``A123456789``."""
    area = "ABCDEFGHJKLMNPQRSTUVXYWZIO".index(number[0]) + 10
    values = [area // 10, area % 10, *map(int, number[1:])]
    return (
        sum(value * weight for value, weight in zip(values, (1, 9, 8, 7, 6, 5, 4, 3, 2, 1, 1), strict=True)) % 10 == 0
    )
