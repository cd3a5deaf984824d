"""What a language model is asked for, and what of its words is kept: only what the program can show to stand in the library."""
