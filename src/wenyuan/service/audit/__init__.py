"""Builds audit records of retrievals and changes, which `catalog.audit.log` stores.

A record holds what shows later which passages were given, and why: their ids, hashes, scores and trust; the scope,
the settings, the encoder and the state of the library. It holds no text of passages, of the query only a preview
without numbers and addresses, and no secret. The query itself is handed to the log apart (`request_of`).
"""
