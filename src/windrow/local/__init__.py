"""Runs queries in this process: over tables (`batch`) and over rows as they come (`live`)."""

from windrow.local.batch import Local
from windrow.local.live import Live
from windrow.query import OPENERS, RUNNERS

RUNNERS.append(Local())
OPENERS["open"] = Live
OPENERS["resume"] = Live.resumed

__all__ = ["Live", "Local"]
