"""What ``wenyuan doctor`` says of the issuer by which people sign in."""

from __future__ import annotations

import time
from collections.abc import Iterator
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING

from wenyuan.core.errors import KnowledgeError

if TYPE_CHECKING:
    from wenyuan.cli.terminal import Terminal
    from wenyuan.issuer.issuer_keys import IssuerKeys
    from wenyuan.oidc_settings import OidcSettings


def faults_of_issuer(terminal: Terminal, settings: OidcSettings) -> Iterator[tuple[str, str, str]]:
    """What is wrong with an issuer or the settings of it: ``fail`` or ``warn``, the fault, and what helps.

    Yields nothing where people can sign in and their tokens count.
    """
    from wenyuan.issuer.issuer_keys import IssuerKeys, algorithms_of

    try:
        keys = IssuerKeys(settings)
        held = keys.current()
    except KnowledgeError as error:
        yield "fail", terminal.own(str(error)), terminal.own(error.hint)
        return
    usable = algorithms_of(held.keys)
    if not set(usable) & set(settings.algorithms):
        yield "fail", terminal.text("d_issuer_algorithms", usable=", ".join(usable)), "oidc.algorithms"
    if abs(differs := _clock_difference(keys)) > settings.leeway:
        yield "fail", terminal.text("d_issuer_clock", seconds=round(abs(differs))), "timedatectl"
    if not settings.audience:
        yield "warn", terminal.text("d_issuer_audience"), "oidc.audience"
    elif not settings.address:
        yield "warn", terminal.text("d_issuer_address"), "oidc.address"
    if not settings.everyone and not any(one.roles or one.rights for one in settings.groups.values()):
        yield "warn", terminal.text("d_issuer_nobody"), "oidc.everyone, oidc.groups"
    elif settings.groups and not settings.groups_claim:
        yield "warn", terminal.text("d_issuer_groups"), "oidc.groups_claim"
    if settings.client_id and not (held.metadata.authorization_endpoint and held.metadata.token_endpoint):
        yield "fail", terminal.text("d_issuer_pages"), "oidc.client_id"


def _clock_difference(keys: IssuerKeys) -> float:
    """Seconds that the issuer's clock is ahead; 0 where it does not say its time."""
    try:
        return parsedate_to_datetime(keys.http.date).timestamp() - time.time()
    except (TypeError, ValueError, OverflowError):
        return 0.0
