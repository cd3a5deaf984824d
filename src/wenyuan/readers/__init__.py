"""Reads file bytes into `Document` values: one reader per kind of file, chosen by suffix and imported on first use.

Which reader takes a file is decided by its name; that its bytes agree is checked first (`check_signature`).
"""
