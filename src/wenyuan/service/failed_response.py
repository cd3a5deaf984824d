"""How a failure is told in the contract's own form: FAILED, and why."""

from __future__ import annotations

import logging

from wenyuan.core.errors import KnowledgeError, msg
from wenyuan.core.model import RetrievalResponse
from wenyuan.runtime.shortage import is_shortage, tell_shortage

log = logging.getLogger(__name__)


def failed_response(error: Exception) -> RetrievalResponse:
    """The answer for an error that is being handled, which is logged. Of what was not foreseen only the type is told."""
    if isinstance(error, KnowledgeError):
        log.error("retrieval failed: %s", error)
        return RetrievalResponse(status="FAILED", error_message=str(error))
    if is_shortage(error):
        tell_shortage()
    else:
        log.exception("retrieval failed")
    return RetrievalResponse(status="FAILED", error_message=msg("internal error: {kind}", kind=type(error).__name__))
