"""Golden files of questions with known answers, and files of synonyms."""

from __future__ import annotations

from pathlib import Path

from wenyuan.core.errors import InvalidRequest, msg
from wenyuan.core.learning_records import QuestionAddress
from wenyuan.readers.golden_set import read_set
from wenyuan.readers.golden_table import read_table

# Golden files → pairs of a question and the address of what answers it: tables, and judged sets in BEIR layout.
#
# A table has a column of questions and one of addresses, in Chinese or English, and perhaps one of grades; a cell may
# hold several, one per line. Where it says *no answer* (无答案) instead, the library must not answer. A judged set is a
# folder with ``queries.jsonl`` and ``qrels.tsv`` (or ``qrels/*.tsv``); an address of an entry in its ``corpus.jsonl`` is
# what is expected. All faults are reported at once, with their lines.


GOLDEN_SUFFIXES = (".csv", ".tsv", ".xlsx")


def read_golden(path: Path) -> tuple[QuestionAddress, ...]:
    """Read a golden file, or the folder of a judged set in BEIR layout.

    Raises:
        InvalidRequest: it is not there or of no known kind, or lines are at fault: all of them are named.
    """
    if path.is_dir():
        pairs = read_set(path)
    elif path.suffix.lower() in GOLDEN_SUFFIXES and path.exists():
        pairs = read_table(path)
    else:
        raise InvalidRequest(
            msg("{path} is no golden file", path=path)
            if path.exists()
            else msg("there is no file or folder {path}", path=path),
            hint=msg(
                "a table ({golden_suffixes}) of questions and addresses, or the folder of a judged set",
                golden_suffixes=", ".join(GOLDEN_SUFFIXES),
            ),
        )
    if not pairs:
        raise InvalidRequest(msg("{path} holds no question with an answer", path=path))
    return pairs
