"""The table of who belongs to which group."""

from __future__ import annotations

import sqlalchemy as sa

from wenyuan.catalog.schema import ID, TEXT

group_tables = sa.MetaData()

# A member that is taken out leaves its row, by which readers learn of it.
group_members = sa.Table(
    "group_members",
    group_tables,
    sa.Column("member", TEXT, primary_key=True),  # somebody, or a group whose members belong to this one, too
    sa.Column("group_name", TEXT, primary_key=True),
    sa.Column("belongs", sa.Boolean, nullable=False),
    sa.Column("seq", ID, nullable=False),
)
sa.Index("group_members_group", group_members.c.group_name)
sa.Index("group_members_seq", group_members.c.seq)
