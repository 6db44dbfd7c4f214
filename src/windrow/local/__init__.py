"""Runs queries in this process: over tables (`batch`) and over rows as they come (`live`)."""

from windrow.local.batch import Local
from windrow.local.live import Live
from windrow.local.old_live import OldLive
from windrow.local.opening import opened, resumed
from windrow.query import OPENERS, RUNNERS

RUNNERS.append(Local())
OPENERS["open"] = opened
OPENERS["resume"] = resumed

__all__ = ["Live", "Local", "OldLive", "opened", "resumed"]
