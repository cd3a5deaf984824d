"""Builds audit records of retrievals and changes, which `catalog.audit.log` stores.

A record holds what shows later which passages were given, and why: their ids, hashes, scores and trust; the scope,
the settings, the encoder and the state of the library. It holds no text of passages, of the query only a preview
without numbers and addresses, and no secret. The query itself is handed to the log apart (`request_of`).
"""

from __future__ import annotations

import re

PREVIEW_CHARS = 80
ERROR_CHARS = 300
MOST_SOURCES = 64  # named in one record; beyond, their digest stands for them

MAIL = re.compile(r"[^\s@,;:，。；：、()（）<>《》\"']{1,64}@[^\s@,;:，。；：、()（）<>《》\"']{1,255}")
TOKEN = re.compile(r"[A-Za-z0-9_+/=\-]{20,}")
MASKED = re.compile(r"[^\W_]*\*{2,}[^\W_]*")
NUMBER = re.compile(r"[0-9](?:[ .\-·_/]{0,2}[0-9]){4,}")
