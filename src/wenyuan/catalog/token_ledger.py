"""Language model tokens used per day, counted over all processes in the same database. A row holds a day and a number, and no text."""

from __future__ import annotations

import time
from collections.abc import Callable

import sqlalchemy as sa

from wenyuan.catalog.dialects import alone
from wenyuan.catalog.tasks import TaskLedger, tables
from wenyuan.core.errors import LlmBudgetSpent, msg

_NUMBER = 0x746F6B656E73  # of the lock on a server
_KEPT = 400 * 86_400.0  # seconds that a day is remembered

_used = sa.Table(
    "tokens",
    tables,
    sa.Column("day", sa.String(10), primary_key=True),  # UTC
    sa.Column("used", sa.BigInteger, nullable=False),
    sqlite_with_rowid=False,
)
task_tables = tables
"""What tasks were given, and the tokens of each day: whoever makes the tables needs both, so they are taken from here."""


class TokenLedger:
    """Token counts by day; safe to share between threads and processes.

    What a process had reserved when it was killed stays counted: rather too few are used than too many.

    Args:
        ledger: Of tasks, in whose place this is counted; the table is made there when it is first needed.
        most: Tokens of a day; 0: no limit, they are only counted.
        clock: Seconds since the epoch.
    """

    def __init__(self, ledger: TaskLedger, *, most: int, clock: Callable[[], float] = time.time) -> None:
        self._ledger, self._most, self._clock = ledger, most, clock
        self._made = False

    def reserve(self, tokens: int) -> str:
        """See `TokenBudget`. CatalogError when the tokens cannot be counted: then none may be used."""
        day = self._day(self._clock())
        with self._ledger.counting("counting tokens") as connection:
            self._make(connection)
            used = self._tokens_on(connection, day)
            if self._most and used + tokens > self._most:
                raise LlmBudgetSpent(
                    msg(
                        "{used} of the {most} tokens of the day (UTC) are used or reserved, and this needs up to {tokens}",
                        used=f"{used:,}", most=f"{self._most:,}", tokens=f"{tokens:,}",
                    ),
                    component="llm",
                    hint="wait until tomorrow, or raise llm.tokens_a_day",
                )  # fmt: skip
            self._put(connection, day, used + tokens)
        return day

    def settle(self, day: str, reserved: int, used: int) -> None:
        """See `TokenBudget`."""
        with self._ledger.counting("counting tokens") as connection:
            self._make(connection)
            self._put(connection, day, max(0, self._tokens_on(connection, day) - reserved + used))

    def used_today(self) -> int:
        """Tokens used or reserved today."""
        with self._ledger.counting("counting tokens") as connection:
            self._make(connection)
            return self._tokens_on(connection, self._day(self._clock()))

    @staticmethod
    def _day(moment: float) -> str:
        return time.strftime("%Y-%m-%d", time.gmtime(moment))

    def _make(self, connection: sa.Connection) -> None:
        alone(connection, _NUMBER)
        if not self._made:
            _used.create(connection, checkfirst=True)
            connection.execute(_used.delete().where(_used.c.day < self._day(self._clock() - _KEPT)))
            self._made = True

    @staticmethod
    def _tokens_on(connection: sa.Connection, day: str) -> int:
        return int(connection.execute(sa.select(_used.c.used).where(_used.c.day == day)).scalar() or 0)

    @staticmethod
    def _put(connection: sa.Connection, day: str, used: int) -> None:
        connection.execute(_used.delete().where(_used.c.day == day))
        connection.execute(_used.insert(), {"day": day, "used": used})
