"""Keys of services that nobody has listed are secrets; names, sums and numbers of records are none."""

from __future__ import annotations

import base64
import random
import string
import uuid

import pytest

from wenyuan.core.redaction.policy import policy_for
from wenyuan.core.redaction.redact import Redaction

REDACTION = Redaction(policy_for("public"), b"k" * 32)
MIXED, HEX, LOWER = string.ascii_letters + string.digits, "0123456789abcdef", string.ascii_lowercase + string.digits


def drawn(seed: int, letters: str, length: int) -> str:
    """Characters that chance draws, one of each kind at least."""
    chance = random.Random(seed)
    needed = [chance.choice(kind) for kind in (string.digits, *(("A", "a") if letters is MIXED else ()))]
    rest = needed + chance.choices(letters, k=length - len(needed))
    chance.shuffle(rest)
    return "".join(rest)


@pytest.mark.parametrize(
    "frame",
    [
        "use {} for it",
        "接口密钥是{}，请勿外传",
        '"apiKey": "{}",',
        "export FOO={}",
        "{}",
        "curl -H 'X-Auth: {}'",
        "| token | {} |",
    ],
)
def test_a_name_and_a_drawn_tail(frame: str) -> None:
    """Of any service, in both languages, with words like *live* between them or not: at most one of a hundred is left."""
    left = 0
    for seed in range(60):
        key = [
            f"acme_live_{drawn(seed, MIXED, 28)}", f"zq{seed}-{drawn(seed, MIXED, 36)}", f"kxu_{drawn(seed, HEX, 40)}",
            f"tvx-{drawn(seed, LOWER, 32)}", f"pq_v1_{drawn(seed, MIXED, 43)}",
        ][seed % 5]  # fmt: skip
        left += key in REDACTION.text(frame.format(key)).text
    assert left <= 1


@pytest.mark.parametrize("frame", ["token: {}", "SECRET KEY = {}", "激活码：{}", "凭证为“{}”", "auth => '{}'"])
def test_a_cue_and_drawn_characters(frame: str) -> None:
    """Fewer of them are enough, and a UUID is one."""
    for seed in range(20):
        value = (
            drawn(seed, MIXED, 18)
            if seed % 2
            else str(uuid.UUID(int=random.Random(seed).getrandbits(128), version=4))
        )
        assert value not in REDACTION.text(frame.format(value)).text, value


def test_what_is_no_key() -> None:
    """Sums, builds, names of machines and classes, numbers of records and words: of 360 at most 3 % are taken."""
    taken, count = [], 0
    for seed in range(20):
        digest, short = drawn(seed, HEX, 64), drawn(seed, LOWER, 10)
        texts = [
            f"sha256-{base64.b64encode(bytes.fromhex(digest)).decode()}", f"commit {digest[:40]}", f"image@sha256:{digest}",
            f"chunk-{digest[:20]}.js", f"web-api-{short}-{short[:5]}", f"request {uuid.UUID(hex=digest[:32])}",
            f"trace_id: {digest[:32]}", f"my-release-postgresql-primary-{seed}-{short}", f"order_2024_05_{seed:08d}_final",
            f"getUserById{seed}FromDatabaseTable", f"primary key: user_account_{seed}", f"i-0{digest[:16]}",
            f"how-to-configure-the-reverse-proxy-in-{seed}-steps", f"ISBN_978_3_16_{seed:06d}_0", f"the key: Ctrl+Shift+F{seed}",
            f"data:image/png;base64,{base64.b64encode(random.Random(seed).randbytes(60)).decode()}",
            f"资产编号 SN-2024-{seed:06d}-BJ", f"token 数：{seed}128",
        ]  # fmt: skip
        count += len(texts)
        taken += [text for text in texts if REDACTION.text(text).text != text]
    assert len(taken) <= 0.03 * count, taken
