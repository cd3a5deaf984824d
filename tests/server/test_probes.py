"""Probes that come one after the other while a server is slow."""

from __future__ import annotations

import asyncio
import json
import threading
from types import SimpleNamespace
from typing import Any

from patience import HANGS
from wenyuan.server.probes import Probes


def test_probes_share_an_answer() -> None:
    """Who asks whether the server is ready while that is being found out waits for it: forty that came meanwhile cost one look, and the next
    one looks anew.
    """
    looks, free = [], threading.Event()

    def readiness() -> Any:
        looks.append(1)
        assert free.wait(HANGS)
        return SimpleNamespace(ready=True, parts={"catalog": {"state": "ok", "hint": "x"}})

    async def ask() -> list[int]:
        probes: Any = Probes(SimpleNamespace(readiness=readiness), {})  # type: ignore[arg-type]
        request: Any = SimpleNamespace(state=SimpleNamespace(request_id="r"))
        asked = [asyncio.ensure_future(probes.readyz(request)) for _ in range(40)]
        await asyncio.sleep(0)
        asked[0].cancel()  # whoever asked first went away
        free.set()
        answers = await asyncio.gather(*asked[1:])
        answers.append(await probes.readyz(request))
        assert json.loads(answers[0].body) == {"ready": True, "parts": {"catalog": {"state": "ok"}}}
        return [answer.status_code for answer in answers]

    assert asyncio.run(ask()) == [200] * 40
    assert len(looks) == 2
