"""A stateful processor that tells its state's names without windrow.

When a query begins, Spark starts a Python beside the driver to hear which state there will be. It is a new process each
time, and does not get `--py-files`. So what Spark gets is a small class that travels as code, with the work itself as
bytes, which only workers open, when the first rows come.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Mapping
from typing import Any, Protocol

from pyspark import cloudpickle
from pyspark.sql.streaming import StatefulProcessor


class Work(Protocol):
    """What is done with the rows of a bucket."""

    @property
    def states(self) -> Mapping[str, tuple[str, str]]:
        """The maps that it needs: the types of key and value of each."""
        ...

    def begin(self, handle: Any, states: Mapping[str, Any]) -> None: ...

    def rows(self, bucket: int, rows: Iterator[Any], timers: Any) -> Iterator[Any]: ...

    def history(self, bucket: int, rows: Any, timers: Any) -> None: ...

    def expired(self, bucket: int, timers: Any, when: int) -> Iterator[Any]: ...


def light(work: Work) -> StatefulProcessor:
    """The processor of some work."""
    states, carried = dict(work.states), cloudpickle.dumps(work)

    class Processor(StatefulProcessor):  # local: pickled as code, not by the name of this module
        def init(self, handle: Any) -> None:
            self.handle: Any = handle
            self.opened: Any = None
            self.maps = {name: handle.getMapState(name, key, value) for name, (key, value) in states.items()}

        def work(self) -> Any:
            if self.opened is None:
                self.opened = pickle.loads(carried)  # code from our own driver, as all of Spark's functions
                self.opened.begin(self.handle, self.maps)
            return self.opened

        def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Iterator[Any]:
            yield from self.work().rows(key[0], rows, timerValues)

        def handleInitialState(self, key: Any, initialState: Any, timerValues: Any) -> None:
            self.work().history(key[0], initialState, timerValues)

        def handleExpiredTimer(self, key: Any, timerValues: Any, expiredTimerInfo: Any) -> Iterator[Any]:
            yield from self.work().expired(key[0], timerValues, expiredTimerInfo.getExpiryTimeInMs())

        def close(self) -> None:
            pass

    return Processor()
