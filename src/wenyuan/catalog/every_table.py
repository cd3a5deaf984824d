"""Every table of a catalog."""

from __future__ import annotations

from wenyuan.catalog import schema as t
from wenyuan.catalog.batch_tables import batch_tables
from wenyuan.catalog.conflict_tables import conflict_tables
from wenyuan.catalog.detail_tables import detail_tables
from wenyuan.catalog.erasure_tables import erasure_tables
from wenyuan.catalog.gap_tables import gap_tables
from wenyuan.catalog.golden_tables import golden_tables
from wenyuan.catalog.group_tables import group_tables
from wenyuan.catalog.people_tables import people_tables
from wenyuan.catalog.reader_tables import reader_tables
from wenyuan.catalog.stated_files import stated_tables

ALL = (
    t.tables, t.rules_tables, t.tuning_tables, t.profile_tables, t.evaluation_tables,
    t.synonym_tables, t.listing_tables, t.judge_tables, reader_tables, gap_tables,
    stated_tables, group_tables, erasure_tables, conflict_tables, people_tables,
    golden_tables, batch_tables, detail_tables,
)  # fmt: skip
