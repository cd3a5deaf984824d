"""The rules graph in the catalog: rows to values, lists, counts and single statements."""
