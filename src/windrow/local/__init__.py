"""Runs queries in this process: over tables (`batch`) and over rows as they come (`live`)."""

from typing import Any

from windrow.local.batch import Local
from windrow.local.live import Live
from windrow.local.old_live import OldLive
from windrow.query import OPENERS, RUNNERS, Query


def _kind(query: Query) -> Any:
    return Live if query.store is None else OldLive


RUNNERS.append(Local())
OPENERS["open"] = lambda query: _kind(query)(query)
OPENERS["resume"] = lambda query, data: _kind(query).resumed(query, data)

__all__ = ["Live", "Local", "OldLive"]
