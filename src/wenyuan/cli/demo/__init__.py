"""The demonstration: a small bilingual library that ships with the program."""
