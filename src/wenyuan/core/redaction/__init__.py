"""Redaction before anything is stored: find values that identify a person or open a door, and replace them."""
