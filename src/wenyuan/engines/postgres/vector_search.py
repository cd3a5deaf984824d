"""Vector search: every matching row is compared, up to `EXACT_ROWS` of them; above, an HNSW graph is walked.

The graph is walked on until enough rows match (pgvector's iterative scan), so a filter does not starve the result.
If that ends too early, every row is compared after all: an answer is never short.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from psycopg import Connection
from psycopg.sql import SQL

from wenyuan.engines.postgres.conditions import SqlCondition

EXACT_ROWS = 50_000
"""Matching rows that are compared one by one; see bench/engines.py."""
GRAPH_DIMENSIONS = 2_000
"""The longest vectors of which pgvector makes a graph."""
WIDTH = 200
"""``hnsw.ef_search``: candidates of a scan; with 40, the default, recall falls below .95."""
MOST_VISITED = 200_000
"""``hnsw.max_scan_tuples``: rows that one walk may visit before every row is compared instead."""

MAKE_GRAPH = "CREATE INDEX CONCURRENTLY vectors_graph ON vectors USING hnsw (vector vector_ip_ops) WITH (m = 16, ef_construction = 100)"

_MATCHING = "SELECT count(*) FROM (SELECT FROM passages p WHERE {} LIMIT %(most)s) AS matching"
# The sign keeps the planner from using the graph: it knows the operator alone.
_EXACT = """
SELECT v.passage_id, -(v.vector <#> %(vector)s::vector) AS cosine FROM vectors v JOIN passages p USING (passage_id)
WHERE {} ORDER BY cosine DESC, v.passage_id LIMIT %(limit)s
"""
_WALK = """
SELECT v.passage_id, -(v.vector <#> %(vector)s::vector) FROM vectors v JOIN passages p USING (passage_id)
WHERE {} ORDER BY v.vector <#> %(vector)s::vector LIMIT %(limit)s
"""
_NEAREST_GIVEN = """
SELECT passage_id, -(vector <#> %(vector)s::vector) FROM vectors WHERE passage_id = ANY(%(passages)s::bigint[])
"""
_ALONG_THE_GRAPH = {
    "hnsw.iterative_scan": "relaxed_order",
    "hnsw.ef_search": str(WIDTH),
    "hnsw.max_scan_tuples": str(MOST_VISITED),
    "enable_seqscan": "off",
    "enable_sort": "off",
    "enable_hashjoin": "off",
    "enable_mergejoin": "off",
}


def nearest(connection: Connection[Any], vector: str, condition: SqlCondition, limit: int) -> list[tuple[int, float]]:
    """(passage, cosine) of the nearest rows within a condition, nearest first, ties by id.

    Args:
        vector: The unit vector as pgvector writes it.
    """
    values = {**condition.values, "vector": vector, "limit": limit, "most": EXACT_ROWS + 1}
    if _walks(connection, condition, values):
        for name, value in _ALONG_THE_GRAPH.items():
            connection.execute("SELECT pg_catalog.set_config(%s, %s, true)", (name, value))
        found = connection.execute(SQL(_WALK).format(condition.sql), values).fetchall()
        if len(found) == limit:
            return sorted(found, key=lambda pair: (-pair[1], pair[0]))
        for name in _ALONG_THE_GRAPH:
            connection.execute(SQL("RESET {}").format(SQL(name)))
    return connection.execute(SQL(_EXACT).format(condition.sql), values).fetchall()


def _walks(connection: Connection[Any], condition: SqlCondition, values: dict[str, Any]) -> bool:
    graph = connection.execute("SELECT graph FROM state").fetchone()
    if graph is None or not graph[0]:
        return False
    matching = connection.execute(SQL(_MATCHING).format(condition.sql), values).fetchone()
    return matching is not None and matching[0] > EXACT_ROWS


def cosines_of(connection: Connection[Any], vector: str, passage_ids: Sequence[int]) -> dict[int, float]:
    """The cosines of given passages; one without a vector is absent."""
    return dict(connection.execute(_NEAREST_GIVEN, {"vector": vector, "passages": list(passage_ids)}).fetchall())
