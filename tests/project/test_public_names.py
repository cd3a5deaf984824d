"""What programs of others import stays where it is, wherever its definition lies within the package."""

from __future__ import annotations

import tomllib
from importlib import import_module
from pathlib import Path

import pytest

PUBLIC = {
    "wenyuan": """AsyncClient Client Fragment InvalidRequest KnowledgeError Library NotPermitted Passage RetrievalFailed
        RetrievalRequest RetrievalResponse Source create open __version__""",
    "wenyuan.client": """AgentClient AsyncAgentClient AsyncClient Client Fragment InvalidRequest Item Knowledge NotPermitted
        Passages RetrievalFailed Rules United get_context_from""",
    "wenyuan.conformance": """AdapterTarget Answer CaseResult CommandFault EnvFault FaultSwitch HeaderFault HttpTarget
        PythonTarget Report Target check_connector export_data fault_from_options render run""",
    "wenyuan.conformance.suite": "",
    "wenyuan.core.connectors": "Connector Entry Known Opening",
    "wenyuan.integrations.anthropic": "search_results",
    "wenyuan.knowledge_retriever": """CHAPTERS_NEED_KG DEFAULT_VECTOR_THRESHOLD DEFAULT_VECTOR_TOP_K Items KGRetriever
        KnowledgeRetriever PRIORITY_FREE_GEN PRIORITY_KG_RULE PRIORITY_TEMPLATE PRIORITY_VECTOR_CASE ProcessRequirements
        RetrievalItem RetrievalResponse RetrievalResult TEMPLATE_COLLECTION VectorRetriever""",
    "wenyuan.knowledge_retriever.config": "CHAPTERS_NEED_KG DEFAULT_VECTOR_THRESHOLD PRIORITY_KG_RULE TEMPLATE_COLLECTION",
    "wenyuan.knowledge_retriever.models": "Items ProcessRequirements RetrievalItem RetrievalResponse RetrievalResult",
    "wenyuan.knowledge_retriever.retriever": "KnowledgeRetriever",
    "wenyuan.readers.golden": "read_golden",
    "wenyuan.cli": "main",
}
"""Names by module: what the documentation, the examples and the protocol of the seed's modules import."""

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("module", PUBLIC)
def test_a_public_name_is_there(module: str) -> None:
    there = import_module(module)
    assert [name for name in PUBLIC[module].split() if not hasattr(there, name)] == []


def test_entry_points_lead_to_something() -> None:
    """Commands and plugins that the package declares."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    declared = [
        *project["scripts"].values(),
        *(e for group in project["entry-points"].values() for e in group.values()),
    ]
    assert declared
    for entry in declared:
        module, _, name = entry.partition(":")
        assert not name or callable(getattr(import_module(module), name))
