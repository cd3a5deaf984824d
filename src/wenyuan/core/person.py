"""Somebody whom an issuer vouches for."""

from __future__ import annotations

import hashlib
import unicodedata
from dataclasses import dataclass

from wenyuan.core.errors import KnowledgeError

PERSON_ID = "person-"
"""With what the ids of people begin."""


class IssuerUnavailable(KnowledgeError):
    """The issuer cannot be asked, so nobody can be told by its tokens."""

    code = "issuer_unavailable"


@dataclass(frozen=True, slots=True, kw_only=True)
class Person:
    """Somebody, as an issuer's token says.

    Attributes:
        issuer, subject: Together they never become another person's.
        name: For people to read; it gives no rights.
        user: As which documents are read, ``user:li``; "" for nobody.
        member_of: Names of groups as the issuer writes them.
        scopes: What the token was given for; None: it bounds nothing, as in a session of the console.
        client: The program that the token was given to, as the issuer calls it; "" where it is not told, or of the console.
        until: Seconds since the epoch.
    """

    issuer: str
    subject: str
    name: str = ""
    user: str = ""
    member_of: frozenset[str] = frozenset()
    scopes: frozenset[str] | None = None
    client: str = ""
    until: float

    @property
    def person_id(self) -> str:
        """A short name for issuer and subject, for records."""
        return person_id(self.issuer, self.subject)


def person_id(issuer: str, subject: str) -> str:
    """The id in records of whom an issuer calls so."""
    return PERSON_ID + hashlib.sha256(f"{issuer}\0{subject}".encode()).hexdigest()[:20]


def stands_for_itself(name: str) -> bool:
    """Whether a name has no letter or digit that lists of readers take for another one, as a full-width one for the plain one.

    Otherwise somebody who may choose a name could choose one that counts as another's.
    """
    return all(
        unicodedata.normalize("NFKC", one) == one and one.casefold() == one.lower() for one in name if one.isalnum()
    )
