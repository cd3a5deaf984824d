"""Search engines, each in a module or folder of its own. Here is the reference, which the others are compared with: plain
Python objects, every score computed by its definition; slow, and sufficient for a few thousand passages.
"""
