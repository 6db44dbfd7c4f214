"""Pages against clients that never finish: each is cut off, and others are served meanwhile."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
import urllib.request
from collections.abc import Iterator

import pytest

from windrow.watching import server as serving
from windrow.watching.server import Answer, Server

LIMIT = 0.6


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setattr(serving, "SECONDS", LIMIT)
    opened = Server({"/metrics": lambda: Answer("text/plain", b"fine")}, "127.0.0.1", 0, "test")
    yield opened
    opened.close()


def connected(server: Server) -> socket.socket:
    port = int(server.address.rsplit(":", 1)[1].split("/")[0])
    return socket.create_connection(("127.0.0.1", port), timeout=20)


def cut_off(client: socket.socket, piece: bytes, pause: float) -> bool:
    """Sends a piece now and then; whether the server hangs up before the client's patience ends."""
    client.settimeout(pause)
    end = time.monotonic() + 20
    while time.monotonic() < end:
        try:
            if piece:
                client.sendall(piece)
            if client.recv(1) == b"":
                return True
        except TimeoutError:
            continue  # nothing came yet, and the connection is open
        except OSError:  # reset: what was sent last came too late
            return True
    return False


def served(server: Server) -> int:
    with urllib.request.urlopen(server.address, timeout=20) as page:
        return page.status


@pytest.mark.parametrize("begin", [b"", b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nX: "])
@pytest.mark.parametrize("piece", [b"a", b""])
def test_a_slow_client_is_cut_off(server: Server, begin: bytes, piece: bytes) -> None:
    """Each byte comes well before a read's own limit: only the limit of the whole request ends this."""
    with contextlib.closing(connected(server)) as client:
        client.sendall(begin)
        assert served(server) == 200
        assert cut_off(client, piece, LIMIT / 6)
    assert served(server) == 200


def test_no_thread_is_left(server: Server) -> None:
    before = threading.active_count()
    clients = [connected(server) for _ in range(5)]
    assert all(cut_off(client, b"a", LIMIT / 6) for client in clients)
    for client in clients:
        client.close()
    end = time.monotonic() + 20
    while threading.active_count() > before and time.monotonic() < end:
        time.sleep(0.05)
    assert threading.active_count() <= before
