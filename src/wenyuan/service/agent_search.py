"""Searches on behalf of agents, recorded, with their summaries: what the knowledge service answers."""

from __future__ import annotations

from dataclasses import dataclass

from wenyuan.core.access import Principal
from wenyuan.service.audit.recorded_search import RecordedSearch
from wenyuan.service.generation.rewriter import Rewriter
from wenyuan.service.generation.summarizer import Summarizer
from wenyuan.service.search.searcher import LOCAL, SearchRequest, SearchResult


@dataclass(frozen=True, kw_only=True, eq=False)
class AgentSearch:
    """Has a question reworded, searched and recorded, and its passages summarised, as the request asks for it."""

    rewriter: Rewriter
    recorded: RecordedSearch
    summarizer: Summarizer

    def find(self, request: SearchRequest, principal: Principal = LOCAL) -> SearchResult:
        """The knowledge service: passages within the scope of an agent. Raises what made it fail, and records it."""
        request = self.rewriter.searched(request)
        result = self.recorded.find(request, principal)
        if request.summary == "generated":
            (result,) = self.summarizer.summarized([result], [request], principal)
        return result
