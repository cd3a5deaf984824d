"""Freshness of sources: when each is due to be read again; and a thread that keeps the index up to date."""
