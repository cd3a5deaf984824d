"""The demonstration in five acts, on a small library, in English or Chinese, that ships with the program: sources, search with
evidence, an empty answer, rules, a failure.
"""
