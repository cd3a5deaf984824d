"""The version of the program: one place for all who tell it."""

__all__ = ["VERSION"]

VERSION = "0.1.0"
