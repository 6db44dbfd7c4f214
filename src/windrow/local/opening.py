"""Which engine runs a live query."""

from __future__ import annotations

from windrow.local.live import Live
from windrow.local.old_live import OldLive
from windrow.query import Query


def opened(query: Query) -> Live | OldLive:
    """A live query without rows yet."""
    return _kind(query)(query)


def resumed(query: Query, data: bytes) -> Live | OldLive:
    """A live query that goes on from a snapshot."""
    return _kind(query).resumed(query, data)


def _kind(query: Query) -> type[Live] | type[OldLive]:
    """Windows in a store are still the old engine's."""
    return Live
