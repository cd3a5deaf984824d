"""Write the vectors of general texts by the built-in encoder: service/search/common_vectors.npz.

    python scripts/make_common_vectors.py

Run it after a change of the built-in encoder or of service/search/general_texts.py.
"""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import numpy as np

from wenyuan.core.ports import Deadline
from wenyuan.encoders.builtin import load_builtin
from wenyuan.service.search import common_vectors
from wenyuan.service.search.general_texts import SCRIPTS

UNLIMITED = Deadline(1e12, lambda: 0.0)


def main() -> None:
    encoder = load_builtin()
    vectors = {
        common_vectors.key_of(encoder.fingerprint, of, script): common_vectors.embedded(
            encoder, of, script, UNLIMITED
        )
        for of in get_args(common_vectors.Of)
        for script in SCRIPTS
    }
    path = Path(common_vectors.__file__).with_name(common_vectors.FILE)
    np.savez(path, **vectors)
    print(f"{path.name}: {path.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
