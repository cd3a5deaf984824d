"""Failures that repeat: of one cause, the log has one line each minute, with how many others there were.

A catalog that is gone makes each request fail; without this, each would write its traceback, some thousand lines a second,
and fill the disk that the next thing needs.
"""

from __future__ import annotations

import logging
import re
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from wenyuan.core.errors import KnowledgeError, Message

_EVERY = 60.0  # seconds between two lines of one cause
_MOST = 500  # causes that are remembered; of the one that was not met for longest, the next line is written
_CHANGING = re.compile("[0-9a-f]{8,}|[0-9]+")
_MOST_CHARS = 200
_OURS = ("wenyuan", "uvicorn", "asyncio")  # loggers of a server

Cause = tuple[object, ...]


class RepeatedFailures(logging.Filter):
    """Lets one error line of each cause through each minute. Safe between threads, and with several handlers.

    Args:
        clock: Seconds.
    """

    def __init__(self, every: float = _EVERY, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._every, self._clock = every, clock
        self._lock = threading.Lock()
        self._met: OrderedDict[Cause, tuple[float, int]] = OrderedDict()  # when it was written, and how many since

    def filter(self, record: logging.LogRecord) -> bool:
        if record.levelno < logging.ERROR or not record.name.startswith(_OURS):
            return True
        decided = getattr(record, "_written", None)
        if decided is None:  # another handler has asked already
            decided = record._written = self._due(record)
        return bool(decided)

    def _due(self, record: logging.LogRecord) -> bool:
        cause, now = cause_of(record), self._clock()
        with self._lock:
            written, others = self._met.pop(cause, (now - self._every, 0))
            due = now - written >= self._every
            self._met[cause] = (now, 0) if due else (written, others + 1)
            while len(self._met) > _MOST:
                self._met.popitem(last=False)
        if due and others:
            said = record.getMessage()
            record.msg, record.args = "%s (and %d more of this cause since the last line)", (said, others)
        return due


def cause_of(record: logging.LogRecord) -> Cause:
    """What makes two lines ones of the same cause: who says it, of which error, raised where; not of which request."""
    arguments = record.args if isinstance(record.args, tuple) else (record.args,)
    errors = tuple(_kind(value) for value in arguments if isinstance(value, BaseException))
    raised = record.exc_info if isinstance(record.exc_info, tuple) else (None, None, None)
    where = None
    if (trace := raised[2]) is not None:
        while trace.tb_next is not None:
            trace = trace.tb_next
        where = (trace.tb_frame.f_code.co_filename, trace.tb_lineno)
    return record.name, record.levelno, str(record.msg), errors, _kind(raised[1]), where


def _kind(error: BaseException | None) -> Cause:
    """An error without what is its request's: its type, the part that failed, and its message without values."""
    if error is None:
        return ()
    if not isinstance(error, KnowledgeError):
        return (type(error).__name__,)
    text = error.message
    said = text.template if isinstance(text, Message) else _CHANGING.sub("#", text[:_MOST_CHARS])
    return type(error).__name__, error.component, said


@contextmanager
def once_a_minute() -> Iterator[None]:
    """A context in which the handlers of this process write of repeated failures one line each minute."""
    rarely, handlers = RepeatedFailures(), list(logging.getLogger().handlers)
    for handler in handlers:
        handler.addFilter(rarely)
    try:
        yield
    finally:
        for handler in handlers:
            handler.removeFilter(rarely)
