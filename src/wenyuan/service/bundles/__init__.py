"""Bundles of the Open Knowledge Format: checked, and written from what a library holds."""
