"""Source selection, request context and analysis of the question: which sources a request may search, what its context
adds to the ranking, and whether the question looks like a text.
"""
