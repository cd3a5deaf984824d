"""Helpers about time, threads, processes, files and the installation."""
