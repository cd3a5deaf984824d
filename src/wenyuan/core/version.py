"""The version of the program: the one place that says it, for the package that is built and for all who tell it."""

VERSION = "0.2.0"
