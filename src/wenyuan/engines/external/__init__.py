"""External sources, which are searched in place: their settings, and those that are services of the contract over HTTP."""
