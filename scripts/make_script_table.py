"""Writes the table Traditional → Simplified characters that `core.text` folds with.

Development only: it needs the ``opencc`` package (Apache-2.0), whose dictionaries the table is derived from.
Run: ``python scripts/make_script_table.py > src/wenyuan/core/t2s.txt``
"""

import opencc

converter = opencc.OpenCC("t2s")
pairs = []
for code in [*range(0x3400, 0x4DC0), *range(0x4E00, 0xA000)]:
    character = chr(code)
    simplified = converter.convert(character)
    if simplified != character and len(simplified) == 1:
        pairs.append((character, simplified))
print("".join(a for a, _ in pairs))
print("".join(b for _, b in pairs))
