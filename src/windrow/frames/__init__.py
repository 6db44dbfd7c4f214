"""Data frames in and out: pandas, Polars, pyarrow and dicts of arrays; what comes back is of the kind that came.

>>> import numpy as np
>>> frame = read({"who": ["ann", "bob", "ann"], "paid": np.array([3, 1, 2])})
>>> frame.names, frame.rows, frame.column("paid").values
(('who', 'paid'), 3, array([3, 1, 2]))
>>> build(frame, {"who": Taken("who", np.array([1, -1])), "total": Values(np.array([1, 5]))})["total"]
array([1, 5])
"""

from windrow.frames.base import Frame, Key, build, extend, repeated
from windrow.frames.outputs import Instants, Labels, Output, Taken, Values
from windrow.frames.reading import read
from windrow.frames.times import Times, TimeType, counted_in, refuse_to_guess
from windrow.frames.types import Type

__all__ = [
    "Frame",
    "Instants",
    "Key",
    "Labels",
    "Output",
    "Taken",
    "TimeType",
    "Times",
    "Type",
    "Values",
    "build",
    "counted_in",
    "extend",
    "read",
    "refuse_to_guess",
    "repeated",
]
