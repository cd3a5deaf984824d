"""A graph as programs extract it from documents, by script: LightRAG's GraphML, and lists of entities and relations."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

KINDS = {"process": "工序", "equipment": "设备", "hazard": "危险", "safety_measure": "措施", "quality_point": "要点"}
WORDS = {  # how such programs write a relation: several words, none of which a pack has to know
    "requires_equipment": ("process", "equipment", "需要设备,工序设备"),
    "produces_hazard": ("process", "hazard", "产生危险源,工序危险"),
    "mitigated_by": ("hazard", "safety_measure", "安全措施,控制措施,风险缓解"),
    "requires_quality_check": ("process", "quality_point", "质量控制,质量要点,质量检查"),
}
LARGE = {"process": 462, "equipment": 190, "hazard": 120, "safety_measure": 470, "quality_point": 735}
LARGE_EDGES = {"requires_equipment": 190, "produces_hazard": 127, "mitigated_by": 569, "requires_quality_check": 320}
SENTENCE = "有经验的技术熟练工人施工；加强装饰材料现场验收；统一规划并逐项复核检查记录存档备查，发现问题及时处理。"
_KEYS = ("entity_id", "entity_type", "description", "source_id", "file_path", "created_at")
_EDGE_KEYS = ("weight", "description", "keywords", "source_id", "file_path", "created_at")


def named(kind: str, number: int) -> str:
    """Every seventieth measure is a sentence, as what a model extracts often is."""
    if kind == "safety_measure" and number % 70 == 69:
        return f"{number}{SENTENCE}"
    return f"{KINDS[kind]}第{number}项"


def nodes(sizes: dict[str, int]) -> Iterator[tuple[str, int, str]]:
    for kind, count in sizes.items():
        for number in range(count):
            yield kind, number, named(kind, number)


def edges(sizes: dict[str, int], counts: dict[str, int]) -> Iterator[tuple[str, tuple[str, int], tuple[str, int]]]:
    """Relation and ends, each pair once; every other one the wrong way round, since the graph has no directions."""
    for relation, count in counts.items():
        start, end, _ = WORDS[relation]
        for number in range(count):
            ends = (start, number % sizes[start]), (end, (number + number // sizes[start]) % sizes[end])
            yield relation, *(ends if number % 2 else ends[::-1])


def graphml(sizes: dict[str, int], counts: dict[str, int]) -> str:
    """As LightRAG keeps it: undirected, the relation as a list of words, a piece of text or nothing as its source."""
    parts = ["<graphml xmlns='http://graphml.graphdrawing.org/xmlns'>"]
    parts += [f"<key id='d{n}' for='node' attr.name='{key}'/>" for n, key in enumerate(_KEYS)]
    parts += [f"<key id='e{n}' for='edge' attr.name='{key}'/>" for n, key in enumerate(_EDGE_KEYS)]
    parts.append("<graph edgedefault='undirected'>")
    for kind, _, name in nodes(sizes):
        values = (name, kind, f"[{KINDS[kind]}]; 来源: rule", "UNKNOWN", "custom_kg", "1772014632")
        data = "".join(f"<data key='d{n}'>{value}</data>" for n, value in enumerate(values))
        parts.append(f"<node id='{name}'>{data}</node>")
    for number, (relation, src, dst) in enumerate(edges(sizes, counts)):
        chunk = f"chunk-{number:032x}" if number % 4 else "UNKNOWN"
        values = ("0.8", f"第{number}处", WORDS[relation][2], chunk, "custom_kg", "1772014632")
        data = "".join(f"<data key='e{n}'>{value}</data>" for n, value in enumerate(values))
        parts.append(f"<edge source='{named(*src)}' target='{named(*dst)}'>{data}</edge>")
    return "\n".join((*parts, "</graph></graphml>"))


def lists(sizes: dict[str, int], counts: dict[str, int]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Entities with ids, and relations whose ends are ids, or names."""
    entities = [
        {"id": f"{kind}_{number:03d}", "type": kind, "name": name, "aliases": [f"又名{name}"] if number == 1 else [],
         "engineering_type": "土建", "attributes": {}, "source": "rule", "confidence": 1.0}
        for kind, number, name in nodes(sizes)
    ]  # fmt: skip
    relations = []
    for number, (relation, *ends) in enumerate(edges(sizes, counts)):
        src, dst = ends if ends[0][0] == WORDS[relation][0] else reversed(ends)
        relations.append(
            {"id": f"rel_{number:04d}", "source_entity_id": named(*src) if number % 5 == 0 else f"{src[0]}_{src[1]:03d}",
             "target_entity_id": f"{dst[0]}_{dst[1]:03d}", "relation_type": relation, "confidence": 0.8,
             "evidence": f"第{number}处", "source_doc": "hazard_sources.md"}
        )  # fmt: skip
    return entities, relations


def write_folders(folder: Path, sizes: dict[str, int], counts: dict[str, int]) -> None:
    """``lightrag``, as LightRAG's working folder; ``kg``, the two lists; ``both.json``, both in one file."""
    for name in ("lightrag", "kg"):
        (folder / name).mkdir(parents=True)
    (folder / "lightrag" / "graph_chunk_entity_relation.graphml").write_text(graphml(sizes, counts), "utf-8")
    (folder / "lightrag" / "kv_store_text_chunks.json").write_text('{"chunk-1": {"content": "…"}}', "utf-8")
    (folder / "lightrag" / "vdb_chunks.json").write_text('{"embedding_dim": 4, "data": []}', "utf-8")
    entities, relations = lists(sizes, counts)
    whole = {"entities": entities, "relations": relations, "metadata": {"final_counts": {}}}
    for file, content in (("kg/entities", entities), ("kg/relations", relations), ("both", whole)):
        (folder / f"{file}.json").write_text(json.dumps(content, ensure_ascii=False), "utf-8")
