"""Unified retrieval of rules, cases and templates, the schemas of a library's packs, and names found by meaning."""
