"""Tasks for a language model. Of its output only what the program can find in the library is kept."""
