"""Retrieval evaluation on judged sets in BEIR layout, with the real engines on a real library.

``command.evaluate`` is the way in; the extra ``eval`` brings what it measures with.
"""
