"""Runs queries in this process: over tables (`batch`) and over rows as they come (`live`)."""

from typing import Any

from windrow.local.batch import Local
from windrow.local.live import Live
from windrow.query import OPENERS, RUNNERS


def _draw(*arguments: Any) -> Any:
    from windrow.local.draw import draw  # few draw

    return draw(*arguments)


RUNNERS.append(Local())
OPENERS["open"] = Live
OPENERS["resume"] = Live.resumed
OPENERS["draw"] = _draw

__all__ = ["Live", "Local"]
