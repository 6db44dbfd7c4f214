"""A Redis server: a store that several machines can reach, one at a time.

A value is a string under its key; one sorted set beside them, all scores 0, holds the keys in order, for scans and
ranges. A batch is one MULTI/EXEC, its guard a WATCH. How durable a write is, the server decides (`appendfsync`).
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar
from urllib.parse import parse_qs, urlsplit

from windrow.errors import StoreError, StoreUnavailable, how_to_install
from windrow.stores.base import Batch, refuse

T = TypeVar("T")

#: where credentials may come from beside the URL
PASSWORD, USERNAME, AUTHORITY = "WINDROW_REDIS_PASSWORD", "WINDROW_REDIS_USERNAME", "WINDROW_REDIS_CA"
PREFIX = b"windrow:"
INDEX = b"windrow-index"
SCAN = 500  # keys a round trip


class RedisStore:
    """One Redis server (no cluster). What it says of itself never holds a password."""

    remote = True

    def __init__(self, url: str, *, timeout: float = 5.0, patience: float = 10.0) -> None:
        try:
            import redis
            from redis.backoff import NoBackoff
            from redis.retry import Retry
        except ImportError:
            raise StoreError(f"stores.redis needs the package redis: {how_to_install('redis')}") from None
        self.patience = patience
        self._redis, self._lock, self._closed = redis, threading.Lock(), False
        self.place, options = _settings(url)
        try:
            self._client = redis.Redis.from_url(
                url, socket_timeout=timeout, socket_connect_timeout=timeout, retry=Retry(NoBackoff(), 0),
                health_check_interval=30, **options,
            )  # fmt: skip
        except Exception as error:  # its text may quote the URL
            raise StoreError(f"the Redis URL for {self.place} is not understood ({type(error).__name__})") from None
        try:
            self._do(lambda client: client.ping())
        except TypeError:  # the client hands what is in the URL on to its connections
            names = ", ".join(sorted(parse_qs(urlsplit(url).query)))
            raise StoreError(f"the Redis URL for {self.place} has an option that is not known: {names}") from None

    def get(self, key: bytes) -> bytes | None:
        return self._do(lambda client: client.get(PREFIX + key))

    def get_many(self, keys: Sequence[bytes]) -> list[bytes | None]:
        return self._do(lambda client: client.mget([PREFIX + key for key in keys])) if keys else []

    def put(self, key: bytes, value: bytes) -> None:
        self.write(Batch(puts=((key, value),)))

    def write(self, batch: Batch, *, durable: bool = False) -> None:
        try:
            self._do(lambda client: self._write(client, batch))
        except self._redis.WatchError:
            # redis-py says so, too, where the connection broke while it watched: the mark itself tells which it was
            if batch.guard is not None:
                refuse(batch.guard, self.get(batch.guard[0]))
            raise StoreUnavailable(f"Redis at {self.place} was interrupted in mid-write") from None

    def _write(self, client: Any, batch: Batch) -> None:
        with client.pipeline(transaction=True) as pipe:
            if batch.guard is not None:
                pipe.watch(PREFIX + batch.guard[0])
                refuse(batch.guard, pipe.get(PREFIX + batch.guard[0]))
            doomed = [key for start, end in batch.ranges for key in client.zrangebylex(INDEX, b"[" + start, b"(" + end)]
            pipe.multi()
            for i in range(0, len(doomed), SCAN):
                pipe.delete(*[PREFIX + key for key in doomed[i : i + SCAN]])
                pipe.zrem(INDEX, *doomed[i : i + SCAN])
            if batch.puts:
                pipe.mset({PREFIX + key: value for key, value in batch.puts})
                pipe.zadd(INDEX, dict.fromkeys((key for key, _ in batch.puts), 0))
            pipe.execute()

    def scan(self, start: bytes, end: bytes) -> Iterator[tuple[bytes, bytes]]:
        after = b"[" + start
        while True:
            keys = self._keys(after, b"(" + end)
            values = self.get_many(keys)
            yield from ((key, value) for key, value in zip(keys, values, strict=True) if value is not None)
            if len(keys) < SCAN:
                return
            after = b"(" + keys[-1]

    def _keys(self, start: bytes, end: bytes) -> list[bytes]:
        return self._do(lambda client: client.zrangebylex(INDEX, start, end, 0, SCAN))

    def delete_range(self, start: bytes, end: bytes) -> None:
        self.write(Batch(ranges=((start, end),)))

    def close(self) -> None:
        self._closed = True
        self._client.close()

    def _do(self, ask: Callable[[Any], T]) -> T:
        if self._closed:
            raise StoreError(f"the store at {self.place} is closed")
        try:
            return ask(self._client)
        except (self._redis.exceptions.AuthenticationError, self._redis.exceptions.AuthorizationError):
            raise StoreError(f"Redis at {self.place} refuses the user or the password") from None
        except (self._redis.ConnectionError, self._redis.TimeoutError, OSError) as error:
            raise StoreUnavailable(f"Redis at {self.place} does not answer ({type(error).__name__})") from None
        except self._redis.WatchError:
            raise
        except self._redis.BusyLoadingError:
            raise StoreUnavailable(f"Redis at {self.place} is still loading") from None
        except self._redis.RedisError as error:
            raise StoreError(f"Redis at {self.place}: {error}") from None

    def __repr__(self) -> str:
        return f"stores.redis({self.place!r})"


def _settings(url: str) -> tuple[str, dict[str, Any]]:
    """Where the server is, for messages; and what the environment adds to the URL."""
    try:
        parts = urlsplit(url)
        place = f"{parts.hostname or parts.path}:{parts.port or 6379}" if parts.hostname else parts.path
    except ValueError:
        raise StoreError("the Redis URL is not understood: redis://host:port/0, rediss:// for TLS") from None
    if parts.scheme not in ("redis", "rediss", "unix"):
        raise StoreError("a Redis URL begins with redis://, rediss:// (TLS) or unix://")
    options: dict[str, Any] = {}
    if parts.password is None and os.environ.get(PASSWORD):
        options["password"] = os.environ[PASSWORD]
    if not parts.username and os.environ.get(USERNAME):
        options["username"] = os.environ[USERNAME]
    if parts.scheme == "rediss" and os.environ.get(AUTHORITY):
        options["ssl_ca_certs"] = os.environ[AUTHORITY]
    return place, options


def redis(url: str, *, timeout: float = 5.0, patience: float = 10.0) -> RedisStore:
    """A Redis server.

    Args:
        url: `redis://user:password@host:port/0`, `rediss://` for TLS, `unix://` for a socket. The password may come
            from the environment instead: WINDROW_REDIS_PASSWORD (WINDROW_REDIS_USERNAME; WINDROW_REDIS_CA for TLS).
        timeout: seconds until one answer is given up.
        patience: seconds for which a server that does not answer is asked again before the window raises.
    """
    return RedisStore(url, timeout=timeout, patience=patience)
