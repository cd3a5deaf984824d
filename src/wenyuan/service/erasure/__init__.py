"""Erases persons, documents and sources from a library, for good, and proves it; keeps what must not be erased."""
