"""HTTP for pages that only this machine sees: GET, threads that end with the process, limits for slow clients."""

from __future__ import annotations

import contextlib
import ipaddress
import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

from windrow.errors import WindrowError

#: that a client has for its request, and for taking a part of an answer
SECONDS = 10.0
#: answers without an end that are given at once
STREAMS = 16
#: nothing is fetched from elsewhere, nothing frames the page, nothing is kept
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


class Answer(NamedTuple):
    """The type of an answer, and the whole of it, or its parts as they come."""

    type: str
    body: bytes | Iterator[bytes]


class Server:
    """Answers `GET` for some paths.

    Args:
        paths: what is answered, by path. The first is the address that is told.
        host: where the port is. On a loopback address, requests for hosts of other names are refused: a page from
            elsewhere whose name was bound to this machine (DNS rebinding) sees nothing.
        port: 0 takes a free one.
    """

    def __init__(self, paths: Mapping[str, Callable[[], Answer]], host: str, port: int, name: str) -> None:
        streams = threading.BoundedSemaphore(STREAMS)
        loopback = is_loopback(host)

        class Handler(BaseHTTPRequestHandler):
            timeout = SECONDS  # a client that says nothing keeps no thread

            def handle(self) -> None:
                """One that says something now and then does not keep one either."""
                self._end = threading.Timer(SECONDS, self._hang_up)
                self._end.daemon = True
                self._end.start()
                try:
                    super().handle()
                except OSError:  # it has gone
                    pass
                finally:
                    self._end.cancel()

            def _hang_up(self) -> None:
                with contextlib.suppress(OSError):
                    self.connection.shutdown(socket.SHUT_RDWR)

            def do_GET(self) -> None:
                asked = self.headers.get("Host")
                if loopback and asked is not None and not is_loopback(_name(asked)):
                    self.send_error(421, "this page is for this machine only")
                    return
                make = paths.get(self.path.partition("?")[0])
                if make is None:
                    self.send_error(404, f"there is only {', '.join(paths)}")
                    return
                answer = make()
                if isinstance(answer.body, bytes):
                    self._begin(answer.type, len(answer.body))
                    self.wfile.write(answer.body)
                elif streams.acquire(blocking=False):
                    try:
                        self._begin(answer.type, None)
                        self._end.cancel()  # the request is over; each part has its own limit
                        for part in answer.body:
                            self.wfile.write(part)
                    finally:
                        streams.release()
                else:
                    self.send_error(503, f"{STREAMS} pages are open already")

            def _begin(self, kind: str, length: int | None) -> None:
                self.send_response(200)
                self.send_header("Content-Type", kind)
                if length is not None:
                    self.send_header("Content-Length", str(length))
                self.end_headers()

            def end_headers(self) -> None:
                for header, value in HEADERS.items():
                    self.send_header(header, value)
                super().end_headers()

            def log_message(self, format: str, *arguments: Any) -> None:
                """A request every few seconds is nothing to write about."""

        try:
            self._http = _Threads((host, port), Handler)
        except (OSError, OverflowError) as error:
            raise WindrowError(f"cannot serve on {host}:{port}: {error}") from None
        at = f"[{host}]" if ":" in host else host
        self.address = f"http://{at}:{self._http.server_address[1]}{next(iter(paths))}"
        self._thread = threading.Thread(target=self._http.serve_forever, name=name, daemon=True)
        self._thread.start()

    def close(self) -> None:
        """No more requests are taken."""
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()


class _Threads(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, address: tuple[str, int], handler: type[BaseHTTPRequestHandler]) -> None:
        if ":" in address[0]:
            self.address_family = socket.AF_INET6
        super().__init__(address, handler)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """What a client does is nothing to print."""


def _name(host: str) -> str:
    """The name in a Host header, without its port."""
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.partition(":")[0]


def is_loopback(name: str) -> bool:
    """Whether a name is this machine's own, whatever a name server says.

    >>> [is_loopback(name) for name in ("127.0.0.1", "LOCALHOST", "::1", "example.com", "0.0.0.0")]
    [True, True, True, False, False]
    """
    if name.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False
