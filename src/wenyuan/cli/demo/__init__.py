"""The demonstration in five acts, on a small bilingual library that ships with the program: sources, search with
evidence, an empty answer, rules, a failure.
"""
