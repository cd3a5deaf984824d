"""An engine on PostgreSQL with pgvector: the index is on a server, the catalog may be elsewhere.

It has the same terms and the same scores as the other engines. Its tables (`engines.postgres.sessions`) carry the number of the last
change that they hold, in the transaction that wrote it; a query reads one state of all of them.
"""
