"""How well does it find? Judged sets in BEIR layout, asked of the real engines through a real library.

``command.evaluate`` is the way in; the extra ``eval`` brings what it measures with.
"""
