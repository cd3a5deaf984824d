"""Questions that were not answered well: found in the audit, grouped by meaning, decided about, asked again."""
