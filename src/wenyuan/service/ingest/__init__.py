"""Ingestion: from a source's files to stored, embedded and indexed passages."""
