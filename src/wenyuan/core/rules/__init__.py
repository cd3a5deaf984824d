"""The model of the rules graph: nodes, directed statements, their evidence, and books (sets of rules to be imported)."""
