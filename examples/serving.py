"""A feature server: payments in by POST, features out by GET, as `run(events, at=...)` would give them afterwards.

python examples/serving.py [PORT]

It listens on this machine alone. Its state is in one file: written when it stops, read when it starts. Training takes
the same query: `features.run(payments, at=labels)`. Without a port, it shows what it does and ends. It needs the extra
`serving`.
"""

from __future__ import annotations

import contextlib
import json
import socket
import sys
import tempfile
import threading
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from urllib.request import Request as Call
from urllib.request import urlopen

import numpy as np
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

import windrow
from windrow import agg, win
from windrow.errors import WindrowError

#: closed on the left: a payment at the very moment that is asked about is not in its own features
features = windrow.Query(
    time="ts",
    by=["card"],
    windows={"1h": win.trailing("1 hour", closed="left"), "30d": win.trailing("30 days", closed="left")},
    aggregates={"n": agg.count(), "spent": agg.sum("amount"), "most": agg.max("amount")},
    lateness="5 minutes",
    favor="latency",  # an ask takes constant time for each row that has left, whatever the window
    time_unit="s",
)


def served(state: Path) -> Starlette:
    """The server; its state is in this file."""
    live = features.resume(state.read_bytes()) if state.exists() else features.open()

    async def pay(request: Request) -> JSONResponse:
        """POST /payments: {"ts": [...], "card": [...], "amount": [...]}, or one payment with single values."""
        try:
            live.push(await request.json())
        except WindrowError as error:
            return JSONResponse({"error": str(error)}, 422)
        return JSONResponse({"late": live.report.late, "rejected": live.report.rejected})

    async def ask(request: Request) -> JSONResponse:
        """GET /features?card=7&ts=1767225600: the features of one card at one moment."""
        try:
            asked = {"card": int(request.query_params["card"]), "ts": int(request.query_params["ts"])}
            answers = live.at(asked)
        except (KeyError, ValueError, WindrowError) as error:
            return JSONResponse({"error": str(error)}, 422)
        return JSONResponse({name: np.ma.asarray(column).tolist()[0] for name, column in answers.items()})

    @contextlib.asynccontextmanager
    async def saved(app: Starlette) -> AsyncIterator[None]:
        yield
        part = state.with_suffix(".part")
        part.write_bytes(live.snapshot())
        part.replace(state)

    routes = [Route("/payments", pay, methods=["POST"]), Route("/features", ask)]
    return Starlette(routes=routes, lifespan=saved)


@contextlib.contextmanager
def running(state: Path) -> Iterator[str]:
    """The server in a thread, on a free port; its address."""
    listening = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(served(state), log_level="error"))
    thread = threading.Thread(target=server.run, args=([listening],))
    thread.start()
    while not server.started:
        time.sleep(0.01)
    yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    server.should_exit = True
    thread.join()


def show(state: Path) -> None:
    """Payments in, features out; in between the server stops and starts anew."""
    begin = 1_767_225_600  # seconds
    payments = {"ts": [begin, begin + 1800, begin + 3000], "card": [7, 7, 8], "amount": [120, 80, 45]}
    with running(state) as server:
        urlopen(Call(f"{server}/payments", json.dumps(payments).encode())).read()
    with running(state) as server:
        for card, after in ((7, 3000), (7, 4000), (8, 4000), (9, 4000)):
            print(urlopen(f"{server}/features?card={card}&ts={begin + after}").read().decode())


def main() -> None:
    if len(sys.argv) > 1:
        uvicorn.run(served(Path("features.state")), host="127.0.0.1", port=int(sys.argv[1]))
    else:
        with tempfile.TemporaryDirectory() as folder:
            show(Path(folder) / "features.state")


if __name__ == "__main__":
    main()
