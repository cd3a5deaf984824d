"""Our own service as a target of the conformance kit, with a real server, port and engine faults."""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from wenyuan.core.errors import EngineUnavailable, InvalidRequest, msg
from wenyuan.core.ports import Engine

FAULT = "engine"
"""What the fault header names."""


class EngineFault:
    """Makes an engine fail on demand: a `wenyuan.server.service_port.FaultSwitch`.

    The engine's own legs raise, in the threads in which they run, so that a request goes all the way that a
    broken index would send it. Every request that comes in the meantime fails with it.
    """

    def __init__(self, engine: Engine) -> None:
        self._component = f"engine {engine.name}"
        self._orders = 0
        self._lock = threading.Lock()
        for leg in ("keyword", "vector"):
            setattr(engine, leg, self._guarded(getattr(engine, leg)))

    @contextmanager
    def __call__(self, name: str) -> Iterator[None]:
        if name != FAULT:
            raise InvalidRequest(
                msg("there is no part {name} to break; {fault} is one", name=repr(name), fault=repr(FAULT))
            )
        self._order(1)
        try:
            yield
        finally:
            self._order(-1)

    def _order(self, change: int) -> None:
        with self._lock:
            self._orders += change

    def _guarded(self, call: Callable[..., Any]) -> Callable[..., Any]:
        def leg(*args: Any, **kwargs: Any) -> Any:
            if self._orders:
                raise EngineUnavailable("made to fail by order of the caller", component=self._component)
            return call(*args, **kwargs)

        return leg


@contextmanager
def own_service(engine: str, **settings: Any) -> Iterator[tuple[str, str]]:
    """A service on a loopback port with a new library that holds only the kit's documents.

    Args:
        engine: As the setting of that name; what it needs comes from the environment.
        settings: Others. Unless they say otherwise, the library is in a folder, whatever the environment says.

    Yields:
        Its URL and the name of its encoder.
    """
    from wenyuan.app import IN_FOLDER, create_library
    from wenyuan.conformance import export_data
    from wenyuan.core.model import Source
    from wenyuan.server.app import create_app
    from wenyuan.server.running import start_in_thread

    with tempfile.TemporaryDirectory(prefix="wenyuan-conformance-") as name:
        folder = Path(name)
        export_data(folder)
        with create_library(folder / "library", engine=engine, **{**IN_FOLDER, **settings}) as library:
            library.add(Source(source_id="kit", path=str(folder / "documents")))
            url, stop = start_in_thread(create_app(library, fault=EngineFault(library.engine)))
            try:
                yield url, library.encoder.fingerprint.id if library.encoder is not None else "keyword-only"
            finally:
                stop()
