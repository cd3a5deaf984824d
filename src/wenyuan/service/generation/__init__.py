"""Tasks for a language model; here, rewriting a query and summarising passages. Of its output only what the program can find in the library is kept."""
