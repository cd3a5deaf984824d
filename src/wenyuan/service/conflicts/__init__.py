"""Statements that contradict one another: found, decided about, and told to whoever reads one of them."""
