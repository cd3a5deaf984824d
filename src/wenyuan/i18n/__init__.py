"""Translations of messages to users: data files, one folder per language, loaded on first use.

The English of a message is its key, as in gettext: ``zh/templates/*.json`` has the Chinese of each template, with the same
``{name}``s in it.
"""
