"""A real Chromium without a screen, driven by the DevTools protocol over a pipe."""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


class Browser:
    """One tab."""

    def __init__(self, dark: bool = False, size: tuple[int, int] = (1100, 900)) -> None:
        assert CHROMIUM is not None
        self.profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        to_read, self._write = os.pipe()
        self._read, to_write = os.pipe()

        def wired() -> None:  # it reads commands from 3 and writes answers to 4
            reading, writing = os.dup(to_read), os.dup(to_write)
            os.dup2(reading, 3)
            os.dup2(writing, 4)
            for number in (3, 4):
                os.set_inheritable(number, True)

        self.process = subprocess.Popen(
            [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--disable-dev-shm-usage",
             "--remote-debugging-pipe", f"--window-size={size[0]},{size[1]}", f"--user-data-dir={self.profile.name}"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, preexec_fn=wired, close_fds=False,
        )  # fmt: skip
        os.close(to_read)
        os.close(to_write)
        self._kept, self._number, self.events = b"", 0, list[dict[str, Any]]()
        self._session: str | None = None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        feature = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[feature])

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """One command and its answer; what happens meanwhile is kept in `events`."""
        self._number += 1
        said = {"id": self._number, "method": method, "params": parameters}
        if self._session is not None:
            said["sessionId"] = self._session
        os.write(self._write, json.dumps(said).encode() + b"\0")
        while True:
            answer = self._message()
            if answer.get("id") == self._number:
                assert "error" not in answer, answer
                return answer["result"]
            self.events.append(answer)

    def _message(self) -> dict[str, Any]:
        while b"\0" not in self._kept:
            more = os.read(self._read, 1 << 16)
            assert more, "the browser has gone"
            self._kept += more
        message, _, self._kept = self._kept.partition(b"\0")
        return json.loads(message)

    def open(self, url: str) -> None:
        self.call("Page.navigate", url=url)

    def value(self, script: str) -> Any:
        """What a script gives."""
        return self.call("Runtime.evaluate", expression=script, returnByValue=True)["result"].get("value")

    def text(self, id: str) -> str:
        return self.value(f"document.getElementById({id!r})?.textContent") or ""

    def until(self, script: str, wanted: Any, seconds: float = 30.0) -> Any:
        """The value of a script, as soon as it is what is wanted."""
        end = time.monotonic() + seconds
        while (found := self.value(script)) != wanted and time.monotonic() < end:
            time.sleep(0.1)
        return found

    def complaints(self) -> list[str]:
        """What the browser had to say: errors of scripts, breaches of the policy."""
        found = [e["params"]["entry"] for e in self.events if e.get("method") == "Log.entryAdded"]
        thrown = [e["params"] for e in self.events if e.get("method") == "Runtime.exceptionThrown"]
        return [f"{entry['source']}: {entry['text']}" for entry in found] + [str(one) for one in thrown]

    def requests(self) -> list[str]:
        """The addresses of all requests."""
        sent = (e for e in self.events if e.get("method") == "Network.requestWillBeSent")
        return [e["params"]["request"]["url"] for e in sent]

    def screenshot(self, path: str | Path) -> None:
        data = self.call("Page.captureScreenshot", captureBeyondViewport=True)["data"]
        Path(path).write_bytes(base64.b64decode(data))

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self._read)
        os.close(self._write)
        self.profile.cleanup()

    def __enter__(self) -> Browser:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
