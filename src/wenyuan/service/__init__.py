"""The service between the doors and the rooms. Here: `Query` and `Answer`, the input and output of a search."""
